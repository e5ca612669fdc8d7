#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nodes that were bought: listed, and reached by name with the key that the market tells, and no other.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
nodes() { "$NANOPOD" nodes "$@"; }

# ---- The list ----
run_is 0 "nodes" nodes -o json
is "$(printf '%s' "$out" | jq -c '[.[] | [.node, .reservation, .status, .type, .address, .port, .user]]')" \
	"[[\"train-0\",\"train\",\"running\",\"richmond\",\"$(sshd_address 1)\",$SSHD_PORT,\"$SSHD_USER\"],[\"train-1\",\"train\",\"running\",\"richmond\",\"$(sshd_address 2)\",$SSHD_PORT,\"$SSHD_USER\"]]" \
	"by name, with the way to each"
is "$(printf '%s' "$out" | jq -c '.[0].host_keys')" "[\"ssh-ed25519 $NODE_KEY\"]" "and its host key"
is "$(printf '%s' "$out" | jq -r '.[0].ends')" "2027-01-15T12:01:00Z" "and until when it is bought"
run_is 0 "by reservation" nodes -r train -q
is "$out" "train-0
train-1" "names alone"
is "$(nodes -q 'train-1')" train-1 "by name"
is "$(nodes -q 'train-*' | wc -l)" 2 "by pattern"
is "$(nodes -q --type other)$(nodes -q --zone nowhere)" "" "by type and zone"
is "$(nodes -q --type richmond | wc -l)" 2 "(which they have)"
run_is 3 "a reservation that is not there" nodes -r nothing
like "$err" "no reservation 'nothing'" "is told"
run_is 3 "a name that is none" nodes train-7
like "$err" "you have no running or pending node 'train-7'; 'nanopod nodes --all'" "is told"
run_is 0 "a pattern may fit nothing" nodes 'tram-*'
run nodes
like "$out" '^train-0 +train +running' "a table"
is "$(nodes --explain 2>/dev/null | grep -c 'GET .*/np/v1/nodes')" 1 "--explain sends nothing"
run_is 0 "show of the reservation" "$NANOPOD" show train
like "$out" 'node +train-0 \(inst_.*running' "names them"

# ---- GPUs ----
is "$(nodes -o json | jq -c '.[0].gpus')" "[]" "no GPUs that its host did not report"
unlike "$("$NANOPOD" show train-0)" '^gpus' "nor in show"
has='[{"model":"h100","count":8,"memory_bytes":85520809984},{"model":"l4","count":1}]'
node_report train-0 "{\"status\":\"running\",\"hostname\":\"$(sshd_address 1)\",\"port\":$SSHD_PORT,\"user\":\"$SSHD_USER\",\"gpus\":$has,\"host_keys\":[{\"type\":\"ssh-ed25519\",\"key\":\"$NODE_KEY\"}]}"
is "$(nodes -o json | jq -c '.[0].gpus')" '[{"model":"h100","count":8,"memory_bytes":85520809984},{"model":"l4","count":1}]' "what it reported, exact for programs"
like "$(nodes -o wide | sed -n 2p)" ' richmond +8 h100 of 79.6 GiB, 1 l4 +' "readable for people"
like "$(nodes -o wide | sed -n 3p)" '^train-1 .* richmond +- +' "and of the other nothing"
unlike "$(nodes)" 'h100' "not in the plain table"
is "$(nodes -o csv --fields node,gpus | head -n 2 | tail -n 1)" 'train-0,"8 h100 of 79.6 GiB, 1 l4"' "CSV"
is "$(nodes --fields gpus train-0 | tail -n 1)" '8 h100 of 79.6 GiB, 1 l4' "as a field"
like "$("$NANOPOD" show train-0)" '^gpus +8 h100 of 79.6 GiB, 1 l4$' "show names them"
is "$("$NANOPOD" show train-0 -o json | jq -c '.np_gpus[0].count')" 8 "in JSON, too"

