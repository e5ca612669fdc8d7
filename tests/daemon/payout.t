#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Payouts to sellers, by hand: what sales earned and has waited for the hold time, asked for, sent or failed, in ledger,
# statement and audit log. tests/sim/property has the law for random markets.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
cd "$TMP" || exit 99
trade_start 1
operator PUT /np/v1/policy '{"fee_bps":250}' >/dev/null
SOCKET=unix:$MARKETD_SOCKET DAY=$((24 * HOUR))
SELLER=$(marketd_token foundry read trade nodes tokens host)
admin() { NANOPOD_TOKEN='' NANOPOD_URL=$SOCKET "$NANOPOD" admin "$@"; }
seller() { NANOPOD_TOKEN=$SELLER "$NANOPOD" "$@"; }
income() { as "$SELLER" GET /np/v1/income | jq -r '[.earned_dollars, .paid_dollars, .payable_dollars] | join(" ")'; }
available() { seller balance -o json | jq -r '.[0] | [.available_micros, .held_micros] | map(tostring) | join(" ")'; }

run_is 0 "(a node for ten hours)" "$NANOPOD" buy -t richmond -n 1 -d 10h -s @$((NOW + 60)) -p 3 -y --name train --no-instances --no-wait
run_is 0 "(money that was not earned)" admin credit foundry 1000
is "$(income)" "0.000000 0.000000 0.000000" "nothing is earned before time has passed"
clock $((NOW + 12 * HOUR))
is "$(income)" "140.400000 0.000000 0.000000" "what was sold is earned, less the fee, and waits"
run_is 7 "before the hold time is over" seller payout create 100 -y
like "$err" '\$0\.00 can be paid out now, which was earned by selling more than 168 hours ago' "says what can be paid out"
clock $((NOW + 9 * DAY))
is "$(income)" "140.400000 0.000000 140.400000" "after a week it is payable; the credit never is"
run_is 7 "more than that" seller payout create 140.41 -y
run_is 2 "without a terminal and -y" seller payout create 100
run_is 0 "a payout" seller payout create 100.25 -y -o json
like "$err" 'Pay out \$100\.25' "after a plan"
first=$(printf '%s' "$out" | jq -r '.[0].payout')
is "$(available)" "1040150000 100250000" "is held from then on"
is "$(income)" "140.400000 100.250000 40.150000" "and no longer payable"
marketd_kill
marketd_start --test-clock || exit 1
is "$(available)" "1040150000 100250000" "so it is after kill -9"
run_is 0 "the balance" seller balance -o json
is "$(jq -r '.[0] // . | .payouts_micros' <<<"$out")" 100250000 "says what is held for payouts"
run_is 7 "a second one of the same money" seller payout create 100.25 -y
run_is 0 "(a second one)" seller payout create 40.15 -y -q
second=$out
is "$(income)" "140.400000 140.400000 0.000000" "all that was earned"
like "$(admin payout list)" "$first +foundry +\\\$1,000\.00 +asked" "the operator sees them"
VIEWER=$(marketd_token foundry read)
like "$(as "$VIEWER" POST /np/v1/payouts '{"amount_dollars":"1.00"}')" 'payouts are for people with the role owner or billing' "a token that only reads is refused"
is "$(seller payout list -q | grep -c .)" 2 "and adds none"
NANOPOD_TOKEN=$SELLER run_is 4 "who is no operator says nothing of it" "$NANOPOD" admin payout paid "$first"
run_is 0 "the operator sent one" admin payout paid "$first" 'SEPA 4711'
run_is 5 "which is once" admin payout paid "$first" 'SEPA 4712'
run_is 2 "one that failed needs a reason" admin payout failed "$second"
run_is 0 "the other one failed" admin payout failed "$second" --reason 'the bank does not know the account'
run_is 5 "which is once, too" admin payout failed "$second" --reason again
is "$(available)" "1040150000 0" "its money is available again, and what was sent is gone"
is "$(income)" "140.400000 100.250000 40.150000" "and payable again"
run_is 0 "the list" seller payout
like "$out" "$first +sent +\\\$100\.25 .*SEPA 4711" "says what was sent"
like "$out" "$second +failed +\\\$40\.15 .*the bank does not know the account" "and why the other was not"
run_is 0 "the statement" seller statement
like "$out" '^20.*Paid out: SEPA 4711 +-\$100\.25 ' "has what left, once"
is "$(printf '%s\n' "$out" | grep -c '^20.*Paid out')" 1 "and not what came back before it left"
run_is 0 "the events" seller events
like "$out" "payout of [$]100[.]25: asked$" "have each that was asked for"
like "$out" "payout of [$]100[.]25: sent$" "that was sent"
like "$out" "payout of [$]40[.]15: failed$" "and that failed"
run_is 0 "ledger verify" seller ledger verify
run_is 0 "what was sent comes back from the bank" admin payout failed "$first" --reason 'returned by the bank'
is "$(available) $(income)" "1140400000 0 140.400000 0.000000 140.400000" "all is there again"
run_is 0 "the statement then" seller statement
like "$out" 'Paid out: returned by the bank +\$100\.25 ' "says so, and adds up"
like "$(cat "$MARKETD_LOG")" 'audit: payout po_[0-9a-z]+ of \$100\.25 to account .*: sent, SEPA 4711' "the operator's log has all of it"

