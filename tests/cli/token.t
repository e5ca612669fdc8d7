#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tokens: made, shown once, listed, revoked.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 1
trade_between
token() { "$NANOPOD" token "$@"; }

run_is 0 "token create" token create ci --scope read,trade --expires 30d -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.name, .scopes]')" '["ci","read,trade"]' "has what was asked for"
ci=$(printf '%s' "$out" | jq -r '.[0].token') id=$(printf '%s' "$out" | jq -r '.[0].id')
like "$ci" '^npk_[A-Za-z0-9_-]{43}$' "and the token"
is "$(printf '%s' "$out" | jq -r '.[0].expires')" 2027-02-14T08:00:00Z "that expires when it was said"
NANOPOD_TOKEN=$ci run "$NANOPOD" whoami --fields scopes -o csv
is "$out" 'scopes
"read,trade"' "it may do that"
NANOPOD_TOKEN=$ci run_is 4 "and no more" token list
like "$err" 'nanopod whoami' "which is told where to look"
run token create laptop -q
like "$out" '^npk_[A-Za-z0-9_-]{43}$' "-q is the token alone"
is "$err" "" "without a word"
run_is 0 "for ever" token create eternal --expires never -o json
is "$(printf '%s' "$out" | jq -r '.[0].expires')" null "has no end"

run_is 0 "token list" token list -o json
is "$(printf '%s' "$out" | jq -r '[.[].name] | sort | join(" ")')" "ci eternal laptop test" "shows them"
unlike "$out" "$ci" "not what they are"
run_is 0 "token revoke" token revoke "$id"
NANOPOD_TOKEN=$ci run_is 4 "ends it" "$NANOPOD" balance
run_is 3 "once" token revoke "$id"

for bad in '--scope read,every' '--scope evil' '--expires 90' '--expires 1x' '--expires 0d'; do
	run_is 2 "create $bad" token create x $bad
done
like "$err" 'never' "says what is understood"
run_is 2 "create without a name" token create
run_is 2 "an action that is none" token make x
like "$err" 'list, create, cap and revoke|did you mean' "says which there are"
run_is 4 "no more than one has" token create x --scope admin
is "$(asked POST /np/v1/tokens | head -n 1)" 4 "(what is wrong here is not asked there)"

rule 'cut-after POST /np/v1/tokens'
run_is 8 "a token whose answer is lost" token create lost
like "$err" 'may have been done' "may have been made"
rules_off
run_is 0 "token list shows it" token list -o json
is "$(printf '%s' "$out" | jq '[.[] | select(.name == "lost")] | length > 0')" true "so that it can be revoked"

# One that expired opens nothing any more, so it takes nobody's place.
operator POST /np/v1/accounts/acme/tokens '{"scopes":["read"],"expires_in_seconds":60}' >/dev/null
has=$(token list -q | wc -l)
marketd_stop
marketd_start --test-clock=$NOW --listen "${MARKET_URL#http://}" --quota tokens=$has
run_is 7 "as many tokens as the quota" token create next
like "$err" "has $has of $has tokens" "count"
clock $((NOW + 120))
run_is 0 "expired ones do not" token create next
run_is 7 "the others do" token create more

marketd_stop
marketd_start --test-clock --quota tokens=1
run_is 7 "over a quota" token create more
like "$err" "account '[a-z]+' has [0-9]+ of 1 tokens \(quota 'tokens'\); revoke some, or ask the operator for more" "the market's sentence says which"
done_testing
