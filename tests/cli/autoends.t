#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod extend --auto-extend where the nodes of a reservation end at different times: each end is extended, within the
# one budget, and none that somebody released or sold. The market's schedule and orders are the judge.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 16
. "$(dirname "$0")/../lib/extending.sh"
# Its nodes from one time to the next: "1@END 2@END", counted from $NOW in minutes, of what is not over.
has() {
	schedule "$1" '.allocation_schedule.total | map(select(.node_count > 0) | "\(.node_count)@\((.end_at - '$NOW') / 60)") | join(" ")'
}
has_is() { [ "$(has "$1")" = "$2" ]; }
# What the account paid for a reservation's orders beyond $bought, in micro-dollars.
cost() { market GET '/v2/orders?limit=200' | jq --arg n "$1" '[.data[] | select(.pool.name == $n and .side == "buy") | .np_filled_total_dollars | sub("[.]"; "") | tonumber] | add'; }
paid() { echo $(($(cost "$1") - bought)); }
at() { clock $((NOW + $1 * 60)); }
# two NAME MINUTE: one node for an hour, one for an hour and a half, from that minute of the market on.
two() {
	at "$2"
	run_is 0 "(a node: $1)" np buy -t richmond -s @$((NOW + ($2 + 1) * 60)) -d 1h -p 2.10 -y --no-wait --no-instances --name "$1"
	run_is 0 "(and one for longer)" np buy -t richmond -s @$((NOW + ($2 + 1) * 60)) -d 90m -p 2.10 -y --no-wait --no-instances --into "$1"
	bought=$(cost "$1")
	first=$(($2 + 61)) second=$(($2 + 91))
}
becomes() { ok "$2" wait_for 30 has_is "$name" "$1" || diag "$(has "$name")" "$(cat "$name.err")"; }
looks() { [ "$(asked GET '/np/v1 ')" -ge "$1" ]; }
looked() { wait_for 60 looks $(($(asked GET '/np/v1 ') + $1)); }

# ---- Each end at its own time ----
two each 0
is "$(has each)" "2@$first 1@$second" "(it has two ends)"
run_is 0 "the plan" np extend each -d 1h --auto-extend 57.6 --dry-run
like "$err" "nodes +1 node of richmond, until .* 09:01 UTC" "names the first"
like "$err" "^ +1 node of richmond, until .* 09:31 UTC" "and the second"
like "$err" 'each time +1h longer, 5m before each end: \$28\.80 now for all' "and what all cost"
auto each -d 1h --auto-extend 57.6 -o csv
said 'again and again'
at $((first - 3))
becomes "2@$second 1@$((first + 60))" "the first end is extended"
looked 3
is "$(has each) $(paid each)" "2@$second 1@$((first + 60)) $HOUR_COSTS" "and it alone"
at $((second - 3))
becomes "2@$((first + 60)) 1@$((second + 60))" "then the second"
at $((first + 57))
becomes "2@$((second + 60)) 1@$((first + 120))" "then the first again"
at $((second + 57))
ends
is "$status $(has each) $(paid each)" "0 2@$((first + 120)) 1@$((second + 120)) $((4 * HOUR_COSTS))" "no node ends before the budget does"
like "$(cat each.err)" "the budget is used up, 'each' ends at .* 11:01 UTC \(1 node\) and .* 11:31 UTC \(1 node\): 4 extensions for .57\.60" "both ends are named"
is "$(sed 1d each.out | cut -d, -f3,5 | tr '\n' ' ')" "1,2027-01-15T10:01:00Z 1,2027-01-15T10:31:00Z 1,2027-01-15T11:01:00Z 1,2027-01-15T11:31:00Z " \
	"a row for each"

# ---- Released and sold before it begins, and while it runs ----
two loose 300
run_is 0 "(two more)" np buy -t richmond -n 2 -s @$((NOW + 301 * 60)) -d 1h -p 2.10 -y --no-wait --no-instances --into loose
bought=$(cost loose)
at 302
market POST "/np/v1/pools/$(pool loose)/release" "{\"from\":$((NOW + 340 * 60)),\"node_count\":1}" >/dev/null
before=$(has loose)
run_is 0 "the plan" np extend loose -d 1h --auto-extend 100 --dry-run
like "$err" "not these +1 node until .* 13:40 UTC: released, sold, or taken back" "names what was released"
auto loose -d 1h --auto-extend 1000
said 'again and again'
at 337
looked 3
is "$(has loose) $(paid loose)" "$before 0" "what was released before is not extended"
marketd_account other 1000.00
OTHER=$(marketd_token other)
run_is 0 "the last 20 minutes of a node are for sale" np sell loose -n 1 -s @$((NOW + 341 * 60)) -e @$((NOW + 361 * 60)) -p 0.10 -y
NANOPOD_URL=$MARKET_URL NANOPOD_TOKEN=$OTHER run_is 0 "somebody buys them" np buy -t richmond -s @$((NOW + 341 * 60)) -d 20m -p 0.10 -y --no-wait --no-instances --no-ssh-key --name theirs
said "1 node of 'loose' now ends earlier than it was bought: released, sold, or taken back"
before=$(has loose)
at 338
looked 3
is "$(has loose) $(paid loose)" "$before 0" "what was sold is not extended"
at $((first - 3))
ok "those that end as bought are" wait_for 30 sh -c "grep -q 'now ends\? at .* 15:01' loose.err" || diag "$(has loose)" "$(cat loose.err)"
killed
is "$before, $(has loose)" "4@340 3@341 2@361 1@391, 2@391 1@421" "and no others"

