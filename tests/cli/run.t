#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run against real sshd.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep
# What commands leave in a folder for temporary files is this test's alone.
mkdir "$TMP/temporary"
SSHD_EXTRA="SetEnv SHLVL=3 TMPDIR=$TMP/temporary"
sshd_up 5 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" "$@"; }
# A remote command that knows which host it is on: "case $here in …" with n1 as 1.
here='here=$(echo "$SSH_CONNECTION" | cut -d" " -f3); here=${here##*.};'
# Remote commands sleep for a time that is theirs alone: so neither they nor their shell are left where no
# command line holds it.
long() { echo $(($1 * 10000000 + $$)); }
gone() { ! pgrep -f "sleep $(long "$1")" >/dev/null; }

# ---- Labels ----
run nanopod_run -w 'n[1-3]' -- 'echo one; echo two; echo bad >&2'
is "$status" 0 "a command on three hosts"
is "$(sort "$TMP/.out")" "$(printf 'n%d: one\nn%d: two\n' 1 1 2 2 3 3)" "each line has its host in front"
is "$(sort "$TMP/.err")" "$(printf 'n%d! bad\n' 1 2 3)" "stderr stays apart, and is marked"
run nanopod_run -w n1 -w 127.0.0.1x -x 127.0.0.1x -- 'printf "no newline"'
is "$out" "n1: no newline" "a last line without a newline gets one, and -x leaves a host out"
run nanopod_run -w n1 -- 'echo a   b' "'c   d'" '$((1+1))'
is "$out" "n1: a b c   d 2" "words are joined by blanks for the shell there, as ssh does"
run nanopod_run -w n1 echo a -- b
is "$out" "n1: a -- b" "a '--' of the command stays in it"
# Variables that ssh_config sends; one that the server refuses is no failure.
{ printf 'SendEnv FOO_* BAR BAZ\nSendEnv -BA?\nSetEnv QUX="a b" QUX=c\n'; cat "$SSHD_CONFIG"; } >env_config
run env FOO_A=1 FOO_B='2 3' BAR=4 BAZ=5 OTHER=6 timeout 60 "$NANOPOD" run -F env_config -w 'n[1-2]' --no-label -- \
	'echo "<$FOO_A><$FOO_B><$BAR$BAZ$OTHER><$QUX>"'
is "$out" "$(printf '<1><2 3><><a b>\n<1><2 3><><a b>')" "SendEnv and SetEnv of ssh_config"
is "$err" "" "without a warning"
run env FOO_A=1 timeout 60 "$NANOPOD" ssh -F env_config n1 'echo "<$FOO_A>"'
is "$out" "<1>" "for nanopod ssh too"
printf '# hosts\nn1 n2\nn3\n' >hosts
run nanopod_run -w ^hosts -x n2 --no-label -- echo x
is "$out" "$(printf 'x\nx')" "hosts from a file, without labels"
run_stdin hosts nanopod_run -w - -- echo x
is "$(sort "$TMP/.out")" "$(printf 'n%d: x\n' 1 2 3)" "hosts from standard input"
head -c 300000 /dev/urandom >bytes
nanopod_run -w n1 --no-label --stdin -- cat <bytes >back
ok "without labels the bytes of one host are kept" cmp bytes back
run nanopod_run -w n1 -- "printf '\033[31mred\033[0m \033]0;title\007\n'"
is "$out" "$(printf 'n1: \033[31mred\033[0m \033]0;title\007')" "no terminal: nothing is taken out"

# ---- Exit statuses ----
run_is 7 "one host: its status" nanopod_run -w n1 -- exit 7
run_is 0 "all hosts well" nanopod_run -w 'n[1-3]' -- true
run_is 10 "some failed" nanopod_run -w 'n[1-3]' -- "$here [ \$here -ne 2 ]"
like "$err" '1 of 3 hosts failed' "the summary counts"
like "$err" 'exit status 1 \(1\): n2' "and names them under the cause"
run_is 10 "all failed is 10 too" nanopod_run -w 'n[1-3]' -- false
like "$err" 'exit status 1 \(3\): n\[1-3\]' "folded"
run_is 9 "-S: the largest" nanopod_run -S -w 'n[1-3]' -- "$here exit \$((here * 3))"
run_is 255 "-S: 255 of one not reached" nanopod_run -S -w n1,nosuch.invalid -- true
run_is 255 "one host that cannot be reached" nanopod_run -w nosuch.invalid -- true
like "$err" "nosuch.invalid.*; " "with a reason and what to do"
run_is 143 "one host, ended by a signal" nanopod_run -w n1 -- 'kill -TERM $$'
run_is 10 "one of 2 not reached" nanopod_run -w n1,nosuch.invalid -- echo here
is "$out" "n1:             here" "the other did its work"
run_is 2 "no hosts" nanopod_run -- true
like "$err" "nanopod run -w" "and what to type"
run_is 2 "no command" nanopod_run -w n1
run_is 2 "nobody is left" nanopod_run -w n1 -x n1 -- true
run_is 2 "--stdin and -w -" nanopod_run -w - --stdin -- cat

