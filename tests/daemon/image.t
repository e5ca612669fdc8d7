#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `nanopod-agentd image`: a build that fails or is killed leaves nothing under an image's name; a complete one is found,
# listed and removed. The complete build needs root, mmdebstrap and a reachable mirror.
. "$(dirname "$0")/../lib/tap.sh"
AGENTD=$BUILD/nanopod-agentd
[ -x "$AGENTD" ] || skip_all "nanopod-agentd is not built"
command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
I=$TMP/images
mkdir -m 700 "$TMP/data"
image() { "$AGENTD" --data "$TMP/data" --images "$I" image "$@"; }

# run STATUS COMMAND…: its output is in out and err.
run() {
	want=$1; shift
	"$@" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq "$want" ]
}

ok "no image: said" run 0 image list
ok "with the command that makes one" grep -q 'nanopod host image build' "$TMP/out"
ok "an unknown release is a usage error" run 2 image build plan9
ok "a path is no name" run 2 image build ../x
ok "what is not there cannot be removed" run 3 image remove debian-12

# Does nothing of a build run any more? Each of its programs has the folder in its command line.
none_left() {
	for tries in $(seq 600); do
		pgrep -f "[m]mdebstrap.*$I/" >/dev/null || return 0
		sleep 0.1
	done
	return 1
}

if [ "$(id -u)" -ne 0 ]; then
	done_testing; exit
fi

ok "no network: it fails" run 1 unshare --net "$AGENTD" --data "$TMP/data" --images "$I" image build
ok "and says so in one sentence" grep -q "cannot build the image 'debian-12': .*can this machine reach its mirrors" \
	"$TMP/err"
ok "which names the log" grep -q "its log is '$I/failed-build.log'" "$TMP/err"
ok "that has what mmdebstrap said" grep -q '^[EWI]: ' "$I/failed-build.log"
is "$(ls "$I")" "failed-build.log
lock" "nothing else is left of it"

# Killed in the middle: its programs go with it.
"$AGENTD" --data "$TMP/data" --images "$I" image build >"$TMP/out" 2>"$TMP/err" & pid=$!
for tries in $(seq 600); do
	grep -q 'step 1 of 7' "$TMP/err" && break
	kill -0 $pid 2>/dev/null || break
	sleep 0.1
done
ok "a second build at the same time is refused" run 5 image build debian-12-other
kill -9 $pid; wait $pid 2>/dev/null
ok "killed in the middle, nothing of it runs" none_left
not_ok "nor is there an image" test -e "$I/debian-12"
not_ok "or a mount" grep -q "$I" /proc/mounts

if ! run 0 image build; then
	diag "$(cat "$TMP/err")"
	if grep -q 'can this machine reach its mirrors' "$TMP/err"; then
		diag "no mirror within reach: the whole build was not tried"
		done_testing; exit
	fi
fi
ok "built" test -x "$I/debian-12/root/usr/sbin/sshd"
is "$(sed -n 's/^debian-12: step \([0-9]\) of 7, [0-9]* s: .*/\1/p' "$TMP/err" | tr -d '\n')" 1234567 "it says how far it is, and for how long it has worked"
not_ok "in words of its own" grep -q 'apt-get\|chroot\|success' "$TMP/err"
is "$(ls "$I" | sed 's/@.*/@/')" "debian-12
debian-12@
lock" "what the killed one left is gone"
is "$(ls "$I"/debian-12/root/etc/ssh/ssh_host_* 2>/dev/null)" "" "no host key is in it"
is "$(cat "$I/debian-12/root/etc/machine-id")" "" "nor a machine's id"
ok "under 320 MB" test "$(du -sm "$I/debian-12/root" | cut -f1)" -lt 320
ok "again: there already" run 0 image build
ok "listed" run 0 image list
ok "by name, with its release" grep -q '^debian-12 .*bookworm' "$TMP/out"
ok "removed" run 0 image remove debian-12
is "$(ls "$I")" "lock" "with all of it"
done_testing
