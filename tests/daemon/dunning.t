#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Accounts that owe, and the operator's --dunning: reminders by webhook and mail, each once whatever ends in between; a
# suspension by the rule, which ends nothing that is paid and is lifted by a payment; the operator's own, which is not.
# tests/sim/property has the laws for random markets.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need python3 jq openssl
cd "$TMP" || exit 99
run_is 2 "days that do not grow" "$MARKETD" --data nowhere --dunning 7,7,30
like "$err" "invalid '--dunning 7,7,30'; give three numbers of days" "are refused"
run_is 2 "two of them" "$MARKETD" --data nowhere --dunning 7,14
run_is 2 "four of them" "$MARKETD" --data nowhere --dunning 7,14,21,28
trade_start 1
DAY=$((24 * HOUR))
admin() { NANOPOD_TOKEN='' NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@"; }
account() { operator GET /np/v1/accounts/acme | jq -r '[.state, .debt.step, .debt.suspends_at] | map(tostring) | join(" ")'; }
. "$SRC/tests/lib/ports.sh"
url=http://127.0.0.1:$PORTS # it is one market to whoever is told
begin() { marketd_start --listen "${url#http://}" --test-clock --dunning 7,14,30 "$@" || exit 1; NANOPOD_URL=$url; }
mkdir bin
cat >bin/sendmail <<'S'
#!/bin/sh
cat >>mails
S
chmod +x bin/sendmail
echo ok >mode
python3 "$SRC/tests/cli/alertsink.py" . s3cret 2>sink.err & sink=$!
at_exit "kill $sink"
wait_for 60 test -s port || { diag "$(cat sink.err)"; fail "(a receiver)"; done_testing; exit; }
# What was told since the last call, of debts.
send() { NANOPOD_ALERT_SECRET=s3cret PATH=$TMP/bin:$PATH timeout -k 5 60 "$NANOPOD" alerts --to "http://127.0.0.1:$(cat port)/hook" --to mail:ops@example.org >/dev/null 2>sent.err; }
told() { grep -o '[a-z]* debt_[a-z_]*' log 2>/dev/null | sort | tr '\n' ' '; : >log; }

operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"-99990.00"}' >/dev/null
is "$(account)" "open null null" "who owes nothing has no debt"
operator PATCH /np/v1/accounts/acme '{"floor_dollars":"-1000.00"}' >/dev/null
run_is 0 "an account with a limit orders for more than it has" "$NANOPOD" buy -t richmond -n 1 -d 48h -s @$((NOW + 60)) -p 1 --standing -y --name waits --no-instances --no-wait
run_is 0 "balance" "$NANOPOD" balance -o json
is "$(jq -r '.[0] // . | "\(.available) \(.held) \(.owes)"' <<<"$out") $(account)" "-373.999040 383.999040 null open null null" "what a waiting order holds is not owed"
unlike "$("$NANOPOD" alerts 2>&1)" 'balance_owed' "and there is no alert"
run_is 0 "(it is cancelled)" "$NANOPOD" cancel "$("$NANOPOD" orders -q)"
run_is 0 "an account with a limit buys for more than it has" "$NANOPOD" buy -t richmond -n 1 -d 48h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
is "$(account)" "open none null" "it owes, and without a rule nothing comes of that"
run_is 0 "balance" "$NANOPOD" balance
like "$err" 'you owe \$681\.20 since .*; pay with .nanopod topup 681\.20.' "says what it owes, since when, and how to pay"
marketd_kill
begin
is "$(account)" "open none $((NOW + 30 * DAY))" "with a rule it is known when"
run_is 0 "whoami" "$NANOPOD" whoami
like "$err" 'you owe \$681\.20 since .*; your account is suspended at .*14 .* unless you pay, with .nanopod topup 681\.20.' "says it, too"
clock $((NOW + 7 * DAY - 60))
send; is "$(told)" "" "no reminder before its day"
clock $((NOW + 7 * DAY))
send; is "$(account)|$(told)" "open reminded $((NOW + 30 * DAY))|firing debt_reminder " "then the first one"
like "$(jq -r .text last)" 'reminder: the account owes \$681\.20 since 2027-01-15T08:00:00Z; unless that is paid, the market suspends it at 2027-02-14T08:00:00Z' "with the sum, since when, and what happens when"
is "$(jq -r .alert.next last)" "nanopod topup 681.20" "and how to pay"
like "$(cat mails)" '^Subject: \[nanopod\] warning debt_reminder acme$' "by mail, too"
marketd_kill; begin; clock $((NOW + 8 * DAY))
send; is "$(account)|$(told)" "open reminded $((NOW + 30 * DAY))|" "once, also after kill -9"
clock $((NOW + 14 * DAY))
send; is "$(account)|$(told)" "open warned $((NOW + 30 * DAY))|firing debt_last_reminder " "the last one"

