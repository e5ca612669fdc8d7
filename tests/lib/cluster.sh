# SPDX-License-Identifier: Apache-2.0
# Fresh nodes for `nanopod provision` in a test, after tap.sh (bash): a market, an agent and its driver ns, which makes
# each node a Debian with systemd of its own, without a way out, on one network with the others.
#     cluster_nodes N [--user]     N of them, all at once: train-1 … train-N. CLUSTER_FROM (an array) is how nanopod
#                                  reaches them as the reservation 'train', CLUSTER_WAY (an array) the connect options alone.
#                                  --user: through OpenSSH's config and a user 'bob' who has sudo (cluster_sudo), by name
#     cluster_more N               so many more: CLUSTER_NODES are the names of all
#     cluster_repo [SET]           CLUSTER_REPO is a folder that `nanopod provision bundle` made: what all stacks install, or
#                                  the few packages of SET "slurm" (no accounting)
#     cluster_lend NODE…           each gets a copy of that folder, at CLUSTER_LENT
#     in_node NODE COMMAND         by SSH, as root; in_node_stdin: with this standard input; on_nodes COMMAND: on all, at once
#     node_address NODE            10.88.x.y
#     node_restart NODE            as a power cut and a boot: all its processes are killed; returns when SSH answers again
#     picture NODE >FILE, pictures WORD, same_picture WORD WORD NODE TEXT: packages, files, users, groups,
#                                  units, processes, to compare with those of later
# Where that can't be (no root, no image, no repository) the test is skipped and says why. What a test that calls these
# must have kept before tap.sh: TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}.

TEST_DRIVER=ns
TEST_IMAGES=${TEST_IMAGES:-$BUILD/images} TEST_DEBS=${TEST_DEBS:-$BUILD/debs}
[ "$(id -u)" -eq 0 ] || skip_all "nodes of the driver 'ns' need root"
[ -d "$TEST_IMAGES/debian-12" ] || skip_all "no image of Debian in '$TEST_IMAGES': 'nanopod-agentd --images $BUILD/images image build' makes one"
cluster_lib=$SRC/tests/lib
. "$cluster_lib/marketd.sh"
. "$cluster_lib/agentd.sh"
. "$cluster_lib/life.sh"

CLUSTER_NODES='' CLUSTER_USER=root CLUSTER_CONFIG=$TMP/ssh_config CLUSTER_LENT=/mnt/debs
CLUSTER_ROOM=12       # hosts that the machine offers

cluster_nodes() {
	cluster_want=$1
	[ "${2-}" != --user ] || CLUSTER_USER=bob
	# One cluster at a time: two at once take longer than one after the other, and a test has only so long.
	exec 8>"$BUILD/.cluster-lock" && flock -w 600 8 || { fail "(another test's cluster ends)"; done_testing; }
	life_begin --agent-silent 600
	agentd_join m1 $CLUSTER_ROOM || { done_testing; }
	agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 || { done_testing; }
	NANOPOD_TOKEN=$ACME
	export NANOPOD_TOKEN
	: >"$CLUSTER_CONFIG"
	mkdir -p -m 700 "$HOME/.ssh"
	cluster_known=$TMP/cluster.known
	: >"$cluster_known"
	cluster_more "$cluster_want"
	if [ "$CLUSTER_USER" = root ]; then
		CLUSTER_WAY=(--ssh-config none --known-hosts none --identity "$TMP/buyer" --host-key strict --agent none)
		CLUSTER_FROM=(-r train "${CLUSTER_WAY[@]}")
	else
		CLUSTER_WAY=(--ssh-config "$CLUSTER_CONFIG" --agent none -l "$CLUSTER_USER")
		CLUSTER_FROM=(-w "train-[1-$cluster_want]" "${CLUSTER_WAY[@]}")
	fi
}

