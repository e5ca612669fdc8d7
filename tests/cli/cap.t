#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod token cap: what a token may spend in a calendar month, whatever it buys, and whoever goes on buying for it. The market is
# killed in between, and its clock turns the month. tests/daemon/signincap.t does so with people.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 4
cd "$TMP" || exit 99
ci() { NANOPOD_TOKEN=$CI timeout -k 5 100 "$NANOPOD" "$@" </dev/null; }
np() { timeout -k 5 100 "$NANOPOD" "$@" </dev/null; }
spent() { np token list -o json | jq -r --arg n "${1-ci}" '.[] | select(.name == $n) | .spent + " " + (.cap // "none")'; }
buys() { ci buy -t richmond -d "$1" -p 2.10 -y --no-wait --no-instances --name "$2"; }

run_is 2 "what is no amount" np token create ci --cap 20/week
like "$err" "'20/week' is not an amount for a calendar month" "is said"
run_is 0 "a token with a cap" np token create ci --scope read,trade,nodes --cap 50/month -q
CI=$out
is "$(spent)" "0.000000 50.000000" "the list shows it"
run_is 0 "whoami" ci whoami -o csv --fields spent,cap
is "$(printf '%s' "$out" | tail -n 1)" "0.000000,50.000000" "shows it, too"

# ---- Buying, and what is refused ----
run_is 0 "two hours" buys 2h one
is "$(spent)" "28.800000 50.000000" "count"
run_is 7 "two more" buys 2h two
like "$err" "token 'ci' may spend .50.00 a month, has spent .28.80 of it, and this costs up to .28.80" "are refused: the cap, and what is spent"
like "$err" "the month begins anew on 1 February" "when the month begins anew"
like "$err" "an owner of the account may raise the cap: nanopod token cap ci 58/month" "who may raise it, and how"
run_is 7 "for programs" ci buy -t richmond -d 2h -p 2.10 -y --no-wait --no-instances --name two -o json
like "$out$err" "may spend .50.00 a month" "too"
like "$out$err" "-d 1h2[0-9]m' would fill" "with what would do now"
run_is 7 "a dry run" ci buy -t richmond -d 2h -p 2.10 --dry-run --name two
like "$err" "may spend" "says so before"
is "$(http_call "$NANOPOD_URL" POST /v2/orders "{\"side\":\"buy\",\"requirements\":{\"alias\":\"richmond\"}}" -H "Authorization: Bearer $CI" | jq -r .error.type)" "unprocessable_entity" "(a wrong request is one first)"
run_is 7 "an extension" ci extend one -d 2h -p 2.10 -y
like "$err" "may spend" "counts"
run_is 0 "of another token" np extend one -d 2h -p 2.10 -y
is "$(spent)" "28.800000 50.000000" "counts for that"
is "$(spent test)" "28.800000 none" "which has no cap"
run_is 0 "what is given back" ci release one -y
is "$(spent)" "28.800000 50.000000" "comes off as far as it comes back: here nothing does"
run_is 0 "standing: it holds an hour" ci buy -t richmond -d 1h -p 0.90 -y --standing --no-wait --no-instances --name rests
is "$(spent)" "36.000000 50.000000" "what it holds counts"

# ---- Who may ----
run_is 4 "the token itself" ci token cap ci none
run_is 0 "one that may make tokens, with a cap" np token create agent --scope read,trade,tokens --cap 5/month -q
CI_WAS=$CI CI=$out
run_is 4 "does not lift it" ci token cap agent none
like "$err" "a token with a cap makes no tokens and sets no caps" "is said"
run_is 4 "nor makes a token without one" ci token create more --scope read,trade
like "$err" "a token with a cap makes no tokens" "for the same reason"
CI=$CI_WAS
run_is 0 "an owner's other token does" np token cap agent 6/month
run_is 3 "no such token" np token cap nobody 5/month
run_is 2 "below 0" np token cap ci -5/month

# ---- A browser that signed in with the token ----
as "$CI" POST /np/v1/session >/dev/null
cookie=$(http_header Set-Cookie | sed -n 's/^\(__Host-nanopod=[^;]*\);.*/\1/p')
pool=$(as "$CI" GET '/v2/pools?limit=50' | json '.data[0].id')
page_order() {
	http_call "$NANOPOD_URL" POST "$1" "{\"pool\":\"$pool\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"limit_price_dollars_per_node_hour\":\"14.400000\",
		\"allocation_schedule_delta\":[{\"start_at\":$((NOW + HOUR)),\"end_at\":$((NOW + HOUR + $2)),\"node_count\":1}]}" \
		-H "Cookie: $cookie" -H 'Nanopod-Page: 1'
}
like "$(page_order /np/v1/quote 7200 | json .reason)" "over_cap" "hears the same before"
page_order /v2/orders 7200 >"$TMP/refused"
is "$(http_status) $(json .error.code <"$TMP/refused")" "402 over_cap" "and is refused the same" || diag "$(cat "$TMP/refused")"
page_order /v2/orders 900 >/dev/null
is "$(http_status) $(spent)" "201 39.600000 50.000000" "what it buys counts for the token"
run_is 5 "its session has no cap of its own" np token cap "$(np token list -o json | jq -r '.[] | select(.name | startswith("browser")) | .id')" 5/month
like "$err" "counts for the token that signed it in; set the cap of that: nanopod token cap tok_" "and whose counts is said"

# ---- Killed, and started again ----
marketd_kill
marketd_start --test-clock=$NOW || exit 1
is "$(spent)" "39.600000 50.000000" "the market knows it after kill -9"
run_is 7 "and refuses" buys 2h two

# ---- A lower cap ----
run_is 0 "a lower cap" np token cap ci 30/month --reason "too much"
is "$(spent)" "32.400000 30.000000" "ends what rests, and its money comes back"
run_is 0 "the order" ci orders --all --status cancelled -o json
like "$out" "over_cap" "says why"
like "$(cat "$MARKETD_LOG")" "audit: token tok_[^ ]* of account 'acme' may spend .30.00 a month: too much, by token" "the audit log says who, and why"

# ---- A procurement spends for the token that made it ----
run_is 0 "none" np token cap ci 48.60/month
run_is 0 "a procurement" ci procurement create farm -t richmond -n 1 -p 1.80 -y
is "$(spent)" "46.800000 48.600000" "buys its hour"
clock $((NOW + 2 * HOUR))
like "$(spent)" "^4[678][.][0-9]* 48.600000" "and later as much as the cap leaves"
run_is 0 "it" np procurement show farm -o json
like "$out" "may be spent in this month" "says why"

# ---- The month turns ----
clock 1801440000
is "$(spent)" "0.000000 48.600000" "in a new month nothing is spent"
NOW=1801440000
for i in $(as "$FOUNDRY" GET /np/v1/hosts | jq -r '.data[].id'); do offer "$i" 14.400000 >/dev/null; done
run_is 0 "and it buys again" buys 1h three
like "$(spent)" "^(14.4|28.8)00000 48" "which counts" # with the procurement's hour, if that was first
done_testing
