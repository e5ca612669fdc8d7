#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What people may spend in a month, with a real issuer of identities (tests/lib/issuer.sh): each pays with their own cap, whatever
# token they use, and also for what another began. tests/cli/cap.t does so with tokens of the account.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/issuer.sh"

# What the issuer signs is of now: a token may be ten minutes old for a market, and only one minute ahead of its clock.
NOW=$((($(date +%s) / 60 + 5) * 60))
NEXT=$(date -u -d "$(date -u -d "@$NOW" +%Y-%m-01) +1 month" +%s)
has_code() { sed -n 's/.*enter the code \([A-Z0-9-]*\)$/\1/p' "$TMP/login.err" >"$TMP/code" && [ -s "$TMP/code" ]; }
# login NAME CODE: signs NAME in at a terminal whose files are in $TMP/NAME.
login() {
	mkdir -p "$TMP/$1/.ssh"
	echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me' >"$TMP/$1/.ssh/id_ed25519.pub"
	: >"$TMP/login.err"
	HOME=$TMP/$1 timeout 300 "$NANOPOD" login --invite "$2" >"$TMP/login.out" 2>"$TMP/login.err" </dev/null &
	login_pid=$!
	wait_for 30 has_code && node "$SRC/tests/daemon/person.mjs" "$issuer_url/device?user_code=$(cat "$TMP/code")" "$1" >"$TMP/person" 2>&1
	wait "$login_pid"
}
by() { by_home=$TMP/$1; shift; HOME=$by_home timeout 60 "$NANOPOD" "$@" </dev/null; }
op() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" "$@"; }
spent() { by ann people list -o json | jq -r --arg n "$1" '.[] | select(.name == $n) | .spent + " " + (.cap // "none")'; }
buys() { by "$1" buy -t richmond -d "$2" -p 2.10 -y --no-wait --no-instances --name "$3"; }
code() { printf '%s' "${1##* }"; }

issuer_start first
# Who signs in on the first day of a month of 31 days is still signed in on the first of the next.
start() {
	marketd_start --test-clock=$NOW --oidc-issuer "$issuer_url" --oidc-client-id nanopod --sign-in-days 40 || done_testing
}
start
marketd_account acme 1000.00
marketd_account foundry
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
sku=$(operator POST /np/v1/skus '{"alias":"richmond","gpus":8,"properties":{"accelerator":"h100"}}' | json .id)
for i in 1 2 3 4; do
	host=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"h$i\",\"instance_sku\":\"$sku\",\"start_at\":$NOW,\"end_at\":$((NOW + 2592000))}" | json .id)
	as "$FOUNDRY" POST "/np/v1/hosts/$host/offers" "{\"price_dollars_per_node_hour\":\"14.400000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" >/dev/null
done
login ann "$(code "$(op invite --account acme --role owner -q 2>/dev/null)")" || { fail "(ann signs in)"; diag "$(cat "$TMP/login.err")"; done_testing; }
login bob "$(code "$(by ann invite --role buyer -q 2>/dev/null)")"
is "$(spent Bob)" "0.000000 none" "a buyer without a cap"

run by bob people cap Bob 1000/month
is "$status" 4 "who is no owner sets none, not for himself"
run by ann people cap bob@example.org 50/month --reason "the summer"
is "$status" 0 "an owner does" || diag "$err"
is "$(spent Bob)" "0.000000 50.000000" "and sees it"
run buys bob 2h one
is "$status $(spent Bob)" "0 28.800000 50.000000" "what he buys counts" || diag "$err"
run buys bob 2h two
is "$status" 7 "more is refused"
like "$err" "person 'Bob' may spend .50.00 a month, has spent .28.80 of it, and this costs up to .28.80" "with the cap, and what is spent"
like "$err" "the month begins anew on 1 $(LC_ALL=C date -u -d "@$NEXT" +%B) .UTC.; an owner of the account may raise the cap: nanopod people cap Bob 58/month" "when the month begins anew, who may raise it, and how"
run by ann extend one -d 2h -p 2.10 -y
is "$status $(spent Bob) $(spent Ann)" "0 28.800000 50.000000 28.800000 none" "who extends it pays for that" || diag "$err"
run by ann people cap Ann 40/month
is "$status" 0 "an owner may have a cap, too"
token=$(by ann token create script --scope read,trade -q 2>/dev/null)
run env HOME="$TMP/ann" NANOPOD_TOKEN="$token" "$NANOPOD" buy -t richmond -d 2h -p 2.10 -y --no-wait --no-instances --name script
is "$status" 7 "and her other tokens do not help" || diag "$err"
like "$err" "person 'Ann' may spend" "for it is hers"

marketd_kill
start
is "$(spent Bob) $(spent Ann)" "28.800000 50.000000 28.800000 40.000000" "a market that was killed knows it"
run op people cap bob@example.org none
is "$status" 0 "the operator may" || diag "$err"
run buys bob 2h two
is "$status" 0 "and without a cap he buys" || diag "$err"
operator POST /np/v1/admin/clock "{\"at\":$NEXT}" >/dev/null
is "$(spent Bob)" "0.000000 none" "in a new month nothing is spent"
like "$(by ann audit -o csv)" "may spend .50.00 a month: the summer" "the audit tells"
done_testing
