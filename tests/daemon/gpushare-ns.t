#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two nodes with half a GPU each: both open it, and who takes more memory than the half is told so and ended, although SSH
# started that process and it was forked away; its neighbour goes on. The GPU is one of files, with a stand-in for NVIDIA's
# library. Then a node with a slice of it (MIG). Needs root and an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin
export NANOPOD_TOKEN=$ACME HOME=$TMP/home XDG_CONFIG_HOME=$TMP/home FAKE_NVML=good FAKE_NVML_STATE=$TMP/state
mkdir -p "$HOME" "$FAKE_NVML_STATE"
NANOPOD=$BUILD/nanopod

ROOT=$TMP/root
put() { mkdir -p "$(dirname "$ROOT/$1")" && printf '%s\n' "$2" >"$ROOT/$1"; }
for file in proc/cpuinfo proc/meminfo proc/sys/kernel/osrelease sys/devices/system/cpu/online; do put $file "$(cat /$file)"; done
at=sys/bus/pci/devices/0000:01:00.0
put $at/vendor 0x10de; put $at/device 0x2684; put $at/class 0x030000
ln -s ../../../bus/pci/drivers/nvidia "$ROOT/$at/driver"
put proc/driver/nvidia/gpus/0000:01:00.0/information "$(printf 'Model: \t NVIDIA GeForce RTX 4090\nDevice Minor: \t 0')"
mkdir "$ROOT/lib"
ln -s "$BUILD/tests/lib/.libs/fakenvml.so" "$ROOT/lib/libnvidia-ml.so.1"

# ---- Two halves ---------------------------------------------------------------------------------------------------------
operator POST /np/v1/skus '{"alias":"half","gpus":1,"properties":{"accelerator":"rtx4090","requires":{"share":"1/2"}}}' >"$TMP/.made"
is "$(http_status)" 201 "a type of node with half a GPU"
agentd_token | "$AGENTD" --data "$TMP/m1" --driver ns --sysfs-root "$ROOT" join "$NANOPOD_URL" --name m1 --type half --nodes 2 --json \
	>"$TMP/joined" 2>"$TMP/.err" && joined=yes || joined=no
is "$joined" yes "a machine with one GPU sells two" || diag "$(cat "$TMP/.err")"
for id in $(json '.hosts[].id' <"$TMP/joined"); do
	as "$FOUNDRY" POST "/np/v1/hosts/$id/offers" '{"price_dollars_per_node_hour":"1.50"}' >"$TMP/.offer"
done
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 --sysfs-root "$ROOT"
run_is 0 "they are bought" "$NANOPOD" buy -t half -n 2 -d 1h -p 2 --name own --ssh-key "$TMP/buyer.pub" -y
like "$out$err" "2 x 1/2 of a GPU; a share of its speed: for people who trust each other" "by a plan that says what a share is"
agentd_clock $((NOW + 60))
for node in own-0 own-1; do
	ok "$node runs" wait_for 120 node_is $node running || life_say m1
	is "$(life_in $node 'ls /dev/nvidia0')" /dev/nvidia0 "with the GPU"
done
run_is 0 "nanopod nodes" "$NANOPOD" nodes -o wide
is "$(grep -c ' half  *1x 1/2 rtx4090 of 11.9 GiB ' <<<"$out")" 2 "shows what each has" || diag "$out"

# ---- Too much -------------------------------------------------------------------------------------------------------------
# The library's 24564 MiB, of which the driver keeps 64, make 12250 for each.
for node in own-0 own-1; do
	life_in $node "$(life_sleep $node)"
	ln -s "/proc/$(life_pid $node)" "$ROOT/proc/$(life_pid $node)"
done
GREEDY=$(life_pid own-0) MODEST=$(life_pid own-1)
printf '0 %s 12251\n0 %s 12250\n' "$GREEDY" "$MODEST" >"$FAKE_NVML_STATE/processes"
told() { grep -qF "$1" "$TMP/m1/nodes/$(node own-0 .id)/console"; }
ok "who holds more than half is told" wait_for 60 told "this node holds 12251 MiB of the GPU and bought 12250 MiB" || life_say m1
ended() { ! kill -0 "$GREEDY" 2>/dev/null; }
ok "and then ended" wait_for 60 ended || life_say m1
printf '0 %s 12250\n' "$MODEST" >"$FAKE_NVML_STATE/processes"
ok "by name" wait_for 60 told "sleep ended: it held 12251 MiB of the GPU, and this node bought 12250 MiB"
ok "who holds half goes on" kill -0 "$MODEST"
is "$(life_in own-0 'echo here')" here "and the node of the other, too"
is "$(grep -c 'of the GPU' "$TMP/m1/nodes/$(node own-1 .id)/console")" 0 "whose neighbour hears nothing of it"

