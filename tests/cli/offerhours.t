#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod host offer --hours: the nights of the next days are on sale and nothing else; typed again it adds only what is not
# on sale yet, also where time was sold, given back or cut off by kill -9.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/v2.sh"
export TZ=UTC
NOW=$((($(date +%s) / 86400 + 1) * 86400 + 43200)) # a noon in the near future, for the command reads times by its own clock
v2_start
v2_host rack1 "$SKU" >"$TMP/.made"
owner() { NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" host "$@" </dev/null; }
# What is on sale of it: hours from NOW.
on_sale() { as "$FOUNDRY" GET "/np/v1/hosts/rack1" | jq -r --argjson now $NOW '[.schedule[] | select(.state == "on_sale") | "\((.start_at - $now) / 3600)-\((.end_at - $now) / 3600)"] | join(" ")'; }
states() { as "$FOUNDRY" GET "/np/v1/hosts/rack1" | jq -c '[.schedule[].state] | unique'; }
WEEK="10-18 34-42 58-66 82-90 106-114 130-138 154-162"

for hours in 22:00 22-6 22:00-22:00 '' ; do
	run_is 2 "hours that are none: '$hours'" owner offer rack1 -p 1 --hours "$hours" -y
	like "$err" "22:00-06:00" "and how to say them"
done
run_is 2 "without anybody to ask" owner offer rack1 -p 1 --hours 22:00-06:00
run_is 0 "a plan" owner offer rack1 -p 1 --hours 22:00-06:00 --dry-run
like "$err" "windows +7: the first from .* 22:00 UTC until .* 06:00 UTC, the last from " "says which windows"
is "$(on_sale)" "" "and offers nothing"
run_is 0 "the nights of a week" owner offer rack1 -p 1 --hours 22:00-06:00 -y -o json
is "$(jq -r length <<<"$out")" 7 "are seven offers"
is "$(on_sale)" "$WEEK" "of these hours, and no others" || diag "$(as "$FOUNDRY" GET /np/v1/hosts/rack1)"
run_is 0 "the same again" owner offer rack1 -p 1 --hours 22:00-06:00 -y
like "$err" "7 of 7 windows were on sale or sold already" "says that there is nothing to add"
is "$(on_sale)" "$WEEK" "and adds nothing"

# A night is sold, two days pass: it is typed again, as a timer does, and is killed on the way.
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 34 * 3600)) $((NOW + 42 * 3600)) 12.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(a night is sold)"
NANOPOD_TOKEN=$ACME "$NANOPOD" price -t richmond -d 1h -s "@$((NOW + 20 * 3600))" >"$TMP/.price" 2>&1
like "$(cat "$TMP/.price")" "not available now: not enough is on sale" "by day nothing is sold" || diag "$(cat "$TMP/.price")"
operator POST /np/v1/admin/clock "{\"at\":$((NOW + 48 * 3600))}" >/dev/null
run_is 0 "two days later" owner offer rack1 -p 1 --hours 22:00-06:00 -y
like "$err" "5 of 7 windows were on sale or sold already" "the two nights that came are added"
is "$(on_sale)" "58-66 82-90 106-114 130-138 154-162 178-186 202-210" "and no hour of a day"
run_is 2 "too many at once" owner offer rack1 -p 1 --hours 22:00-06:00 --until "@$((NOW + 200 * 86400))" -y
like "$err" "repeat the command later" "and what to do"

# Killed at any point, the same command makes it whole and never twice.
operator POST /np/v1/admin/clock "{\"at\":$((NOW + 96 * 3600))}" >/dev/null
for wait in 0.01 0.02 0.04 0.06 0.08; do
	NANOPOD_TOKEN=$FOUNDRY timeout -s KILL $wait "$NANOPOD" host offer rack1 -p 1 --hours 22:00-06:00 -y >/dev/null 2>&1 </dev/null
done
run_is 0 "after five kills" owner offer rack1 -p 1 --hours 22:00-06:00 -y
is "$(on_sale)" "106-114 130-138 154-162 178-186 202-210 226-234 250-258" "each night is on sale once"
run_is 0 "the ledger is whole" env NANOPOD_TOKEN="$ACME" "$NANOPOD" ledger verify
done_testing
