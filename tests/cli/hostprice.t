#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod host price: an offer gets another price where it is, with its window, its id and what it sold; not below the
# floor of its host.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
NOW=$(($(date +%s) / 3600 * 3600 + 7200)) # the command reads times by its own clock: a test clock in the near future
v2_start
for h in rack1 rack2 rack3; do v2_host $h "$SKU" >"$TMP/.made"; done
CPU=$(v2_sku plain 0 '{}')
v2_host slow "$CPU" >"$TMP/.made"
O1=$(v2_offer rack1 12.000000) O2=$(v2_offer rack2 12.000000)
owner() { NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" host "$@" </dev/null; }
prices() { as "$FOUNDRY" POST /np/v1/prices "$1"; }
buy() { as "$ACME" POST /v2/orders "$(order buy train "$1" "$2" "$3" "$4" "${5-}")"; }
# The pieces of a host: when each begins, what it is, and what it costs.
pieces() { as "$FOUNDRY" GET "/np/v1/hosts/$1" | jq -r --argjson now $NOW '[.schedule[] | "\((.start_at - $now) / 60) \(.state) \(.price_dollars_per_node_hour // "-")"] | join(", ")'; }
one() { as "$FOUNDRY" GET "/v2/orders/$1" | jq -r '"\(.status) \(.limit_price_dollars_per_node_hour)"'; }
buy 1 $((NOW + 60)) $((NOW + HOUR)) 12.000000 >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(an hour is bought)"
sold=$(as "$FOUNDRY" GET "/v2/orders?status=partially_filled" | json '.data[0].id')
host=rack1; [ "$sold" = "$O1" ] || host=rack2
other=$([ $host = rack1 ] && echo rack2 || echo rack1)

# ---- Nothing happens unasked ---------------------------------------------------------------------------------
run_is 2 "without a price" owner price rack1 -y
like "$err" "--price is required" "and what to type"
run_is 2 "without hosts" owner price -p 2 -y
like "$err" "add --type" "and what to type"
run_is 2 "hosts and a type" owner price rack1 -t richmond -p 2 -y
run_is 2 "a price that is none" owner price rack1 -p 2x -y
run_is 2 "without anybody to ask" owner price rack1 -p 2
like "$err" "'-y'" "and what to type"
run_is 3 "a host that is none" owner price rack9 -p 2 -y
run_is 5 "a host that is not on sale" owner price rack1 rack3 -p 2 -y
like "$err" "'rack3' is not on sale; 'nanopod host offer'" "and what to do"
run_is 0 "a plan" owner price $host -p 2.25 --dry-run
like "$err" "$host +.2.25 per GPU-hour, was .1.50 per GPU-hour" "says both prices"
like "$err" "what is sold stays sold" "and what stays"
is "$(one "$O1"), $(one "$O2")" "$(for o in "$O1" "$O2"; do [ "$o" = "$sold" ] && echo partially_filled 12.000000 || echo standing 12.000000; done | paste -sd, | sed 's/,/, /')" \
	"and changes nothing"

# ---- Another price ---------------------------------------------------------------------------------------------
before=$(pieces $host)
run_is 0 "a price" owner price $host -p 2.25 -y -o json
is "$(jq -c '.[] | [.order, .host, .was, .price, .changed]' <<<"$out")" "[\"$sold\",\"$host\",\"1.50\",\"2.25\",true]" "says what it was"
is "$(pieces $host)" "${before//12.000000/18.000000}" "what is sold stays sold, the rest costs that for as long as before"
is "$(one "$sold")" "partially_filled 18.000000" "the order is the same one"
like "$(one "$([ "$sold" = "$O1" ] && echo "$O2" || echo "$O1")")" "12.000000" "that of another host costs what it did"
is "$(NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" events -o jsonl | jq -c 'select(.type == "order.priced") | [.order, .price_dollars_per_node_hour]')" \
	"[\"$sold\",\"18.000000\"]" "one event says so"
like "$(NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" events)" "order for 'hosts-richmond' costs .18.00 per node-hour now" "in words, too"
told np.Repricing "$(prices "{\"hosts\":[\"$host\"],\"price_dollars_per_node_hour\":\"18.000000\"}")" "the answer, as documented"
run_is 0 "the same price again" owner price $host -p 2.25 -y
like "$err" "nothing was changed" "does nothing"
is "$(as "$FOUNDRY" GET /np/v1/events | jq -c 'select(.type == "order.priced")' | wc -l)" 1 "and no event is written"
operator GET "/np/v1/public" >"$TMP/.public"
buy 1 $((NOW + HOUR)) $((NOW + 2 * HOUR)) 15.000000 >"$TMP/.order"
is "$(pieces $host)" "${before//12.000000/18.000000}" "a buyer who offers less does not get it"
run_is 0 "the operator" env NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" host price $host --account foundry -p 2.625 -y
is "$(one "$sold")" "partially_filled 21.000000" "may, for an account"

