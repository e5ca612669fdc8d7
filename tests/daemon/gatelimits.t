#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The policy limits what an account sends through gateways: requests and tokens a minute and a day, at /np/v1/authz, which
# counts requests, and in the gateway of our own, which counts both.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/gateway.sh"
need jq node

NOON=1800014400 # of a day of UTC
cat >"$TMP/policy.yaml" <<-'END'
	rules:
	  - {name: small, when: {account.name: {in: [acme, other]}}, limits: {requests_minute: 3, requests_day: 5}}
	  - {name: few, when: {account.name: few}, limits: {requests_day: 2}}
	  - {name: wordy, when: {account.name: wordy}, limits: {tokens_day: 20}}
	default: {allow: true}
END
marketd_start --rate 0 --test-clock=$NOON --policy "$TMP/policy.yaml" || done_testing
for name in acme other few wordy free; do marketd_account $name 10.00; done
acme=$(marketd_token acme) acme2=$(marketd_token acme) other=$(marketd_token other)
few=$(marketd_token few) wordy=$(marketd_token wordy) free=$(marketd_token free)
# door TOKEN [QUERY]: the status and when to come back.
door() { as "$1" GET "/np/v1/authz${2-}" >"$TMP/answer"; printf '%s %s' "$(http_status)" "$(http_header Retry-After)"; }
clock() { operator POST /np/v1/admin/clock "{\"at\":$1}" >/dev/null; }

is "$(door "$acme")|$(door "$acme2")|$(door "$acme")" "200 |200 |200 " "as many as the policy allows, by all tokens of the account"
is "$(jq -c .limits "$TMP/answer")" '{"requests_minute":3,"requests_day":5}' \
	"a gateway that counts itself reads the limits"
is "$(door "$acme2")" "429 60" "one more must wait for the next minute"
is "$(json '"\(.error.code) \(.error.message)"' <"$TMP/answer")" "rate_limited policy 'small' allows 3 requests a minute" "and hears why"
is "$(door "$other")|$(door "$free")" "200 |200 " "another account has its own, and others none"
is "$(door "$acme" '?count=false')" "200 " "a gateway that counts itself is not counted"
clock $((NOON + 61))
is "$(door "$acme")|$(door "$acme")|$(door "$acme")" "200 |200 |429 $((43200 - 61))" "then the day's limit holds"
clock $((NOON + 43200))
is "$(door "$acme")" "200 " "until the next day begins"
cat >"$TMP/wrong.yaml" <<-'END'
	rules: []
	default: {limits: {requests_minute: 0.5}}
END
run_is 1 "half a request" "$MARKETD" policy check "$TMP/wrong.yaml"
like "$err" "'requests_minute' must be a whole number from 1, e.g. 1000" "says what to write"

# ---- The gateway of our own -----------------------------------------------------------------------------------
printf 'backend-key\n' >"$TMP/key" && chmod 600 "$TMP/key"
backend a
cat >"$TMP/gateway.yaml" <<-END
	market: ${NANOPOD_URL%/}
	listen: 127.0.0.1:0
	spool: $TMP/usage.jsonl
	models: [{name: llama, key-file: $TMP/key, backends: ["127.0.0.1:$backend_port"]}]
END
gateway_start
code() { json '"\(.error.code) \(.error.message)"'; }
gateway_day 60
codes=
for i in 1 2 3; do chat "$few" llama 'n=1' >"$TMP/answer"; codes="$codes$(http_status) "; done
is "$codes" "200 200 429 " "requests a day, though the gateway asks the market but now and then"
is "$(code <"$TMP/answer")" "rate_limit_exceeded the market's policy 'few' allows this account 2 requests a day" "and the client hears why"
like "$(http_header Retry-After)" '^[1-9][0-9]*$' "and when to come back"
chat "$wordy" llama 'n=30' >"$TMP/answer"
is "$(http_status)" 200 "tokens a day: what has begun goes on"
is "$(chat "$wordy" llama 'n=1' | code) $(http_status)" \
	"rate_limit_exceeded the market's policy 'wordy' allows this account 20 tokens a day 429" "and the next one waits"
is "$(chat "$free" llama 'n=1' | json '.choices[0].message.content')" "t0 " "others go on"
gateway_end
gateway_start
is "$(chat "$wordy" llama 'n=1' >"$TMP/answer"; http_status)" 429 "tokens outlive a restart of the gateway"
done_testing