# ---- Gathered ----
run nanopod_run -w 'n[1-5]' -b -- "$here echo same; [ \$here -ne 4 ] || echo other"
is "$out" "$(printf -- '---- n[1-3,5] (4 hosts)\nsame\n---- n4 (1 host)\nsame\nother')" "gathered, the largest group first"
run nanopod_run -w 'n[1-5]' --diff -- "$here echo a; [ \$here -eq 2 ] && echo x || echo b; echo c"
is "$out" "$(printf -- '---- n[1,3-5] (4 hosts)\na\nb\nc\n---- n2 (1 host)\n@@ -2,1 +2,1 @@\n-b\n+x')" "--diff"
nanopod_run -w 'n[1-5]' --no-label -w n2 -x 'n[1,3-5]' -- 'printf "a\nx\nc\n"' >new 2>/dev/null
printf 'a\nb\nc\n' >old
printf '%s\n' "$out" | sed -n '/^@@/,$p' | { printf -- '--- old\n+++ old\n'; cat; } >patch
if have patch; then
	patch -s old patch
	ok "patch(1) makes the one from the other" cmp old new
else
	skip "patch is not installed"
fi
run nanopod_run -w 'n[1-4]' -b -- "$here exit \$((here / 4))"
is "$out" "$(printf -- '---- n[1-3] (3 hosts), no output\n---- n4 (1 host), exit status 1, no output')" "other statuses are other groups"
run nanopod_run -w 'n[1-3]' -b -- 'echo bad >&2'
is "$err" "$(printf -- '---- n[1-3] (3 hosts), stderr\nbad')" "gathered stderr"
run nanopod_run -w 'n[1-3]' -q -- 'echo x; echo y >&2'
is "$out$err" "" "-q is silent where all is well"

# ---- JSON ----
run nanopod_run -w 'n[1-2]' -o jsonl -- 'echo "a\"b"; printf "x\377\n"; echo e >&2; exit 3'
is "$status" 10 "jsonl: the status is the same"
if have jq; then
	cp "$TMP/.out" run.jsonl
	ok "jsonl: each line is JSON" jq -e . run.jsonl
	is "$(jq -r .seq run.jsonl | paste -sd ' ')" "$(seq 1 "$(grep -c . run.jsonl)" | paste -sd ' ')" "seq counts without a gap"
	# Which of the two streams comes first is not promised.
	is "$(for but in stderr stdout; do jq -r --arg but $but 'select(.host=="n1" and .type!=$but).type' run.jsonl; done | paste -sd ' ')" \
		"start stdout stdout exit start stderr exit" "the types, in order"
	is "$(jq -r 'select(.host=="n1" and .hostkey).type' run.jsonl)" start "what was agreed on is told once"
	like "$(jq -r 'select(.host=="n1" and .type=="start")|"\(.kex) \(.hostkey) \(.cipher)"' run.jsonl)" \
		'^[a-z0-9@.-]+ ssh-ed25519 (aes|chacha)[a-z0-9@.-]+$' "with key exchange, host key and cipher"
	is "$(jq -r 'select(.host=="n1" and .type=="stdout" and .data).data' run.jsonl)" 'a"b' "text as text"
	is "$(jq -r 'select(.host=="n1" and .base64).base64' run.jsonl)" "eP8K" "what is no UTF-8 as base64"
	is "$(jq -c 'select(.type=="done")|[.hosts,.ok,.failed]' run.jsonl)" "[2,0,2]" "done counts"
	run nanopod_run -w 'n1,nosuch.invalid' -o json -- 'echo hi; echo e >&2'
	is "$(jq -c 'map([.host,.ok,.status,.stdout,.stderr,.code])' "$TMP/.out")" \
		'[["n1",true,0,"hi\n","e\n",null],["nosuch.invalid",false,null,"","","PSSH_ERESOLVE"]]' "json: an array in the order of the hosts"
	is "$(jq -r .error.code "$TMP/.err")" partly "and one object on standard error"
	run nanopod_run -w n1 -o json -- true
	is "$(jq length "$TMP/.out")" 1 "an array also of one"
