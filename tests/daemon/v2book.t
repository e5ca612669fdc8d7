#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What can be known before buying: SKUs, availability, the catalog, previews that are true, and the public book.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"

v2_start
S=$((NOW + 3600)) E=$((NOW + 7200))
CPU=$(v2_sku plain 0 '{"region":"us-east","num_vcpus":64,"supports_public_ipv4":false}')
B200=$(v2_sku austin 8 '{"accelerator":"b200","region":"us-south"}')

# ---- SKUs --------------------------------------------------------------------------------------
all=$(as "$ACME" GET /v2/instance_skus)
shape ListInstanceSkusResponse "$all" "the list of SKUs has its shape"
is "$(json '[.data[].alias] | join(" ")' <<<"$all")" "richmond plain austin" "all of them, in order of making"
got=$(as "$ACME" GET "/v2/instance_skus/$SKU")
shape InstanceSku "$got" "a SKU has its shape"
is "$(json '[.accelerator.value, .accelerator.display_value, .num_accelerators.value, .memory.display_value, .rdma_type.display_value,
	.supports_public_ipv4.display_value] | map(tostring) | join(" ")' <<<"$got")" "h100 H100 8 2 TiB InfiniBand Yes" "values and how they are shown"
is "$(as "$ACME" GET "/v2/instance_skus/$CPU" | json '[.accelerator, .num_accelerators, .audience_hint] | tojson')" \
	"[null,null,null]" "null for what it has not"
