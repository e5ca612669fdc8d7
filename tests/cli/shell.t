#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod shell: lines from a pipe, and a person at a terminal.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep
sshd_up 3 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
sh_() { printf '%s\n' "$1" >lines; shift; run_stdin lines timeout -k 5 60 "$NANOPOD" shell -F "$SSHD_CONFIG" "$@"; }

sh_ 'echo "a   b" | tr a x' -w 'n[1-2]'
is "$status $(sort "$TMP/.out" | paste -sd '|')" "0 n1: x   b|n2: x   b" "plain text is a command there, untouched"
sh_ '# nothing

select n[1-3]
select -n2
select
run -b -- echo hi
hosts --count
exit' -w n1
is "$out" "$(printf 'n[1,3]\n---- n[1,3] (2 hosts)\nhi\n2')" "select, run, hosts, comments and exit"
sh_ 'select n1
echo $SSH_CONNECTION
echo $SSH_CONNECTION'
is "$(sort -u "$TMP/.out" | grep -c .)" 1 "one connection serves both lines"
sh_ 'select n1
echo one $PPID; kill $PPID
echo two'
like "$out" "n1: two" "a lost connection is made again"
sh_ 'false
true' -w n1
is "$status" 1 "the status is that of the line that failed"
sh_ 'exit' -w n1
is "$status" 0 "exit"
sh_ 'echo nobody'
is "$status" 2 "no selection"
sh_ "select 'n[1-2]
select n2
echo ok"
like "$err" "quote" "an open quote is told"
like "$out" "n2: ok" "and the next line is read"
sh_ '!echo here; exit 3'
is "$status $out" "3 here" "! runs a command on this machine"
echo data >file
sh_ "cp file :$TMP/copied
ssh n2 -- cat $TMP/copied" -w 'n[1-2]'
is "$out" data "cp to the selection, and ssh"
sh_ 'clear'
is "$status $out$err" "0 " "clear is local"
sh_ 'cd /' -w n1
like "$err" "runs in a new shell" "cd alone gets a note"
sh_ 'help'
like "$out" "select HOSTS" "help"
sh_ 'help run'
like "$out" "usage: nanopod run" "help of a command"
sh_ 'shell' -w n1
is "$status" 2 "no shell in the shell"
head -c 100000 /dev/zero | tr '\0' x >long
sh_ "echo $(head -c 30000 long) | wc -c" -w n1
is "$out" "n1: 30001" "a long line"
sh_ "echo $(head -c 50000 long)" -w n1
is "$status" 2 "one that is too long"
like "$err" "script" "is told, and what to do"
run_stdin /dev/null timeout 20 "$NANOPOD" shell -F "$SSHD_CONFIG" -w -
is "$status" 2 "-w - has no standard input left"

[ -x "$PTY" ] || { skip "tests/lib/pty is not built"; done_testing; }
on_terminal() { timeout -k 5 200 "$PTY" "$@" >"$TMP/.shown" 2>&1; status=$?; out=$(tr -d '\r' <"$TMP/.shown"); }
export TERM=xterm
cat >session <<'END'
expect nanopod n[1-3]>
send select -n2\r
expect nanopod n[1,3]>
send echo hel''lo\r
expect hello
expect nanopod n[1,3]>
send sele\tn[2-3]\r
expect nanopod n[2-3]>
send half a line\x03
expect nanopod n[2-3]>
send echo started; sleep 9871234\r
expect started
expect 2 running
send \x03
expect nanopod n[2-3]>
send echo al''ive\r
expect alive
expect nanopod n[2-3]>
send \x04
END
# No other test has a sleep of this length.
long=$((90000000 + $$))
sed -i "s/9871234/$long/" session
on_terminal session "$NANOPOD" shell -F "$SSHD_CONFIG" -w 'n[1-3]'
is "$status" 0 "prompt, completion, Ctrl-C at the prompt and while a command runs, Ctrl-D" || diag "$out"
ok "no remote process is left" wait_for 10 eval '! pgrep -f "sleep $long"'
history=$HOME/.local/state/nanopod/history
like "$(cat "$history")" "echo hel''lo" "the history is kept"
is "$(stat -c %a "$history")" 600 "for its owner alone"
printf 'expect n1> \nsend \\e[A\nexpect ive\nsend \\r\nexpect alive\nexpect n1> \nsend exit 3\\r\n' >recall
on_terminal recall "$NANOPOD" shell -F "$SSHD_CONFIG" -w n1
is "$status" 0 "and comes back the next time" || diag "$out"
done_testing
