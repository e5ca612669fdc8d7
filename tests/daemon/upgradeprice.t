#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A market that a marketd ended for which offers had one price for ever: fixtures/market/form6.sql is what that program left
# at $NOW + 600, with a snapshot of its form: three hosts on sale, one sold for five hours, one interruptibly later, a buy
# of three nodes that waits for the third, and a block.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need sqlite3

mkdir -m 700 "$MARKETD_DATA"
sqlite3 "$MARKETD_DATA/market.db" <"$SRC/tests/fixtures/market/form6.sql"
chmod 600 "$MARKETD_DATA/market.db"
run_is 0 "it is migrated" "$MARKETD" migrate --data "$MARKETD_DATA"
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + 600)) || exit 1
ACME=$(marketd_token acme)
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
state() { # of orders: prices and states; of hosts: what is sold and on sale
	as "$FOUNDRY" GET '/v2/orders?limit=200' | jq -c '[.data[] | [.limit_price_dollars_per_node_hour, .status]] | sort'
	as "$FOUNDRY" GET /np/v1/hosts | jq -c '[.data[] | .schedule[] | [.state, .price_dollars_per_node_hour]]'
}
waits() { as "$ACME" GET '/v2/orders?limit=200' | jq -r '.data[] | select(.limit_price_dollars_per_node_hour == "15.000000") | .status'; }
like "$(state)" '"12.000000","partially_filled".*"12.000000","standing".*"24.000000","standing".*"30.000000","standing"' "its offers are there"
is "$(waits)" standing "and the buy that waits"
as "$FOUNDRY" POST /np/v1/prices '{"hosts":["rack3","rack1","rack2"],"price_dollars_per_node_hour":"12.000000"}' >"$TMP/.prices"
is "$(http_status) $(jq -c '[.data[] | .changed] | sort' <"$TMP/.prices")" "200 [false,false,true,true]" \
	"offers of before get another price, the block too"
is "$(waits)" filled "and serves who waited"
out=$(as "$FOUNDRY" POST /np/v1/prices '{"instance_sku":"richmond","price_dollars_per_node_hour":"18.000000"}')
is "$(http_status) $(jq -c '[.data[] | (.hosts | length)] | sort' <<<"$out")" "200 [1,1,1,3]" "and once more"
before=$(state)
marketd_kill
ok "check finds nothing wrong with what came of it" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + 600)) || exit 1
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
is "$(state)" "$before" "it opens again, from the journal"
marketd_stop
marketd_start --test-clock=$((NOW + 600)) || exit 1
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
is "$(state)" "$before" "and from a snapshot of the present form"
done_testing
