#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The contract of every command line: streams, exit statuses, errors, colours, programs on PATH.
. "$(dirname "$0")/../lib/tap.sh"
cd "$TMP" || exit 99

# ---- nothing, something wrong ----
run_is 0 "nanopod alone" "$NANOPOD"
like "$out" '^usage: nanopod COMMAND' "shows a page"
ok "a short one" [ "$(printf '%s\n' "$out" | wc -l)" -le 24 ]
is "$err" "" "and nothing on standard error"
run_is 2 "an unknown command" "$NANOPOD" verison
is "$out" "" "data is data: nothing on standard output"
is "$err" "nanopod: cannot run 'verison': no such command; did you mean 'nanopod version'?" "the nearest is named, and not run"
run_is 2 "a command that is like no other" "$NANOPOD" xyzzy
is "$err" "nanopod: cannot run 'xyzzy': no such command; 'nanopod help' lists the commands" "says where they are"
run_is 2 "an unknown option" "$NANOPOD" config --orign
is "$err" "nanopod: cannot understand '--orign': no such option (did you mean '--origin'?); 'nanopod config --help' lists its options" "says what, why, what to type"
run_is 2 "a prefix of an option" "$NANOPOD" config --orig
run_is 2 "an unknown option before the command" "$NANOPOD" --nonsense version
run_is 2 "one argument too many" "$NANOPOD" version now
is "$err" "nanopod: unexpected argument 'now'; usage: nanopod version [options]" "says so"
run_is 2 "one argument too few" "$NANOPOD" completion
like "$err" "usage: nanopod completion \[options\] bash\|zsh\|fish" "says what to type"
run_is 2 "a format that the command has not" "$NANOPOD" version -o csv
like "$err" "'csv' is not one of text\|json" "names those it has"
run_is 2 "a format that none has" "$NANOPOD" version -o nonsense
like "$err" "'nonsense' is not one of text\|json\|yaml$" "names those it has"
run_is 2 "an option of run before it" "$NANOPOD" -w n1 uptime
like "$err" "did you mean 'nanopod run -w" "is told"
run_is 2 "terminal escapes in a word" "$NANOPOD" "$(printf 'a\033[31mb')"
unlike "$err" "$(printf '\033')" "do not reach the terminal"

# ---- errors as JSON ----
for words in "verison -o json" "-o json verison" "config --orign -ojson" "config --output=json get nothing" "config -o jsonl get user"; do
	run "$NANOPOD" $words
	is "$out" "" "'$words': nothing on standard output"
	ok "'$words': one object with all its members" python3 -c '
import json, sys
e = json.loads(sys.argv[1])["error"]
assert sorted(e) == ["code", "field", "hint", "message", "request_id", "retryable"], e
assert e["code"] == sys.argv[2] and e["retryable"] is False, e
' "$err" "$(case $words in *user) echo not_found ;; *) echo usage ;; esac)"
done
NANOPOD_OUTPUT=json run "$NANOPOD" config get nothing
like "$err" '^\{"error":' "NANOPOD_OUTPUT counts for errors too"

# ---- the output is checked ----
if [ -w /dev/full ]; then
	for words in "version" "help" "help --json" "config" "completion bash" "config -o json"; do
		status=0
		"$NANOPOD" $words >/dev/full 2>"$TMP/err" || status=$?
		is $status 1 "'$words' to a full disk fails"
		like "$(cat "$TMP/err")" "cannot write .*to standard output" "and says so"
	done
	is "$("$NANOPOD" version 2>&1 >/dev/full)" "nanopod: cannot write to standard output: No space left on device" "and why"
else
	skip "no /dev/full"
fi
# The pipe is closed before the command starts, so that it cannot be quicker.
mkfifo "$TMP/fifo"
sh -c 'trap "" PIPE; exec 3>"$2"; until [ -e "$2.closed" ]; do sleep 0.05; done; "$1" help --json >&3; echo $? >"$3"' - \
	"$NANOPOD" "$TMP/fifo" "$TMP/pipe.status" 2>"$TMP/err" &
writer=$!
: <"$TMP/fifo"
: >"$TMP/fifo.closed"
wait $writer
is "$(cat "$TMP/pipe.status")" 141 "a reader that went away is exit status 141"
is "$(cat "$TMP/err")" "" "without a word"
status=0; "$NANOPOD" version >&- 2>"$TMP/err" || status=$?
is $status 1 "no standard output at all is an error"
run sh -c '"$1" version <&- 2>&-' - "$NANOPOD"
is "$status" 0 "no standard input and error are none"