else
	skip "jq is not installed"
fi

# ---- Input ----
run_stdin bytes nanopod_run -w 'n[1-5]' -b --stdin -- 'cksum | cut -d" " -f1'
is "$out" "$(printf -- '---- n[1-5] (5 hosts)\n%s' "$(cksum <bytes | cut -d' ' -f1)")" "standard input for all"
head -c 5000000 /dev/zero | tr '\0' x >large
run_stdin large nanopod_run -w 'n[1-5]' -f 2 -b --stdin -- 'wc -c'
is "$out" "$(printf -- '---- n[1-5] (5 hosts)\n5000000')" "more than fits at once, and -f does not block it"
run_stdin bytes nanopod_run -w 'n1' -- cat
is "$out" "" "without --stdin there is none"

# ---- Scripts ----
cat >script.sh <<'END'
#!/bin/bash -u
echo "$# <$1> <$2>"
[[ $- == *u* ]] && echo flags
cat
END
run nanopod_run -w 'n[1-2]' -b --script script.sh -- 'a b' "c'd\$x"
is "$out" "$(printf -- '---- n[1-2] (2 hosts)\n2 <a b> <c'\''d$x>\nflags')" "a script with its interpreter and arguments"
echo more >more
run_stdin more nanopod_run -w n1 --no-label --stdin --script script.sh -- 1 2
is "$out" "$(printf '2 <1> <2>\nflags\nmore')" "with standard input after it"
printf 'echo plain $0\n' >plain.sh
run nanopod_run -w n1 --no-label --script plain.sh
is "$out" "plain /dev/fd/9" "without #!: sh"
is "$(ls -A temporary)" "" "nothing is left behind"
run_is 2 "a script that is not there" nanopod_run -w n1 --script nosuch
: >empty
run_is 2 "an empty one" nanopod_run -w n1 --script empty

# ---- Save, and again where it failed ----
run nanopod_run -w 'n[1-4]' --save saved -- "$here echo out \$here; echo err >&2; [ -e $TMP/mended ] || [ \$here -lt 3 ]"
is "$status" 10 "with --save"
like "$err" 'nanopod run --failed-from saved' "the summary says how to repeat"
is "$(cat saved/n2.stdout saved/n2.stderr saved/n2.status)" "$(printf 'out 2\nerr\nexit 0')" "DIR/HOST.stdout, .stderr and .status"
is "$(cat saved/n3.status)" "exit 1" "the status of one that failed"
: >mended
run nanopod_run --failed-from saved --save saved
is "$(sort "$TMP/.out")" "$(printf 'n%d: out %d\n' 3 3 4 4)" "--failed-from DIR: the same command, where it failed"
is "$status" 0 "now it works"
run nanopod_run --failed-from saved
is "$status $err" "0 nanopod: nothing to do: no host failed" "nothing is left to repeat"
nanopod_run -w 'n[1-3]' -o jsonl -- "$here [ \$here -ne 2 ]" >results.jsonl 2>/dev/null
run_stdin results.jsonl nanopod_run --failed-from - -- echo again
is "$out" "n2: again" "--failed-from -: from jsonl"
grep '"type":"start","host":"n3"' results.jsonl >interrupted.jsonl
run_stdin interrupted.jsonl nanopod_run --failed-from - -- echo again
is "$out" "n3: again" "a host without an end failed"
echo nonsense >bad.jsonl
run_stdin bad.jsonl nanopod_run --failed-from - -- true
is "$status" 2 "garbage is refused"
like "$err" "line 1" "with the line"
run_is 3 "a directory without results" nanopod_run --failed-from "$HOME" -- true
if [ -w /dev/full ]; then
	mkdir full && ln -s /dev/full full/n1.stdout
	run nanopod_run -w n1 --save full -- true
	is "$status" 1 "--save does not follow links"
fi

