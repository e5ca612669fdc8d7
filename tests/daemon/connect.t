#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Payouts that the market sends by Stripe Connect: each is sent once or is back, never both, whatever falls in between.
# The server is a stand-in, made from the contract that Stripe publishes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need node openssl
cd "$TMP" || exit 99
export MODE=$TMP/mode
mode() { echo "$1" >"$MODE.new" && mv "$MODE.new" "$MODE"; }
mode well
node "$SRC/tests/daemon/connect.mjs" >"$TMP/server.log" 2>&1 </dev/null &
server_pid=$!
server_stop() { kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; }
at_exit server_stop
server_ready() { sed -n 's/^ready //p' "$TMP/server.log" >"$TMP/server.url" && [ -s "$TMP/server.url" ]; }
wait_for 60 server_ready || { diag "$(cat "$TMP/server.log")"; skip_all "the stand-in does not start"; }
printf 'sk_test_market\n' >"$TMP/key"
printf 'whsec_one\n' >"$TMP/secrets"
chmod 600 "$TMP/key" "$TMP/secrets"
run "$MARKETD" --data "$TMP/none" --stripe-payouts
is "$status" 2 "--stripe-payouts needs a key"

trade_start 1
start() {
	marketd_start --test-clock --payout-hold 0 --stripe-payouts --stripe-key-file "$TMP/key" \
		--stripe-webhook-secret-file "$TMP/secrets" --stripe-url "$(cat "$TMP/server.url")" || exit 1
}
run_is 0 "(a node for ten hours)" "$NANOPOD" buy -t richmond -n 1 -d 10h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
clock $((NOW + 12 * HOUR))
marketd_kill
start
SOCKET=unix:$MARKETD_SOCKET SELLER=$(marketd_token foundry read trade nodes tokens host)
admin() { NANOPOD_TOKEN='' NANOPOD_URL=$SOCKET "$NANOPOD" admin "$@"; }
seller() { NANOPOD_TOKEN=$SELLER "$NANOPOD" "$@"; }
payout() { as "$SELLER" GET /np/v1/payouts | jq -r --arg id "$1" '.data[] | select(.id == $id) | [.state, .reference, .back_dollars, .reason] | map(. // "-") | join(" ")'; }
became() { case $(payout "$1") in "$2"*) ;; *) return 1 ;; esac; }
income() { as "$SELLER" GET /np/v1/income | jq -r '[.paid_dollars, .payable_dollars] | join(" ")'; }
made() { seller payout create "$1" -y -q 2>/dev/null; }
transfers() { curl -sS -g -H 'Authorization: Bearer sk_test_market' "$(cat "$TMP/server.url")/v1/transfers?transfer_group=$MARKET_ID-$1" | jq -r "$2"; }
posts() { grep -c "\"POST\",\"path\":\"/v1/transfers\".*\"$1\"" "$TMP/server.log"; }
asked() { [ "$(posts "$2")" -ge "$1" ]; }

MARKET_ID=$(operator GET /np/v1 | jq -r .id)

# ---- Setting up ----
run_is 5 "before it is set up" seller payout create 10 -y
like "$err" "Stripe does not know yet whom it pays; type 'nanopod payout setup'" "says what to type"
VIEWER=$(marketd_token foundry read)
NANOPOD_TOKEN=$VIEWER run_is 4 "a token that only reads" "$NANOPOD" payout setup
mode down
run_is 8 "while Stripe is down" seller payout setup
mode cut
run_is 8 "and where its answer was lost" seller payout setup
mode well
run_is 0 "payout setup" seller payout setup -q
is "$out" "https://connect.stripe.example/setup/acct_1" "prints the page"
run_is 0 "once more" seller payout setup -q
is "$out" "https://connect.stripe.example/setup/acct_1" "it is of the same account, which was made once"
marketd_kill
start
run_is 0 "after kill -9, too" seller payout setup -q
is "$out" "https://connect.stripe.example/setup/acct_1" "so it is"
like "$(operator GET /np/v1/accounts/foundry/facts | jq -c .facts)" '"stripe_account":\{"value":"acct_1"\}' "a fact of the account has it"

