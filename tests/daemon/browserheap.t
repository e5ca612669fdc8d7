#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the market's page takes of a browser: nothing that grows, with ten thousand events on one page and with views that
# come and go. Counted after a collection of garbage.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/browser.sh"

v2_start --rate 0
for n in $(seq 24); do v2_offer "$(v2_host "h$n" "$SKU")" 16.80 >/dev/null; done
as "$ACME" POST /v2/orders "$(order buy train 20 $((NOW + 60)) $((NOW + 12 * HOUR)) 20.0)" >/dev/null
for n in $(seq 20); do
	as "$ACME" POST /v2/instances "{\"name\":\"train-$n\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id
done >"$TMP/ids"
v2_clock $((NOW + 60))
export BUYER=$ACME SELLER=$FOUNDRY IDS=$TMP/ids
browser_start browserheap.mjs
browser_end
done_testing