# ---- Time and signals ----
run nanopod_run -w n1 --timeout 1s -- "sleep $(long 0); :"
is "$status" 8 "--timeout on one host"
unlike "$err" "connect-timeout" "was no matter of connecting"
began=$SECONDS
run nanopod_run -w 'n[1-3]' --timeout 1s -- "sleep $(long 1); :"
is "$status" 10 "--timeout"
like "$err" 'in time.*\(3\): n\[1-3\]' "says so"
ok "and ends soon" test $((SECONDS - began)) -lt 50
ok "no process is left behind" wait_for 10 gone 1
: >int.out # nothing of the run before
"$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' -- "echo up; sleep $(long 2); :" >>int.out 2>int.err &
pid=$!
ok "three processes run" wait_for 20 eval '[ "$(grep -c up int.out)" -eq 3 ]'
kill -INT $pid
status=0; wait $pid || status=$?
is "$status" 130 "Ctrl-C: 130"
ok "Ctrl-C leaves no remote process" wait_for 10 gone 2
like "$(cat int.err)" 'SIGTERM \(3\): n\[1-3\]' "and tells what became of them"
: >int.out # nothing of the run before
"$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' -- "trap '' TERM; echo up; while :; do sleep $(long 3); done" >>int.out 2>int.err &
pid=$!
wait_for 20 eval '[ "$(grep -c up int.out)" -eq 3 ]'
kill -TERM $pid
status=0; wait $pid || status=$?
is "$status" 143 "TERM: 143"
ok "who does not hear TERM is killed" wait_for 10 gone 3
: >int.out # nothing of the run before
"$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' -- 'trap "" TERM; echo up; sleep 20' >>int.out 2>int.err &
pid=$!
wait_for 20 eval '[ "$(grep -c up int.out)" -eq 3 ]'
began=$(date +%s%N)
kill -INT $pid
# Two of a kind that wait are one: the first has to be taken before.
wait_for 20 eval '! grep -Eq "^(Sig|Shd)Pnd:.*[2367abef]$" /proc/$pid/status'
kill -INT $pid
status=0; wait $pid || status=$?
is "$status" 130 "the second Ctrl-C"
# The wait would be five seconds.
ok "does not wait" test $((($(date +%s%N) - began) / 1000000)) -lt 5000

# ---- Output that cannot be written ----
if [ -w /dev/full ]; then
	status=0
	nanopod_run -w 'n[1-3]' -- echo x >/dev/full 2>err || status=$?
	is "$status" 1 "a full disk is an error"
	is "$(sed 's/output.*/output/' err)" "nanopod: cannot write everything to standard output" "that alone is told"
fi
began=$SECONDS
nanopod_run -w 'n[1-3]' -- "yes sleep $(long 4)" 2>err | head -n 2 >/dev/null
ok "a reader that goes away ends it" test $((SECONDS - began)) -lt 55
ok "there too" wait_for 10 gone 4
is "$(cat err)" "" "and quietly"
{ status=0; nanopod_run -w 'n[1-3]' -- "echo up; sleep $(long 6)" 2>err || status=$?; echo $status >pipe.status; } | head -n 1 >/dev/null
is "$(cat pipe.status) $(cat err)" "141 " "also where nothing more is written, with the status of SIGPIPE"
ok "and no process is left" wait_for 10 gone 6
{ status=0; nanopod_run -w 'n[1-2]' -q -- 'sleep 1; exit 3' 2>err || status=$?; echo $status >pipe.status; } | true
is "$(cat pipe.status)" 10 "-q prints nothing, so nobody has to read"

# ---- Fanout ----
rm -f "$TMP"/turn.*
run nanopod_run -w 'n[1-4]' -f 1 -- "$here mkdir $TMP/lock || exit 9; : >$TMP/turn.\$here; sleep 0.2; rmdir $TMP/lock"
is "$status" 0 "-f 1: never two at once"
is "$(ls "$TMP"/turn.* | wc -l)" 4 "and all of them"

