#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod extend --auto-extend never spends more than its budget, whatever is killed, lost, late, repeated or run beside
# it; and a reservation with budget left does not end. The market's orders are the judge, asked past what is in between.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 12
. "$(dirname "$0")/../lib/extending.sh"
end_of() { schedule "$1" '.allocation_schedule.total[-1].end_at // 0'; }
# What the account paid for a reservation's orders since it bought it, in micro-dollars.
paid() { market GET '/v2/orders?limit=200' | jq --arg n "$1" '[.data[] | select(.pool.name == $n and .side == "buy")] | sort_by(.created_at, .id) | map(.np_filled_total_dollars | sub("[.]"; "") | tonumber) | add - .[0]'; }
paid_is() { [ "$(paid "$1")" -eq "$2" ]; }
# bought NAME: a node for an hour, and the clock is shortly before its end; $end is that.
bought() {
	run_is 0 "(a node: $1)" np buy -t richmond -d 1h -p 2.10 -y --no-wait --no-instances --name "$1"
	end=$(end_of "$1")
	clock $((end - 100))
}
requests() { grep -c . "$BETWEEN_LOG"; }
was_asked() { gone || [ "$(requests)" -gt "$1" ]; }
# The keyed requests: those that buy.
keyed() { awk '$3 != "-"' "$BETWEEN_LOG" | grep -c "${1-.}"; }
came() { [ "$(keyed "$@")" -ge 1 ]; }

# ---- Killed at each request: before it, after it and within its answer ----
bought killed
BUDGET=345.599999 most=345599999 points=0 wrong= n=0
for how in dead lost half; do
	[ $how = dead ] || n=$((n - 7)) # what comes before it buys is the same
	after=0
	while [ $after -lt 5 ]; do
		clock $(($(end_of killed) - 100))
		: >"$BETWEEN_LOG"
		rule "$how=$n * /"
		auto killed -d 1h --auto-extend $BUDGET
		wait_for 60 was_asked $n
		killed
		[ "$(requests)" -gt $n ] || { wrong="$wrong $how=$n:ended"; diag "$(cat killed.err)"; break; }
		head -n "$n" "$BETWEEN_LOG" | awk '$3 != "-" { found = 1 } END { exit !found }' && after=$((after + 1))
		[ "$(paid killed)" -le $most ] || wrong="$wrong $how=$n:$(paid killed)"
		n=$((n + 1)) points=$((points + 1))
	done
done
rules_off
is "$wrong" "" "killed at $points points it never spends more than the budget"
ok "though it bought" [ "$(paid killed)" -ge $((3 * HOUR_COSTS)) ]
before=$(paid killed)
more=$((before + 3 * HOUR_COSTS - 1))
auto killed -d 1h --auto-extend $((more / 1000000)).$(printf %06d $((more % 1000000)))
for i in 1 2; do
	clock $(($(end_of killed) - 100))
	wait_for 30 paid_is killed $((before + i * HOUR_COSTS))
done
ends
is "$status $(paid killed)" "0 $((before + 2 * HOUR_COSTS))" "started again it spends what is left, and no more by a millionth"

# ---- Requests that come late ----
# held NAME ARGUMENT…: it has asked to extend, the request waits for $TMP/go, and the command is dead.
held() {
	rm -f go
	: >"$BETWEEN_LOG"
	rule "late=$TMP/go POST /np/v1/pools/$(pool "$1")/extend"
	auto "$@"
	ok "(a request is on its way)" wait_for 30 came
	point=$(grep -n -m 1 ' np-extend' "$BETWEEN_LOG" | cut -d: -f1)
	killed
	rules_off
}
# arrives STATUS [N]: so many requests were answered like that; the next command's own may be the first.
answered() { [ "$(keyed " $1\$")" -ge "$2" ]; }
arrives() { touch go; ok "(it arrives)" wait_for 30 answered "$1" "${2-1}"; }
bought late
held late -d 1h --auto-extend 14.4
auto late -d 1h --auto-extend 14.4
ends
is "$status $(paid late)" "0 $HOUR_COSTS" "a killed command's request is on its way: the next one extends"
arrives 201 2
is "$(paid late) $(end_of late)" "$HOUR_COSTS $((end + HOUR))" "the late one buys nothing"

bought step
held step -d 1h --auto-extend 14.4
auto step -d 30m --auto-extend 14.399999
ends
is "$status $(paid step)" "0 $((HOUR_COSTS / 2))" "the next one extends by less"
arrives 409
is "$(paid step) $(end_of step)" "$((HOUR_COSTS / 2)) $((end + HOUR / 2))" "the late one buys nothing"

