#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod topup and admin payment, with the stand-in for Stripe that tests/daemon/stripe.mjs is. It signs with openssl here,
# as Stripe publishes; tests/daemon/stripe.t does so with Stripe's own package.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need node jq openssl

server_ready() { sed -n 's/^ready //p' "$TMP/server.log" >"$TMP/server.url" && [ -s "$TMP/server.url" ]; }
node "$SRC/tests/daemon/stripe.mjs" server >"$TMP/server.log" 2>&1 </dev/null &
server_pid=$!
server_stop() { kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; }
at_exit server_stop
wait_for 60 server_ready || { diag "$(cat "$TMP/server.log")"; skip_all "the stand-in does not start"; }
printf 'sk_test_market\n' >"$TMP/key"
printf 'whsec_one\n' >"$TMP/secrets"
chmod 600 "$TMP/key" "$TMP/secrets"

NOW=1800000000
marketd_start --test-clock=$NOW || exit 1
marketd_account acme
NANOPOD_TOKEN=$(marketd_token acme)
export NANOPOD_TOKEN
run "$NANOPOD" topup 50
is "$status" 1 "a market without a payment service has no page"
like "$err" "this market takes no payments; ask its operator for a credit" "and says whom to ask"
marketd_stop
marketd_start --test-clock=$NOW --stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets" \
	--stripe-url "$(cat "$TMP/server.url")" || exit 1

market=$(operator GET /np/v1 | jq -r .id)
# told ACCOUNT: Stripe tells that its checkout 1 was paid.
told() {
	body="{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"checkout.session.completed\",\"data\":{\"object\":{\"id\":\"cs_test_$2\",
		\"mode\":\"payment\",\"payment_status\":\"paid\",\"amount_total\":$3,\"currency\":\"usd\",\"payment_intent\":\"pi_$2\",
		\"metadata\":{\"nanopod_market\":\"$market\",\"nanopod_account\":\"$1\"}}}}"
	hex=$(printf '%s.%s' "$NOW" "$body" | openssl dgst -sha256 -hmac whsec_one | sed 's/.*= //')
	http_call "$NANOPOD_URL" POST /np/v1/stripe "$body" -H "Stripe-Signature: t=$NOW,v1=$hex" >/dev/null
}
run "$NANOPOD" topup 50 -q
is "$status $out" "0 https://checkout.stripe.example/c/pay/cs_test_1" "topup prints the page where one pays" || diag "$err"
like "$(cat "$TMP/server.log")" "\"success_url\":\"$NANOPOD_URL/\"" "which leads back to the market"
run "$NANOPOD" topup 12.345
is "$status" 2 "a part of a cent is refused"
like "$err" "cannot pay 12.345: 'amount_dollars' is whole cents" "in words"
run "$NANOPOD" topup 0
is "$status" 2 "and nothing, too"
run "$NANOPOD" topup 20 -o json
is "$status $(jq -r '.[0] | .state + " " + .amount' <<<"$out")" "0 open 20.000000" "for programs" || diag "$out"
run "$NANOPOD" topup 20 --wait --timeout 1ms -q
is "$status" 9 "who waits in vain hears so"
like "$err" "it is not paid yet" "in words"

acme=$(operator GET /np/v1/accounts/acme | json .id)
"$NANOPOD" topup 30 --wait -q >"$TMP/waited" 2>"$TMP/waited.err" &
waiter=$!
has_url() { [ -s "$TMP/waited" ]; }
wait_for 30 has_url
id=$(sed -n 's/.*cs_test_//p' "$TMP/waited")
told "$acme" "$id" 3000
waited=0
wait "$waiter" || waited=$?
is "$(http_status) $waited" "204 0" "--wait ends when it is paid" || diag "$(cat "$TMP/waited.err")"
run "$NANOPOD" balance -q
is "$out" 30.000000 "and the balance has it"
run "$NANOPOD" statement 2027-01
like "$out" "Stripe pi_$id cs_test_$id" "the statement says which payment it was" || diag "$err"

told acct_nobody 99 700
op() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" "$@"; }
run op admin payment list -o csv
like "$out" "pi_99,,7.000000" "the operator sees what is nobody's" || diag "$out $err"
run op admin payment claim pi_99 acme -o csv
is "$status" 0 "and says whose it is" || diag "$err"
run "$NANOPOD" balance -q
is "$out" 37.000000 "who then has it"
told acct_nobody 98 500
run op admin payment dismiss pi_98 -o csv
is "$status" 0 "or that it is no account's" || diag "$err"
like "$out" "pi_98,,0.000000" "which then comes to nothing"
run op admin payment claim pi_99 nobody
is "$status" 3 "nobody's account has none"
done_testing
