#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A volume outlives the nodes that wrote it: later nodes of its account on its machine have all of it, those of others see
# nothing; an agent that is killed keeps it, who does not pay finds it again in time, and what is deleted leaves nothing.
# Needs root and an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin
life_holding disk || skip_all "no disk can be limited here"
GIB=$((1 << 30))
[ "$(df -B$GIB --output=avail "$TMP" | tail -n 1)" -gt $(($(df -B$GIB --output=size "$TMP" | tail -n 1) / 20 + 10)) ] || skip_all "too little space is free in $TMP"

agentd_join m1 2 "${LIFE_OPTIONS[@]:0:2}" --images "$TEST_IMAGES" || { done_testing; exit; }
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
AGENT=$(json .agent <"$TMP/m1/agent.json")
lets() { as "$FOUNDRY" PUT "/np/v1/agents/$AGENT/volumes" "{\"max_gib\":$1,\"gib_month_dollars\":\"$2\"}"; }
knows() { [ "$(as "$FOUNDRY" GET "/np/v1/agents/$AGENT" | jq -r .inventory.capacity.shared_storage)" = true ]; }
ok "the market hears what the machine can" wait_for 60 knows || { life_say m1; done_testing; exit; }
ok "a machine does not let more than it has" test "$(lets 1000000 0.05 | json .error.code)" = no_room
is "$(lets 2 7.30 | json .free_gib)" 2 "its owner lets 2 GiB"
make_volume() { as "$1" POST /np/v1/volumes "{\"name\":\"$2\",\"gib\":$3,\"agent\":\"$AGENT\",\"max_gib_month_dollars\":\"${4:-7.30}\"}"; }
is "$(make_volume "$ACME" data 3 | json .error.code)" no_capacity "nobody gets more"
is "$(make_volume "$ACME" data 1 0.01 | json .error.code)" price_too_low "or for less"
make_volume "$ACME" data 1 >"$TMP/.volume"
VOLUME=$(json .id <"$TMP/.volume")
is "$(json .state <"$TMP/.volume") $(json .hourly_dollars <"$TMP/.volume" | cut -c1-6)" "paid 0.0100" "a volume is paid by the hour"
kept() { [ -s "$TMP/m1/volumes/$VOLUME/volume.json" ]; }
ok "its agent knows of it" wait_for 60 kept || { life_say m1; cat "$TMP/.volume"; done_testing; exit; }

# ---- Written, and there again -------------------------------------------------------------------------------------------
buy() { agentd_buy "$1" 1 3600; ok "$1-1 runs" wait_for 120 node_is "$1-1" running; }
finish() {
	gone=$(node "$1-1" .id)
	as "$ACME" POST "/np/v1/pools/$1/release" '{}' >/dev/null
	agentd_clock $(($(cat "$TMP/clock") + 60))
	ended() { life_gone m1 "$gone"; }
	ok "$1-1 ends" wait_for 120 ended || life_say m1 "$gone"
}
buy one || { life_say m1; done_testing; exit; }
is "$(life_in one-1 'stat -c "%u:%g %a" /volumes/data; cd /volumes/data && dd if=/dev/urandom of=big bs=1M count=100 2>/dev/null && mkdir many && cd many && for i in $(seq 10000); do echo $i >$i; done; ls | wc -l; chown -R 1234:1234 /volumes/data/many' | tr '\n' ' ')" \
	"0:0 755 10000 " "a node writes 100 MB and 10,000 files into it"
