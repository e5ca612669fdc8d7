#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# admin overview: the market on one screen, and for programs. tests/daemon/overview.t has the figures themselves.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 3
overview() { "$NANOPOD" admin overview "$@"; }

run_is 4 "a customer is refused" overview
like "$err" "cannot show the market: .*scope" "and told why"
NANOPOD_TOKEN=$FOUNDRY run_is 4 "a seller, too" overview
"$NANOPOD" buy -t richmond -n 2 -d 24h -s @$((NOW + 60)) -p 1.80 -y --name day >"$TMP/bought" 2>&1 || diag "$(cat "$TMP/bought")"
"$NANOPOD" buy -t richmond -d 24h -s @$((NOW + 48 * HOUR)) -p 1.50 --standing -y --name later >"$TMP/bought" 2>&1 || diag "$(cat "$TMP/bought")"
clock $((NOW + 120))
unset NANOPOD_TOKEN
NANOPOD_URL=unix:$MARKETD_SOCKET
operator PATCH /np/v1/accounts/acme '{"state":"suspended"}' >/dev/null
dear=$(operator GET '/np/v1/hosts?account=foundry' | jq -r '.data[] | select(.name == "dear") | .id')
run_is 0 "nobody is away" overview
unlike "$out" AWAY "then nobody is listed"
operator PATCH "/np/v1/hosts/$dear?account=foundry" '{"down":true,"reason":"a fan"}' >/dev/null

run_is 0 "the operator sees the market" overview
ok "on one screen" test "$(printf '%s\n' "$out" | wc -l)" -le 24
ok "of 80 columns" test "$(printf '%s\n' "$out" | wc -L)" -le 80
like "$out" '^Accounts +2: 1 buying, 1 selling, 1 suspended$' "accounts"
like "$out" '^Hosts +3 up, 1 down$' "hosts"
like "$out" '^Nodes +0 running, 2 starting \(up to 1m\)' "nodes"
like "$out" '^Orders +1 open to buy, 4 to sell$' "orders"
like "$out" '^Running +\$28\.80 an hour$' "what runs costs"
like "$out" '^Balances .*\$[0-9.,]+ available, \$288\.00 held for orders, \$691\.20 in escrow' "money of the customers"
like "$out" '^Today +\$0\.00 turnover, \$0\.00 fees, \$100,000\.00 credited, 0\.0 node-hours$' "today"
like "$out" '^richmond +4 +3 +2 +1 +66% +66% +9%$' "what is sold of what is on sale, rounded down"
like "$out" '^dear +down +foundry +.*Fri 15 Jan 08:02 UTC +1 +0 +a fan$' "which host is down, whose, since when and why"

run_is 0 "-o json" overview -o json
is "$(printf '%s' "$out" | jq -c '[.market, .time, .accounts.buying, .hosts.down, .money.escrow, .money.escrow_micros, .month.credited, .orders]')" \
	'["nanopod","2027-01-15T08:02:00Z",1,1,"691.200000",691200000,"100000.000000",{"buy":1,"sell":4}]' "has exact values"
is "$(printf '%s' "$out" | jq -c '.types')" "$(operator GET /np/v1/overview | jq -c '[.types[] | {type, gpus, hosts, hosts_up, sold, on_sale,
	day_sold_seconds: .day.sold_seconds, day_on_sale_seconds: .day.on_sale_seconds, week_sold_seconds: .week.sold_seconds,
	week_on_sale_seconds: .week.on_sale_seconds}]')" "types as the market says them"
is "$(printf '%s' "$out" | jq -c '[.away_total, (.away[0] | .kind, .name, .state, .account, .since, .reason)]')" \
	'[1,"host","dear","down","foundry","2027-01-15T08:02:00Z","a fan"]' "and who is away"
run_is 0 "-o csv" overview -o csv
is "$(printf '%s\n' "$out" | sed -n '1p;/^hosts.down/p;/^money.escrow/p;/^types.richmond.sold/p;/^away/p')" "figure,value
hosts.down,1
money.escrow,691.200000
types.richmond.sold,2
away.total,1" "has a figure per line"
run_is 0 "-o yaml" overview -o yaml
like "$out" '^  escrow: "?691\.200000' "has the same"
run_is 2 "no further word" overview please
"$NANOPOD" admin overview --watch --every 100ms -o json >"$TMP/watched" 2>"$TMP/watched.err" &
watch=$!
looks() { [ "$(jq -c .time <"$TMP/watched" 2>/dev/null | wc -l)" -ge "$1" ]; }
ok "--watch looks again and again" wait_for 60 looks 3
suspended() { [ "$(jq -c .accounts.suspended <"$TMP/watched" 2>/dev/null | tail -n 1)" = 0 ]; }
operator PATCH /np/v1/accounts/acme '{"state":"open"}' >/dev/null
ok "and sees what changes" wait_for 60 suspended
kill -TERM $watch
wait $watch
is "$? $(cat "$TMP/watched.err")" "143 " "until a signal"
# watched_as FORMAT PATTERN: until two lines match it.
watched_as() {
	"$NANOPOD" admin overview --watch --every 100ms -o "$1" >"$TMP/watched" 2>/dev/null &
	watch=$!
	twice() { [ "$(grep -c "$1" "$TMP/watched")" -ge 2 ]; }
	ok "--watch -o $1 looks twice" wait_for 60 twice "$2"
	kill -TERM $watch
	wait $watch
}
watched_as csv '^hosts.down,'
is "$(grep -c '^figure,value' "$TMP/watched")" 1 "with one header"
watched_as table '^Hosts'
ok "an empty line parts two looks" grep -q '^$' "$TMP/watched"
operator PATCH /np/v1/accounts/acme '{"state":"suspended"}' >/dev/null
run_is 2 "no field of that name" overview --fields nothing

# A host's name and reason are somebody else's text.
operator PATCH "/np/v1/hosts/$dear?account=foundry" "$(printf '{"down":true,"reason":"\\u001b[2Jgone\\nHosts 9 up"}')" >/dev/null
run_is 0 "with hostile text" overview
is "$(printf '%s' "$out" | tr -d '\n\t -~' | wc -c)" 0 "no control byte reaches the terminal"
is "$(printf '%s\n' "$out" | grep -c '^Hosts')" 1 "nor a line that nobody wrote"
done_testing