cluster_more() {
	cluster_from=$(wc -w <<<"$CLUSTER_NODES") cluster_new=''
	cluster_first=$((cluster_from + 1)) cluster_last=$((cluster_from + $1))
	cluster_order
	for ((cluster_i = cluster_first; cluster_i <= cluster_last; cluster_i++)); do cluster_new="$cluster_new train-$cluster_i"; done
	for cluster_node in $cluster_new; do
		wait_for 600 node_is "$cluster_node" running || { fail "($cluster_node runs)"; life_say m1; done_testing; }
		cluster_reach "$cluster_node"
	done
	for cluster_node in $cluster_new; do
		wait_for 180 in_node "$cluster_node" true || { fail "($cluster_node answers)"; life_say m1; done_testing; }
		# SSH answers before all units have started, which pictures would have later.
		in_node "$cluster_node" 'timeout 60 systemctl is-system-running --wait' >/dev/null
	done
	[ "$CLUSTER_USER" = root ] || for cluster_node in $cluster_new; do cluster_sudo "$cluster_node"; done
	CLUSTER_NODES="${CLUSTER_NODES:+$CLUSTER_NODES }${cluster_new# }"
}

# One order; instances beside each other.
cluster_order() {
	cluster_now=$(cat "$TMP/clock")
	cluster_at=$((cluster_now / 60 * 60 + 60))
	[ "$cluster_from" -gt 0 ] || as "$ACME" POST /v2/pools '{"name":"train","workspace":"default"}' >"$TMP/.pool"
	as "$ACME" POST /v2/orders "{\"pool\":\"train\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$cluster_at,\"end_at\":$((NOW + 86400)),\"node_count\":$((cluster_last - cluster_from))}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.order"
	case $(http_status) in 2*) ;; *) diag "$(cat "$TMP/.order")" ;; esac
	for ((cluster_i = cluster_first; cluster_i <= cluster_last; cluster_i++)); do
		as "$ACME" POST /v2/instances "{\"name\":\"train-$cluster_i\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.instance"
		case $(http_status) in 2*) ;; *) diag "$(cat "$TMP/.instance")" ;; esac
	done
	agentd_clock $cluster_at
}

# How `ssh -F` and in_node reach it: the address, port and host key that the market tells.
cluster_reach() {
	node "$1" '.ssh | "\(.hostname) \(.port) \(.host_keys[0].type) \(.host_keys[0].key)"' >"$TMP/.where"
	read -r cluster_host cluster_port cluster_type cluster_key <"$TMP/.where"
	printf '[%s]:%s %s %s\n' "$cluster_host" "$cluster_port" "$cluster_type" "$cluster_key" >>"$cluster_known"
	cat >>"$CLUSTER_CONFIG" <<-END_HOST
		Host $1
			HostName $cluster_host
			Port $cluster_port
			IdentityFile $TMP/buyer
			IdentitiesOnly yes
			UserKnownHostsFile $cluster_known
			GlobalKnownHostsFile none
			StrictHostKeyChecking yes
			ControlMaster no
			LogLevel ERROR
	END_HOST
}

