#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Money by Stripe. Webhooks are signed by Stripe's own npm package, which is fetched for the test and no part of this
# program; the server that makes pages to pay is a stand-in, made from the contract that Stripe publishes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need node npm jq

PACKAGE=stripe@23.1.0
export STRIPE_ROOT=$TMP/npm HOME=$TMP/home STRIPE_NOW=$NOW URL_FILE=$TMP/.url
mkdir -p "$STRIPE_ROOT" "$HOME" && printf '{"private":true}\n' >"$STRIPE_ROOT/package.json"
(cd "$STRIPE_ROOT" && timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts "$PACKAGE" >"$TMP/npm.log" 2>&1) ||
	skip_all "'$PACKAGE' cannot be fetched: $(grep -i error "$TMP/npm.log" | head -n 1 | tr -d '#')"
stripe() { node "$SRC/tests/daemon/stripe.mjs" "$@"; }

server_ready() { sed -n 's/^ready //p' "$TMP/server.log" >"$TMP/server.url" && [ -s "$TMP/server.url" ]; }
node "$SRC/tests/daemon/stripe.mjs" server >"$TMP/server.log" 2>&1 </dev/null &
server_pid=$!
server_stop() { kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; }
at_exit server_stop
wait_for 60 server_ready || { diag "$(cat "$TMP/server.log")"; skip_all "the stand-in does not start"; }