sum() { life_in "$1" 'cd /volumes/data && sha256sum big && find many -type f | sort | xargs cat | sha256sum; stat -c "%u %n" many/77; sync'; }
before=$(sum one-1)
agentd_kill m1
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
finish one
buy two || life_say m1
is "$(sum two-1)" "$before" "the next node has all of it, with its owners, also after its agent was killed"
marketd_account other 100.00
OTHER=$(marketd_token other read trade nodes)
(
	ACME=$OTHER
	agentd_buy theirs 1 3600
)
MINE=$ACME ACME=$OTHER
ok "another account's node on that machine runs" wait_for 120 node_is theirs-1 running || life_say m1
is "$(life_in theirs-1 'ls -A /volumes 2>&1 | head -n 1' | grep -c data)" 0 "and sees nothing of it"
is "$(as "$OTHER" GET /np/v1/volumes | jq '.data | length')" 0 "nor does its owner"
is "$(as "$OTHER" DELETE "/np/v1/volumes/$VOLUME" | json .error.code)" not_found "who cannot delete it"
ACME=$MINE
df_of() { life_in "$1" 'df -B1M --output=size /volumes/data | tail -n 1'; }
ok "it is as large as it was bought" test "$(df_of two-1)" -le 1075 -a "$(df_of two-1)" -ge 980
is "$(life_in two-1 'dd if=/dev/zero of=/volumes/data/full bs=1M count=2000 2>&1 | grep -c "No space left"; rm /volumes/data/full')" 1 "and not larger"
finish two

# ---- Money ----------------------------------------------------------------------------------------------------------------
paid() { as "$ACME" GET "/np/v1/volumes/data" | json ".$1"; }
now=$(cat "$TMP/clock")
operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"-$(as "$ACME" GET /np/v1/balance | json .available_dollars)\",\"reason\":\"out\"}" >"$TMP/.credit"
agentd_clock $((now + 3660))
is "$(paid state)" unpaid "who has no money for the next hour has an unpaid volume"
unmounted() { jq -e '.mounted == false' "$TMP/m1/volumes/$VOLUME/volume.json" >/dev/null; }
ok "which new nodes do not see" wait_for 60 unmounted
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"50.00","reason":"in"}' >/dev/null
agentd_clock $((now + 3720))
is "$(paid state)" paid "paid in time, it is back"
mounted() { jq -e .mounted "$TMP/m1/volumes/$VOLUME/volume.json" >/dev/null; }
wait_for 60 mounted || life_say m1
# Nobody reads a folder. By one rename: were it away for a moment, the agent would put the volume aside, or a node start.
hide() { ln "$TMP/m1/volumes/$VOLUME/volume.json" "$TMP/volume.json" && ln -s / "$TMP/folder" && mv -T "$TMP/folder" "$TMP/m1/volumes/$VOLUME/volume.json"; }
show() { mv -T "$TMP/volume.json" "$TMP/m1/volumes/$VOLUME/volume.json"; }
hide
agentd_buy away 1 3600
refused() { as "$ACME" GET /np/v1/nodes/away-1 | grep -q "start: volume 'data' cannot be read"; }
ok "while it cannot be read no node starts without it: one that is new fails, with the reason" wait_for 60 refused || life_say m1
show
as "$ACME" POST /np/v1/pools/away/release '{}' >/dev/null
buy three || life_say m1
hide
life_in three-1 'echo kept >/root/kept; poweroff' || true
waits() { [ "$(grep -c "$(node three-1 .id): start failed ([0-9]*): volume 'data' cannot be read" "$TMP/m1.log")" -ge 6 ]; }
ok "one that restarts waits for it, longer than a node is tried" wait_for 180 waits || life_say m1
show
again() { [ "$(life_in three-1 'cat /root/kept')" = kept ]; }
ok "and goes on with its own disk when it can be read again" wait_for 180 again || life_say m1
ok "its log says what it waited for" grep -qF "start: volume 'data' cannot be read" "$TMP/m1/nodes/$(node three-1 .id)/console"
is "$(sum three-1)" "$before" "with all that was in it"

# ---- Larger, while a node has it ---------------------------------------------------------------------------------------------
is "$(as "$ACME" PATCH /np/v1/volumes/data '{"gib":2,"max_gib_month_dollars":"7.30"}' | json .gib)" 2 "it is made larger"
device_of() { losetup -n -O NAME -j "$TMP/m1/volumes/$VOLUME/disk.img"; }
longer() { [ "$(blockdev --getsize64 "$(device_of)")" -ge 2147483648 ]; }
ok "its device, under a node that runs" wait_for 60 longer || life_say m1
larger() { size=$(df_of three-1) && [ "${size:-0}" -ge 2000 ] && [ "$size" -le 2150 ]; }
if [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 24 & 1)) -eq 1 ]; then
	ok "what the node can write too" wait_for 60 larger || diag "$(df_of three-1)"
