#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A market that an earlier marketd made, with a node that renews itself: fixtures/market/edition1.sql is what that program
# left when it was killed at $NOW + 1200. What it did stays as it was; from then on the present rules count.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need sqlite3

mkdir -m 700 "$MARKETD_DATA"
sqlite3 "$MARKETD_DATA/market.db" <"$SRC/tests/fixtures/market/edition1.sql"
chmod 600 "$MARKETD_DATA/market.db"
run_is 0 "it is migrated" "$MARKETD" migrate --data "$MARKETD_DATA"
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"

marketd_start --test-clock=$((NOW + 1200)) || exit 1
ACME=$(marketd_token acme)
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
keeper() { as "$ACME" GET /v1/nodes/keeper | json '[.id, .status, (.vms.data | length), .current_vm.id, .current_vm.status] | map(tostring) | join(" ")'; }
money() { as "$ACME" GET /np/v1/balance | json '"\(.available_micros) \(.escrow_micros)"'; }
runs() { # the node's machine is there, or its time would be given back
	local vm

	vm=$(as "$ACME" GET /v1/nodes/keeper | json .current_vm.id)
	as "$FOUNDRY" POST "/np/v1/instances/inst_${vm#vm_}/report" \
		'{"status":"running","hostname":"192.0.2.1","port":22,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAA"}]}' >/dev/null
	is "$(http_status)" 204 "(it runs)"
}
is "$(keeper)" "n_5d6aphsydx1ny running 1 vm_320mzdrgqgdpx Running" "the node is the one that it was"
is "$(money)" "99968400005 31599995" "and the money is where it was"

# The earlier rules bought its next minutes on another host, as that was cheaper: it has to move, once.
v2_clock $((NOW + 90 * 60))
like "$(keeper)" '^n_5d6aphsydx1ny pending 2 vm_' "where it owned minutes of another host, it goes on there"
runs
was=$(keeper)
v2_clock $((NOW + 10 * HOUR))
is "$(keeper)" "$was" "and stays there"
PROC=$(as "$ACME" GET /v1/nodes/keeper | json .procurement_id)
late=$(as "$ACME" GET "/v2/orders?limit=200&procurement=$PROC" | json "[.data[] | select(.created_at > $((NOW + 2 * HOUR)))] | length")
ok "with an order an hour ($late in eight hours)" test "$late" -ge 7 -a "$late" -le 9

before="$(keeper) $(money)"
marketd_kill
ok "check finds nothing wrong with what came of it" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + 10 * HOUR)) || exit 1
ACME=$(marketd_token acme)
is "$(keeper) $(money)" "$before" "and it opens again"
is "$(sqlite3 "file:$MARKETD_DATA/market.db?mode=ro" "SELECT count(*) FROM event WHERE kind = 30")" 1 "the change of rules is one event"
done_testing
