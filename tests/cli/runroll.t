#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run in batches: their order, pauses, the end after too many failures.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 5 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-5]' "$@"; }
here='here=$(echo "$SSH_CONNECTION" | cut -d" " -f3); here=${here##*.};'
# A host's turn: an empty file for it, and how many others are at work.
turn="$here : >$TMP/at.\$here; ls $TMP | grep -c '^at' >>$TMP/most; echo \$here >>$TMP/order; sleep 0.3; rm $TMP/at.\$here;"
turns() { sort -n order 2>/dev/null | paste -sd ' '; }
begin() { rm -f order most came.*; }

# ---- Batches ----
# Each waits for its partner, so that a slow machine's two are at work together, too.
both="$here : >$TMP/at.\$here; : >$TMP/came.\$here; other=\$((here % 2 ? here + 1 : here - 1)); until [ \$other -gt 5 -o -e $TMP/came.\$other ]; do sleep 0.05; done;"
run nanopod_run --batch 2 -- "$both $turn"
is "$status" 0 "two at a time"
is "$(sort -n most | tail -n 1)" 2 "never more"
is "$(paste -sd ' ' order | awk '{ print ($1 < 3) + ($2 < 3), ($3 > 2 && $3 < 5) + ($4 > 2 && $4 < 5), $5 }')" "2 2 5" \
	"in the order of the selection, and the next batch begins when the last has ended"
begin
run nanopod_run --batch 20% -- "$turn"
is "$(paste -sd ' ' order)" "1 2 3 4 5" "a share of the hosts"
begin
run nanopod_run --batch 10% -- "$turn"
is "$(paste -sd ' ' order)" "1 2 3 4 5" "at least one host"
run nanopod_run --batch 2 --pause 1s -o jsonl -- "$here echo \$here \$(date +%s%N)"
paused=$(sed -n 's/.*"data":"\([0-9]* [0-9]*\).*/\1/p' "$TMP/.out" | sort -n | awk '{ at[$1] = $2 }
	END { print (at[3] - at[1] >= 1e9 && at[3] - at[2] >= 1e9), (at[5] - at[4] >= 1e9) }')
is "$paused" "1 1" "--pause is between the batches"
printf 'in put\n' >in
run_stdin in nanopod_run --batch 2 -b --stdin -- cat
is "$out" "$(printf -- '---- n[1-5] (5 hosts)\nin put')" "each batch gets standard input"
head -c 3000000 /dev/zero | tr '\0' x >large
run_stdin large nanopod_run --batch 2 -b --stdin -- 'wc -c'
is "$out" "$(printf -- '---- n[1-5] (5 hosts)\n3000000')" "a large one too"
printf 'echo script; cat\n' >script.sh
run_stdin in nanopod_run --batch 2 -b --stdin --script script.sh
is "$out" "$(printf -- '---- n[1-5] (5 hosts)\nscript\nin put')" "and a script before it"

# ---- Too many failures ----
# The first fails when the second is at work, too: what a slow machine has not begun by then is not begun any more.
late="$both $turn sleep 1; [ \$here -ne 1 ]"
begin
run nanopod_run --batch 2 --max-fail 0 -- "$late"
is "$status" 10 "--max-fail 0"
is "$(turns)" "1 2" "the batch ends, and no further host begins"
like "$err" '^nanopod: 1 of 5 hosts failed, 3 were not begun:$' "those are counted apart"
like "$err" 'not begun, because 1 host failed \(--max-fail\) \(3\): n\[3-5\]' "and named"
like "$err" 'exit status 1 \(1\): n1' "beside what failed"
begin
run nanopod_run --batch 1 --max-fail 1 -- "$turn [ \$here -eq 2 ]"
is "$(turns)" "1 2 3" "--max-fail 1 bears one failure"
like "$err" '^nanopod: 2 of 5 hosts failed, 2 were not begun:$' "and not a second one"
begin
run nanopod_run --batch 1 --max-fail 40% -- "$turn false"
is "$(turns)" "1 2 3" "a share of all hosts"
begin
run nanopod_run -f 1 --max-fail 0 -- "$turn [ \$here -ne 2 ]"
is "$(turns)" "1 2" "with --fanout too"
like "$err" '^nanopod: 1 of 5 hosts failed, 3 were not begun:$' "which counts the same"
begin
run nanopod_run --batch 2 --max-fail 0 -o jsonl -- "$late"
is "$(grep -c '"type":"error".*not begun.*"cancelled":true' "$TMP/.out") $(grep -c '"type":"exit"' "$TMP/.out")" "3 2" \
	"jsonl has one end for each host"
begin
run nanopod_run --batch 2 --max-fail 0 --save saved -- "$late"
begin
run timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" --failed-from saved -- "$turn"
is "$(turns)" "1 3 4 5" "--failed-from goes on with them"

# ---- Ctrl-C in the pause ----
if [ -x "$PTY" ]; then
	begin
	printf 'expect pause before batch 2 of 3\nsend \\x03\n' >ctrlc
	status=0
	timeout 200 "$PTY" ctrlc "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-5]' --batch 2 --pause 1h -- "$turn" >seen 2>&1 || status=$?
	is "$status $(turns)" "130 1 2" "Ctrl-C in the pause: no further host begins"
	like "$(cat seen)" '0 of 5 hosts failed, 3 were not begun' "and they are counted"
	like "$(cat seen)" 'not begun when you stopped it.* \(3\): n\[3-5\]' "and named"
else
	skip "tests/lib/pty is not built"
fi

# ---- Refused ----
for wrong in 0 -1 x 2x 101% %; do
	run_is 2 "--batch $wrong" nanopod_run --batch "$wrong" -- true
done
like "$err" "'%' is neither a number of hosts nor a share like 25%" "and why"
run_is 2 "--max-fail x" nanopod_run --max-fail x -- true
run_is 2 "--pause without --batch" nanopod_run --pause 1s -- true
like "$err" "'--batch 1'" "and what to type"
run_is 2 "not through gateways" nanopod_run --via gw --batch 1 -- true
done_testing