bought back
held back -d 1h --auto-extend 14.4
auto back -d 1h --auto-extend 14.4
ends
market POST "/np/v1/pools/$(pool back)/release" "{\"from\":$end}" >/dev/null
is "$(end_of back)" "$end" "(somebody gives it back)"
arrives 201 2
is "$(paid back) $(end_of back)" "$HOUR_COSTS $end" "the late one does not buy it again"

# While its request hangs somebody extends by hand and gives that back: it ends as before, and the budget is less.
bought hung
rm -f go
: >"$BETWEEN_LOG"
rule "late=$TMP/go POST /np/v1/pools/$(pool hung)/extend"
auto hung -d 1h --auto-extend 28.799999
ok "(a request is on its way)" wait_for 30 came
NANOPOD_URL=$MARKET_URL run_is 0 "(somebody extends it)" np extend hung -d 1h -y
market POST "/np/v1/pools/$(pool hung)/release" "{\"from\":$end}" >/dev/null
is "$(end_of hung)" "$end" "(and gives it back)"
rules_off
arrives 409
ends
is "$status $(paid hung) $(end_of hung)" "0 $HOUR_COSTS $end" "it does not spend more than is left now"
like "$err" 'the budget is used up' "and says so"

# ---- Lost, and given back before it is known that it was bought ----
bought lost
: >"$BETWEEN_LOG"
rule "lost=$((point - 1)) * /"
auto lost -d 1h --auto-extend 100
said 'did not confirm an extension: .* and it may have been done; trying again'
said 'the market cannot be asked'
is "$(paid lost)" $HOUR_COSTS "(it was)"
market POST "/np/v1/pools/$(pool lost)/release" "{\"from\":$end}" >/dev/null
rules_off
ends
is "$status $(paid lost) $(end_of lost)" "0 $HOUR_COSTS $end" "it is not bought again"
like "$err" "stops, as 'lost' now ends at .*, earlier than it did: released, sold, or taken back: 1 extension for \\\$14\.40, \\\$14\.40 of \\\$100\.00" "which is said"

# ---- Two at once, which do not know of each other ----
run_is 0 "(a node: both)" np buy -t richmond -d 1h -p 2.10 -y --no-wait --no-instances --name both
for state in a b; do
	d=$([ $state = a ] && echo 1h || echo 30m)
	XDG_STATE_HOME=$TMP/$state "$NANOPOD" extend both -y -d "$d" --auto-extend 43.199999 >$state.out 2>$state.err &
	eval "pid_$state=\$!"
	at_exit "kill $! 2>/dev/null"
	ok "(it begins)" wait_for 30 sh -c "test -s $TMP/$state/nanopod/extended/*"
done
both_gone() { for pid in $pid_a $pid_b; do gone || return 1; done; }
moved() { both_gone || [ "$(end_of both)" -gt "$end" ]; }
while ! both_gone 2>/dev/null; do
	end=$(end_of both)
	clock $((end - 100))
	wait_for 60 moved || break
done 2>/dev/null
wait $pid_a; status=$?
wait $pid_b
is "$status $?" "0 0" "by different steps they end with the budget"
is "$(paid both)" 36000000 "which is that of one" || diag "$(cat a.err b.err)"

# ---- What somebody buys by hand counts ----
bought hand
auto hand -d 1h --auto-extend 28.8
ok "it extends" wait_for 30 paid_is hand $HOUR_COSTS
run_is 0 "so does somebody else" np extend hand -d 1h -y
ends
is "$status $(paid hand)" "0 $((2 * HOUR_COSTS))" "the budget is used up by both"

# ---- What is bought by hand beside it has its own price ----
run_is 0 "(a node: beside)" np buy -t richmond -d 1h -p 2.10 -y --no-wait --no-instances --name beside
end=$(end_of beside)
auto beside -d 1h --auto-extend 100 -o csv
said 'again and again'
run_is 0 "a node that runs before the end and beyond" \
	np buy -t richmond -n 1 -d 1h -s @$((end - 30 * 60)) -p 2.10 -y --no-wait --no-instances --into beside
said "1 node of 'beside' now ends at"
kill -INT $pid
ends
is "$(sed 1d beside.out | cut -d, -f5-7)" "$(date -u -d @$((end + 1800)) +%FT%TZ),1.80,14.400000" \
	"its row has the price that was paid for the hour"

# ---- Odd answers on the way ----
bought odd
end=$(end_of odd)
auto odd -d 1h --auto-extend 14.4
ends
: >"$BETWEEN_LOG"
auto odd -d 1h --auto-extend 100
said 'again and again'
for page in 200 302 401 404 502; do
	rule "page=$page * /"
	said "the market cannot be asked: something on the way to it answered $page; trying again"
	rules_off
	ok "$page: it goes on" wait_for 30 sh -c "[ \$(grep -c 'answers again' odd.err) -eq \$(grep -c 'cannot be asked' odd.err) ]"
