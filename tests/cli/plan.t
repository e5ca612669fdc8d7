#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod plan: what there is, subscribing with the price shown, what a buy then costs, changing, cancelling; who may.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
cd "$TMP" || exit 99
np() { timeout -k 5 100 "$NANOPOD" "$@" </dev/null; }
boss() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@" </dev/null; }
marketd_account shop 1000.00
run_is 0 "no plan" np plan
is "$out" "" "shows none"
like "$err" "no plan; 'nanopod plan list'" "and says where there are some"
run_is 0 "none are there" np plan list -o json
is "$out" "[]" "yet"
run_is 2 "the operator forgets the seller" boss plan create pro --fee 44.64
like "$err" "--seller is required" "is said"
run_is 0 "a plan" boss plan create pro --fee 44.64 --included 446.40 --seller shop -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.plan, .fee_micros, .included_micros, .state]')" '["pro",44640000,446400000,"open"]' "is made"
run_is 0 "another" boss plan create small --fee 4.464 --seller shop -t richmond
run_is 0 "the list" np plan list -o csv --fields plan,now_micros,type
is "$out" "plan,now_micros,type
pro,24000000,
small,2400000,richmond" "has what each costs now: 24000 minutes of the month's 44640 are left"
run_is 0 "closed" boss plan set small --plan-state closed
run_is 5 "a closed one" np plan subscribe small -y
like "$err" "takes no new subscriptions" "is refused"
run_is 2 "without -y, and without a terminal" np plan subscribe pro
run_is 0 "a dry run" np plan subscribe pro --dry-run
like "$err" "24.00, for the rest" "shows the price"
is "$(np plan -q)" "" "and pays nothing"
run_is 3 "what is not there" np plan subscribe none -y
run_is 0 "subscribed" np plan subscribe pro -y -o json
like "$err" "24.00, for the rest of this month" "the price is shown"
like "$err" "44.64 a month" "and what it costs later"
is "$(printf '%s' "$out" | jq -c '.[0] | [.plan, .next, .left_micros]')" '["pro","pro",240000000]' "and it is there"
run_is 0 "a buy" np buy -t richmond -d 2h -p 2.10 -y --no-wait --no-instances --name one
like "$err" "28.80" "says what is paid"
run_is 0 "what is left" np plan -o csv --fields plan,left_micros
is "$out" "plan,left_micros
pro,211200000" "is less"
run_is 0 "raised" boss plan set pro --fee 50.00
run_is 0 "the next fee" np plan -o csv --fields next,next_fee_micros,lapses
is "$out" "next,next_fee_micros,lapses
pro,44640000," "stays as agreed"
operator PATCH /np/v1/accounts/shop '{"state":"suspended"}' >/dev/null
run_is 0 "the plan of a seller who is suspended" np plan
like "$err" "ends with this month: this account, or the plan's seller, is suspended" "will not go on, and says so"
operator PATCH /np/v1/accounts/shop '{"state":"open"}' >/dev/null
is "$(operator GET /np/v1/accounts/acme | jq -r .balances.available_dollars)" "99976.000000" "of acme's own money only the fee is gone"
clock $((NOW + 4 * HOUR))
run_is 0 "the statement" np statement -o csv
like "$out" "plan,.*Fee of the plan" "has the fee"
run_is 0 "the price" np price -t richmond -d 1h -o json
run_is 0 "cancelled" np plan cancel -y -o json
like "$err" "until then it stays" "it says until when it is there"
is "$(printf '%s' "$out" | jq -c '.[0] | [.plan, .next]')" '["pro",null]' "none comes after it"
run_is 5 "again" np plan cancel -y
READER=$(marketd_token acme read)
NANOPOD_TOKEN=$READER run_is 4 "who may only read" np plan subscribe pro -y
run_is 0 "reads" np plan
clock 1801440000
run_is 0 "the invoice of the month" np invoice 2027-01 -o csv
like "$out" "plan,.*24" "has the fee"
like "$out" "included,.*" "and what the plan paid"
run_is 0 "the month turned" np plan
is "$out" "" "and the plan is over"
run_is 0 "its end" np events -o jsonl
like "$out" "plan.ended" "is an event"
run_is 0 "all of it" np events
for said in "plan 'pro': [$]24[.]00 paid" "plan 'pro' cancelled; it ends with the month" "plan 'pro' ended"; do
	like "$out" "UTC  $said$" "in a sentence: $said"
done
done_testing
