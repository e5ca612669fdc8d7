#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run --watch: its screen at 40, 80 and 120 columns, compared with tests/fixtures/screens (SCREENS=write writes
# those anew: read them before you commit them), keys, signals and connections.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
SCREENS_DIR=$SRC/tests/fixtures/screens
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
sshd_up 5 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
# Each host counts its rounds, up to 2, and keeps the second one's output from then on.
cat >state.sh <<END
here=\$(echo "\$SSH_CONNECTION" | cut -d" " -f3); here=\${here##*.}
echo x >>$TMP/rounds.\$here; n=\$(wc -l <$TMP/rounds.\$here); [ \$n -lt 2 ] || n=2
case \$here in
5) printf 'gpu\\t0 \\033[31mfine\\033[0m\\ngpu\\t1 round %s\\n' \$n; echo 'a warning' >&2
   echo 'a line that is longer than any narrow terminal has columns for it'; seq 40 ;;
4) echo "broken"; [ \$n -eq 1 ] ;;
*) echo "load 0.1 of round \$n" ;;
esac
END
watched() { timeout 200 "$PTY" keys "$NANOPOD" run --watch=1s -F "$SSHD_CONFIG" -w 'n[1-5]' "$@" 2>&1; }
# The first frame with that text, without what only moves the cursor, and with one time for all; of progress, which a
# slow round draws again and again on one line, what was drawn last.
frame() {
	awk -v RS='\033\\[H' -v text="$1" 'index($0, text) { print; exit }' seen |
		sed 's/\x1b\[[0-9;?]*[A-Za-z]//g; s/\r*$//; s/.*\r//; s/^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]/12:00:00/; s/ *$//'
}

# ---- At three widths ----
for columns in 40 80 120; do
	rm -f rounds.*
	printf 'size %s 24\nexpect round 1\nexpect round 2\nexpect q\nsend q\n' $columns >keys
	status=0
	watched --script state.sh >seen || status=$?
	is "$status" 10 "q ends it, with the status of the last round ($columns columns)"
	frame 'round 2' | sed '/ q\( quit\)\?$/q' >screen
	[ "${SCREENS-}" != write ] || cp screen "$SCREENS_DIR/watch-$columns"
	ok "the screen at $columns columns" diff "$SCREENS_DIR/watch-$columns" screen
	is "$(awk -v most=$columns '{ gsub(/…/, "x") } length > most' screen)" "" "no line is wider"
	is "$(wc -l <screen)" 23 "it fills the terminal but the line of progress"
done
unlike "$(frame 'round 1')" '^\*' "nothing has changed in the first round"
like "$(frame 'round 2')" '^\* n\[1-3\]: load 0.1 of round 2' "what changed has a star"
like "$(frame 'round 2')" '^\* n4: exit status 1: broken' "so has a command that fails now"
like "$(frame 'round 2')" '^12:00:00  4 ok, 1 failed, every 1 s$' "how many are well"
is "$(sed 's/.*\x1b\[?1049l//' seen | tr -d '\r' | awk '/^40$|^    40$/' | wc -l)" 1 "it leaves all lines of the last round behind"
like "$(tr '\033' '^' <seen | tr -d '\n')" '\^\[\?1049h.*\^\[\?1049l' "on the first screen"

# ---- Each key's view ----
# Nothing changes after the second round, so the frame after a key is the same whichever round it comes in.
for columns in 40 80 120; do
	split=2; [ $columns = 40 ] || split=3; [ $columns = 120 ] && split=4
	rm -f rounds.*
	cat >keys <<END
