#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hosts without an agent, whose owner reports by hand: nobody pays for a node that never ran, whether the clock walks or
# jumps and however short the lease is; and whoever does run it, be it late, is paid.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq

NOW=1700000040 # in the past
# After a start the market waits 4/3 of --agent-silent before it calls a node late.
marketd_start --test-clock=$NOW --rate 0 --agent-silent 3 --node-wait 180 || exit 1
clock() { operator POST /np/v1/admin/clock "{\"at\":$1}" >"$TMP/.clock"; AT=$1; }
SKU=$(operator POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"accelerator":"none"}}' | json .id)
marketd_account acme 10000.00
marketd_account seller
ACME=$(marketd_token acme)
SELLER=$(marketd_token seller read trade host)
AT=$NOW
HOST=$(as "$SELLER" POST /np/v1/hosts "{\"name\":\"attic\",\"instance_sku\":\"$SKU\",\"start_at\":$NOW,\"end_at\":$((NOW + 30 * 86400))}" | json .id)
as "$SELLER" POST "/np/v1/hosts/$HOST/offers" \
	"{\"price_dollars_per_node_hour\":\"6.000000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 29 * 86400))}" >"$TMP/.offer"
is "$(http_status)" 201 "(a host without an agent is on sale)" || diag "$(cat "$TMP/.offer")"

KEYS='"host_keys":[{"type":"ssh-ed25519","key":"AAAAC3NzaC1lZDI1NTE5AAAAICeK5j+bsZcJKEidkPE3MXR0iDWZ1le5SUT8TJz9fZzw"}]'
# buy NAME MINUTES [AFTER]: from the next minute on, or later; $START, $END.
buy() {
	START=$((AT / 60 * 60 + 60 + ${3-0} * 60)) END=$((AT / 60 * 60 + 60 + (${3-0} + $2) * 60))
	as "$ACME" POST /v2/pools "{\"name\":\"$1\",\"workspace\":\"default\"}" >"$TMP/.pool"
	as "$ACME" POST /v2/orders "{\"pool\":\"$1\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$START,\"end_at\":$END,\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"7.000000\"}" >"$TMP/.order"
	is "$(json .status <"$TMP/.order")" filled "($1: $2 minutes are bought)" || diag "$(cat "$TMP/.order")"
}
make_node() {
	I=$(as "$ACME" POST /v2/instances "{\"name\":\"$1\",\"pool\":\"$1\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
}
report() { as "$SELLER" POST "/np/v1/instances/$I/report" "$1" >"$TMP/.report"; }
running() { report "{\"status\":\"running\",\"hostname\":\"192.0.2.9\",\"port\":22,$KEYS}"; }
money() { as "$1" GET /np/v1/balance | json '.available_micros + .escrow_micros'; }
earned() { money "$SELLER"; }
down() { [ "$(as "$SELLER" GET "/np/v1/hosts/$HOST" | json .state)" = down ]; }
up() { ! down; }
# A minute's price is 10 cents.
is "$(earned)" 0 "(who sells begins with nothing)"

# ---- Nobody reports -----------------------------------------------------------------------------------------------
buy walk 120
make_node walk
clock $((START + 120))
ok "a node that is two minutes late is still awaited" up
clock $((START + 240))
ok "after --node-wait the host is down" wait_for 20 down
clock $((START + 3600))
is "$(as "$ACME" GET "/v2/instances/$I" | json .status)" awaiting_allocation "(it never came)"
clock "$END"
is "$(earned)" 0 "when the time is over its seller has nothing"
is "$(money "$ACME")" 10000000000 "and its buyer has all of it back"
ok "the host can be sold again" wait_for 20 up

buy jump 120
clock "$START"
make_node jump
clock "$END"
is "$(earned) $(money "$ACME")" "0 10000000000" "so it is where the clock jumps over all of it"
ok "(and up again)" wait_for 20 up

buy before 120 3
make_node before
clock $((END + 86400))
is "$(earned) $(money "$ACME")" "0 10000000000" "and where it jumps over the beginning too"
ok "(and up again)" wait_for 20 up

buy brief 2
make_node brief
clock "$START"
clock $((START + 60))
clock "$END"
is "$(earned) $(money "$ACME")" "0 10000000000" "and where the lease is shorter than --node-wait"
ok "(and up again)" wait_for 20 up

# ---- It fails -----------------------------------------------------------------------------------------------------
buy fails 60
make_node fails
clock $((START + 60))
report '{"status":"failed","message":"no power","fault":"node"}'
clock "$END"
is "$(earned) $(money "$ACME")" "0 10000000000" "a node that fails before it ever ran is paid back from its beginning"
ok "(and up again)" wait_for 20 up

# ---- Who reports by hand --------------------------------------------------------------------------------------------
buy runs 60
make_node runs
clock "$START"
report '{"status":"running","hostname":"192.0.2.9","port":22,"host_keys":[]}'
is "$(http_status) $(json '.error.details[0].field' <"$TMP/.report")" "422 host_keys" "a node without a host key is refused"
report "{\"status\":\"running\",$KEYS}"
is "$(http_status) $(json '.error.details[0].field' <"$TMP/.report")" "422 hostname" "and one without an address"
clock $((START + 60))
running
is "$(http_status)" 204 "its owner reports it by hand"
clock "$END"
is "$(earned) $(money "$ACME")" "6000000 9994000000" "and is paid for the hour"

buy late 60
make_node late
clock "$START"
clock $((START + 600))
ok "one that comes late is down" wait_for 20 down
running
ok "until it comes" wait_for 20 up
clock "$END"
is "$(earned) $(money "$ACME")" "11000000 9989000000" "and is paid from then on"

# A new node on a host that was of use: its buyer pays for the last minutes too.
buy again 60
make_node again
clock "$START"
running
clock $((END - 90))
as "$ACME" POST "/v2/instances/$I/terminate" >"$TMP/.stop"
is "$(http_status)" 200 "(a node is ended by its owner)" || diag "$(cat "$TMP/.stop")"
make_node again
clock "$END"
is "$(earned) $(money "$ACME")" "17000000 9983000000" "who redeploys just before the end pays for all of the time"

# Time that is bought and not used is not undelivered.
buy idle 60
clock "$END"
is "$(earned) $(money "$ACME")" "23000000 9977000000" "who asks for no node pays for the time"

# ---- The market is away -----------------------------------------------------------------------------------------------
buy away 30
make_node away
clock "$START"
marketd_stop
# Its clock stood in the past, so by the time of day it was away for as long as it takes.
marketd_start --rate 0 --agent-silent 3 --node-wait 180 || exit 1
is "$(earned) $(money "$ACME")" "26000000 9974000000" "a node that may have come while the market was away is paid"
ok "(and its host is up)" up
done_testing
