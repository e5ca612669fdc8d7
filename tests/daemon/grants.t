#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The market's policy, grants and facts: who may buy, who pays what, and that money comes back to who paid it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
cat >"$TMP/policy.yaml" <<'END'
rules:
  - name: subsidy
    when:
      account.reputation_score: {above: 50}
      account.personhood_score: {above: 20}
      account.grant_active: true
    rate: 0
  - name: trial
    when:
      account.groups: {has: trial}
      request.nodes: {above: 1}
    deny: a trial account buys one node
  - name: half
    when:
      account.groups: {has: student}
    rate: 0.5
    limits: {nodes: 2, hours: 3, price: 30}
default: {allow: true}
END
NOW=$(($(date +%s) / 3600 * 3600 + 7200)) # the command reads times by its own clock
# The invoice below has all of it: none of it lies in a month before.
LATER=$((NOW + 12 * 3600))
[ "$(date -u -d @$NOW +%m)" = "$(date -u -d @$LATER +%m)" ] || NOW=$(date -u -d "$(date -u -d @$LATER +%Y-%m-01)" +%s)
v2_start --policy "$TMP/policy.yaml"
boss() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@" </dev/null; }
buyer() { NANOPOD_TOKEN=$ACME "$NANOPOD" "$@" </dev/null; }
available() { operator GET "/np/v1/accounts/$1" | jq -r .balances.available_dollars; }
whole() { operator GET "/np/v1/accounts/$1" | jq -r '[.balances.available_micros, .balances.held_micros, .balances.escrow_micros] | add'; }
left() { operator GET "/np/v1/grants" | jq -r --arg n "$1" '.data[] | select(.name == $n and .state != "ended") | .left_dollars'; }
marketd_account uni 50.00
UNI=$(marketd_token uni)
for i in 1 2 3 4; do
	v2_offer "$(v2_host "h$i" "$SKU")" 12.000000 >"$TMP/.offer"
done
[ -s "$TMP/.offer" ] || fail "there are hosts"
START=$((NOW + HOUR))
buy() { # NODES HOURS [MORE]: acme's order; sets out and its status
	out=$(as "$ACME" POST /v2/orders "$(order buy "$POOL" "$1" "$START" $((START + $2 * HOUR)) 20.000000 "${3-}")")
}
quoted() { # NODES HOURS
	as "$ACME" POST "/np/v1/quote${3-}" "$(order buy "$POOL" "$1" "$START" $((START + $2 * HOUR)) 20.000000)"
}

# ---- Without facts or grants: full price ------------------------------------------------------------------------
is "$(quoted 1 1 | jq -c '[.cost_dollars, .granted_dollars, .policy.rule, .policy.rate, .policy.grant]')" \
	'["12.000000","0.000000","default","1",null]' "who has nothing pays in full, by the default"
run_is 0 "facts" boss facts acme reputation_score=51 personhood_score=20.00001
run_is 0 "no grant yet" buyer grants -o json
is "$out" "[]" "acme has none"
is "$(quoted 1 1 | jq -r .policy.rule)" default "a reputation alone is no grant"

# ---- A grant, the seed's rule at its edges ----------------------------------------------------------------------
run_is 0 "a grant" boss grant add acme study 30 --sponsor uni -o json
GRANT=$(jq -r '.[0].id' <<<"$out")
is "$(jq -c '.[0] | [.grant, .account, .sponsor, .state, .left_micros]' <<<"$out")" '["study","acme","uni","open",30000000]' \
	"says who pays for whom, and how much"
is "$(quoted 1 1 | jq -c '[.cost_dollars, .granted_dollars, .policy.rule, .policy.rate, .policy.grant_name]')" \
	'["0.000000","12.000000","subsidy","0","study"]' "51, 20.00001 and a grant: it pays all"
boss facts acme reputation_score=50 >"$TMP/.out"
is "$(quoted 1 1 | jq -r .policy.rule)" default "50 is not above 50"
boss facts acme reputation_score=51 personhood_score=20 >"$TMP/.out"
is "$(quoted 1 1 | jq -r .policy.rule)" default "20 is not above 20"
boss facts acme personhood_score= >"$TMP/.out"
is "$(quoted 1 1 | jq -r .policy.rule)" default "a score that is missing is no score"
boss facts acme personhood_score=20.00001 >"$TMP/.out"
is "$(quoted 1 1 '?explain=true' | jq -c '.policy.input | [.account.reputation_score, .account.grant_active, .request.action, .request.hours, (.request.start | fromdate), .grant.left]')" \
	"[\"51\",true,\"buy\",\"1\",$START,\"30.000000\"]" "explained: what the policy was asked with"
