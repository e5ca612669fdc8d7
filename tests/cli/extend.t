#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod extend: the same nodes for longer, all or none of them, and every failure is reported.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 4
trade_between
cd "$TMP" || exit 99
FIRST=$((NOW + 60))
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
end_of() { market GET '/v2/pools?limit=200' | jq -r --arg n "$1" '.data[] | select(.name == $n) | .allocation_schedule.total[-1].end_at'; }
nodes_of() { market GET '/v2/instances?limit=200' | jq -r --arg n "$1" '[.data[] | select(.pool.name == $n) | .id] | sort | join(" ")'; }

run_is 0 "two nodes for four hours" np buy -t richmond -n 2 -d 4h -p 2.10 -y --name one
run_is 0 "one node for two hours" np buy -t richmond -d 2h -p 2.10 -y --name two
run_is 0 "the cheap host that is left, six hours from the end of the first on" np buy -t richmond -n 2 -d 3h -s @$((FIRST + 10 * HOUR)) -p 1.80 -y --name later
nodes=$(nodes_of one)

run_is 2 "no duration" np extend one -y
run_is 2 "a duration without a unit" np extend one -d 12 -y
run_is 2 "no terminal and no -y" np extend one -d 1h
run_is 3 "one that is not there" np extend nosuch -d 1h -y
run_is 2 "twice at once" np extend one one -d 1h -y
before=$(balance_now)
run_is 0 "dry run" np extend one -d 2h --dry-run
like "$err" 'one +2 nodes of richmond, Fri 15 Jan 12:01 to 14:01 UTC, 2h$' "the plan"
like "$err" '^ +\$57\.60 at \$1\.80 per GPU-hour$' "with what it costs"
like "$err" 'total +\$57\.60, not more$' "and that no more is paid"
is "$(end_of one) $((before - $(balance_now))) $(intents)" "$((FIRST + 4 * HOUR)) 0 0" "nothing is bought"

run_is 0 "extended" np extend one -d 2h -y -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.reservation, .result, .nodes, .from, .end, .price, .total_micros, .replayed]')" \
	'["one","extended",2,"2027-01-15T12:01:00Z","2027-01-15T14:01:00Z","1.80",57600000,false]' "from the end that it had"
is "$(end_of one) $((before - $(balance_now)))" "$((FIRST + 6 * HOUR)) 57600000" "for what the plan showed"
is "$(nodes_of one)" "$nodes" "with the same nodes, none more"
run_is 0 "to a time, by half an hour" np extend two -e @$((FIRST + 2 * HOUR + 1800)) -p 1.80 -y
is "$(end_of two)" $((FIRST + 2 * HOUR + 1800)) "is until then"

# All of it or nothing: one of its two hosts is sold for those hours.
run_is 6 "its hosts are sold" np extend one -d 12h -y
like "$err" "cannot extend 'one': its hosts are sold from Sat 16 Jan|cannot extend 'one': its hosts are sold from Fri 15 Jan 18:01" "from when"
like "$err" "'nanopod extend one .*-d 4h' would fill" "what would"
is "$(end_of one)" $((FIRST + 6 * HOUR)) "nothing of it is extended"
isnt "$out" "[]" "and no empty list is shown"
is "$(np extend one -d 12h -y -o json 2>err.json | jq -r '.[0].result') $(jq -r .error.code err.json)" "failed no_capacity" "nor in JSON, and the error is an object"
run_is 6 "beside one that could be" np extend one two -d 12h --dry-run
like "$err" "'nanopod extend one --dry-run -d 4h' would fill" "what would is about that one alone"
hint=$(jq -r .error.hint err.json | tr "'" '\n' | grep '^nanopod extend' | head -n 1)
run_is 0 "and that is true" sh -c "$(printf '%s' "$hint" | sed "s|^nanopod|$NANOPOD|")"
is "$(end_of one)" $((FIRST + 10 * HOUR)) "so far"
run_is 6 "a limit that is too low" np extend two -d 1h -p 1.50 -y
like "$err" '-p 1\.80' "says what would do"
run_is 7 "--max-total" np extend two -d 10h --max-total 100 -y
is "$(end_of two) $(intents)" "$((FIRST + 2 * HOUR + 1800)) 0" "nothing is bought"

run_is 10 "one of two" np extend two one -d 1h -y -o json
is "$(printf '%s' "$out" | jq -c '[.[] | [.reservation, .result]]')" '[["two","extended"],["one","failed"]]' "each one's result"
run_is 10 "the same without JSON" np extend two one -d 1h -y
like "$out" '^two +extended' "a line each"
like "$out" '^one +failed' "for the failure too"