# ---- Few, not too small, and taken back ------------------------------------------------------------------------------
run_is 2 "less than a dollar" seller payout create 0.99 -y
like "$err" 'a payout is at least \$1\.00' "is too small"
run_is 0 "--dry-run" seller payout create 100 --dry-run
like "$err" 'Pay out \$100\.00' "prints the plan"
is "$(seller payout list -q | grep -c .) $(available)" "2 1140400000 0" "and asks for nothing"
for i in 1 2 3 4 5 6 7 8 9 10; do seller payout create 1 -y -q >>ids 2>/dev/null; done
is "$(grep -c . ids)" 10 "(ten of them)"
run_is 7 "an eleventh" seller payout create 1 -y
like "$err" "10 payouts are asked for and not sent yet; .*nanopod payout cancel" "waits for one of them"
first=$(sed -n 1p ids) second=$(sed -n 2p ids) third=$(sed -n 3p ids)
NANOPOD_TOKEN=$ACME run_is 3 "nobody else's can be cancelled" "$NANOPOD" payout cancel "$first"
NANOPOD_TOKEN=$VIEWER run_is 4 "nor by a token that only reads" "$NANOPOD" payout cancel "$first"
CAPPED=$(marketd_token foundry read tokens)
capped=$(as "$CAPPED" GET /np/v1/whoami | jq -r .token.id)
as "$SELLER" PUT "/np/v1/tokens/$capped/cap" '{"cap_dollars":"5.00"}' >"$TMP/.cap"
NANOPOD_TOKEN=$CAPPED run_is 4 "nor by one with a cap" "$NANOPOD" payout cancel "$first"
like "$err" 'a token with a cap asks for no payouts and cancels none' "which hears why"
run_is 0 "one is cancelled" seller payout cancel "$first"
like "$out" "$first +cancelled" "by who asked"
run_is 5 "once" seller payout cancel "$first"
run_is 5 "and is not sent then" admin payout paid "$first"
like "$err" "was cancelled; if you sent it before, type: nanopod admin payout paid $first --already-sent" "unless it was sent before"
is "$(available)" "1131400000 9000000" "its money is back"
run_is 0 "the operator can, too" admin payout cancel "$second"

# ---- Sent by hand, and cancelled before the operator says so ----------------------------------------------------------
again=$(seller payout create 1 -y -q 2>/dev/null)
was="$(available) $(income)"
run_is 0 "one that was sent and then cancelled" admin payout paid "$second" 'SEPA 1' --already-sent
like "$out" "$second +foundry .*sent +[$]1[.]00 .*SEPA 1" "counts as sent"
is "$was -> $(available) $(income)" \
	"1131400000 9000000 140.400000 9.000000 131.400000 -> 1130400000 9000000 140.400000 10.000000 130.400000" \
	"its money leaves the account, once, and was paid out"
