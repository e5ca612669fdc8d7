#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --account: what the operator sees of an account, what to type without it, and that nobody else may use it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
marketd_account other 7.00
as "$ACME" POST /v2/pools '{"name":"train","workspace":"default"}' >/dev/null
as "$ACME" POST /v2/orders "{\"pool\":\"sfc:pool:acme:default:train\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 3660)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"14.400000\"}" >"$TMP/order"
is "$(jq -r .status <"$TMP/order")" filled "(acme buys a node for an hour)"
ORDER=$(jq -r .id <"$TMP/order")
as "$ACME" POST /v2/instances "{\"name\":\"train-0\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >/dev/null
ACME_ID=$(as "$ACME" GET /np/v1/whoami | json .account_id)
HTTP=$NANOPOD_URL
NANOPOD_URL=unix:$MARKETD_SOCKET
unset NANOPOD_TOKEN

# Without it: which command to type, not what the API wants.
for line in balance burn 'token create x' 'nodes -r train'; do
	run_is 2 "the operator: $line" "$NANOPOD" $line
	like "$err" "the operator has no account of its own; type 'nanopod $line --account NAME'; 'nanopod admin account list'" \
		"is told what to type"
	unlike "$err" '[?]account' "and not how the API says it"
done
run_is 2 "with -o json" "$NANOPOD" balance -o json
is "$(printf '%s' "$err" | jq -c '.error | [.code, .field]')" '["invalid","--account"]' "the option is the field"
run_is 2 "a command that has no such option" "$NANOPOD" buy -t richmond -d 1h -p 3 -y
like "$err" "sign in as an account: 'nanopod admin token ACCOUNT NAME' makes a token" "says who may do it"

# With it, by name and by id.
run_is 0 "balance --account" "$NANOPOD" balance --account acme -o json
is "$(printf '%s' "$out" | jq -r '.[0].escrow')" 14.400000 "is that account's"
run_is 0 "by id" "$NANOPOD" balance --account "$ACME_ID" -q
is "$out" 99985.600000 "is the same"
run_is 0 "burn" "$NANOPOD" burn --account acme -o csv
like "$out" train "has its reservation"
for line in ls reservations; do
	run_is 0 "$line" "$NANOPOD" $line --account acme -q
	is "$out" train "lists its reservation"
done
run_is 0 "ls of the other" "$NANOPOD" ls --account other -q
is "$out" "" "lists none"
run_is 0 "nodes" "$NANOPOD" nodes --account acme -q
is "$out" train-0 "lists its node"
run_is 0 "nodes of one reservation" "$NANOPOD" nodes --account acme -r train -q
is "$out" train-0 "lists it, too"
run_is 0 "orders" "$NANOPOD" orders --account acme --all -q
is "$out" "$ORDER" "lists its order"
run_is 0 "show of a reservation" "$NANOPOD" show train --account acme
like "$out" 'train' "shows it"
run_is 0 "show of an order" "$NANOPOD" show "$ORDER" --account acme
like "$out" 'filled' "shows it"
run_is 0 "ledger" "$NANOPOD" ledger --account other -o csv --fields book,amount
is "$out" "book,amount
available,7.000000" "is that account's"
run_is 0 "events" "$NANOPOD" events --account other
like "$out" '\$7\.00 credited' "are its"
is "$(printf '%s\n' "$out" | wc -l)" 1 "and no others"
run_is 0 "token list" "$NANOPOD" token list --account acme --fields name -o csv
is "$out" "name
test" "lists its tokens"

# All tokens, by the names of their accounts.
run_is 0 "admin token list" "$NANOPOD" admin token list --fields account,name -o csv
is "$(printf '%s\n' "$out" | sort)" "account,name
acme,test
foundry,test" "has those of all accounts"
run "$NANOPOD" admin token list --account foundry -q
id=$out
run_is 0 "admin token revoke" "$NANOPOD" admin token revoke "$id"
NANOPOD_URL=$HTTP NANOPOD_TOKEN=$FOUNDRY run_is 4 "ends it" "$NANOPOD" balance
run_is 3 "once" "$NANOPOD" admin token revoke "$id"
i=0
while [ $i -lt 3 ]; do i=$((i + 1)); operator POST /np/v1/accounts/acme/tokens '{"scopes":["read"]}' >/dev/null; done
is "$(operator GET '/np/v1/tokens?limit=2' | jq -c '[.has_more, (.data | length)]')" '[true,2]' "long lists come in pages"
cursor=$(operator GET '/np/v1/tokens?limit=2' | json .cursor)
is "$(operator GET "/np/v1/tokens?limit=2&starting_after=$cursor" | jq -c '[.has_more, (.data | length)]')" '[false,2]' "that follow each other"

# What belongs to others is not remembered as one's own.
is "$(grep -rls train "$HOME/.cache/nanopod" "$HOME/.local/state/nanopod" 2>/dev/null)" "" "no cache names what others have"

run_is 3 "an account that is none" "$NANOPOD" balance --account nobody
like "$err" "no account 'nobody'" "is named"
NANOPOD_URL=$HTTP NANOPOD_TOKEN=$ACME run_is 4 "a customer has no use of it" "$NANOPOD" balance --account other
like "$err" 'another account needs a token with the scope admin' "which is said"
run_is 0 "--explain" "$NANOPOD" balance --account acme --explain
like "$out" /np/v1/balance[?]account=acme "shows the request"
done_testing