done
rule "page=404 GET /v2/pools"
ok "a page in place of the reservation, too" wait_for 30 sh -c "[ \$(grep -c 'way to it answered 404' odd.err) -eq 2 ]"
rule "swap={,[ * /"
said "the market cannot be asked: cannot read the answer of"
: >"$BETWEEN_LOG"; rule "half=0 * /"
said "the market cannot be asked: the connection to '.*' was lost before the answer; trying again"
rule 'swap="np_filled_total_dollars":"14,"np_filled_total_dollars":"11 GET /v2/orders'
clock $(($(end_of odd) - 100))
said "the market cannot be asked: it shows fewer orders than it did before"
rule "page=502 POST /np/v1/pools/"
said "the market did not confirm an extension: something on the way to it answered 502; trying again"
for page in 402 409 422; do
	rule "page=$page POST /np/v1/pools/"
	said "the market did not confirm an extension: something on the way to it answered $page; trying again"
done
is "$(paid odd)" $HOUR_COSTS "nothing was bought meanwhile"
rules_off
ok "then it extends" wait_for 30 paid_is odd $((2 * HOUR_COSTS))
clock $(($(end_of odd) + 9 * HOUR))
ends
is "$status $(paid odd)" "0 $((2 * HOUR_COSTS))" "a clock that jumps over its end ends it"
like "$err" "'odd' has ended: 1 extension for \\\$14\.40, \\\$28\.80 of \\\$100\.00 spent in total" "which is said"

# ---- A market of an older backup ----
bought older
auto older -d 1h --auto-extend 100
ok "it extends" wait_for 30 paid_is older $HOUR_COSTS
said "'older' now ends at"
rule 'swap="np_filled_total_dollars":"14,"np_filled_total_dollars":"11 GET /v2/orders'
clock $((end + 9 * HOUR))
ends
is "$status" 0 "that shows fewer orders for ever: it ends all the same"
like "$err" "'older' has ended: 1 extension for \\\$14\.40, \\\$14\.40 of \\\$100\.00 spent in total" "with what it knows"
rules_off

# ---- A market that is away until all is over ----
bought away
: >"$BETWEEN_LOG"
rule "lost=$((point - 1)) * /"
auto away -d 1h --auto-extend 100
said 'the market cannot be asked'
clock $((end + 2 * HOUR))
rules_off
ends
is "$status $(paid away)" "8 $HOUR_COSTS" "8: nobody could extend it"
like "$err" "'away' has ended: the market cannot be asked: .*: 1 extension for \\\$14\.40" "what its last request bought is counted"

# ---- A token that is taken away ----
bought token
run_is 0 "(a token)" np token create mine --scope read,trade -o json
id=$(printf '%s' "$out" | jq -r '.[0].id')
mine=$(printf '%s' "$out" | jq -r '.[0].token')
NANOPOD_TOKEN=$mine auto token -d 1h --auto-extend 14.4 -p 1.00
said "cannot extend 'token' now"
run_is 0 "(it is revoked)" np token revoke "$id"
said "it rejected the token from NANOPOD_TOKEN: .*; set it to another token, or unset it .*; trying again"
kill -TERM $pid
ends
is "$status" 143 "until somebody stops it"

# ---- On disk before it buys ----
if have strace && strace -o /dev/null true 2>/dev/null; then
	bought disk
	ASAN_OPTIONS=detect_leaks=0 run_is 0 "watched" timeout -k 5 60 strace -f -y -s 80 -e trace=write,fsync,sendto,sendmsg -o trace \
		"$NANOPOD" extend disk -y -d 1h --auto-extend 14.4
	is "$(awk '
		/write\(.*"nanopod-extended/ { print "written" }
		/fsync\(.*extended\/[0-9a-f]+>/ { print "file synced" }
		/fsync\(.*\/extended>/ { print "folder synced" }
		/send(to|msg)\(.*POST/ { post = 1 }
		END { print post + 0 }' trace | tr '\n' ' ')" "written file synced folder synced 1 " "where the budget begins is on disk"
	is "$(awk '/"nanopod-extended/ { on = 1 } /send(to|msg)\(.*POST \/np\/v1\/pools/ { after += on; before += !on } END { print before + 0, after + 0 }' trace)" "1 1" \
		"and the request that buys leaves after it"
else
	skip "strace cannot be used here"
fi
done_testing
