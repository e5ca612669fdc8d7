#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod host drain and undrain: what the owner sees before and after, what the market does, and what buyers see.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
. "$(dirname "$0")/../lib/npagent.sh"
NOW=$(($(date +%s) / 3600 * 3600 + 7200)) # the command reads times by its own clock: a test clock in the near future
v2_start --agent-silent 86400
H=$(v2_host rack1 "$SKU")
v2_host rack2 "$SKU" >"$TMP/.made"
v2_offer "$H" 12.000000 >"$TMP/.made"
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + 5 * HOUR)) 12.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(five hours are bought)"
KEYS='"host_keys":[{"type":"ssh-ed25519","key":"AAAAC3NzaC1lZDI1NTE5AAAAICeK5j+bsZcJKEidkPE3MXR0iDWZ1le5SUT8TJz9fZzw"}]'
v2_clock $((NOW + 60))
I=$(as "$ACME" POST /v2/instances "{\"name\":\"train-0\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
as "$FOUNDRY" POST "/np/v1/instances/$I/report" "{\"status\":\"running\",\"hostname\":\"192.0.2.9\",\"port\":22,$KEYS}" >"$TMP/.report"
owner() { NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" host "$@" </dev/null; }
buyer() { NANOPOD_TOKEN=$ACME "$NANOPOD" "$@" </dev/null; }
AT=$((NOW + 3 * HOUR)) AT_TEXT=$(date -u -d "@$((NOW + 3 * HOUR))" +%Y-%m-%dT%H:%M:%SZ)
iso() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
drain() { as "$FOUNDRY" POST "/np/v1/hosts/$1/drain" "$2"; }
nodes_say() { as "$ACME" GET /np/v1/nodes | jq -c ".data[] | select(.name == \"$1\") | $2"; }
money() { as "$ACME" GET /np/v1/balance | json .available_micros; }

# ---- What is sold ends with notice ---------------------------------------------------------------------------
out=$(drain rack1 "{\"at\":$AT,\"dry_run\":true}")
like "$(http_status) $out" "^422 .*the earliest time is $(iso $((NOW + 5 * HOUR)))" "what is sold for a day to come is the buyers'"
out=$(operator POST "/np/v1/hosts/$H/drain" "{\"at\":$AT,\"dry_run\":true}")
is "$(http_status) $(json .from <<<"$out")" "200 $AT" "not where the operator says so"
out=$(drain rack2 "{\"at\":$((NOW + 60)),\"dry_run\":true}")
is "$(http_status) $(json '.from, .earliest_at' <<<"$out")" "200 $((NOW + 120))
$((NOW + 120))" "of a host of which nothing is sold, now"
out=$(drain rack2 "{\"at\":$((NOW - HOUR)),\"dry_run\":true}")
like "$(http_status) $out" "^422 .*that time is over" "no earlier"
drain rack2 '{"at":0,"dry_run":true}' >"$TMP/.drain"
is "$(http_status)" 422 "0 is no time"
run_is 2 "the same for people" owner drain rack1 --at "$AT_TEXT" -y
like "$err" "the earliest time is $(iso $((NOW + 5 * HOUR)))" "who read when they may"
operator PUT /np/v1/policy '{"drain_notice_minutes":1}' >"$TMP/.policy"
is "$(json '[.notice_minutes, .drain_notice_minutes] | join(" ")' <"$TMP/.policy")" "2 2" "the operator says how long before"

# ---- Nothing happens unasked ---------------------------------------------------------------------------------
run_is 2 "drain without a host" owner drain
run_is 2 "without anybody to ask" owner drain rack1
like "$err" "'-y'" "and what to type"
run_is 3 "a host that is none" owner drain rack9 -y
run_is 0 "a plan" owner drain rack1 --dry-run
like "$err" "Sell no more of rack1 from now on" "says what it is for"
like "$err" "rack1 +sold until .*that stays" "without --at what is sold runs out"
run_is 0 "another" owner drain rack1 --at "$AT_TEXT" --dry-run
like "$err" "1 lease, sold until .*ends early: .24.00 of your sales goes back to the buyers" "says what it ends and costs"
like "$err" "they are told now" "and who hears of it"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack1 | json .drain)" null "no plan changes anything"
out=$(as "$FOUNDRY" POST /np/v1/hosts/rack1/drain "{\"at\":$((NOW + 120))}")
like "$(http_status) $out" "^422 .*the earliest time is $(iso $((NOW + 60 + 60 + 120)))" "buyers need notice: the market says how much"
out=$(as "$STRANGER" POST /np/v1/hosts/rack1/drain '{}')
is "$(http_status)" 403 "a stranger takes nothing out of service"

# ---- Out of service from a time on -----------------------------------------------------------------------------
before=$(money)
run_is 0 "drain" owner drain rack1 rack2 --at "$AT_TEXT" --reason 'new fans' -y
is "$(money)" $((before + 24000000)) "the buyer has the money for later time back at once"
told np.Host "$(as "$FOUNDRY" GET /np/v1/hosts/rack1)" "the host, as documented"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack1 | jq -c '[.drain.from, .drain.ends_leases, .drain.reason]')" "[$AT,true,\"new fans\"]" \
	"the market says from when on, and why"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack1 | jq -c '.schedule[-2:][] | [.start_at, .state]' | tr '\n' ' ')" \
	"[$AT,\"closed\"] [$((NOW + 5 * HOUR)),\"idle\"] " "later time is nobody's, and not for sale"
is "$(buyer events -o jsonl | jq -c 'select(.type == "lease.shortened") | [.effective_at, .amount_dollars]')" "[$AT,\"24.000000\"]" "the buyer hears of it"
is "$(nodes_say train-0 '[.end_at, .ends_early, .status]')" "[$AT,true,\"running\"]" "his node ends then"
like "$(nodes_say train-0 .status_message)" "it ends early: .* takes later time back \(new fans\), which is refunded" "and says why"
run_is 0 "nodes" buyer nodes -o json
is "$(jq -r '.[0].ends' <<<"$out")" "$AT_TEXT" "as data: only a time"
out=$(as "$FOUNDRY" POST /np/v1/hosts/rack2/offers "{\"price_dollars_per_node_hour\":\"9.0\",\"start_at\":$((AT - HOUR)),\"end_at\":$((AT + 60))}")
like "$(http_status) $out" "^422 .*'rack2' is out of service then" "it is not offered beyond"
as "$FOUNDRY" POST /np/v1/hosts/rack2/offers "{\"price_dollars_per_node_hour\":\"9.0\",\"start_at\":$((AT - HOUR)),\"end_at\":$AT}" >"$TMP/.offer"
is "$(http_status)" 201 "but up to then"
run_is 0 "list" owner list -o json
is "$(jq -c '[.[] | [.host, .state, .since, .why]] | .[0]' <<<"$out")" "[\"rack1\",\"draining\",\"$AT_TEXT\",\"new fans\"]" "the list says so"
is "$(jq -r '.[] | select(.host == "rack1") | .sold_until' <<<"$out")" "$AT_TEXT" "and until when it is sold"
as "$ACME" POST /v2/pools '{"name":"other","workspace":"default"}' >"$TMP/.pool"
as "$ACME" POST /v2/orders "$(order buy other 1 $((AT - HOUR)) "$AT" 9.000000)" >"$TMP/.order"
v2_clock $((AT - HOUR))
as "$ACME" POST /v2/instances "{\"name\":\"other-0\",\"pool\":\"other\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id >"$TMP/.instance"
as "$FOUNDRY" POST "/np/v1/instances/$(cat "$TMP/.instance")/report" "{\"status\":\"running\",\"hostname\":\"192.0.2.9\",\"port\":23,$KEYS}" >"$TMP/.report"
is "$(nodes_say other-0 '[.end_at, .ends_early]')" "[$AT,false]" "a node that was bought until that minute does not end early"
run_is 0 "another time, and what is sold runs out" owner drain rack1 -y
is "$(nodes_say train-0 '[.end_at, .ends_early]')" "[$AT,true]" "what has lost time ends early all the same"
run_is 0 "undrain before it" owner undrain rack1
is "$(nodes_say train-0 '[.end_at, .ends_early]')" "[$AT,true]" "(that too)"
out=$(as "$FOUNDRY" POST /np/v1/hosts/rack1/offers "{\"price_dollars_per_node_hour\":\"50.0\",\"start_at\":$AT,\"end_at\":$((AT + HOUR))}")
like "$(http_status) $out" "^422 .*'rack1' took its time from $AT_TEXT until $(iso $((NOW + 5 * HOUR))) back from a buyer" "and is not sold dearer"
v2_clock "$AT"
is "$(as "$ACME" GET "/v2/instances/$I" | json .status)" terminated "the node has ended with its time"
is "$(as "$FOUNDRY" GET /np/v1/balance | json .available_micros)" $(((3 * 60 - 1) * 200000 + 60 * 150000)) "its owner was paid for what was had"

out=$(as "$FOUNDRY" DELETE /np/v1/hosts/rack1)
refused 422 has_dependents "" "its machine does not come back as another host while that time lasts" "$out"
like "$(json .error.message <<<"$out")" "host 'rack1' took time back from buyers that is not over; wait until it is" "in words"

# ---- In service again --------------------------------------------------------------------------------------------
run_is 0 "undrain" owner undrain rack2
like "$err" "nanopod host offer" "and what to type next"
run_is 5 "what is in service" owner undrain rack1
as "$FOUNDRY" POST "/np/v1/hosts/$H/offers" "{\"price_dollars_per_node_hour\":\"12.0\",\"start_at\":$((NOW + 5 * HOUR)),\"end_at\":$((AT + 9 * HOUR))}" >"$TMP/.offer"
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 5 * HOUR)) $((NOW + 6 * HOUR)) 12.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(it is sold again)"