# ---- Nobody can look -----------------------------------------------------------------------------------------------------
owner_reads() { as "$FOUNDRY" GET /np/v1/agents/m1 | json '"\(.health) \(.status.message)"' | grep -q "$1"; }
blind="^degraded the agent cannot watch the memory of GPUs that nodes share: 'libnvidia-ml.so.1': it does not tell"
mv "$FAKE_NVML_STATE/processes" "$TMP/processes"
printf '0 %s -1\n' "$MODEST" >"$FAKE_NVML_STATE/processes"
ok "where the library tells no memory, the owner reads so" wait_for 60 owner_reads "$blind" || life_say m1
mv "$TMP/processes" "$FAKE_NVML_STATE/processes"
sees() { ! owner_reads "$blind"; }
ok "until it tells again" wait_for 60 sees || life_say m1

# ---- The end ------------------------------------------------------------------------------------------------------------
agentd_clock $((NOW + 60 + 3600 + 120))
ok "their time is over" wait_for 120 life_nothing m1 || life_say m1
ok "which ended what held memory" eval '! kill -0 "$MODEST" 2>/dev/null'
agentd_stop m1

# ---- A slice ------------------------------------------------------------------------------------------------------------
LATER=$((NOW + 60 + 3600 + 120))
put proc/devices "$(printf 'Character devices:\n195 nvidia\n235 nvidia-caps\n\nBlock devices:\n259 blkext')"
put proc/driver/nvidia/capabilities/gpu0/mig/gi1/access "$(printf 'DeviceFileMinor: 11\nDeviceFileMode: 292')"
put proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access "$(printf 'DeviceFileMinor: 12\nDeviceFileMode: 292')"
touch "$FAKE_NVML_STATE/mig"
operator POST /np/v1/skus '{"alias":"slice","gpus":1,"properties":{"accelerator":"rtx4090","requires":{"share":"mig:1g.3gb"}}}' >"$TMP/.made"
agentd_token | "$AGENTD" --data "$TMP/m2" --driver ns --sysfs-root "$ROOT" join "$NANOPOD_URL" --name m2 --type slice --nodes 7 --json \
	>"$TMP/joined" 2>"$TMP/.err" && joined=yes || joined=no
is "$joined" yes "a machine with MIG sells seven slices of one GPU" || diag "$(cat "$TMP/.err")"
for id in $(json '.hosts[].id' <"$TMP/joined"); do
	as "$FOUNDRY" POST "/np/v1/hosts/$id/offers" '{"price_dollars_per_node_hour":"1.50"}' >"$TMP/.offer"
done
like "$("$AGENTD" --driver ns --sysfs-root "$ROOT" inventory)" "slices +7 x mig:1g.3gb, 3 x mig:2g.6gb, 2 x mig:3g.12gb" "its inventory lists what there is"
agentd_start m2 "${LIFE_OPTIONS[@]}" --grace 1 --sysfs-root "$ROOT"
run_is 0 "one is bought" "$NANOPOD" buy -t slice -n 1 -d 1h -p 2 --name cut --ssh-key "$TMP/buyer.pub" -y
like "$out$err" "1 x mig:1g.3gb of a GPU; a slice: hardware of its own" "by a plan that says what a slice is"
agentd_clock $((LATER + 60))
ok "it runs" wait_for 120 node_is cut-0 running || life_say m2
is "$(life_in cut-0 'ls /dev/nvidia0 /dev/nvidia-caps')" "$(printf '/dev/nvidia0\n\n/dev/nvidia-caps:\nnvidia-cap11\nnvidia-cap12')" \
	"with the device nodes of its slice"
is "$(life_in cut-0 'echo $CUDA_VISIBLE_DEVICES')" MIG-fake-0-1 "and its name"
is "$(cd "$FAKE_NVML_STATE" && echo gi-* ci-* mig-0)" "gi-0-1 ci-0-1 mig-0" "which was made for it"
like "$("$AGENTD" --data "$TMP/m2" gpus)" "0000:01:00.0  mig:1g.3gb rtx4090 .*inst_" "'nanopod-agentd gpus' lists it"
run_is 0 "nanopod nodes" "$NANOPOD" nodes -o wide
is "$(grep -c ' slice  *1x mig:1g.3gb rtx4090 of 2.8 GiB ' <<<"$out")" 1 "shows what it has" || diag "$out"
agentd_clock $((LATER + 60 + 3600 + 120))
ok "its time is over" wait_for 120 life_nothing m2 || life_say m2
is "$(cd "$FAKE_NVML_STATE" && echo gi-* ci-* mig-0*)" "gi-* ci-* mig-0*" "its slice is gone, and the GPU's mode is as it was"
agentd_stop m2
done_testing
