#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plans: a fee a month, what it includes, both of a part of a month; the turn of months around kill -9; who cannot pay.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
FEBRUARY=1801440000 MARCH=1803859200 JUNE=1811808000
v2_start
marketd_account shop 1000.00
for i in 1 2 3; do v2_offer "$(v2_host "h$i" "$SKU")" 12.000000 >"$TMP/.offer"; done
[ -s "$TMP/.offer" ] || fail "there are hosts"
available() { operator GET "/np/v1/accounts/$1" | jq -r .balances.available_dollars; }
plan() { as "$ACME" GET /np/v1/plan | jq -r "$1"; }
take() { out=$(as "$ACME" PUT /np/v1/plan "$1"); } # BODY; sets out, and its status
START=$((NOW + HOUR))
buy() { # HOURS [MORE]: one node of acme's; sets out and its status
	out=$(as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 "$START" $((START + $1 * HOUR)) 20.000000 "${2-}")")
}
paid() { as "$ACME" GET "/np/v1/events?limit=200" | jq -rs '[.[] | select(.type == "plan.paid") | .amount_dollars] | join(" ")'; }

# ---- The operator makes them: January has 44640 minutes, of which 24000 are left ----
out=$(operator POST /np/v1/plans '{"name":"pro","seller":"shop","fee_dollars":"44.64","included_dollars":"446.40"}')
is "$(http_status) $(jq -c '[.name, .fee_dollars, .included_dollars, .state, .type]' <<<"$out")" \
	'201 ["pro","44.640000","446.400000","open",null]' "a plan"
operator POST /np/v1/plans '{"name":"pro","seller":"shop","fee_dollars":"1.00"}' >"$TMP/.plan"
is "$(http_status)" 400 "has a name of its own"
operator POST /np/v1/plans '{"name":"small","seller":"shop","fee_dollars":"4.464","included_dollars":"4.464"}' >"$TMP/.plan"
as "$ACME" POST /np/v1/plans '{"name":"mine","seller":"acme","fee_dollars":"1.00"}' >"$TMP/.plan"
is "$(http_status)" 403 "the operator alone makes them"
out=$(as "$ACME" GET /np/v1/plans)
is "$(jq -c '[.data[] | [.name, .now_dollars]]' <<<"$out")" '[["pro","24.000000"],["small","2.400000"]]' \
	"a customer sees what is left of the month costs"
told np.PlanList "$out" "the list, as documented"

# ---- Subscribing ----
is "$(plan .plan)" null "nobody has one to begin with"
take '{"plan":"pro","max_dollars":"23.99"}'
is "$(http_status) $(available acme)" "402 100000.000000" "more than was shown is refused, and nothing is paid"
take '{"plan":"none such"}'
is "$(http_status)" 404 "there is no other"
take '{"plan":"small","max_dollars":"2.40"}'
is "$(http_status) $(available acme)" "200 99997.600000" "the fee of the rest of the month is paid at once"
is "$(plan '[.plan, .next, .left_dollars] | join(" ")')" "small small 2.400000" "and so much is included"
told np.Subscription "$out" "a subscription, as documented"
take '{"plan":"small"}'
is "$(http_status) $(available acme)" "409 99997.600000" "once"
take '{"plan":"pro","max_dollars":"21.60"}'
is "$(http_status) $(available acme) $(available shop)" "200 99976.000000 1024.000000" \
	"a dearer one at once: the difference, to its seller"
is "$(plan '[.plan, .included_dollars, .left_dollars] | join(" ")')" "pro 240.000000 240.000000" "it includes so much more"
take '{"plan":"small"}'
is "$(http_status) $(plan '[.plan, .next] | join(" ")') $(available acme)" "200 pro small 99976.000000" \
	"a cheaper one with the next month"
take '{"plan":null}'
is "$(http_status) $(plan '[.plan, .next] | join(" ")')" "200 pro " "or none"
take '{"plan":"pro"}'
is "$(http_status) $(plan .next) $(available acme)" "200 pro 99976.000000" "or, after all, the same: nothing is paid twice"

# ---- What is included pays first ----
out=$(as "$ACME" POST /np/v1/quote "$(order buy "$POOL" 1 "$START" $((START + 2 * HOUR)) 20.000000)")
is "$(jq -c '[.cost_dollars, .granted_dollars]' <<<"$out")" '["0.000000","24.000000"]' "a quote says what the plan pays"
buy 2
is "$(http_status) $(available acme) $(plan .left_dollars)" "201 99976.000000 216.000000" "it pays all of a buy"
buy 20
is "$(http_status) $(available acme) $(plan .left_dollars)" "201 99952.000000 0.000000" "then what is left; acme the rest"
buy 1
is "$(available acme)" "99940.000000" "then acme pays all"