# ---- Several, or none ------------------------------------------------------------------------------------------
run_is 0 "all of a type" owner price -t richmond -p 3 -y -q
is "$(sort <<<"$out" | paste -sd' ')" "$(printf '%s\n' "$O1" "$O2" | sort | paste -sd' ')" "are those that are on sale"
is "$(one "$O1" | cut -d' ' -f2) $(one "$O2" | cut -d' ' -f2)" "24.000000 24.000000" "in one request"
out=$(prices '{"hosts":["rack1","rack3"],"price_dollars_per_node_hour":"9.000000"}')
refused 409 wrong_state hosts "one that cannot" "$out"
out=$(prices '{"hosts":["rack1","rack2"],"price_dollars_per_node_hour":"99999999.000000"}')
is "$(http_status)" 422 "a price that is too high"
out=$(prices '{"price_dollars_per_node_hour":"9.000000"}')
refused 422 invalid hosts "nobody's price" "$out"
out=$(as "$STRANGER" POST /np/v1/prices '{"hosts":["rack1"],"price_dollars_per_node_hour":"9.000000"}')
is "$(http_status)" 403 "a stranger changes no price"
marketd_account rival; RIVAL=$(marketd_token rival read host)
out=$(as "$RIVAL" POST /np/v1/prices '{"hosts":["rack1"],"price_dollars_per_node_hour":"9.000000"}')
refused 404 not_found hosts "nor does another seller" "$out"
is "$(one "$O1" | cut -d' ' -f2) $(one "$O2" | cut -d' ' -f2)" "24.000000 24.000000" "leaves all as they were"
v2_offer slow 1.000000 >"$TMP/.offer"
run_is 2 "hosts with other numbers of GPUs" owner price rack1 slow -p 1 -y
like "$err" "or add '--per node'" "need a price per node"
run_is 0 "which" owner price rack1 rack2 slow -p 24 --per node -y -q
is "$(one "$(cat "$TMP/.offer")" | cut -d' ' -f2)" 24.000000 "all get"

# Hosts that one order offers together have one price.
PAIR=$(as "$FOUNDRY" POST /v2/orders "$(order sell hosts-richmond 2 $((NOW + 870000)) $((NOW + 900000)) 24.000000 ',"allow_standing":true,"allow_partial":true')" | json .id)
pair=$(for h in rack1 rack2 rack3; do as "$FOUNDRY" GET /np/v1/hosts/$h | jq -r --arg o "$PAIR" 'select(any(.schedule[]; .order == $o)) | .name'; done | paste -sd' ')
out=$(prices "{\"hosts\":[\"${pair% *}\"],\"price_dollars_per_node_hour\":\"15.000000\"}")
refused 409 wrong_state hosts "one of two that one order offers" "$out"
like "$out" "offers host '${pair#* }' together with these; name it, too" "says which other"
prices "{\"hosts\":[\"${pair% *}\",\"${pair#* }\"],\"price_dollars_per_node_hour\":\"15.000000\"}" >"$TMP/.prices"
is "$(http_status) $(one "$PAIR")" "200 standing 15.000000" "both together"
as "$FOUNDRY" DELETE "/v2/orders/$PAIR" >"$TMP/.deleted"
prices '{"hosts":["rack1","rack2"],"price_dollars_per_node_hour":"24.000000"}' >"$TMP/.prices"

