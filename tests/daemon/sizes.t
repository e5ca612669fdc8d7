#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a host is sold as, on the agent's side: the node gets that and nobody else does, hosts that do not fit are refused,
# and another program's port costs a node its port, not its life. Uses the fake driver.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/promise.sh"

agentd_market
promise_begin
MEMORY=$(($("$AGENTD" --data "$TMP/m1" inventory --json | jq .capacity.memory_bytes) / 5 * 2))
CPUS=$("$AGENTD" --data "$TMP/m1" inventory --json | jq .capacity.vcpus)
said() { grep -q -e "$2" "$TMP/$1.log"; }
gone() { [ ! -e "$TMP/$1/nodes/$2" ] && [ ! -e "$TMP/$1/fake/$2" ]; }
journal() { json "$2" <"$TMP/m1/nodes/$(node "$1" .id)/node.json"; }

# ---- The machine -------------------------------------------------------------------------------------------------
is "$("$AGENTD" --data "$TMP/m1" inventory --json | jq -r '.capacity | keys | join(" ")')" \
	"devices disk_bytes gpus memory_bytes network node_memory_bytes shared_storage shares vcpus" "the inventory says what can be promised"
total=$(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) * 1024))
ok "which is less than the machine has" test $((MEMORY / 2 * 5)) -le $((total - total / 16)) -a $((MEMORY / 2 * 5)) -gt 0
ok "by a gibibyte at least" test $((total - MEMORY / 2 * 5)) -ge $((1 << 30))

# ---- Another program's port -------------------------------------------------------------------------------------------
agentd_join m1 3
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
agentd_buy port 1 7200
ok "(a node runs)" wait_for 40 node_is port-1 running || diag "$(cat "$TMP/m1.log")"
I=$(node port-1 .id)
P=$(node port-1 .ssh.port)
is "$P" $PORTS "(at the first port)"
agentd_kill m1
pkill -KILL -f "listener $P $TMP/m1/fake/$I"
free_again() { ! (exec 3<>"/dev/tcp/127.0.0.1/$P") 2>/dev/null; }
ok "(the machine stops)" wait_for 10 free_again
touch "$TMP/other"
"$AGENTD" listener "$P" "$TMP/other" "$TMP/other.console" &
at_exit "kill $! 2>/dev/null"
ok "(another program takes the port)" wait_for 10 test -s "$TMP/other.console"
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
moved() { case $(node port-1 '"\(.status) \(.ssh.port)"') in "running $P") false ;; "running "[0-9]*) ;; *) false ;; esac; }
ok "the node comes up at another port, and the market knows it" wait_for 40 moved || diag "$(cat "$TMP/m1.log")"
is "$(node port-1 '[.status, .id] | join(" ")')" "running $I" "it is the same node"
isnt "$(node port-1 .ssh.port)" "$P" "(not the old port)"
N=$(node port-1 .ssh.port)
is "$(agentd_status m1 '.nodes[0].port')" "$N" "the agent says so too"
agentd_kill m1
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
agentd_buy port2 1 7200
ok "(a second node runs)" wait_for 40 node_is port2-1 running || diag "$(cat "$TMP/m1.log")"
is "$(node port-1 '.ssh.port')" "$N" "and the first keeps its new port"
isnt "$(node port2-1 .ssh.port)" "$N" "which no other node gets"
for pool in port port2; do as "$ACME" POST "/np/v1/pools/$pool/release" '{}' >/dev/null; done
agentd_clock $(($(cat "$TMP/clock") + 60))
empty() { [ -z "$(ls "$TMP/m1/nodes")" ]; }
ok "(both end)" wait_for 60 empty || diag "$(cat "$TMP/m1.log")"

# ---- Two of these fit, and a third does not --------------------------------------------------------------------------
promise '"memory_bytes":'$MEMORY
agentd_buy fits 2 7200
for i in 1 2; do
	ok "node $i of two that fit runs" wait_for 40 node_is fits-$i running || diag "$(cat "$TMP/m1.log")"
	is "$(journal fits-$i '[.memory, .contract.memory_bytes] | unique | join(" ")')" $MEMORY "and has what was promised"
done
agentd_buy third 1 7200
ok "a third is refused" wait_for 40 node_is third-1 failed || diag "$(cat "$TMP/m1.log")"
is "$(node third-1 .status_message)" "this machine has no room for it: it needs $((MEMORY >> 20)) MiB of memory, and $((MEMORY / (1 << 19))) MiB of $((MEMORY / 2 * 5 >> 20)) are promised to other hosts" "and its buyer reads why"

