#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The operator's overview, figure by figure, from what was sold. report.t has its money against random ledgers, stranger.t
# who may not ask.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/npagent.sh"
trade_start 3

see() { operator GET /np/v1/overview >"$TMP/see"; }
seen() { jq -c "$1" "$TMP/see"; }

see
is "$(http_status)" 200 "the operator sees it"
operator GET /openapi.json >"$TMP/openapi.json"
fits() { fit_why=$("$BUILD/tests/daemon/fits" "$TMP/openapi.json" np.Overview <"$TMP/see" 2>&1); is "$fit_why" "" "$1"; }
fits "all of it is in the document"
is "$(seen .accounts)" '{"total":2,"suspended":0,"buying":0,"selling":1}' "two accounts, one with hosts"
is "$(seen .hosts)" '{"up":4,"draining":0,"down":0,"silent":0}' "four hosts"
is "$(seen '.money.available_micros')" 100000000000 "the money of all"
is "$(seen '[.counted, .today.turnover_micros, .month.turnover_micros, .month.credited_micros]')" '[true,0,0,100000000000]' "nothing earned yet"
is "$(seen '.orders')" '{"buy":0,"sell":4}' "four offers"
as "$ACME" GET /np/v1/overview >/dev/null
is "$(http_status)" 403 "a customer is refused"
as "$FOUNDRY" GET /np/v1/overview >/dev/null
is "$(http_status)" 403 "a seller, too"
http_call "$NANOPOD_URL" GET /np/v1/overview >/dev/null
is "$(http_status)" 401 "and a stranger"

# Two of three cheap nodes for a day from the next minute on, at $14.40 an hour; a fee of 10 %, settled every minute.
operator PUT /np/v1/policy '{"fee_bps":1000,"settle_minutes":1}' >/dev/null
"$NANOPOD" buy -t richmond -n 2 -d 24h -s @$((NOW + 60)) -p 1.80 -y --name day --no-instances >"$TMP/bought" 2>&1 || diag "$(cat "$TMP/bought")"
"$NANOPOD" buy -t richmond -n 2 -d 24h -s @$((NOW + 48 * HOUR)) -p 1.50 --standing -y --name cheap --no-instances >"$TMP/bought" 2>&1 || diag "$(cat "$TMP/bought")"
clock $((NOW + 120))
see
# On sale for ten days from the first minute on: all of the day but what is sold.
is "$(seen '[.types[0] | .type, .gpus, .hosts, .hosts_up, .sold, .on_sale]')" '["richmond",8,4,4,2,2]' "two sold, two on sale now"
is "$(seen '.types[0].day')" "{\"sold_seconds\":$((2 * (86400 - 60))),\"on_sale_seconds\":$((2 * 86400 + 2 * 60))}" "so of the next 24 hours but a minute"
is "$(seen '.types[0].week')" "{\"sold_seconds\":$((2 * (86400 - 60))),\"on_sale_seconds\":$((4 * 604800 - 2 * (86400 - 60)))}" "less of seven days"
is "$(seen .accounts.buying)" 1 "one buys"
is "$(seen .orders)" '{"buy":1,"sell":4}' "and has an order open"
is "$(seen .money.running_per_hour_micros)" 28800000 "what runs costs twice \$14.40"
is "$(seen '[.today.turnover_micros, .today.fees_micros, .today.node_seconds]')" '[480000,48000,120]' "a minute of both has passed"

# Hours go by: 15 January ends. 2,000 minutes of settlements are more than one answer counts.
clock $((NOW + 16 * HOUR - 60))
clock $((NOW + 16 * HOUR))
see
is "$(seen '[.today.turnover_micros, .today.fees_micros, .today.node_seconds]')" '[480000,48000,120]' \
	"at 00:00 UTC a day begins, with the minute that is settled then"
clock $((NOW + 23 * HOUR))
see
today=$((7 * 60 + 1)) all=$((23 * 60 - 1))
is "$(seen '[.today.turnover_micros, .month.turnover_micros]')" "[$((today * 480000)),$((all * 480000))]" "turnover of the day and the month, to the micro-dollar"
is "$(seen '[.today.fees_micros, .month.fees_micros]')" "[$((today * 48000)),$((all * 48000))]" "and fees"
is "$(seen '.money.escrow_micros')" "$((61 * 480000))" "what is left is in escrow"

