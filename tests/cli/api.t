#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Any request by hand.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 1
trade_between
api() { "$NANOPOD" api "$@"; }
body='{"name":"a","workspace":"default"}'

run_is 0 "a GET" api GET /np/v1/whoami
is "$(printf '%s' "$out" | jq -r .account_name)" acme "the body as it came"
is "$err" "" "and nothing else"
run_is 0 "in small letters, without a token" env -u NANOPOD_TOKEN "$NANOPOD" api get /np/v1
run_is 3 "what is not there" api GET /v2/nothing
is "$(printf '%s' "$out" | jq -r .error.code)" not_found "the body all the same"
like "$err" "cannot GET '/v2/nothing'" "why on standard error"
run_is 0 "--include" api GET /np/v1 -i
is "$(printf '%s\n' "$out" | head -n 1)" "HTTP/1.1 200 OK" "begins with the status line"
like "$out" '^X-Request-Id: req_' "has the headers"
is "$(printf '%s\n' "$out" | tr -dc '\r')" "" "in lines of text"

for bad in http://evil.example.org/v2/me //evil.example.org/ v2/me; do
	run_is 2 "'$bad' is no path" api GET $bad
done
run_is 2 "nor is one with a blank" api GET '/v2/a b'
run_is 2 "no such method" api FETCH /v2/me
run_is 2 "a body that is not JSON" api POST /v2/pools '{"name":'
like "$err" 'nothing was sent' "is not sent"
run_is 2 "a GET has no body" api GET /v2/pools '{}'
is "$(asked POST /v2/pools)" 0 "(nothing came through)"

run_is 0 "--explain" api POST /v2/pools "$body" --explain
like "$out" '^Authorization: Bearer \*\*\*' "the token is masked"
like "$out" '^POST http.*/v2/pools' "the request is shown"
is "$(asked POST /v2/pools)" 0 "and not sent"
unlike "$out" "$ACME" "the token is nowhere"

run_is 0 "a POST" api POST /v2/pools "$body"
like "$(tail -n 1 "$BETWEEN_LOG")" '^POST /v2/pools np-[0-9a-f]*-make 201' "has a key of its own"
printf '{"name":"b","workspace":"default"}' >"$TMP/b"
run_stdin "$TMP/b" api POST /v2/pools -
is "$status" 0 "the body from standard input"
run_is 5 "a name that is taken" api POST /v2/pools "$body"
run_is 0 "a key of one's own" api POST /v2/pools '{"name":"c","workspace":"default"}' --key mine-1
run_is 0 "asked again" api POST /v2/pools '{"name":"c","workspace":"default"}' --key mine-1
is "$(pools_count)" 3 "makes one"

# Lost after it was sent: nobody knows, so it is asked again by hand, and done once.
rule 'cut-after POST /v2/pools'
run_is 8 "defect 5, a lost connection after POST: not in the dark here" api POST /v2/pools '{"name":"d","workspace":"default"}'
like "$err" 'may have been done; run the same command again' "defect 5: says that it may have been done, and what to type"
is "$(pools_count)" 4 "(it was)"
is "$(intents)" 1 "defect 5: the key is on disk"
rules_off
run_is 0 "defect 5: the same again" api POST /v2/pools '{"name":"d","workspace":"default"}'
like "$err" 'replayed' "defect 5: goes on with the same request"
is "$(pools_count) $(intents)" "4 0" "defect 5: done once, and nothing is left"
id=$(printf '%s' "$out" | jq -r .id)
run api POST /v2/instances/inst_0123456789abc/terminate
like "$(tail -n 1 "$BETWEEN_LOG")" '^POST /v2/instances/inst_0123456789abc/terminate np-[0-9a-f]*-make 40' "a POST without a body has a key too"
run_is 2 "HEAD is not offered" api HEAD /v2/me
run_is 0 "DELETE" api DELETE "/v2/pools/$id"
is "$out" "" "has no body"
done_testing
