#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports, statements and usage events of random months are the ledger's sums, to the micro-dollar; report.py has the comparison.
# SEEDS="7 8 9" tries others.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need python3
need jq

for seed in ${SEEDS:-3 5}; do
	rm -rf "$MARKETD_DATA"
	marketd_start --test-clock=1798761600 --rate 0 || exit 99
	run_is 0 "seed $seed: report and ledger agree" python3 "$SRC/tests/daemon/report.py" "$MARKETD_SOCKET" "$seed" 2
	like "$out" 'postings of accounts, kinds credit debit earning' "there was something to compare"
	printf '%s\n' "$out"
	[ "$seed" != "$(set -- ${SEEDS:-3 5}; eval echo "\$$#")" ] || break
	marketd_stop
done
is "$(printf '%s' "$out" | grep -c '[0-9]\{5,\} postings')" 1 "ten thousand of them and more, in pages"

# What people get: the closing balance of a month opens the next one, and each is opening and entries.
NANOPOD_URL=unix:$MARKETD_SOCKET
closed=0
for month in 2027-01 2027-02 2027-03; do
	run_is 0 "statement $month" "$NANOPOD" statement $month --account ann -o json
	is "$(printf '%s' "$out" | jq .opening_micros)" "$closed" "opens with what the month before closed with"
	is "$(printf '%s' "$out" | jq '.opening_micros + ([.entries[].amount_micros] | add) == .closing_micros')" true "its entries lead to its end"
	is "$(printf '%s' "$out" | jq '([.sums | to_entries[] | select(.key | endswith("_micros")) | .value] | add) == .closing_micros - .opening_micros')" \
		true "so do its sums"
	closed=$(printf '%s' "$out" | jq .closing_micros)
	printf '%s\n' "$out" | jq -r .number >>"$TMP/numbers"
	run "$NANOPOD" report spend --by day --from $month --to $month --account ann -o json
	spent=$(printf '%s' "$out" | jq '[.[].total_micros] | add // 0')
	run "$NANOPOD" statement $month --account ann -o json
	is "$(printf '%s' "$out" | jq '.sums | 0 - ([.usage_micros, .forfeit_micros, .storage_micros, .plan_micros] | map(. // 0) | add)')" "$spent" "and 'report spend' says the same"
done
# Invoices of all accounts and months that are over: the statement's charges, the fees of the report, to the micro-dollar.
for account in ann bob cat sue tom idle; do
	for month in 2027-01 2027-02; do
		run_is 0 "invoice $month of $account" "$NANOPOD" invoice $month --account $account -o json
		printf '%s' "$out" >"$TMP/invoice"
		charged=$("$NANOPOD" statement $month --account $account -o json | jq '0 - .sums.usage_micros - .sums.forfeit_micros - .sums.refund_micros')
		fees=$("$NANOPOD" report earnings --from $month --to $month --account $account -o json 2>/dev/null | jq '[.[].fee_micros] | add // 0')
		is "$(jq .total_micros "$TMP/invoice")" $((charged + fees)) "is what the ledger says: $charged and fees of $fees"
		is "$(jq '([.lines[].amount_micros] | add // 0) - .total_micros, ([.sums | to_entries[] | select(.key | endswith("_micros")) | .value] | add) - .total_micros' "$TMP/invoice" | tr '\n' ' ')" \
			"0 0 " "and its items lead to its total"
		jq -r .number "$TMP/invoice" >>"$TMP/invoices"
	done
done
is "$(sort "$TMP/invoices" | uniq | grep -c .)" 12 "no number of an invoice is there twice"
run_is 5 "the month that is not over has none" "$NANOPOD" invoice 2027-03 --account ann
for account in bob cat sue tom idle; do
	"$NANOPOD" statement 2027-02 --account $account -o json | jq -r .number >>"$TMP/numbers"
done
is "$(sort "$TMP/numbers" | uniq -d)" "" "no number of a statement is there twice"
run "$NANOPOD" statement 2027-01 --account ann
first=$out
run "$NANOPOD" invoice 2027-01 --account ann
invoice=$out
marketd_stop
marketd_start --test-clock --rate 0
NANOPOD_URL=unix:$MARKETD_SOCKET
operator POST /np/v1/accounts/ann/credits '{"amount_dollars":"1.00"}' >/dev/null
run "$NANOPOD" statement 2027-01 --account ann
is "$out" "$first" "a month that is over does not change"
run "$NANOPOD" invoice 2027-01 --account ann
is "$out" "$invoice" "nor does its invoice"
done_testing
