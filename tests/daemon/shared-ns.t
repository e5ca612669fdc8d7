#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nodes of one reservation on a machine have one folder, /shared, as large as the sum of what each was sold: files, owners
# and locks are the same in all of them, nobody else sees it, and it outlives each node, but not the last. Needs root and
# an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin
life_holding disk || skip_all "no disk can be limited here"
MIB=$((1 << 20))
free_now() { df -B$MIB --output=avail "$TMP" | tail -n 1; }
[ "$(free_now)" -gt $(($(df -B$MIB --output=size "$TMP" | tail -n 1) / 20 + 8000)) ] || skip_all "too little space is free in $TMP"

sells() { operator PATCH "/np/v1/skus/$SKU" "{\"properties\":{\"requires\":{\"shared_storage\":$1}}}"; }
sells $((256 * MIB)) >"$TMP/.sku"
is "$(json .np_requires.shared_storage <"$TMP/.sku")" $((256 * MIB)) "a type promises each node 256 MiB of a shared folder"
agentd_join m1 4 "${LIFE_OPTIONS[@]:0:2}" --images "$TEST_IMAGES" || { done_testing; exit; }
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
agentd_buy crew 2 7200
agentd_buy other 1 7200
for n in crew-1 crew-2 other-1; do
	ok "$n runs" wait_for 120 node_is $n running || { life_say m1; done_testing; exit; }
done
size_in() { life_in "$1" 'df -B1 --output=size /shared | tail -n 1'; }
between() { [ "${1:-0}" -ge $(($2 * MIB * 95 / 100)) ] && [ "${1:-0}" -lt $(($2 * MIB * 11 / 10)) ]; }
ok "/shared of two nodes is twice as large" between "$(size_in crew-1)" 512
is "$(size_in crew-2)" "$(size_in crew-1)" "in both"
ok "that of one is as large as it was sold" between "$(size_in other-1)" 256
is "$(life_in crew-1 'stat -c "%u:%g %a" /shared')" "0:0 755" "it belongs to the node's root"

# ---- One folder -------------------------------------------------------------------------------------------------------
life_in crew-1 'echo first >/shared/one; install -d -o 12345 -g 12345 -m 700 /shared/home; cd /shared/home && setpriv --reuid 12345 --regid 12345 --clear-groups sh -c "echo mine >own; umask 077; mkfifo pipe; ln -s own link"'
is "$(life_in crew-2 'cat /shared/one /shared/home/link; stat -c "%u:%g %a" /shared/home /shared/home/own' | tr '\n' ' ')" \
	"first mine 12345:12345 700 12345:12345 644 " "what one writes the other reads, with the owner that it had"
is "$(life_in crew-2 'setpriv --reuid 54321 --regid 54321 --clear-groups cat /shared/home/own 2>&1 | sed "s/.*: //"')" \
	"Permission denied" "and with its rights"
is "$(life_in other-1 'ls /shared')" "lost+found" "a node of another reservation has another"
life_in crew-1 'setsid sh -c "flock /shared/one sh -c \"touch /shared/locked; while [ -e /shared/locked ]; do sleep 0.1; done\"" >/dev/null 2>&1 </dev/null & until [ -e /shared/locked ]; do sleep 0.05; done'
is "$(life_in crew-2 'flock -n /shared/one true; echo $?')" 1 "a lock of one keeps the other away"
is "$(life_in crew-2 'rm /shared/locked; flock -w 60 /shared/one true; echo $?')" 0 "until it ends"
is "$(life_in crew-2 'for n in 1 2; do dd if=/dev/zero of=/shared/full.$n bs=1M count=400 2>/dev/null; done; sync; df --output=pcent /shared | tail -n 1 | tr -d " "')" 100% "it can be filled"
ok "and no more" test "$(life_in crew-1 'du -sm /shared | cut -f1')" -lt 600
is "$(life_in other-1 'dd if=/dev/zero of=/shared/x bs=1M count=100 2>/dev/null && rm /shared/x && echo fits')" fits "which others do not feel"
is "$(life_in crew-1 'rm /shared/full.*; mkdir /shared/many && cd /shared/many && seq 20000 | xargs touch && ls | wc -l')" 20000 "20,000 small files fit"
is "$(life_in crew-2 'ls /shared/many | wc -l; rm -r /shared/many')" 20000 "and are seen"
loops() { grep -lF "$TMP/" /sys/block/loop*/loop/backing_file 2>/dev/null | while read -r f; do grep -c '/shared/' "$f"; done | awk '{ n += $1 } END { print n + 0 }'; }
is "$(loops)" 2 "each folder has one loop device, whoever mounts it"

