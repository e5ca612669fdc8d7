#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shares of GPUs that nodes have cannot be moved: where they leave no whole GPU, a host that is promised one is not sold
# and its owner reads why, until they end. The GPUs are files, with a stand-in for NVIDIA's library; nodes are of nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/agentd.sh"
agentd_market --agent-silent 600
. "$(dirname "$0")/../lib/gputree.sh"
gputree 01 02
operator POST /np/v1/skus '{"alias":"half","gpus":1,"properties":{"accelerator":"rtx4090","requires":{"share":"1/2"}}}' >"$TMP/.half"
operator POST /np/v1/skus '{"alias":"whole","gpus":1,"properties":{"accelerator":"rtx4090"}}' >"$TMP/.whole"
SKU=$(json .id <"$TMP/.half")
RUNS=(--driver fakegpu --sysfs-root "$ROOT")

# ---- Halves of both GPUs -----------------------------------------------------------------------------------------------
agentd_token | "$AGENTD" --data "$TMP/m1" "${RUNS[@]}" join "$NANOPOD_URL" --name m1 --type half --nodes 3 --json >"$TMP/m1.joined" 2>"$TMP/.err" ||
	diag "$(cat "$TMP/.err")"
agentd_start m1 "${RUNS[@]}" --first-port $PORTS
fixed() { jq -e '[.gpus[] | select(.host != "")] | length == 3' "$TMP/m1/gpus.json" >/dev/null 2>&1; }
ok "a machine with two GPUs sells three halves" wait_for 60 fixed || diag "$(cat "$TMP/m1.log")"
# One half of each GPU is sold; the other one of the first goes.
of() { jq -r "[.gpus[] | select(.address == \"0000:$1:00.0\")][$2].host" "$TMP/m1/gpus.json"; }
FIRST=$(of 01 0) SECOND=$(of 02 0) GONE=$(of 01 1)
price='{"price_dollars_per_node_hour":"1.500000"}'
as "$FOUNDRY" POST "/np/v1/hosts/$FIRST/offers" "$price" >"$TMP/.offer"
as "$FOUNDRY" POST "/np/v1/hosts/$SECOND/offers" "$price" >"$TMP/.offer"
as "$FOUNDRY" DELETE "/np/v1/hosts/$GONE" >"$TMP/.gone"
is "$(http_status)" 204 "one of them is retired"
agentd_buy own 2 36000
for node in own-1 own-2; do ok "$node runs" wait_for 60 node_is $node running || diag "$(cat "$TMP/m1.log")"; done

# ---- A whole one beside them -----------------------------------------------------------------------------------------------
agentd_stop m1
"$AGENTD" --data "$TMP/m1" "${RUNS[@]}" join "$NANOPOD_URL" --host "big=whole" --json >"$TMP/big.joined" 2>"$TMP/.err" || diag "$(cat "$TMP/.err")"
BIG=$(json '.hosts[0].id' <"$TMP/big.joined")
like "$BIG" "^host_" "two halves are one GPU of two, so the market takes a host with a whole one"
as "$FOUNDRY" POST "/np/v1/hosts/$BIG/offers" "$price" >"$TMP/.offer"
agentd_start m1 "${RUNS[@]}" --first-port $PORTS
big() { as "$FOUNDRY" GET "/np/v1/hosts/$BIG" | json "$1"; }
big_is() { [ "$(big .state)" = "$1" ]; }
ok "which is not sold while nodes have halves of both" wait_for 60 big_is down || diag "$(cat "$TMP/m1.log")"
like "$(big .down_reason)" "^unfit for new nodes: the host '$BIG' was promised 1 GPU of type rtx4090, and this machine has none for it: nodes have shares of the GPU at 0000:01:00.0 until they end" \
	"and its owner reads why"
host_is() { [ "$(as "$FOUNDRY" GET "/np/v1/hosts/$1" | json .state)" = "$2" ]; }
ok "the halves are sold on" host_is "$FIRST" up

# ---- One of them ends ------------------------------------------------------------------------------------------------------
as "$ACME" POST "/v2/instances/$(node own-2 .id)/terminate" >"$TMP/.end"
has() { jq -e --arg host "$BIG" 'any(.gpus[]; .host == $host)' "$TMP/m1/gpus.json" >/dev/null; }
ok "when one ends, its host's half moves, and the whole GPU is there" wait_for 60 has || diag "$(cat "$TMP/m1.log")"
well() { [ "$(as "$FOUNDRY" GET /np/v1/agents/m1 | json .status.message)" = null ]; }
ok "the market hears of it" wait_for 60 well
agentd_stop m1
done_testing
