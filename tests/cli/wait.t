#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod wait and ls --watch: they say what they wait for, and change nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
np() { timeout -k 5 60 "$NANOPOD" "$@"; }

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
np buy -t h100 -d 1h -p 3 -y --name now -s now >/dev/null 2>&1
clock $((NOW + 121))
run_is 9 "one whose host has not started it" np wait now --timeout 100ms
like "$err" "now-0: no host yet" "says that"
np wait now >"$TMP/out" 2>"$TMP/said" &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "it waits" wait_for 20 grep -q 'now-0' "$TMP/said"
node_runs now-0 1
wait $pid
is "$?" 0 "until the node runs"

np wait train-0 --for ended 2>"$TMP/ended" &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "for the end of a node" wait_for 20 grep -q "'train-0' ends" "$TMP/ended"
np release train-0 -y >/dev/null 2>&1
clock $((NOW + 241))
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
