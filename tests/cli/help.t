#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every page, and the same as JSON.
. "$(dirname "$0")/../lib/tap.sh"
cd "$TMP" || exit 99

run_is 0 "help" "$NANOPOD" help
overview=$out
is "$err" "" "nothing on standard error"
ok "it fits a screen of 24 lines" test "$(printf '%s\n' "$out" | wc -l)" -le 24
is "$(printf '%s\n' "$out" | awk 'length > 80')" "" "and of 80 columns"
like "$out" '^Market +price buy .*reservations \(ls\)' "commands stand in groups, with their other names"
run "$NANOPOD" --help; is "$out" "$overview" "--help is the same"
run "$NANOPOD" -h; is "$out" "$overview" "and -h"

run "$NANOPOD"
is "$(printf '%s\n' "$out" | awk 'length > 80')" "" "nor has 'nanopod' alone a longer line"

run_is 0 "help commands" "$NANOPOD" help commands
commands=$(printf '%s\n' "$out" | sed -n 's/^  \([a-z-]*\) .*/\1/p')
is "$(printf '%s\n' "$overview" | sed -n '/^Market/,/^$/p' | sed 's/^..........//; s/([a-z]*)//g' | tr -s ' \n' '\n\n' | grep .)" "$commands" \
	"both name the same commands"
run_is 0 "help connection" "$NANOPOD" help connection
like "$out" '^  -J, --jump HOSTS  +jump hosts' "explains the options that connect"
like "$out" '^  -F, --ssh-config FILE' "all of them"
is "$("$NANOPOD" help run | grep -c 'jump hosts to go through')" 0 "which a command's page does not repeat"
like "$("$NANOPOD" help run)" "^Connection \('nanopod help connection' explains these\):" "but names"
for topic in options output; do
	run_is 0 "help $topic" "$NANOPOD" help $topic
	is "$(printf '%s\n' "$out" | awk 'length > 80')" "" "no line is over-long"
done
isnt "$commands" "" "there are commands"
for command in $commands; do
	run_is 0 "help $command" "$NANOPOD" help $command
	page=$out
	like "$page" "^usage: nanopod $command \[options\]" "begins with its usage"
	like "$page" "^  .*nanopod .*$command" "has an example"
	run "$NANOPOD" $command --help
	is "$out" "$page" "$command --help is the same"
	run "$NANOPOD" $command -h
	is "$out" "$page" "$command -h too"
	is "$(printf '%s\n' "$page" | awk 'length > 100')" "" "no line is over-long"
done

run_is 0 "help exit-codes" "$NANOPOD" help exit-codes
like "$out" '^ 11  check_failed ' "has the status of doctor"
codes=$out
if have mandoc; then
	is "$(mandoc -T ascii -O width=200 "$SRC/man/nanopod.1" | col -bx | sed -n '/^EXIT STATUS/,/^EXAMPLES/s/^ *\([0-9][0-9]*\) \{1,\}\(.*\)$/\1 \2/p')" \
		"$(printf '%s\n' "$codes" | sed 's/^ *\([0-9]*\)  [^ ]* */\1 /')" "nanopod(1) has the same list"
else
	skip "mandoc is not installed"
fi
run_is 2 "help for what is not there" "$NANOPOD" help rnu
is "$err" "nanopod: cannot help with 'rnu': no such command; did you mean 'nanopod help run'?" "names the nearest"

"$NANOPOD" help --json >"$TMP/help.json"
is $? 0 "help --json"
if have python3; then
	ok "is complete" python3 - "$TMP/help.json" $commands <<'EOF'
import json, sys
page = json.load(open(sys.argv[1]))
assert [c["name"] for c in page["commands"]] == sys.argv[2:], page["commands"]
for c in page["commands"]:
    assert c["usage"].startswith("nanopod " + c["name"] + " [options]"), c
    assert c["summary"] and c["examples"], c
    names = [o["name"] for o in c["options"]]
    assert len(names) == len(set(names)), names
    letters = [o["letter"] for o in c["options"] if o["letter"]]
    assert len(letters) == len(set(letters)), (c["name"], letters)
    for o in c["options"]:
        assert o["help"] and o["kind"], o
        assert o["kind"] == "flag" or o["argument"], o
        assert o["help"][-1] != ".", o
EOF
	is "$(python3 -c '
import json, sys
for s in json.load(open(sys.argv[1]))["exit_statuses"]:
    print("%3d  %-12s  %s" % (s["status"], s["code"], s["text"]))' "$TMP/help.json")" "$codes" "has the same exit statuses"
else
	skip "python3 is not installed"
fi

done_testing
