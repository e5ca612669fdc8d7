#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod wait and ls --watch: they say what they wait for, and change nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
np() { timeout -k 5 300 "$NANOPOD" "$@"; }

run_is 0 "a reservation that runs" np wait train
like "$err" "'train' is running" "is said"
is "$out" "" "on standard error"
run_is 0 "a node of it" np wait train-1 --timeout 20s
run_is 3 "neither a reservation nor a node" np wait nothing
run_is 2 "nothing else can be waited for" np wait train --for ever
run_is 9 "it has not ended" np wait train --for ended --timeout 100ms
like "$err" "'train' ends Fri 15 Jan 12:01 UTC \(in 3h 59m\)" "and its end is said"

np buy -t h100 -d 1h -p 3 -y --name soon -s +30m >/dev/null 2>&1
run_is 9 "one that comes later" np wait soon --timeout 100ms
like "$err" "0 of 1 node running; soon-0: starts at [0-9:]+ \(in [0-9]+:[0-9]+\)" "says when it starts"
like "$err" "soon-0: starts at 08:32 \(in 30:[0-9]+\)" "by the market's clock"
run_is 5 "a command that cannot reach it" np ssh $WHERE soon-0 -- true
like "$err" "cannot reach 'soon-0': pending: starts at 08:32 \(in 30:[0-9]+\)" "says the same"
run_is 9 "and one that waits for a node" np run $WHERE -w soon-0 --wait=100ms -- true
like "$err" "soon-0: starts at 08:32 \(in 30:[0-9]+\)" "too"
run_is 10 "one that has others to go to" np run $WHERE -w train-0,soon-0 -- true
like "$err" "pending: starts at 08:32 \(1\): soon-0" "names it with its start"
run_is 0 "the list" np nodes
like "$out" "^soon-0 +soon +pending \(in 30m [0-9]+s\)" "says how long it has to wait"
is "$(np nodes -o json | jq -c 'map({(.node): .starts}) | add')" \
	'{"soon-0":"2027-01-15T08:32:00Z","train-0":null,"train-1":null}' "and programs the time"
is "$(np nodes -o json soon-0 | jq -r '.[0].status')" pending "beside the plain state"
like "$(np show soon-0)" "^starts +Fri 15 Jan 08:32 UTC \(in 30m 59s\)" "as does show"
np buy -t h100 -n 2 -d 1h -p 3 -y --into soon -s +2h >/dev/null 2>&1
np buy -t h100 -n 1 -d 1h -p 3 -y --into soon -s +4h >/dev/null 2>&1
is "$(np nodes -r soon -o json | jq -r '.[].starts' | tr '\n' ' ')" \
	"2027-01-15T08:32:00Z 2027-01-15T10:02:00Z 2027-01-15T10:02:00Z 2027-01-15T12:02:00Z " "of several windows each node has its own"
np release soon -y >/dev/null 2>&1
np buy -t h100 -d 1h -p 3 -y --name now -s now >/dev/null 2>&1
clock $((NOW + 121))
run_is 9 "one whose host has not started it" np wait now --timeout 100ms
like "$err" "now-0: its host has not started it yet" "says that"
np wait now >"$TMP/out" 2>"$TMP/said" &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "it waits" wait_for 20 grep -q 'now-0' "$TMP/said"
node_runs now-0 1
wait $pid
is "$?" 0 "until the node runs"

# ---- On a terminal the time counts ----
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
# counts TEXT: waits for `near` until the line with it was drawn eight times, four a second; then Ctrl-C.
counts() {
	for i in 1 2 3 4 5 6 7 8; do printf 'expect %s\n' "$1"; done >"$TMP/say"
	printf 'send \\x03\n' >>"$TMP/say"
	took=$(date +%s)
	run "$PTY" "$TMP/say" "$NANOPOD" wait near
	took=$(($(date +%s) - took + 1))
	is "$status" 130 "a wait on a terminal, until Ctrl-C"
}
np buy -t h100 -d 1h -p 3 -y --name near -s "@$((NOW + 240))" >/dev/null 2>&1
clock $((NOW + 199))
counts 'near-0: starts at 08:04 (in '
printf '%s\n' "$out" | grep -o '(in [0-9]* s)' | tr -dc '0-9\n' >"$TMP/left"
first=$(sed -n 1p "$TMP/left") last=$(sed -n '$p' "$TMP/left")
ok "says how long it is until the start" [ "$first" -le 41 -a "$first" -ge $((41 - took)) ] || diag "$first s of 41, after $took s"
ok "and counts down" [ "$last" -lt "$first" -a "$last" -ge $((41 - took)) ] || diag "$(cat "$TMP/left")"
clock $((NOW + 241))
counts 'near-0: its host has not started it yet, '
like "$out" 'not started it yet, [1-9][0-9]* s' "how long its host has done nothing"
node_runs near-0 1
trade_between
rule "swap=ssh,s5h GET /np/v1/nodes"
counts 'near-0: booting, '
like "$out" 'booting, [1-9][0-9]* s' "and how long it boots"
NANOPOD_URL=$MARKET_URL
np release near -y >/dev/null 2>&1

np wait train-0 --for ended 2>"$TMP/ended" &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "for the end of a node" wait_for 20 grep -q "'train-0' ends" "$TMP/ended"
like "$(np ls 2>&1)" "^train " "(it is listed)"
np release train-0 -y >/dev/null 2>&1
clock $((NOW + 361))
wait $pid
is "$?" 0 "it waits"
like "$(cat "$TMP/ended")" "'train-0' has ended" "and says so"
run_is 5 "it will not run any more" np wait train-0

# ---- Near the end ----
clock $((NOW + 50 * 60))
run_is 0 "shortly before the end" np ls
like "$err" "'now' ends in 12m; 'nanopod extend now -d 1h' keeps its nodes" "the list says so"
unlike "$err" "'train' ends" "of that one"
run_is 0 "nor for scripts" np ls -o json
is "$err" "" "they read the end"
run_is 0 "(all of it is given back)" np release now -y
run_is 0 "what its owner gave back" np ls
like "$out" "^now .*\(in 1m\)" "is listed until it ends"
unlike "$err" "extend" "and nobody is told to keep it"
clock $((NOW + 51 * 60 + 30))
run_is 5 "a reservation whose nodes have ended" np wait now
like "$err" "it has no pending or running node; 'nanopod show now' says what it has" "says what to type"
run_is 0 "which works" np show now

# ---- The list, watched ----
"$NANOPOD" ls --watch >"$TMP/watched" 2>&1 &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "ls --watch lists what is there" wait_for 20 grep -q ' train: running, 1 node of richmond, 1 started, until ' "$TMP/watched"
np buy -t h100 -d 1h -p 3 -y --name more -s +60h >/dev/null 2>&1
ok "and what changes" wait_for 20 grep -q ' more: pending, 1 node of richmond, ' "$TMP/watched"
np release more -y >/dev/null 2>&1
ok "or goes" wait_for 20 grep -q ' more: gone' "$TMP/watched"
is "$(grep -c ' train: ' "$TMP/watched")" 1 "and nothing else"
kill -INT $pid
wait $pid
is "$?" 130 "until Ctrl-C"
run_is 2 "formats for scripts are not watched" np ls --watch -o json
done_testing