# ---- A seller without the money ----
marketd_account guest 100.00
GUEST=$(marketd_token guest)
POOL_GUEST=$(as "$GUEST" POST /v2/pools '{"name":"guest","workspace":"default"}' | json .id)
as "$GUEST" PUT /np/v1/plan '{"plan":"pro"}' >"$TMP/.took"
empty=$(available shop)
operator POST /np/v1/accounts/shop/credits "{\"amount_dollars\":\"-$empty\",\"reason\":\"test\"}" >"$TMP/.taken"
out=$(as "$GUEST" POST /v2/orders "$(order buy "$POOL_GUEST" 1 $((START + 3 * HOUR)) $((START + 4 * HOUR)) 20.000000)")
is "$(http_status) $(available guest)" "402 76.000000" "a buy that the plan should pay, whose seller cannot, is refused"
like "$out" "plan 'pro' cannot pay: its seller lacks the money" "and says whose fault it is"
out=$(as "$GUEST" POST /v2/orders "$(order buy "$POOL_GUEST" 1 $((START + 3 * HOUR)) $((START + 4 * HOUR)) 20.000000 ',"np_grant":"none"')")
is "$(http_status) $(available guest)" "201 64.000000" "without the plan it is done"
operator POST /np/v1/accounts/shop/credits "{\"amount_dollars\":\"$empty\",\"reason\":\"test\"}" >"$TMP/.given"

# ---- What it was, for statement, report, invoice ----
v2_clock $((NOW + 24 * HOUR))
report() { as "$ACME" GET "/np/v1/report?from=$((NOW - NOW % 86400))&to=$((NOW + 2 * 86400))" |
	jq -r --arg k "$1" '[.data[] | select(.kind == $k) | .gross_micros] | add // 0'; }
is "$(report plan) $(report included) $(report usage)" "24000000 240000000 36000000" \
	"the report has fee, included and own money, which are what the nodes cost"
spend() { NANOPOD_TOKEN=$ACME "$NANOPOD" report spend --from 2027-01 -o json | jq -r --arg c "$1" 'map(.[$c] // 0) | add'; }
is "$(spend plan_micros) $(spend included_micros) $(spend used_micros) $(spend total_micros) $(spend node_seconds)" \
	"24000000 240000000 36000000 60000000 82800" "report spend adds up fee and own money, and says what is included beside"
focus=$(NANOPOD_TOKEN=$ACME "$NANOPOD" report spend --from 2027-01 --focus -o json)
is "$(jq -c '[.[] | select(.ChargeCategory == "Purchase") | [.BilledCost, .ChargeFrequency, .ConsumedQuantity, .PricingQuantity, .PricingUnit, .ServiceName, .ResourceId]]' <<<"$focus")" \
	'[["24.000000","Recurring",null,2,"Fees","Plans",null]]' "FOCUS has the fees"
is "$(jq '[.[].BilledCost | tonumber] | add' <<<"$focus")" 60 "and the same sum"
run_is 0 "the ledger" env NANOPOD_TOKEN="$ACME" "$NANOPOD" ledger verify

# ---- The turn of the month, and kill -9 around it ----
v2_clock $((FEBRUARY - 60))
is "$(paid)" "2.400000 21.600000" "before the turn"
before=$(available acme)
marketd_kill
marketd_start --test-clock=$FEBRUARY || exit 1
v2_clock $FEBRUARY
is "$(paid)" "2.400000 21.600000 44.640000" "the fee of the next month, with its first minute"
is "$(plan '[.plan, .left_dollars] | join(" ")')" "pro 446.400000" "all of it is included again, nothing of the old one"
is "$(echo "$before - $(available acme)" | bc)" "44.640000" "once"
marketd_kill
marketd_start --test-clock=$((FEBRUARY + 60)) || exit 1
is "$(paid)" "2.400000 21.600000 44.640000" "and not again after another kill"
is "$(plan .left_dollars)" "446.400000" "what is included is there"