else
	skip "this machine keeps root from enlarging a file system that is mounted (CAP_SYS_RESOURCE)"
fi
is "$(sum three-1)" "$before" "with all that was in it"
life_in three-1 'touch /run/before; poweroff' || true
anew() { life_in three-1 '[ ! -e /run/before ]' && larger; }
ok "and in any case once the node starts again" wait_for 120 anew || { life_say m1; diag "$(df_of three-1)"; }
is "$(sum three-1)" "$before" "with all that was in it, again"
is "$(as "$ACME" GET "/np/v1/report?from=$NOW&to=$((now + 7200))" | jq '[.data[] | select(.kind == "storage")] | length > 0')" true "a report says what it cost"

# ---- Its end ----------------------------------------------------------------------------------------------------------------
is "$(life_in three-1 'rmdir /volumes/data; mv /volumes/data /volumes/other; mv /volumes /away; ln -s /etc /volumes/etc; mkdir /volumes/mine; ls -d /volumes/* /away' 2>/dev/null | tr '\n' ' ')" \
	"/volumes/data " "who is root in a node puts nothing beside its volumes"
is "$(sum three-1)" "$before" "(nor removes them)"
life_in three-1 '(cd /volumes/data; exec setsid sh -c "exec 9<many/77; while sleep 0.2; do dd if=/dev/zero of=new bs=1M count=1 conv=fsync; done") >/dev/null 2>&1 </dev/null &'
as "$ACME" DELETE /np/v1/volumes/data >/dev/null
is "$(http_status)" 204 "it is deleted while a node writes to it"
vanished() { [ ! -e "$TMP/m1/volumes/$VOLUME" ] && [ ! -e "$TMP/m1/volumes/$VOLUME.deleted" ]; }
ok "its machine deletes it at once" wait_for 120 vanished || life_say m1
told() { [ "$(as "$ACME" GET /np/v1/volumes | jq '.data | length')" = 0 ]; }
ok "and the market hears of it" wait_for 60 told || life_say m1
is "$(life_in three-1 'cat /volumes/data/many/78 || echo lost; echo x >/volumes/data/y || echo lost; df --output=target / | tail -n 1' 2>/dev/null | tr '\n' ' ')" \
	"lost lost / " "the node has it no longer, and runs on"
held() { [ "$(losetup -l -n -O BACK-FILE,NAME | grep -c "$TMP/m1/volumes.*deleted")" -le 1 ]; }
ok "nobody keeps its room" wait_for 60 held || losetup -l | sed 's/^/# /'
is "$(make_volume "$ACME" data 1 | json .state)" paid "which is sold again, also under its name"
words() { life_in three-1 "echo $1 >/volumes/$1/words && ls -A /volumes/$1; stat -c '%u:%g %a' /volumes/$1" | tr '\n' ' '; }
has_data() { [ "$(words data)" = "lost+found words 0:0 755 " ]; }
ok "a node that runs has it at once, in place of what was deleted" wait_for 60 has_data || life_say m1
lets 3 7.30 >/dev/null
agentd_kill m1
BAD=$(make_volume "$ACME" bad 1 | json .id)
mkdir -p "$TMP/m1/volumes/$BAD/volume.json"
is "$(make_volume "$ACME" more 1 | json .state)" paid "one that is made while its agent is away"
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
has_more() { [ "$(words more)" = "lost+found words 0:0 755 " ]; }
ok "is in it when that is back, also beside one that cannot be read" wait_for 60 has_more || life_say m1
rmdir "$TMP/m1/volumes/$BAD/volume.json"
as "$ACME" DELETE /np/v1/volumes/bad >/dev/null
is "$(life_in three-1 'mv /volumes/more /volumes/x; cat /volumes/more/words; systemd-run -q --pipe --wait -p PrivateTmp=yes cat /volumes/data/words' 2>/dev/null | tr '\n' ' ')" \
	"more data " "as if it had been there at its start, also for its services"
