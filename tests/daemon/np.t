#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /np/v1: what market it is, tokens and their scopes, accounts and their money, SKUs, policy, the test clock.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"

v2_start

# ---- The market -----------------------------------------------------------------------------------
out=$(http_call "$NANOPOD_URL" GET /np/v1)
told np.Market "$out" "the market, as documented"
is "$(http_status) $(json '[.object, .now, .minute, .test_clock, (.apis | index("v2") != null)] | join(" ")' <<<"$out")" \
	"200 market $NOW $((NOW / 60)) true true" "who asks without a token is told what market this is"
is "$(json '.policy | [.fee_bps, .release_bps, .settle_minutes, .notice_minutes] | join(" ")' <<<"$out")" "0 0 60 2" "and its rules"

# ---- Whoami and balance ----------------------------------------------------------------------------
out=$(as "$ACME" GET /np/v1/whoami)
told np.Whoami "$out" "whoami, as documented"
is "$(json '[.account_name, .state, .local, .token.name, (.token.scopes | join(","))] | join(" ")' <<<"$out")" \
	"acme open false test read,trade,nodes,tokens" "whoami"
told np.Whoami "$(operator GET /np/v1/whoami)" "of the operator too"
ACME_ID=$(json .account_id <<<"$out")
is "$(operator GET /np/v1/whoami | json '[.account_id, .token, .local] | map(tostring) | join(" ")')" "null null true" "the operator is nobody's account"
is "$(operator GET '/np/v1/whoami?account=acme' | json .account_id)" "$ACME_ID" "unless he says whose"
out=$(as "$ACME" GET /np/v1/balance)
told np.Balance "$out" "a balance, as documented"
is "$(json '[.available_dollars, .available_micros, .held_micros, .escrow_micros, .unsettled_micros, .burn_dollars_per_hour, .floor_dollars] | join(" ")' <<<"$out")" \
	"100000.000000 100000000000 0 0 0 0.000000 0.000000" "a balance, as text and as micro-dollars"
out=$(operator GET /np/v1/balance)
refused 422 invalid account "the operator must say whose balance" "$out"

# ---- Tokens ------------------------------------------------------------------------------------------
out=$(as "$ACME" POST /np/v1/tokens '{"name":"ci","scopes":["read","trade"],"expires_in_seconds":3600}')
is "$(http_status) $(json '[.object, .name, (.scopes | join(",")), .expires_at - .created_at] | join(" ")' <<<"$out")" \
	"201 token ci read,trade 3600" "a token is made"
told np.NewToken "$out" "(as documented)"
told np.TokenList "$(as "$ACME" GET /np/v1/tokens)" "a list of them"
CI=$(json .token <<<"$out") CI_ID=$(json .id <<<"$out")
like "$CI" '^npk_[A-Za-z0-9_-]{43}$' "it is 32 bytes in base64url"
is "$(as "$CI" GET /np/v1/whoami | json .account_id)" "$ACME_ID" "and works"
out=$(as "$ACME" GET /np/v1/tokens)
is "$(json '[.data[] | has("token") or has("hash")] | any' <<<"$out")" "false" "the list never tells a token again"
is "$(json '[.data[].name] | sort | join(" ")' <<<"$out")" "ci test" "it lists both"
not_ok "the secret is in no file of the market" grep -r -a -q -- "$CI" "$MARKETD_DATA" "$MARKETD_LOG"
out=$(as "$CI" POST /np/v1/tokens '{"scopes":["read"]}')
refused 403 forbidden "" "a token without 'tokens' makes none" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read","host"]}')
refused 403 forbidden scopes "scopes cannot be widened" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read","admin"]}')
refused 403 forbidden scopes "nor to admin" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":[]}')
refused 422 invalid scopes "a token without scopes is refused" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read"],"colour":"red"}')
refused 422 unknown_field colour "an unknown field is named" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read"],"expires_in_seconds":0}')
refused 422 invalid expires_in_seconds "a life of nothing is refused" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["tokens"],"expires_in_seconds":600}')
SOON=$(json .token <<<"$out") end=$(json .expires_at <<<"$out")
is "$(as "$SOON" POST /np/v1/tokens '{"scopes":["tokens"]}' | json .expires_at)" "$end" "what it makes for ever ends with it"
is "$(as "$SOON" POST /np/v1/tokens '{"scopes":["tokens"],"expires_in_seconds":601}' | json .expires_at)" "$end" "and for longer"
is "$(as "$SOON" POST /np/v1/tokens '{"scopes":["tokens"],"expires_in_seconds":60}' | json .expires_at)" $((end - 540)) "but not for less"
one=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read"]}' -H 'Idempotency-Key: twice' | json .id)
two=$(as "$ACME" POST /np/v1/tokens '{"scopes":["read"]}' -H 'Idempotency-Key: twice' | json .id)
isnt "$one" "$two" "no secret is kept to be told again under a key"
as "$ACME" DELETE "/np/v1/tokens/$two" >/dev/null
is "$(http_status)" 204 "a token is revoked"
as "$ACME" DELETE "/np/v1/tokens/$two" >/dev/null
is "$(http_status)" 404 "once"
as "$STRANGER" DELETE "/np/v1/tokens/$CI_ID" >/dev/null
is "$(http_status) $(as "$CI" GET /np/v1/whoami | json .account_name)" "404 acme" "a stranger revokes none of it"
v2_clock $((NOW + 3601))
out=$(as "$CI" GET /np/v1/whoami)
refused 401 token_expired "" "an hour later it has expired" "$out"
as "$ACME" DELETE "/np/v1/tokens/$CI_ID" >/dev/null
out=$(as "$CI" GET /np/v1/whoami)
is "$(http_status)" 401 "revoked it stays shut"

