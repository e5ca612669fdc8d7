#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# People sign in at a terminal, with a real issuer of identities (tests/lib/issuer.sh).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/issuer.sh"

# person NAME CODE: logs in at the issuer as NAME and types the code of the terminal.
person() {
	node "$SRC/tests/daemon/person.mjs" "$issuer_url/device?user_code=$2" "$1"
}

has_code() { sed -n 's/.*enter the code \([A-Z0-9-]*\)$/\1/p' "$TMP/login.err" >"$TMP/code" && [ -s "$TMP/code" ]; }

# login NAME HOME [OPTION…]: signs NAME in at a terminal whose files are in HOME.
login() {
	login_who=$1 login_home=$2
	shift 2
	mkdir -p "$login_home"
	: >"$TMP/login.err"
	HOME=$login_home timeout 300 "$NANOPOD" login "$@" >"$TMP/login.out" 2>"$TMP/login.err" </dev/null &
	login_pid=$!
	wait_for 30 has_code && person "$login_who" "$(cat "$TMP/code")" >"$TMP/person" 2>&1
	login_status=0
	wait "$login_pid" || login_status=$?
}

as() { # as HOME COMMAND…
	as_home=$1
	shift
	HOME=$as_home "$NANOPOD" "$@"
}

printf 'rules:\n- {name: owners, when: {person.roles: {has: owner}}, rate: 0.5}\ndefault: {allow: true}\n' >"$TMP/policy.yaml"
export FAULT=$TMP/fault LEFT=$TMP/left
issuer_start first
marketd_start --policy "$TMP/policy.yaml" --oidc-issuer "$issuer_url" --oidc-client-id nanopod --oidc-groups groups --oidc-roles gpu-owners=provider \
	--oidc-admin-group operators || done_testing
op() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" "$@"; }
op admin account add acme >/dev/null
run op invite --account acme --role owner -q
is "$status" 0 "the operator invites an account's first owner" || diag "$err"
like "$out" "^nanopod login --invite npi_" "by one line"
like "$err" "the person cannot reach 'unix:.*add to the line how people reach the market, e.g. --url https://" "which lacks the address that only the operator knows"
code=${out##* }
like "$(curl -s "$NANOPOD_URL/np/v1/signin")" "\"issuer\": *\"$issuer_url\"" "the market says where people sign in"

login ann "$TMP/ann" --invite "$code"
is "$login_status" 0 "she signs in with it" || diag "$(cat "$TMP/login.err" "$TMP/person" "$MARKETD_LOG")"
like "$(cat "$TMP/login.err")" "open $issuer_url/device" "after being told where"
is "$(as "$TMP/ann" whoami -o json | jq -r '.[0] | .account + " " + .person + " " + .roles + " " + .issuer')" "acme Ann owner $issuer_url" \
	"whoami says who she is"
is "$(stat -c %a "$TMP/ann/.config/nanopod/token")" 600 "her token is her own"
rate() { curl -s -H "Authorization: Bearer $1" "$NANOPOD_URL/np/v1/authz" | jq -r '.plan + " " + .rate'; }
op admin credit acme 5 >/dev/null
is "$(rate "$(cat "$TMP/ann/.config/nanopod/token")")" "owners 0.5" "the policy hears whose sign-in it is"
is "$(rate "$(op admin token acme script -q 2>/dev/null)")" "default 1" "and that an account's own token is nobody's"
login bob "$TMP/bob" --invite "$code"
is "$login_status" 3 "an invitation works once"
like "$(cat "$TMP/login.err")" "it was used" "and says so"
[ -f "$TMP/bob/.config/nanopod/token" ]
is "$?" 1 "nobody else is signed in"

run as "$TMP/ann" invite Bob --role viewer -q
code=${out##* }
login bob "$TMP/bob" --invite "$code"
is "$login_status" 0 "a viewer joins" || diag "$(cat "$TMP/login.err")"
is "$(as "$TMP/bob" whoami -o json | jq -r '.[0].scopes')" read "and may read"
run as "$TMP/bob" invite
is "$status" 4 "not invite"
run as "$TMP/ann" people set bob@example.org --role buyer
is "$status" 0 "an owner gives him another role" || diag "$err"
is "$(as "$TMP/bob" whoami -o json | jq -r '.[0].scopes')" read,trade,nodes "which counts at once"
run as "$TMP/ann" people set bob --role viewer
like "$err" "no person 'bob'" "names are as the issuer says"
run as "$TMP/ann" people set Bob --role viewer
is "$(as "$TMP/bob" whoami -o json | jq -r '.[0].scopes')" read "lowered at once, too"
run as "$TMP/ann" people set Ann --role viewer
is "$status" 5 "the last owner stays owner"
like "$err" "last owner" "and hears why"
run as "$TMP/ann" people -o json
is "$(printf '%s' "$out" | jq -r '[.[].name] | join(" ")')" "Ann Bob" "people are listed"

# Groups of the issuer give roles.
run as "$TMP/ann" invite --role viewer
like "$err" "for a browser, send $NANOPOD_URL/#invite=npi_[A-Za-z0-9_-]*$" "an invitation is a link, too"
run as "$TMP/ann" invite --role viewer -q
login grace "$TMP/grace" --invite "${out##* }"
is "$(as "$TMP/grace" whoami -o json | jq -r '.[0].scopes')" read,host "a group gives a role beside the invitation's" || diag "$(cat "$TMP/login.err")"
run as "$TMP/ann" invite --role owner -q
login grace "$TMP/grace" --invite "${out##* }"
is "$login_status" 5 "an invitation is for who is no person yet"
like "$(cat "$TMP/login.err")" "a person of account 'acme' already" "and says so"
run as "$TMP/ann" people set Grace --role buyer
login grace "$TMP/grace" --account-name none
is "$(as "$TMP/grace" whoami -o json | jq -r '.[0].roles')" buyer,provider "at each sign-in, and an owner's role stays" || diag "$(cat "$TMP/login.err")"
run as "$TMP/ann" people set Bob --role provider
login bob "$TMP/bob" --account-name none
is "$(as "$TMP/bob" whoami -o json | jq -r '.[0].roles')" viewer "who left the group loses its role, and may read" || diag "$(cat "$TMP/login.err")"
login eve "$TMP/eve" --invite npi_wrong
is "$login_status" 3 "a wrong code"

# A group of the issuer makes operators, for as long as a page's session.
run as "$TMP/ann" invite --role viewer -q
login olga "$TMP/olga" --invite "${out##* }"
is "$(as "$TMP/olga" whoami -o json | jq -r '.[0].scopes')" read,admin "a group makes an operator" || diag "$(cat "$TMP/login.err")"
tokens() { curl -s -H "Authorization: Bearer $(cat "$TMP/olga/.config/nanopod/token")" "$NANOPOD_URL/np/v1/tokens"; }
is "$(tokens | jq -c '[.data[] | select(.scopes | index("admin")) | .expires_at - .created_at]')" '[43200]' "for twelve hours" || diag "$(tokens)"
like "$(cat "$MARKETD_LOG")" "audit: token tok_[0-9a-z]* made for account 'acme', with the scope admin, by 'Olga'" "the log says so"
op admin account add other >/dev/null
run as "$TMP/olga" admin credit other 1
is "$status" 0 "she does what operators do" || diag "$err"
run as "$TMP/olga" admin token other script -q
is "$status" 0 "makes a token for an account" || diag "$err"
other=$out
run as "$TMP/olga" admin token other script --scope admin
is "$status" 4 "but no operator's, which would stay"
like "$err" "end with the sign-in" "and hears why"
run as "$TMP/olga" token create mine --scope admin --expires 90d -q
mine=$out
is "$(tokens | jq -c '[.data[] | select(.name == "mine") | .expires_at - .created_at <= 43200]')" '[true]' \
	"one of her own ends with the sign-in"
touch "$LEFT"
login olga "$TMP/olga2" --account-name unused
is "$(as "$TMP/olga2" whoami -o json | jq -r '.[0].scopes')" read "who left the group is no operator" || diag "$(cat "$TMP/login.err")"
run as "$TMP/olga" balance
is "$status" 4 "and her earlier sign-in is over"
is "$(curl -s -o "$TMP/out" -w '%{http_code}' -H "Authorization: Bearer $mine" "$NANOPOD_URL/np/v1/balance")" 401 "with what it made"
is "$(curl -s -o "$TMP/out" -w '%{http_code}' -H "Authorization: Bearer $other" "$NANOPOD_URL/np/v1/balance")" 200 \
	"an account's own token stays"

# An issuer that stumbles while somebody signs in; an address that it did not check.
run as "$TMP/ann" invite --role viewer -q
printf '%s\n' "${out##* }" >"$TMP/invitation" # not among the arguments, where others could read it
printf 503 >"$FAULT"
HOME=$TMP/mallory timeout 300 "$NANOPOD" login --invite - >"$TMP/login.out" 2>"$TMP/login.err" <"$TMP/invitation" &
login_pid=$!
wait_for 30 has_code && person mallory "$(cat "$TMP/code")" >"$TMP/person" 2>&1
wait_for 30 test -e "$FAULT.met"
rm "$FAULT"
wait "$login_pid"
is "$?" 0 "an issuer that answers 503 for a while only delays a sign-in" || diag "$(cat "$TMP/login.err")"
is "$(as "$TMP/ann" people -o json | jq -c '[.[] | select(.name == "Mallory") | .email]')" '[null]' "an address that the issuer did not check is not kept"
run as "$TMP/ann" people remove mallory@example.org
is "$status" 3 "and names nobody"

# Who is removed does not come back by a code that he made before.
run as "$TMP/ann" invite --role owner -q
login kim "$TMP/kim" --invite "${out##* }"
run as "$TMP/kim" invite --role owner -q
code=${out##* }
run as "$TMP/ann" people remove Kim
is "$status" 0 "one of two owners is removed" || diag "$err"
login kim "$TMP/kim" --invite "$code"
is "$login_status" 3 "and the invitations of that person are over" || diag "$(cat "$TMP/login.err")"

# Tokens that a person makes end with the person.
token=$(as "$TMP/ann" token create ci --scope read -q)
curl -sf -H "Authorization: Bearer $token" "$NANOPOD_URL/np/v1/balance" >/dev/null
is "$?" 0 "an owner's token for a script"
run as "$TMP/ann" people remove bob@example.org
is "$status" 0 "a person is removed"
run as "$TMP/bob" balance
is "$status" 4 "and signed out"
like "$(cat "$MARKETD_LOG")" "audit: person pers_[0-9a-z]* of account 'acme' removed, by 'Ann'" "the log says by whom" || diag "$(grep audit "$MARKETD_LOG")"

# Every route by roles: what each may, line by line. ROLES=write writes the list anew; look at the difference.
for role in buyer provider viewer billing; do
	run as "$TMP/ann" invite --role $role -q
	login "r$role" "$TMP/$role" --invite "${out##* }"
done
token_of() { cat "$TMP/$1/.config/nanopod/token"; }
run as "$TMP/provider" host token -q
is "$status" 0 "a provider lets a machine join" || diag "$err"
http_call "$NANOPOD_URL" POST /np/v1/agents/join '{}' -H "Authorization: Bearer $out" >"$TMP/out"
is "$(http_status)" 422 "with a token that counts" || diag "$(cat "$TMP/out")"
run as "$TMP/provider" token create more --scope read
is "$status" 4 "and makes no other"
operator=$(op admin token acme root --scope admin -q)
node "$SRC/tests/daemon/roles.mjs" "$NANOPOD_URL" stranger= viewer="$(token_of viewer)" billing="$(token_of billing)" \
	buyer="$(token_of buyer)" provider="$(token_of provider)" owner="$(token_of ann)" operator="$operator" >"$TMP/roles" 2>"$TMP/err"
[ "${ROLES:-}" != write ] || cp "$TMP/roles" "$SRC/tests/fixtures/roles"
ok "every route is for whom the list says" diff "$SRC/tests/fixtures/roles" "$TMP/roles"
is "$(grep -v '^GET' "$TMP/roles" | grep -E ' (viewer|billing) ' | grep -v stranger | sed 's/:.*//' | tr -s ' ')" "$(cat <<'READS'
POST /np/v1/payouts
POST /np/v1/payouts/{payout}/cancel
POST /np/v1/pools/{pool}/extend
POST /np/v1/pools/{pool}/release
POST /np/v1/quote
DELETE /np/v1/session
POST /np/v1/session
POST /np/v1/topups
POST /v2/feature_flags/{feature_flag}
POST /v2/order_preview
READS
)" "who only reads may only ask what else would cost, sign a browser in, and pay (payout.t: the market looks at who asks for a payout)"
# Who does the bills asks for payouts by the sign-in, not by a token that only reads.
who=$(as "$TMP/billing" whoami -o json | jq -r '.[0].person')
run as "$TMP/ann" people set "$who" --role owner,billing
reads=$(as "$TMP/billing" token create reads --scope read -q)
run as "$TMP/ann" people set "$who" --role billing
asks() { http_call "$NANOPOD_URL" POST /np/v1/payouts '{"amount_dollars":"5.00"}' -H "Authorization: Bearer $1" | jq -r .error.code; }
is "$(asks "$reads") $(asks "$(token_of billing)")" "forbidden insufficient_funds" "a billing person's token that only reads asks for no payout"
is "$(awk '/ provider/ && !/ buyer/ && / \/v2\/orders/' "$TMP/roles")" "" "orders are a buyer's"

# The keys roll.
issuer_stop
issuer_start second
began=$(date +%s)
login grace "$TMP/grace2" --account-name unused
is "$login_status" 0 "new keys of the issuer count" || diag "$(cat "$TMP/login.err")"
is "$(as "$TMP/grace2" whoami -o json | jq -r '.[0].person')" Grace "for who is known already"
# Where a minute has passed since the last ones were fetched, these were, too: then with others.
for keys in third fourth fifth sixth; do
	fetched=$(date +%s)
	issuer_stop
	issuer_start $keys
	login grace "$TMP/grace3" --account-name unused
	[ "$login_status" = 0 ] && [ $(($(date +%s) - began)) -ge 60 ] || break
	began=$fetched
done
is "$login_status" 4 "keys are fetched for unknown ones once a minute at most"
like "$(cat "$TMP/login.err")" "none of the issuer's keys signed it" "and the refusal says why"

# The issuer is down: nobody new, nobody thrown out, nobody waits.
issuer_stop
began=$(date +%s)
HOME=$TMP/late timeout 60 "$NANOPOD" login --invite npi_x >"$TMP/out" 2>"$TMP/err" </dev/null
is "$?" 8 "without the issuer nobody signs in"
ok "and hears it soon" test $(($(date +%s) - began)) -lt 30
run as "$TMP/ann" balance
is "$status" 0 "who is signed in stays so"
body='{"id_token":"eyJhbGciOiJSUzI1NiIsImtpZCI6Im5vbmUifQ.e30.AAAA"}'
http_call "$NANOPOD_URL" POST /np/v1/signin "$body" >"$TMP/out"
is "$(http_status)" 401 "a token of nobody, while keys are known"
marketd_stop
rm "$MARKETD_DATA/issuer.json"
marketd_start --oidc-issuer "$issuer_url" --oidc-client-id nanopod
http_call "$NANOPOD_URL" POST /np/v1/signin "$body" >"$TMP/out"
is "$(http_status)" 503 "none are known, and the issuer is down"
like "$(cat "$TMP/out")" "does not answer.*who is signed in stays so" "says so"
run as "$TMP/ann" balance
is "$status" 0 "who is signed in stays so after a restart"

cookie=$(curl -si -X POST -H "Authorization: Bearer $(token_of ann)" -H 'Nanopod-Page: 1' "$NANOPOD_URL/np/v1/session" |
	sed -n 's/^[Ss]et-[Cc]ookie: \(__Host-nanopod=[^;]*\);.*/\1/p')
whose_page() { curl -s -H "Cookie: $cookie" -H 'Nanopod-Page: 1' "$NANOPOD_URL/np/v1/session" | jq -r .account_name; }
is "$(whose_page)" acme "her browser is signed in"
curl -s -X POST -H "Cookie: $cookie" -H 'Nanopod-Page: 1' -H 'Content-Type: application/json' -d '{"scopes": ["read"]}' \
	"$NANOPOD_URL/np/v1/tokens" >"$TMP/out"
is "$(jq '.expires_at - .created_at <= 12 * 3600' "$TMP/out")" true "a page's session makes no token that outlives it" ||
	diag "$(cat "$TMP/out")"
run as "$TMP/ann" logout
is "$status" 0 "she signs out" || diag "$err"
is "$(whose_page)" null "and her browser with her"
[ -f "$TMP/ann/.config/nanopod/token" ]
is "$?" 1 "her file is gone"
marketd_stop
HOME=$TMP/grace2 run "$NANOPOD" logout
is "$status" 0 "without a market, too"
like "$err" "stays valid until it expires" "and hears what that means"
done_testing