agentd_kill m1
life_in three-1 poweroff || true
off() { [ -z "$(losetup -j "$TMP/m1/nodes/$(node three-1 .id)/disk.img")" ]; }
ok "(its node stops)" wait_for 60 off
mkdir "$TMP/disk" && mount -o loop "$TMP/m1/nodes/$(node three-1 .id)/disk.img" "$TMP/disk"
mkdir -p "$TMP/disk/upper/volumes/mine" && echo own >"$TMP/disk/upper/volumes/mine/file" # as its user could before there were volumes
chown -R --reference="$TMP/disk/upper" "$TMP/disk/upper/volumes"
umount "$TMP/disk"
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
own() { [ "$(life_in three-1 'cat /volumes/mine/file; ls /volumes' | tr '\n' ' ')" = "own mine " ]; }
ok "a node that has a /volumes of its own keeps that" wait_for 60 own || life_say m1
ok "as its log says" grep -q "/volumes is this node.s own and stays: move it away" "$TMP/m1/nodes/$(node three-1 .id)/console"
life_in three-1 'rm -r /volumes/mine; poweroff' || true
ok "until that is away" wait_for 60 has_more || life_say m1
as "$ACME" POST /np/v1/pools/three/release '{}' >/dev/null
agentd_clock $(($(cat "$TMP/clock") + 60))
emptied() { [ -z "$(ls "$TMP/m1/nodes")" ]; }
ok "the node ends, too" wait_for 120 emptied || life_say m1
# The kernel lets go of a mount, and so of its loop device, some time after the last process in it.
detached() { ! losetup -l -n -O BACK-FILE | grep -q "$TMP/m1/volumes"; }
ok "(no loop device is left)" wait_for 60 detached || losetup -l | sed 's/^/# /'

# ---- Another market, with the same ids ----------------------------------------------------------------------------------------
buy four || life_say m1
MORE=$(as "$ACME" GET /np/v1/volumes/more | json .id)
life_in four-1 'echo "of the first market" >/volumes/more/words; sync'
finish() { :; }
as "$ACME" POST /np/v1/pools/four/release '{}' >/dev/null
agentd_clock $(($(cat "$TMP/clock") + 60))
ok "(the last node ends)" wait_for 120 emptied || life_say m1
agentd_stop m1
"$AGENTD" --data "$TMP/m1" leave >"$TMP/.left" 2>&1
is "$?" 0 "the machine leaves its market" || diag "$(cat "$TMP/.left")"
marketd_stop
rm -rf "$TMP/market" "$TMP/buyer" "$TMP/buyer.pub"
agentd_market
agentd_join m1 2 "${LIFE_OPTIONS[@]:0:2}" --images "$TEST_IMAGES"
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
AGENT=$(json .agent <"$TMP/m1/agent.json")
ok "another market hears what it can" wait_for 60 knows || life_say m1
ok "what it kept for the first one is put aside" test -s "$TMP/m1/volumes/$MORE.old-1/disk.img"
lets 2 7.30 >/dev/null
make_volume "$ACME" more 1 >"$TMP/.volume"
VOLUME=$(json .id <"$TMP/.volume")
ok "its agent knows of a volume of that market" wait_for 60 kept || life_say m1
agentd_kill m1
mv "$TMP/m1/volumes/$VOLUME" "$TMP/m1/volumes/$VOLUME.deleted"
mv "$TMP/m1/volumes/$MORE.old-1" "$TMP/m1/volumes/$VOLUME" # as if both had the same id
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
ok "its log says where the other one is" grep -q "'$TMP/m1/volumes/$VOLUME.old-1' holds a volume of the market http" "$TMP/m1.log" || life_say m1
ok "so does its status" grep -q "volume without an owner in $TMP/m1/volumes/$VOLUME.old-1: .* rm -r $TMP" <<<"$("$AGENTD" --data "$TMP/m1" status)"
buy five || life_say m1
is "$(life_in five-1 'ls -A /volumes/more')" lost+found "a node of the account with the same id sees nothing of it"
as "$ACME" DELETE /np/v1/volumes/more >/dev/null
ok "its own is deleted" wait_for 120 vanished || life_say m1
ok "the other one stays" test -s "$TMP/m1/volumes/$VOLUME.old-1/disk.img"
done_testing