is "$(as "$ACME" GET "/v2/instance_skus/clus_${SKU#isku_}" | json .id)" "$SKU" "an older prefix is read, the new one is written"
refused 404 not_found id "a SKU that is not there" "$(as "$ACME" GET /v2/instance_skus/isku_0000000000001)"
pages "$ACME" /v2/instance_skus 1
is "$(tr '\n' ' ' <<<"$out")$pages_count" "$SKU $CPU $B200 3" "page by page"
pages_back "$ACME" /v2/instance_skus 1 "$pages_last"
is "$(tr '\n' ' ' <<<"$out")" "$SKU $CPU " "and back"

# ---- Availability -------------------------------------------------------------------------------
v2_offer "$(v2_host a1 "$SKU")" 12.000000 >/dev/null
v2_offer "$(v2_host a2 "$SKU")" 15.000000 7200 >/dev/null
v2_offer "$(v2_host b1 "$B200")" 30.000000 >/dev/null
got=$(as "$ACME" GET "/v2/instance_skus/$SKU/availability")
shape InstanceSkuAvailability "$got" "availability has its shape"
is "$(json '.schedule | tojson' <<<"$got")" "[{\"start_at\":$((NOW + 60)),\"end_at\":$E,\"node_count\":2},{\"start_at\":$E,\"end_at\":$((NOW + 864000)),\"node_count\":1}]" "what can be bought, over time"
is "$(as "$ACME" GET "/v2/instance_skus/$CPU/availability" | json '.schedule | length')" 0 "empty where there is nothing"
avail() { as "$ACME" GET "/v2/instance_skus/availability$1" | json '[.data[].instance_sku.alias] | join(" ")'; }
shape ListInstanceSkuAvailabilityResponse "$(as "$ACME" GET /v2/instance_skus/availability)" "the list has its shape"
is "$(avail '')" "richmond plain austin" "every SKU's"
is "$(avail '?accelerator=h100')|$(avail '?accelerator=H100')" "richmond|" "by accelerator"
is "$(avail "?id=$B200")|$(avail '?region=us-east')|$(avail '?num_accelerators=8')" "austin|plain|richmond austin" "by id, region, number"
is "$(avail '?supports_public_ipv4=false')|$(avail '?memory=2199023255552')|$(avail '?rdma_type=roce')" "plain|richmond|" "by the rest"
refused 422 invalid num_vcpus "a number that is none" "$(as "$ACME" GET '/v2/instance_skus/availability?num_vcpus=-1')"

# ---- Catalog -------------------------------------------------------------------------------------
got=$(as "$ACME" GET /v2/instance_sku_property_catalog)
shape ListInstanceSkuPropertyCatalogResponse "$got" "the catalog has its shape"
shape InstanceSkuPropertyDefinition "$(jq '.data[0]' <<<"$got")" "so has a property"
shape InstanceSkuPropertyKey "$(jq '.data[0].key' <<<"$got")" "its key"
shape InstanceSkuEnumerationValue "$(jq '.data[0].values[0]' <<<"$got")" "and its values"
is "$(json '.data[] | select(.key.name == "accelerator") | [.values[].name] | join(" ")' <<<"$got")" "h100 b200" "values that SKUs have"
pages "$ACME" /v2/instance_sku_property_catalog 3
is "$(wc -l <<<"$out") $pages_count" "10 4" "ten properties, in four pages"

# ---- Preview: buy ----------------------------------------------------------------------------------
# preview TOKEN SIDE NODES START SECONDS [REQUIREMENTS [MORE]]
preview() {
	as "$1" POST /v2/order_preview "{\"side\":\"$2\",\"requirements\":${6:-{\}},\"start_at\":$4,\"duration_seconds\":$5,\"node_count\":$3${7-}}"
}
got=$(preview "$ACME" buy 1 $S 3600 '{"accelerator":["h100"]}' ',"pool":"train"')
is "$(http_status) $(json .type <<<"$got")" "200 quoted" "a preview is quoted"
shape v2.QuotedOrderPreview "$got" "with its shape"
shape v2.CreateOrderRequest "$(jq .post_order_body <<<"$got")" "and a body of an order's"
shape v2.OrderPreviewFee "$(jq .fee <<<"$got")" "and a fee"
is "$(json '.post_order_body.limit_price_dollars_per_node_hour + " " + .np_total_dollars' <<<"$got")" "12.000000 12.000000" "the cheapest"
is "$(json '.fee | tojson' <<<"$got")" '{"flat_dollars_per_node_hour":"0.000000","percentage_bps":0}' "buying is free of fees"
is "$(as "$ACME" POST /v2/orders "$(jq -c .post_order_body <<<"$got")" | json '.status + " " + .np_filled_total_dollars')" \
	"filled 12.000000" "posting its body verbatim fills, at that price"
got=$(preview "$ACME" buy 1 $S 3600)
is "$(json .post_order_body.limit_price_dollars_per_node_hour <<<"$got")" 15.000000 "what was bought is gone: the next one is dearer"
is "$(json .post_order_body.pool <<<"$got")" "$POOL" "without a pool: the account's"
before=$(as "$ACME" GET '/v2/orders?limit=200' | json '.data | length')
preview "$ACME" buy 1 $S 3600 >/dev/null
is "$(as "$ACME" GET '/v2/orders?limit=200' | json '.data | length')" "$before" "asking places nothing"
got=$(preview "$ACME" buy 2 $S 3600)
is "$(json '.type + " " + .reason' <<<"$got")" "unavailable no_availability" "no SKU has two left then"
shape v2.UnavailableOrderPreview "$got" "with its shape"
got=$(preview "$ACME" buy 1 $S 3600 '{"accelerator":["h900"]}')
is "$(json '.type + " " + .reason' <<<"$got")" "unavailable no_matching_instance_skus" "no such hardware"
shape v2.UnavailableOrderPreview "$got" "with the same shape"
is "$(preview "$ACME" buy 1 $S 3600 '{"accelerator":["h100","b200"],"region":["us-south"]}' | json .post_order_body.instance_sku)" "$B200" "any of the values, all of the properties"
refused 422 invalid requirements "a property that there is not" "$(preview "$ACME" buy 1 $S 3600 '{"colour":["red"]}')"
refused 422 invalid duration_seconds "a duration off the minute" "$(preview "$ACME" buy 1 $S 3601)"
refused 422 invalid duration_seconds "no duration" "$(preview "$ACME" buy 1 $S 0)"
refused 422 invalid start_at "a start off the minute" "$(preview "$ACME" buy 1 $((S + 1)) 3600)"
refused 422 invalid node_count "no nodes" "$(preview "$ACME" buy 0 $S 3600)"
refused 422 in_the_past start_at "the past" "$(preview "$ACME" buy 1 $((NOW - 7200)) 3600)"
refused 404 not_found pool "a stranger's pool" "$(preview "$STRANGER" buy 1 $S 3600 '{}' ",\"pool\":\"$POOL\"")"
refused 422 invalid pool "nothing to buy into" "$(preview "$STRANGER" buy 1 $S 3600)"
marketd_account poor
POOR=$(marketd_token poor)
as "$POOR" POST /v2/pools '{"name":"p","workspace":"default"}' >/dev/null
is "$(preview "$POOR" buy 1 $S 3600 | json '.type + " " + .np_reason')" "quoted insufficient_funds" "a price also for who has no money, and it says so"

