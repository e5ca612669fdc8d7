#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# /v2/orders: what fills, what does not and why, what is refused, cancelling, listing and paging.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"

v2_start
S=$((NOW + 3600)) E=$((NOW + 7200))
for price in 11.400000 12.000000 12.600000 13.200000; do
	v2_offer "$(v2_host "a$price" "$SKU")" "$price" >/dev/null
done

# ---- Filling ----------------------------------------------------------------------------------
got=$(as "$ACME" POST /v2/orders "$(order buy train 2 $S $E 15.000000)")
is "$(http_status)" 201 "an order is made"
shape v2.OrderResponse "$got" "it has the shape of SF Compute's"
is "$(json '[.object,.side,.status,.np_reason,.allow_standing,.allow_partial] | join(" ")' <<<"$got")" \
	"order buy filled  false false" "it is filled"
is "$(json '.pool.name + " " + .capacity.name + " " + .instance_sku.alias' <<<"$got")" "train train richmond" "into its pool"
is "$(json '.limit_price_dollars_per_node_hour' <<<"$got")" 15.000000 "the limit as it was given"
is "$(json '.np_filled_total_dollars + " " + .filled_average_price_dollars_per_node_hour + " " + .np_hold_dollars' <<<"$got")" \
	"23.400000 11.700000 0.000000" "the cheapest two hosts, at what their owner asks"
is "$(json '.filled_allocation_schedule_delta == .allocation_schedule_delta' <<<"$got")" true "all of it"
is "$(json '.fills | length' <<<"$got")" 2 "one fill a host"
shape v2.OrderFill "$(jq '.fills[0]' <<<"$got")" "a fill has its shape"
is "$(json '[.fills[].price_dollars_per_node_hour] | sort | join(" ")' <<<"$got")" "11.400000 12.000000" "with the price of each"
is "$(json '.created_by.type + " " + .created_by.name' <<<"$got")" "token test" "and who placed it"
shape v2.OrderPrincipal "$(jq .created_by <<<"$got")" "which has its shape"
is "$(json '[.filled_at, .created_at, .cancelled_at] | map(tostring) | join(" ")' <<<"$got")" "$NOW $NOW null" "and when"
ID=$(json .id <<<"$got")
like "$ID" '^ordr_[0-9a-z]{13}$' "its id is an order's"
is "$(as "$ACME" GET "/v2/orders/$ID" | jq -S .)" "$(jq -S . <<<"$got")" "asked for later it is the same"
is "$(as "$ACME" GET "/preview/v2/orders/$ID" | json .id)" "$ID" "also under /preview/v2"
is "$(as "$ACME" GET /v2/pools/train | json '.allocation_schedule.total | tojson')" \
	"[{\"start_at\":$S,\"end_at\":$E,\"node_count\":2}]" "the pool has the nodes"

# ---- Not filling ------------------------------------------------------------------------------
got=$(as "$ACME" POST /v2/orders "$(order buy train 1 $S $E 5.000000)")
is "$(http_status) $(json '.status + " " + .np_reason' <<<"$got")" "201 cancelled price_too_low" "one that does not fill is made and cancelled, and says why"
shape v2.OrderResponse "$got" "with the same shape"
is "$(json '[.cancelled_at, .filled_at, .filled_average_price_dollars_per_node_hour] | map(tostring) | join(" ")' <<<"$got")" \
	"$NOW null null" "cancelled at once"
is "$(json '(.fills | length | tostring) + (.filled_allocation_schedule_delta | length | tostring)' <<<"$got")" 00 "with nothing in it"
got=$(as "$ACME" POST /v2/orders "$(order buy train 3 $S $E 100.000000)")
is "$(json '.status + " " + .np_reason' <<<"$got")" "cancelled no_capacity" "more nodes than there are"
got=$(as "$ACME" POST /v2/orders "$(order buy train 3 $S $E 100.000000 ',"allow_partial":true')")
is "$(json '[.status, .np_reason, .filled_allocation_schedule_delta[0].node_count] | map(tostring) | join(" ")' <<<"$got")" \
	"cancelled no_capacity 2" "in part: what there is, the rest is cancelled"
is "$(as "$ACME" GET "/v2/orders/$(json .id <<<"$got")" | json '.fills | length')" 2 "with its fills, also later"

