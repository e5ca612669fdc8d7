#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod procurement: the market keeps a number of nodes while they cost no more than a limit; create and delete are cut off at
# any request, and the same command continues.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 3
trade_between
cd "$TMP" || exit 99
p() { timeout -k 5 100 "$NANOPOD" procurement "$@" </dev/null; }
of() { p show "$1" -o json | jq -r ".[0] | $2"; }
alive() { market GET '/v2/instances?limit=200' | jq -r --arg p "$1" '[.data[] | select(.pool.name == $p and (.status == "running" or .status == "awaiting_allocation"))] | length'; }
kept() { market GET '/v2/procurements?limit=50' | jq '.data | length'; }

# ---- What is refused ----
run_is 2 "no type" p create farm -n 2 -p 1.80 -y
run_is 2 "no number" p create farm -t h100 -p 1.80 -y
run_is 2 "no limit" p create farm -t h100 -n 2 -y
run_is 2 "half a minute ahead" p create farm -t h100 -n 2 -p 1.80 --horizon 90s -y
like "$err" "whole minutes" "is none"
run_is 2 "a question that nobody hears" p create farm -t h100 -n 2 -p 1.80
NANOPOD_SPEND_MAX=50 run_is 7 "with spend-max" p create farm -t h100 -n 2 -p 1.80 -y
like "$err" "that has no end, and 'spend-max' is .50" "which it could not hold"
run_is 0 "a dry run" p create farm -t h100 -n 2 -p 2.10 --dry-run
like "$err" "price +up to .2.10 per GPU-hour, now .1.80" "shows the price"
like "$err" "burn +up to .33.60 an hour, until you disable it" "and what it may cost"
run_is 0 "--explain" p create farm -t h100 -n 2 -p 1.80 --explain
like "$out" '^POST .*/v2/procurements$' "shows the requests"
like "$out" '"target":2' "as they would be sent"
run_is 0 "none yet" p
like "$err" "no procurements; 'nanopod procurement create" "says how to make one"
is "$(kept) $(pools_count)" "0 0" "nothing was made"

# ---- One ----
run_is 0 "create" p create farm -t h100 -n 2 -p 1.80 -y -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.procurement, .state, .type, .target, .limit, .ahead_minutes, .why]')" \
	'["farm","running","richmond",2,"1.80",60,null]' "prints it"
is "$(alive farm) $(intents)" "2 0" "with its nodes"
clock $((NOW + 61))
is "$(of farm .nodes)" 2 "it has two hosts"
spent=$(of farm .spent_micros)
like "$spent" '^[1-9]' "that it paid for"
like "$(p list)" '^farm +running +richmond +2 +2 +1.80 +1h' "in the list"
clock $((NOW + HOUR + 60))
is "$(of farm '.nodes, .state' | xargs)" "2 running" "an hour later it still has them"
is "$(of farm .spent_micros)" $((spent + 28800000)) "and paid for one more"
run_is 0 "again, with --ensure" p create farm -t h100 -n 2 -p 1.80 -y --ensure
like "$err" "you have the procurement 'farm' already, running; nothing was changed" "nothing happens"
run_is 5 "another, with --ensure" p create farm -t h100 -n 3 -p 1.80 -y --ensure
run_is 5 "a name that is taken" p create farm -t h100 -n 2 -p 1.80 -y
run_is 5 "what it keeps" "$NANOPOD" release farm -y
like "$err" "nanopod procurement disable proc_" "is not given back: what to type"
run_is 5 "nor extended again and again" "$NANOPOD" extend farm -d 1h --auto-extend 100 -y
like "$err" "'nanopod procurement disable farm' first" "what to type"

# ---- Why it does not buy ----
run_is 0 "a lower limit" p set farm -p 1.00 -y
clock $((NOW + 6 * HOUR))
is "$(of farm '.nodes, .state' | xargs)" "0 pending" "at which nobody sells"
is "$(of farm .why)" "what is on sale costs more than the limit" "which is told"
is "$(alive farm)" 2 "its nodes wait"
run_is 0 "a higher one" p set farm -p 3.00 --horizon 2h -y
clock $((NOW + 6 * HOUR + 120))
is "$(of farm '.nodes, .state, .ahead_minutes' | xargs)" "2 running 120" "brings them back"
run_is 0 "more than there are" p create big -t h100 -n 4 -p 3.00 -y
is "$(of big .state)" pending "are waited for"
like "$err$(of big .why)" "capacity|sale" "the reason"
run_is 0 "delete" p delete big -y
run_is 3 "it is gone" p show big

# ---- Disable, delete ----
run_is 0 "disable" p disable farm
like "$err" "'farm' buys no more; what is bought stays" "says what stays"
run_is 2 "enable asks" p enable farm
run_is 0 "enable" p enable farm -y
run_is 0 "disable" p disable farm
clock $((NOW + 12 * HOUR))
is "$(of farm '.nodes, .state' | xargs)" "0 disabled" "it ended"
run_is 0 "a dry run of delete" p delete farm --dry-run
run_is 0 "delete" p delete farm -y
is "$(kept) $(alive farm)" "0 0" "nothing waits any more"

# ---- Cut off ----
for path in pools procurements instances; do
	rule "hang-after POST /v2/$path"
	: >"$BETWEEN_LOG"
	"$NANOPOD" procurement create "kill-$path" -t h100 -n 1 -p 1.80 -y >/dev/null 2>&1 </dev/null &
	pid=$!
	wait_for 20 grep -q "^POST /v2/$path" "$BETWEEN_LOG" || fail "(it got to $path)"
	kill -9 $pid
	wait $pid 2>/dev/null
	rules_off
	run p create "kill-$path" -t h100 -n 1 -p 1.80 -y
	is "$status $(alive "kill-$path") $(kept) $(intents)" "0 1 1 0" "kill -9 at $path: the same command goes on" || diag "$err"
	like "$err" "replayed|continues" "and says so"
	p delete "kill-$path" -y 2>/dev/null
done
# Until nothing is cut off any more: each request in turn gets no answer, or the market dies with it.
n=0 status=1
while [ $n -lt 40 ] && [ "$status" != 0 ]; do
	n=$((n + 1))
	: >"$BETWEEN_LOG"
	rule "lost=$n * /"
	run p create "cut$n" -t h100 -n 1 -p 1.80 -y
	rules_off
	[ "$status" != 0 ] || break
	run p create "cut$n" -t h100 -n 1 -p 1.80 -y
	is "$status $(alive "cut$n") $(kept) $(intents)" "0 1 1 0" "create, cut off at request $n, goes on" || diag "$err"
	: >"$BETWEEN_LOG"
	rule "lost=$n * /"
	run p delete "cut$n" -y
	rules_off
	[ "$status" = 0 ] || run p delete "cut$n" -y
	case $status in 0 | 3) pass "delete, too" ;; *) fail "delete, too: $status"; diag "$err" ;; esac
	is "$(kept)" 0 "it is gone"
	status=1
done
ok "it was cut off at each of $n requests" [ $n -gt 8 ] && [ $n -lt 40 ]
done_testing
