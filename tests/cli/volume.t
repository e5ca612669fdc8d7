#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod volume and host volumes: what a volume costs, who may have it, what becomes of it without money. The agent is
# curl and openssl; tests/daemon/volumes-ns.t has real nodes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"
v2_start --rate 0 --quota acme:volumes=2 --agent-silent 86400
key rack
AGENT=$(join "$(join_token)" rack rack rack | json .id)
S=$(session "$AGENT" rack 1 rack | json .token)
GIB=1073741824
tells() { as "$S" PUT /np/v1/agent/inventory "$(capacity 8 $((64 * GIB)) $((200 * GIB)) | jq -c ".capacity.shared_storage = $1")" >/dev/null; }
operator POST /np/v1/skus '{"alias":"cpu","gpus":0}' >/dev/null
marketd_account other 100.00
mine() { NANOPOD_TOKEN=$ACME run "$NANOPOD" volume "$@"; }
owner() { NANOPOD_TOKEN=$FOUNDRY run "$NANOPOD" host volumes rack "$@"; }

# ---- A machine lets room ---------------------------------------------------------------------------------------------
tells false
as "$S" POST /np/v1/agent/hosts '{"name":"r1","instance_sku":"cpu"}' >"$TMP/.host"
is "$(http_status)" 201 "(a host)" || diag "$(cat "$TMP/.host")"
owner --max 10G -p 0.73
like "$status $err" "^5 .*driver ns, where there are loop devices" "a machine whose driver cannot is refused, with the reason"
tells true
owner
like "$status $err" "^2 .*--max is required" "an owner says how much"
owner --max 500G -p 0.73
like "$status $err" "^5 .*room for 1[0-9]* GiB of volumes" "not more than the machine has"
owner --max 10G -p 0.73 -o json
is "$status $(jq -c '.[0] | [.max_gib, .free_gib, .price]' <<<"$out")" '0 [10,10,"0.730000"]' "and at which price" || diag "$out" "$err"
mine machines -q
is "$out" "$AGENT" "buyers see the machine"

# ---- Made, larger, deleted ----------------------------------------------------------------------------------------------
mine
is "$status $err" "0 nanopod: you have no volumes; 'nanopod volume create NAME -s 10G -r RESERVATION' makes one" "nobody has a volume" || diag "$out"
mine create data -s 4G -r train </dev/null
like "$status $err" "^2 .*standard input is not a terminal" "nothing is made without a terminal or -y"
mine create data </dev/null
like "$status $err" "^2 .*--size is required" "what is missing is said first: the size"
mine create data -s 4G </dev/null
like "$status $err" "^2 .*--reservation is required" "then the machine"
mine create data -s 4G -y
like "$status $err" "^2 .*--reservation is required" "also with -y"
mine create data -s 4G -r train --machine "$AGENT" -y
like "$status $err" "^2 .*--reservation and --machine exclude each other" "nor on two machines"
mine create data -s 40G --machine "$AGENT" -y
like "$status $(tail -n 1 <<<"$err")" "^6 .*has 10 GiB left" "nor without room"
mine create data -s 4G --machine "$AGENT" -y -o json
is "$status $(jq -c '.[0] | [.name, .state, .gib, .month]' <<<"$out")" '0 ["data","paid",4,"2.920000"]' "a volume" || diag "$out" "$err"
like "$err" '[$]2.92 a month, [$]0.004 an hour' "after a plan with its price"
like "$err" "lasts for more than ten years of it" "and what the balance lasts for"
VOLUME=$(jq -r '.[0].id' <<<"$out")
as "$S" GET /np/v1/agent/work >"$TMP/work"
is "$(jq -c '.volumes[0] | [.name, .bytes, .state]' <"$TMP/work")" "[\"data\",$((4 * GIB)),\"mounted\"]" "its agent hears of it"
mine resize data -s 3G -y
is "$status" 2 "it does not become smaller"
mine resize data -s 6G -y
is "$status" 0 "but larger" || diag "$err"
NANOPOD_TOKEN=$FOUNDRY run "$NANOPOD" host volumes rack --max 5G
like "$status $err" "^5 .*keeps volumes of 6 GiB" "its owner lets no less than is sold"
NANOPOD_TOKEN=$(marketd_token other) run "$NANOPOD" volume show data
is "$status" 3 "others do not find it"