# ---- Who comes next on a host waits for who leaves it ----------------------------------------------------------------
I=$(node fits-1 .id)
as "$ACME" POST "/v2/instances/$I/replace" '{"name":"fits-1","image":"debian-12"}' >/dev/null
next_runs() { [ "$(node fits-1 .id)" != "$I" ] && node_is fits-1 running; }
ok "a node that replaces another comes up" wait_for 60 next_runs || diag "$(cat "$TMP/m1.log")"
ok "(the old one was wiped)" wait_for 20 gone m1 "$I"
ok "after the old one was wiped, since both do not fit" awk -v old="$I: removed" -v new="$(node fits-1 .id): running" \
	'index($0, old) { old = "" } index($0, new) { exit old != "" } END { exit old != "" }' "$TMP/m1.log" || diag "$(cat "$TMP/m1.log")"

# ---- What a driver takes beside its nodes -------------------------------------------------------------------------------
for pool in fits third; do as "$ACME" POST "/np/v1/pools/$pool/release" '{}' >/dev/null; done
agentd_clock $(($(cat "$TMP/clock") + 60))
ok "(all end)" wait_for 60 empty || diag "$(cat "$TMP/m1.log")"
agentd_stop m1
rm "$TMP/m1/room.json"   # what has its place keeps it
export FAKE_NODE_MEMORY=$((MEMORY / 2))
is "$("$AGENTD" --data "$TMP/m1" --driver fake inventory --json | jq -c '[.capacity.node_memory_bytes, .capacity.network]')" \
	"[$FAKE_NODE_MEMORY,false]" "the inventory says what each node takes beside its own, and that nothing limits its network"
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
agentd_buy beside 2 7200
one_of_two() { [ "$(node beside-1 .status) $(node beside-2 .status)" = "running failed" ] || [ "$(node beside-1 .status) $(node beside-2 .status)" = "failed running" ]; }
ok "then one of two fits" wait_for 40 one_of_two || diag "$(cat "$TMP/m1.log")"
as "$ACME" POST /np/v1/pools/beside/release '{}' >/dev/null
promise '"network_mbps":80'
agentd_clock $(($(cat "$TMP/clock") + 60))
ok "(both end)" wait_for 60 empty || diag "$(cat "$TMP/m1.log")"
agentd_buy fast 1 7200
ok "and a promised network is refused" wait_for 40 node_is fast-1 failed || diag "$(cat "$TMP/m1.log")"
like "$(node fast-1 .status_message)" "nothing here limits its network to 80 Mbit/s" "for that reason"
unset FAKE_NODE_MEMORY
agentd_stop m1
as "$ACME" POST /np/v1/pools/fast/release '{}' >/dev/null
promise '"memory_bytes":'$MEMORY
agentd_start m1 --driver fake --grace 1 --first-port $PORTS

# ---- Processors ------------------------------------------------------------------------------------------------------
promised() { jq -e "[.hosts[].contract == {memory_bytes: $MEMORY}] | length == 2 and all" "$TMP/m1/room.json" >/dev/null; }
ok "(it hears what is promised now)" wait_for 60 promised || diag "$(cat "$TMP/m1/room.json")"
agentd_stop m1
json . <"$TMP/m1/room.json" >"$TMP/room.before"
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
is "$(json . <"$TMP/m1/room.json")" "$(cat "$TMP/room.before")" "a new agent finds the same promises"
for pool in fits third; do
	as "$ACME" POST "/np/v1/pools/$pool/release" '{}' >/dev/null
done
agentd_clock $(($(cat "$TMP/clock") + 60))
ok "(all end)" wait_for 60 empty || diag "$(cat "$TMP/m1.log")"
if [ "$CPUS" -le 1000 ]; then
	promise '"vcpus":'$CPUS
	agentd_buy cores 1 7200
	ok "a node of all processors runs" wait_for 40 node_is cores-1 running || diag "$(cat "$TMP/m1.log")"
	isnt "$(journal cores-1 .cores)" "" "and they are named"
	agentd_buy rest 1 7200
	ok "another one of that size is refused" wait_for 40 node_is rest-1 failed || diag "$(cat "$TMP/m1.log")"
	like "$(node rest-1 .status_message)" "it needs $CPUS processors, and $CPUS of $CPUS are promised" "for that reason"
else
	skip "this machine has $CPUS processors"
fi
done_testing