# ---- Sending ----
run_is 2 "less than a cent" seller payout create 1.001 -y
one=$(made 10.01)
wait_for 60 became "$one" "sent tr_1" && pass "a payout is sent by itself" || fail "a payout is sent by itself: $(payout "$one")"
like "$(grep '"POST","path":"/v1/transfers"' "$TMP/server.log")" '"amount":"1001","currency":"usd","destination":"acct_1"' "its cents, to the seller's account"
run_is 5 "the operator says nothing of what was sent" admin payout paid "$one"

for word in down 500 409 429 401; do
	mode $word
	id=$(made 1)
	wait_for 60 grep -q "payout $id is not known to be sent" "$MARKETD_LOG" || fail "the log says that it is not sent"
	is "$(payout "$id")" "asked - 0.000000 -" "$word: it is not sent, nor back"
	run_is 5 "$word: nor does the operator say so" admin payout failed "$id" --reason none
	mode well
	wait_for 60 became "$id" "sent" && pass "$word: then it is sent" || fail "$word: then it is sent: $(payout "$id")"
done
mode cut
cut=$(made 2)
wait_for 60 became "$cut" "sent" && pass "the line was cut after it was sent: it is found" || fail "cut: $(payout "$cut")"
is "$(transfers "$cut" ".data | length")" 1 "by one transfer"
mode slow
slow=$(made 3)
wait_for 60 asked 1 "$slow" || fail "a slow one is asked for"
is "$(payout "$slow")" "asked - 0.000000 -" "while Stripe thinks, the market answers"
mode well
wait_for 60 became "$slow" sent && pass "and hears of it" || fail "slow: $(payout "$slow")"
mode hang
killed=$(made 4)
wait_for 60 asked 1 "$killed" || fail "one is asked for"
marketd_kill
mode forget
start
wait_for 60 became "$killed" sent && pass "kill -9 between Stripe's act and its answer: it is sent" || fail "killed: $(payout "$killed")"
is "$(transfers "$killed" ".data | length")" 1 "by one transfer, though Stripe has forgotten its key"
mode well

# ---- Refused ----
before=$(income)
for word in poor unready; do
	mode $word
	id=$(made 5)
	wait_for 60 became "$id" "failed - 5.000000 Stripe refuses: You" && pass "$word: it failed, with Stripe's words" || fail "$word: $(payout "$id")"
	is "$(income)" "$before" "$word: the money is back"
done
mode well