# ---- Accounts --------------------------------------------------------------------------------------------
out=$(operator POST /np/v1/accounts '{"name":"lab","floor_dollars":"-50.00","beneficiary":"acme"}')
is "$(http_status) $(json '[.object, .name, .state, .balances.floor_dollars, .beneficiary == "'"$ACME_ID"'"] | join(" ")' <<<"$out")" \
	"201 account lab open -50.000000 true" "an account with a floor, for another's benefit"
told np.Account "$out" "(as documented)"
told np.AccountList "$(operator GET /np/v1/accounts)" "a list of them"
out=$(operator POST /np/v1/accounts '{"name":"lab"}')
refused 400 name_taken name "a name is there once" "$out"
out=$(operator POST /np/v1/accounts '{"name":"lab2","floor_dollars":"1.00"}')
refused 422 invalid floor_dollars "a floor above zero is refused" "$out"
out=$(operator POST /np/v1/accounts '{"name":"no spaces"}')
refused 422 invalid name "a name is a word" "$out"
out=$(operator POST /np/v1/accounts '{"name":"x","beneficiary":"nobody"}')
refused 404 not_found beneficiary "a beneficiary must be there" "$out"
is "$(operator GET /np/v1/accounts | json '[.data[].name] | join(" ")')" "acme foundry stranger lab" "all of them"
out=$(operator GET '/np/v1/accounts?limit=3')
is "$(json '[.data[].name, (.has_more | tostring)] | join(" ")' <<<"$out") $(operator GET "/np/v1/accounts?limit=3&starting_after=$(json .cursor <<<"$out")" |
	json '[.data[].name, (.has_more | tostring)] | join(" ")')" "acme foundry stranger true lab false" "page by page"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"12.345678"}')
is "$(http_status) $(json '[.object, .amount_micros, .balance.available_dollars] | join(" ")' <<<"$out")" "201 credit 12345678 12.345678" "money goes in"
told np.Credit "$out" "(as documented)"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"-62.345678"}')
is "$(http_status) $(json .balance.available_dollars <<<"$out")" "201 -50.000000" "and out, down to the floor"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"-0.000001"}')
refused 402 insufficient_funds amount_dollars "and not below" "$out"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"0.00"}')
is "$(http_status) $(json .error.code <<<"$out")" "422 invalid" "a credit of nothing is none"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":1}')
refused 422 invalid amount_dollars "an amount is text, not a float" "$out"
operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"5.00"}' -H 'Idempotency-Key: c1' >/dev/null
operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"5.00"}' -H 'Idempotency-Key: c1' >/dev/null
is "$(http_status) $(operator GET '/np/v1/balance?account=lab' | json .available_dollars)" "201 -45.000000" "a credit with a key is given once"
out=$(operator POST /np/v1/accounts/lab/credits '{"amount_dollars":"6.00"}' -H 'Idempotency-Key: c1')
refused 409 idempotency_key_reused "" "the same key for another amount is refused" "$out"
for route in 'GET /np/v1/accounts' 'POST /np/v1/accounts {"name":"y"}' 'POST /np/v1/accounts/acme/credits {"amount_dollars":"1.00"}' \
	'PATCH /np/v1/accounts/acme {"state":"open"}' 'POST /np/v1/accounts/acme/tokens {"scopes":["read"]}' \
	'PUT /np/v1/policy {"fee_bps":1}' "POST /np/v1/admin/clock {\"at\":$((NOW + 9999))}"; do
	set -- $route
	as "$ACME" "$1" "$2" "${3-}" >/dev/null
	is "$(http_status)" 403 "not for a token without 'admin': $1 $2"
