#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Types that ask for proof: what people type to make one, to see what was measured, and to buy a host without one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 1
cd "$TMP" || exit 99
admin() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@"; }

run_is 0 "a type that asks for proof" admin sku add sure --gpus 8 --property accelerator=h100 --property verified=yes \
	--property floor.disk_write=500 --property floor.gpu_sums=1000 --property verify_hours=48
is "$(as "$ACME" GET /v2/instance_skus | jq -cS ".data[] | select(.alias == \"sure\").np_requires")" \
	'{"floors":{"disk_write":500,"gpu_sums":1000},"verified":true,"verify_hours":48}' "as it was typed"
run_is 2 "a floor that is no number" admin sku set sure --property floor.disk_write=fast
SURE=$(as "$ACME" GET /v2/instance_skus | jq -r '.data[] | select(.alias == "sure").id')
offer "$(host s1 "$SURE")" 14.400000 >/dev/null

NANOPOD_TOKEN=$FOUNDRY
run_is 0 "its seller lists hosts" "$NANOPOD" host list
like "$out" 's1 .* unverified' "and sees that nothing is proven"
NANOPOD_TOKEN=$ACME
run_is 6 "it costs nothing, as it cannot be had" "$NANOPOD" price -t sure -d 1h
like "$err" "nanopod price -t sure -d 1h --unverified" "and what to type"
run_is 6 "nobody buys it unknowing" "$NANOPOD" buy -t sure -d 1h -p 3 --no-instances -y
like "$err" "nanopod buy .*--unverified.*would fill" "and hears what would do"
run_is 0 "the price of such hosts" "$NANOPOD" price -t sure -d 1h --unverified -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.fills, .total]')" '[true,"14.400000"]' "where one wants them"
run_is 0 "a purchase" "$NANOPOD" buy -t sure -d 1h -p 3 --no-instances -y --unverified
like "$out$err" 'unverified hosts too' "whose plan says so"
run_is 0 "the other type is sold as ever" "$NANOPOD" buy -t richmond -d 1h -p 3 --no-instances -y
done_testing
