# SPDX-License-Identifier: Apache-2.0
# Waits until all members are Ready Nodes, and labels them, because K3s reads labels of config.yaml only at registration.
check() {
	k3s_is_first || return 0
	if ! k3s_active; then
		np_differs "wait until all Nodes are Ready, and label them"
		return 0
	fi
	table=$(nodes_table 2>/dev/null)
	labels=$(nodes_labels)
	for host in $(np_all); do
		node=$(printf '%s' "$host" | nodes_lower)
		nodes_of "$host" || continue
		printf '%s\n' "$table" | grep -q "^$node True " || { np_differs "wait until Node '$node' is Ready"; continue; }
		for label in $(nodes_want "$host"); do
			printf '%s\n' "$labels" | grep -qxF "$node $label" || np_differs "label Node '$node' with $label"
		done
	done
}
# Whether that member has a role in k3s.
nodes_of() { np_members servers | grep -qxF "$1" || np_members agents | grep -qxF "$1"; }
# Prints "NODE KEY=VALUE" of labels that nanopod sets.
nodes_labels() {
	k3s_kubectl get nodes --show-labels --no-headers 2>/dev/null | awk '{ n = split($NF, l, ","); for (i = 1; i <= n; i++) print $1, l[i] }'
}
nodes_want() {
	k3s_own_labels "$1"
	k3s_of labels "$1"
}

apply() {
	k3s_is_first || return 0
	late=
	for host in $(np_all); do
		nodes_of "$host" || continue
		node=$(printf '%s' "$host" | nodes_lower)
		if ! np_wait "${S_wait:-300}" nodes_ready "$node"; then
			late="$late '$node'"
			continue
		fi
		have=$(nodes_labels)
		# Remove the label of a removed GPU.
		set --
		for label in $(nodes_want "$host"); do
			printf '%s\n' "$have" | grep -qxF "$node $label" || set -- "$@" "$label"
		done
		k3s_gpu "$host" || ! printf '%s\n' "$have" | grep -q "^$node nanopod.io/gpu-" || set -- "$@" nanopod.io/gpu-vendor- nanopod.io/gpu-model- nanopod.io/gpu-count-
		[ $# -gt 0 ] || continue
		if k3s_kubectl label node "$node" --overwrite "$@"; then np_did "Node '$node' has $*"; else np_fail "Node '$node' cannot be given $*"; fi
	done
	[ -z "$late" ] || { np_hint "k3s kubectl describe node${late}"; np_fail "not Ready:$late"; return 1; }
}
nodes_ready() { [ "$(k3s_condition "$1" Ready)" = True ]; }

verify() {
	k3s_is_first || return 0
	table=$(nodes_table) || { np_bad "the API does not say its Nodes"; return 1; }
	all=0 bad=0
	for host in $(np_all); do
		nodes_of "$host" || continue
		all=$((all + 1))
		node=$(printf '%s' "$host" | nodes_lower)
		row=$(printf '%s\n' "$table" | grep "^$node ")
		# shellcheck disable=SC2086 # words
		set -- $row
		case ${2-none} in
		True) ;;
		none) np_bad "'$node' is no Node of the cluster"; bad=$((bad + 1)); continue ;;
		*) np_bad "Node '$node' is not Ready"; np_hint "k3s kubectl describe node $node"; bad=$((bad + 1)); continue ;;
		esac
		[ "$3" = "$S_version_k3s" ] || { np_bad "Node '$node' runs $3, not $S_version_k3s"; bad=$((bad + 1)); }
		[ "$4" != cordoned ] || np_rests "$host" "Node '$node' is cordoned"
	done
	for node in $(printf '%s\n' "$table" | awk '{ print $1 }' | grep -vxF "$(nodes_wanted)"); do np_say "Node '$node' is not in the cluster file"; done
	[ $bad -gt 0 ] || np_ok "all $all Nodes are Ready, with $S_version_k3s"
	[ $bad -eq 0 ]
}