printf 'sk_test_market\n' >"$TMP/key"
printf 'whsec_one\n' >"$TMP/secrets"
run "$MARKETD" --data "$TMP/none" --stripe-key-file "$TMP/key"
is "$status" 2 "a key without the webhook's secret is refused"
like "$err" "give both --stripe-key-file and --stripe-webhook-secret-file" "and says what is missing"
chmod 600 "$TMP/key" && chmod 640 "$TMP/secrets"
run timeout 60 "$MARKETD" --data "$TMP/none" --stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets"
is "$status" 1 "secrets that others can read are refused"
like "$err" "other users can read '$TMP/secrets'; close it with 'chmod 600 $TMP/secrets'" "with what to type"
chmod 600 "$TMP/secrets"
STRIPE=(--stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets" --stripe-url "$(cat "$TMP/server.url")")
v2_start "${STRIPE[@]}"
id_of() { operator GET "/np/v1/accounts/$1" | json .id; }
ACME_ID=$(id_of acme)
MARKET_ID=$(operator GET /np/v1 | jq -r .id)
export MARKET_ID
available() { operator GET "/np/v1/accounts/${1:-acme}" | jq -r .balances.available_dollars; }

# ---- A page to pay ----
as "$ACME" POST /np/v1/topups '{"amount_dollars":"50.00","return_url":"https://market.example.org/"}' -H 'Idempotency-Key: first' >"$TMP/topup"
is "$(http_status) $(jq -r '.object + " " + .state + " " + .amount_dollars + " " + .url' <"$TMP/topup")" \
	"201 topup open 50.000000 https://checkout.stripe.example/c/pay/cs_test_1" "a top-up is a page to pay"
form=$(sed -n 2p "$TMP/server.log")
is "$(jq -r '.form | .["metadata[nanopod_account]"] + " " + .["payment_intent_data[metadata][nanopod_account]"] + " " +
	.["line_items[0][price_data][unit_amount]"] + " " + .success_url' <<<"$form")" "$ACME_ID $ACME_ID 5000 https://market.example.org/" \
	"Stripe hears whose it is, and how much"
is "$(jq -r '.form | .["metadata[nanopod_market]"] + " " + .["payment_intent_data[metadata][nanopod_market]"]' <<<"$form")" \
	"$MARKET_ID $MARKET_ID" "and of which market"
is "$(jq -r '.form["adaptive_pricing[enabled]"]' <<<"$form")" false "and that nobody pays in another currency"
as "$ACME" POST /np/v1/topups '{"amount_dollars":"50.00","return_url":"https://market.example.org/"}' -H 'Idempotency-Key: first' >"$TMP/again"
is "$(jq -r .id <"$TMP/again")" "$(jq -r .id <"$TMP/topup")" "asked again it is the same page"
as "$STRANGER" POST /np/v1/topups '{"amount_dollars":"50.00"}' -H 'Idempotency-Key: first' >"$TMP/other"
is "$(http_status) $(jq -r .id <"$TMP/other")" "201 cs_test_2" "another account's is another, whatever its key"
like "$(sed -n 4p "$TMP/server.log")" "\"success_url\":\"$NANOPOD_URL/\"" "which leads back to the market itself"
as "$STRANGER" POST /np/v1/topups '{"amount_dollars":"50.00"}' -H 'Idempotency-Key: page' -H 'Nanopod-Page: 1' \
	-H 'Sec-Fetch-Site: same-origin' -H 'Origin: https://page.example.org' >/dev/null
like "$(tail -n 1 "$TMP/server.log")" '"success_url":"https://page.example.org"' "or to the market's page, where that asks"
as "$STRANGER" POST /np/v1/topups '{"amount_dollars":"50.00"}' -H 'Idempotency-Key: other' -H 'Nanopod-Page: 1' \
	-H 'Origin: https://other.example.org' >/dev/null
like "$(tail -n 1 "$TMP/server.log")" "\"success_url\":\"$NANOPOD_URL/\"" "but to no other"
for bad in '"0.49"' '"50.001"' '"1000000.00"' '"-5.00"'; do
	as "$ACME" POST /np/v1/topups "{\"amount_dollars\":$bad}" >/dev/null
	is "$(http_status)" 422 "no page for $bad"
done
as "$ACME" POST /np/v1/topups '{"amount_dollars":"5.00","return_url":"javascript:alert(1)"}' >/dev/null
is "$(http_status)" 422 "nor one that leads to a script"
as "$ACME" POST /np/v1/topups '{"amount_dollars":"666.00"}' >"$TMP/said"
is "$(http_status) $(jq -r .error.message <"$TMP/said")" "422 Stripe refuses: This ?[31mamount is not liked" "what Stripe says is told, without its colours"
as "$ACME" POST /np/v1/topups '{"amount_dollars":"777.00"}' >/dev/null
is "$(http_status)" 503 "where Stripe fails, nothing was paid"

# ---- Pages that do not come ----
asked() { [ "$(grep -c '"88800"' "$TMP/server.log")" -ge "$1" ]; }
pids=
for i in 1 2 3 4; do
	(TMP=$TMP/held.$i && mkdir "$TMP" && as "$ACME" POST /np/v1/topups '{"amount_dollars":"888.00"}' >/dev/null) &
	pids+=" $!"
done
wait_for 60 asked 4
as "$ACME" POST /np/v1/topups '{"amount_dollars":"888.00"}' >"$TMP/said"
is "$(http_status) $(jq -r '.error.code + ": " + .error.message' <"$TMP/said")" \
	"429 rate_limited: the market asks Stripe for 4 pages for this account already; try again in 20 seconds" \
	"an account whose pages do not come gets no fifth"
as "$STRANGER" POST /np/v1/topups '{"amount_dollars":"889.00"}' >/dev/null
is "$(http_status)" 201 "while another account gets its page"
wait $pids
is "$(cat "$TMP"/held.?/.body | jq -r .error.message | sort | uniq -c | tr -s ' ')" " 4 Stripe refuses: let go" "each of the four hears what became of it"
as "$ACME" POST /np/v1/topups '{"amount_dollars":"10.00"}' >/dev/null
is "$(http_status)" 201 "and then there is room again"

# ---- Webhooks ----
# hook FILE TIME SECRET…: sends it signed; `http_status` says what the market answered.
hook() {
	hook_file=$1
	shift
	hook_signature=$(stripe sign "$@" <"$hook_file")
	hook_raw "$hook_file" "$hook_signature"
}
hook_raw() { http_call "$NANOPOD_URL" POST /np/v1/stripe '' --data-binary "@$1" -H "Stripe-Signature: $2" -H 'Content-Type: application/json' >/dev/null; }
event() { # event TYPE OBJECT [LIVE]
	printf '{"id":"evt_%s","object":"event","type":"%s","livemode":%s,"data":{"object":%s}}' \
		"$RANDOM" "$1" "${3:-false}" "$2" >"$TMP/event"
}
session() { # session N CENTS [CURRENCY] [ACCOUNT] [METADATA] [LIVE]
	event checkout.session.completed "{\"id\":\"cs_$1\",\"mode\":\"payment\",\"payment_status\":\"paid\",\"amount_total\":$2,
		\"currency\":\"${3:-usd}\",\"payment_intent\":\"pi_$1\",\"metadata\":{${5-\"nanopod_market\":\"$MARKET_ID\",}\"nanopod_account\":\"${4:-$ACME_ID}\"}}" "${6:-false}"
}
before=$(available)
session a 4200
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available)" "204 100042.000000" "what Stripe took is in the balance, whatever was asked for"
like "$(as "$ACME" GET /np/v1/payments | jq -c '.data[] | [.reference, .amount_dollars, .parts[0].reference]')" \
	'\["pi_a","42.000000","cs_a"\]' "the account sees its payment"
