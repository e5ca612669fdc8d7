#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod report and statement, and reasons on money: what they say, in each form, and to whom.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
trade_start 2
operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":5000}' >/dev/null
HTTP=$NANOPOD_URL SOCKET=unix:$MARKETD_SOCKET

run_is 0 "(a credit with a reason)" env NANOPOD_URL=$SOCKET "$NANOPOD" admin credit acme 12.50 --reason 'goodwill for the outage'
run_is 0 "(and one taken back)" env NANOPOD_URL=$SOCKET "$NANOPOD" admin credit acme 2.50 --take-back --reason 'too much'
as "$ACME" POST /v2/pools '{"name":"train","workspace":"default"}' >/dev/null
as "$ACME" POST /v2/orders "{\"pool\":\"sfc:pool:acme:default:train\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 72060)),\"node_count\":2}],\"limit_price_dollars_per_node_hour\":\"14.400000\"}" >"$TMP/order"
is "$(jq -r .status <"$TMP/order")" filled "(two nodes for twenty hours)"
clock $((NOW + 60 + 1200))
run_is 0 "report spend while nodes run" "$NANOPOD" report spend --by reservation
like "$err" '\$0\.00 in all, and \$9\.60 so far of what runs now, which is booked each hour' "says what they have cost so far"
like "$out" '^train ' "and has them"
is "$("$NANOPOD" report usage -o json | jq -c '.[0] | [.node_seconds, .so_far_seconds]')" '[0,2400]' "apart from what is booked"
run_is 0 "(for the operator)" env NANOPOD_URL=$SOCKET "$NANOPOD" report spend
clock $((NOW + 60 + HOUR + 1800))
run_is 0 "report spend after an hour" "$NANOPOD" report spend --by reservation
like "$err" '\$28\.80 in all, and \$14\.40 so far' "has each minute once"
clock $((NOW + 10 * HOUR))
as "$ACME" POST /np/v1/pools/train/release '{}' >/dev/null
clock $((NOW + 24 * HOUR))

# ---- Reports ------------------------------------------------------------------------------------
run_is 0 "report usage" "$NANOPOD" report usage
is "$out" "TYPE      NODE HOURS  GPU HOURS
richmond        20.0      160.0" "node time that has passed, and that of its GPUs"
like "$err" 'from 2027-01-01 to 2027-01-16 \(UTC\): 20\.0 node-hours in all' "in this month so far"
run_is 0 "report spend" "$NANOPOD" report spend
spend=$out
run_is 0 "report alone" "$NANOPOD" report
is "$out" "$spend" "is report spend"
like "$err" "this is 'nanopod report spend'; there are also: usage, earnings, fleet" "and says which others there are"
like "$("$NANOPOD" report 2>&1 | head -n 1)" '^TYPE ' "what is said of a table comes after it, also in one file"
run_is 0 "for a program" "$NANOPOD" report -o json
is "$err" "" "it says no such thing"
run_is 0 "report spend by day" "$NANOPOD" report spend --by reservation,day -o csv
is "$out" "reservation,day,node_hours,used,forfeited,total,refunded,storage,plan,included
train,2027-01-15,18.0000,259.200000,144.000000,403.200000,144.000000,0.000000,0.000000,0.000000
train,2027-01-16,2.0000,28.800000,0.000000,28.800000,0.000000,0.000000,0.000000,0.000000" "each with its parts"
run_is 0 "from the second day" "$NANOPOD" report spend --from 2027-01-16 --by day --fields total_micros -o csv
is "$out" "total_micros
28800000" "has it alone"
run_is 0 "to the first day" "$NANOPOD" report spend --to 2027-01-15 --fields total_micros -o csv
is "$out" "total_micros
403200000" "has that day, too"
run_is 0 "a month before" "$NANOPOD" report spend --from 2026-12 --to 2026-12 -o json
is "$out" "[]" "has nothing"
NANOPOD_TOKEN=$FOUNDRY run_is 0 "report earnings" "$NANOPOD" report earnings --by host -o csv
is "$out" "host,node_hours,gross,fee,net
cheap-1,10.0000,216.000000,5.400000,210.600000
cheap-2,10.0000,216.000000,5.400000,210.600000" "before and after the fee"
NANOPOD_TOKEN=$FOUNDRY run_is 0 "report fleet" "$NANOPOD" report fleet --by host
like "$out" '^cheap-1 +1 +24\.0 +10\.0 +41\.7% +\$216\.00 +\$5\.40 +\$210\.60' "which share of a host was sold"
like "$out" '^dear +1 +24\.0 +0\.0 +0\.0%' "hosts that earned nothing are there"
NANOPOD_TOKEN=$FOUNDRY run_is 0 "report fleet by two keys" "$NANOPOD" report fleet --by account,day -o csv --fields account,day,hosts,node_hours,sold,gross
is "$out" "account,day,hosts,node_hours,sold,gross
foundry,2027-01-15,3,18.0000,37.5%,403.200000
foundry,2027-01-16,3,2.0000,8.3%,28.800000" "has each day with what the hosts had on it: 48 hours and 24"
NANOPOD_TOKEN=$FOUNDRY run_is 0 "by month" "$NANOPOD" report fleet --by month,host --fields month,host,hosts,node_hours -o csv
like "$out" '^2027-01,cheap-1,1,10\.0000$' "has a host once"
run_is 0 "a buyer" "$NANOPOD" report earnings -o json
is "$out" "[]" "earns nothing, and sees nobody else's"
run_is 0 "FOCUS" "$NANOPOD" report spend --focus
printf '%s\n' "$out" >"$TMP/focus"
is "$(head -n 1 "$TMP/focus" | tr ',' '\n' | LC_ALL=C sort | head -n 3 | tr '\n' ' ')" "BilledCost BillingAccountId BillingAccountName " "has its columns"
is "$(wc -l <"$TMP/focus")" 4 "a line a day and kind of charge"
like "$out" '^259\.200000,acct_[a-z0-9]+,acme,USD,2027-02-01T00:00:00Z,2027-01-01T00:00:00Z,Usage,,' "with month and charge"
like "$out" ',Adjustment,' "what was not refunded is no usage"
is "$(awk -F, 'NR > 1 { sum += $1 } END { printf "%.6f", sum }' "$TMP/focus")" 432.000000 "and the sum of the report"
run_is 0 "FOCUS as JSON" "$NANOPOD" report spend --focus -o json
is "$(printf '%s' "$out" | jq -r '.[0] | [.ConsumedQuantity, .ConsumedUnit, .InvoiceId] | @csv')" \
	"1080,\"Minutes\",\"2027-01-$(as "$ACME" GET /np/v1/whoami | jq -r '.account_id | sub("acct_"; "") | ascii_upcase')\"" "has numbers as such"
