#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Orders on a market whose policy server decides: each waits for its answer, and what is not allowed buys nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/policyserver.sh"
need python3

policy_mode '{"result":{"allow":true}}'
policy_serve
v2_start --rate 0 --opa "unix:$TMP/opa.sock"
for host in rack1 rack2 rack3; do v2_offer "$(v2_host $host richmond)" 12.00 >/dev/null; done
minute=0
# buy PRICE [CURL OPTION…]: one node for the next free minute. Prints the status and what the market says.
buy() {
	minute=$((minute + 1))
	again "$@"
}
again() {
	again_price=$1
	shift
	as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 3600 + minute * 60)) $((NOW + 3660 + minute * 60)) "$again_price")" "$@" >"$TMP/answer"
	got="$(http_status) $(json 'if .error then .error.message else .status end' <"$TMP/answer")"
}
money() { as "$ACME" GET /np/v1/whoami >/dev/null; operator GET /np/v1/accounts/acme | json .balances.available_micros; }
orders() { as "$ACME" GET '/v2/orders?limit=100' | json '.data | length'; }

before=$(money)
buy 20.0 -H 'Idempotency-Key: first'
is "$got" "201 filled" "an order that the server allows fills"
is "$(tail -n 1 "$TMP/asked" | sed 's/^[^ ]* //' | jq -c '.input | [.request.action, .request.nodes, .account.name]')" '["buy",1,"acme"]' \
	"it was asked about this order"
ok "it costs money" test "$(money)" -lt "$before"
again 20.0 -H 'Idempotency-Key: first'
is "$got $(orders)" "201 filled 1" "the same key again is the same order"
policy_mode '{"result":{"allow":true,"limits":{"price":"11.0"}}}'
buy 20.5
unlike "$got" "^201 filled" "a limit of the policy below what is on sale buys nothing"
before=$(money) had=$(orders)

price=30
# refused MODE TEXT: buys nothing, and the next order is decided anew.
refused() {
	policy_mode "$1"
	price=$((price + 1))
	buy "$price.0" -H "Idempotency-Key: $2" # another price is another question
	unlike "$got" '^2' "$2: refused ($got)"
	is "$(money) $(orders)" "$before $had" "$2: nothing was bought"
}
refused '{"result":{"allow":false,"rule":"shut","reason":"closed"}}' denied
is "$got" "403 closed (policy 'shut')" "with its reason"
refused '{}' undefined
refused 'status 500' broken
refused hang hung
refused '{"result":{"allow":true,"limits":{"nodes":0}}}' odd
policy_mode '{"result":{"allow":true,"rate":"1"}}'
minute=$((minute + 1))
again 20.75 -H "Idempotency-Key: later"
is "$got" "201 filled" "a server that answers again decides again"

# Many at once, while the server is slow to answer one of them: nobody waits for another's answer.
policy_mode hang
count=$(policy_asked)
curl -sS --max-time 60 -o "$TMP/slow" -w '%{http_code}' -H "Authorization: Bearer $STRANGER" -H 'X-Original-URI: /slow' \
	"$NANOPOD_URL/np/v1/authz" >"$TMP/slow.status" &
slow=$!
is_asked() { [ "$(policy_asked)" -gt "$count" ]; }
wait_for 20 is_asked || fail "(the server is asked)"
policy_mode '{"result":{"allow":true}}'
buy 21.0
is "$got" "201 filled" "an order does not wait for another question"
wait "$slow"
is "$(cat "$TMP/slow.status")" 403 "which is denied in the end"

# The same order four times at once, as a client sends it that hears nothing.
policy_mode slow
minute=$((minute + 1)) had=$(orders)
body=$(order buy train 1 $((NOW + 3600 + minute * 60)) $((NOW + 3660 + minute * 60)) 22.0)
pids=''
for i in 1 2 3 4; do
	curl -sS --max-time 60 -o "$TMP/same.$i" -H "Authorization: Bearer $ACME" -H 'Content-Type: application/json' \
		-H 'Idempotency-Key: same' --data-binary "$body" "$NANOPOD_URL/v2/orders" &
	pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
is "$(jq -r '"\(.id) \(.status)"' "$TMP"/same.[1-4] | sort -u | sed 's/^ordr[^ ]* //') $(($(orders) - had))" "filled 1" "one key, four requests that wait: one order"
run_is 0 "the ledger is whole" "$MARKETD" check --data "$MARKETD_DATA"

# ---- The older APIs wait before they make anything --------------------------------------------------------------------
policy_mode '{"result":{"allow":true}}'
pools=$(as "$ACME" GET '/v2/pools?limit=200' | json '.data | length')
as "$ACME" POST /v1/nodes "{\"desired_count\":2,\"max_price_per_node_hour\":2010,\"names\":[\"a\",\"b\"],\"zone\":\"richmond\",\"start_at\":$((NOW + 30 * HOUR)),\"end_at\":$((NOW + 31 * HOUR))}" >"$TMP/answer"
is "$(http_status) $(as "$ACME" GET '/v2/pools?limit=200' | json '.data | length')" "201 $((pools + 2))" "/v1 buys two nodes, asked first"
done_testing