is "$(as "$STRANGER" GET /np/v1/payments | jq -c .data)" "[]" "another one does not"
is "$(as "$ACME" GET /np/v1/topups/cs_a | jq -r .state) $(as "$STRANGER" GET /np/v1/topups/cs_a | jq -r .error.code)" "paid not_found" \
	"nor that it was paid"
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available)" "204 100042.000000" "told twice, it counts once"
good=$hook_signature
refused() { # refused TEXT: nothing of it was counted
	is "$(http_status) $(available)" "400 100042.000000" "$1"
}
session b 100
hook "$TMP/event" "$NOW" whsec_other
refused "what another secret signed does not count"
hook "$TMP/event" $((NOW - 301)) whsec_one
refused "nor what was signed more than five minutes ago"
hook "$TMP/event" $((NOW + 301)) whsec_one
refused "or five minutes ahead"
hook_raw "$TMP/event" "$good"
refused "nor what was signed for another body"
hook_raw "$TMP/event" "t=$NOW"
refused "nor what has no signature"
hook_raw "$TMP/event" "v1=${good##*v1=}"
refused "nor what has no time"
http_call "$NANOPOD_URL" POST /np/v1/stripe '' --data-binary "@$TMP/event" >/dev/null
refused "nor what has no header"
signature=$(stripe sign "$NOW" whsec_one <"$TMP/event")
head -c -1 "$TMP/event" >"$TMP/short"
hook_raw "$TMP/short" "$signature"
refused "nor what is cut short"
hook_raw "$TMP/event" "${signature%?}"
refused "nor a signature that is"
hook_raw "$TMP/event" "t=$NOW,v0=abc,v1=$(printf '0%.0s' {1..64}),v1=${signature##*v1=}"
is "$(http_status) $(available)" "204 100043.000000" "one of several signatures is enough"

printf 'whsec_new\nwhsec_one\n' >"$TMP/secrets"
kill -HUP "$MARKETD_PID"
reread() { grep -q 'read the secrets of Stripe again' "$MARKETD_LOG"; }
wait_for 30 reread
session c 100
hook "$TMP/event" "$NOW" whsec_new
session d 100
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available)" "204 100045.000000" "while a secret rolls, both count"

# ---- Others at the same account of Stripe ----
quiet() { # quiet ANSWER TEXT: the event that $TMP/event has counts nothing
	hook "$TMP/event" "$NOW" whsec_one
	is "$(http_status) $(available) $(operator GET '/np/v1/payments?unclaimed=true' | jq -c '[.data[].reference]')" \
		"$1 100045.000000 []" "$2"
}
session other 100 usd "$ACME_ID" '"nanopod_market":"0123456789abcdef0123456789abcdef",'
quiet 204 "what another market sold counts nothing here, though the account has the same id"
session shop 100 usd "$ACME_ID" ''
quiet 204 "nor what names no market"
session other 100 eur "$ACME_ID" '"nanopod_market":"0123456789abcdef0123456789abcdef",'
quiet 204 "nor is another's currency looked at"
event charge.refunded '{"id":"ch_shop","payment_intent":"pi_shop","amount_refunded":77,"currency":"usd","metadata":{}}'
quiet 204 "nor what such a one gives back"
like "$(cat "$MARKETD_LOG")" "event evt_[0-9]* of Stripe is not of this market" "and the log says so"
session live 100 usd "$ACME_ID" "\"nanopod_market\":\"$MARKET_ID\"," true
quiet 422 "live events are refused where the key is of the test mode"
like "$(cat "$MARKETD_LOG")" "audit: event evt_[0-9]* of Stripe is not counted: it is of Stripe's live mode" "and the log says so"