told np.Quote "$(quoted 1 1)" "a quote, as documented"

# ---- Bought: the sponsor pays ------------------------------------------------------------------------------------
acme=$(whole acme) uni=$(whole uni)
buy 1 2
is "$(jq -c '[.status, .np_cost_dollars // .total_dollars // ""]' <<<"$out" | cut -c1-9)" '["filled"' "a buy that the grant pays fills"
is "$(available acme)" "100000.000000" "acme paid nothing"
is "$(available uni)" "26.000000" "the sponsor 24 dollars"
is "$(left study)" "6.000000" "of the grant"
buy 1 1 ',"allow_standing":false'
is "$(http_status) $(jq -r .error.code <<<"$out")" "402 insufficient_funds" "an hour for 12 is more than the 6 that are left"
like "$(jq -r .error.message <<<"$out")" "grant 'study' does not have enough left" "and says whose money it is"
buy 1 1 ',"np_grant":"none"'
is "$(http_status) $(available acme)" "201 99988.000000" "who wants to pays in full"
buy 1 1 ',"np_grant":"other"'
is "$(http_status)" 404 "another grant is none"
buy 1 1 ',"allow_standing":true'
is "$(http_status) $(available acme)" "201 99976.000000" "no grant pays for an order that may wait: it costs acme"

# ---- What comes back -----------------------------------------------------------------------------------------------
out=$(as "$ACME" POST "/np/v1/pools/$POOL/release" '{"dry_run":true}')
is "$(http_status)" 200 "what a release would give back can be asked"
operator PUT /np/v1/policy '{"release_bps":5000}' >"$TMP/.policy"
as "$ACME" POST "/np/v1/pools/$POOL/release" '{}' >"$TMP/.released"
is "$(http_status)" 200 "all given back, for half of it"
is "$(available acme)" "99988.000000" "acme has half of its own 24 dollars again"
is "$(available uni) $(left study)" "38.000000 18.000000" "the sponsor and its grant half of theirs"
is "$(whole acme | awk -v b="$acme" '{ print b - $1 }') $(whole uni | awk -v b="$uni" '{ print b - $1 }')" "12000000 12000000" \
	"nobody lost or won anything else"

# ---- Nothing to be made of it ---------------------------------------------------------------------------------------
buy 1 1
is "$(available acme) $(left study)" "99988.000000 6.000000" "another hour, which the grant pays"
as "$ACME" POST /v2/orders "$(order sell "$POOL" 1 "$START" $((START + HOUR)) 11.000000 ',"allow_standing":true')" >"$TMP/.sold"
is "$(http_status) $(json .error.code <"$TMP/.sold")" "422 not_owned" "what a grant paid for is not sold on"

# ---- Denied, limited --------------------------------------------------------------------------------------------------
boss facts acme reputation_score= groups=trial >"$TMP/.out"
buy 2 1
is "$(http_status) $(jq -r .error.code <<<"$out")" "403 denied_by_policy" "a trial account cannot buy two nodes"
like "$(jq -r .error.message <<<"$out")" "a trial account buys one node \(policy 'trial'\)" "and reads why"
boss facts acme groups=student,team >"$TMP/.out"
buy 3 1
is "$(http_status)" 403 "a limit of nodes"
buy 1 4
like "$(jq -r .error.message <<<"$out")" "allows up to 3 h" "a limit of hours"
v2_offer "$(v2_host dear "$SKU")" 31.000000 >"$TMP/.offer"
out=$(as "$ACME" POST /np/v1/quote "$(order buy "$POOL" 1 "$START" $((START + HOUR)) 40.000000)")
is "$(jq -c '[.fills, .message]' <<<"$out")" '[true,null]' "a limit of the price: what is cheaper is sold"
out=$(as "$ACME" POST /v2/procurements "{\"name\":\"keep\",\"target\":3,\"pool\":\"$POOL\",\"instance_sku\":\"$SKU\",\"managed_window_minutes\":60,
	\"min_sell_price_dollars_per_node_hour\":\"1.0\",\"max_buy_price_dollars_per_node_hour\":\"20.0\",\"enabled\":true}")
