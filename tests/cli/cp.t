#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod cp against real sshd. The hosts share this machine's disk.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 4 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
cp_() { timeout -k 5 300 "$NANOPOD" cp -F "$SSHD_CONFIG" "$@"; }
mkdir there
D=$TMP/there

# ---- To hosts ----
echo alpha >a; echo beta >b; head -c 2500000 /dev/urandom >large
run_is 0 "two files to a directory" cp_ a b "n1:$D/"
ok "are there" cmp a there/a
ok "both" cmp b there/b
like "$err" "copied 11 B .* to 1 host" "and it is said what was copied"
run_is 0 "to several hosts under another name" cp_ large "n[1-3]:$D/renamed"
ok "whole" cmp large there/renamed
is "$(ls -A there | paste -sd ' ')" "a b renamed" "no temporary name is left"
run_is 0 "-w and :PATH" cp_ -q -w 'n[1-2]' -x n2 a ":$D/byw"
is "$err" "" "-q says nothing"
ok "is the same" cmp a there/byw
mkdir -p 'tree/sub dir/deep' && echo 1 >'tree/sub dir/deep/x' && : >tree/empty && chmod 750 tree/empty && touch -d '2001-02-03 04:05:06' tree/empty
run_is 2 "a directory without -r" cp_ tree "n1:$D/"
like "$err" "'-r'" "what to type is said"
run_is 0 "-r -p" cp_ -r -p tree "n1:$D/"
ok "the same tree" diff -r tree there/tree
is "$(stat -c '%a %Y' there/tree/empty)" "$(stat -c '%a %Y' tree/empty)" "mode and time are kept"
run_is 0 "--checksum" cp_ --checksum large "n[1-2]:$D/checked"
ok "is the same" cmp large there/checked

# ---- What cannot be ----
run_is 2 "neither side is remote" cp_ a c
like "$err" "neither 'a' nor the target 'c'" "is said"
run_is 2 "both sides are" cp_ n1:/a n2:/b
like "$err" "both" "is said"
run_is 3 "a file that is not here" cp_ nosuch "n1:$D/"
run_is 1 "a directory that is not there" cp_ a "n1:$D/no/such/"
run_is 2 "':PATH' on no host" cp_ a :/x
run_is 255 "one host that cannot be reached" cp_ a "nosuch.invalid:$D/x"
run_is 10 "many, and none can" cp_ a "nosuch.invalid,n1:$D/no/such/"
run_is 2 "{host} in a target on hosts" cp_ a "n[1-2]:$D/{host}"
like "$err" "copies from hosts" "is refused"
run_is 10 "a range of one host" cp_ a "nosuch[1].invalid:$D/x"
run_is 10 "a selection of one" cp_ -w nosuch.invalid a ":$D/x"
run_is 10 "and from one" cp_ -w nosuch.invalid ":$D/x" './got-{host}'
run_is 10 "some cannot" cp_ a "n1,nosuch.invalid:$D/some"
like "$err" "nosuch.invalid" "which is told"
ok "the other one has it" cmp a there/some
run_is 0 "a colon in a local name" cp_ ./a "n1:$D/with:colon"
ok "and in a remote one" cmp a there/with:colon

# ---- From hosts ----
run_is 0 "one file from one host" cp_ "n1:$D/a" got
ok "is the same" cmp a got
mkdir gotdir
run_is 0 "into a directory" cp_ "n1:$D/a" "n1:$D/b" gotdir
ok "both are there" cmp b gotdir/b
run_is 2 "one name for many hosts is refused" cp_ "n[1-3]:$D/a" one
like "$err" "\{host\}" "with the way out"
not_ok "and nothing is made" test -e one
run_is 0 "{host} in the name" cp_ "n[1-3]:$D/a" 'logs/{host}.txt'
is "$(ls logs | paste -sd ' ')" "n1.txt n2.txt n3.txt" "a file for each"
run_is 0 "a directory gets one for each host" cp_ "n[1-3]:$D/a" "n[2-3]:$D/b" each/
is "$(cd each && find . -type f | sort | paste -sd ' ')" "./n1/a ./n2/a ./n2/b ./n3/a ./n3/b" "with what each one has"
run_is 0 "-r" cp_ -r "n[1-2]:$D/tree" 'trees/{host}'
ok "whole trees" diff -r tree trees/n2
run_is 3 "a file that is not there" cp_ "n1:$D/nosuch" x
not_ok "leaves nothing" test -e x
run_is 3 "a wildcard that nothing matches" cp_ "n1:$D/nosuch*" x
like "$err" "no file on the host matches '$D/nosuch\*'" "is told"
run cp_ -o jsonl "n[1-2]:$D/a" "n1:$D/nosuch" j/
is "$status" 10 "jsonl"
if have jq; then
	is "$(jq -r 'select(.type=="exit")|"\(.host) \(.bytes)"' "$TMP/.out" | sort | paste -sd ' ')" "n1 6 n2 6" "bytes a host"
	is "$(jq -r 'select(.type=="error").code' "$TMP/.out")" PSSH_ENOENT "and errors"
