#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the market's log says: who did what with accounts, money, tokens and hosts, once it is on disk; and on demand each
# request, without any secret.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq
NOW=1800000000
marketd_start --test-clock=$NOW --rate 0 || done_testing
line() { grep -- "$1" "$MARKETD_LOG" | tail -n 1; }
lines() { grep -c -- "$1" "$MARKETD_LOG"; }

# ---- Who did what ----
operator POST /np/v1/accounts '{"name":"acme"}' >"$TMP/out"
is "$(line audit:)" "nanopod-marketd: audit: account 'acme' made, by the operator" "an account"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"100.50"}' >"$TMP/out"
is "$(line audit:)" "nanopod-marketd: audit: credit of \$100.50 to account 'acme', by the operator" "money"
TOKEN=$(marketd_token acme read trade nodes tokens host)
like "$(line audit:)" "token tok_[a-z0-9]* made for account 'acme', by the operator" "a token"
as "$TOKEN" POST /np/v1/tokens '{"scopes":["read"]}' >"$TMP/made"
like "$(line audit:)" "token tok_[a-z0-9]* made for account 'acme', by token tok_[a-z0-9]* of account 'acme'" "whose token did it"
as "$TOKEN" DELETE "/np/v1/tokens/$(jq -r .id "$TMP/made")" >"$TMP/out"
like "$(line audit:)" "token $(jq -r .id "$TMP/made") of account 'acme' revoked, by token" "and took it back"
operator PATCH /np/v1/accounts/acme '{"state":"suspended"}' >"$TMP/out"
like "$(line audit:)" "account 'acme' is suspended" "a suspension"
operator PATCH /np/v1/accounts/acme '{"state":"open"}' >"$TMP/out"
like "$(line audit:)" "account 'acme' is open" "its end"
operator PUT /np/v1/policy '{"fee_bps":250}' >"$TMP/out"
like "$(line audit:)" "policy is fee_bps=250 " "the rules"
SKU=$(operator POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"accelerator":"none"}}' | jq -r .id)
like "$(line audit:)" "type 'cpu' made or changed" "a type"
isnt "$SKU" null "(it is there)"

# ---- What is not done is not said ----
n=$(lines audit:)
operator POST /np/v1/accounts '{"name":"acme"}' >"$TMP/out"
as "$TOKEN" POST /np/v1/accounts '{"name":"mine"}' >"$TMP/out"
is "$(lines audit:)" "$n" "what the market refuses leaves no line"
operator POST /np/v1/accounts '{"name":"two\nlines: audit: credit of $9 to all"}' >"$TMP/out"
is "$(lines '^nanopod-marketd: audit: credit')" 1 "a name cannot write a line of its own"

# ---- Each request ----
as "$TOKEN" GET /np/v1/balance >"$TMP/out"
is "$(lines 'request ')" 0 "requests are not logged"
kill -USR1 "$MARKETD_PID"
logging() { grep -q 'logging each request' "$MARKETD_LOG"; }
ok "until SIGUSR1 asks for it" wait_for 20 logging
as "$TOKEN" GET '/v2/orders?limit=3' >"$TMP/out"
like "$(line 'request ')" "request [^ ]*: GET /v2/orders.limit=3 200, [0-9.]* ms, by tok_[a-z0-9]* of acct_[a-z0-9]* from 127.0.0.1" \
	"then with who asked, from where, and how long it took"
operator GET /np/v1/accounts >"$TMP/out"
like "$(line 'request ')" "GET /np/v1/accounts 200, .* by the operator from the socket" "the operator"
as npk_0000000000000000000000000000000000000000000 GET /np/v1/balance >"$TMP/out"
like "$(line 'request ')" "GET /np/v1/balance 401, .* by nobody" "a stranger"
as "$TOKEN" GET "/np/v1/$(printf 'x%.0s' $(seq 1 300))%1b%5b31m" >"$TMP/out"
like "$(line 'request ')" "GET /np/v1/xxx.*%1b%5b31m 400," "a path as it came, with nothing that a terminal would obey"
not_ok "no token is logged" grep -q -e "$TOKEN" -e npk_ "$MARKETD_LOG"
n=$(lines 'request ')
kill -USR1 "$MARKETD_PID"
quiet() { grep -q 'no longer logging' "$MARKETD_LOG"; }
ok "SIGUSR1 again ends it" wait_for 20 quiet
as "$TOKEN" GET /np/v1/balance >"$TMP/out"
is "$(lines 'request ')" "$n" "so that nothing more is logged"
marketd_stop
marketd_start --test-clock=$NOW --log-level debug || done_testing
as "$TOKEN" GET /np/v1/balance >"$TMP/out"
is "$(lines 'request ')" 1 "--log-level debug logs them from the start"
marketd_stop
marketd_start --test-clock=$NOW --log-level warn || done_testing
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1"}' >"$TMP/out"
is "$(lines audit:)" 0 "--log-level warn drops what was done"
done_testing
