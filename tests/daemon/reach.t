#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From inside a tenant's node: the agent's folder and key, the market's files, socket and port, and other tenants' nodes
# are out of reach. What the driver does not isolate is skipped by name. Uses the driver process; reach-ns.t uses ns.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin
chmod 755 "$TMP"   # what keeps a node out must not be this folder
marketd_account rival 1000.00
RIVAL=$(marketd_token rival)
ssh-keygen -q -t ed25519 -N '' -f "$TMP/rival"
agentd_join m1 3
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
agentd_buy ours 2 3600
ACME=$RIVAL USER_DATA=$(user_data "$TMP/rival.pub") agentd_buy theirs 1 3600
both() { node_is ours-1 running && node_is ours-2 running && ACME=$RIVAL node_is theirs-1 running; }
ok "two tenants have nodes on one machine" wait_for 180 both || life_say m1
ours() { life_in "ours-$1" "$2"; }
theirs() { ACME=$RIVAL LIFE_KEY=$TMP/rival life_in theirs-1 "$1"; }
ours 1 "echo ours-$$ >kept; $(life_sleep ours)"
theirs "echo theirs-$$ >kept; $(life_sleep theirs)"
is "$(theirs 'cat kept')" "theirs-$$" "(each gets into its own)"
PORT=${NANOPOD_URL##*:}
OURS=$(node ours-1 .ssh.port)
THEIRS_ID=$(ACME=$RIVAL node theirs-1 .id)

# ---- Files ------------------------------------------------------------------------------------------------------
# see PATH…: those whose content or list a node can read, by the machine's names and through other processes' roots.
see() {
	ours 1 "for f in $*; do for r in '' /proc/1/root /proc/\$\$/root /proc/*/root /proc/*/cwd /oldroot /mnt /.old; do
		if [ -d \"\$r\$f\" ]; then ls -A \"\$r\$f\" 2>/dev/null | grep -q . && echo \"\$r\$f\"; else head -c1 \"\$r\$f\" >/dev/null 2>&1 && echo \"\$r\$f\"; fi
	done; done; echo looked"
}
if life_holding files; then
	is "$(see /etc/passwd /bin | sort -u | grep -v '^/proc' | tr '\n' ' ')" "/bin /etc/passwd looked " \
		"(this is how it looks)"
	is "$(see "$TMP/m1" "$TMP/m1/key" "$TMP/m1/agent.json" "$TMP/m1/lock" "$TMP/m1/nodes")" looked \
		"the agent's folder, key and nodes are not there"
	is "$(see "$TMP/m1/nodes/$THEIRS_ID" "$TMP/m1/nodes/$THEIRS_ID/hostkey" "$TMP/m1/nodes/$THEIRS_ID/node.json")" \
		looked "nor another's node"
	is "$(see "$MARKETD_DATA" "$MARKETD_DATA"/* "$MARKETD_SOCKET" "$MARKETD_LOG" "$TMP/m1.log")" looked \
		"nor the market's files and socket"
	is "$(see "$TMP" "$TMP/buyer" "$TMP/rival" "$HOME")" looked "nor anything of this test"
	is "$(ours 1 'find / -xdev -name kept -exec cat {} + 2>/dev/null; find /proc/[0-9]*/root/root /proc/[0-9]*/cwd -maxdepth 2 -name kept -exec cat {} + 2>/dev/null' | sort -u)" \
		"ours-$$" "of what tenants wrote it finds its own and nothing else"
	DISK=$(stat -c '%Hd %Ld' "$TMP" 2>/dev/null)
	ours 1 "mknod d b $DISK" >/dev/null
	is "$(ours 1 'head -c1 d >/dev/null 2>&1 && echo read; ls /dev/sd* /dev/vd* /dev/nvme* /dev/loop* /dev/mem /dev/kmsg 2>/dev/null | while read -r d; do head -c1 $d >/dev/null 2>&1 && echo $d; done; echo tried')" \
		tried "no disk of the machine can be read"
	is "$(ours 1 'nsenter -t 1 -m true 2>/dev/null && [ "$(readlink /proc/1/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ] && echo entered; ls /proc/1/root'"$TMP"' 2>/dev/null; echo tried')" \
		tried "nor is there another's namespace to enter"
else
	skip "files: driver '$LIFE_DRIVER' does not keep them apart here"
fi

# ---- The market's socket -------------------------------------------------------------------------------------------
# If a node could open this socket, it could act as the operator.
try_unix() { printf 'perl -MIO::Socket::UNIX -e '\''print IO::Socket::UNIX->new(Peer => shift) ? "open" : "shut"'\'' %s' "$1"; }
if life_holding files; then
	is "$(sh -c "$(try_unix "$MARKETD_SOCKET")")" open "(the market's socket is open for who may)"
	is "$(ours 1 "$(try_unix "$MARKETD_SOCKET")")" shut "and shut for a node"
	is "$(ours 1 'cut -d" " -f8- /proc/net/unix' | grep -c "@.*nanopod")" 0 \
		"nor has anything of ours a name that needs no file"
fi

# ---- Processes ---------------------------------------------------------------------------------------------------
if life_holding processes; then
	seen() { ours 1 'for p in /proc/[0-9]*; do tr "\0" " " <$p/cmdline; echo; done'; }
	like "$(seen)" "sleep $(life_number ours)" "(it sees its own processes)"
	unlike "$(seen)" "sleep $(life_number theirs)" "not another tenant's"
	unlike "$(seen)" 'nanopod-(agentd|marketd)' "nor the agent or the market"
	is "$(ours 1 "kill -9 $(life_pid theirs) $(cat "$TMP/m1.pid") $MARKETD_PID 2>/dev/null; echo sent")" sent \
		"signals to numbers that these have"
	ok "reach none of them" kill -0 "$(life_pid theirs)" "$(cat "$TMP/m1.pid")" "$MARKETD_PID"
else
	skip "processes: driver '$LIFE_DRIVER' does not keep them apart here"
fi

# ---- Network -----------------------------------------------------------------------------------------------------
# try_port ADDRESS PORT [SECONDS]: a command that prints whether somebody listens there.
try_port() { printf 'timeout %s bash -c "exec 3<>/dev/tcp/%s/%s" 2>/dev/null && echo open || echo shut' "${3-3}" "$1" "$2"; }
if life_holding network; then
	is "$(bash -c "$(try_port 127.0.0.1 "$PORT" 30)")" open "(the market listens on loopback)"
	is "$(ours 1 "$(try_port 127.0.0.1 22 30)")" open "(this is how a node knocks)"
	is "$(ours 1 "$(try_port 127.0.0.1 "$PORT")")" shut "the market's loopback is not a node's"
	shut=0 open=''
	ADDRESSES=$(ip -4 -o addr show 2>/dev/null | sed -n 's,.*inet \([0-9.]*\).*,\1,p' | grep -v '^127'; ours 1 'ip route 2>/dev/null | sed -n "s/^default via \([0-9.]*\).*/\1/p"'; echo 10.88.0.1)
	for address in $(printf '%s\n' $ADDRESSES | sort -u); do
		for port in "$PORT" "$OURS" "$(ACME=$RIVAL node theirs-1 .ssh.port)"; do
			[ "$(ours 1 "$(try_port "$address" "$port")")" = shut ] && shut=$((shut + 1)) ||
				open="$open $address:$port"
		done
	done
	is "$open" "" "nor does any address of the machine lead to it, or to nodes' doors ($shut tried)"
	inside() { sed -n '/^[0-9.]*$/p' | grep -v '^127' | head -n 1; }
	MINE=$(ours 2 'hostname -I | tr " " "\n"' | inside)
	OTHER=$(theirs 'hostname -I | tr " " "\n"' | inside)
	isnt "$MINE" "" "(a node has an address)"
	isnt "$OTHER" "$MINE" "(and another tenant's another)"
	is "$(ours 1 "$(try_port "$MINE" 22 30)")" open "nodes of one tenant reach each other"
	is "$(theirs "$(try_port "$OTHER" 22 30)")" open "(the other tenant's node listens there)"
	is "$(ours 1 "$(try_port "$OTHER" 22)")" shut "those of two do not"
	is "$(theirs "$(try_port "$MINE" 22)")" shut "either way"
	ours 1 "for d in /sys/class/net/*; do d=\${d##*/}; [ \$d = lo ] || { ip addr add ${OTHER%.*}.250/24 dev \$d; ip route replace $OTHER dev \$d; }; done" >/dev/null 2>&1
	is "$(ours 1 "$(try_port "$OTHER" 22)")" shut "whatever root in one of them does to its routes"
else
	skip "network: driver '$LIFE_DRIVER' does not keep it apart: the market's loopback can be reached from its nodes"
fi
done_testing
