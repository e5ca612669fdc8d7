#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Browsers that sign in on the market's page: the cookie, what it may do, which requests it counts in, and its end.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"

marketd_start --test-clock=1800000000 || done_testing
marketd_account acme 100.00
marketd_account other 100.00
token=$(marketd_token acme read tokens)
id=$(as "$token" GET /np/v1/whoami | json .token.id)
# cookie_of: of the last answer.
cookie_of() { http_header Set-Cookie | sed -n 's/^\(__Host-nanopod=[^;]*\);.*/\1/p'; }
# page METHOD PATH [BODY [CURL OPTION…]]: as the market's own page asks, with $cookie.
page() {
	page_method=$1 page_path=$2 page_body=${3-}
	shift 2
	[ $# -eq 0 ] || shift
	http_call "$NANOPOD_URL" "$page_method" "$page_path" "$page_body" -H "Cookie: a=b; $cookie" -H 'Nanopod-Page: 1' "$@"
}

# ---- Signing in ----------------------------------------------------------------------------------------
curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
fits() { fit_why=$("$BUILD/tests/daemon/fits" "$TMP/openapi.json" np.PageSession <"$TMP/.body" 2>&1); is "$fit_why" "" "$1"; }
http_call "$NANOPOD_URL" GET /np/v1/session >/dev/null
is "$(http_status) $(json .account_id <"$TMP/.body") $(json .token <"$TMP/.body")" "200 null null" "a stranger hears that he is nobody, which is no error"
fits "as documented"
http_call "$NANOPOD_URL" POST /np/v1/session '' >/dev/null
is "$(http_status) $(http_header Set-Cookie)" "401 " "without a token nobody signs in"
as npk_wrong POST /np/v1/session >/dev/null
is "$(http_status) $(http_header Set-Cookie)" "401 " "nor with a wrong one"
as "$token" POST /np/v1/session >"$TMP/answer"
is "$(http_status)" 201 "with a token one does"
fits "the answer is as documented"
like "$(http_header Set-Cookie)" '^__Host-nanopod=npk_[A-Za-z0-9_-]{43}; Max-Age=43200; Path=/; Secure; HttpOnly; SameSite=Strict$' \
	"and the browser keeps 256 random bits, for this host alone, that no script can read"
cookie=$(cookie_of)
isnt "$cookie" "__Host-nanopod=$token" "not the token itself"
not_ok "the answer does not show it" grep -qF "${cookie#*=}" "$TMP/answer"
page GET /np/v1/session >/dev/null
is "$(jq -c '[.account_name, .token.scopes, .token.expires_at, .cookie, .machines]' "$TMP/.body")" '["acme",["read","tokens"],1800043200,true,false]' \
	"the session has the account and the scopes of that token, for twelve hours"
session=$(json .token.id <"$TMP/.body")
is "$(as "$token" GET /np/v1/tokens | jq -r ".data[] | select(.id == \"$session\") | .name")" "browser, signed in by $id" "it is in the list of tokens, which says by whom"
page GET /np/v1/balance >/dev/null
is "$(http_status) $(json .available_dollars <"$TMP/.body")" "200 100.000000" "the cookie reads what the token reads"
page POST /v2/pools '{"name":"p","workspace":"default"}' >/dev/null
is "$(http_status)" 403 "and may do no more"
page POST /np/v1/session >/dev/null
is "$(http_status)" 422 "it makes no further session"
not_ok "the log does not show it" grep -qF "${cookie#*=}" "$MARKETD_LOG"
http_call "$NANOPOD_URL" GET /np/v1/balance '' -H "Cookie: $cookie" -H 'Authorization: Bearer npk_wrong' >/dev/null
is "$(http_status)" 401 "a header counts before a cookie"
http_call "$NANOPOD_URL" GET /np/v1/balance '' -H "Cookie: __Host-nanopod=nps_agt_x_y" >/dev/null
is "$(http_status)" 401 "a session of an agent is none of a browser"

# ---- Requests that another page makes --------------------------------------------------------------------
made() { as "$token" GET /np/v1/tokens | json '.data | length'; }
before=$(made)
# forged WANT TEXT [CURL OPTION…]: a request that makes a token, with the cookie.
forged() {
	forged_want=$1 forged_text=$2
	shift 2
	http_call "$NANOPOD_URL" POST /np/v1/tokens '{"scopes":["read"]}' -H "Cookie: $cookie" "$@" >/dev/null
	is "$(http_status)" "$forged_want" "$forged_text"
}
forged 403 "a form of another page changes nothing"
like "$(json .error.message <"$TMP/.body")" 'another page.*nothing was done' "and the answer says why"
forged 403 "nor does one that says that it is of another site" -H 'Nanopod-Page: 1' -H 'Sec-Fetch-Site: cross-site'
forged 403 "or of another port or name of this site" -H 'Nanopod-Page: 1' -H 'Sec-Fetch-Site: same-site'
forged 403 "or was typed by a person" -H 'Nanopod-Page: 1' -H 'Sec-Fetch-Site: none'
forged 403 "or comes from another origin" -H 'Nanopod-Page: 1' -H 'Origin: https://evil.example'
forged 403 "or from none" -H 'Nanopod-Page: 1' -H 'Origin: null'
is "$(made)" "$before" "none of them made a token"
forged 201 "the page itself does" -H 'Nanopod-Page: 1' -H 'Sec-Fetch-Site: same-origin'
forged 201 "with an old browser, too" -H 'Nanopod-Page: 1' -H "Origin: $NANOPOD_URL"
http_call "$NANOPOD_URL" GET /np/v1/balance '' -H "Cookie: $cookie" -H 'Sec-Fetch-Site: cross-site' >/dev/null
is "$(http_status)" 403 "another site reads nothing, either"
http_call "$NANOPOD_URL" GET /np/v1/balance '' -H "Cookie: $cookie" -H 'Sec-Fetch-Site: none' >/dev/null
is "$(http_status)" 200 "a person may type an address"
http_call "$NANOPOD_URL" OPTIONS /np/v1/tokens '' -H 'Origin: https://evil.example' -H 'Access-Control-Request-Headers: nanopod-page' >/dev/null
is "$(http_header Access-Control-Allow-Origin)$(http_header Access-Control-Allow-Headers)" "" "and no other origin may send the page's header"

# ---- A market that is killed ---------------------------------------------------------------------------
marketd_kill
marketd_start --test-clock || done_testing
page GET /np/v1/balance >/dev/null
is "$(http_status)" 200 "a market that was killed throws nobody out"

# ---- Signing out ----------------------------------------------------------------------------------------
as "$token" DELETE /np/v1/session >/dev/null
is "$(http_status)" 404 "a token in a header is no session"
page DELETE /np/v1/session '' -H 'Sec-Fetch-Site: cross-site' >/dev/null
is "$(http_status)" 403 "no other page signs one out"
page DELETE /np/v1/session >/dev/null
is "$(http_status) $(http_header Set-Cookie)" "204 __Host-nanopod=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict" "signing out ends the session, and the browser forgets it"
page GET /np/v1/balance >/dev/null
is "$(http_status)" 401 "the old cookie is worth nothing"
page GET /np/v1/session >/dev/null
is "$(http_status) $(json .token <"$TMP/.body") $(http_header Set-Cookie | cut -d';' -f1,2)" "200 null __Host-nanopod=; Max-Age=0" "a browser that still has it forgets it"

# The token that signed a browser in takes it with it, as does the session's own revocation.
mother=$(marketd_token acme read)
mother_id=$(as "$mother" GET /np/v1/whoami | json .token.id)
as "$mother" POST /np/v1/session >/dev/null
cookie=$(cookie_of)
as "$token" POST /np/v1/session >/dev/null
cookie2=$(cookie_of)
as "$token" DELETE "/np/v1/tokens/$mother_id" >/dev/null
page GET /np/v1/balance >/dev/null
is "$(http_status)" 401 "who revokes a token revokes the browsers that it signed in"
cookie=$cookie2
page GET /np/v1/session >/dev/null
is "$(http_status) $(json .account_name <"$TMP/.body")" "200 acme" "and no others"
as "$token" DELETE "/np/v1/tokens/$(json .token.id <"$TMP/.body")" >/dev/null
page GET /np/v1/balance >/dev/null
is "$(http_status)" 401 "a session is revoked as any token is"
# A token that ends soon makes no session that lasts longer.
brief=$(as "$token" POST /np/v1/tokens '{"scopes":["read"],"expires_in_seconds":600}' | json .token)
as "$brief" POST /np/v1/session >/dev/null
like "$(http_header Set-Cookie)" '; Max-Age=600;' "a session ends with the token that made it"
cookie=$(cookie_of)
operator POST /np/v1/admin/clock '{"at":1800000601}' >/dev/null
page GET /np/v1/balance >/dev/null
is "$(http_status) $(json .error.code <"$TMP/.body")" "401 token_expired" "and then says so"
as "$token" POST /np/v1/session >/dev/null
is "$(as "$token" GET /np/v1/tokens | jq '[.data[] | select(.expires_at == 1800000600) | select(.name // "" | startswith("browser"))] | length')" 0 "the next one clears what is over"

# ---- Guessing, and markets without a page ----------------------------------------------------------------
cookie="__Host-nanopod=npk_guess"
# By one curl: one guess a second would be free.
like "$(curl -s -o /dev/null -w '%{http_code}\n' -H "Cookie: $cookie" -H 'Nanopod-Page: 1' "$NANOPOD_URL/np/v1/balance#[1-200]" | sort -u)" '^429$' \
	"who guesses cookies waits, as with tokens"
marketd_stop
marketd_start --test-clock --private
as "$token" POST /np/v1/session >/dev/null
is "$(http_status) $(http_header Set-Cookie)" "403 " "--private: nobody signs in"
cookie="__Host-nanopod=$token"
page GET /np/v1/balance >/dev/null
is "$(http_status)" 401 "and no cookie counts"
done_testing