# Cut off in the middle.
rule "cut-after POST /np/v1/pools/"
run np extend two -d 2h -p 1.80 -y
is "$status $(intents)" "8 0" "a dry run that is cut off has done nothing" || diag "$err"
market GET /v2/pools >/dev/null
id=$(market GET '/v2/pools' | jq -r '.data[] | select(.name == "two") | .id')
before=$(end_of two)
: >"$BETWEEN_LOG"
rules_off
# The first POST of an extend is the dry run: only the one with a key is cut.
rule "cut-keyed POST /np/v1/pools/"
run np extend two -d 2h -p 1.80 -y
is "$status $(intents)" "8 1" "the answer is lost"
like "$err" "cannot tell whether 'two' was extended" "which is said"
kept=$(ls "$HOME/.local/state/nanopod/intents")
cp "$HOME/.local/state/nanopod/intents/$kept" one.intent
rules_off
run_is 0 "the same command" np extend two -d 2h -p 1.80 -y
like "$err" "replayed: 'two' was extended before" "finds out"
unlike "$err" "^Extend " "and plans nothing"
is "$(end_of two) $(intents)" "$((before + 2 * HOUR)) 0" "it was extended once"
sed '/^order/d' one.intent >"$HOME/.local/state/nanopod/intents/$kept"
run_is 0 "what was cut off before anything was sent" np extend two -d 2h -p 1.80 -y
is "$(end_of two) $(intents)" "$((before + 4 * HOUR)) 0" "is begun afresh"
before=$((before + 2 * HOUR))
run_is 0 "after that the same command extends again" np extend two -d 2h -p 1.80 -y
is "$(end_of two)" "$((before + 4 * HOUR))" "as it says"
rule "cut-keyed POST /np/v1/pools/$(market GET '/v2/pools' | jq -r '.data[] | select(.name == "later") | .id')"
before=$(end_of two)
run np extend two later -d 1h -p 1.80 -y
is "$(intents)" 2 "of several both are remembered where one is not known"
rules_off
run_is 0 "the same command" np extend two later -d 1h -p 1.80 -y
is "$(end_of two) $(end_of later) $(intents)" "$((before + HOUR)) $((FIRST + 14 * HOUR)) 0" "extends neither of them twice"

# Nodes that do not end together: each of them for longer.
ends_of() { market GET '/v2/pools?limit=200' | jq -r --arg n "$1" '[.data[] | select(.name == $n) | .allocation_schedule.total[] | [.end_at, .node_count]] | tostring'; }
run_is 0 "a node for an hour" np buy -t richmond -d 1h -s @$((NOW + 120 * HOUR)) -p 1.80 -y --name ragged
run_is 0 "and two for two" np buy -t richmond -n 2 -d 2h -s @$((NOW + 120 * HOUR)) -p 1.80 -y --into ragged
AT=$((NOW + 121 * HOUR))
is "$(ends_of ragged)" "[[$AT,3],[$((AT + HOUR)),2]]" "(one of three ends before the others)"
before=$(balance_now)
run_is 0 "the plan" np extend ragged -d 30m --dry-run
is "$(printf '%s\n' "$err" | grep -Ec '(2 nodes of richmond, .* 10:00 to 10:30|1 node of richmond, .* 09:00 to 09:30)')" 2 "has a line for each end" || diag "$err"
rule "cut-keyed POST /np/v1/pools/"
run np extend ragged -d 30m -y
is "$status $(intents)" "8 2" "the answer is lost, and both orders are remembered" || diag "$err"
rules_off
run_is 0 "the same command" np extend ragged -d 30m -y -o json
is "$(printf '%s' "$out" | jq -c 'map([.nodes, .end]) | sort')" '[[1,"2027-01-20T09:30:00Z"],[2,"2027-01-20T10:30:00Z"]]' "extends all three"
is "$(ends_of ragged)" "[[$((AT + 1800)),3],[$((AT + HOUR + 1800)),2]]" "by half an hour"
is "$((before - $(balance_now))) $(intents)" "21600000 0" "once"
run_is 0 "to one end" np extend ragged -e @$((AT + 2 * HOUR)) -y
is "$(ends_of ragged)" "[[$((AT + 2 * HOUR)),3]]" "is for those that end before"
run_is 0 "(one of three ends before again)" np buy -t richmond -d 1h -s @$((AT + 2 * HOUR)) -p 1.80 -y --into ragged
run_is 0 "to an end that one has" np extend ragged -e @$((AT + 3 * HOUR)) -y
is "$(ends_of ragged)" "[[$((AT + 3 * HOUR)),3]]" "extends the others alone"

# Not enough money.
marketd_account poor 60.00
NANOPOD_TOKEN=$(NANOPOD_URL=$MARKET_URL marketd_token poor)
ACME=$NANOPOD_TOKEN
run_is 0 "two nodes for somebody with little money" np buy -t richmond -n 2 -d 1h -s +200h -p 1.80 -y --name few
run_is 7 "who cannot pay for more" np extend few -d 2h -y
like "$err" 'does not cover it: it costs \$57\.60, and you have \$31\.20' "how much is missing"
like "$err" "; 'nanopod extend few -y -d 1h5m' would fill" "what would fit"
unlike "$err" "extend few -d 2h" "and not what was typed"

# A result that could not be printed is printed by the next run, which extends nothing again.
if [ -w /dev/full ]; then
	before=$(end_of few)
	run_is 1 "standard output cannot be written" sh -c '"$NANOPOD" extend few -d 30m -y >/dev/full'
	run_is 0 "the same command" np extend few -d 30m -y
	is "$(($(end_of few) - before)) $(intents)" "1800 0" "tells it, and extends nothing twice"
else
	skip "there is no /dev/full"
fi
done_testing
