#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod extend --auto-extend: again and again before the end, within a budget; what it says, and how it ends.
# tests/cli/budget.t is about the budget.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
need ssh-keygen
trade_start 9
trade_between
cd "$TMP" || exit 99
FIRST=$((NOW + 60))
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
pool() { market GET '/v2/pools?limit=200' | jq -r --arg n "$1" '.data[] | select(.name == $n) | .id'; }
end_of() { market GET '/v2/pools?limit=200' | jq -r --arg n "$1" '.data[] | select(.name == $n) | .allocation_schedule.total[-1].end_at'; }
# What the account paid for a reservation's orders, without the purchase itself.
paid() { market GET '/v2/orders?limit=200' | jq --arg n "$1" '[.data[] | select(.pool.name == $n and .side == "buy")] | sort_by(.allocation_schedule_delta[0].start_at) | .[1:] | map(.np_filled_total_dollars | sub("[.]"; "") | tonumber) | add // 0'; }
paid_is() { [ "$(paid "$1")" = "$2" ]; }
# Runs in the background with what it says in $1.err.
auto() { auto_name=$1; shift; "$NANOPOD" extend "$@" >"$auto_name.out" 2>"$auto_name.err" & pid=$!; at_exit "kill $pid 2>/dev/null"; }
said() { ok "it says: $2" wait_for 20 grep -Eq -e "$2" "$1.err" || diag "$(cat "$1.err")"; }
ends() {
	wait_for 60 gone || kill -9 $pid
	wait $pid
	status=$?; out=$(cat "$1.out") err=$(cat "$1.err")
}
gone() { ! kill -0 $pid || grep -q '^State:.Z' /proc/$pid/status; }
# It looked at the market so many times more.
looks() { [ "$(asked GET '/np/v1 ')" -ge "$1" ]; }
looked() { wait_for 60 looks $(($(asked GET '/np/v1 ') + $1)); }

run_is 0 "a node for two hours" np buy -t richmond -d 2h -p 2.10 -y --no-wait --name one
clock $((NOW + 61))
ssh-keygen -q -t ed25519 -N '' -f key
node_report one-0 "{\"status\":\"running\",\"hostname\":\"127.0.0.1\",\"port\":22,\"user\":\"root\",\"host_keys\":[{\"type\":\"ssh-ed25519\",\"key\":\"$(cut -d' ' -f2 key.pub)\"}]}"
node=$(node_id one-0)

# ---- What is refused ----
run_is 2 "no amount" np extend one -d 1h --auto-extend 0 -y
run_is 2 "not an amount" np extend one -d 1h --auto-extend much -y
run_is 2 "no duration" np extend one --auto-extend 20 -y
run_is 2 "an end, which comes once" np extend one -e @$((FIRST + 9 * HOUR)) --auto-extend 20 -y
like "$err" "'-d' says how much longer" "names what to use"
run_is 2 "two budgets" np extend one -d 1h --auto-extend 20 --max-total 5 -y
run_is 2 "several reservations" np extend one two -d 1h --auto-extend 20 -y
run_is 2 "no terminal and no -y" np extend one -d 1h --auto-extend 20
run_is 7 "a budget below the price" np extend one -d 1h --auto-extend 14.399999 -y
like "$err" "it costs \\\$14\.40, and \\\$0\.00 of \\\$14\.399999 is spent" "says both"
run_is 7 "more than spend-max" env NANOPOD_SPEND_MAX=20 timeout 60 "$NANOPOD" extend one -d 1h --auto-extend 30 -y
run_is 6 "a limit of now that there is none" np extend one -d 600h --auto-extend 30000 -y
like "$err" "with '-p' it goes on trying" "says what goes on without"

# ---- The plan ----
run_is 0 "dry run" np extend one -d 1h --auto-extend 30 --dry-run
like "$err" 'each time +1h longer, 5m before the end: \$14\.40 now, at \$1\.80 per GPU-hour' "says by how much, when and for what"
like "$err" 'limit +\$1\.80 per GPU-hour' "at most at what price"
like "$err" 'total +up to \$30\.00; \$0\.00 of it is spent' "and for how much in total"
like "$err" 'reaches +Fri 15 Jan 12:01 UTC at the price of now, after 2 extensions' "until when that reaches"
like "$(np extend one -d 4m --auto-extend 30 --dry-run 2>&1)" '4m longer, 2m before the end' "never more than half of it ahead"
like "$(np extend one -d 1h --auto-extend 9000000000000 --dry-run 2>&1)" 'reaches +Fri 31 Dec 9999 23:01 UTC at the price of now, after 69889525 extensions' "a huge budget reaches the year 9999"
is "$(paid one)" 0 "and buys nothing"

