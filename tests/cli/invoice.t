#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod invoice: what a month cost, in each form, once it is over. tests/daemon/report.t compares random months.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
cd "$TMP" || exit 99
trade_start 2
operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":5000}' >/dev/null
SOCKET=unix:$MARKETD_SOCKET
run_is 0 "(two nodes for twenty hours)" "$NANOPOD" buy -t richmond -n 2 -d 20h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
clock $((NOW + 10 * HOUR))
as "$ACME" POST /np/v1/pools/train/release '{}' >/dev/null
clock $((NOW + 24 * HOUR))
NANOPOD_URL=$SOCKET run_is 0 "(a refund)" "$NANOPOD" admin refund acme train 5 --reason "$(printf 'slow <disk> & \033[31mred')"
NANOPOD_URL=$SOCKET run_is 0 "(and a credit, which is none)" "$NANOPOD" admin credit acme 7

run_is 5 "a month that is not over" "$NANOPOD" invoice 2027-01
like "$err" "January 2027 ends on 2027-01-31; 'nanopod statement 2027-01' shows what was booked so far" "has none yet"
run_is 5 "a month that has not begun" "$NANOPOD" invoice 2027-02
run_is 2 "a month that is none" "$NANOPOD" invoice 2027-1
run_is 2 "no month" "$NANOPOD" invoice
clock $((NOW + 20 * 24 * HOUR))
run_is 0 "when it is over" "$NANOPOD" invoice 2027-01
id=$(as "$ACME" GET /np/v1/whoami | jq -r '.account_id | sub("acct_"; "") | ascii_upcase')
like "$out" "^Invoice +2027-01-$id\$" "it has the number of month and account"
like "$out" '^Month +January 2027, 2027-01-01 to 2027-01-31 \(UTC\)$' "the month"
like "$out" '^Date +2027-02-01$' "a date, which is not today's"
like "$out" '^Node time: train, richmond +20\.0 +\$288\.00$' "node time"
like "$out" '^Released, not refunded: train, richmond +\$144\.00$' "what was not refunded"
like "$out" '^Refund: train, slow <disk> & .\[31mred +-\$5\.00$' "a refund"
like "$out" '^Total +\$427\.00$' "and the total"
is "$(printf '%s\n' "$out" | awk 'length > 80')$(printf '%s' "$out" | grep -c "$(printf '\033')\|foundry\|cheap")" 0 "it fits 80 columns, and names no seller"
again=$out
run "$NANOPOD" invoice 2027-01
is "$out" "$again" "again it is the same"
if [ -x "$PTY" ]; then
	printf 'size 40 24\n' >script
	"$PTY" script sh -c 'stty cols 40; "$@"' sh "$NANOPOD" invoice 2027-01 2>/dev/null |
		erased | sed 's/\x1b\[[0-9;]*m//g' >narrow
	is "$(awk 'length > 40' narrow)" "" "it fits 40 columns, too"
	like "$(cat narrow)" '^Total +\$427\.00$' "and is whole there"
fi
run_is 0 "as JSON" "$NANOPOD" invoice 2027-01 -o json
is "$(printf '%s' "$out" | jq -c '[.lines[] | [.kind, .of, .node_seconds, .amount_micros]], .sums.usage_micros, .total_micros, .total')" \
	'[["usage","train",72000,288000000],["forfeit","train",0,144000000],["refund","train",0,-5000000]]
288000000
427000000
"427.000000"' "with exact sums"
run_is 0 "as CSV" "$NANOPOD" invoice 2027-01 -o csv --fields number,kind,of,amount
is "$out" "number,kind,of,amount
2027-01-$id,usage,train,288.000000
2027-01-$id,forfeit,train,144.000000
2027-01-$id,refund,train,-5.000000
2027-01-$id,total,,427.000000" "a line each"
run_is 0 "as a page" "$NANOPOD" invoice 2027-01 --html
like "$out" 'Refund: train, slow &lt;disk&gt; &amp; \?\[31mred' "words of others are text"
like "$out" '<td>Total</td><td class="n"></td><td class="n">\$427\.00</td>' "and it has the total"
NANOPOD_TOKEN=$FOUNDRY run_is 0 "of a seller" "$NANOPOD" invoice 2027-01 -o json
is "$(printf '%s' "$out" | jq -c '[.lines[] | [.kind, .of, .amount_micros]], .total_micros')" '[["fee","cheap-1",5400000],["fee","cheap-2",5400000]]
10800000' "the market's fee"
run_is 0 "of a month without anything" "$NANOPOD" invoice 2026-12 -o json
is "$(printf '%s' "$out" | jq -c '[.number[0:7], .lines, .total_micros]')" '["2026-12",[],0]' "there is one, too"
run_is 4 "of somebody else" "$NANOPOD" invoice 2027-01 --account foundry
unset NANOPOD_TOKEN
NANOPOD_URL=$SOCKET
run_is 0 "for the operator" "$NANOPOD" invoice 2027-01 --account acme
is "$out" "$again" "the same invoice"
run_is 2 "the operator's own" "$NANOPOD" invoice 2027-01
done_testing
