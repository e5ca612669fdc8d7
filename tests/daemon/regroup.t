#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Groups of people who are signed in on the page, with a real issuer of identities (tests/lib/issuer.sh) that gives refresh
# tokens: who left a group loses its roles within a quarter of an hour, an issuer that is down throws nobody out, and one
# that knows a session no more ends it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/issuer.sh"

PAGE=https://market.example.org/
export AHEAD=$TMP/ahead FAULT=$TMP/fault LEFT=$TMP/left REFRESH=1
later=0
word() { head -c 32 /dev/urandom | base64 -w0 | tr '+/' '-_' | tr -d =; }
query() { # NAME: of $back
	query_text=$(printf '%s\n' "$back" | sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p")
	printf '%b' "${query_text//%/\\x}"
}
# enter NAME [INVITATION]: signs NAME in on the page: $cookie.
enter() {
	quarter 0
	state=$(word) nonce=$(word) verifier=$(word)
	challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | base64 -w0 | tr '+/' '-_' | tr -d =)
	http_call "$NANOPOD_URL" GET "/np/v1/signin/page?state=$state&nonce=$nonce&code_challenge=$challenge&redirect_uri=$PAGE" >/dev/null
	back=$(node "$SRC/tests/daemon/person.mjs" "$(json .url <"$TMP/.body")" "$1" "$PAGE") || diag "$back"
	enter_body=$(jq -cn --arg code "$(query code)" --arg iss "$(query iss)" --arg nonce "$nonce" --arg verifier "$verifier" \
		--arg page "$PAGE" --arg by "${2-}" '{code: $code, iss: $iss, nonce: $nonce, code_verifier: $verifier, redirect_uri: $page} |
		if $by != "" then . + {invitation: $by} else . end')
	http_call "$NANOPOD_URL" POST /np/v1/signin/page "$enter_body" -H 'Nanopod-Page: 1' -H "Origin: $NANOPOD_URL" >/dev/null
	cookie=$(http_header Set-Cookie | sed -n 's/^\(__Host-nanopod=[^;]*\);.*/\1/p')
}
scopes() {
	http_call "$NANOPOD_URL" GET /np/v1/session '' -H "Cookie: $1" -H 'Nanopod-Page: 1' >/dev/null
	jq -r '.token.scopes // ["nobody"] | join(",")' "$TMP/.body"
}
has() { [ "$(scopes "$1")" = "$2" ]; }
# What the issuer signs is of its own now: with a clock that stood still the market would not believe it after a minute.
now() { echo $(($(date +%s) + later)); }
quarter() { # [SECONDS]: the market's clock and the issuer's go on
	later=$((later + ${1-901}))
	echo "$later" >"$AHEAD"
	operator POST /np/v1/admin/clock "{\"at\":$(now)}" >/dev/null
}
met() { [ "$(cat "$FAULT.met" 2>/dev/null | wc -l)" = 2 ]; } # each of the two sessions was asked about
op() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" "$@"; }
start() {
	marketd_start --test-clock=$(now) --oidc-issuer "$issuer_url" --oidc-client-id nanopod --oidc-groups groups \
		--oidc-roles operators=buyer "$@" || done_testing
}
invited() { op invite --account acme --role viewer -q | sed 's/.* //'; }

issuer_start first
start
op admin account add acme >/dev/null
# Ann first: sessions are asked about in their order, so when olga's is done so is hers.
enter ann "$(invited)"
ann=$cookie
enter olga "$(invited)"
olga=$cookie
is "$(scopes "$olga")" read,trade,nodes "who is in a group has its role" || { diag "$(cat "$TMP/.body" "$MARKETD_LOG")"; done_testing; }
: >"$LEFT"
is "$(scopes "$olga")" read,trade,nodes "she leaves it at the issuer, which nobody knows yet"
quarter
ok "within a quarter of an hour the market does" wait_for 60 has "$olga" read || diag "$(cat "$TMP/.body" "$MARKETD_LOG")"
is "$(scopes "$ann")" read "others stay what they are"
rm "$LEFT"
quarter
ok "she comes back, and the market asks with the refresh token that it was given last" wait_for 60 has "$olga" read,trade,nodes ||
	diag "$(cat "$MARKETD_LOG")"

: >"$LEFT"
printf 503 >"$FAULT"
quarter
ok "an issuer with a fault is asked" wait_for 60 met
rm "$FAULT" "$FAULT.met"
printf 400 >"$FAULT"
quarter
ok "and again" wait_for 60 met
is "$(scopes "$olga") $(scopes "$ann")" "read,trade,nodes read" "which throws nobody out" || diag "$(cat "$MARKETD_LOG")"
rm "$FAULT" "$FAULT.met"
printf bare >"$FAULT"
rm "$LEFT"
quarter
ok "one that does not say again who it is" wait_for 60 met
unsaid() { [ "$(grep -c 'does not say who signed in' "$MARKETD_LOG")" = 2 ]; }
wait_for 60 unsaid || fail "(its answers come)"
is "$(scopes "$olga") $(scopes "$ann")" "read,trade,nodes read" "does not either" || diag "$(cat "$MARKETD_LOG")"
rm "$FAULT" "$FAULT.met"
: >"$LEFT"
quarter 301
ok "the refresh token that came with that is used, in half the time that it lives" wait_for 60 has "$olga" read ||
	diag "$(cat "$TMP/.body" "$MARKETD_LOG")"
issuer_stop
quarter
unheard() { grep -q 'groups stay as they are: the issuer .*does not answer' "$MARKETD_LOG"; }
ok "one that is down" wait_for 60 unheard || diag "$(cat "$MARKETD_LOG")"
is "$(scopes "$olga") $(scopes "$ann")" "read read" "throws nobody out"
issuer_start first
quarter
ok "one that does not know the session ends it" wait_for 60 has "$olga" nobody || diag "$(cat "$MARKETD_LOG")"
ok "of each" wait_for 60 has "$ann" nobody
like "$(cat "$MARKETD_LOG")" "a session of the page ends: the issuer does not know it any more" "the log says so"

# ---- Operators, and issuers that give no refresh token ---------------------------------------------------------------
marketd_stop
rm "$LEFT"
start --oidc-admin-group operators --quota acme:journal=1
enter olga
olga=$cookie
is "$(scopes "$olga")" read,trade,nodes,admin "a group makes an operator"
: >"$LEFT"
acme=$(marketd_token acme read trade nodes)
printf '{"script":"%s"}' "$(head -c 60000 /dev/zero | tr '\0' A)" >"$TMP/script"
for _ in $(seq 50); do
	as "$acme" POST /v0/vms/script @"$TMP/script" >"$TMP/.script"
	[ "$(http_status)" = 200 ] || break
done
is "$(http_status)" 429 "(her account has changed as much as a day may have)"
quarter
ok "who is one no more a quarter of an hour after she left" wait_for 60 has "$olga" nobody || diag "$(cat "$TMP/.body" "$MARKETD_LOG")"
marketd_stop
issuer_stop
rm "$LEFT"
start --oidc-admin-group operators
unset REFRESH
issuer_start first
enter olga
olga=$cookie
: >"$LEFT"
quarter
quarter
is "$(scopes "$olga")" read,trade,nodes,admin "without a refresh token she is until the session ends"
marketd_stop
is "$marketd_status" 0 "the market ends well"
done_testing