# ---- Suspended -------------------------------------------------------------------------------------------------------
later=$((NOW + 30 * DAY)) beyond=$((NOW + 32 * DAY))
long=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"long\",\"instance_sku\":\"$SKU\",\"start_at\":$NOW,\"end_at\":$beyond}" | jq -r .id)
as "$FOUNDRY" POST "/np/v1/hosts/$long/offers" "{\"price_dollars_per_node_hour\":\"2.00\",\"start_at\":$((NOW + 14 * DAY + 120)),\"end_at\":$beyond}" >"$TMP/.offer"
# Until when it has the time of a reservation.
until_when() { "$NANOPOD" reservations -o json | jq -r --arg n "$1" '.[] | select(.reservation == $n).end'; }
run_is 0 "(it buys time that reaches beyond)" "$NANOPOD" buy -t richmond -n 1 -s @$((later - HOUR)) -e @$((later + DAY)) -p 3 -y --name last --no-instances --no-wait
operator PATCH /np/v1/accounts/acme '{"floor_dollars":"-100000.00"}' >/dev/null
is "$(account)" "open warned $later" "a higher limit changes nothing of that"
run_is 0 "(a buy that rests)" "$NANOPOD" buy -t richmond -n 1 -s @$((later - 2 * HOUR)) -e @$((later + 2 * DAY)) -p 1 --standing -y --name rests --no-instances --no-wait
clock $((later - 60))
paid=$(until_when last)
like "$paid" '^2027-02-15T08:00:00Z$' "(its time is paid until the next day)"
clock "$later"
send; is "$(account)|$(told)" "suspended suspended $later|firing debt_suspended " "on the last day the rule suspends it"
is "$(market GET '/v2/orders?limit=200' | jq -r '[.data[] | select(.pool.name == "rests").status] | join(" ")')" "cancelled" "what waited in the book is cancelled, and its hold is back"
is "$(until_when last)" "$paid" "what it paid for is its own as before"
like "$(cat "$MARKETD_LOG")" "audit: account 'acme' owes for 30 days or more: suspended by the rule, by the market" "the log says by whom"
run_is 0 "audit" "$NANOPOD" audit
like "$out" "account 'acme' owes for 30 days or more: suspended by the rule" "the account's record, too"
run_is 4 "it buys nothing more" "$NANOPOD" buy -t richmond -n 1 -d 1h -p 3 -y --name more --no-instances --no-wait
like "$err" "is suspended, as it owes money; .nanopod balance. says how much" "and hears why"
late=$(market POST /v2/instances "{\"name\":\"late\",\"pool\":\"last\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | jq -r .id)
like "$late" '^inst_' "it makes a node of time that it paid for"
is "$(market POST "/v2/instances/$late/replace" '{"image":"debian-12"}' | jq -r .name)" late "and one anew"
run_is 0 "balance" "$NANOPOD" balance
like "$err" 'so the market suspended your account at .*; it is open again once you pay' "says what helps"
like "$(admin account list)" 'acme +acct_.* suspended .*\$731\.1995 ' "the operator sees who owes"
marketd_kill; begin
send; is "$(account)|$(told)" "suspended suspended $later|" "it stays so after kill -9, and nobody is told again"
operator PATCH /np/v1/accounts/acme '{"floor_dollars":"-200000.00"}' >/dev/null
is "$(account)" "suspended suspended $later" "another limit does not open it"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"100.00"}' >/dev/null
is "$(account)" "suspended suspended $later" "nor a part of what it owes"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"700.00"}' >/dev/null
is "$(account)" "open null null" "all of it does, at once"
clock $((later + 60))
marketd_kill; begin; clock $((later + 120))
run_is 0 "audit" "$NANOPOD" audit
is "$(grep -c "account 'acme' was opened by the rule, as it owed nothing any more" <<<"$out")" 1 "which the record says, once"
send; is "$(told)" "resolved debt_last_reminder resolved debt_reminder resolved debt_suspended " "the alerts end"
like "$("$NANOPOD" events)" 'debt: the account is suspended' "the events tell it"