# ---- What buyers sell it on for --------------------------------------------------------------------------------------
as "$ACME" POST /v2/orders "$(order sell train 1 $((NOW + 5 * HOUR)) $((NOW + 6 * HOUR)) 77.000000 ',"allow_standing":true')" >"$TMP/.order"
as "$STRANGER" POST /v2/pools '{"name":"late","workspace":"default"}' >"$TMP/.pool"
as "$STRANGER" POST /v2/orders "$(order buy late 1 $((NOW + 5 * HOUR)) $((NOW + 6 * HOUR)) 77.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(it is sold on)"
out=$(drain rack1 "{\"at\":$((NOW + 5 * HOUR)),\"dry_run\":true}")
is "$(json '[.leases, .refund_dollars] | join(" ")' <<<"$out")" "1 12.000000" "its owner sees what he sold it for, and no more"
run_is 0 "no more from now on" owner drain "$H" -y
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack1 | jq -c '[.schedule[] | .state]')" '["closed","sold","idle"]' "what is sold stays sold, the rest is off sale"
told np.Drain "$(as "$FOUNDRY" POST /np/v1/hosts/rack1/drain '{"dry_run":true}')" "the answer, as documented"

v2_clock $((NOW + 5 * HOUR))
is "$(drain rack1 '{"dry_run":true}' | json .hourly_dollars)" 12.000000 "also of the hour that runs"