# ---- Refusals ---------------------------------------------------------------------------------
ask() { as "$ACME" POST /v2/orders "$1"; }
D=allocation_schedule_delta
refused 422 invalid "$D.0.start_at" "a start off the minute" "$(ask "$(order buy train 1 $((S + 1)) $E 15.0)")"
refused 422 invalid "$D.0.end_at" "an end off the minute" "$(ask "$(order buy train 1 $S $((E + 30)) 15.0)")"
refused 422 invalid "$D.0.end_at" "an end before its start" "$(ask "$(order buy train 1 $E $S 15.0)")"
refused 422 invalid "$D.0.end_at" "no end" "$(ask "$(order buy train 1 $S null 15.0)")"
refused 422 invalid "$D.0.node_count" "no nodes" "$(ask "$(order buy train 0 $S $E 15.0)")"
refused 422 invalid "$D.0.node_count" "too many nodes" "$(ask "$(order buy train 1025 $S $E 15.0)")"
refused 422 in_the_past "$D" "in the past" "$(ask "$(order buy train 1 $((NOW - 7200)) $((NOW - 3600)) 15.0)")"
two=$(order buy train 1 $S $E 15.0 | jq -c ".$D += .$D")
refused 422 invalid "$D" "two ranges" "$(ask "$two")"
refused 422 invalid "$D" "no range" "$(ask "$(jq -c ".$D = []" <<<"$two")")"
for price in 15 .5 15. -1.0 1e3 "" "1 .0"; do
	refused 422 invalid limit_price_dollars_per_node_hour "no price: '$price'" "$(ask "$(order buy train 1 $S $E "$price")")"
done
refused 404 not_found pool "a pool that is not there" "$(ask "$(order buy nowhere 1 $S $E 15.0)")"
refused 404 not_found instance_sku "a SKU that is not there" "$(ask "$(order buy train 1 $S $E 15.0 | jq -c '.instance_sku = "isku_0000000000001"')")"
refused 422 unknown_field limit "a field that orders do not have" "$(ask "$(order buy train 1 $S $E 15.0 ',"limit":1')")"
refused 422 invalid side "a side that there is not" "$(ask "$(order hold train 1 $S $E 15.0)")"
refused 402 insufficient_funds "" "more than there is money for" "$(ask "$(order buy train 100 $((S + 864000)) $((S + 1728000)) 500.0 ',"allow_standing":true')")"
refused 402 over_max_total np_max_total_dollars "more than the stated total" \
	"$(ask "$(order buy train 1 $((S + 3600)) $((E + 3600)) 15.0 ',"np_max_total_dollars":"2.000000"')")"
refused 422 not_owned "$D" "a sale of what is not owned" "$(ask "$(order sell train 5 $S $E 1.0)")"
refused 422 invalid np_interruptible "an interruptible sale" "$(ask "$(order sell train 1 $S $E 1.0 ',"np_interruptible":true')")"
refused 422 invalid np_max_total_dollars "a sale with a total" "$(ask "$(order sell train 1 $S $E 1.0 ',"np_max_total_dollars":"1.0"')")"
refused 401 unauthenticated "" "no token" "$(as npk_none POST /v2/orders "$(order buy train 1 $S $E 15.0)")"
READER=$(marketd_token acme read)
refused 403 forbidden "" "a token that may only read" "$(as "$READER" POST /v2/orders "$(order buy train 1 $S $E 15.0)")"
refused 422 wrong_state pool "buying into a pool of hosts" "$(as "$FOUNDRY" POST /v2/orders "$(order buy hosts-richmond 1 $S $E 15.0)")"

# A price is rounded to the step.
got=$(ask "$(order buy train 1 $((S + 3600)) $((E + 3600)) 0.000089 ',"allow_standing":true')")
is "$(json .limit_price_dollars_per_node_hour <<<"$got")" 0.000060 "a price is rounded to a multiple of \$0.000060"
as "$ACME" DELETE "/v2/orders/$(json .id <<<"$got")" >/dev/null

# ---- Standing, and cancelling -----------------------------------------------------------------
got=$(ask "$(order buy train 1 $((S + 3600)) $((E + 3600)) 3.000000 ',"allow_standing":true,"np_max_total_dollars":"3.000000"')")
is "$(json '.status + " " + .np_hold_dollars' <<<"$got")" "standing 3.000000" "one that rests holds its worst case"
REST=$(json .id <<<"$got")
refused 404 not_found id "a stranger cannot cancel it" "$(as "$STRANGER" DELETE "/v2/orders/$REST")"
refused 404 not_found id "nor look at it" "$(as "$STRANGER" GET "/v2/orders/$REST")"
refused 403 forbidden "" "nor a token that may only read" "$(as "$READER" DELETE "/v2/orders/$REST")"
is "$(as "$ACME" DELETE "/v2/orders/$REST")$(http_status)" 204 "its owner can"
is "$(as "$ACME" GET "/v2/orders/$REST" | json '[.status, .np_reason, .np_hold_dollars, .cancelled_at] | map(tostring) | join(" ")')" \
	"cancelled null 0.000000 $NOW" "and has his money back"