done

# ---- Suspension ------------------------------------------------------------------------------------------
out=$(operator PATCH /np/v1/accounts/acme '{"state":"suspended"}')
is "$(http_status) $(json .state <<<"$out")" "200 suspended" "an account is suspended"
out=$(as "$ACME" GET /np/v1/whoami)
is "$(json .state <<<"$out")" suspended "and is told so"
v2_offer "$(v2_host h1 richmond)" 14.94 >/dev/null
out=$(as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 7200)) $((NOW + 10800)) 20.0)")
refused 403 suspended "" "it buys nothing" "$out"
operator PATCH /np/v1/accounts/acme '{"state":"open"}' >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 7200)) $((NOW + 10800)) 20.0)" >/dev/null
is "$(http_status)" 201 "opened again it does"

# ---- SKUs -------------------------------------------------------------------------------------------------
out=$(operator POST /np/v1/skus '{"alias":"dublin","gpus":8,"properties":{"accelerator":"h200","region":"europe-west1"}}')
is "$(http_status) $(json '[.object, .alias, .accelerator.value, .num_accelerators.value, .rdma_type] | map(tostring) | join(" ")' <<<"$out")" \
	"201 instance_sku dublin h200 8 null" "a kind of node is made"
shape InstanceSku "$out" "and told as SF Compute tells it"
out=$(operator PATCH /np/v1/skus/dublin '{"alias":"cork","properties":{"rdma_type":"roce","region":null}}')
is "$(json '[.alias, .accelerator.value, .rdma_type.value, .region] | map(tostring) | join(" ")' <<<"$out")" "cork h200 roce null" \
	"changed: some given, one taken away, the rest stays"
out=$(operator POST /np/v1/skus '{"alias":"cork","gpus":8}')
refused 400 name_taken alias "an alias is there once" "$out"
out=$(operator POST /np/v1/skus "{\"alias\":\"$(printf 'x%.0s' {1..128})\",\"gpus\":8}")
is "$(http_status) $(json .error.code <<<"$out")" "422 invalid" "a name that no agent takes"
out=$(operator POST /np/v1/skus '{"alias":"x","gpus":8,"properties":{"colour":"red"}}')
is "$(http_status) $(json .error.code <<<"$out")" "422 unknown_field" "an unknown property is refused"
operator PATCH /np/v1/skus/nowhere '{"alias":"y"}' >/dev/null
is "$(http_status)" 404 "one that is not there is not changed"

# ---- Policy and clock ----------------------------------------------------------------------------------------
out=$(operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":8000}')
is "$(json '[.fee_bps, .release_bps, .settle_minutes, .notice_minutes] | join(" ")' <<<"$out")" "250 8000 60 2" "rules are changed; what is left out stays"
is "$(json .drain_notice_minutes <<<"$out")" 1440 "a seller's drain needs a day's notice where nobody sets another"
told np.Policy "$out" "(as documented)"
operator PUT /np/v1/policy '{"drain_notice_minutes":0}' >/dev/null
is "$(http_status)" 422 "no notice is not to be had"
is "$(operator PUT /np/v1/policy '{"drain_notice_minutes":90}' | json .drain_notice_minutes)" 90 "another is"
operator PUT /np/v1/policy '{"fee_bps":10001}' >/dev/null
is "$(http_status) $(as "$ACME" GET /np/v1/policy | json .fee_bps)" "422 250" "more than all is refused"
out=$(operator POST /np/v1/admin/clock "{\"at\":$NOW}")
refused 422 in_the_past at "the clock does not go back" "$out"
out=$(operator POST /np/v1/admin/clock "{\"at\":$((NOW + 7260))}")
is "$(http_status) $(json .minute <<<"$out")" "200 $(((NOW + 7260) / 60))" "but on"

# ---- It is all still there after the end of the process -------------------------------------------------------------
marketd_kill
marketd_start --test-clock=$((NOW + 7260))
is "$(as "$ACME" GET /np/v1/whoami | json .account_name)" acme "after kill -9 the token works"
is "$(operator GET '/np/v1/balance?account=lab' | json .available_dollars)" "-45.000000" "the balance is as it was"
is "$(as "$ACME" GET /np/v1/policy | json .release_bps)" 8000 "and the rules"
marketd_stop
marketd_start
operator POST /np/v1/admin/clock "{\"at\":$((NOW + 999999999))}" >/dev/null
is "$(http_status)" 404 "without --test-clock there is no such clock"
done_testing
