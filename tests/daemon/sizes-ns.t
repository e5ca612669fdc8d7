#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node of the driver ns is as large as it was sold, sees that, and cannot take more: processors, memory, disk, files, process
# ids, network. Needs root and an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
. "$(dirname "$0")/../lib/promise.sh"
life_begin
life_holding disk || skip_all "no disk can be limited here"
MIB=$((1 << 20))
free_now() { df -B$MIB --output=avail "$TMP" | tail -n 1; }
free_of() { df -B$MIB --output=size "$TMP" | tail -n 1; }
[ "$(free_now)" -gt $(($(free_of) / 20 + 14000)) ] || skip_all "too little space is free in $TMP"

promise_begin
promise '"vcpus":1,"memory_bytes":536870912,"disk_bytes":2147483648,"inodes":50000,"network_mbps":80'
agentd_join m1 2
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1

# ---- It gets what was sold ----------------------------------------------------------------------------------------
agentd_buy small 1 7200
ok "a node of 1 vCPU, 512 MiB and 2 GiB runs" wait_for 120 node_is small-1 running || life_say m1
I=$(node small-1 .id)
D=$TMP/m1/nodes/$I
in_it() { life_in small-1 "$1"; }
in_it true && life_sleep small >"$TMP/sleep" && in_it "$(cat "$TMP/sleep")"
life_prefix small
is "$(in_it nproc)" 1 "it sees one processor"
is "$(in_it 'python3 -c "import os; print(len(os.sched_getaffinity(0)))" 2>/dev/null || taskset -pc 1 | sed "s/.*: //" | tr , "\n" | wc -l')" 1 "its first process too"
size=$(in_it 'df -B1 --output=size / | tail -n 1')
ok "its disk holds 2 GiB ($size)" test "${size:-0}" -ge 2147483648 -a "${size:-0}" -lt 2300000000
files=$(in_it 'df --output=itotal / | tail -n 1 | tr -d " "')
ok "and 50,000 files ($files)" test "${files:-0}" -ge 50000 -a "${files:-0}" -le 66000
like "$(in_it 'cat /etc/nanopod/resources' | tr '\n' ' ')" "^cpus=1 memory_mb=512 disk_mb=2048 boot_id=$(cat /proc/sys/kernel/random/boot_id) \$" "it is told its size, and which kernel it runs on"
if [ -r /var/lib/lxcfs/proc/meminfo ]; then
	is "$(in_it 'awk "/^MemTotal/ { print \$2 }" /proc/meminfo; grep -c ^processor /proc/cpuinfo' | tr '\n' ' ')" "524288 1 " \
		"lxcfs shows it its memory and its processor"
	is "$(in_it 'free -m | awk "/^Mem/ { print \$2 }"')" 512 "free too"
else
	skip "lxcfs does not run here"
fi
ok "all of its disk is there already" test "$(du -B$MIB "$D/disk.img" | cut -f1)" -ge 2048

# ---- It cannot take more --------------------------------------------------------------------------------------------
held() { du -xs -B$MIB "$TMP/m1" | cut -f1; } # not what is free: others write to this disk too
before=$(held)
in_it 'fallocate -l 30G /root/big' && tried=0 || tried=$?
isnt $tried 0 "30 GiB are refused"
like "$(cat "$TMP/.ssh")" "No space left on device" "since its disk is full"
in_it 'rm -f /root/big; dd if=/dev/zero of=/root/full bs=1M count=3000 2>/dev/null; sync'
ok "a full disk in it takes nothing from the machine" test $(($(held) - before)) -lt 300
full() { as "$ACME" GET /np/v1/samples | jq -e --arg i "$I" '.data[] | select(.node == $i) | .measures | .disk / .disk_total > 0.99' >/dev/null; }
ok "the market hears that it is full" wait_for 60 full
in_it 'rm /root/full; sync'
made=$(in_it 'mkdir /root/many && cd /root/many && (seq 60000 | xargs touch) 2>/dev/null; ls | wc -l')
ok "60,000 files do not fit ($made do)" test "${made:-0}" -gt 10000 -a "${made:-0}" -lt 60000
in_it 'rm -r /root/many'
in_it 'dd if=/dev/zero of=/dev/null bs=700M count=1' 2>/dev/null && tried=0 || tried=$?
isnt $tried 0 "a process of 700 MiB is ended"
pids=$(json .pids <"$D/node.json")
is "$(cat /sys/fs/cgroup/pids/"${LIFE_PREFIX}n-$I"/pids.max /sys/fs/cgroup/"${LIFE_PREFIX}n-$I"/pids.max 2>/dev/null | head -n 1)" \
	"$pids" "it can have $pids processes"