# ---- Given back while no command runs ----
two back 600
auto back -d 1h --auto-extend 1000
said 'again and again'
at $((first - 3))
becomes "2@$second 1@$((first + 60))" "it extends one"
killed
market POST "/np/v1/pools/$(pool back)/release" "{\"from\":$((NOW + first * 60)),\"node_count\":1}" >/dev/null
before=$(has back)
auto back -d 1h --auto-extend 1000
said 'not these +1 node'
looked 3
is "$(has back) $(paid back)" "$before $HOUR_COSTS" "another command does not buy it again"
at $((first + 57))
ok "but the other one" wait_for 30 sh -c "grep -q 'now ends at' back.err" || diag "$(has back)" "$(cat back.err)"
kill -INT $pid
ends
is "$(paid back)" $((2 * HOUR_COSTS)) "once"

# ---- All of it was given back ----
two none 900
at 902
market POST "/np/v1/pools/$(pool none)/release" "{\"from\":$((NOW + 940 * 60))}" >/dev/null
run_is 5 "nothing ends as it was bought" np extend none -d 1h --auto-extend 100 -y
like "$err" "its time after .* 23:40 UTC was released, sold, or taken back; 'nanopod extend none -d \.\.\.' extends it once" "is said, and what to type"
run_is 0 "by hand it goes on" np extend none -d 30m -y
run_is 0 "and by itself then" np extend none -d 1h --auto-extend 100 --dry-run

# ---- The budget suffices for one end ----
two short 1200
run_is 0 "(three more that end first)" np buy -t richmond -n 3 -s @$((NOW + 1201 * 60)) -d 45m -p 2.10 -y --no-wait --no-instances --into short
bought=$(cost short)
auto short -d 1h --auto-extend 30
said 'again and again'
ok "the plan says for which it does not" wait_for 20 grep -q '\$43\.20 now, at .*: more than is left' short.err
at $((first - 3))
ok "the next end is extended all the same" wait_for 30 sh -c "grep -q '1 node of .short. now ends at' short.err" || diag "$(cat short.err)"
at $((second - 3))
ends
is "$status $(paid short)" "0 $((2 * HOUR_COSTS))" "until the budget is used up"

# ---- A host that is sold to somebody else, and one that is not ----
two sold 1500
auto sold -d 1h --auto-extend 1000
said 'again and again'
theirs=0
while [ "$(NANOPOD_URL=$MARKET_URL NANOPOD_TOKEN=$OTHER np buy -t richmond -s @$((NOW + first * 60)) -d 10m -p 2.10 -y --no-wait --no-instances --no-ssh-key -n 1 --name "t$theirs" >/dev/null 2>&1; echo $?)" = 0 ]; do
	theirs=$((theirs + 1))
done
at $((first - 3))
said "cannot extend 1 node of 'sold' \(until .* 10:01 UTC\) now: .*; trying again"
at $((second - 3))
ok "the other end is extended" wait_for 30 sh -c "grep -q '1 node of .sold. now ends at\|.sold. now ends at' sold.err" || diag "$(has sold)" "$(cat sold.err)"
kill -INT $pid
ends
is "$(paid sold)" $HOUR_COSTS "for what one costs"

# ---- Killed at each request, with both ends due ----
two killed 1800
requests() { grep -c . "$BETWEEN_LOG"; }
was_asked() { gone || [ "$(requests)" -gt "$1" ]; }
run_is 0 "(a third)" np buy -t richmond -s @$((NOW + 1801 * 60)) -d 1h -p 2.10 -y --no-wait --no-instances --into killed
bought=$(cost killed)
at $((first - 40))
market POST "/np/v1/pools/$(pool killed)/release" "{\"from\":$((NOW + (first - 1) * 60)),\"node_count\":1}" >/dev/null
BUDGET=72000000 n=0 wrong=
for how in lost dead half; do
	n=3
	while [ $n -lt 14 ]; do
		end=$(schedule killed "[.allocation_schedule.total[] | select(.node_count > 0 and .end_at >= $((NOW + first * 60)))][0].end_at")
		clock $((end - 100))
		: >"$BETWEEN_LOG"
		rule "$how=$n * /"
		auto killed -d 1h --auto-extend 72
		wait_for 60 was_asked $n
		killed
		[ "$(paid killed)" -le $BUDGET ] || wrong="$wrong $how=$n:$(paid killed)"
		n=$((n + 1))
	done
done
rules_off
is "$wrong" "" "killed at each request it never spends more than the budget"
is "$(has killed | cut -d' ' -f1)" "2@$(has killed | sed 's/^2@\([0-9]*\).*/\1/')" "nor extends what was released"
ok "though it bought" [ "$(paid killed)" -gt 0 ] || diag "$(cat killed.err)"
done_testing
