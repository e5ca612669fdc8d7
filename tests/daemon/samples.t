#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real agent measures its machine, and the market has it; what could not be sent waits.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/agentd.sh"
agentd_market --agent-silent 600
START=$(cat "$TMP/clock")
agentd_join m1 1
agentd_start m1 --driver fake --first-port $PORTS
known() { as "$FOUNDRY" GET "/np/v1/series?agent=m1&metric=machine.$1&from=$START&to=$(($(cat "$TMP/clock") + 10))&step=10" | jq -r '[.data[].mean[] | select(. != null)] | last'; }
is_known() { [ "$(known "$1")" != null ]; }
total() { awk '$1 == "MemTotal:" { print $2 * 1024 }' /proc/meminfo; }
ok "the market knows the machine's memory" wait_for 90 is_known memory_total || diag "$(tail -n 5 "$TMP/m1.log")"
ok "it is this machine's" awk -v a="$(known memory_total)" -v b="$(total)" 'BEGIN { exit !(a / b > 0.998 && a / b < 1.002) }'
ok "and its disk's" awk -v a="$(known disk_total)" -v b="$(df -P -B1 "$TMP" | awk 'END { print $2 }')" 'BEGIN { exit !(a / b > 0.99 && a / b < 1.01) }'
ok "what takes two looks comes, too" wait_for 90 is_known cpu
ok "as a part of all processors" awk -v a="$(known cpu)" 'BEGIN { exit !(a >= 0 && a <= 1) }'

# ---- The market does not answer ------------------------------------------------------------------------------
# What is measured meanwhile says when: that time is set for the agent while the market, which takes nothing from
# times to come, is beyond it and stands still; it has passed for both when the market goes on.
at_time() { [ "$(as "$FOUNDRY" GET "/np/v1/series?agent=m1&metric=machine.memory&from=$1&to=$(($1 + 10))&step=10" | jq '[.data[].mean[] | select(. != null)] | length')" = 1 ]; }
arrived=
for try in 1 2 3 4 5 6; do
	operator POST /np/v1/admin/clock "{\"at\":$((START + 60 * try + 30))}" >"$TMP/.clock"
	kill -STOP "$MARKETD_PID"
	agentd_time $((START + 60 * try))
	sleep 12
	agentd_time $((START + 60 * try + 30))
	kill -CONT "$MARKETD_PID"
	wait_for 20 at_time $((START + 60 * try)) && arrived=yes && break
done
is "$arrived" yes "what was measured while the market stood still arrives later"
agentd_end_all
done_testing