# ---- What the next month costs: before it, the market says what the turn then takes ----
marketd_account lab 1000.00
LAB=$(marketd_token lab)
lab() { as "$LAB" "$@"; }
lab_takes() { lab PUT /np/v1/plan "{\"plan\":$1}" >"$TMP/.took"; http_status; }
next() { lab GET /np/v1/plan | jq -c '[.plan, .next, .next_fee_dollars, .next_reason]'; }
costs() { operator PATCH "/np/v1/plans/$1" "{\"fee_dollars\":\"$2\"}" >"$TMP/.costs"; }
of_lab() { operator GET /np/v1/accounts/lab | jq -r .balances.available_dollars; }
operator POST /np/v1/plans '{"name":"thin","seller":"shop","fee_dollars":"100.00","included_dollars":"1.00"}' >"$TMP/.plan"
is "$(next)" '[null,null,"0.000000",null]' "no plan, no fee"
is "$(lab_takes '"pro"') $(next)" '200 ["pro","pro","44.640000",null]' "a plan: its fee"
costs pro 50.00
is "$(next)" '["pro","pro","44.640000",null]' "it is raised: the fee as agreed"
costs pro 40.00
is "$(next)" '["pro","pro","40.000000",null]' "it is lowered: the lower one"
costs pro 50.00
is "$(lab_takes '"pro"') $(next)" '200 ["pro","pro","50.000000",null]' "who takes it again agrees to the fee of now"
before=$(of_lab)
is "$(lab_takes '"thin"') $(next)" '200 ["pro","thin","100.000000",null]' "a dearer one that includes less waits for the next month"
is "$(of_lab)" "$before" "and costs nothing before"
is "$(lab_takes null) $(next)" '200 ["pro",null,"0.000000",null]' "cancelled: nothing"
is "$(lab_takes '"small"') $(next)" '200 ["pro","small","4.464000",null]' "a cheaper one"
costs small 5.00
is "$(next)" '["pro","small","5.000000","price_too_low"]' "raised after it was chosen, it is not taken: the reason"
is "$(lab_takes '"small"') $(next)" '200 ["pro","small","5.000000",null]' "who takes it again agrees"
operator PATCH /np/v1/accounts/shop '{"state":"suspended"}' >"$TMP/.state"
is "$(next)" '["pro","small","5.000000","suspended"]' "its seller is suspended: the reason"
operator PATCH /np/v1/accounts/shop '{"state":"open"}' >"$TMP/.state"
operator POST /np/v1/accounts/lab/credits "{\"amount_dollars\":\"-$(echo "$(of_lab) - 4.99" | bc)\",\"reason\":\"test\"}" >"$TMP/.taken"
is "$(next)" '["pro","small","5.000000","insufficient_funds"]' "a cent is missing: the reason"
operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"50.00","reason":"test"}' >"$TMP/.given"
is "$(next) $(of_lab)" '["pro","small","5.000000",null] 54.990000' "none"

# ---- Who cannot pay ----
operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"-$(echo "$(available acme) - 44.63" | bc)\",\"reason\":\"test\"}" >"$TMP/.taken"
is "$(available acme)" "44.630000" "a cent too little"
v2_clock $MARCH
is "$(of_lab) $(next)" '49.990000 ["small","small","5.000000",null]' "what was shown as the next fee was taken"
is "$(available acme) $(plan .plan)" "44.630000 null" "nothing is taken, and the plan has lapsed"
is "$(as "$ACME" GET "/np/v1/events?limit=200" | jq -cs '[.[] | select(.type == "plan.lapsed") | [.plan_name, .amount_dollars, .reason]]')" \
	'[["pro","44.640000","insufficient_funds"]]' "an event says so, and why"

# ---- Months in which the market is down ----
marketd_kill
marketd_start --test-clock=$((JUNE + 9 * 86400)) || exit 1
v2_clock $((JUNE + 9 * 86400))
is "$(of_lab) $(next)" '44.990000 ["small","small","5.000000",null]' "nobody pays for months in which it was down all the time"
is "$(lab GET "/np/v1/events?limit=200" | jq -cs '[.[] | select(.type == "plan.paid") | .amount_dollars] | .[-2:]')" \
	'["5.000000","5.000000"]' "but for the one in which it is back"
is "$(lab GET /np/v1/plan | jq -r .end_at)" "$((JUNE + 30 * 86400))" "to its end"
run_is 0 "the ledger" env NANOPOD_TOKEN="$ACME" "$NANOPOD" ledger verify
done_testing