ok "the agent and the node live" wait_for 60 life_in small-1 true
ok "(the agent)" kill -0 "$AGENTD_PID"
hub=$(ls /run/netns | grep "^${LIFE_PREFIX}t-" | head -n 1)
is "$(tc -n "$hub" qdisc show | grep -c 'tbf .* rate 80Mbit')" 2 "80 Mbit/s are all that it can send and receive"
began=$EPOCHREALTIME
in_it 'head -c 20000000 /dev/zero' | wc -c >"$TMP/got"
took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print int((b - a) * 1000) }')
is "$(cat "$TMP/got")" 20000000 "(20 MB come out of it)"
ok "20 MB take as long as that ($took ms)" test "$took" -ge 1600
began=$EPOCHREALTIME
in_it 'yes 0123456789012345678901234567890123456789 | head -c 13000000 >/dev/console; echo the last line >/dev/console'
took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print int((b - a) * 1000) }')
ok "who floods its console waits ($took ms for 13 MB)" test "$took" -ge 1800
ok "all of it comes" wait_for 60 sh -c "tail -n 3 '$D/console' | grep -q 'the last line'"

# ---- What does not fit is refused, and nothing is left --------------------------------------------------------------
is "$(cat /sys/fs/cgroup/cpuset/"${LIFE_PREFIX}n-$I"/cpuset.cpus /sys/fs/cgroup/"${LIFE_PREFIX}n-$I"/cpuset.cpus 2>/dev/null | head -n 1)" \
	"$(json .cores <"$D/node.json")" "its processors are those of its host"
agentd_kill m1
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
is "$(life_in small-1 nproc)" 1 "the node outlives its agent"
I2=$(node small-1 .id)
as "$ACME" POST "/np/v1/pools/small/release" '{}' >/dev/null
agentd_clock $(($(cat "$TMP/clock") + 60))
gone() { life_gone m1 "$I2"; }
ok "it ends, and nothing of it is left" wait_for 60 gone || life_say m1 "$I2"
no_loop() { ! cat /sys/block/loop*/loop/backing_file 2>/dev/null | grep -q "$TMP/"; }
ok "no loop device either" wait_for 10 no_loop || diag "$(cat /sys/block/loop*/loop/backing_file)"
promise '"memory_bytes":536870912,"disk_bytes":'$(($(free_of) * MIB * 2))
agentd_buy big 1 7200
ok "a disk larger than the machine's is refused" wait_for 60 node_is big-1 failed || life_say m1
like "$(node big-1 .status_message)" "no room for it: it needs .* MiB of disk" "for that reason"

# ---- Sold without a size --------------------------------------------------------------------------------------------
promise ''
agentd_buy plain 1 7200
ok "a node of a type without a size runs" wait_for 120 node_is plain-1 running || life_say m1
size=$(life_in plain-1 'df -BM --output=size / | tail -n 1 | tr -dc 0-9')
ok "it has the machine's share of the disk, and no more ($size MiB)" test "${size:-0}" -ge 1000 -a "${size:-0}" -lt "$(free_of)"
I=$(node plain-1 .id)
ok "of which it holds what it uses" test "$(du -B$MIB "$TMP/m1/nodes/$I/disk.img" | cut -f1)" -lt 1000

# ---- Beside one who was sold processors -------------------------------------------------------------------------------
cores_of() { cat /sys/fs/cgroup/cpuset/"${LIFE_PREFIX}n-$1"/cpuset.cpus /sys/fs/cgroup/"${LIFE_PREFIX}n-$1"/cpuset.cpus.effective 2>/dev/null | head -n 1; }
quota_of() { cat /sys/fs/cgroup/cpu/"${LIFE_PREFIX}n-$1"/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/"${LIFE_PREFIX}n-$1"/cpu.max; }
all=$(cores_of "$I") cpus=$(nproc)
if [ "$cpus" -gt 1 ] && [ -n "$all" ]; then
	is "$(life_in plain-1 nproc)" "$cpus" "(it sees $cpus processors)"
	promise "\"vcpus\":$((cpus - 1))"
	agentd_stop m1 # the next one asks for the whole document
	agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
	one() { [ "$(life_in plain-1 nproc)" = 1 ]; }
	ok "another host's promise leaves it one" wait_for 60 one || life_say m1
	isnt "$(cores_of "$I")" "$all" "while it runs"
	limited() { [ "$(quota_of "$I")" -gt 0 ]; }
	ok "and a quota besides" wait_for 60 limited
	promise ''
	agentd_stop m1
	agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
	back() { [ "$(cores_of "$I")" = "$all" ]; }
	ok "it has all again when that promise is gone" wait_for 60 back || life_say m1
else
	skip "this machine has one processor, or no control group binds to it"
fi
agentd_stop m1
done_testing