# /metrics has the same.
operator GET /metrics >"$TMP/metrics"
metric() { sed -n "s/^nanopod_$1 //p" "$TMP/metrics"; }
is "$(metric hosts) $(metric hosts_sold) $(metric hosts_on_sale) $(metric accounts)" "4 2 2 2" "hosts in /metrics"
is "$(metric leases_hourly_dollars) $(metric escrow_dollars) $(metric fees_dollars_total)" "28.800000 29.280000 66.192000" "and money"
like "$(metric available_dollars)" '^[0-9]+\.[0-9]{6}$' "in dollars"
is "$(metric market_time_seconds)" $((NOW + 23 * HOUR)) "and the market's time"

# A machine that joins, connects, has a host; it will be silent.
key one
joined=$(join "$(join_token)" rack1 one m1 | json .id)
see
is "$(seen .machines)" '{"up":0,"silent":0,"joined":1}' "a machine joined and never connected"
own=$(session "$joined" one 1 m1 | json .token)
as "$own" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
as "$own" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}' >/dev/null
see
is "$(seen '[.machines, .hosts.up]')" '[{"up":1,"silent":0,"joined":0},5]' "then it is up, and so is its host"

# A market that starts anew counts from the month's first settlement, a bounded piece for each question.
marketd_stop
marketd_start --agent-silent 86400 --test-clock=$((NOW + 23 * HOUR))
see
is "$(seen '[.counted, .today, .month]')" '[false,null,null]' "what is not counted is not told"
questions=1
until [ "$(seen .counted)" = true ] || [ $questions -ge 20 ]; do
	see
	questions=$((questions + 1))
done
is "$(seen '[.month.turnover_micros, .month.fees_micros]')" "[$((all * 480000)),$((all * 48000))]" "the sums are the same"
is "$questions" 2 "after few questions"
is "$(seen '[.machines, .hosts.up, .hosts.silent, .types[0].hosts_up]')" '[{"up":0,"silent":1,"joined":0},4,1,4]' "who has not called since is silent"
is "$(seen '[.away_total, (.away[0] | .kind, .id, .name, .account_name, .since, .hosts, .sold)]')" \
	"[1,\"machine\",\"$joined\",\"rack1\",\"foundry\",null,1,0]" "and named"
as "$own" GET /np/v1/agent/work >/dev/null
see
is "$(seen '[.machines.up, .hosts.up, .away_total]')" '[1,5,0]' "until it calls"

# Hosts that are down, drain, or are suspended with their owner.
dear=$(operator GET '/np/v1/hosts?account=foundry' | jq -r '.data[] | select(.name == "dear") | .id')
operator PATCH "/np/v1/hosts/$dear?account=foundry" '{"down":true,"reason":"a fan"}' >/dev/null
operator POST '/np/v1/hosts/cheap-3/drain?account=foundry' '{"reason":"new disks"}' >/dev/null
operator PATCH /np/v1/accounts/acme '{"state":"suspended"}' >/dev/null
clock $((NOW + 23 * HOUR + 60))
see
operator GET /metrics >"$TMP/metrics"
is "$(metric hosts_down) $(metric hosts_draining) $(metric accounts_suspended)" "1 1 1" "so does /metrics"
is "$(seen .hosts)" '{"up":4,"draining":1,"down":1,"silent":0}' "one is down, one drains"
is "$(seen '[.types[0] | .hosts_up, .sold, .on_sale]')" '[4,2,0]' "neither is on sale"
is "$(seen '[.away_total, (.away[0] | .kind, .name, .account_name, .since, .hosts, .sold, .reason)]')" \
	"[1,\"host\",\"dear\",\"foundry\",$((NOW + 23 * HOUR)),1,0,\"a fan\"]" "which is down, whose, since when and why"
fits "and in the document"
is "$(seen .accounts.suspended)" 1 "who is suspended"

# The lease ends, then the month: the next one begins with nothing.
clock $((NOW + 25 * HOUR))
see
is "$(seen '.month.turnover_micros')" $((1440 * 480000)) "a day of two nodes, all of it"
clock $((NOW + 17 * 24 * HOUR))
see
is "$(seen '[.counted, .month.turnover_micros, .month.credited_micros]')" '[true,0,0]' "a new month begins with nothing"
done_testing