# ---- Money --------------------------------------------------------------------------------------------------------------
cost() { operator GET /np/v1/accounts/foundry | jq .balances.available_micros; }
before=$(cost)
v2_clock $((NOW + 3660))
is "$(($(cost) - before))" 6000 "its owner earns each hour"
is "$(as "$FOUNDRY" GET /np/v1/income | json .earned_dollars)" 0.012000 "which can be paid out to it later"
operator PUT /np/v1/policy '{"volume_grace_minutes":120}' >/dev/null
balance=$(as "$ACME" GET /np/v1/balance | json .available_dollars)
few=$(awk "BEGIN { printf \"%.6f\", $balance - 0.1 }")
operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"-$few\",\"reason\":\"out\"}" >/dev/null
mine create more -s 4G --machine "$AGENT" --dry-run
like "$err" "balance +[$]0[.]10 lasts for 1 day of it" "a plan says for how many days a small balance lasts" || diag "$err"
operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"-0.097\",\"reason\":\"out\"}" >/dev/null
mine create more -s 4G --machine "$AGENT" --dry-run
like "$err" "balance +[$]0[.]003 does not pay an hour of it" "or that it does not" || diag "$err"
balance=$(as "$ACME" GET /np/v1/balance | json .available_dollars)
operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"-$balance\",\"reason\":\"out\"}" >/dev/null
v2_clock $((NOW + 7260))
mine list -o json
is "$(jq -c '.[0] | [.state, .delete_at != null]' <<<"$out")" '["unpaid",true]' "without money it is unpaid, and says when it is deleted" || diag "$out"
is "$(as "$S" GET /np/v1/agent/work | jq -r '.volumes[0].state')" kept "its agent keeps it, and mounts it in no new node"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"0.02","reason":"in"}' >/dev/null
v2_clock $((NOW + 7320))
mine list -o json
is "$(jq -r '.[0].state' <<<"$out")" paid "paid in time it is back"
is "$(as "$ACME" GET '/np/v1/events?limit=100' | jq -r 'select(.type == "volume.state").state' | tr '\n' ' ')" "made larger unpaid paid " "events tell each change" || diag "$(as "$ACME" GET '/np/v1/events?limit=100' | tail -c 600)"
NANOPOD_TOKEN=$ACME run "$NANOPOD" events
like "$out" "UTC  volume 'data': unpaid$" "in sentences" || diag "$out"
like "$out" "UTC  volume 'data': [$]0[.]00[0-9]* paid$" "with each hour that was paid" || diag "$out"
NANOPOD_TOKEN=$ACME run "$NANOPOD" statement 2027-01 -o json
like "$out" storage "a statement says what it cost" || diag "$err"
NANOPOD_TOKEN=$ACME run "$NANOPOD" report spend --from 2027-01 -o json
is "$(jq -c 'map([.storage_micros, .total_micros])' <<<"$out")" '[[18000,18000]]' "so does a report of what was spent"
NANOPOD_TOKEN=$ACME run "$NANOPOD" report spend --from 2027-01 --focus -o json
is "$(jq -c 'map([.BilledCost, .ChargeCategory, .ConsumedQuantity, .ConsumedUnit, .ServiceCategory, .ServiceName])' <<<"$out")" \
	'[["0.018000","Usage",4,"Hours","Storage","Volumes"]]' "and FOCUS"
is "$(jq -c 'map([.ResourceId, .ResourceName, .ResourceType, .ChargeDescription])' <<<"$out")" \
	"[[\"$VOLUME\",\"data\",\"Volume\",\"Volume, by the hour: data\"]]" "which volume it was"