fi

# ---- One connection is cut ----
"$BUILD/tests/lib/badproxy" ports 1 cut@60000000 1 "$(sshd_address 2):$SSHD_PORT" &
proxy=$!
at_exit "kill $proxy 2>/dev/null"
if wait_for 20 test -s ports; then
	port=$(cut -d' ' -f1 ports)
	echo "[127.0.0.1]:$port $sshd_key" >>"$SSHD_KNOWN"
	{ printf 'Host cut\n HostName 127.0.0.1\n Port %s\n' "$port"; cat "$SSHD_CONFIG"; } >cutconfig
	head -c 80000000 /dev/zero >there/long
	run_is 10 "from one host of two" timeout -k 5 100 "$NANOPOD" cp -F cutconfig -w n1,cut ":$D/long" 'cuts-{host}'
	like "$err" "copied 76\.[0-9] MiB .* from 1 host" "what the other got before does not count"
	ok "the whole file is there" cmp there/long cuts-n1
	not_ok "no half of one" test -e cuts-cut
	rm -f there/long cuts-n1
else
	fail "a network that cuts connections"
fi
kill "$proxy" 2>/dev/null

# ---- Interrupted ----
head -c 300000000 /dev/urandom >huge
grown() { local f; for f in "$1"/.*huge* "$1"/*huge*; do [ -f "$f" ] && [ "$(stat -c %s "$f")" -gt 5000000 ] && return; done; return 1; }
# The part that was there is gone on with: the file keeps its inode from then on.
part_of() { stat -c %i "$1"/.*huge* 2>/dev/null | head -n 1; }
# stall BYTES: for who has ./stalls as configuration, n1 says no more than that and then hears nothing any more: a copy
# is begun and never over, however fast this machine is.
stall() {
	rm -f ports
	"$BUILD/tests/lib/badproxy" ports 1 "stall@$1" 1 "$(sshd_address 1):$SSHD_PORT" &
	proxy=$!
	at_exit "kill $proxy 2>/dev/null"
	wait_for 20 test -s ports || fail "a network that stalls"
	port=$(cut -d' ' -f1 ports)
	echo "[127.0.0.1]:$port $sshd_key" >>"$SSHD_KNOWN"
	{ printf 'Host n1\n HostName 127.0.0.1\n Port %s\n' "$port"; cat "$SSHD_CONFIG"; } >stalls
}
stall_end() { kill $proxy; wait $proxy 2>/dev/null; }
stall 200000
"$NANOPOD" cp -F stalls --resume huge "n1:$D/" 2>/dev/null &
pid=$!
wait_for 20 grown there
kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
stall_end
not_ok "killed on the way: the name does not exist" test -e there/huge
part=$(part_of there)
run_is 0 "--resume" cp_ --resume --checksum huge "n1:$D/"
ok "ends in the same file" cmp huge there/huge
is "$(stat -c %i there/huge)" "$part" "and goes on with what was there"
stall 100000000
"$NANOPOD" cp -F stalls --resume "n1:$D/huge" gotdir/ 2>/dev/null &
pid=$!
wait_for 20 grown gotdir
kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
stall_end
part=$(part_of gotdir)
run_is 0 "--resume of a get" cp_ --resume --checksum "n1:$D/huge" gotdir/
ok "ends in the same file" cmp huge gotdir/huge
is "$(stat -c %i gotdir/huge)" "$part" "and goes on with what was there"
stall 200000
"$NANOPOD" cp -F stalls --resume huge "n[1-2]:$D/intr" 2>err &
pid=$!
wait_for 20 eval 'ls -A there | grep -q intr'
kill -INT $pid
status=0; wait $pid || status=$?
is "$status" 130 "Ctrl-C"
like "$(cat err)" "repeat the command to continue" "with --resume: how it goes on is said"
stall_end
rm -f huge there/huge there/intr there/.*intr* gotdir/huge

# ---- A full disk ----
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=1m none small 2>/dev/null; then
	at_exit "umount '$TMP/small'"
	run_is 1 "the disk there is full" cp_ large "n1:$TMP/small/x"
	like "$err" "space|full|fail" "is said"
	not_ok "and no half file has the name" test -e small/x
	rm -f small/* small/.[!.]*
	run_is 1 "the disk here is full" cp_ "n1:$D/renamed" small/
	like "$err" "space" "is said"
	not_ok "and no half file has the name" test -e small/renamed
else
	skip "no small file system can be mounted"
fi

if [ -x "$PTY" ]; then
	head -c 60000000 /dev/zero >big
	stall 30000
	printf 'expect %% \nexpect iB of \nexpect /s\nsend \\x03\n' >watch
	timeout 60 "$PTY" watch "$NANOPOD" cp -F stalls big "n[1-4]:$D/{}" >.shown 2>&1
	stall_end
	like "$(tr '\r' '\n' <.shown)" '[0-9]+% [0-9.]+ [KM]iB of [0-9.]+ MiB, .*/s' "progress: part, bytes, rate"
else
	skip "tests/lib/pty is not built"
fi
done_testing
