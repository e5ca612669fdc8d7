#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run: output in the order of the hosts, progress bars, --pick and --dry-run.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 5 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nanopod_run() { timeout -k 5 60 "$NANOPOD" run -F "$SSHD_CONFIG" "$@"; }
here='here=$(echo "$SSH_CONNECTION" | cut -d" " -f3); here=${here##*.};'
# The first host ends last: it waits until the others have said all.
mkdir "$TMP/said"
late="$here [ \$here -gt 1 ] || until [ \$(ls $TMP/said | wc -l) -eq 2 ]; do sleep 0.05; done;
	echo one; echo two \$here; echo bad >&2; : >$TMP/said/\$here"

# ---- In order ----
run nanopod_run -w 'n[1-3]' -L -- "$late"
is "$out" "$(printf 'n%d: one\nn%d: two %d\n' 1 1 1 2 2 2 3 3 3)" "-L: each host's lines together, in the order of the hosts"
is "$err" "$(printf 'n%d! bad\n' 1 2 3)" "errors too"
rm -f said/*
run nanopod_run -w 'n3,n1,n2' --in-order --no-label -- "$here echo \$here"
is "$out" "$(printf '3\n1\n2')" "the order is the selection's"
run nanopod_run -w 'n1,nosuch.invalid,n2' -L -- echo in
is "$status $(printf '%s\n' "$out" | tr -s ' ' | paste -sd ' ')" "10 n1: in n2: in" "a host that is not reached holds nobody back"
: >first
nanopod_run -w 'n[1-2]' -L -- "$here echo up; [ \$here -eq 1 ] || until [ -s $TMP/first ]; do sleep 0.05; done" >first 2>&1
is "$(cat first)" "$(printf 'n1: up\nn2: up')" "a host is shown as soon as those before it have ended"
run_is 2 "not with --gather" nanopod_run -w n1 -L -b -- true
run_is 2 "nor with JSON" nanopod_run -w n1 -L -o jsonl -- true

# ---- Progress bars ----
bar="printf 'get 10%%\\r get 20%%\\r\\033[Kdone\\nplain\\r\\nlast 1\\rlast 2'"
run nanopod_run -w n1 -- "$bar"
is "$(printf '%s' "$out" | tr '\r\033' '%^')" "n1: ^[Kdone
n1: plain%
n1: last 2" "a line that a program overwrites: its last state"
run nanopod_run -w 'n[1-2]' -b -- "$bar"
is "$(printf '%s' "$out" | tail -n +2 | tr '\r\033' '%^')" "^[Kdone
plain%
last 2" "gathered too"
run nanopod_run -w n1 --no-label -- "$bar"
is "$(printf '%s' "$out" | tr '\r\033' '%^' | head -n 1)" "get 10%% get 20%%^[Kdone" "--no-label keeps each byte"
if [ -x "$PTY" ]; then
	: >nothing
	"$PTY" nothing "$NANOPOD" run --no-color -F "$SSHD_CONFIG" -w n1 -- "$bar" 2>/dev/null | tr -d '\r' | grep '^n1\|n1: ' |
		sed 's/.*n1: /n1: /' >seen
	is "$(cat seen)" "$(printf 'n1: done\nn1: plain\nn1: last 2')" "a person sees the same, without the bar's escapes"
	paint() { # paint ARGUMENT…: what a terminal gets, its escapes as ^
		# A slow machine sees a progress line, too: from \r to \e[K.
		"$PTY" nothing "$NANOPOD" run --no-color -F "$SSHD_CONFIG" "$@" 2>/dev/null | tr '\033' '^' |
			sed 's/\r[^\r]*^\[K//g' | tr -d '\r' | grep 'red\|\[0m'
	}
	red='printf "\033[31mred\nin red\n"'
	is "$(paint -w n1 -- "$red")" "n1: ^[31mred^[0m
n1: in red" "a colour that a host leaves on ends with its line"
	is "$(paint -w 'n[1-2]' -b -- "$red")" "^[31mred
in red^[0m" "gathered: with the group's output"
	is "$(paint -w 'n[1-2]' -L --no-label -- "$red" | grep -c '\[0m')" 2 "without labels: with each host's"
	is "$(paint -w n1 --no-label -- 'printf "\033[3"; sleep 0.1; printf "1mred"' | grep -c 'red^\[0m')" 1 \
		"and at the end"
	is "$(paint -w n1 -- 'printf "\033[31mred\033[0m\033[Kred\033[m\nred\n"')" "n1: ^[31mred^[0mred^[m
n1: red" "one that the host turns off is not turned off again"
else
	skip "tests/lib/pty is not built"
fi
run nanopod_run -w n1 -- 'printf "\033[31mred\n"'
is "$(printf '%s' "$out" | tr '\033' '^')" "n1: ^[31mred" "into a pipe nothing is added"

# ---- A shell's -c ----
run nanopod_run -w n1 -- sh -c 'echo a b; echo c'
like "$err" "^nanopod: warning: words are joined by spaces, so 'sh -c' there runs only 'echo'; leave out 'sh -c', or" \
	"sh -c 'COMMAND ARGUMENT': a warning"
is "$(printf '%s\n' "$err" | grep -c warning)" 1 "once"
run nanopod_run -w n1 -- sudo /bin/bash -lc 'echo a'
like "$err" "only 'echo'; leave out '/bin/bash -lc', .*bash -lc '[.][.][.]'" "behind sudo too"
for fine in "sh|-c|id" "sh -c 'echo a'" "sh|-c|'echo a'" "grep|-c|a b" "sh|a b"; do
	(
		IFS='|'
		# shellcheck disable=SC2086
		timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w n1 --dry-run -- $fine 2>&1 | grep -c warning
	) >said.shell
	is "$(cat said.shell)" 0 "none for $fine"
done

# ---- Some of them ----
run nanopod_run -w 'n[1-5]' --pick 2 --no-label -L -- "$here echo n\$here"
is "$(printf '%s\n' "$out" | sort -u | grep -c '^n[1-5]$')" 2 "--pick 2: two hosts"
like "$err" "^nanopod: picked n" "which are named"
run nanopod_run -w 'n[1-5]' --pick 9 -q -- true
is "$status $err" "0 " "where there are fewer: all"
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40; do
	"$NANOPOD" run -w 'n[1-3]' --pick 1 --dry-run --no-label -- true 2>/dev/null
done | sort -u >seen
is "$(cat seen)" "$(printf 'n%d: true\n' 1 2 3)" "each may be picked"
run_is 2 "--pick 0" nanopod_run -w n1 --pick 0 -- true

# ---- Without doing it ----
run nanopod_run -w 'n1,long.invalid' --dry-run --env A=hush -- echo '{host}' 'a  b'
is "$out" "$(printf 'n1:           echo n1 a  b\nlong.invalid: echo long.invalid a  b')" "--dry-run: each host's command"
is "$status $err" "0 nanopod: 2 hosts, nothing was started" "nothing is connected to"
run nanopod_run -w n1 --dry-run --become-user www -- id
is "$out" "n1: sudo -u www id" "--become is shown"
printf 'echo x\n' >script.sh
run nanopod_run -w n1 --dry-run --script script.sh -- '{host}' y
is "$out" "n1: script.sh n1 y" "a script by its name"
run nanopod_run -w 'n[1-2]' --dry-run -o jsonl -- 'echo "{host}"'
is "$out" '{"host":"n1","command":"echo \"n1\""}
{"host":"n2","command":"echo \"n2\""}' "jsonl"
run nanopod_run -w 'n[1-2]' --dry-run -o json -- true
is "$(printf '%s' "$out" | tr -d '\n')" '[{"host":"n1","command":"true"},{"host":"n2","command":"true"}]' "json"
done_testing