refused 422 wrong_state id "twice cannot be" "$(as "$ACME" DELETE "/v2/orders/$REST")"
refused 422 wrong_state id "nor one that is filled" "$(as "$ACME" DELETE "/v2/orders/$ID")"
refused 404 not_found id "nor one that is not there" "$(as "$ACME" DELETE /v2/orders/ordr_0000000000001)"
refused 404 not_found id "nor what is no id" "$(as "$ACME" GET /v2/orders/x)"

# ---- Selling ----------------------------------------------------------------------------------
as "$STRANGER" POST /v2/pools '{"name":"bids","workspace":"default"}' >/dev/null
bid=$(as "$STRANGER" POST /v2/orders "$(order buy bids 1 $S $E 9.000000 ',"allow_standing":true')" | json .id)
got=$(ask "$(order sell train 1 $S $E 8.000000)")
is "$(json '[.side, .status, .filled_average_price_dollars_per_node_hour, .np_filled_total_dollars] | join(" ")' <<<"$got")" \
	"sell filled 9.000000 9.000000" "a sale fills at what the older bid pays"
shape v2.OrderResponse "$got" "a sale has the same shape"
SOLD=$(json .id <<<"$got")
is "$(as "$ACME" GET "/v2/orders/$SOLD" | json '[.fills[].price_dollars_per_node_hour] | join(" ")')" 9.000000 "its fills are there later too"
is "$(as "$STRANGER" GET "/v2/orders/$bid" | json '.status + " " + .np_filled_total_dollars')" "filled 9.000000" "the bid is filled"
got=$(ask "$(order sell train 1 $S $E 50.000000)")
is "$(json '.status + " " + .np_reason' <<<"$got")" "cancelled no_buyer" "a sale that nobody wants now says so"

# ---- The same key, the same answer ------------------------------------------------------------
body=$(order buy train 1 $((S + 7200)) $((E + 7200)) 15.0)
one=$(as "$ACME" POST /v2/orders "$body" -H 'Idempotency-Key: k-1')
two=$(as "$ACME" POST /v2/orders "$body" -H 'Idempotency-Key: k-1')
is "$(http_status) $two" "201 $one" "the same key again gives the same answer"
refused 409 idempotency_key_reused "" "and no other order" \
	"$(as "$ACME" POST /v2/orders "$(order buy train 1 $S $E 15.0)" -H 'Idempotency-Key: k-1')"

# ---- Listing ----------------------------------------------------------------------------------
ids() { as "$ACME" GET "/v2/orders?$1" | json '[.data[].id] | join(" ")'; }
all=$(as "$ACME" GET '/v2/orders?limit=200')
shape v2.ListOrdersResponse "$all" "a list has its shape"
is "$(json '[.data[] | keys | length] | unique | length' <<<"$all")" 1 "all its orders have the same fields"
is "$(json '[.data[].created_at] as $t | $t == ($t | sort | reverse)' <<<"$all")" true "the newest comes first"
is "$(json '[.data[].pool.name] | unique | join(" ")' <<<"$all")" train "nobody else's orders are in it"
count=$(json '.data | length' <<<"$all")
is "$(ids "sort_by=created_at&limit=200")" "$(json '[.data[].id] | reverse | join(" ")' <<<"$all")" "the other way round"
is "$(as "$ACME" GET "/v2/orders?sort_by=-start_at&limit=200" | json '[.data[].allocation_schedule_delta[0].start_at] as $t | $t == ($t | sort | reverse)')" true "by start"
is "$(ids "side=sell")" "$(json '[.data[] | select(.side == "sell") | .id] | join(" ")' <<<"$all")" "by side"
is "$(ids "status=filled&status=standing&limit=200")" \
	"$(json '[.data[] | select(.status == "filled" or .status == "standing") | .id] | join(" ")' <<<"$all")" "by status, repeated"
is "$(ids "id=$ID&id=$REST&sort_by=created_at")" "$ID $REST" "by id, repeated"
is "$(ids "pool=train&limit=1" | wc -w)" 1 "by pool"
is "$(ids "created_after=$((NOW + 1))")" "" "by time: after"
is "$(ids "created_before=$NOW&limit=200" | wc -w)" "$count" "by time: before, with that second in it"
is "$(ids "workspace=default&limit=200" | wc -w)" "$count" "by workspace"
refused 422 invalid status "a status that there is not" "$(as "$ACME" GET '/v2/orders?status=lost')"
refused 422 invalid side "a side that there is not" "$(as "$ACME" GET '/v2/orders?side=hold')"
refused 422 invalid sort_by "an order that there is not" "$(as "$ACME" GET '/v2/orders?sort_by=price')"
refused 404 not_found pool "a stranger's pool" "$(as "$STRANGER" GET "/v2/orders?pool=$POOL")"
refused 404 not_found workspace "a stranger's workspace" "$(as "$STRANGER" GET "/v2/orders?workspace=sfc:workspace:acme:default")"
refused 422 invalid limit "a limit of 0" "$(as "$ACME" GET '/v2/orders?limit=0')"
refused 422 invalid limit "a limit above 200" "$(as "$ACME" GET '/v2/orders?limit=201')"
refused 422 invalid starting_after "a cursor of another list" "$(as "$ACME" GET '/v2/orders?starting_after=poolc_00000000001000000000000001')"
refused 422 unknown_field colour "a parameter that there is not" "$(as "$ACME" GET '/v2/orders?colour=red')"
is "$(as "$STRANGER" GET "/v2/orders?id=$ID" | json '.data | length')" 0 "a stranger who knows an id gets nothing"