# ---- By hand, and a clock that jumps ---------------------------------------------------------------------------------
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"-1000.00"}' >/dev/null
admin account suspend acme --reason looked >/dev/null
clock $((later + 20 * DAY))
is "$(account)" "suspended none null" "whom the operator suspended the rule leaves alone"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"2000.00"}' >/dev/null
is "$(account)" "suspended null null" "and a payment does not open it"
admin account open acme >/dev/null
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"-2000.00"}' >/dev/null
jump=$((later + 100 * DAY))
clock $jump
send; is "$(account)|$(told)" "open reminded $((jump + 23 * DAY))|firing debt_reminder " "a clock that jumps leaves no reminder out: the days between them remain"
clock $((jump + 7 * DAY)); clock $((jump + 23 * DAY))
is "$(account)" "suspended suspended $((jump + 23 * DAY))" "then it is suspended"
admin account open acme >/dev/null
is "$(account)" "open none $((jump + 53 * DAY))" "the operator opens it all the same, and its days begin anew"
marketd_stop
begin
is "$(account)" "open none $((jump + 53 * DAY))" "so it is in a snapshot"
clock $((jump + 30 * DAY)); clock $((jump + 37 * DAY))
is "$(account)" "open warned $((jump + 53 * DAY))" "(it is warned again)"
admin account suspend acme --reason looked >/dev/null
jump=$((jump + 90 * DAY))
clock $jump
admin account open acme >/dev/null
clock $((jump + 60))
is "$(account)" "open none $((jump + 30 * DAY))" "so does one that the operator suspended, and opens on a later day"
clock $((jump + 7 * DAY))
is "$(account)" "open reminded $((jump + 30 * DAY))" "(it is reminded again)"
admin account open acme >/dev/null
is "$(account)" "open none $((jump + 37 * DAY))" "to open what is open gives more days"
jump=$((jump - 16 * DAY)) # 23 days are gone below

# ---- A dispute -------------------------------------------------------------------------------------------------------
marketd_stop
printf 'sk_test_market\n' >key; printf 'whsec_one\n' >secrets; chmod 600 key secrets
begin --stripe-key-file "$TMP/key" --stripe-webhook-secret-file "$TMP/secrets"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1000.00"}' >/dev/null
market=$(operator GET /np/v1 | jq -r .id) acme=$(operator GET /np/v1/accounts/acme | jq -r .id) now=$((jump + 23 * DAY))
stripe_says() { # TYPE OBJECT
	body="{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"$1\",\"data\":{\"object\":$2}}"
	hex=$(printf '%s.%s' "$now" "$body" | openssl dgst -sha256 -hmac whsec_one | sed 's/.*= //')
	http_call "$NANOPOD_URL" POST /np/v1/stripe "$body" -H "Stripe-Signature: t=$now,v1=$hex" >/dev/null
}
stripe_says checkout.session.completed "{\"id\":\"cs_1\",\"payment_status\":\"paid\",\"amount_total\":500000,\"currency\":\"usd\",\"payment_intent\":\"pi_1\",
	\"metadata\":{\"nanopod_market\":\"$market\",\"nanopod_account\":\"$acme\"}}"
is "$(http_status) $(account)" "204 open null null" "somebody pays, and owes nothing"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"-5000.00"}' >/dev/null
stripe_says charge.dispute.created '{"id":"dp_1","payment_intent":"pi_1","amount":500000,"currency":"usd","status":"needs_response"}'
is "$(http_status) $(account)" "204 open none $((now + 30 * DAY))" "who disputes what is spent owes from then on"
for days in 7 14 30; do clock $((now + days * DAY)); done
owing=$((now + 30 * DAY))
is "$(account)" "suspended suspended $owing" "and is suspended like others"
now=$owing
stripe_says charge.dispute.closed '{"id":"dp_1","payment_intent":"pi_1","amount":500000,"currency":"usd","status":"won"}'
is "$(http_status) $(account)" "204 open null null" "until the market wins it"

# ---- Who sells plans, or pays for others -----------------------------------------------------------------------------
operator POST /np/v1/accounts '{"name":"uni","floor_dollars":"-100.00"}' >/dev/null
operator POST /np/v1/accounts/uni/credits '{"amount_dollars":"-50.00"}' >/dev/null
admin grant add acme study 30 --sponsor uni >/dev/null
uni() { operator GET /np/v1/accounts/uni | jq -r '[.state, .debt.step, .debt.suspends_at] | map(tostring) | join(" ")'; }
uni_told() { as "$(marketd_token uni)" GET /np/v1/alerts | jq -r '.data[] | select(.rule | startswith("debt_")).text'; }
is "$(uni)" "open none null" "who pays a grant of others has no day on which it is suspended"
clock $((now + 7 * DAY))
like "$(uni_told)" '^reminder: the account owes \$50\.00 since .*; the market suspends it once it sells no plans and pays for no others any more, the operator at any time$' "its reminder names none"
for days in 14 30; do clock $((now + days * DAY)); done
clock $((now + 30 * DAY + 60))
is "$(uni)" "open warned null" "who pays a grant of others is reminded, but not suspended"
is "$(grep -c "account 'uni' stays open" "$MARKETD_LOG")" 1 "the log says so, once"
admin grant end "$(operator GET /np/v1/grants | jq -r '.data[] | select(.name == "study").id')" >/dev/null
clock $((now + 30 * DAY + 120))
is "$(uni)" "suspended suspended $((now + 30 * DAY + 120))" "once no grant is left, it is suspended like others"
run_is 0 "the operator's ledger adds up" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