size $columns 24
expect round 2
send s
expect answers
send n1
expect host 1 of 5
send n
expect host 2 of 5
send \e[C
expect host 3 of 5
send \eOC
expect host 4 of 5
send p
expect host 3 of 5
send \e[A
expect host 2 of 5
send \e[5~p
expect host 1 of 5
send |
expect hosts 1-$split of 5
send n
expect hosts $((split + 1))-
send 1v
expect hosts $((split + 1))-
send p
expect hosts 1-$split of 5
send d
expect the largest group
expect +
send g
expect : broken
send q
END
	status=0
	watched --script state.sh >seen || status=$?
	is "$status" 10 "each key shows its view ($columns columns)"
	frame answers >s; frame 'host 3 of 5' >1; frame "hosts 1-$split of 5" >split; frame 'largest group' >d
	is "$(sed 's/  *$//' s | sed -n '4,6p;8,9p' | grep -v changed | tr '\n' '/')" \
		"  ok               4  n[1-3,5]/  failed           1  n4/  answers          3//  exit status 1 (1): n4/" "s: states and causes"
	like "$(cat 1)" '^(\*| ) n3:$' "1: one host"
	like "$(cat 1)" '^(\*| )   load 0.1 of round 2$' "and what it says"
	like "$(cat split)" '^(\* )?n1  *\| (\* )?n2' "|: hosts side by side"
	is "$(sed -n 4p split | tr -cd '|' | wc -c)" $((split - 1)) "as many as there is room for"
	like "$(cat d)" '^  n4: exit status 1$' "d: a smaller group"
	is "$(sed -n '6,7p' d | tr '\n' '/')" "  - load 0.1 of round 2/  + broken/" "and the lines that differ"
	for view in s 1 split d; do
		is "$(sed -n 23p $view | grep -c '^s sum.* g groups .*| split .*d diff .*q')" 1 "$view: the keys are the last line"
		is "$(awk -v most=$columns '{ gsub(/…/, "x") } length > most' $view)" "" "$view: no line is wider"
	done
	is "$(sed 's/.*\x1b\[?1049l//' seen | tr -d '\r' | awk '/^40$|^    40$/' | wc -l)" 1 "it leaves the ordinary output behind"
	unlike "$(tail -n 3 seen)" "g groups" "without keys"
done

# ---- Connections ----
: >"$SSHD_DIR/sshd.log"
rm -f rounds.*
printf 'expect round 2\nsend q\n' >keys
watched -w n1 -x 'n[2-5]' --script state.sh >seen
is "$(grep -c '^Accepted' "$SSHD_DIR/sshd.log")" 1 "all rounds go over one connection"

# ---- Its size, and its end ----
rm -f rounds.*
printf 'size 80 24\nexpect round 2\nexpect more lines\nsize 50 12\nexpect and 41 more lines\nsend q\n' >keys
status=0
watched --script state.sh >seen || status=$?
is "$status" 10 "a new size is followed at once"
rm -f rounds.*
printf 'expect round 2\nsend \\x03\n' >keys
status=0
watched --script state.sh >seen || status=$?
is "$status" 130 "Ctrl-C ends it"
like "$(tr '\033' '^' <seen | tr -d '\n')" '\^\[\?25h\^\[\?1049l' "and gives the terminal back"
# In the middle of a round: the second one never ends by itself.
long=$((80000000 + $$))
gone() { ! pgrep -f "sleep $long" >/dev/null; }
rm -f rounds.*
printf 'expect up\nexpect 1 running\nsend q\n' >keys
status=0
watched -x 'n[2-5]' -- "echo x >>$TMP/rounds.1; echo up; [ \$(wc -l <$TMP/rounds.1) -eq 1 ] || sleep $long" >seen || status=$?
is "$status" 0 "q in a round: the last whole one counts"
ok "and no process is left" wait_for 10 gone

# ---- Refused ----
run_is 2 "without a terminal" timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w n1 --watch -- true
like "$err" "standard output has to be a terminal" "and why"
: >keys
for other in '--stdin' '--batch 1' '-L' '--save out' '-o jsonl'; do
	# shellcheck disable=SC2086
	status=0; watched $other -- true >seen || status=$?
	is "$status" 2 "not with $other"
done
done_testing
