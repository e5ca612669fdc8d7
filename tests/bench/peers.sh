# SPDX-License-Identifier: Apache-2.0
# For tests/bench/fanout: the best peers of any language beside nanopod, `true` cold on a few hosts. sshd allows one
# exchange, one cipher and one host key, so that all do the same work. Their programs are found in $BENCH_PEERS
# (build/peers: see tests/bench/peers/get) and in PATH. What a tool costs apart from its hosts (an interpreter's start,
# say) is told by a run with one host.

peers=${BENCH_PEERS:-${BENCH_BUILD:-$here/../../build}/peers}
[ -d "$peers" ] && peers=$(cd "$peers" && pwd)
python=$peers/venv/bin/python
PATH=$PATH:$peers/bin
peer_functions='via_asyncssh via_pypi via_sake via_bssh'

have_module() { [ -x "$python" ] && "$python" -c "import $1" 2>/dev/null; }
have_module asyncssh || absent asyncssh "not installed in a venv; 'tests/bench/peers/get'"
have_module pssh.clients || absent parallel-ssh "not installed in a venv; 'tests/bench/peers/get'"
have sake || absent sake "no program of this name"
have bssh || absent bssh "not installed; 'tests/bench/peers/get'"

via_asyncssh() {
	"$python" "$here/peers/with_asyncssh.py" "$tmp/id" "$tmp/known_all" "$user" "$port" "$2" "$(hosts_file "$1")" "$3"
}

via_pypi() {
	"$python" "$here/peers/with_parallel_ssh.py" "$tmp/id" "$user" "$port" "$2" "$(hosts_file "$1")" "$3"
}

via_sake() {
	HOME=$tmp/peer sake exec -c "$tmp/sake.$1.yaml" -a -S free -f "$2" -q -o none -R none -i "$tmp/id" \
		--known-hosts-file "$tmp/known_all" "$3"
}

# Its known hosts are those in its home, and it takes a port with the host alone.
via_bssh() {
	HOME=$tmp/peer bssh -H "$(sed "s/.*/$user@&:$port/" "$(hosts_file "$1")" | paste -sd,)" -i "$tmp/id" \
		--parallel "$2" --strict-host-key-checking yes "$3"
}

peers_settings() {
	local n
	mkdir -p "$tmp/peer/.ssh"
	for n in "$@"; do
		# Some read the file of known hosts anew for each host, so it has these hosts alone.
		head -n "$n" "$tmp/known_all" >"$tmp/known_few" && cp "$tmp/known_few" "$tmp/peer/.ssh/known_hosts"
		{
			printf 'servers:\n  all:\n    hosts:\n'
			sed "s/.*/      - $user@&:$port/" "$(hosts_file "$n")"
		} >"$tmp/sake.$n.yaml"
	done
}

peers_turn() {
	turn peers "$1" "$1"
	wanted asyncssh && one peers "$1" "$1" asyncssh via_asyncssh "$1" "$1" true
	wanted parallel-ssh && one peers "$1" "$1" parallel-ssh via_pypi "$1" "$1" true
	wanted sake && one peers "$1" "$1" sake via_sake "$1" "$1" true
	wanted bssh && one peers "$1" "$1" bssh via_bssh "$1" "$1" true
	return 0
}

section_peers() {
	local r n=${quick:+10}
	n=${n:-50}
	start_sshd 'HostKeyAlgorithms ssh-ed25519'
	peers_settings 1 $n
	cp "$tmp/known_few" "$tmp/known_all"
	for ((r = 0; r < (runs > 5 ? runs : ${quick:-5}); r++)); do
		peers_turn 1
		peers_turn $n
	done
	stop_server
}

# The ratios are peers' cost by ours; the last line says whether the goal is met, by the nearest of them.
table_peers() {
	awk -v shell="$(shell_cost)" '
	BEGIN { split(shell, s, " ") }
	$1 != "peers" { next }
	{ k = $4; w = $5 - s[1]; c = ($6 - s[2]) * 1000; if ($10) bad[k] = " (failed)" }
	$2 == 1 { alone[k] = c; next }
	{ order[++n] = k; hosts[k] = $2; wall[k] = w; cpu[k] = c }
	END {
		b = "nanopod"
		for (i = 1; i <= n; i++) {
			k = order[i]
			each[k] = cpu[k] / hosts[k]
			further[k] = (cpu[k] - alone[k]) / (hosts[k] - 1)
		}
		for (i = 1; i <= n; i++) {
			k = order[i]
			printf "| %d | %s%s | %.2f | %.2f | %.2f | %.1f | %.2f | %.1f | %.1f |\n", hosts[k], k, bad[k], wall[k],
				wall[k] / wall[b], each[k], each[k] / each[b], further[k], further[k] / further[b], alone[k]
			if (k != b && k != "bareloop" && !(k in bad) && (!best || further[k] < further[best])) best = k
		}
		if (best) printf "\nNearest: %s, %.1f times the CPU of nanopod for a further host (the goal is 3): %s\n", best,
			further[best] / further[b], (further[best] >= 3 * further[b] ? "met" : "NOT met")
	}' "$tmp/medians"
}

head_peers='| hosts | tool | wall s | / nanopod | CPU ms a host | / nanopod | of it a further host | / nanopod | CPU ms, one host |
|--:|---|--:|--:|--:|--:|--:|--:|--:|'