# ---- colours ----
colors() { grep -c "$(printf '\033')" "$TMP/$1"; }
"$NANOPOD" help --color >"$TMP/o"; isnt "$(colors o)" 0 "--color makes colours"
"$NANOPOD" help >"$TMP/o"; is "$(colors o)" 0 "a pipe or file has none"
NO_COLOR=1 "$NANOPOD" help --color=always >"$TMP/o"; isnt "$(colors o)" 0 "--color=always is over NO_COLOR"
NANOPOD_COLOR=always "$NANOPOD" config >"$TMP/o"; isnt "$(colors o)" 0 "a setting makes them"
NANOPOD_COLOR=always "$NANOPOD" config --no-color >"$TMP/o"; is "$(colors o)" 0 "--no-color unmakes them"
if have script; then
	tty() { script -qec "$*" /dev/null </dev/null >"$TMP/o" 2>&1; }
	TERM=xterm tty "$NANOPOD help"; isnt "$(colors o)" 0 "a terminal has colours"
	TERM=dumb tty "$NANOPOD help"; is "$(colors o)" 0 "a dumb one has none"
	TERM=xterm NO_COLOR=1 tty "$NANOPOD help"; is "$(colors o)" 0 "nor has one with NO_COLOR"
	TERM=xterm NO_COLOR= tty "$NANOPOD help"; isnt "$(colors o)" 0 "an empty NO_COLOR says nothing"
	TERM=xterm tty "$NANOPOD help --no-color"; is "$(colors o)" 0 "nor with --no-color"
	TERM=xterm tty "$NANOPOD nonsense >$TMP/file"; isnt "$(colors o)" 0 "standard error is judged by itself"
	TERM=xterm tty "$NANOPOD help 2>/dev/null >$TMP/file"; is "$(colors file)" 0 "and so is standard output"
else
	skip "script(1) is not installed"
fi

# ---- programs on PATH ----
mkdir "$TMP/bin" "$TMP/cwd"
printf '#!/bin/sh\necho "foo got $# $*"\nexit 7\n' >"$TMP/bin/nanopod-foo"
printf '#!/bin/sh\necho never\n' >"$TMP/bin/nanopod-version"
printf '#!/bin/sh\necho never\n' >"$TMP/cwd/nanopod-here"
chmod +x "$TMP/bin/"* "$TMP/cwd/"*
PATH=$TMP/bin:$PATH
run_is 7 "nanopod-foo on PATH is nanopod foo" "$NANOPOD" foo -x --help 'a b'
is "$out" "foo got 3 -x --help a b" "and gets its words"
run_is 0 "a built-in wins" "$NANOPOD" version
unlike "$out" never "over a program of its name"
cd "$TMP/cwd" || exit 99
PATH=:.:$PATH run_is 2 "the current directory is never looked in" "$NANOPOD" here
run_is 2 "nor is a path" "$NANOPOD" ../bin/nanopod-foo
cd "$TMP" || exit 99

# ---- broken settings hinder only what reads them ----
mkdir -p "$HOME/.config/nanopod"
printf 'fanot: 1\n' >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
run_is 2 "a mistake in the settings" "$NANOPOD" config
is "$err" "nanopod: cannot read '$HOME/.config/nanopod/config.yaml': line 1, column 1: unknown setting 'fanot'; did you mean 'fanout'?" "has file, line and the nearest"
for words in version help "help run" "completion zsh" "run --help"; do
	run_is 0 "'$words' works all the same" "$NANOPOD" $words
done
rm "$HOME/.config/nanopod/config.yaml"

# ---- nobody is signed in ----
# Every example of the help that asks the market alone, and lists without an example.
if command -v jq >/dev/null; then
	"$NANOPOD" help --json | jq -r '.commands[] | select(any(.options[]; .name == "url")) | .examples[].line' |
		sed 's/ | .*//; s/ && .*//; s/ >.*//' |
		grep -vE '^nanopod (local|login|logout|autoscale|run|ssh|cp|shell|tunnel|provision|kubeconfig|api|logs|hosts|inventory|ssh-config|host (join|verify|power)) ?' >"$TMP/lines"
	printf 'nanopod %s\n' 'host list' 'host status -o json' 'admin host list' 'admin account list' 'admin sku list' \
		'admin policy' 'admin token list' 'token list' ledger >>"$TMP/lines"
	ok "(many lines)" [ "$(wc -l <"$TMP/lines")" -gt 80 ]
	while IFS= read -r line; do
		(
			eval "set -- ${line#nanopod }"
			NANOPOD_URL=http://127.0.0.1:9 NANOPOD_TOKEN='' exec "$NANOPOD" "$@"
		) >"$TMP/said" 2>&1 </dev/null
		case $? in
		2 | 3 | 4) [ -s "$TMP/said" ] || echo "$line: says nothing" ;;
		*) echo "$line: $?, $(tail -n 1 "$TMP/said")" ;;
		esac
	done <"$TMP/lines" >"$TMP/odd"
	is "$(cat "$TMP/odd")" "" "signed out, each of them says what is wrong, and ends"
fi

done_testing