# ---- Twice, to the micro-dollar ----
auto one one -d 1h --auto-extend 28.8 -y -o json
said one '"plan"'
looked 2
clock $((FIRST + 2 * HOUR - 301))
looked 2
is "$(end_of one)" $((FIRST + 2 * HOUR)) "nothing is bought early"
clock $((FIRST + 2 * HOUR - 240))
ok "shortly before the end it extends" wait_for 30 paid_is one 14400000 || diag "$(cat one.err; tail -n 3 "$BETWEEN_LOG")"
looked 3
is "$(end_of one) $(paid one)" "$((FIRST + 3 * HOUR)) 14400000" "once"
clock $((FIRST + 2 * HOUR + 30))
looked 2
is "$(market GET '/np/v1/nodes?state=live' | jq -r --arg n "$node" '.data[] | select(.id == $n) | .status')" running "the node runs on past its first end"
clock $((FIRST + 3 * HOUR - 100))
ends one
is "$status" 0 "the budget is used up: 0"
is "$(printf '%s' "$out" | jq -c '[.[] | [.reservation, .result, .end, .total_micros]]')" \
	'[["one","extended","2027-01-15T11:01:00Z",14400000],["one","extended","2027-01-15T12:01:00Z",14400000]]' "each extension is a row"
is "$(end_of one) $(paid one)" "$((FIRST + 4 * HOUR)) 28800000" "two were bought, for the budget to the micro-dollar"
run_is 7 "the same command again" np extend one -d 1h --auto-extend 28.8 -y
like "$err" "\\\$28\.80 of \\\$28\.80 is spent already; 'nanopod extend one -d 1h -y --auto-extend 57\.6' extends it further" "remembers it, and says what extends further"
run_is 2 "--new would forget it" np extend one -d 1h --auto-extend 28.8 --new -y