NANOPOD_TOKEN=$ACME run "$NANOPOD" statement 2027-01
like "$out" '^2027-01-15  Volume: data +-[$]0[.]018 ' "a statement for people names it, too" || diag "$out"
v2_clock $((NOW + 7320 + 5 * 3600))
v2_clock $((NOW + 7320 + 9 * 3600))
mine list -o json
is "$(jq -r '.[0].state' <<<"$out")" deleting "after the grace it is deleted"
is "$(as "$S" GET /np/v1/agent/work | jq -r '.volumes[0].state')" deleted "which its agent hears"
as "$S" POST "/np/v1/agent/volumes/$VOLUME/gone" >/dev/null
is "$(http_status)" 204 "and tells when it has done so"
as "$S" POST "/np/v1/agent/volumes/$VOLUME/gone" >/dev/null
is "$(http_status)" 204 "twice, too"
mine list -q
is "$out" "" "then it is gone"
NANOPOD_TOKEN=$ACME run "$NANOPOD" report spend --from 2027-01 --focus -o json
is "$(jq -c 'map([.ResourceId, .ResourceName, .ResourceType]) | unique' <<<"$out")" "[[\"$VOLUME\",null,\"Volume\"]]" \
	"what it cost bears its id still"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"5.00","reason":"in"}' >/dev/null
mine create data -s 10G --machine "$AGENT" -y
is "$status" 0 "its name and its room are free" || diag "$err"
as "$S" POST "/np/v1/agent/volumes/$(jq -r .id <<<"$(as "$ACME" GET /np/v1/volumes/data)")/gone" >/dev/null
is "$(http_status)" 409 "an agent does not end what nobody asked it to"

# ---- Deleted while it owes ------------------------------------------------------------------------------------------------
has() { as "$ACME" GET /np/v1/balance | json .available_dollars; }
credit() { operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"$1\",\"reason\":\"test\"}" >/dev/null; }
made=$((NOW + 7320 + 9 * 3600))
credit "-$(has)"
v2_clock $((made + 3660))
mine list -o json
is "$(jq -r '.[0].state' <<<"$out")" unpaid "(it owes)" || diag "$out"
v2_clock $((made + 2 * 3600))
credit 0.015
before=$(cost)
mine delete data -y
like "$status $(tail -n 1 <<<"$err")" "^0 .*is being deleted" "an unpaid volume is deleted by its account"
is "$(($(cost) - before)) $(has)" "10000 0.005000" "which pays the hours that it owes, as far as it can" || diag "$(has)"
mine delete nope -y --dry-run
like "$status $err" "^3 .*no volume 'nope'" "a plan is of what exists"

# ---- Many ------------------------------------------------------------------------------------------------------------------
as "$S" POST "/np/v1/agent/volumes/$(as "$ACME" GET /np/v1/volumes | jq -r '.data[0].id')/gone" >/dev/null
credit 5
mine create one -s 1G --machine "$AGENT" -y
mine create two -s 1G --machine "$AGENT" -y
mine create three -s 1G --machine "$AGENT" -y
like "$status $(tail -n 1 <<<"$err")" "has 2 of 2 volumes \(quota 'volumes'\); delete what you do not need, or ask" "an account has so many as its quota says" || diag "$err"
page=$(as "$ACME" GET '/np/v1/volumes?limit=1')
is "$(jq -c '[[.data[].name], .has_more]' <<<"$page")" '[["one"],true]' "they come in pages"
is "$(as "$ACME" GET "/np/v1/volumes?starting_after=$(jq -r .cursor <<<"$page")" | jq -c '[[.data[].name], .has_more]')" '[["two"],false]' "each volume once"
mine list -o json
is "$(jq -c 'map(.name)' <<<"$out")" '["one","two"]' "which a list joins"
done_testing