# ---- Who is served ---------------------------------------------------------------------------------------------
buy 1 $((NOW + 10 * HOUR)) $((NOW + 11 * HOUR)) 21.000000 ',"allow_standing":true' >"$TMP/.order"
WAITS=$(json .id <"$TMP/.order")
is "$(json .status <"$TMP/.order")" standing "(a buyer waits)"
run_is 0 "a lower price" owner price rack1 -p 2.25 -y
is "$(as "$ACME" GET "/v2/orders/$WAITS" | json '"\(.status) \(.fills[0].price_dollars_per_node_hour // .average_price_dollars_per_node_hour // "")"' | cut -d' ' -f1)" filled \
	"serves who waited"
is "$(as "$ACME" GET /np/v1/leases | jq -r --argjson at $((NOW + 10 * HOUR)) '.data[] | select(.start_at == $at) | .price_dollars_per_node_hour')" 21.000000 \
	"at his price: he was there before"
operator PUT /np/v1/policy '{"release_bps":10000}' >"$TMP/.policy"
as "$ACME" POST /v2/pools '{"name":"late","workspace":"default"}' >"$TMP/.pool"
as "$ACME" POST /v2/orders "$(order buy late 1 $((NOW + 20 * HOUR)) $((NOW + 21 * HOUR)) 18.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(another buys)"
prices '{"hosts":["rack1"],"price_dollars_per_node_hour":"27.000000"}' >"$TMP/.prices"
as "$ACME" POST "/np/v1/pools/late/release" '{}' >"$TMP/.release"
is "$(pieces rack1)" "0 idle -, 1 sold -, 60 on_sale 27.000000, 600 sold -, 660 on_sale 27.000000, 14400 idle -" \
	"what comes back is on sale at the new price"

# ---- Not below the floor ----------------------------------------------------------------------------------------
run_is 2 "a floor of nothing" owner floor rack3
like "$err" "-p 1.20, or -p none" "says how"
run_is 0 "a floor" owner floor rack3 -p 2.25 -o json
is "$(jq -c '.[] | [.host, .floor, .price]' <<<"$out")" '["rack3","2.25",null]' "of a host"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack3 | json .floor_dollars_per_node_hour)" 18.000000 "is kept"
run_is 7 "an offer below it" owner offer rack3 -p 2 -y
like "$err" "host 'rack3' is not sold below its floor of .18.00 per node-hour, which 'nanopod host floor' sets" "says what it is"
out=$(as "$FOUNDRY" POST /np/v1/hosts/rack3/offers '{"price_dollars_per_node_hour":"17.999940"}')
refused 422 below_floor "" "a step below it" "$out"
run_is 0 "at the floor" owner offer rack3 -p 2.25 -y
run_is 7 "a new price below it" owner price rack3 -p 2.24 -y
like "$err" "cannot change the price of 'rack3': host 'rack3' is not sold below its floor of .18.00" "says the same"
like "$(pieces rack3)" "on_sale 18.000000" "and the old price stands"
before=$(one "$O1" | cut -d' ' -f2)
out=$(prices '{"instance_sku":"richmond","price_dollars_per_node_hour":"15.000000"}')
is "$(http_status) $(one "$O1" | cut -d' ' -f2)" "422 $before" "one host's floor keeps all of a request as they were"
run_is 7 "a floor above what it is on sale at" owner floor rack3 -p 3
like "$err" "'rack3' is on sale at .18.00 per node-hour, below a floor of .24.00; give that another price first, with 'nanopod host price'" \
	"says what to do"
run_is 0 "first the price" owner price rack3 -p 3 -y
run_is 0 "then the floor" owner floor rack3 -p 3 -q
run_is 0 "the list" owner list -o json
is "$(jq -r '.[] | select(.host == "rack3") | .floor' <<<"$out")" 24.00 "says it"
is "$(NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" events -o jsonl | jq -c 'select(.type == "host.floor") | .price_dollars_per_node_hour' | paste -sd' ')" \
	'"18.000000" "24.000000"' "and events do"
told np.HostFloors "$(as "$FOUNDRY" PUT /np/v1/floors '{"hosts":["rack3"],"price_dollars_per_node_hour":"24.000000"}')" "the answer, as documented"
is "$(as "$FOUNDRY" GET /np/v1/events | jq -c 'select(.type == "host.floor")' | wc -l)" 2 "the same floor again is no event"
out=$(as "$RIVAL" PUT /np/v1/floors '{"hosts":["rack3"],"price_dollars_per_node_hour":"0.000000"}')
refused 404 not_found hosts "another seller does not change it" "$out"
run_is 0 "no floor" owner floor rack3 -p none
run_is 0 "a floor that no step meets" owner floor rack3 -p 2.50 --per node -q
run_is 7 "(a price below it)" owner price rack3 -p 1 --per node -y
like "$err" "below its floor of .2\.50 per node-hour" "is told as it was typed"
run_is 0 "no floor again" owner floor rack3 -p none
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack3 | json .floor_dollars_per_node_hour)" null "is none"
run_is 0 "of all of a type" owner floor -t richmond -p 1.50 -q
is "$(as "$FOUNDRY" GET /np/v1/hosts | jq -r '[.data[] | select(.instance_sku.alias == "richmond") | .floor_dollars_per_node_hour] | join(" ")')" \
	"12.000000 12.000000 12.000000" "at once"

# ---- kill -9 at any time ---------------------------------------------------------------------------------------
was=27.000000 new=30.000000 good=0
for i in 1 2 3 4 5 6 7 8; do
	prices "{\"hosts\":[\"rack1\",\"rack2\"],\"price_dollars_per_node_hour\":\"$new\"}" >"$TMP/.prices" & sent=$!
	usleep=$((i * i % 7)) && sleep 0.00$usleep
	marketd_kill
	wait $sent
	answered=$(http_status)
	marketd_start --test-clock=$NOW || exit 1
	got=$(one "$O1" | cut -d' ' -f2) its=$(pieces rack1 | tr , '\n' | sed -n 's/.*on_sale //p' | sort -u | paste -sd' ')
	two=$(one "$O2" | cut -d' ' -f2)
	if [ "$got" = "$its" ] && [ "$got" = "$new" -a "$two" = "$new" -o "$got" = "$was" -a "$two" != "$new" -a "$answered" != 200 ]; then
		good=$((good + 1))
	else
		diag "kill $i: order $got and $two, on sale at $its, was $was, new $new, answered $answered"
	fi
	was=$got
	new=$((30 + 3 * i)).000000
done
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack3 | json .floor_dollars_per_node_hour)" 12.000000 "after a kill the floor is there"
is $good 8 "after a kill both offers have the old price, or both the new one, on all of their time"
marketd_stop
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