# ---- It outlives --------------------------------------------------------------------------------------------------------
agentd_kill m1
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
is "$(life_in crew-2 'cat /shared/one')" first "an agent that is killed"
life_sleep crew >/dev/null
I1=$(node crew-1 .id)
booted() { life_in crew-1 'cat /proc/sys/kernel/random/boot_id /run/systemd/*/boot_id 2>/dev/null; sed "s/.*) //" /proc/1/stat | cut -d" " -f20'; } # since when its init runs
before=$(booted)
life_in crew-1 'echo late >/shared/late; sync; systemctl poweroff' >/dev/null 2>&1
again() { now=$(booted) && [ -n "$now" ] && [ "$now" != "$before" ]; }
ok "(a node that powers off starts again)" wait_for 120 again || life_say m1
is "$(life_in crew-1 'cat /shared/one /shared/late' | tr '\n' ' ')" "first late " "a node's end and its start"
is "$(loops)" 2 "(by the same loop device)"

# A third node of the same reservation, while the others run.
as "$ACME" POST /v2/orders "{\"pool\":\"crew\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$(($(cat "$TMP/clock") / 60 * 60 + 60)),\"end_at\":$(($(cat "$TMP/clock") + 3600)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.order"
as "$ACME" POST /v2/instances "{\"name\":\"crew-3\",\"pool\":\"crew\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.instance"
agentd_clock $(($(cat "$TMP/clock") / 60 * 60 + 60))
ok "one more node of the reservation" wait_for 120 node_is crew-3 running || { life_say m1; diag "$(cat "$TMP/.order" "$TMP/.instance")"; }
if [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 24 & 1)) -eq 1 ]; then
	ok "makes it larger under those that run" between "$(size_in crew-1)" 768
else
	skip "this machine keeps root from enlarging a file system that is mounted (CAP_SYS_RESOURCE)"
fi
is "$(life_in crew-3 'cat /shared/one; echo third >/shared/three')$(life_in crew-2 'cat /shared/three')" "firstthird" "has what was there, and adds to it"

says() { as "$FOUNDRY" GET "/np/v1/agents/$(json .agent <"$TMP/m1/agent.json")" | jq -c "[.inventory.capacity.shared_storage, ([.hosts[].fits] | all)]"; }
is "$(says)" "[true,true]" "the market hears from the agent that its nodes can share, and that all fit"

# ---- And ends -------------------------------------------------------------------------------------------------------------
volume=$(ls -d "$TMP"/m1/shared/*/ | while read -r d; do [ ! -e "$d/nodes/$I1" ] || echo "${d%/}"; done)
is "$(ls "$volume/nodes" | wc -l)" 3 "(its three nodes)"
I3=$(node crew-3 .id)
as "$ACME" POST "/v2/instances/$I3/terminate" >/dev/null
gone3() { life_gone m1 "$I3"; }
ok "a node that goes" wait_for 120 gone3 || life_say m1 "$I3"
is "$(life_in crew-1 'cat /shared/three')" third "leaves what it wrote"
as "$ACME" POST /np/v1/pools/crew/release '{}' >/dev/null
agentd_clock $(($(cat "$TMP/clock") + 60))
gone1() { life_gone m1 "$I1"; }
ok "the last ones go" wait_for 120 gone1 || life_say m1 "$I1"
none() { [ -z "$(ls "$volume/nodes")" ]; }
ok "(all of them)" wait_for 60 none
ok "for a while the folder stays, for one that may replace them" test -s "$volume/disk.img"
touch -d '1 hour ago' "$volume/nodes"
vanished() { [ ! -e "$volume" ]; }
ok "then it is removed" wait_for 120 vanished || life_say m1
# The kernel lets go of a mount, and so of its loop device, some time after the last process in it.
loops_are() { [ "$(loops)" = "$1" ]; }
ok "and its loop device is free" wait_for 60 loops_are 1 || losetup -l | sed 's/^/# /'
is "$(life_in other-1 'rmdir /shared/lost+found; ls -A /shared | wc -l')" 0 "others keep theirs"

# ---- Where nodes cannot share -----------------------------------------------------------------------------------------
agentd_kill m1
"$AGENTD" --data "$TMP/m1" halt --destroy >/dev/null 2>&1
is "$(ls "$TMP/m1/shared" | grep -v lock)" "" "who ends all nodes for good ends their folders, too"
ok "(and their loop devices)" wait_for 60 loops_are 0 || losetup -l | sed 's/^/# /'
"$AGENTD" --data "$TMP/p" --driver process inventory --json >"$TMP/p.json" 2>/dev/null
is "$(jq -c .capacity.shared_storage "$TMP/p.json")" false "a machine without the driver ns says that its nodes share nothing"
done_testing