# ---- Preview: sell ----------------------------------------------------------------------------------
is "$(preview "$ACME" sell 1 $S 3600 | json '.type + " " + .reason')" "unavailable no_availability" "nobody asks for it yet"
as "$STRANGER" POST /v2/pools '{"name":"bids","workspace":"default"}' >/dev/null
bid() { as "$STRANGER" POST /v2/orders "$(order buy bids "$1" $S $E "$2" ',"allow_standing":true')" | json .id; }
BID=$(bid 1 9.000000)
bid 1 6.000000 >/dev/null
operator PUT /np/v1/policy '{"fee_bps":250}' >/dev/null
got=$(preview "$ACME" sell 1 $S 3600 '{}' ',"pool":"train"')
is "$(json '.type + " " + .post_order_body.side + " " + .post_order_body.limit_price_dollars_per_node_hour' <<<"$got")" \
	"quoted sell 9.000000" "a sale at the best bid"
is "$(json '.fee.percentage_bps' <<<"$got")" 250 "with the fee of sellers"
SALE=$(jq -c .post_order_body <<<"$got")

# ---- The book ---------------------------------------------------------------------------------------
W="start_at=$S&end_at=$E"
got=$(as "$STRANGER" GET "/v2/orderbook/quote?$W")
shape OrderbookQuoteResponse "$got" "a quote has its shape"
shape PriceLevel "$(jq .best_bid <<<"$got")" "a level too"
is "$(json '.best_bid.dollars_per_node_hour + " " + .best_ask.dollars_per_node_hour + " " + (.requested_at | tostring)' <<<"$got")" \
	"9.000000 15.000000 $NOW" "best bid and best ask"
is "$(as "$STRANGER" GET "/v2/orderbook/quote?$W&requirements=accelerator:b200" | json '[.best_bid, .best_ask.dollars_per_node_hour] | tojson')" \
	'[null,"30.000000"]' "of the hardware that is asked for"
got=$(as "$STRANGER" GET "/v2/orderbook/depth?$W")
shape OrderbookDepthResponse "$got" "depth has its shape"
is "$(json '([.bids[].dollars_per_node_hour] | join(" ")) + "|" + ([.asks[].dollars_per_node_hour] | join(" "))' <<<"$got")" \
	"9.000000 6.000000|15.000000 30.000000" "bids fall, asks rise"
is "$(json '[.bids[0].allocation_schedule_delta[] | .node_count] | tojson' <<<"$got")" "[1]" "with their nodes over time"
is "$(as "$STRANGER" GET "/v2/orderbook/depth?$W&depth=1" | json '(.bids | length | tostring) + (.asks | length | tostring)')" 11 "so many levels a side"
is "$(as "$STRANGER" GET "/v2/orderbook/depth?$W&requirements=accelerator:in:b200,h100;region:eq:us-south" | json '.requirements | tojson')" \
	'{"accelerator":["b200","h100"],"region":["us-south"]}' "it says back what was asked for"
for path in "depth?$W" "quote?$W" "windows?range_start_at=$NOW&range_end_at=$((NOW + 864000))" "fills?$W"; do
	text=$(as "$STRANGER" GET "/v2/orderbook/$path")
	unlike "$text" 'ordr_|pool_|acct_|acme|stranger|foundry|host_|tok_|cont_|train' "the public book names nobody: ${path%%\?*}" ||
		diag "$path"
done
refused 422 invalid end_at "no end" "$(as "$ACME" GET "/v2/orderbook/quote?start_at=$S")"
refused 422 invalid end_at "an end before its start" "$(as "$ACME" GET "/v2/orderbook/quote?start_at=$E&end_at=$S")"
refused 422 invalid start_at "off the minute" "$(as "$ACME" GET "/v2/orderbook/depth?start_at=$((S + 1))&end_at=$E")"
refused 422 invalid requirements "a property that there is not" "$(as "$ACME" GET "/v2/orderbook/quote?$W&requirements=colour:red")"
refused 422 invalid requirements "an operator that there is not" "$(as "$ACME" GET "/v2/orderbook/quote?$W&requirements=memory:gt:1")"
refused 422 invalid requirements "no value" "$(as "$ACME" GET "/v2/orderbook/quote?$W&requirements=accelerator:")"

