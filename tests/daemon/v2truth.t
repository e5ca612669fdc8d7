#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Previews are true: on a book of many small offers and bids, each body that a preview gives is posted as it is, and must
# fill whole, at the total that was said, above no limit; what is called unavailable must not fill.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"

v2_start
RANDOM=${V2_SEED:-20}
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1000000.00"}' >/dev/null
SKU2=$(v2_sku austin 8 '{"accelerator":"b200","region":"us-south"}')
SLOT=1800

# Offers of one to eight half-hours, at one of eight prices, on ten hosts of two kinds.
for n in 1 2 3 4 5 6 7 8 9 10; do
	[ $n -le 6 ] && sku=$SKU || sku=$SKU2
	host=$(v2_host "h$n" "$sku")
	at=1
	while [ $at -lt 16 ]; do
		long=$((RANDOM % 8 + 1))
		as "$FOUNDRY" POST "/np/v1/hosts/$host/offers" "{\"price_dollars_per_node_hour\":\"$((6 + 3 * (RANDOM % 8))).000000\",
			\"start_at\":$((NOW + at * SLOT)),\"end_at\":$((NOW + (at + long) * SLOT))}" >"$TMP/.offer"
		at=$((at + long + RANDOM % 2))
	done
done
as "$STRANGER" POST /v2/pools '{"name":"bids","workspace":"default"}' >/dev/null

quoted=0 filled=0 same=0 within=0 unavailable=0 right=0
one() { # SIDE NODES START SECONDS REQUIREMENTS
	got=$(as "$ACME" POST /v2/order_preview \
		"{\"side\":\"$1\",\"requirements\":$5,\"start_at\":$3,\"duration_seconds\":$4,\"node_count\":$2,\"pool\":\"train\"}")
	if [ "$(json .type <<<"$got")" = quoted ]; then
		quoted=$((quoted + 1))
		order=$(as "$ACME" POST /v2/orders "$(jq -c .post_order_body <<<"$got")")
		[ "$(json .status <<<"$order")" = filled ] && filled=$((filled + 1)) || diag "$got" "$order"
		[ "$(json .np_filled_total_dollars <<<"$order")" = "$(json .np_total_dollars <<<"$got")" ] && same=$((same + 1)) ||
			diag "said $(json .np_total_dollars <<<"$got"), cost $(json .np_filled_total_dollars <<<"$order")"
		[ "$(jq '(.limit_price_dollars_per_node_hour | tonumber) as $l | .side as $s |
			all(.fills[]; (.price_dollars_per_node_hour | tonumber) as $p | if $s == "buy" then $p <= $l else $p >= $l end)' <<<"$order")" = true ] &&
			within=$((within + 1)) || diag "$order"
	elif [ "$(json .reason <<<"$got")" = no_availability ]; then
		unavailable=$((unavailable + 1))
		[ "$1" = buy ] && limit=30.0 || limit=0.0
		sku=$SKU
		[ "$5" = '{}' ] || sku=$SKU2
		order=$(as "$ACME" POST /v2/orders "$(order "$1" train "$2" "$3" $(($3 + $4)) $limit | jq -c ".instance_sku = \"$sku\"")")
		[ "$(json .status <<<"$order")" != filled ] && right=$((right + 1)) || diag "$got" "$order"
	else
		diag "$got"
	fi
}

for i in $(seq 1 30); do
	case $((RANDOM % 3)) in 0) what='{"accelerator":["b200"]}' ;; *) what='{}' ;; esac
	one buy $((RANDOM % 2 + 1)) $((NOW + (RANDOM % 14 + 1) * SLOT)) $(((RANDOM % 4 + 1) * SLOT)) "$what"
done
bought=$quoted
ok "half a dozen buys were quoted" test "$bought" -ge 6

# Bids on just what was bought, so that it can be sold again.
as "$ACME" GET '/v2/orders?side=buy&status=filled&limit=200' >"$TMP/bought"
jq -c '.data[] | select(.instance_sku.alias == "richmond") | .allocation_schedule_delta[0]' "$TMP/bought" >"$TMP/windows"
while read -r window; do
	as "$STRANGER" POST /v2/orders "$(order buy bids 1 1 1 "$((RANDOM % 5 + 1)).200000" ',"allow_standing":true' |
		jq -c --argjson w "$window" '.allocation_schedule_delta = [$w]')" >/dev/null
done <"$TMP/windows"
while read -r window; do
	one sell "$(json .node_count <<<"$window")" "$(json .start_at <<<"$window")" \
		$(($(json .end_at <<<"$window") - $(json .start_at <<<"$window"))) '{}'
done <"$TMP/windows"
ok "and some sales" test "$quoted" -gt "$bought"
one buy 50 $((NOW + SLOT)) $SLOT '{}'
one sell 50 $((NOW + SLOT)) $SLOT '{}'

is "$filled" "$quoted" "all $quoted that were quoted fill, posted as they are"
is "$same" "$quoted" "at the total that was said"
is "$within" "$quoted" "within their limits"
is "$right" "$unavailable" "none of $unavailable that were called unavailable fills"
marketd_stop
is "$marketd_status" 0 "and the market ends well" || diag "$(tail -n 30 "$MARKETD_LOG")"
done_testing