run_is 5 "which is once" admin payout paid "$second" 'SEPA 1' --already-sent
run_is 5 "and not cancelled again" seller payout cancel "$second"
run_is 0 "the statement" seller statement
like "$out" 'Paid out: SEPA 1 +-\$1\.00 ' "has it"
run_is 0 "what came back of it" admin payout failed "$second" --reason 'returned by the bank'
is "$(available) $(income)" "$was" "is there again"
run_is 0 "(the other one is taken back)" seller payout cancel "$again"
all=$(as "$SELLER" GET /np/v1/income | jq -r .payable_dollars)
twice=$(seller payout create "$all" -y -q 2>/dev/null)
seller payout cancel "$twice" >/dev/null
more=$(seller payout create "$all" -y -q 2>/dev/null)
run_is 0 "(the same earnings again, and sent)" admin payout paid "$more" 'SEPA 2'
run_is 0 "the first of them was sent, too" admin payout paid "$twice" 'SEPA 3' --already-sent
is "$(income)" "140.400000 272.800000 0.000000" "more was paid out than was earned"
is "$(available)" "867600000 8000000" "and both left the account"
run_is 7 "nothing more of it can be asked for" seller payout create 1 -y
run_is 0 "(the bank returns the second)" admin payout failed "$twice" --reason 'the bank gave it back'
is "$(income)" "140.400000 140.400000 0.000000" "then what was earned is paid out once, and what was credited is not payable"
run_is 0 "(and the first)" admin payout failed "$more" --reason 'the bank gave it back'

# ---- Who owes or is suspended waits ----------------------------------------------------------------------------------
admin account suspend foundry --reason looked >/dev/null
run_is 5 "nothing is sent to an account that is suspended" admin payout paid "$third"
like "$err" "the account is suspended, so this payout waits; 'nanopod admin payout cancel $third'" "and the operator hears what can be done"
like "$(admin payout list)" "$third +foundry +\\\$1,132\.40 +asked .*the account is suspended" "the operator's list has account, balance and reason"
run_is 0 "what was sent before can be said" admin payout paid "$third" SEPA --already-sent
run_is 0 "a suspended account takes its own back" seller payout cancel "$(sed -n 4p ids)"
admin account open foundry >/dev/null
operator PATCH /np/v1/accounts/foundry '{"floor_dollars":"-5000.00"}' >/dev/null
operator POST /np/v1/accounts/foundry/credits '{"amount_dollars":"-2000.00"}' >/dev/null
run_is 5 "nor to one that owes" admin payout paid "$(sed -n 5p ids)"
operator POST /np/v1/accounts/foundry/credits '{"amount_dollars":"2000.00"}' >/dev/null
run_is 0 "once it has paid, it is" admin payout paid "$(sed -n 5p ids)"

# ---- At a quota -------------------------------------------------------------------------------------------------------
waiting=$(as "$SELLER" GET /np/v1/balance | jq -r .held_payouts_dollars)
marketd_stop
marketd_start --test-clock --quota foundry:journal=1 || exit 1
is "$(as "$SELLER" GET /np/v1/balance | jq -r .held_payouts_dollars)" "$waiting" "a snapshot knows what is held for payouts"
printf '{"script":"%s"}' "$(head -c 60000 /dev/zero | tr '\0' A)" >script
for i in $(seq 50); do
	as "$SELLER" POST /v0/vms/script @script >"$TMP/.script"
	[ "$(http_status)" = 200 ] || break
done
is "$(http_status)" 429 "(who has changed as much as a day may have)"
run_is 0 "still takes a payout back" seller payout cancel "$(sed -n 6p ids)"
run_is 0 "the operator's ledger adds up" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
