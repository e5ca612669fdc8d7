# SPDX-License-Identifier: Apache-2.0
# Steps of a stack run for real on fresh nodes (bash, after tap.sh and cluster.sh), through tests/stacks/step.sh.
#     ns_begin N                 N nodes that install from the lent repository; their NP_TABLE is made by ns_roles
#     ns_roles 'ROLES' 'ROLES'…  of each node; ns_facts NODE 'key=value'…: more facts of it
#     ns_step FUNCTION STACK STEP NODE [VAR=VALUE…]    records without RS are in $said, the log in $TMP/log.NODE
#     ns_apply STACK 'STEP…' [VAR=VALUE…] -- NODE…     on all, at once: a test: applied, and then nothing differs any more
#     ns_verified, ns_undo STACK 'STEP…' NODE [VAR=VALUE…]    tests
. "$SRC/tests/stacks/addons.sh"
ns_columns=''
declare -A ns_role ns_fact

ns_begin() {
	cluster_nodes "$1"
	cluster_repo
	# shellcheck disable=SC2086
	cluster_lend $CLUSTER_NODES
	on_nodes "rm -f /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:$CLUSTER_LENT/debs ./' >/etc/apt/sources.list; apt-get -q update >/dev/null" ||
		{ fail "(the nodes read the repository)"; done_testing; }
	ns_where
}
declare -a ns_address
# Also to the files where k3s.sh looks for them.
ns_where() {
	for ns_node in $CLUSTER_NODES; do
		node_address "$ns_node" >"$TMP/address.$ns_node"
		ns_address[${ns_node##*-}]=$(cat "$TMP/address.$ns_node")
	done
}

ns_roles() {
	ns_i=0
	for ns_node in $CLUSTER_NODES; do ns_role[$ns_node]=$1; shift; done
	ns_table
}
ns_facts() { ns_node=$1; shift; ns_fact[$ns_node]=$(printf '\t%s' "$@"); ns_table; }
ns_table() {
	ADDON_TABLE=$(for ns_node in $CLUSTER_NODES; do
		printf '%s\t%s\t%s\t%s\tinit=systemd%s\n' "$ns_node" "$ns_node" "${ns_address[${ns_node##*-}]}" "${ns_role[$ns_node]-}" "${ns_fact[$ns_node]-}"
	done)
}

# ns_vars STACK NODE: what the engine would set, in the array ns_var.
ns_vars() {
	ns_var=(NP_NODE="$2" NP_HOST="$2" NP_ADDRESS="${ns_address[${2##*-}]}" NP_TABLE="$ADDON_TABLE"
		NP_ROLES="$(printf '%s' "${ns_role[$2]-}" | tr , '\n' | sed -n "s/^$1\\.//p" | tr '\n' ' ')")
	while IFS= read -r ns_line; do
		eval "ns_value=${ns_line#*=}"
		# shellcheck disable=SC2154
		ns_var+=("${ns_line%%=*}=$ns_value")
	done < <(addon_defaults "$1")
}
# ns_run 'FUNCTION…' STACK 'STEP…' NODE [VAR…]: records without RS, to standard output; its own file of the log. All functions
# of a step, then those of the next, in one script, as the engine does it.
ns_run() {
	ns_vars "$2" "$4"
	{
		ns_from=1
		for ns_s in $3; do
			for ns_f in $1; do
				sh "$SRC/tests/stacks/step.sh" "$ns_f" "$SRC/stacks/$2" "$ns_s" "${ns_var[@]}" "${@:5}" | tail -n +$ns_from
				ns_from=$(($(wc -l <"$SRC/stacks/common/lib.sh") + 1))
			done
		done
	} | in_node_stdin "$4" 'sh -s' | tr -d '\036'
	cp "$TMP/.ssh.$4" "$TMP/log.$4" 2>/dev/null
}
ns_step() { said=$(ns_run "$@"); }
ns_ended() { printf '%s\n' "$said" | grep -q '^NP.done.0$'; }
# Of so many works each has ended well, and after its apply nothing differed.
ns_right() { awk -F '\t' -v want="$1" '$2 == "work" { f = $5 } $2 == "done" { n++ } $2 == "done" && $3 != 0 { bad = 1 } $2 == "differs" && f == "check" { bad = 1 } END { exit bad || n != want }'; }

ns_apply() {
	ns_stack=$1 ns_steps=$2 ns_more=() ns_bad='' ns_jobs=''
	shift 2
	while [ "$1" != -- ]; do ns_more+=("$1"); shift; done
	shift
	for ns_node; do ( ns_run 'apply check' "$ns_stack" "$ns_steps" "$ns_node" "${ns_more[@]}" >"$TMP/apply.$ns_node" ) & ns_jobs="$ns_jobs $!"; done
	# shellcheck disable=SC2086
	wait $ns_jobs
	for ns_node; do
		ns_right $((2 * $(wc -w <<<"$ns_steps"))) <"$TMP/apply.$ns_node" && continue
		ns_bad="$ns_bad $ns_node"
		cat "$TMP/apply.$ns_node"
		tail -n 30 "$TMP/log.$ns_node"
	done >"$TMP/.apply"
	if [ -z "$ns_bad" ]; then pass "$ns_stack: applied on $*, and then nothing differs: $ns_steps"; else
		fail "$ns_stack: applied on $*, and then nothing differs: $ns_steps"
		sed 's/^/# /' "$TMP/.apply" | head -n 90
	fi
}
ns_undo() {
	ns_step undo "$@"
	if ns_right "$(wc -w <<<"$2")" <<<"$said"; then pass "$1: undone on $3: $2"; else fail "$1: undone on $3: $2"; diag "$said"; sed 's/^/# /' "$TMP/log.$3" | tail -n 20; fi
}
ns_verified() {
	ns_step verify "$@"
	if ns_right "$(wc -w <<<"$2")" <<<"$said" && ! grep -q '^NP.bad' <<<"$said"; then pass "$1: verified on $3: $2${K3S_IS:+ ($K3S_IS)}"; else fail "$1: verified on $3: $2"; diag "$said"; fi
}