R="range_start_at=$NOW&range_end_at=$((NOW + 864000))"
got=$(as "$STRANGER" GET "/v2/orderbook/windows?$R")
shape ListOrderbookWindowsResponse "$got" "windows have their shape"
shape OrderbookWindow "$(jq '.data[0]' <<<"$got")" "so has one"
is "$(json '.data[] | select(.start_at == '$S') | [.total_bid_order_count, .total_ask_order_count, .duration_hours, .best_bid.dollars_per_node_hour] | tojson' <<<"$got")" \
	'[2,0,1,"9.000000"]' "two bids for an hour"
is "$(json '.data | length' <<<"$got")" 4 "every window with orders in it"
is "$(as "$STRANGER" GET "/v2/orderbook/windows?range_start_at=$S&range_end_at=$E" | json '.data | length')" 1 "only those within the range"
first=$(as "$STRANGER" GET "/v2/orderbook/windows?$R&limit=2")
second=$(as "$STRANGER" GET "/v2/orderbook/windows?$R&limit=2&starting_after=$(json .cursor <<<"$first")")
is "$(jq -c '.data[]' <<<"$first"; jq -c '.data[]' <<<"$second")" "$(jq -c '.data[]' <<<"$got")" "in pages"
is "$(json .has_more <<<"$first")$(json .has_more <<<"$second")" truefalse "of which the last knows that it is"
like "$(json .cursor <<<"$first")" '^mwin_' "by cursor"

# ---- Fills --------------------------------------------------------------------------------------------
is "$(as "$ACME" POST /v2/orders "$SALE" | json '.status + " " + .np_filled_total_dollars')" "filled 9.000000" "the sale's body, verbatim, fills as it was quoted"
is "$(as "$STRANGER" GET "/v2/orders/$BID" | json .status)" filled "against the bid"
as "$ACME" POST /v2/orders "$(order buy train 1 $S $E 15.0)" >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((E + 3600)) $((E + 7200)) 15.0)" >/dev/null
got=$(as "$STRANGER" GET "/v2/orderbook/fills?$W")
shape ListOrderbookFillsResponse "$got" "fills have their shape"
shape OrderbookFill "$(jq '.data[0]' <<<"$got")" "so has one"
is "$(json '[.data[].dollars_per_node_hour] | join(" ")' <<<"$got")" "15.000000 9.000000 12.000000" "what was traded for that window, newest first"
is "$(as "$STRANGER" GET "/v2/orderbook/fills?start_at=$S&end_at=$((S + 86400))" | json '.data | length')" 4 "and for a longer one"
is "$(as "$STRANGER" GET "/v2/orderbook/fills?$W&requirements=accelerator:b200" | json '.data | length')" 0 "of that hardware"
pages_fills=''
cursor=''
for i in 1 2 3; do
	page=$(as "$STRANGER" GET "/v2/orderbook/fills?$W&limit=1${cursor:+&starting_after=$cursor}")
	pages_fills="$pages_fills $(json '.data[0].dollars_per_node_hour + (.has_more | tostring)' <<<"$page")"
	cursor=$(json .cursor <<<"$page")
done
is "$pages_fills" " 15.000000true 9.000000true 12.000000false" "by cursor, to the end"
like "$cursor" '^mfilc_' "which is of its kind"
refused 422 invalid starting_after "another list's cursor" "$(as "$STRANGER" GET "/v2/orderbook/fills?$W&starting_after=mwin_0")"
v2_clock $((NOW + 120))
is "$(as "$STRANGER" GET "/v2/orderbook/fills?$W&since_at=$((NOW + 60))" | json '.data | length')" 0 "since a time"
refused 422 invalid since_at "not longer ago than 30 days" "$(as "$STRANGER" GET "/v2/orderbook/fills?$W&since_at=$((NOW - 2592000))")"
refused 401 unauthenticated "" "not without a token" "$(as npk_x GET "/v2/orderbook/fills?$W")"

marketd_stop
is "$marketd_status" 0 "and the market ends well" || diag "$(tail -n 30 "$MARKETD_LOG")"
done_testing