# cluster_sudo NODE [PASSWORD]: its user bob may do all by sudo; with a password where one is given.
cluster_sudo() {
	in_node_stdin "$1" "id bob >/dev/null 2>&1 || useradd -m -s /bin/bash bob
		install -d -m 700 -o bob -g bob /home/bob/.ssh
		read -r pass; umask 077; cat >/home/bob/.ssh/authorized_keys; chown bob:bob /home/bob/.ssh/authorized_keys
		if [ -n \"\$pass\" ]; then printf 'bob:%s\n' \"\$pass\" | chpasswd; echo 'bob ALL=(ALL) ALL'; else echo 'bob ALL=(ALL) NOPASSWD: ALL'; fi >/etc/sudoers.d/bob
		chmod 440 /etc/sudoers.d/bob" < <(printf '%s\n' "${2-}"; cat "$TMP/buyer.pub")
}

# ---- The repository --------------------------------------------------------------------------------------------
cluster_repo() {
	CLUSTER_REPO=$TEST_DEBS/${1:-all}
	[ -s "$CLUSTER_REPO/SHA256SUMS" ] && [ -s "$CLUSTER_REPO/debs/Packages" ] ||
		skip_all "no repository of packages in '$CLUSTER_REPO': './quickstart check' makes one where a mirror of Debian answers"
}
cluster_lend() {
	cluster_jobs=''
	for cluster_node; do
		tar -C "$CLUSTER_REPO" -cf - . | in_node_stdin "$cluster_node" "mkdir -p '$CLUSTER_LENT' && tar -C '$CLUSTER_LENT' --no-same-owner -xf -" &
		cluster_jobs="$cluster_jobs $!"
	done
	for cluster_job in $cluster_jobs; do wait "$cluster_job"; done
}

# ---- In a node ---------------------------------------------------------------------------------------------------
in_node() { in_node_stdin "$@" </dev/null; }
in_node_stdin() { ssh -F "$CLUSTER_CONFIG" -o BatchMode=yes -o ConnectTimeout=20 "root@$1" "$2" 2>"$TMP/.ssh.$1"; }
on_nodes() {
	cluster_jobs=''
	for cluster_node in $CLUSTER_NODES; do in_node "$cluster_node" "$1" >"$TMP/.on.$cluster_node" & cluster_jobs="$cluster_jobs $!"; done
	cluster_rc=0
	for cluster_job in $cluster_jobs; do wait "$cluster_job" || cluster_rc=$?; done
	for cluster_node in $CLUSTER_NODES; do cat "$TMP/.on.$cluster_node"; done
	return $cluster_rc
}
node_address() { in_node "$1" "ip -4 -o addr show eth0 | sed 's,.*inet \([0-9.]*\)/.*,\1,'"; }

# The number on this machine of the node's first process: a child of the systemd-nspawn that has the node's folder. (Nodes
# of other markets have the same ids, and processes may end while one looks.)
node_init() {
	cluster_id=$(node "$1" .id)
	for cluster_pid in $(pgrep -f -- "--directory=$TMP/m1/nodes/$cluster_id/root"); do
		for cluster_pid in $(pgrep -P "$cluster_pid"); do
			awk '/^NSpid:/ && NF == 3 && $3 == 1 { found = 1 } END { exit !found }' "/proc/$cluster_pid/status" 2>/dev/null &&
				echo "$cluster_pid" && return
		done
	done
	return 1
}
node_restart() {
	cluster_pid=$(node_init "$1") && kill -9 "$cluster_pid" || { diag "no first process of $1 is found"; return 1; }
	cluster_dead() { ! kill -0 "$cluster_pid" 2>/dev/null; }
	wait_for 20 cluster_dead && wait_for 180 in_node "$1" true
}

# ---- Pictures ------------------------------------------------------------------------------------------------------
# Left out is what comes and goes by itself: caches, logs, the journal, seeds, stamps, and dpkg's and apt's own backups.
picture() { in_node "$1" "$(cat "$SRC/tests/provision/picture.sh")"; }
# pictures WORD [NODE…]: of each, at once, to $TMP/WORD.NODE. same_picture WORD OTHER NODE: a test.
pictures() {
	cluster_word=$1 cluster_jobs=''
	shift
	# shellcheck disable=SC2086
	[ $# -gt 0 ] || set -- $CLUSTER_NODES
	for cluster_node; do picture "$cluster_node" >"$TMP/$cluster_word.$cluster_node" & cluster_jobs="$cluster_jobs $!"; done
	for cluster_job in $cluster_jobs; do wait "$cluster_job"; done
}
same_picture() {
	[ -s "$TMP/$1.$3" ] && diff "$TMP/$1.$3" "$TMP/$2.$3" | grep '^[<>]' >"$TMP/.differs"
	[ -s "$TMP/$2.$3" ] && [ ! -s "$TMP/.differs" ] && [ "$(wc -l <"$TMP/$1.$3")" -gt 1000 ] && { pass "$4"; return; }
	fail "$4"
	diag "$(wc -l <"$TMP/.differs") lines differ: $(head -n 40 "$TMP/.differs")"
}