for host in cheap-1 cheap-2 cheap-3 cheap-4; do as "$FOUNDRY" PATCH "/np/v1/hosts/$host" '{"down":true}' >"$TMP/.down"; done
like "$(nodes)" '^train-0 +train +running \(host down\)' "a host that is down is no secret"
is "$(nodes -o json | jq -r '.[0] | .status + ", " + .message[0:16]')" 'running, its host is down' "nor for programs, whose node runs"
for host in cheap-1 cheap-2 cheap-3 cheap-4; do as "$FOUNDRY" PATCH "/np/v1/hosts/$host" '{"down":false}' >"$TMP/.down"; done
like "$(nodes)" '^train-0 +train +running' "and up again"

# ---- ssh ----
before=$(find "$HOME/.ssh" -type f)
run_is 0 "ssh NODE" "$NANOPOD" ssh $WHERE train-0 -- echo there
is "$out$err" there "reaches it: no question, no known_hosts"
run_is 7 "its exit status" "$NANOPOD" ssh $WHERE train-0 -- exit 7
is "$(find "$HOME/.ssh" -type f)" "$before" "nothing is written down in ~/.ssh"
: >"$HOME/.ssh/known_hosts"
printf 'train-0 %s\n' "$(cut -d' ' -f1,2 "$SSHD_KEY.pub")" >"$HOME/.ssh/known_hosts"
run_is 0 "a key that known_hosts has under its name" "$NANOPOD" ssh --ssh-config none --identity "$SSHD_KEY" --agent none train-0 -- echo there
is "$out" there "does not count: the market's word does"
rm "$HOME/.ssh/known_hosts"
if [ "$(id -u)" -ne 0 ] || [ -d /run/sshd ]; then
	run_is 0 "ssh --openssh" "$NANOPOD" ssh --openssh --ssh-config none --identity "$SSHD_KEY" --agent none train-1 echo there
	is "$out" there "with the same key pinned"
fi

# ---- A wrong key ----
OTHER=$(cut -d' ' -f2 "$SSHD_KEY.pub")
node_runs train-1 2 "$OTHER"
run_is 255 "a server with another key" "$NANOPOD" ssh $WHERE train-1 -- touch "$TMP/was-there"
like "$err" "the host key of 'train-1' is SHA256:.* but SHA256:.* is pinned" "is refused, and why"
like "$err" "nanopod replace" "and what to do"
not_ok "nothing was done there" test -e "$TMP/was-there"
run_is 255 "with accept-new too" "$NANOPOD" ssh --ssh-config none --known-hosts "$TMP/known" --identity "$SSHD_KEY" --host-key accept-new --agent none train-1 -- true
not_ok "which writes nothing down" grep -q . "$TMP/known"
run "$NANOPOD" ssh --openssh --ssh-config none --identity "$SSHD_KEY" --agent none train-1 true
isnt "$status" 0 "and by the system's ssh"
like "$err" "REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed" "which says so"
run_is 10 "among several" "$NANOPOD" run $WHERE -r train -- echo there
is "$out" "train-0: there" "the others are reached"
like "$err" "the market knows this node's key" "and why one is not"
node_runs train-1 2

# ---- No key ----
trade_between
for asks in /np/v1/nodes /v2/instances; do echo "swap=host_keys,h0st_keys GET $asks"; done >"$RULES"
: >"$TMP/known"
for how in ssh "ssh --openssh"; do
	# shellcheck disable=SC2086
	run_is 5 "$how to a node of which the market has no key" "$NANOPOD" $how --ssh-config none --known-hosts "$TMP/known" --identity "$SSHD_KEY" --host-key accept-new --agent none train-1 -- touch "$TMP/was-there"
	like "$err" "cannot trust 'train-1': the market has no host key" "is refused, and why"
	like "$err" "'nanopod replace train-1' makes another" "and what to do"