is "$(http_status) $(jq -r .error.code <<<"$out")" "403 denied_by_policy" "a procurement is no way around it"
buy 1 1
is "$(http_status) $(available acme) $(left study)" "201 99982.000000 0.000000" "half a price: 6 each"
boss facts acme groups= >"$TMP/.out"
is "$(quoted 1 1 | jq -r '.policy | .rule')" default "without facts it is as before"

# ---- The one that has enough -------------------------------------------------------------------------------------------
boss facts acme reputation_score=51 groups= >"$TMP/.out"
boss grant add acme little 5 --sponsor uni -q >"$TMP/.out"
boss grant add acme much 12 --sponsor uni -q >"$TMP/.much"
operator POST /np/v1/accounts/uni/credits '{"amount_dollars":"100"}' >"$TMP/.credit"
is "$(quoted 1 1 | jq -c '[.fills, .policy.grant_name, .granted_dollars]')" '[true,"much","12.000000"]' "of two grants the one that has enough pays"
is "$(quoted 2 1 | jq -c '[.fills, .reason, .policy.grant_name]')" '[false,"insufficient_funds","little"]' "where none has, it says so of the oldest"
for id in $(operator GET /np/v1/grants | jq -r '.data[] | select(.name == "little" or .name == "much") | .id'); do
	boss grant end "$id" 2>"$TMP/.out"
done

# ---- The older APIs are no way around it ---------------------------------------------------------------------------------
things() { as "$ACME" GET '/v2/pools?limit=200' | jq '.data | length'; }
v1_nodes() { # COUNT NAMES
	as "$ACME" POST /v1/nodes "{\"desired_count\":$1,\"max_price_per_node_hour\":2000,\"names\":[$2],\"zone\":\"richmond\",\"start_at\":$((START + HOUR)),\"end_at\":$((START + 2 * HOUR))}" >"$TMP/.v1"
}
boss facts acme groups=trial reputation_score= >"$TMP/.out"
pools=$(things)
v1_nodes 2 '"a","b"'
is "$(http_status) $(jq -r .error.code <"$TMP/.v1") $(things)" "403 denied_by_policy $pools" "two nodes by /v1 count as two, and leave nothing"
as "$ACME" POST /v0/orders "{\"side\":\"buy\",\"quantity\":2,\"instance_type\":\"richmond\",\"price\":9000,\"start_at\":\"$(date -u -d @$START +%FT%TZ)\",\"end_at\":\"$(date -u -d @$((START + HOUR)) +%FT%TZ)\"}" >"$TMP/.v0"
is "$(http_status) $(jq -r .error.code <"$TMP/.v0") $(things)" "403 denied_by_policy $pools" "so do two by /v0"
out=$(as "$ACME" POST /v2/procurements "{\"name\":\"live\",\"target\":\"node_count\",\"pool\":\"$POOL\",\"instance_sku\":\"$SKU\",\"managed_window_minutes\":60,
	\"min_sell_price_dollars_per_node_hour\":\"1.0\",\"max_buy_price_dollars_per_node_hour\":\"20.0\",\"enabled\":true}")
is "$(http_status) $(jq -r .error.code <<<"$out")" "403 denied_by_policy" "as many nodes as live may be many"
boss facts acme groups= reputation_score=51 >"$TMP/.out"
boss grant add acme old 100 --sponsor uni -q >"$TMP/.old"
boss credit uni 100 >"$TMP/.out"
uni=$((uni + 100000000))
had=$(available acme)
v1_nodes 2 '"a","b"'
is "$(http_status) $(available acme) $(left old)" "201 $had 76.000000" "a grant pays for what /v1 buys, too"
buy 1 1 ',"np_grant":"study"'
is "$(http_status)" 404 "a grant that is spent cannot be named"
boss grant end "$(operator GET /np/v1/grants | jq -r '.data[] | select(.name == "old") | .id')" 2>"$TMP/.out"