# ---- Stopped and started again ----
run_is 0 "another node" np buy -t richmond -d 1h -p 2.10 -y --no-wait --name two
two=$(pool two) start=$(end_of two)
again() { auto two two -d 1h --auto-extend 43.199999 -y; }
rule "cut-keyed POST /np/v1/pools/$two"
clock $((start - 120))
again
said two "did not confirm an extension: the connection .* was lost before the answer, and it may have been done; trying again"
said two "'two' now ends at Fri 15 Jan [0-9:]+ UTC: \\\$14\.40, \\\$14\.40 of \\\$43\.199999 spent"
rules_off
run_is 5 "beside it no second one" np extend two -d 1h --auto-extend 43.199999 -y
like "$err" "another command extends it already" "is begun"
kill -INT $pid
ends two
is "$status" 130 "Ctrl-C: 130"
like "$err" "interrupted; 'two' ends at .*: 1 extension for \\\$14\.40, \\\$14\.40 of \\\$43\.199999 spent in total" "says what was spent"
like "$err" "the same command continues" "and what to type"
like "$(np extend two -d 1h --auto-extend 43.199999 --dry-run 2>&1)" "up to \\\$43\.199999; \\\$14\.40 of it is spent already" "the plan counts it"
again
clock $((start + HOUR - 120))
ends two
is "$status" 0 "the same command again: it ends with the budget"
like "$err" "the budget is used up, 'two' ends at .*: 1 extension for \\\$14\.40, \\\$28\.80 of \\\$43\.199999 spent in total" "says what it spent"
like "$err" "'nanopod extend two -d 1h -y --auto-extend 86\.399998' extends it further" "and what to type"
is "$(end_of two) $(paid two)" "$((start + 2 * HOUR)) 28800000" "two were bought: a third would exceed the budget by a millionth"
run_is 7 "and for ever" np extend two -d 1h --auto-extend 43.199999 -y
is "$(intents)" 0 "no purchase is left unfinished"
state=$(ls "$HOME"/.local/state/nanopod/extended/*)
for file in $state; do echo '{}' >"$file"; done
run_is 1 "a state that says something else is no new beginning" np extend two -d 1h --auto-extend 43.199999 -y
like "$err" "does not say when the budget began; remove it to count from" "is said"

# ---- What it cannot do now ----
run_is 0 "a third node" np buy -t richmond -d 1h -p 2.10 -y --no-wait --name three
start=$(end_of three)
auto three three -d 1h -p 1.00 --auto-extend 100 -y
said three 'now it cannot be bought'
clock $((start - 200))
said three "cannot extend 'three' now: .*; trying again"
kill -INT $pid
ends three
is "$status" 130 "Ctrl-C: 130"
like "$err" "interrupted; 'three' ends at .*: 0 extensions for \\\$0\.00" "says what was spent"
like "$err" "the same command continues" "and what to type"
auto three three -d 1h --auto-extend 100 -y
said three "'three' now ends at"
rule "cut-before * /"
said three 'the market cannot be asked'
rules_off
said three 'the market answers again'
clock $((start + HOUR - 100))
ok "a market that was away for a while: it goes on" wait_for 60 sh -c "[ \$(grep -c 'now ends at' three.err) = 2 ]"
is "$(end_of three)" $((start + 2 * HOUR)) "and extends"
run_is 0 "released, shortly before its next extension" np release three -y
clock $((start + HOUR - 30))
ends three
is "$status" 0 "it ends"
is "$(paid three)" 28800000 "and buys nothing again"
like "$err" "stops, as 'three' now ends at .*, earlier than it did: released, sold, or taken back: 2 extensions for \\\$28\.80" "says what it spent"
run_is 0 "one more" np buy -t richmond -d 1h -p 2.10 -y --no-wait --name five
auto five five -d 1h -p 1.00 --auto-extend 100 -y
said five 'now it cannot be bought'
clock $(($(end_of five) - 100))
said five 'trying again'
clock $(($(end_of five) + 1))
ends five
is "$status" 6 "one that could not be extended until its end: 6"
like "$err" "'five' has ended: cannot extend 'five' now" "says why"

# ---- Beside a procurement ----
run_is 0 "(a node)" np buy -t richmond -d 1h -p 2.10 -y --no-wait --name six
keep=$(market POST /v2/procurements "{\"name\":\"keep\",\"target\":1,\"pool\":\"six\",\"instance_sku\":\"$SKU\",\"min_sell_price_dollars_per_node_hour\":\"1.000000\",\"max_buy_price_dollars_per_node_hour\":\"1.000000\",\"managed_window_minutes\":30}" | json .id)
run_is 5 "what buys for it beside the orders that count" np extend six -d 1h --auto-extend 30 -y
like "$err" "the procurement 'keep' buys for it, which would not count" "is said"
market PATCH "/v2/procurements/$keep" '{"enabled":false}' >/dev/null
run_is 0 "disabled, it does no harm" np extend six -d 1h --auto-extend 30 --dry-run

# ---- Later time with fewer nodes ----
run_is 0 "two nodes" np buy -t richmond -n 2 -d 1h -p 3.10 -y --no-wait --name pair
auto pair pair -d 1h --auto-extend 1000 -y
said pair 'again and again'
looked 1
run_is 0 "and one for longer" np buy --into pair -t richmond -n 1 -d 5h -p 3.10 -y --no-wait
said pair "1 node of 'pair' now ends at Fri 15 Jan 21:00 UTC: .72\.00, .72\.00 of .1,000\.00 spent"
kill -INT $pid
ends pair
like "$err" "interrupted; 'pair' ends at .* 17:00 UTC \(2 nodes\) and .* 21:00 UTC \(1 node\)" "it has two ends then"

# ---- On a terminal ----
if [ -x "$PTY" ]; then
	run_is 0 "a fourth node" np buy -t richmond -d 3h -p 2.10 -y --no-wait --name four
	printf 'expect again?\nsend no\\n\n' >no
	run "$PTY" no "$NANOPOD" extend four -d 1h --auto-extend 20
	is "$status $(paid four)" "1 0" "no: nothing is bought"
	printf 'expect again?\nsend yes\\n\nexpect four ends in \nexpect extension in \nexpect $0.00 of $20.00 spent\nsend \\x03\n' >yes
	run "$PTY" yes "$NANOPOD" extend four -d 1h --auto-extend 20
	is "$status" 130 "yes: one line shows how it stands"
else
	skip "tests/lib/pty is not built"
fi

# ---- Its hosts go out of service ----
run_is 0 "two nodes" np buy -t richmond -n 2 -d 4h -p 3.10 -y --no-wait --name fleet
clock $(($(market GET '/v2/pools?limit=200' | jq '.data[] | select(.name == "fleet") | .allocation_schedule.total[0].start_at') + 61))
auto fleet fleet -d 1h --auto-extend 1000 -y
said fleet 'again and again'
looked 1
AT=$(($(end_of fleet) - HOUR))
last_has() { market GET '/v2/pools?limit=200' | jq '.data[] | select(.name == "fleet") | .allocation_schedule.total | map(select(.node_count > 0))[-1].node_count'; }
drained() { operator POST "/np/v1/hosts/$1/drain" "{\"at\":$AT}" >/dev/null; }
for host in $(NANOPOD_URL=$MARKET_URL as "$FOUNDRY" GET /np/v1/hosts | jq -r '.data[].id'); do
	drained "$host"
	[ "$(last_has)" = 2 ] || [ -n "${one_less-}" ] || {
		one_less=$host
		said fleet "1 node of 'fleet' now ends earlier than it was bought: released, sold, or taken back"
	}
done
ends fleet
is "$status" 6 "all of them are taken back: 6"
like "$err" "stops, as 'fleet' now ends at .*, earlier than it did: taken back by its host or its market: 0 extensions" "which is said"
done_testing