for bad in 'usage --by host' 'spend --by colour' 'earnings --by reservation' 'income' 'spend --from yesterday' 'spend --from 2027-13' \
	'spend --from 2027-02-30' 'usage --focus' 'spend --by ,' 'spend --from 2027-01-16 --to 2027-01-15' 'usage --fields nothing'; do
	run_is 2 "report $bad" "$NANOPOD" report $bad
done
run "$NANOPOD" report usage --by host
like "$err" "no report usage by 'host'; available: type, reservation, account, day, month" "says by what there is one"

# ---- Statements ---------------------------------------------------------------------------------
run_is 0 "statement" "$NANOPOD" statement 2027-01
like "$out" '^2027-01-15  Credit: goodwill for the outage +\$12\.50 +\$100,012\.50$' "a credit has its reason, and the balance after it"
like "$out" '^2027-01-15  Taken back: too much +-\$2\.50 ' "so has what was taken back"
like "$out" '^2027-01-16  Closing balance +\$99,578\.00$' "the closing balance"
like "$out" '^Status +not over: entries until 2027-01-16T08:00:00Z' "a month that is not over says so"
is "$(printf '%s\n' "$out" | awk 'length > 80')" "" "fits 80 columns"
is "$(printf '%s' "$out" | grep -c "$FOUNDRY\|foundry\|cheap")" 0 "names no seller and no host"
if [ -x "$PTY" ]; then
	printf 'size 40 24\n' >"$TMP/script"
	"$PTY" "$TMP/script" sh -c 'stty cols 40; "$@"' sh "$NANOPOD" statement 2027-01 2>/dev/null | tr -d '\r' >"$TMP/narrow"
	is "$(sed 's/\x1b\[[0-9;]*m//g' "$TMP/narrow" | awk 'length > 40')" "" "fits 40, too"
	like "$(cat "$TMP/narrow")" 'Closing balance' "(and is whole)"