session e 100 eur
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available)" "204 100045.000000" "euros are not dollars"
like "$(cat "$MARKETD_LOG")" "audit: event evt_[0-9]* of Stripe is not counted: its currency is 'eur'" "and the log says so"
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(operator GET '/np/v1/payments?unclaimed=true' | jq -c '.data[] | [.reference, .amount_dollars, .account]')" \
	'204 ["cs_e:100eur","0.000000",null]' "and the operator finds what came, once"
waits() { operator GET "/np/v1/alerts$1" | jq -c '[.data[] | select(.rule | startswith("payment")) | [.rule, .subject.kind, .subject.name, .text, .next]]'; }
is "$(waits '')" '[["payment_uncounted","payment","cs_e:100eur","Stripe moved 100eur (in the smallest unit), which this market does not count; look at Stripe","nanopod admin payment list"]]' \
	"and is told of it"
is "$(waits '?account=acme') $(as "$ACME" GET /np/v1/alerts | grep -c payment_)" "[] 0" "which is no account's matter"
operator POST /np/v1/payments/cs_e:100eur/claim '{"account":"acme"}' >/dev/null
is "$(http_status) $(available) $(waits '')" "200 100045.000000 []" "until it is claimed, which moves nothing"
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available) $(waits '')" "204 100045.000000 []" "for good"
event checkout.session.completed '{"id":"cs_u","mode":"payment","payment_status":"unpaid","amount_total":100,"currency":"usd","payment_intent":"pi_u"}'
hook "$TMP/event" "$NOW" whsec_one
event invoice.created '{"id":"in_1"}'
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available)" "204 100045.000000" "what is not paid yet, and what moves no money, is taken and counts nothing"

# ---- Any order ----
is "$(stripe orders "$ACME_ID")" 24 "four events of a payment are sent in all orders, each twice"
is "$(available)" "$(printf '%.6f' "$(jq -n '100045 + 24 * 37.66')")" "and each order ends in the same balance"

# ---- Refunds, one by one ----
# refund TYPE N CENTS STATUS [VERSION]
refund() {
	event "$1" "{\"id\":\"re_$2\",\"object\":\"refund\",\"charge\":\"ch_r\",\"payment_intent\":\"pi_r\",\"amount\":$3,\"currency\":\"usd\",\"status\":\"$4\",\"metadata\":{}}"
	sed -i "s/\"object\":\"event\"/&,\"api_version\":\"${5:-2024-10-28.acacia}\"/" "$TMP/event"
	hook "$TMP/event" "$NOW" whsec_one
}
session r 5000
hook "$TMP/event" "$NOW" whsec_one
before=$(available)
back() { jq -n "(($(available) - $before) * 100 | round) / 100"; }
refund refund.created 1 1000 pending
refund refund.updated 1 1000 succeeded
is "$(http_status) $(back)" "204 -10" "a refund is taken, once"
refund refund.failed 1 1000 failed
is "$(http_status) $(back)" "204 0" "and comes back where it fails"
refund refund.updated 1 1000 failed
refund refund.updated 1 1000 succeeded
is "$(http_status) $(back)" "204 0" "once, and for good"
refund refund.failed 2 1000 failed
refund refund.created 2 1000 pending
is "$(http_status) $(back)" "204 0" "one that failed before its beginning was told takes nothing"
refund refund.created 3 1000 pending
refund refund.created 4 500 pending
refund refund.updated 4 500 canceled
is "$(http_status) $(back)" "204 -10" "the next one is taken, and one that was cancelled is not"
refund refund.created 5 700 succeeded 2024-06-20
is "$(http_status) $(back)" "204 -10" "where an older version of Stripe's API tells sums, it is no news"
event charge.refunded '{"id":"ch_r","payment_intent":"pi_r","amount_refunded":1000,"currency":"usd","metadata":{}}'
sed -i 's/"object":"event"/&,"api_version":"2025-03-31.basil"/' "$TMP/event"
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(back)" "422 -10" "where a newer one tells each, a sum is not counted, too"
like "$(cat "$MARKETD_LOG")" "needs refund.created, refund.updated and refund.failed instead of charge.refunded" "and the log says what to do"

session many 9000 usd acct_nobody
hook "$TMP/event" "$NOW" whsec_one
is "$(stripe refunds many 20)" 20 "twenty refunds of one payment are taken, in any order, each twice"
is "$(operator GET '/np/v1/payments?unclaimed=true' | jq -r '[.data[] | .reference] | join(" ")')" "pi_many pi_many:2 pi_many:3" \
	"what is more than eight parts goes on as payments of that name with a number"