# ---- A machine that would leave and come back --------------------------------------------------------------------------
key one
join "$(join_token)" rack7 one m1 >"$TMP/agent"
S=$(session "$(json .id <"$TMP/agent")" one 1 m1 | json .token)
as "$S" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
HOST7=$(as "$S" POST /np/v1/agent/hosts "{\"name\":\"rack7\",\"instance_sku\":\"$SKU\"}" | json .id)
as "$FOUNDRY" POST "/np/v1/hosts/$HOST7/offers" "{\"price_dollars_per_node_hour\":\"9.0\",\"start_at\":$((NOW + 6 * HOUR)),\"end_at\":$((NOW + 9 * HOUR))}" >"$TMP/.offer"
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 7 * HOUR)) $((NOW + 8 * HOUR)) 9.000000)" >"$TMP/.order"
is "$(json .status <"$TMP/.order")" filled "(an agent's host is sold)" || diag "$(cat "$TMP/.order")"
drain rack7 "{\"at\":$((NOW + 6 * HOUR))}" >"$TMP/.drain"
out=$(as "$S" DELETE /np/v1/agent)
refused 409 has_dependents "" "an agent does not leave while time that its owner took back lies ahead" "$out"
like "$(json .error.message <<<"$out")" "host 'rack7' took time back from buyers" "in words"
v2_clock $((NOW + 8 * HOUR))
as "$S" DELETE /np/v1/agent >"$TMP/.left"
is "$(http_status)" 204 "then it leaves"

# ---- Of several hosts one fails; a market that knows nothing of all that -----------------------------------------------
run_is 0 "undrain" owner undrain rack1
trade_between
rule 'cut-keyed POST /np/v1/hosts/rack2/drain'
run_is 8 "drain, where the second of three hosts fails" owner drain rack1 rack2 "$H" -y
like "$err" "done: rack1" "says what is done"
like "$err" "not tried: $H" "and what was not tried"
rule 'status=404 POST /np/v1/hosts/rack1/drain'
run_is 1 "drain, where the market is too old" owner drain rack1 -y
like "$err" "this market is too old for 'nanopod host drain'" "says so"
run_is 0 "host down there" env NANOPOD_TOKEN="$FOUNDRY" "$NANOPOD" admin host down rack1 -y
like "$err" "sold +unknown: this market is too old to say" "does it, and says what it cannot know"
run_is 3 "a host that is none" owner drain rack9 -y

done_testing