fi
run_is 0 "statement -o csv" "$NANOPOD" statement -o csv --fields date,kind,amount,balance
is "$(printf '%s\n' "$out" | sed -n '5p')" "2027-01-15T08:00:00Z,debit,-2.500000,100010.000000" "for a spreadsheet"
run_is 0 "statement of a seller" env NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" statement -o json
is "$(printf '%s' "$out" | jq -c '[.sums.earning_micros, .closing_micros]')" "[421200000,421200000]" "has earnings"
is "$(printf '%s' "$out" | jq -c '[.fees_micros, ([.entries[] | select(.kind == "earning") | .fee_micros] | add)]')" "[10800000,10800000]" "and the fees of them"
run_is 0 "as people read it" env NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" statement
like "$out" '^2027-01-15  Earned: cheap-1, richmond, 9\.0 node-hours, fee ' "earnings of a host"
like "$out" '^ +\$5\.04$' "with the fee of them"
like "$out" '^Earned by selling +\$421\.20, after fees of \$10\.80$' "and of the month"
run_is 0 "for a spreadsheet" env NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" statement -o csv --fields kind,fee_micros
is "$(printf '%s\n' "$out" | awk -F, '$1 == "earning" { sum += $2 } END { print sum }')" 10800000 "to the micro-dollar"
run_is 2 "a month that has not begun" "$NANOPOD" statement 2027-02
run_is 2 "a month that is none" "$NANOPOD" statement 2027-1
clock $((NOW + 20 * 24 * HOUR))
run "$NANOPOD" statement 2027-01
unlike "$out" '^Status' "a month that is over is final"
like "$out" '^2027-01-31  Closing balance' "and closes with its last day"
run_is 0 "the next month" "$NANOPOD" statement 2027-02 -o json
is "$(printf '%s' "$out" | jq -c '[.opening_micros, .closing_micros, (.entries | length)]')" "[99578000000,99578000000,0]" "begins where it ended"

# Money back for a reservation.
NANOPOD_URL=$SOCKET run_is 0 "a refund" "$NANOPOD" admin refund acme train 5 --reason 'slow disk'
like "$out" '^\$5\.00 to acme; \$99,583\.00 is available' "the account has it"
run "$NANOPOD" statement 2027-02
like "$out" '^2027-02-04  Refund: train, slow disk +\$5\.00 +\$99,583\.00$' "is no mere credit"
like "$out" '^Refunds +\$5\.00$' "and has a sum of its own"
run "$NANOPOD" statement 2027-02 -o json
is "$(printf '%s' "$out" | jq -c '[.entries[] | [.kind, .of, .reason, .amount_micros]], [.sums.refund_micros, .sums.credit_micros]')" \
	'[["refund","train","slow disk",5000000]]
[5000000,0]' "in JSON, too"
TRAIN=$(as "$ACME" GET '/np/v1/report?from=1801440000&to=1803859200' | jq -r '.data[] | select(.kind == "credit") | .pool')
NANOPOD_URL=$SOCKET run_is 0 "(by id, and taken back)" "$NANOPOD" admin refund acme "$TRAIN" 1 --reason 'again'
NANOPOD_URL=$SOCKET run_is 0 "(it)" "$NANOPOD" admin credit acme 6 --take-back
NANOPOD_URL=$SOCKET run_is 3 "a refund for a reservation that there is not" "$NANOPOD" admin refund acme nothing 5 --reason x
NANOPOD_URL=$SOCKET run_is 3 "for another's" "$NANOPOD" admin refund foundry "$TRAIN" 5 --reason x
NANOPOD_URL=$SOCKET run_is 2 "without a reason" "$NANOPOD" admin refund acme train 5
run_is 4 "by who gets it" "$NANOPOD" admin refund acme train 5 --reason x
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"-1","reservation":"train","reason":"x"}' >/dev/null
is "$(http_status)" 422 "below zero"
like "$(cat "$MARKETD_LOG")" 'refund of \$5\.00 to account .*acme.* for pool_' "the log says what it was"

# Nodes that nobody started: their buyer has the money back, and had no time.
LATER=$((NOW + 20 * 24 * HOUR))
as "$FOUNDRY" POST "/np/v1/hosts/$(host late "$SKU")/offers" \
	"{\"price_dollars_per_node_hour\":\"14.400000\",\"start_at\":$((LATER + 600)),\"end_at\":$((LATER + 36000))}" >/dev/null
run_is 0 "(a node that never comes)" "$NANOPOD" buy -t richmond -d 2h -s @$((LATER + 600)) -p 5 -y --name never-1
clock $((LATER + 4 * HOUR))
run_is 0 "report spend" "$NANOPOD" report spend --from 2027-02 -o json
is "$(printf '%s' "$out" | jq -c '[.[] | [.total_micros, .node_seconds, .refunded_micros > 0]]')" '[[0,0,true]]' "it cost nothing, and was no use"
run_is 0 "report usage" "$NANOPOD" report usage --from 2027-02
like "$err" 'no node time was used' "says so"

