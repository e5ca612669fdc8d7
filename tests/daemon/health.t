#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A machine that says that it is unfit: an Xid in its kernel's log takes its host off sale, its buyer reads why and has the
# money back from that minute on; it is back when it has been well for ten minutes. Nodes are made of nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/agentd.sh"
agentd_market --agent-silent 600
agentd_join m1 1
: >"$TMP/kmsg"
agentd_start m1 --driver fake --first-port $PORTS --kmsg "$TMP/kmsg"
agentd_buy train 1 36000
ok "a node runs" wait_for 60 node_is train-1 running || diag "$(cat "$TMP/m1.log")"
host() { as "$FOUNDRY" GET /np/v1/hosts | jq -r ".data[0] | $1"; }
host_is() { [ "$(host .state)" = "$1" ]; }
refunded() { as "$ACME" GET '/np/v1/events?limit=1000' | jq -s '[.[] | select(.type == "lease.refunded") | .amount_micros] | add // 0'; }
MINUTE=25000
START=$(cat "$TMP/clock")
agentd_clock $((START + 600))

# ---- It falls off the bus ------------------------------------------------------------------------------------------
# Its host has one GPU: a row of the agent's list that names a node stays there.
gpus() { printf '{"gpus":[{"address":"0000:%s","host":"%s","node":"kept","model":"h100","uuid":""}]}\n' "$1" "$(host .id)" >"$TMP/m1/gpus.json"; }
uptime=$(cut -d. -f1 </proc/uptime)
printf '4,900,%s000000,-;NVRM: Xid (PCI:0000:19:00): 79, pid=77, GPU has fallen off the bus.\n' "$uptime" >"$TMP/kmsg"
gpus 1a:00.0
said_is() { [ "$(as "$FOUNDRY" GET /np/v1/agents/m1 | json .health)" = "$1" ]; }
ok "the machine is unhealthy" wait_for 60 said_is unhealthy || diag "$(cat "$TMP/m1.log")"
is "$(host .state)" up "but not the host, which has another GPU"
gpus 19:00.0
agentd_stop m1
agentd_start m1 --driver fake --first-port $PORTS --kmsg "$TMP/kmsg"
ok "its host is down before a minute of the market has passed" wait_for 120 host_is down || diag "$(cat "$TMP/m1.log")"
like "$(host .down_reason)" "^unfit: Xid 79 of the GPU '0000:19:00' on .* UTC: the GPU fell off the bus" "the owner reads why"
is "$(host .down_since)" $((START + 600)) "and since when"
like "$(node train-1 .status_message)" "its host is down \(unfit: Xid 79 .*\); you get the minutes until it is back refunded; 'replace'" \
	"so does the buyer, and what to do"
is "$(node train-1 '[.status, .host_down] | map(tostring) | join(" ")')" "running true" "his node goes on, though not paid for"
like "$(as "$ACME" GET '/np/v1/events?limit=1000' | jq -rs '[.[] | select(.type == "host.state") | .state] | last')" '^down$' "an event says so"
as "$ACME" POST /v2/pools '{"name":"more","workspace":"default"}' >"$TMP/.pool"
as "$ACME" POST /v2/orders "{\"pool\":\"more\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((START + 72000)),\"end_at\":$((START + 75600)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" cancelled "nothing of it is sold"
out=$(as "$FOUNDRY" PATCH "/np/v1/hosts/$(host .id)" '{"down":false}')
like "$(http_status) $out" "^409 .*is unfit: Xid 79 .*not sold before its agent has found it well for ten minutes, and then comes up by itself" \
	"its owner cannot put it on sale so"
before=$(as "$FOUNDRY" GET /np/v1/balance | json '.available_micros + .unsettled_micros')

# ---- It was reset --------------------------------------------------------------------------------------------------
printf '4,901,%s000000,-;NVRM: Xid (PCI:0000:19:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)\n' \
	"$uptime" >>"$TMP/kmsg"
well() { [ "$(as "$FOUNDRY" GET /np/v1/agents/m1 | json .health)" != unhealthy ]; }
ok "the agent says that it is well" wait_for 60 well
is "$(host .state)" down "which is not enough yet"
agentd_clock $((START + 1260))
ok "but ten minutes later" wait_for 120 host_is up
is "$(refunded)" $((11 * MINUTE)) "the buyer has eleven minutes back"
is "$(as "$FOUNDRY" GET /np/v1/balance | json '.available_micros + .unsettled_micros')" "$before" "and its owner was not paid for them"
is "$(node train-1 .status_message)" null "nothing is wrong with the node"

# ---- A probe after each lease --------------------------------------------------------------------------------------------
probed() { agentd_status m1 .probe.passed; }
probe_is() { [ "$(probed)" = "$1" ]; }
is "$(probed)" true "disk and memory were tried when the lease began"
like "$("$AGENTD" --data "$TMP/m1" status)" "probe of disk and memory passed on 20" "people read when"
mkdir "$TMP/m1/probe.tmp" # so that the disk takes no file
as "$ACME" POST "/v2/instances/$(node train-1 .id)/terminate" >"$TMP/.end"
ok "they are tried again when it is over" wait_for 60 probe_is false || diag "$(cat "$TMP/m1.log")"
agentd_clock $(($(cat "$TMP/clock") + 120))
ok "the market hears of it" wait_for 60 said_is draining
is "$(host .state)" up "while its buyer has the host, it stays his"
is "$(refunded)" $((11 * MINUTE)) "and he is not refunded"
agentd_clock $((START + 36060))
ok "then a host whose probe fails is not sold" wait_for 120 host_is down
like "$(host .down_reason)" "^unfit for new nodes: the disk of .* does not keep what is written" "and says why"
rmdir "$TMP/m1/probe.tmp"
ok "it is tried until it passes" wait_for 60 probe_is true
agentd_clock $(($(cat "$TMP/clock") + 660))
ok "then the host is sold again" wait_for 120 host_is up

done_testing
