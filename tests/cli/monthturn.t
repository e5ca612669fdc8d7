#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Node time over the turn of a month: each hour of it is in one statement and one invoice, of buyer and seller, in the month
# that booked it; together the months are the ledger, to the micro-dollar.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":0}' >/dev/null
TURN=1801440000 # 2027-02-01 00:00:00 UTC
host_offer() { as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" "{\"price_dollars_per_node_hour\":\"$2\",\"start_at\":$((TURN - 6 * HOUR)),\"end_at\":$((TURN + 9 * HOUR))}" >/dev/null; }
clock $((TURN - 6 * HOUR - 60))
# Prices of which no hour is whole micro-dollars: what is rounded must not be lost, either. Three leases: one ends in an hour
# that has the turn in it, one at the turn itself, one is booked at full hours.
for at in "-95 125" "-90 0" "-120 180"; do
	set -- $at
	host_offer "$(host "odd$1" "$SKU")" 7.000020
	run_is 0 "(a lease from $1 to $2 minutes of the turn)" "$NANOPOD" buy -t richmond -n 1 -s @$((TURN + $1 * 60)) \
		-d $(($2 - $1))m -p 3 -y --name "turn$1" --no-instances --no-wait
	minutes=$((${minutes:-0} + $2 - $1))
done
clock $((TURN - 60))
clock $((TURN + 4 * HOUR))
for who in acme foundry; do
	token=$ACME
	[ $who = acme ] || token=$FOUNDRY
	for month in 2027-01 2027-02; do NANOPOD_TOKEN=$token "$NANOPOD" statement $month -o json >"$TMP/$who-$month"; done
	is "$(jq -s '.[0].closing_micros == .[1].opening_micros' "$TMP/$who-2027-01" "$TMP/$who-2027-02")" true "$who: February opens with what January closed with"
	is "$(jq .closing_micros "$TMP/$who-2027-02")" "$(as "$token" GET /np/v1/balance | jq '.available_micros + .held_micros + .escrow_micros')" \
		"$who: and ends with the balance"
	is "$(jq -s '[.[].entries[].seconds | numbers] | add' "$TMP/$who-2027-01" "$TMP/$who-2027-02")" $((minutes * 60)) \
		"$who: both have all of the time, and none twice"
done
is "$(jq -s '[.[].sums.usage_micros] | add' "$TMP"/acme-2027-0?)" "$(jq -s '[.[].sums | 0 - .earning_micros] | add - '"$(jq -s '[.[].entries[].fee_micros // 0] | add' "$TMP"/foundry-2027-0?)" "$TMP"/foundry-2027-0?)" \
	"what one paid the other earned, less fees"
is "$(jq -c '[.entries[] | select(.of == "turn-90") | [.date[:10], .seconds]]' "$TMP/acme-2027-01" "$TMP/acme-2027-02" | tr '\n' ' ')" \
	'[["2027-01-31",3600]] [["2027-02-01",1800]] ' "what ends at the turn is booked then: its last piece is in February"
for who in acme foundry; do
	token=$ACME
	[ $who = acme ] || token=$FOUNDRY
	NANOPOD_TOKEN=$token "$NANOPOD" statement 2027-01 -o json | cmp -s - "$TMP/$who-2027-01"
	is "$?" 0 "$who: asked again, January is the same"
done
clock $((TURN + 29 * 24 * HOUR))
for who in acme foundry; do
	token=$ACME
	[ $who = acme ] || token=$FOUNDRY
	for month in 2027-01 2027-02; do NANOPOD_TOKEN=$token "$NANOPOD" invoice $month -o json; done | jq -s '[.[].total_micros] | add' >"$TMP/$who.invoices"
done
is "$(cat "$TMP/acme.invoices")" "$(jq -s '0 - ([.[].sums.usage_micros] | add)' "$TMP"/acme-2027-0?)" "both invoices of who bought are what both statements say"
is "$(cat "$TMP/foundry.invoices")" "$(jq -s '[.[].entries[].fee_micros // 0] | add' "$TMP"/foundry-2027-0?)" "and those of who sold are the fees"
done_testing
