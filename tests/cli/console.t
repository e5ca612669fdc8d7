#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a node's console said: in order, none lost and none twice, whatever happens on the way.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/npagent.sh"
trade_start 0
console() { "$NANOPOD" console "$@"; }

# An agent with one host, by hand; its session's token is $AGENT.
key one
AGT=$(join "$(join_token)" here one m | json .id)
AGENT=$(session "$AGT" one 1 m "$NOW" | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
HOST=$(as "$AGENT" POST /np/v1/agent/hosts "{\"name\":\"here\",\"instance_sku\":\"$SKU\"}" | json .id)
offer "$HOST" 14.400000 >/dev/null
run_is 0 "(a node)" "$NANOPOD" buy -t h100 -n 1 -d 2h -p 1.80 --name train -y
clock $((NOW + 61))
ID=$(market GET '/np/v1/nodes' | json '.data[0].id')

# say FIRST TEXT…: lines from that number on.
say() {
	say_first=$1; shift
	say_lines=
	for say_text; do say_lines="$say_lines,{\"at\":$(((NOW + say_first) * 1000000 + 5)),\"data\":\"$(printf '%s' "$say_text" | base64 -w0)\"}"; done
	as "${AGENT}" POST "/np/v1/instances/$ID/console" "{\"first\":$say_first,\"lines\":[${say_lines#,}]}" >"$TMP/.said"
}

run_is 0 "a node that said nothing" console train-0
is "$out$err" "" "says nothing"
say 1 "one" "two $(printf '\033[31m')red" "three"
run_is 0 "its console" console train-0
is "$out" "one
two $(printf '\033[31m')red
three" "byte for byte into a file"
is "$(console train-0 -n 2 | tail -n 1)$(console train-0 -n 2 | wc -l)" three2 "-n: the last of it"
is "$(console "$ID" -n 1)" three "by id"
run console train-0 -o jsonl
is "$(printf '%s\n' "$out" | jq -c '[.seq, .node, .data]' | head -n 1)" '[1,"train-0","one"]' "-o jsonl"
is "$(printf '%s\n' "$out" | jq -r '.time' | head -n 1)" "2027-01-15T08:00:01.000005Z" "with the time of each"
is "$(console train-0 -o jsonl --since-seq 2 | jq -c .seq)" 3 "--since-seq goes on"
run_is 2 "--since-seq and -n" console train-0 --since-seq 2 -n 1
run_is 3 "a node that is none" console nothing
like "$err" "nanopod nodes --all" "and what lists them"

# ---- -f, and a market that goes away ----
trade_between
run_f() { "$NANOPOD" console train-0 -f >"$TMP/f.out" 2>"$TMP/f.err" & F=$!; at_exit "kill $F 2>/dev/null"; }
said() { grep -qx "$1" "$TMP/f.out"; }
run_f
ok "-f shows what is there" wait_for 20 said three
NANOPOD_URL=$MARKET_URL say 4 "four"
ok "and what comes" wait_for 20 said four
rule 'cut GET /v2/instances'
ok "a connection that breaks is told" wait_for 20 grep -q "trying again" "$TMP/f.err"
NANOPOD_URL=$MARKET_URL say 5 "five" "six"
rules_off
ok "and it goes on" wait_for 30 said six
ok "which is told" wait_for 20 grep -q "nothing was missed" "$TMP/f.err"
is "$(cat "$TMP/f.out" | sed 's/^two.*/two/' | tr '\n' ' ')" "one two three four five six " "no line is missing, none is there twice"
kill -INT $F; wait $F; is $? 130 "Ctrl-C ends it"
NANOPOD_URL=$MARKET_URL market POST "/v2/instances/$ID/terminate" >/dev/null
is "$(console train-0 -n 1)" six "a node that is gone has it still"
done_testing
