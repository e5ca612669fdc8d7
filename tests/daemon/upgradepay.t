#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A market that a marketd ended which knew no payments: fixtures/market/form11.sql is what that program left at $NOW + 600,
# with a snapshot of its form: a host on sale, sold for two hours, a grant. Webhooks are signed with openssl here.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need sqlite3 openssl

mkdir -m 700 "$MARKETD_DATA"
sqlite3 "$MARKETD_DATA/market.db" <"$SRC/tests/fixtures/market/form11.sql"
chmod 600 "$MARKETD_DATA/market.db"
run_is 0 "it is migrated" "$MARKETD" migrate --data "$MARKETD_DATA"
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"
printf 'sk_test_market\n' >"$TMP/key"
printf 'whsec_one\n' >"$TMP/secrets"
chmod 600 "$TMP/key" "$TMP/secrets"
again() { marketd_start --test-clock=$((NOW + 600)) --stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets" || exit 1; }
again
available() { operator GET /np/v1/accounts/acme | jq -r .balances.available_dollars; }
told() { # told TYPE OBJECT
	body="{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"$1\",\"data\":{\"object\":$2}}"
	hex=$(printf '%s.%s' "$((NOW + 600))" "$body" | openssl dgst -sha256 -hmac whsec_one | sed 's/.*= //')
	http_call "$NANOPOD_URL" POST /np/v1/stripe "$body" -H "Stripe-Signature: t=$((NOW + 600)),v1=$hex" >/dev/null
}
market=$(operator GET /np/v1 | json .id)
acme=$(operator GET /np/v1/accounts/acme | json .id)
is "$(available)" 99976.000000 "its money is there"
told charge.dispute.created '{"id":"dp_1","payment_intent":"pi_1","amount":10000000,"currency":"usd","status":"needs_response"}'
is "$(http_status) $(available)" "204 99976.000000" "a dispute of nobody's payment waits"
told checkout.session.completed "{\"id\":\"cs_1\",\"payment_status\":\"paid\",\"amount_total\":1000,\"currency\":\"usd\",\"payment_intent\":\"pi_1\",
	\"metadata\":{\"nanopod_market\":\"$market\",\"nanopod_account\":\"$acme\"}}"
is "$(http_status) $(available)" "204 -14.000000" "until it is known whose it is"
marketd_kill
ok "check finds nothing wrong with what came of it" "$MARKETD" check --data "$MARKETD_DATA"
again
is "$(available)" -14.000000 "it opens again, from the journal"
marketd_stop
again
is "$(available) $(operator GET /np/v1/payments | jq -r '[.data[0].parts[].amount_dollars] | join(" ")')" \
	"-14.000000 -100000.000000 10.000000" "and from a snapshot of the present form"
done_testing
