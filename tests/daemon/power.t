#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Power limits and the agent: none are kept unless the owner sets them; then no node starts before they are read back,
# they come back after a driver forgot them, and stay where the agent is killed. Uses the fake driver and a fake tree.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/powertree.sh"

powertree "$TMP/root" 2
# The verb has to hold the folder's lock for a moment, but not the agent's: it works beside one.
power() { "$AGENTD" --data "$TMP/m1" --sysfs-root "$TMP/root" power "$@"; }
said() { grep -q -e "$2" "$TMP/$1.log"; }
caps() { echo "$(powertree_cap "$TMP/root" 0) $(powertree_cap "$TMP/root" 1)"; }
caps_are() { [ "$(caps)" = "$1" ]; }
well() { health_is ok || health_is degraded; } # as where little of the disk is free
health_is() { [ "$(as "$FOUNDRY" GET /np/v1/agents | jq -r '.data[0].health')" = "$1" ]; }
start() { agentd_start m1 --driver fake --grace 1 --first-port $PORTS --sysfs-root "$TMP/root" "$@"; }

agentd_market
agentd_join m1 3

# ---- Nothing set: as ever ------------------------------------------------------------------------------------
start
agentd_buy first 1 36000
ok "where nothing is set, a node starts" wait_for 20 node_is first-1 running
is "$(caps)" "300 300" "and no limit is touched"
not_ok "nor is anything said of power" said m1 power

# ---- Set beside the running agent ----------------------------------------------------------------------------
run_is 0 "limits are set" power set envelope=700W psu=gold reserve=100W --json
is "$(json '[.holds, .envelope_watts, .limits_wall_watts] | map(tostring) | join(" ")' <<<"$out")" "true 700 697" "and fit"
is "$(caps)" "189 189" "on both cards"
ok "the agent notices" wait_for 30 said m1 'power limits hold'
agentd_buy second 1 36000
ok "and a node starts" wait_for 30 node_is second-1 running

# ---- A driver that was loaded again ----------------------------------------------------------------------------
powertree_cap "$TMP/root" 0 300 >/dev/null
powertree_cap "$TMP/root" 1 300 >/dev/null
ok "limits that a driver forgot come back" wait_for 40 caps_are "189 189" || diag "$(caps)"

# ---- A killed agent ---------------------------------------------------------------------------------------------
agentd_kill m1
is "$(caps)" "189 189" "an agent's death leaves them"
powertree_cap "$TMP/root" 0 300 >/dev/null
powertree_refuses "$TMP/root" 0
agentd_buy third 1 36000 # later the market would not sell it
start
ok "the next agent cannot set one" wait_for 30 said m1 "power limits do not hold: gpu 0 .* enforces 300 W and not the 189 W"
ok "(the node is made)" wait_for 30 test -d "$TMP/m1/nodes/$(node third-1 .id)"
ok "the market hears that no node should start here" wait_for 40 health_is draining
is "$(powertree_cap "$TMP/root" 1)" 189 "the other card keeps its limit"
not_ok "and no node starts" node_is third-1 running
ok "while those that run go on" node_is first-1 running
like "$("$AGENTD" --data "$TMP/m1" status)" "POWER: gpu 0 .*no node starts; 'nanopod host power show' shows all" \
	"status says why, and what to type"
like "$(agentd_status m1 .power)" "gpu 0 .*no node starts" "also in JSON"
run_is 0 "show" power show
like "$out" "Limits do not hold, so no node starts: gpu 0 .* enforces 300 W, not 189 W" "says it too"
powertree_obeys "$TMP/root" 0
ok "once it can be set, the node starts" wait_for 60 node_is third-1 running || diag "$(cat "$TMP/m1.log")"
is "$(caps)" "189 189" "with limits in force"
ok "and the machine is well again" wait_for 40 well

# ---- A GPU that is gone, settings that are damaged ---------------------------------------------------------------
mv "$(powertree_card "$TMP/root" 1)" "$TMP/gone"
ok "a GPU that is gone is told" wait_for 40 said m1 "the GPU '0000:02:00.0' is gone"
mv "$TMP/gone" "$(powertree_card "$TMP/root" 1)"
cp "$TMP/m1/power.json" "$TMP/power.json"
echo '{' >"$TMP/m1/power.json"
ok "damaged settings are no settings" wait_for 40 said m1 "is damaged: it is no JSON; set it again with"
cp "$TMP/power.json" "$TMP/m1/power.json"
run_is 0 "settings can be forgotten" power set envelope=none
is "$(caps)" "189 189" "limits stay"
not_ok "and the file is gone" test -e "$TMP/m1/power.json"
done_testing
