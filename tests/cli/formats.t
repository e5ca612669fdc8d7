#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command that makes a list has every format, and each format holds the same; YAML and templates of all others.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need jq
cd "$TMP" || exit 99

# ---- The table of commands ----
"$NANOPOD" help --json >help.json
is "$(jq -r '.commands[] | select([.options[].name] | index("fields")) |
	select((.formats | sort) != (["table","wide","json","jsonl","csv","name","yaml"] | sort)) | .name' help.json)" "" \
	"each list has every format"
is "$(jq -r '.commands[] | select(.formats != [] and (.formats | index("yaml") | not)) | .name' help.json)" "" \
	"and all with a format have YAML"
is "$(jq -r '.commands[] | select((.formats != []) != ([.options[].name] | index("template") != null)) | .name' help.json)" "" \
	"and --template"
is "$(jq -r '[.commands[] | select(.name == "show" or .name == "local").formats | length] | unique | .[]' help.json)" 7 \
	"so have the sheets of 'show' and 'local status'"

# ---- What they print ----
trade_start 3
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
np buy -t richmond -n 2 -d 24h -p 2.10 -y --name day >bought 2>&1 || diag "$(cat bought)"
ORDER=$(np orders -a -q)

# lists COMMAND…: its formats tell the same.
lists() {
	np "$@" -o json >as.json 2>/dev/null
	np "$@" -o jsonl >as.jsonl 2>/dev/null
	np "$@" -o csv >as.csv 2>/dev/null
	np "$@" -o name >as.name 2>/dev/null
	np "$@" -o wide >as.wide 2>/dev/null
	np "$@" -o yaml >as.yaml 2>/dev/null
	ok "$*: json is a list with something in it" jq -e 'type == "array" and length > 0' as.json
	is "$(jq -c . as.jsonl)" "$(jq -c '.[]' as.json)" "$*: jsonl has its objects"
	is "$(grep -c '^- ' as.yaml)" "$(jq length as.json)" "$*: yaml has as many"
	is "$(sed -n 's/^[- ] \([a-z_0-9]*\):.*/\1/p' as.yaml)" "$(jq -r '.[] | keys_unsorted[]' as.json)" "$*: with their fields"
	is "$(wc -l <as.name)" "$(jq length as.json)" "$*: name has a line each"
	ok "$*: csv and wide have headings" test "$(wc -l <as.csv)" -gt "$(jq length as.json)" -a \
		"$(wc -l <as.wide)" -gt "$(jq length as.json)"
	field=$(jq -r '.[0] | keys_unsorted[0]' as.json)
	is "$(np "$@" --template "<{$field}>" 2>/dev/null)" "$(jq -r ".[] | \"<\" + (.$field | tostring) + \">\"" as.json)" \
		"$*: a template has them"
}
lists orders -a
lists ls
lists nodes
lists types
lists token list
lists balance
lists burn
lists whoami
lists ledger list
lists provision stacks

for format in table wide json jsonl csv name yaml; do
	run_is 0 "show -o $format" np show day -o $format
	isnt "$out" "" "prints it"
	run_is 3 "local status -o $format" np local status -o $format
done
is "$(np show day -o name)" day "show -o name: the name"
like "$(np show day -o csv)" '^has,"2 nodes of richmond, ' "show -o csv: label and value"
is "$(np show "$ORDER" --template '{id} {object}')" "$ORDER order" "a template of one document"

# ---- YAML ----
np ls -o yaml >ls.yaml
like "$(cat ls.yaml)" '^- reservation: day$' "plain words are not quoted"
like "$(cat ls.yaml)" '^  end: "20' "what YAML would read as a time is"
like "$(cat ls.yaml)" '^  schedule:$' "what is inside stands"
like "$(cat ls.yaml)" '^    - type: ' "further in"
is "$(np orders -r day --status cancelled -o yaml)" "[]" "an empty list is a list"
is "$(np ls -q -o yaml)" day "-q wins"
run_is 2 "a wrong field" np ls --fields nope -o yaml
is "$out" "" "prints nothing"

# ---- Templates ----
is "$(np ls --template '{{{reservation}}}\t{schedule.0.nodes}\n{burn}')" "$(printf '{day}\t2\n0.000000')" \
	"braces, tabs, new lines and what is inside of a field"
run_is 2 "a field that there is not" np ls --template '{reservation} {stat}'
is "$err" "nanopod: cannot show 'stat': no such field; fields: reservation, id, state, type, nodes, start, end, burn, started, created, burn_micros, schedule" \
	"is named, with those that there are"
is "$out" "" "and nothing is printed"
run_is 2 "nor in a document" np show day --template '{nope}'
like "$err" "cannot show 'nope': no such field; fields: object, id, " "either"
run_is 2 "one without an end" np ls --template '{state'
run_is 2 "one without a field" np ls --template 'state'
run_is 2 "two formats" np ls --template '{state}' -o json
orders=$(np orders -a -q | wc -l)
run_is 2 "a purchase" np buy -t richmond -d 1h -s +1h -p 2.10 -y --no-wait --name two --template '{nope}'
is "$(np orders -a -q | wc -l)" "$orders" "with a wrong field buys nothing"
run_is 0 "lines as they come" np events --template '{type}'
like "$out" '^account.credited$' "are printed each"
# ---- One vocabulary for states ----
# States of reservations and nodes, in every format for programs, are among these, whatever the list.
STATES='["pending","starting","running","stopping","ended","failed"]'
np buy -t richmond -d 1h -s +30h -p 2.10 -y --name later >bought 2>&1 || diag "$(cat bought)"
np buy -t richmond -n 1 -d 2h -p 3.10 -y --name gone >bought 2>&1 || diag "$(cat bought)"
np release gone -y >bought 2>&1 || diag "$(cat bought)"
clock $((NOW + 121))
# words_of FILTER COMMAND…: the states that a list shows, which must be some
words_of() {
	filter=$1; shift
	np "$@" -o json >as.json 2>/dev/null
	is "$(jq -c --argjson s "$STATES" "[$filter] | unique - \$s" as.json)" "[]" "$*: its states are words of the vocabulary"
	ok "$*: it has some" jq -e "[$filter] | length > 0" as.json
}
words_of '.[].state' ls -a
words_of '.[].state' ls
words_of '.[].status' nodes --all
is "$(jq -r '[.[].status] | unique | join(" ")' as.json)" "ended pending" "(nodes that wait and that ended)"
for lists in $(jq -r '.commands[] | select([.options[].name] | index("fields")) | .name' help.json); do
	np $lists --fields= 2>/dev/null | grep -E '^ *(state|status) ' | grep -Eiw 'terminated|awaiting|awaiting_allocation|coming|over|released|active' &&
		fail "$lists: its column of states has other words"
done
done_testing
