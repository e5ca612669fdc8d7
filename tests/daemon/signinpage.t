#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# People sign in on the market's page, as a browser does it, with a real issuer of identities (tests/lib/issuer.sh): the
# code flow with PKCE, what others can do with a code, the cookie, the page's own client and its secret, and the way out.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/issuer.sh"

PAGE=https://market.example.org/
export FAULT=$TMP/fault
word() { head -c 32 /dev/urandom | base64 -w0 | tr '+/' '-_' | tr -d =; }
query() { # NAME: of $back
	query_text=$(printf '%s\n' "$back" | sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p")
	printf '%b' "${query_text//%/\\x}"
}
# begin: asks for the issuer's page: $url.
begin() {
	state=$(word) nonce=$(word) verifier=$(word)
	challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | base64 -w0 | tr '+/' '-_' | tr -d =)
	http_call "$NANOPOD_URL" GET "/np/v1/signin/page?state=$state&nonce=$nonce&code_challenge=$challenge&redirect_uri=$PAGE" >/dev/null
	url=$(json .url <"$TMP/.body")
}
# go NAME: and NAME signs in there; $back is where the issuer sends the browser.
go() {
	begin
	back=$(node "$SRC/tests/daemon/person.mjs" "$url" "$1" "$PAGE") || diag "$back"
}
# given [FILTER]: what the page sends then, as the filter of jq changes it.
given() {
	jq -cn --arg code "$(query code)" --arg iss "$(query iss)" --arg nonce "$nonce" --arg verifier "$verifier" --arg page "$PAGE" \
		"{code: \$code, iss: \$iss, nonce: \$nonce, code_verifier: \$verifier, redirect_uri: \$page} | ${1:-.}"
}
# send [FILTER [CURL OPTION…]]: sends it. refused STATUS TEXT WHAT: how that is answered.
send() {
	send_body=$(given "${1:-.}")
	[ $# -eq 0 ] || shift
	http_call "$NANOPOD_URL" POST /np/v1/signin/page "$send_body" -H 'Nanopod-Page: 1' -H "Origin: $NANOPOD_URL" "$@" >/dev/null
}
refused() {
	is "$(http_status) $(http_header Set-Cookie)" "$1 " "$3"
	like "$(json .error.message <"$TMP/.body")" "$2" "and says why"
}
cookie_of() { http_header Set-Cookie | sed -n 's/^\(__Host-nanopod=[^;]*\);.*/\1/p'; }
page() { http_call "$NANOPOD_URL" "$1" "$2" "${3-}" -H "Cookie: $cookie" -H 'Nanopod-Page: 1' >/dev/null; }
op() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" "$@"; }
invite() { op invite --account acme --role "$1" -q | sed 's/.* //'; }

# ---- A market without an issuer ---------------------------------------------------------------------------
marketd_start || done_testing
begin
is "$(http_status)" 404 "a market without an issuer has no page of one"
marketd_stop

# ---- There and back ---------------------------------------------------------------------------------------
issuer_start first
marketd_start --oidc-issuer "$issuer_url" --oidc-client-id nanopod || done_testing
op admin account add acme >/dev/null
kill -USR1 "$MARKETD_PID" # each request is told in the log
begin
is "$(http_status)" 200 "the market names the issuer's page" || diag "$(cat "$TMP/.body")"
like "$url" "^$issuer_url/auth[?]response_type=code&code_challenge_method=S256&client_id=nanopod&redirect_uri=https%3A%2F%2Fmarket.example.org%2F&scope=openid%20profile%20email&state=$state&nonce=$nonce&code_challenge=$challenge\$" \
	"with all that the browser brought"
for wrong in "state=short&nonce=$nonce&code_challenge=$challenge&redirect_uri=$PAGE" "state=$state&nonce=$nonce&redirect_uri=$PAGE" \
	"state=$state&nonce=$nonce%26prompt%3Dnone&code_challenge=$challenge&redirect_uri=$PAGE" "state=$state&nonce=$nonce&code_challenge=$challenge"; do
	http_call "$NANOPOD_URL" GET "/np/v1/signin/page?$wrong" >/dev/null
	is "$(http_status)" 422 "refused: ${wrong%%=*}… without its words"
done
go ann
is "$(query state)" "$state" "the issuer sends the state back"
is "$(query iss)" "$issuer_url" "and its own name"
send
refused 403 "'ann@example.org' is no person of an account here; ask an owner for an invitation, then open its link" "whom nobody invited is no person"
go ann
send ". + {invitation: \"$(invite owner)\"}"
is "$(http_status)" 201 "with an invitation she signs in" || diag "$(cat "$TMP/.body")"
curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
is "$("$BUILD/tests/daemon/fits" "$TMP/openapi.json" np.PageSession <"$TMP/.body" 2>&1)" "" "the answer is as documented"
like "$(http_header Set-Cookie)" '^__Host-nanopod=npk_[A-Za-z0-9_-]{43}; Max-Age=43200; Path=/; Secure; HttpOnly; SameSite=Strict$' \
	"the browser gets a cookie that no script can read, for twelve hours"
not_ok "which the answer does not show" grep -q npk_ "$TMP/.body"
cookie=$(cookie_of)
page GET /np/v1/session
is "$(jq -c '[.account_name, .cookie, .token.scopes]' "$TMP/.body")" '["acme",true,["read","trade","nodes","tokens","host"]]' "the session is hers" ||
	diag "$(cat "$TMP/.body")"
sign_out=$(json .sign_out <"$TMP/.body")
is "$sign_out" "$issuer_url/session/end?client_id=nanopod" "and has where to sign out at the issuer"
page GET /np/v1/tokens
is "$(jq -r '.data[] | .name' "$TMP/.body")" "browser, signed in by the issuer" "it is in the list of tokens"
first=$cookie

# ---- What others can do with a code -------------------------------------------------------------------------
send
refused 401 'was used, is over, or is of another browser' "a code counts once"
cookie=$first
page GET /np/v1/balance
is "$(http_status)" 200 "its first use stays good"
go ann
send ".code_verifier = \"$(word)\""
refused 401 'of another browser' "who stole a code has no verifier"
go ann
send ".nonce = \"$(word)\""
refused 401 'from another sign-in' "nor does it count in another sign-in than that which it was made for"
go ann
send '.redirect_uri = "https://other.example.org/"'
refused 401 'does not take this code' "or for another address"
go ann
send '.iss = "https://evil.example.org"'
refused 401 'comes from another issuer' "another issuer's code is not shown to this one"
send 'del(.iss)'
refused 401 'comes from nobody who says so' "nor one without a name, as this issuer says its own"
send . -H 'Sec-Fetch-Site: cross-site'
refused 403 "only the market's own page" "another site signs nobody in"
http_call "$NANOPOD_URL" POST /np/v1/signin/page "$(given)" >/dev/null
refused 403 "only the market's own page" "nor does a form"
send
is "$(http_status)" 201 "and none of these used the code up" || diag "$(cat "$TMP/.body")"
page GET /np/v1/tokens
is "$(jq '.data | length' "$TMP/.body")" 2 "none of them made a session"
marketd_stop
not_ok "no code is in the log" grep -qF "$(query code)" "$MARKETD_LOG"
not_ok "nor a verifier" grep -qF "$verifier" "$MARKETD_LOG"
ok "although the log has each request" grep -q 'request req_.*POST /np/v1/signin/page 201' "$MARKETD_LOG"

# ---- The way out, and a market that restarts ------------------------------------------------------------------
marketd_start --oidc-issuer "$issuer_url" --oidc-client-id nanopod
kill -USR1 "$MARKETD_PID"
http_call "$NANOPOD_URL" GET "/?code=SECRETCODE&state=$state" >/dev/null
is "$(http_status)" 200 "the page is there for who comes back"
http_call "$NANOPOD_URL" POST "/?code=SECRETCODE&state=$state" '{}' >/dev/null
is "$(http_status)" 405 "but takes nothing"
page GET /np/v1/session
is "$(json .account_name <"$TMP/.body")" acme "a restart throws nobody out"
page DELETE /np/v1/session
is "$(http_status)" 204 "she signs out"
page GET /np/v1/session
is "$(json .account_name <"$TMP/.body")" null "and is out"
is "$(curl -s -o /dev/null -w '%{http_code}' "$sign_out")" 200 "the issuer takes her there"

# ---- An issuer that fails ----------------------------------------------------------------------------------------
go ann
printf 503 >"$FAULT"
send
refused 503 'answers with status 503; who is signed in stays so' "an issuer with a fault signs nobody in"
rm "$FAULT"
go ann
send ".code = \"$(head -c 300 /dev/zero | tr '\0' x)\""
refused 401 'does not take this code' "no code at all"
issuer_stop
send
refused 503 'does not answer' "an issuer that is down"
marketd_stop
ok "the log has the request" grep -q 'request req_.*GET / 200' "$MARKETD_LOG"
ok "and that which was refused" grep -q 'request req_.*POST / 405' "$MARKETD_LOG"
not_ok "but no code of an address" grep -q SECRETCODE "$MARKETD_LOG"
marketd_start --rate 1 --oidc-issuer "$issuer_url" --oidc-client-id nanopod
kill -USR1 "$MARKETD_PID"
too_often() {
	curl -s -o /dev/null -w '%{http_code}\n' "$NANOPOD_URL/?code=SECRETCODE&n=[1-9]" | grep -q 429
}
ok "who comes back too often is told" wait_for 60 too_often
marketd_stop
ok "the log has that" grep -q 'request req_.*GET / 429' "$MARKETD_LOG"
not_ok "but no code" grep -q SECRETCODE "$MARKETD_LOG"
marketd_start --private --oidc-issuer "$issuer_url" --oidc-client-id nanopod
kill -USR1 "$MARKETD_PID"
http_call "$NANOPOD_URL" GET "/?code=SECRETCODE&state=$state" >/dev/null
send
refused 403 "only the market's own page" "--private: there is no page to sign in on"
marketd_stop
ok "nobody comes back to one" grep -q 'request req_.*GET / 404' "$MARKETD_LOG"
not_ok "and no code is in that log, either" grep -q SECRETCODE "$MARKETD_LOG"

# ---- A client with a secret ---------------------------------------------------------------------------------------
printf 'a secret: %%+\n' >"$TMP/secret"
chmod 644 "$TMP/secret"
by_page="--oidc-issuer $issuer_url --oidc-client-id nanopod --oidc-page-client-id page --oidc-client-secret-file $TMP/secret"
"$MARKETD" --data "$MARKETD_DATA" --listen 127.0.0.1:0 --socket "$MARKETD_SOCKET" $by_page >"$TMP/out" 2>&1 </dev/null
is "$?" 1 "a secret that others can read is refused"
like "$(cat "$TMP/out")" "chmod 600 $TMP/secret" "with what to type"
chmod 600 "$TMP/secret"
for PROOF in client_secret_basic client_secret_post; do
	export PROOF
	rm -f "$MARKETD_DATA/issuer.json"
	issuer_start first
	marketd_start $by_page
	go ann
	like "$url" 'client_id=page&' "$PROOF: the page is another client"
	send
	is "$(http_status)" 201 "and proves itself by its secret" || diag "$(cat "$TMP/.body")"
	marketd_stop
	issuer_stop
done
printf 'another\n' >"$TMP/secret"
issuer_start first
marketd_start $by_page
go ann
send
refused 503 "the issuer refuses this market: 'invalid_client'; tell the operator" "with a wrong secret nobody signs in"
like "$(cat "$MARKETD_LOG")" "nobody can sign in on the page: .*invalid_client" "and the operator hears it"
not_ok "the log has no secret" grep -q 'another' "$MARKETD_LOG"
done_testing
