#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GPU from its type to the end of its lease: sold, bought, opened by its node alone, named by 'nanopod nodes', reset. And
# those who have none: refused at the door, and past it no node runs without. The GPUs are two harmless devices of this machine
# that a tree of sysfs calls GPUs. Needs root and an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin
export NANOPOD_TOKEN=$ACME HOME=$TMP/home XDG_CONFIG_HOME=$TMP/home
mkdir -p "$HOME"
NANOPOD=$BUILD/nanopod
MAJOR=10 MINORS=(234 235)   # btrfs-control and autofs: every program may open them

# A machine with two GPUs, whose driver makes the device nodes; a kernel that takes what is written to reset and probe.
ROOT=$TMP/root
BUS=$ROOT/sys/bus/pci/devices
ADDRESSES=(0000:03:00.0 0000:07:00.0)
put() { mkdir -p "$(dirname "$ROOT/$1")" && printf '%s\n' "$2" >"$ROOT/$1"; }
for file in proc/cpuinfo proc/meminfo proc/sys/kernel/osrelease sys/devices/system/cpu/online; do put $file "$(cat /$file)"; done
put sys/bus/pci/drivers_probe ''
for i in 0 1; do
	at=sys/bus/pci/devices/${ADDRESSES[i]}
	put "$at/vendor" 0x8086; put "$at/device" 0x0bda; put "$at/class" 0x038000; put "$at/reset" ''
	put "$at/drm/renderD$((128 + i))/dev" $MAJOR:${MINORS[i]}
done

# gpu_join NAME OPTION…: joins a machine with a host for each GPU that it says it has.
gpu_join() {
	gpu_name=$1
	shift
	agentd_token | "$AGENTD" --data "$TMP/$gpu_name" "$@" join "$NANOPOD_URL" --name "$gpu_name" --type gpu --nodes 2 --json \
		>"$TMP/$gpu_name.joined" 2>"$TMP/$gpu_name.err"
}
offers() {
	for id in $(json '.hosts[].id' <"$TMP/$1.joined"); do
		as "$FOUNDRY" POST "/np/v1/hosts/$id/offers" '{"price_dollars_per_node_hour":"1.50"}' >"$TMP/.offer"
	done
}
sku=$(operator POST /np/v1/skus '{"alias":"gpu","gpus":1,"properties":{"accelerator":"max1100","requires":{"gpu_vendor":"intel","gpu_memory":51539607552}}}')
isnt "$(json .id <<<"$sku")" null "a type of node with one GPU of 48 GiB"

# ---- Both lies, at the door -----------------------------------------------------------------------------------------
gpu_join none --driver ns && joined=yes || joined=no
is "$joined" no "a machine without a GPU does not sell one"
like "$(cat "$TMP/none.err")" "no room for a node of type 'gpu'.* it has no GPU" "and is told so"
gpu_join process --driver process --sysfs-root "$ROOT" && joined=yes || joined=no
is "$joined" no "nor does one whose driver gives nodes none"
like "$(cat "$TMP/process.err")" "its driver process gives nodes no GPUs" "and is told so"

# ---- A lease ---------------------------------------------------------------------------------------------------------
gpu_join m1 --driver ns --sysfs-root "$ROOT" && joined=yes || joined=no
is "$joined" yes "one that has two sells two" || diag "$(cat "$TMP/m1.err")"
offers m1
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 --sysfs-root "$ROOT"
run_is 0 "they are bought" "$NANOPOD" buy -t gpu -n 2 -d 1h -p 2 --name own --ssh-key "$TMP/buyer.pub" -y
agentd_clock $((NOW + 60))
for node in own-0 own-1; do
	ok "$node runs" wait_for 120 node_is $node running || life_say m1
done
# The host of own-0 may have either GPU: the number of its device says which.
opened() { life_in "$1" 'for f in /dev/dri/renderD*; do exec 3<$f && stat -c %t:%T $f; done'; }
A=$(opened own-0) B=$(opened own-1)
is "$(printf '%s\n' "$A" "$B" | sort | tr '\n' ' ')" "a:ea a:eb " "each opens a GPU, one, and not the other's"
mknod "$TMP/device" c $MAJOR $((0x${A#*:}))
# in_group NODE DEVICE: this machine's root opens it from within the node's control groups.
for node in own-0 own-1; do life_in $node "$(life_sleep $node)"; done
in_group() {
	group_pid=$(life_pid "$1")
	group=/sys/fs/cgroup/devices$(sed -n 's/^[0-9]*:devices://p' "/proc/$group_pid/cgroup")
	[ -d "$group" ] && [ "$group" != /sys/fs/cgroup/devices ] || group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$group_pid/cgroup")
	(echo "$BASHPID" >"$group/cgroup.procs" && exec 3<"$2") 2>"$TMP/.opened"
}
ok "in its control groups its device opens" in_group own-0 "$TMP/device"
not_ok "in its neighbour's it does not" in_group own-1 "$TMP/device"
like "$(cat "$TMP/.opened")" "$TMP/device: Operation not permitted" "since it is not permitted"
run_is 0 "nanopod nodes" "$NANOPOD" nodes -o wide
is "$(grep -c ' gpu  *1 max1100 of 48 GiB ' <<<"$out")" 2 "names the GPU of each" || diag "$out"
is "$("$NANOPOD" nodes own-0 -o json | jq -c '.[0].gpus')" '[{"model":"max1100","count":1,"memory_bytes":51539607552}]' "exactly, for programs"
like "$("$NANOPOD" show own-0)" '^gpus +1 max1100 of 48 GiB$' "show, too"
gpus() { "$AGENTD" --data "$TMP/m1" gpus --json | jq -r "$1"; }
is "$(gpus '[.[].node | select(. != "")] | length')" 2 "its owner sees who has them"

# ---- Its end -----------------------------------------------------------------------------------------------------------
I=$(node own-0 .id)
life_prefix own-0
is "$(cat "$BUS"/*/reset | tr -d '\n')" "" "no GPU was reset so far"
agentd_clock $((NOW + 60 + 3600 + 120))
nothing() { [ -z "$(ls "$TMP/m1/nodes")" ]; }
ok "their time is over" wait_for 120 nothing || life_say m1 "$I"
is "$(cat "$BUS"/*/reset)" 11 "both GPUs were reset"
is "$(gpus '[.[] | select(.node != "" or .quarantine)] | length')" 0 "nobody has them, and none is kept back"
is "$(life_left m1 "$I")" "" "no group is left that could open one"

# ---- Past the door: the machine lost its GPUs -----------------------------------------------------------------------------
agentd_stop m1
rm -r "$ROOT"/sys/bus/pci/devices/*
run_is 0 "its nodes are sold again" "$NANOPOD" buy -t gpu -n 1 -d 1h -p 2 --name lost --ssh-key "$TMP/buyer.pub" -y
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 --sysfs-root "$ROOT"
agentd_clock $((NOW + 3900))
ok "no node runs without" wait_for 120 node_is lost-0 failed || life_say m1
like "$(node lost-0 .status_message)" "GPU.* is gone|promises 1 GPU" "for that reason"
run "$AGENTD" --data "$TMP/m1" --sysfs-root "$ROOT" verify
is "$status" 11 "verification fails"
like "$out" "FAILED +gpu +its hosts are sold with 2 GPUs, and this machine has 0" "and says why"
agentd_stop m1
done_testing