# ---- Who is suspended, or owes, waits ----
mode down
waits=$(made 6)
wait_for 60 grep -q "payout $waits is not known to be sent" "$MARKETD_LOG" || fail "(one that is not sent yet)"
run_is 5 "one that may be sent at any moment is not cancelled" seller payout cancel "$waits"
admin account suspend foundry --reason looked >/dev/null
mode well
cancelled() { seller payout cancel "$waits" >/dev/null 2>&1; }
ok "one of an account that was suspended since is cancelled, once Stripe says that it has none" wait_for 60 cancelled
is "$(posts "$waits") $(transfers "$waits" '.data | length')" "0 0" "and it was never sent"
admin account open foundry >/dev/null
mode down
waits=$(made 6)
wait_for 60 grep -q "payout $waits is not known to be sent" "$MARKETD_LOG" || fail "(another)"
operator PATCH /np/v1/accounts/foundry '{"floor_dollars":"-5000.00"}' >/dev/null
operator POST /np/v1/accounts/foundry/credits '{"amount_dollars":"-1000.00"}' >/dev/null
mode well
marketd_kill
looks=$(grep -c '"GET","path":"/v1/transfers' "$TMP/server.log")
start
looked() { [ "$(grep -c '"GET","path":"/v1/transfers' "$TMP/server.log")" -gt "$looks" ]; }
ok "(Stripe is asked for it)" wait_for 60 looked
is "$(payout "$waits") $(posts "$waits")" "asked - 0.000000 - 0" "one of an account that owes waits, also after kill -9"
operator POST /np/v1/accounts/foundry/credits '{"amount_dollars":"1000.00"}' >/dev/null
wait_for 60 became "$waits" sent && pass "and is sent once nothing is owed" || fail "waits: $(payout "$waits")"

# ---- Taken back ----
reversed() { # reversed PAYOUT TRANSFER CENTS [MARKET]
	printf '{"id":"evt_%s","object":"event","type":"transfer.reversed","livemode":false,"data":{"object":{"id":"%s","object":"transfer",
		"amount_reversed":%s,"metadata":{"nanopod_market":"%s","nanopod_payout":"%s"}}}}' "$3" "$2" "$3" "${4-$MARKET_ID}" "$1" >"$TMP/event"
	at=$(operator GET /np/v1 | jq -r .now)
	sum=$({ printf '%s.' "$at"; cat "$TMP/event"; } | openssl dgst -sha256 -hmac whsec_one | sed 's/.*= *//')
	http_call "$NANOPOD_URL" POST /np/v1/stripe '' --data-binary "@$TMP/event" -H "Stripe-Signature: t=$at,v1=$sum" -H 'Content-Type: application/json' >"$TMP/said"
	http_status
}
is "$(reversed "$one" tr_1 301)" 204 "Stripe tells that some came back"
is "$(payout "$one")" "sent tr_1 3.010000 Stripe reversed the transfer" "which is back"
is "$(reversed "$one" tr_1 301) $(reversed "$one" tr_1 100) $(payout "$one")" "204 204 sent tr_1 3.010000 Stripe reversed the transfer" \
	"told twice, and an older one later, it counts once"
is "$(reversed "$one" tr_9 700) $(reversed "$one" tr_1 700 other) $(payout "$one")" "204 204 sent tr_1 3.010000 Stripe reversed the transfer" \
	"of another transfer or market it counts nothing"
is "$(reversed "$one" tr_1 1001) $(payout "$one")" "204 failed tr_1 10.010000 Stripe reversed the transfer" "all of it came back"
mode hang
early=$(made 6)
wait_for 60 asked 1 "$early" || fail "one is asked for"
tr=$(transfers "$early" ".data[0].id")
is "$(reversed "$early" "$tr" 250) $(payout "$early")" "204 sent $tr 2.500000 Stripe reversed the transfer" "it came back before its sending was known: both count"
marketd_kill
mode well
start
is "$(payout "$early")" "sent $tr 2.500000 Stripe reversed the transfer" "after kill -9, too"
is "$(transfers "$early" ".data | length")" 1 "and it was sent once"
is "$(operator GET /np/v1/accounts/foundry | jq -r .balances.held_dollars)" 0.000000 "nothing is held"
marketd_kill
marketd_start --test-clock --payout-hold 0 --stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets" \
	--stripe-url "$(cat "$TMP/server.url")" || exit 1
late=$(made 2)
run_is 5 "a market that sends nothing now may have done so before: the seller cancels nothing" seller payout cancel "$late"
like "$err" "Stripe may have sent this payout, so only the market's operator can cancel it" "and hears who can"
run_is 0 "the operator does" admin payout cancel "$late" -y
has() { seller balance -o json | jq '.[0].available_micros'; }
was=$(has)
is "$(reversed "$late" tr_late 50) $(payout "$late") $(($(has) - was))" "204 sent tr_late 0.500000 Stripe reversed the transfer -1500000" \
	"it was sent all the same, Stripe says, as some of it comes back: the account gives what stays away"
is "$(reversed "$late" tr_late 50) $(reversed "$late" tr_late 200) $(payout "$late") $(($(has) - was))" \
	"204 204 failed tr_late 2.000000 Stripe reversed the transfer 0" "and has it again once all came back"
run_is 0 "ledger verify" seller ledger verify
run_is 0 "the operator's ledger adds up" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