# ---- Reasons ------------------------------------------------------------------------------------
run "$NANOPOD" events
like "$out" '\$12\.50 credited: goodwill for the outage' "an event has the reason"
like "$out" '\$2\.50 taken back: too much' "and says what was taken back"
run "$NANOPOD" ledger -o json
is "$(printf '%s' "$out" | jq -c '[.[] | .reason | select(. != null)]')" '["goodwill for the outage","too much","slow disk","again"]' "the ledger has them"
run_is 0 "ledger verify" "$NANOPOD" ledger verify
NANOPOD_URL=$SOCKET run_is 0 "suspend with a reason" "$NANOPOD" admin account suspend acme --reason 'unpaid since May'
run "$NANOPOD" events
like "$out" 'the account is suspended: unpaid since May' "is told to whom it concerns"
NANOPOD_URL=$SOCKET run_is 2 "a reason that is too long" "$NANOPOD" admin credit acme 1 --reason "$(printf %0256d 0)"
NANOPOD_URL=$SOCKET run_is 0 "a hostile one" "$NANOPOD" admin credit acme 1 --reason "$(printf 'a\033[31mb\nc')"
run "$NANOPOD" events
unlike "$out" "$(printf '\033')" "controls no terminal"
is "$(printf '%s\n' "$out" | grep -c '^c')" 0 "and makes no line of its own"

# ---- Others -------------------------------------------------------------------------------------
unset NANOPOD_TOKEN
NANOPOD_URL=$SOCKET
run_is 2 "the operator's own statement" "$NANOPOD" statement
like "$err" "type 'nanopod statement --account NAME'" "is of an account"
run_is 0 "of everybody" "$NANOPOD" report spend --by account --from 2027-01 -o csv --fields account,total
is "$out" "account,total
acme,432.000000" "by account"
run_is 0 "the fleets" "$NANOPOD" report fleet --by account,day --from 2027-01 --to 2027-01-15 -o csv --fields account,day,node_hours
is "$out" "account,day,node_hours
foundry,2027-01-15,18.0000" "of everybody, by account and day: hosts and earnings in one line"
run_is 0 "of one" "$NANOPOD" report earnings --account foundry --from 2027-01 -o csv --fields net
is "$out" "net
421.200000" "with --account"
NANOPOD_URL=$HTTP NANOPOD_TOKEN=$ACME run_is 4 "a stranger" "$NANOPOD" report earnings --account foundry
NANOPOD_URL=$HTTP NANOPOD_TOKEN=$ACME run_is 4 "nor a statement" "$NANOPOD" statement --account foundry
# ---- Money that comes and goes ----
# Four times $2.5 trillion within a day: no sum of 64 bits holds what was refunded.
marketd_account rich 2600000000000.00
RICH=$(marketd_token rich)
NANOPOD_URL=$HTTP
vast=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"vast\",\"instance_sku\":\"$SKU\",\"start_at\":$NOW,\"end_at\":$((NOW + 172800000))}" | json .id)
start=$(($(as "$RICH" GET /np/v1 | json .now) / 60 * 60 + HOUR))
operator PUT /np/v1/policy '{"release_bps":10000}' >/dev/null
as "$RICH" POST /v2/pools '{"name":"much","workspace":"default"}' >/dev/null
for i in 1 2 3 4; do
	as "$FOUNDRY" POST "/np/v1/hosts/$vast/offers" "{\"price_dollars_per_node_hour\":\"60000000.0\",\"start_at\":$start,\"end_at\":$((start + 150000000))}" >"$TMP/offer"
	as "$RICH" POST /v2/orders "{\"pool\":\"sfc:pool:rich:default:much\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$start,\"end_at\":$((start + 150000000)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"60000000.0\"}" >"$TMP/order"
	is "$(jq -r .status <"$TMP/order")" filled "(bought)" || diag "$(cat "$TMP/order" "$TMP/offer")"
	as "$RICH" POST /np/v1/pools/much/release '{}' >"$TMP/back"
done
is "$(as "$RICH" GET /np/v1/report | jq -c '[.data[] | select(.kind == "refund") | [.gross_dollars, .transfers]]')" \
	'[["7500000000000.000000",3],["2500000000000.000000",1]]' "what has no room in one row has two"
NANOPOD_TOKEN=$RICH run_is 1 "a sum that nobody can count" "$NANOPOD" report spend --from 2027-01
like "$err" 'the market reports more than can be counted' "is refused"
done_testing