# ---- A terminal ----
if [ -x "$PTY" ]; then
	printf 'expect (yes/no)?\nsend no\\r\n' >no
	printf 'expect (yes/no)?\nsend yes\\r\n' >yes
	sed 's/StrictHostKeyChecking yes/StrictHostKeyChecking ask/' "$SSHD_CONFIG" >ask_config
	asked() { timeout 200 "$PTY" "$@" 2>&1 | tr -d '\r'; return "${PIPESTATUS[0]}"; }
	run asked no "$NANOPOD" run -F ask_config --known-hosts new_hosts -w 'n[1-3]' -- echo in
	is "$status" 10 "unknown host keys are asked about"
	like "$out" "n2 \($(sshd_address 2)\): SHA256:" "with their fingerprints"
	not_ok "no: nothing is remembered" test -s new_hosts
	run asked yes "$NANOPOD" run -F ask_config --known-hosts new_hosts -w 'n[1-3]' -- echo in
	is "$status" 0 "one yes is for all"
	is "$(grep -c "$(cut -d' ' -f2 "$SSHD_DIR/host.pub")" new_hosts)" 3 "the keys are remembered"
	run nanopod_run --known-hosts new_hosts -w 'n[1-3]' -- true
	is "$status" 0 "so the next time nothing is asked"
	printf 'expect 3 running\nsend \\x03\n' >ctrlc
	run asked ctrlc "$NANOPOD" run -F "$SSHD_CONFIG" -w 'n[1-3]' -- "sleep $(long 5); :"
	is "$status" 130 "Ctrl-C on the progress line"
	ok "leaves no remote process" wait_for 10 gone 5
	: >nothing
	run asked nothing "$NANOPOD" run -F "$SSHD_CONFIG" --known-hosts strict_hosts -w 'n[1-2]' -- echo in
	is "$status" 10 "StrictHostKeyChecking yes: refused on a terminal too"
	unlike "$out" "yes/no" "without a question"
	run asked no "$NANOPOD" run -F "$SSHD_CONFIG" --known-hosts strict_hosts --host-key ask -w 'n[1-2]' -- echo in
	like "$out" "yes/no" "--host-key ask asks all the same"
	printf 'expect (yes/no)?\nsend \\x03\n' >never
	run asked never "$NANOPOD" run -F ask_config --known-hosts strict_hosts -w n1 -- echo in
	is "$status" 130 "Ctrl-C at the question"
	run asked nothing "$NANOPOD" run --no-color -F "$SSHD_CONFIG" -w n1 -- "printf '\033[31mred\033[0m \033]0;title\007\n'"
	like "$out" "n1: $(printf '\033')\[31mred$(printf '\033')\[0m \?\]0;title\?" "on a terminal only colours come through"
else
	skip "tests/lib/pty is not built"
fi
ssh-keygen -q -t ed25519 -N '' -f other_host
for i in 1 2; do echo "[$(sshd_address $i)]:$SSHD_PORT $(cut -d' ' -f1,2 other_host.pub)"; done >changed_hosts
run nanopod_run --known-hosts changed_hosts -w n1 -- true
is "$(printf '%s\n' "$err" | grep -o 'ssh-keygen ' | grep -c .)" 1 "a changed key: one advice"
run nanopod_run --known-hosts changed_hosts -w 'n[1-2]' -- true
like "$err" 'the host key differs from the known one.* \(2\): n\[1-2\]' "many are one cause"
is "$(printf '%s\n' "$err" | grep -o 'ssh-keygen ' | grep -c .)" 1 "with one advice"
run nanopod_run --known-hosts "$TMP/none" -w n1 -- true
is "$status" 255 "without a terminal an unknown key is refused"
like "$err" "accept-new" "and what to do is said"
run nanopod_run -v -w 'n[1-2]' -- true
like "$err" "n1': key exchange [a-z0-9@.-]*, host key ssh-ed25519, cipher [a-z0-9@.-]*, MAC" "-v says what was agreed on"
case $err in
*"key exchange sntrup"* | *"key exchange mlkem"*) unlike "$err" "quantum computers" "a safe exchange: no warning" ;;
*) is "$(printf '%s\n' "$err" | grep -c "nanopod ssh --openssh' has it")" 1 "one warning of a weak exchange" ;;
esac
run nanopod_run -w n1 -- true
is "$err" "" "a script reads neither"
if [ -x "$PTY" ]; then
	run nanopod_run -v -w n1 -- true
	: >"$TMP/nothing"
	weak() { "$PTY" "$TMP/nothing" "$NANOPOD" run -F "$SSHD_CONFIG" -w n1 "$@" -- true | grep -c 'WarnWeakCrypto no'; }
	case $err in
	*"key exchange sntrup"* | *"key exchange mlkem"*) skip "a safe exchange: no warning" ;;
	*)
		rm -rf "$HOME/.cache"
		is "$(weak) $(weak) $(weak -v)" "1 0 1" "on a terminal the warning comes once a day, with -v each time"
		find "$HOME/.cache" -name 'weak-exchange*' -exec touch -d '25 hours ago' {} +
		is "$(weak)" 1 "and again on the next day"
		;;
	esac
fi
done_testing
