#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod admin refund: all refunds for a reservation come to no more than was paid for it. tests/daemon/report.py tries
# random months.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
cd "$TMP" || exit 99
trade_start 2
operator PUT /np/v1/policy '{"release_bps":5000}' >/dev/null
refund() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin refund acme "$@" --reason 'slow disk' </dev/null; }
run_is 0 "(four hours for $57.60)" "$NANOPOD" buy -t richmond -d 4h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
run_is 0 "(and another four)" "$NANOPOD" buy -t richmond -d 4h -s @$((NOW + 60)) -p 3 -y --name other --no-instances --no-wait
run_is 7 "of what is in escrow" refund train 1
like "$err" "'train': .0\.00 so far, of which .0\.00 is refunded already; what is in escrow is not paid yet" "nothing is paid yet"
clock $((NOW + 60 + HOUR))
run_is 0 "an hour of it is settled" refund train 14.40
run_is 7 "and no more" refund train 0.000001
like "$err" "'train': .14\.40 so far, of which .14\.40 is refunded already" "says so"
clock $((NOW + 60 + 2 * HOUR))
run_is 0 "with each hour there is more" refund train 10
run_is 7 "less what was refunded" refund train 4.41
as "$ACME" POST /np/v1/pools/train/release '{}' >/dev/null
clock $((NOW + 60 + 6 * HOUR))
run_is 7 "a release forfeits a half of the rest: that was paid, too" refund train 18.93
run_is 0 "just that" refund train 18.92
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"57.600001","reservation":"other","reason":"x"}' >"$TMP/.credit"
is "$(http_status) $(jq -r .error.code <"$TMP/.credit")" "422 limit_reached" "another reservation has a sum of its own"
run_is 0 "all that it cost" refund other 57.60
marketd_kill
marketd_start --test-clock=$((NOW + 60 + 6 * HOUR)) || exit 1
NANOPOD_URL=unix:$MARKETD_SOCKET run_is 7 "also after a crash" refund other 0.01
done_testing
