# SPDX-License-Identifier: Apache-2.0
# Real nodes of an agent in a test, after tap.sh, marketd.sh and agentd.sh (bash):
#     life_begin [OPTION…]        starts a market and checks what the driver $TEST_DRIVER (process) needs; else skips
#     agentd_start NAME "${LIFE_OPTIONS[@]}" …
#     life_in NODE COMMAND        runs it by SSH, accepting only the host key that the market tells
#     life_sleep WORD             prints a command that leaves a process in a node; life_pid WORD: its pid here
# The driver ns needs root and a folder of images, $TEST_IMAGES.

LIFE_DRIVER=${TEST_DRIVER:-process}
LIFE_MARK=8$$
LIFE_PORT=$PORTS
LIFE_OPTIONS=(--driver "$LIFE_DRIVER" --first-port $LIFE_PORT)
PATH=$PATH:/usr/sbin:/sbin

life_begin() {
	command -v sshd >/dev/null || skip_all "sshd is not installed (Debian: openssh-server)"
	need ssh pgrep
	if [ "$LIFE_DRIVER" = ns ]; then
		[ "$(id -u)" -eq 0 ] || skip_all "driver 'ns' needs root"
		TEST_IMAGES=${TEST_IMAGES:-$BUILD/images}
		[ -d "$TEST_IMAGES" ] || skip_all "no image: 'nanopod-agentd --images $BUILD/images image build' makes one"
		LIFE_OPTIONS+=(--images "$TEST_IMAGES" --no-uplink)
	fi
	life_why=$("$AGENTD" --data "$TMP/probe" "${LIFE_OPTIONS[@]}" drivers --json 2>/dev/null |
		jq -r --arg d "$LIFE_DRIVER" '.[] | select(.name == $d) | if .works then "" else .why end')
	[ -z "$life_why" ] || skip_all "driver '$LIFE_DRIVER' does not work here: $life_why"
	agentd_market "$@"
}

# life_holding WORD: does the driver promise this isolation here?
life_holding() {
	"$AGENTD" --data "$TMP/probe" "${LIFE_OPTIONS[@]}" drivers --json 2>/dev/null |
		jq -e --arg d "$LIFE_DRIVER" --arg w "$1" '.[] | select(.name == $d) | .holds | index($w)' >/dev/null
}

# ---- In a node -------------------------------------------------------------------------------------------------
ssh_known() { node "$1" '.ssh | "[\(.hostname)]:\(.port) \(.host_keys[0].type) \(.host_keys[0].key)"'; }
life_in() { ssh_known "$1" >"$TMP/.known"; life_in_known "$TMP/.known" "$@"; }
life_in_known() {
	life_known=$1
	shift
	node "$1" '.ssh | "\(.hostname) \(.port) \(.user)"' >"$TMP/.where"
	read -r life_host life_port life_user <"$TMP/.where"
	ssh -F none -i "${LIFE_KEY:-$TMP/buyer}" \
		-o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20 \
		-o GlobalKnownHostsFile=none -o UserKnownHostsFile="$life_known" -o LogLevel=ERROR -p "$life_port" \
			"$life_user@$life_host" "$2" </dev/null 2>"$TMP/.ssh"
}

# Identifies a process by a number that nothing else has: 'sleep' for so many seconds.
life_number() { printf '%s%s' "$LIFE_MARK" "$(printf '%s' "$1" | cksum | cut -c1-5)"; }
# It returns when the process is the sleep: before, it is a shell and setsid.
life_sleep() { printf 'setsid sleep %s >/dev/null 2>&1 </dev/null & until grep -qx sleep /proc/$!/comm || ! kill -0 $!; do sleep 0.05; done' "$(life_number "$1")"; }
life_pid() { pgrep -xf "sleep $(life_number "$1")" | head -n 1; }

# ---- On the machine ----------------------------------------------------------------------------------------------
life_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
# life_left AGENT ID: prints what is left of a node: its folder, processes that name it, mounts, control groups. Nodes of
# other tests have the same ids, so mounts count below this one's folder only.
LIFE_PREFIX=''
# life_prefix WORD: the prefix of the agent's control groups, as a process in one of its nodes shows it (other markets
# use the same ids).
life_prefix() { LIFE_PREFIX=$(sed -n 's,.*/\(np[0-9a-f]*-\)n-inst_.*,\1,p' "/proc/$(life_pid "$1")/cgroup" 2>/dev/null | head -n 1); }
life_left() {
	[ ! -e "$TMP/$1/nodes/$2" ] || echo "$TMP/$1/nodes/$2"
	pgrep -af "$TMP/$1/nodes/$2" | grep -v pgrep
	grep -s "$2" /proc/self/mountinfo | sed "\\,nanopod-test\\., { \\,$TMP/,!d }"
	[ -z "$LIFE_PREFIX" ] || ls -d /sys/fs/cgroup/"$LIFE_PREFIX"*"$2"* /sys/fs/cgroup/*/"$LIFE_PREFIX"*"$2"* 2>/dev/null
}
life_gone() { [ ! -e "$TMP/$1/nodes/$2" ] && [ -z "$(life_left "$@")" ]; }
life_nothing() { [ -z "$(ls "$TMP/$1/nodes")" ] && [ "$(agentd_status "$1" '.nodes | length')" = 0 ]; }
# life_holds AGENT TEXT: is it in any file of its folder, disks included? Without the holes of disks: they are large.
life_holds() { tar -cSf - -C "$TMP/$1" nodes 2>/dev/null | grep -aqF -e "$2"; }
life_say() { [ -z "${2-}" ] || life_left "$1" "$2" | sed 's/^/# left: /'; tail -n 30 "$TMP/$1.log" |
	sed 's/^/# /'; [ ! -s "$TMP/.ssh" ] || sed 's/^/# ssh: /' "$TMP/.ssh"; }

# ledger TOKEN: an account's rows, one JSON object per line.
ledger() { as "$1" GET '/np/v1/ledger?limit=1000' | jq -c '.data[]'; }