before=$(available)
operator POST /np/v1/payments/pi_many/claim '{"account":"acme"}' >/dev/null
is "$(http_status) $(back)" "200 80" "who gets the payment gets all of it"
is "$(stripe refunds many 30)" 30 "and ten more come"
is "$(back) $(operator GET '/np/v1/payments?unclaimed=true' | jq '.data | length')" "75 0" "which are the account's, too"

before=$(available)
refund_first() { # refund_first N CENTS: of a payment that nobody knows yet
	event refund.created "{\"id\":\"re_$1\",\"object\":\"refund\",\"charge\":\"ch_$1\",\"payment_intent\":\"pi_$1\",\"amount\":$2,\"currency\":\"usd\",\"status\":\"succeeded\",\"metadata\":{}}"
	sed -i 's/"object":"event"/&,"api_version":"2025-03-31.basil"/' "$TMP/event"
	hook "$TMP/event" "$NOW" whsec_one
}
refund_first late 1000
session late 5000
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(back)" "204 40" "a refund that is told before its payment counts, too"
is "$(stripe refunds tardy 20)" 20 "so do twenty"
session tardy 5000
hook "$TMP/event" "$NOW" whsec_one
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(back) $(operator GET '/np/v1/payments?unclaimed=true' | jq '.data | length')" "204 80 0" "with all that the payment goes on as"

# ---- Nobody's ----
session f 777 usd acct_nobody
hook "$TMP/event" "$NOW" whsec_one
event charge.refunded '{"id":"ch_f","payment_intent":"pi_f","amount_refunded":77,"currency":"usd","metadata":{}}'
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(operator GET '/np/v1/payments?unclaimed=true' | jq -r '.data[] | .reference + " " + .amount_dollars + " " + (.account | tostring)')" \
	"204 pi_f 7.000000 null" "a payment of nobody known waits for the operator"
is "$(waits '' | jq -c '.[0][:4]')" '["payment_unclaimed","payment","pi_f","Stripe moved $7.00 of a payment of which nobody knows whose it is; '"'payment claim' or 'payment dismiss'"' says it"]' \
	"the operator is told of it"
as "$ACME" POST /np/v1/payments/pi_f/claim '{"account":"acme"}' >/dev/null
is "$(http_status)" 403 "an account cannot take it"
before=$(available stranger)
operator POST /np/v1/payments/pi_f/claim '{"account":"stranger"}' >/dev/null
is "$(http_status) $before $(available stranger) $(waits '')" "200 100000.000000 100007.000000 []" "the operator says whose it is"
operator POST /np/v1/payments/pi_f/claim '{"account":"acme"}' >/dev/null
is "$(http_status)" 409 "and cannot give it to two"

event charge.dispute.created '{"id":"dp_other","charge":"ch_other","payment_intent":"pi_other","amount":500,"currency":"usd","status":"needs_response"}'
hook "$TMP/event" "$NOW" whsec_one
is "$(waits '' | jq -c '.[0][:3]')" '["payment_unclaimed","payment","pi_other"]' "a dispute of what another market sold waits, too"
operator POST /np/v1/payments/pi_other/dismiss >"$TMP/said"
is "$(http_status) $(jq -r .amount_dollars <"$TMP/said") $(waits '') $(operator GET '/np/v1/payments?unclaimed=true' | jq -c .data)" "200 0.000000 [] []" \
	"until the operator dismisses it"
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(waits '')" "204 []" "for good"
operator POST /np/v1/payments/pi_a/dismiss >/dev/null
is "$(http_status)" 409 "but not what an account has"