done
echo here >"$TMP/here"
run_is 5 "run" "$NANOPOD" run $WHERE --host-key accept-new -w train-1 -- touch "$TMP/was-there"
run_is 5 "and cp likewise" "$NANOPOD" cp $WHERE --host-key accept-new "$TMP/here" train-1:"$TMP/was-there"
not_ok "nothing was done there" test -e "$TMP/was-there"
not_ok "and no key is written down" grep -q . "$TMP/known"
rules_off
NANOPOD_URL=$MARKET_URL
unset MARKET_URL

# ---- run, cp, hosts ----
run_is 0 "run -r" "$NANOPOD" run $WHERE -r train -- echo there
is "$(printf '%s\n' "$out" | sort)" "train-0: there
train-1: there" "on all of them"
run_is 0 "run -w NODE" "$NANOPOD" run $WHERE -w train-1 --no-label -- echo there
is "$out" there "by its name, which was told before"
echo text >"$TMP/file"
run_is 0 "cp to NODE:" "$NANOPOD" cp $WHERE "$TMP/file" "train-0:$TMP/sent"
is "$(cat "$TMP/sent")" text "arrives"
run_is 0 "cp --reservation" "$NANOPOD" cp $WHERE --reservation train ":$TMP/file" "$TMP/{host}.got"
is "$(cat "$TMP/train-0.got" "$TMP/train-1.got")" "text
text" "from all of them"
is "$("$NANOPOD" hosts $WHERE -o json train-0 | jq -c '.[0] | [.address, .port, .user]')" "[\"$(sshd_address 1)\",$SSHD_PORT,\"$SSHD_USER\"]" \
	"hosts says where it is"

# ---- No market ----
URL=$NANOPOD_URL
NANOPOD_URL=http://127.0.0.1:1
run_is 255 "a market that does not answer" "$NANOPOD" ssh $WHERE --connect-timeout 2s nohost.invalid -- true
like "$err" "cannot ask the market whether 'nohost.invalid' is a node of yours.*host like others" "is no hindrance"
run "$NANOPOD" run --ssh-config "$SSHD_CONFIG" -w n1 -- echo plain
is "$out$err" "n1: plain" "hosts that are known here are not asked about"
run_is 8 "what only it knows" "$NANOPOD" run -r train -- true
like "$err" "cannot list your nodes" "cannot be had"
unset NANOPOD_URL
run_is 2 "no market at all" "$NANOPOD" run -r train -- true
like "$err" "no market is set" "is told"
run "$NANOPOD" run --ssh-config "$SSHD_CONFIG" -w 'n[1-2]' -- echo plain
is "$status" 0 "and plain hosts need none"
NANOPOD_URL=$URL; export NANOPOD_URL

# ---- Not yet, and not any more ----
run_is 0 "(a third node, that its host has not started)" "$NANOPOD" buy -t h100 -n 1 -d 2h -p 1.80 --name late --ssh-key "$SSHD_KEY.pub" -y
clock $((NOW + 121))
run_is 5 "is not reached" "$NANOPOD" ssh $WHERE late-0 -- true
like "$err" "cannot reach 'late-0': pending.*'--wait' waits.*nodes -r late" "and it is told why and what to do"
run_is 5 "nor by run" "$NANOPOD" run $WHERE -r late -- true
run_is 9 "--wait" "$NANOPOD" run $WHERE -r late --wait=1s -- true
like "$err" "timed out while waiting: 0 of 1 node running.*late-0" "gives up after its time"
{ sleep 1; node_runs late-0 1; } &
run_is 0 "and goes on as soon as it runs" "$NANOPOD" ssh $WHERE --wait=2m late-0 -- echo there
is "$out" there "(there it is)"
wait $! 2>/dev/null
market POST "/v2/instances/$(node_id late-0)/terminate" >/dev/null
run_is 3 "a reservation whose nodes ended" "$NANOPOD" run $WHERE -r late -- true
like "$err" "no reservation 'late' with a running or pending node.*nodes -r late --all" "and what shows them"
is "$(nodes -r late -q)$(nodes -r late --all -o json | jq -r '.[0].status')" ended "which --all does"
done_testing
