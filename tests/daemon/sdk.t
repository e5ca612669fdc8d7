#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A client that nobody here wrote: SF Compute's SDK from npm drives a market. It is fetched for the
# test and is no part of this program; without npm, or where it cannot be fetched, the test says so.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need node npm

SDK=@sfcompute/nodes-sdk-alpha@0.1.0-alpha.27
mkdir "$TMP/sdk" && printf '{"private":true}\n' >"$TMP/sdk/package.json"
(cd "$TMP/sdk" && timeout 90 npm install --no-save --no-audit --no-fund --ignore-scripts "$SDK" >"$TMP/npm" 2>&1) ||
	skip_all "'$SDK' cannot be fetched: $(grep -i error "$TMP/npm" | head -n 1 | tr -d '#')"

v2_start
for price in 12.00 15.00 18.00; do v2_offer "$(v2_host "rack${price%.00}" richmond)" $price >/dev/null; done

# What an agent and the passing of time would do.
cat >"$TMP/hook" <<HOOK
#!/bin/sh
case \$1 in
clock) curl -sSf --unix-socket '$MARKETD_SOCKET' -d "{\"at\":\$2}" -H 'Content-Type: application/json' http://localhost/np/v1/admin/clock ;;
report) curl -sSf -H 'Authorization: Bearer $FOUNDRY' -H 'Content-Type: application/json' '$NANOPOD_URL/np/v1/instances/'"\$2/report" \
	-d '{"status":"running","hostname":"192.0.2.1","port":22,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAA"}]}' ;;
esac
HOOK
chmod +x "$TMP/hook"

SFC_NODES_BASE_URL=$NANOPOD_URL SFC_NODES_BEARER_TOKEN=$ACME SDK_ROOT=$TMP/sdk SDK_NOW=$NOW SDK_HOOK=$TMP/hook \
	timeout 120 node "$SRC/tests/daemon/sdk.mjs" >"$TMP/said" 2>"$TMP/err"
status=$?
while read -r line; do
	case $line in
	ok\ *) pass "${line#ok }" ;;
	*) fail "${line#not ok }" ;;
	esac
done <"$TMP/said"
is "$status" 0 "the client ends well" || diag "$(cat "$TMP/err")"
ok "and got through all of it" test "$(wc -l <"$TMP/said")" -ge 35

# What the SDK did is the same when /v2 tells it, and adds up.
is "$(as "$ACME" GET /v2/pools/alpha | json '[.allocation_schedule.total[] | "\(.end_at)*\(.node_count)"] | join(" ")')" "$((NOW + 6 * HOUR))*1" "/v2 sees the node"
is "$(operator GET '/np/v1/ledger?account=acme&limit=1000' | json '[.data[] | select(.book == "available") | .amount] | add')" \
	"$(as "$ACME" GET /np/v1/balance | json .available_micros)" "and its ledger adds up"
done_testing