# ---- Below zero ----
marketd_account poor
POOR=$(marketd_token poor)
POOR_ID=$(id_of poor)
as "$POOR" POST /v2/pools '{"name":"work","workspace":"default"}' >"$TMP/.pool"
poor_pool=$(json .id <"$TMP/.pool")
v2_offer "$(v2_host rack1 "$SKU")" 12.00 >/dev/null
session g 5000 usd "$POOR_ID"
hook "$TMP/event" "$NOW" whsec_one
as "$POOR" POST /v2/orders "$(order buy "$poor_pool" 1 $((NOW + 60)) $((NOW + 60 + 2 * HOUR)) 12.00)" >"$TMP/bought"
is "$(http_status) $(jq -r .status <"$TMP/bought")" "201 filled" "who has paid can buy" || diag "$(cat "$TMP/bought")"
as "$POOR" POST /v2/orders "$(order buy "$poor_pool" 1 $((NOW + 5 * HOUR)) $((NOW + 6 * HOUR)) 9.00 ',"allow_standing":true')" >"$TMP/stands"
is "$(http_status) $(jq -r .status <"$TMP/stands") $(available poor)" "201 standing 17.000000" "and has a buy that stands, which holds its money"
event charge.dispute.created '{"id":"dp_g","charge":"ch_g","payment_intent":"pi_g","amount":5000,"currency":"usd","status":"needs_response"}'
hook "$TMP/event" "$NOW" whsec_one
is "$(http_status) $(available poor)" "204 -24.000000" "a dispute takes the money, below zero"
is "$(as "$POOR" GET "/v2/orders/$(jq -r .id <"$TMP/stands")" | jq -r '.status + " " + .np_reason')" "cancelled insufficient_funds" \
	"its buy that stood ends, and says why"
is "$(as "$POOR" GET /np/v1/events | jq -c --arg id "$(jq -r .id <"$TMP/stands")" 'select(.order == $id) | [.type, .reason]' | tail -n 1)" \
	'["order.closed","insufficient_funds"]' "who holds it hears so"
as "$POOR" POST /v2/orders "$(order buy "$poor_pool" 1 $((NOW + 60 + 2 * HOUR)) $((NOW + 60 + 3 * HOUR)) 12.00)" >"$TMP/more"
is "$(http_status) $(jq -r .error.code <"$TMP/more")" "402 insufficient_funds" "then nothing new is bought"
v2_clock $((NOW + HOUR))
is "$(as "$POOR" GET /np/v1/leases | jq -c '[.data[] | .end_at - .start_at]')" "[$((2 * HOUR))]" "and what was paid for goes on"
event charge.dispute.closed '{"id":"dp_g","charge":"ch_g","payment_intent":"pi_g","amount":5000,"currency":"usd","status":"won"}'
hook "$TMP/event" $((NOW + HOUR)) whsec_one
is "$(http_status) $(available poor)" "204 26.000000" "a dispute that is won gives it back"
like "$(as "$POOR" GET /np/v1/ledger | jq -c '.data[] | select(.reason != null) | [.amount, .reason]' | tr '\n' ' ')" \
	'\[50000000,"Stripe pi_g cs_g"\] \[-50000000,"Stripe pi_g dp_g"\] \[50000000,"Stripe pi_g dp_g"\]' \
	"the ledger has Stripe's ids"
like "$(operator GET /np/v1/audit | jq -r '.data[].text' | grep payment | tail -n 1)" \
	"payment pi_g of account 'poor': dp_g comes to \\\$0.00" "and the audit log, which knows whose the dispute is"

# ---- Random payments, while the market ends in the middle ----
STRIPE_NOW=$((NOW + HOUR))
for name in one two three; do marketd_account "$name"; done
ids="$(id_of one) $(id_of two) $(id_of three)" # before the market is killed
stripe sequences 1000 "${SEED:-7}" $ids >"$TMP/sums" 2>"$TMP/driver.err" &
driver=$!
kills=0
while kill -0 "$driver" 2>/dev/null && [ "$kills" -lt 25 ]; do
	sleep "0.$((RANDOM % 9))"
	: >"$TMP/.url" # where it was another test's market may be soon
	marketd_kill
	kills=$((kills + 1))
	marketd_start --test-clock=$((NOW + HOUR)) "${STRIPE[@]}" || break
done
driver_status=0
wait "$driver" || driver_status=$?
is "$driver_status" 0 "1,000 random payments are taken, though the market was killed $kills times" || diag "$(tail -n 5 "$TMP/driver.err")"
for name in one two three; do
	is "$(available "$name" | sed 's/0000$//')" "$(sed -n "s/^$(id_of "$name") //p" "$TMP/sums")" "$name has what Stripe took, to the cent"
done
marketd_stop
ok "check finds nothing wrong" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + HOUR)) "${STRIPE[@]}" || exit 1
is "$(available poor)" 26.000000 "all of it is there from a snapshot"
session g 5000 usd "$POOR_ID"
hook "$TMP/event" $((NOW + HOUR)) whsec_one
is "$(http_status) $(available poor)" "204 26.000000" "and is still known by then"
done_testing
