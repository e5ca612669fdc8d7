#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod audit: who did what with an account, and why; its own alone, and all for the operator.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
cd "$TMP" || exit 99
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
run_is 0 "(a token)" np token create robot --scope read -o json
id=$(printf '%s' "$out" | jq -r '.[0].id') robot=$(printf '%s' "$out" | jq -r '.[0].token')
run_is 0 "(it is revoked)" np token revoke "$id"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"5.00","reason":"a bad day"}' >"$TMP/.credit"
run_is 0 "(an order, which is no news here)" np buy -t richmond -d 1h -p 2.10 -y --no-wait --no-instances --name first

run_is 0 "what was done" np audit
like "$out" "token 'robot' made for account 'acme'" "a token was made"
like "$out" "token $id of account 'acme' revoked" "and revoked"
like "$out" 'credit of \$5\.00 to account .acme. +operator +a bad day' "money came, by whom, and why"
unlike "$out" "foundry" "nothing of others"
run_is 0 "for a script" np audit -o jsonl
is "$(printf '%s\n' "$out" | jq -r 'select(.kind == "token" or .kind == "token_revoke" or .reason) | .kind' | sort -u | tr '\n' ' ')" "credit token token_revoke " \
	"an object per line"
is "$(printf '%s\n' "$out" | jq -r 'select(.kind == "order")' | wc -l)" 0 "orders are not among them"
is "$(NANOPOD_TOKEN=$FOUNDRY np audit -o jsonl | jq -r .account | sort -u)" foundry "another account sees its own"
NANOPOD_TOKEN=$robot run_is 4 "a token that was revoked sees nothing" np audit
is "$(operator GET '/np/v1/audit' | jq -r '[.data[].account] | unique | map(select(. == "acme" or . == "foundry")) | join(" ")')" "acme foundry" "the operator sees all"

# Orders by the thousand between two lines: pages may be empty, and the list goes on.
is "$(market GET '/np/v1/audit?limit=1' | jq -r '[(.data | length), .has_more] | join(" ")')" "1 true" "page by page"
all=$(market GET /np/v1/audit | jq -c '[.data[].seq]') after=0 got='[]'
while :; do
	page=$(market GET "/np/v1/audit?limit=1&starting_after=$after")
	got=$(jq -nc --argjson a "$got" --argjson p "$page" '$a + [$p.data[].seq]')
	[ "$(jq .has_more <<<"$page")" = true ] || break
	after=$(jq -r .cursor <<<"$page")
done
is "$got" "$all" "it is the whole list"
done_testing