# ---- Paging, both ways, while things change ------------------------------------------------------
want=$(json '.data[].id' <<<"$all")
pages "$ACME" /v2/orders 3
is "$out" "$want" "page by page it is the whole list"
is "$pages_count" $(((count + 2) / 3)) "in pages of three"
pages "$ACME" '/v2/orders?sort_by=start_at' 2
is "$(sort <<<"$out")" "$(sort <<<"$want")" "sorted by start too, none twice, none left out"
first=$(as "$ACME" GET '/v2/orders?limit=4')
ask "$(order buy train 1 $S $E 0.500000)" >/dev/null
second=$(as "$ACME" GET "/v2/orders?limit=4&starting_after=$(json .cursor <<<"$first")")
is "$(json '.data[].id' <<<"$first"; json '.data[].id' <<<"$second")" "$(head -n 8 <<<"$want")" "a new order between two pages moves nothing"
back=$(as "$ACME" GET "/v2/orders?limit=4&ending_before=$(json .cursor <<<"$second")")
is "$(json '.data[].id' <<<"$back")" "$(json '.data[].id' <<<"$first")" "the page before the second is the first"
is "$(json .has_more <<<"$back")" true "and the new one is before it"
pages_back "$ACME" /v2/orders 3 "$(json .cursor <<<"$second")"
is "$(wc -l <<<"$out") $(tail -n 4 <<<"$out" | tr '\n' ' ')" "5 $(json '.data[].id' <<<"$first" | tr '\n' ' ')" "back to the beginning"
refused 422 invalid ending_before "a page both after and before" \
	"$(as "$ACME" GET "/v2/orders?starting_after=$(json .cursor <<<"$first")&ending_before=$(json .cursor <<<"$first")")"

# ---- The operator ------------------------------------------------------------------------------
is "$(operator GET "/v2/orders/$ID" | json .id)" "$ID" "the operator sees any order"
is "$(operator GET "/v2/orders?account=acme&limit=200" | json '.data | length')" $((count + 1)) "and an account's list"
refused 422 invalid account "but places none without saying for whom" "$(operator POST /v2/orders "$(order buy train 1 $S $E 15.0)")"
is "$(operator POST "/v2/orders?account=acme" "$(order buy train 1 $S $E 0.5)" | json '.status + " " + (.created_by | tostring)')" \
	"cancelled null" "for an account he can"
refused 403 forbidden account "others may not ask for another account" "$(as "$ACME" GET "/v2/orders?account=stranger")"

# ---- Sold twice: given back in between ------------------------------------------------------------
L=$((NOW + 86400)) M=$((NOW + 90000))
offer=$(v2_offer "$(v2_host again "$SKU")" 6.000000)
as "$ACME" POST /v2/pools '{"name":"back","workspace":"default"}' >/dev/null
ask "$(order buy back 1 $L $M 6.0)" >/dev/null
as "$ACME" POST /np/v1/pools/back/release '{}' >/dev/null
as "$STRANGER" POST /v2/orders "$(order buy bids 1 $L $M 6.0)" >/dev/null
got=$(as "$FOUNDRY" GET "/v2/orders/$offer")
is "$(json '.status + " " + (.fills | length | tostring) + " " + (.filled_allocation_schedule_delta | tojson)' <<<"$got")" \
	"partially_filled 2 [{\"start_at\":$L,\"end_at\":$M,\"node_count\":1}]" "two fills of the same hour of one host are one node"
shape v2.OrderResponse "$got" "an offer of a host is an order like any other"

# ---- Suspended: less is allowed, more is not ------------------------------------------------------
operator PATCH /np/v1/accounts/acme '{"state":"suspended"}' >/dev/null
refused 403 suspended "" "a suspended account does not buy" "$(ask "$(order buy train 1 $S $E 15.0)")"
is "$(ask "$(order sell train 1 $S $E 50.0 ',"allow_standing":true')" | json .status)" standing "but sells what it has"

marketd_stop
is "$marketd_status" 0 "and the market ends well" || diag "$(tail -n 30 "$MARKETD_LOG")"
done_testing
