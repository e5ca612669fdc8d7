#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod balance and types in every format, and their errors.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
trade_between

run_is 0 "balance" "$NANOPOD" balance
like "$out" '\$100,000\.00' "dollars for people"
run_is 0 "balance -o json" "$NANOPOD" balance -o json
is "$(printf '%s' "$out" | jq -c '[length, .[0].available, .[0].available_micros, .[0].escrow]')" '[1,"100000.000000",100000000000,"0.000000"]' \
	"an array, a decimal and micro-dollars"
is "$err" "" "and nothing else"
run "$NANOPOD" balance -q
is "$out" 100000.000000 "-q is a number that a script reads"
run "$NANOPOD" balance --fields available,held -o csv
is "$out" "available,held
100000.000000,0.000000" "fields as csv"
NANOPOD_URL=http://127.0.0.1:1 run_is 0 "fields are listed without a market" "$NANOPOD" balance --fields=
like "$out" '^escrow +paid for time' "with what they are"
run_is 2 "an unknown field is seen before anything is asked" "$NANOPOD" balance --fields avalable --url http://127.0.0.1:1
like "$err" "did you mean 'available'" "with the nearest"

run_is 0 "types" "$NANOPOD" types
like "$out" '^richmond +h100 +8 +1\.80 +3 +europe-north1' "the price is that of the cheapest, nodes are all that are on sale"
run "$NANOPOD" types -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.type, .gpus, .price, .node_price, .node_price_micros, .nodes]')" \
	'["richmond",8,"1.80","14.40",14400000,3]' "for programs"
run "$NANOPOD" types -q
is "$out" richmond "-q is what -t takes"
sku empty 4 '{"accelerator":"a100"}' >/dev/null
run "$NANOPOD" types --fields type,price,nodes -o csv
is "$(printf '%s\n' "$out" | grep empty)" "empty,,0" "what nobody sells is listed, without a price"

# What a type promises of each node is seen before it is bought.
sku small 0 '{"num_vcpus":2,"memory":4294967296,"local_storage":22011707392,"requires":{"overcommit":4}}' >/dev/null
run "$NANOPOD" types
like "$out" 'small +- +- +- +0 +- +2 \(4:1\) +4 GiB +20\.5 GiB' "in the list of types, with the cores that are shared"
run "$NANOPOD" types -o json
is "$(printf '%s' "$out" | jq -c '.[] | select(.type == "small") | [.vcpus, .overcommit, .memory, .storage, .gpu_memory]')" \
	'[2,4,"4294967296","22011707392",null]' "as numbers for programs"
run "$NANOPOD" price -t small -n 1 -d 1h
like "$out" 'each +2 vCPUs \(4 share a core\), 4 GiB memory, 20\.5 GiB disk' "with its price"

# Errors say what, why and what next; as JSON too; with the exit status of the reason.
: >"$BETWEEN_LOG"
rule 'status=503 GET /np/v1/balance'
run_is 8 "a market that cannot answer now" "$NANOPOD" balance
is "$(asked GET /np/v1/balance)" 4 "is asked four times"
rules_off
rule 'status=500 GET /np/v1/balance'
run_is 1 "defect 10, 'Something went wrong': not here" "$NANOPOD" balance -o json
is "$(printf '%s' "$err" | jq -r '.error | [.code, .retryable] | @csv')" '"internal",false' "defect 10: a code from the closed list"
like "$(printf '%s' "$err" | jq -r .error.message)" 'cannot show the balance: between says so' "defect 10: what was tried, and the market's own words"
rule 'cut-after GET /np/v1/balance'
run_is 8 "a connection that is always lost" "$NANOPOD" balance -o json
is "$(printf '%s' "$err" | jq -c '.error | [.code, .retryable]')" '["lost",true]' "has its code"
rule 'hang-before GET /np/v1/balance'
for signal in INT=130 TERM=143; do
	: >"$BETWEEN_LOG"
	"$NANOPOD" balance >"$TMP/said" 2>&1 &
	pid=$!
	ok "a market that does not answer is waited for" wait_for 20 grep -q '^GET /np/v1/balance' "$BETWEEN_LOG"
	kill -${signal%=*} $pid
	wait $pid; status=$?
	is "$status" "${signal#*=}" "Ctrl-C or SIG${signal%=*} ends it at once"
	like "$(cat "$TMP/said")" 'interrupted; run the same command again' "with a word"
done
rules_off
run_is 8 "a market that is not there" "$NANOPOD" balance --url http://127.0.0.1:1
like "$err" 'Connection refused; is it running' "says what to look at"
run_is 2 "a URL that is none" "$NANOPOD" balance --url market.example.org
like "$err" 'unix:/' "with the forms"
NANOPOD_SPEND_MAX=12abc run_is 2 "a setting of money that is none" "$NANOPOD" balance
like "$err" "12abc" "is named"
done_testing
