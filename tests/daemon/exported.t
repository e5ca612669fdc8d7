#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod-agentd --metrics: what an agent measures as a file for Prometheus' node_exporter: always whole, nothing unknown
# in it, gone with the agent. The GPUs are files, with a stand-in for NVIDIA's library; nodes are of nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/agentd.sh"
for name in metrics.txt .prom folder/.prom ''; do
	run_is 2 "the name '$name'" "$AGENTD" --metrics "$name" status
	like "$err" "'--metrics $name' is invalid; use a file whose name ends in .prom" "is refused, as node_exporter would not read it"
done
agentd_market --agent-silent 600
. "$(dirname "$0")/../lib/gputree.sh"
gputree 01 02
put proc/stat "$(cat /proc/stat)"
# And one of AMD, whose kernel tells the rest.
at=sys/bus/pci/devices/0000:03:00.0
put $at/vendor 0x1002; put $at/device 0x744c; put $at/class 0x030000
ln -s ../../drivers/amdgpu "$ROOT/$at/driver"
put $at/hwmon/hwmon3/power1_average 40000000; put $at/hwmon/hwmon3/temp1_input 65000; put $at/gpu_busy_percent 25
SKU=$(operator POST /np/v1/skus '{"alias":"whole","gpus":1,"properties":{"accelerator":"rtx4090"}}' | json .id)
FILE=$TMP/collected/nanopod.prom
RUNS=(--driver fakegpu --sysfs-root "$ROOT" --metrics "$FILE" --first-port $PORTS)
agentd_token | "$AGENTD" --data "$TMP/m1" --driver fakegpu --sysfs-root "$ROOT" join "$NANOPOD_URL" --name m1 --type whole --nodes 1 --json \
	>"$TMP/m1.joined" 2>"$TMP/.err" || diag "$(cat "$TMP/.err")"
as "$FOUNDRY" POST "/np/v1/hosts/$(json '.hosts[0].id' <"$TMP/m1.joined")/offers" '{"price_dollars_per_node_hour":"1.500000"}' >"$TMP/.offer"

# ---- A folder that is not there ----------------------------------------------------------------------------
umask 077
agentd_start m1 "${RUNS[@]}"
warned() { grep -q "cannot write '$FILE': No such file or directory" "$TMP/m1.log"; }
ok "a folder that is not there is told of" wait_for 60 warned || diag "$(tail -n 5 "$TMP/m1.log")"
mkdir "$TMP/collected"
ok "once it is there, the file comes" wait_for 60 test -s "$FILE"
is "$(stat -c %a "$FILE")" 644 "others may read it, whatever the agent's umask"
is "$(grep -c "cannot write '$FILE'" "$TMP/m1.log")" 1 "(told of once)"
agentd_buy own 1 36000
ok "a node runs" wait_for 60 node_is own-1 running || diag "$(cat "$TMP/m1.log")"

# ---- What is in it -------------------------------------------------------------------------------------------
# The processors of this tree stand still but for what this adds: half of them were busy since.
later() { printf 'cpu %d 0 0 %d 0 0 0 0 0 0\n' $((ticks += 50)) $ticks >"$ROOT/proc/stat"; [ "$(value nanopod_machine_cpu_ratio)" = 0.5 ]; }
ticks=1000
has() { grep -q "^$1 " "$FILE" 2>/dev/null; }
value() { sed -n "s/^$1 //p" "$FILE"; }
NODE=$(node own-1 .id)
ok "its row says which GPU it has" wait_for 60 has "nanopod_node_gpu{node=\"$NODE\",gpu=\"0000:0[12]:00.0\"}" || diag "$(cat "$FILE")"
ok "what takes two looks comes with the second" wait_for 60 later || diag "$(grep '^nanopod_machine' "$FILE")"
is "$(value nanopod_machine_memory_total_bytes)" "$(awk '$1 == "MemTotal:" { printf "%.15g", $2 * 1024 }' "$ROOT/proc/meminfo")" "the machine's memory"
gpu() { value "nanopod_gpu_$1{gpu=\"0000:$2:00.0\"}"; }
is "$(gpu power_watts 03) $(gpu temperature_celsius 03) $(gpu use_ratio 03)" "40 65 0.25" "what a GPU draws, how warm it is, how busy"
is "$(gpu power_watts 01) $(gpu temperature_celsius 01)" " " "of one that tells nothing there is no number, and no zero"
is "$(value nanopod_agent_sample_time_seconds)" "$(cat "$TMP/clock")" "when it was measured"
is "$(grep -v '^#' "$FILE" | grep -Ev '^nanopod_[a-z_]+(\{[a-z]+="[^"]+"(,[a-z]+="[^"]+")*\})? [0-9.e+-]+$')" "" "each line is a number"
is "$(grep -v '^#' "$FILE" | sed 's/ .*//' | sort | uniq -d)" "" "no two have one name"
if have promtool; then
	is "$(promtool check metrics <"$FILE" 2>&1)" "" "promtool finds nothing to mend"
else
	skip "promtool is not installed"
fi
sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$FILE" | sort -u >"$TMP/names"
grep -oh 'nanopod_\(agent_sample\|gpu\|machine\)_[a-z_]*' "$SRC"/daemon/monitoring/* | sort -u >"$TMP/asked"
ok "the alerts for Prometheus ask for some of it" [ "$(wc -l <"$TMP/asked")" -gt 5 ]
is "$(comm -23 "$TMP/asked" "$TMP/names")" "" "and for nothing else of agents"
n=0 cut=0
while [ $n -lt 300 ]; do
	n=$((n + 1))
	[ "$(tail -c 1 "$FILE" | od -An -c | tr -d ' ')" = '\n' ] && [ "$(grep -c '^# TYPE nanopod_node_gpu ' "$FILE")" = 1 ] || cut=$((cut + 1))
done
is $cut 0 "whoever reads it finds all of it"

# ---- The end ---------------------------------------------------------------------------------------------------
agentd_kill m1
ok "an agent that is killed leaves it" test -s "$FILE"
agentd_start m1 "${RUNS[@]}"
agentd_stop m1
not_ok "one that ends takes it away: old numbers do not look new" test -e "$FILE"
agentd_end_all
done_testing
