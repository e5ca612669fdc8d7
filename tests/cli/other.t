#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same commands against a market that has only SF Compute's paths below /v2.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
# This market tells no time, so nanopod uses the real clock; the clock of the test is a month ahead of it.
NOW=$((($(date +%s) / 86400 + 30) * 86400 + 8 * HOUR))
trade_start 3
trade_between plain
rule 'status=404 * /np/'
cd "$TMP" || exit 99
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
FIRST=$((NOW + 3600))

run_is 0 "a price, computed from the order book" np price -t h100 -n 2 -d 24h -s @$FIRST
like "$out" 'total +\$691\.20, computed from the order book' "says so"
like "$out" 'offers +3 nodes at \$1\.80 per GPU-hour, you get 2' "and from what"
run_is 0 "of two levels" np price -t h100 -n 4 -d 1h -s @$FIRST -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.total_micros, .limit]')" '[67200000,"3.00"]' "is the sum of both"
rule 'status=404 * /np/' 'status=404 GET /v2/orderbook/'
run_is 6 "without a book its own estimate counts, and what cannot be seen is said" np buy -t h100 -n 9 -d 1h -s @$FIRST -p 3 -y
rule 'status=404 * /np/'

run_is 0 "bought" np buy -t h100 -n 2 -d 4h -s @$FIRST -p 2.10 -y --name sfc -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.reservation, .status, .nodes, .price, .total_micros, (.node_names | length)]')" \
	'["sfc","filled",2,"1.80",115200000,2]' "by /v2 alone"
like "$err" '"refund":"No refund for unused time' "the plan knows no refund"
is "$(grep -c ' /np/v1' "$BETWEEN_LOG") $(grep '^POST' "$BETWEEN_LOG" | grep -vc '^POST /v2/')" "$(grep -c '^GET /np/v1 ' "$BETWEEN_LOG") 0" \
	"nothing of ours was asked for but whether it is there"
run_is 2 "what it does not have" np buy -t h100 -d 1h -s @$FIRST -p 2.10 -y --interruptible
like "$err" 'this market does not have it' "is said before anything is asked for"
run_is 6 "not filled" np buy -t h100 -n 2 -d 4h -s @$FIRST -p 2.10 -y
like "$err" "-n 1.* would fill" "what would is computed from the order book"
run_is 7 "the cap is held to here" np buy -t h100 -d 10h -s @$((FIRST + 36000)) -p 2.10 -y --max-total 10
run_is 0 "extended" np extend sfc -d 2h -y -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.result, .nodes, .end]')" "[\"extended\",2,\"$(date -u -d "@$((FIRST + 6 * HOUR))" +%FT%TZ)\"]" "by a buy from its end on"
is "$(instances_of sfc)" 2 "no node more"
run_is 0 "sold" np sell sfc --last 1h -p 2 -y
O=$out
run_is 0 "cancelled" np cancel "$O"
run_is 1 "released" np release sfc -y
like "$err" "this market takes no nodes back; 'nanopod sell' offers it" "cannot be"
run_is 0 "listed" np ls -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.reservation, .started, .burn]')" '["sfc",2,null]' "what it does not tell is null"
run_is 0 "shown" np show sfc
run_is 0 "orders" np orders --all -q

rule 'status=404 * /np/' 'cut-after POST /v2/orders'
run np buy -t h100 -d 4h -s @$((FIRST + 86400)) -p 2.10 -y
is "$status $(intents)" "8 1" "the answer is lost"
rule 'status=404 * /np/'
run_is 0 "the same command" np buy -t h100 -d 4h -s @$((FIRST + 86400)) -p 2.10 -y
like "$err" 'replayed' "finds out"
for step in pools instances; do
	rule 'status=404 * /np/' "cut-after POST /v2/$step"
	W=$((FIRST + 172800))
	[ $step = pools ] || W=$((W + 86400))
	run np buy -t h100 -n 2 -d 4h -s @$W -p 2.10 -y
	is "$(intents)" 1 "$step: the answer is lost, and there are no keys for it"
	rule 'status=404 * /np/'
	run_is 0 "$step: the same command" np buy -t h100 -n 2 -d 4h -s @$W -p 2.10 -y
	is "$(instances_of "$out") $(intents)" "2 0" "$step: knows its own by their names"
done
for step in pools instances; do
	rule 'status=404 * /np/' "cut-first POST /v2/$step"
	W=$((FIRST + 360000))
	[ $step = pools ] || W=$((W + 36000))
	: >"$BETWEEN_LOG"
	run_is 0 "$step: one lost answer" np buy -t h100 -n 2 -d 4h -s @$W -p 2.10 -y
	is "$(instances_of "$out") $(intents)" "2 0" "$step: is found out without a key too"
done
rule 'status=404 * /np/'
run_is 0 "a reservation" np buy -t h100 -d 1h -s @$((FIRST + 400020)) -p 2.10 -y --name mine
pools=$(pools_count)
rule 'status=404 * /np/' "cut-after POST /v2/pools"
run np buy -t h100 -d 1h -s @$((FIRST + 410040)) -p 2.10 -y --name mine
rule 'status=404 * /np/'
run_is 5 "a name that somebody has" np buy -t h100 -d 1h -s @$((FIRST + 410040)) -p 2.10 -y --name mine
is "$(pools_count) $(instances_of mine) $(intents)" "$pools 1 0" "is not taken for one's own: nothing was bought into it"
is "$(market GET '/v2/orders?limit=200' | jq --argjson s $((FIRST + 86400)) '[.data[] | select(.allocation_schedule_delta[0].start_at == $s)] | length')" 1 "and bought once"
done_testing