# ---- People see it ------------------------------------------------------------------------------------------------------
boss facts acme reputation_score= groups=student >"$TMP/.out"
run_is 0 "another grant" boss grant add acme second 100 --sponsor uni --until '+3d'
run_is 0 "price" buyer price -t richmond -n 1 -d 1h -s @$((START + 4 * HOUR))
like "$out" "policy +grant 'second' pays \\\$6.00 of \\\$12.00 \(policy 'half'\)" "price says who pays"
run_is 0 "the plan" buyer buy -t richmond -n 1 -d 1h -s @$((START + 4 * HOUR)) -p 20 --per node --no-ssh-key --dry-run
like "$out$err" "pays \\\$6.00 of \\\$12.00" "the plan of buy, too"
run_is 0 "their list" buyer grants
like "$out" "study.*spent" "a grant that is spent says so"
is "$(as "$UNI" GET /np/v1/grants | jq '.data | length')" 0 "others' grants are not listed"
as "$ACME" POST /np/v1/grants '{"account":"acme","sponsor":"uni","name":"own","max_dollars":"5"}' >"$TMP/.said"
is "$(http_status)" 403 "nobody grants themselves money"
as "$ACME" PATCH /np/v1/accounts/acme/facts '{"facts":{}}' >"$TMP/.said"
is "$(http_status)" 403 "or writes their own facts"
is "$(as "$ACME" GET /np/v1/facts | jq -c '[.account_name, .facts.groups.value]')" '["acme",["student"]]' "but reads them"
told np.Facts "$(as "$ACME" GET /np/v1/facts)" "facts, as documented"
told np.GrantList "$(as "$ACME" GET /np/v1/grants)" "grants, as documented"
like "$(NANOPOD_TOKEN=$ACME "$NANOPOD" events)" "grant" "the account's events tell of them"
like "$(cat "$MARKETD_LOG")" "audit: grant 'study' of .30.00 for account .*acme" "the log says who granted what"

# ---- Ended; killed and back; the statement -------------------------------------------------------------------------------
run_is 0 "the end of one" boss grant end "$GRANT"
run_is 5 "twice" boss grant end "$GRANT"
marketd_kill
marketd_start --test-clock=$NOW --policy "$TMP/policy.yaml" || exit 1
is "$(operator GET /np/v1/grants | jq -c '[.data[] | [.name, .state, .spent_dollars]]')" \
	'[["study","ended","30.000000"],["little","ended","0.000000"],["much","ended","0.000000"],["old","ended","24.000000"],["second","open","0.000000"]]' "after a kill the grants are what they were"
v2_clock $((START + 6 * HOUR))
is "$(whole acme | awk -v b="$acme" '{ print b - $1 }') $(whole uni | awk -v b="$uni" '{ print b - $1 }')" "18000000 30000000" \
	"when the time has passed each has paid its part"
is "$(as "$UNI" GET "/np/v1/report?from=$((NOW - 86400))&to=$((NOW + 2 * 86400))" | jq '[.movements[]? // .data[]? | select(.kind != "credit") | .amount_micros] | add')" \
	-30000000 "and the sponsor's statement adds up to that"

v2_clock "$(date -u -d "$(date -u -d @$START +%Y-%m-01) + 1 month" +%s)"
is "$(buyer invoice "$(date -u -d @$START +%Y-%m)" -o json | jq -c '[.lines[] | select(.kind == "granted") | [.amount_micros, .granted_micros, .node_seconds]]')" \
	'[[0,30000000,3600]]' "acme's invoice says what grants paid, for nothing"
like "$(NANOPOD_TOKEN=$UNI "$NANOPOD" statement "$(date -u -d @$((START)) +%Y-%m)" </dev/null)" 'Paid for others, by grants' \
	"the sponsor's statement says for what it paid"

# ---- A wrong policy -------------------------------------------------------------------------------------------------------
marketd_stop
printf 'rules:\n  - name: x\n    when: {account.grant_active: true}\n    rate: 2\ndefault: {allow: true}\n' >"$TMP/wrong.yaml"
"$MARKETD" --data "$MARKETD_DATA" --listen 127.0.0.1:0 --socket "$MARKETD_SOCKET" --policy "$TMP/wrong.yaml" 2>"$TMP/wrong.err"
is $? 1 "a policy that is wrong is no policy: the market does not start"
like "$(cat "$TMP/wrong.err")" "wrong.yaml.*rate" "and says where"
done_testing
