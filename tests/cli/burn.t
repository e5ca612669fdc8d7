#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod burn: nodes cost what they were bought for, to the minute.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 3
burn() { "$NANOPOD" burn "$@"; }
order() {
	as "$ACME" POST /v2/orders "{\"pool\":\"sfc:pool:acme:default:$1\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$2,\"end_at\":$3,\"node_count\":$4}],\"limit_price_dollars_per_node_hour\":\"14.400000\"}" |
		jq -r .status
}
row() { printf '%s' "$out" | jq -c ".[] | select(.reservation == \"$1\") | [$2]"; }

run_is 0 "nothing runs" burn -o json
is "$out" "[]" "an empty list is a list"
run burn
like "$err" 'no running or pending nodes.*\$100,000\.00 available' "and said so"
for name in now later; do
	as "$ACME" POST /v2/pools "{\"name\":\"$name\",\"workspace\":\"default\"}" >/dev/null
done
is "$(order now $((NOW + 60)) $((NOW + 7260)) 2)" filled "(two nodes for two hours)"
is "$(order later $((NOW + 86400)) $((NOW + 90000)) 1)" filled "(one for an hour tomorrow)"
run burn -o json
is "$(row now .nodes,.pending,.to_the_end,.to_the_end_micros)" '[0,2,"57.600000",57600000]' "before it begins: all of it is to come"
clock $((NOW + 60))
run burn -o json
is "$(row now .nodes,.pending,.per_hour,.per_hour_micros,.to_the_end)" '[2,0,"28.800000",28800000,"57.600000"]' "as it begins"
is "$(row now .until)" '["2027-01-15T10:01:00Z"]' "until when"
clock $((NOW + 1890))
run burn -o json
is "$(row now .to_the_end)" '["43.200000"]' "after half an hour, a quarter of it is used up"
is "$(row later .nodes,.pending,.to_the_end,.starts)" '[0,1,"14.400000","2027-01-16T08:00:00Z"]' "what is bought for tomorrow"
is "$("$NANOPOD" balance -o json | jq -r '.[0].burn_per_hour')" "$(printf '%s' "$out" | jq -r '.[] | select(.reservation == "now") | .per_hour')" \
	"balance says the same per hour"
run burn
like "$err" '\$28\.80 an hour now, \$57\.60 until' "the line below adds it up"
like "$err" '\$99,928\.00 remains available' "and says what stays"
like "$out" '^now +richmond +2 +\$28\.80' "the table"
run burn -q
is "$out" "now
later" "-q is the names"
clock $((NOW + 7260))
run burn -q
is "$out" later "what is over is gone"
trade_between plain
rule 'status=404 GET /np/v1'
run_is 1 "a market that is none of ours" burn
like "$err" "is not a nanopod market" "is told so"
done_testing
