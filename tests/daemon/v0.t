#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /v0: orders for a total in cents, quotes, contracts, zones, VMs, procurements; and the requests that
# SF Compute's own older clients were seen to send, one by one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"

v2_start
for price in 12.00 15.00 18.00; do v2_offer "$(v2_host "rack${price%.00}" richmond)" $price >/dev/null; done
iso() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%S.000Z; }
money() { as "$ACME" GET /np/v1/balance | json .available_micros; }
post() { as "$ACME" POST /v0/orders "$1"; }
END=$((NOW + 4 * HOUR))

# ---- Quotes -------------------------------------------------------------------------------------------
out=$(as "$ACME" GET "/v0/quote?side=buy&instance_type=h100v&quantity=1&min_start_date=NOW&max_start_date=NOW&min_duration=3240&max_duration=7200")
is "$(http_status) $(json '[.object, .side, .quote.price, .quote.quantity, .quote.start_at, .quote.end_at, .quote.instance_type, .quote.zone] | map(tostring) | join(" ")' <<<"$out")" \
	"200 quote buy 1180 1 $(iso $((NOW + 60)) | sed 's/[.]000//') $(iso $((NOW + HOUR)) | sed 's/[.]000//') richmond richmond" "what 59 minutes cost, in cents, until the whole hour"
out=$(as "$ACME" GET "/v0/quote?side=buy&instance_type=h100i&quantity=2&min_start_date=$(iso $((NOW + HOUR)))&duration=7200")
told v0.QuoteAnswer "$out" "(as documented)"
PRICE=$(json .quote.price <<<"$out")
is "$PRICE" 6000 "two for two hours, at the dearer one's price"
out=$(post "{\"side\":\"buy\",\"instance_type\":\"h100i\",\"quantity\":2,\"start_at\":$(json '.quote.start_at | tojson' <<<"$out"),\"end_at\":$(json '.quote.end_at | tojson' <<<"$out"),\"price\":$PRICE,\"flags\":{\"ioc\":true}}")
is "$(json .status <<<"$out")" filled "a quote, posted as it stands, fills"
vms() { as "$ACME" GET /v0/vms/instances | json '.data | length'; }
is "$(vms)" 2 "and makes its two machines, for which its clients have no request"
is "$(as "$ACME" GET /v2/instances | json '[.data[] | (.name | endswith("-1") or endswith("-2")), (.name | startswith("contract-")), .pool.name[:9]] | unique | map(tostring) | join(" ")')" \
	"true contract-" "named after its contract, in its pool"
out=$(as "$ACME" GET "/v0/quote?side=buy&instance_type=a100&quantity=1&duration=3600")
is "$(json '[.quote, .no_quote_reason] | map(tostring) | join(" ")' <<<"$out")" "null no_matching_clusters" "a type that is not there"
out=$(as "$ACME" GET "/v0/quote?side=buy&instance_type=h100i&quantity=9&duration=3600")
is "$(json '[.quote, .no_quote_reason] | map(tostring) | join(" ")' <<<"$out")" "null no_availability" "more than there are"
out=$(as "$ACME" GET "/v0/quote?side=buy&instance_type=h100i&quantity=3&min_start_date=$(iso $((NOW + HOUR)))&max_start_date=$(iso $END)&duration=3600")
is "$(json .quote.start_at <<<"$out")" "$(iso $((NOW + 3 * HOUR)) | sed 's/[.]000//')" "the first start within the range at which it fills"
out=$(as "$ACME" GET "/v0/quote?side=hold&quantity=1&duration=3600")
refused 422 invalid side "a side that is none" "$out"
out=$(as "$ACME" GET "/v0/quote?side=buy&quantity=1&duration=60")
refused 422 invalid duration "too short" "$out"

# ---- Orders ---------------------------------------------------------------------------------------------
before=$(money)
out=$(post "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"start_at\":\"NOW\",\"end_at\":\"$(iso $((NOW + HOUR)))\",\"price\":4858,\"colocate_with\":[],\"flags\":{\"ioc\":true}}")
is "$(http_status) $(json '[.object, .status] | join(" ")' <<<"$out") $((before - $(money)))" "201 order filled 11800000" "a buy at the market's price, under its total"
BUY=$(json .id <<<"$out")
out=$(as "$ACME" GET "/v0/orders/$BUY")
is "$(json '[.object, .side, .status, .instance_type, .quantity, .price, .executed, .execution_price, .cancelled, .rejected, .flags.ioc, .cluster, .duration] | map(tostring) | join(" ")' <<<"$out")" \
	"order buy filled h100v 1 4858 true 1180 false false true richmond 3540" "and how it is told"
told v0.Order "$out" "in the fields of the document"
before=$(money)
out=$(post "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"start_at\":\"$(iso $((NOW + 5 * HOUR)))\",\"end_at\":\"$(iso $((NOW + 6 * HOUR)))\",\"price\":1199,\"flags\":{\"ioc\":true}}")
is "$(http_status) $(json .status <<<"$out") $(money) $(vms)" "201 cancelled $before 3" "a cent too little does not fill, costs nothing and makes nothing"
is "$(as "$ACME" GET "/v0/orders/$(json .id <<<"$out")" | json '[.status, .rejected_reason] | join(" ")')" "cancelled price_too_low" "and says why"
is "$(as "$ACME" GET /v2/pools | json '[.data[].name | select(startswith("contract-"))] | length')" 2 "no empty pool is left behind"
out=$(post "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":3,\"start_at\":\"$(iso $((NOW + 5 * HOUR)))\",\"end_at\":\"$(iso $((NOW + 6 * HOUR)))\",\"price\":1000}")
is "$(http_status) $(json .status <<<"$out") $((before - $(money)))" "201 pending 9999900" "one that may rest does: its total is held, rounded down to the grid"
REST=$(json .id <<<"$out")
out=$(as "$ACME" DELETE "/v0/orders/$REST" '{}')
is "$(http_status) $(json .object <<<"$out") $(money)" "200 pending $before" "cancelled, the hold is back"
out=$(as "$ACME" DELETE "/v0/orders/$REST" '{}')
refused 409 wrong_state id "once" "$out"
as "$STRANGER" DELETE "/v0/orders/$BUY" >/dev/null
is "$(http_status)" 404 "a stranger cancels nothing"
as "$STRANGER" GET "/v0/orders/$BUY" >/dev/null
is "$(http_status)" 404 "and sees nothing"
bad() { # STATUS CODE FIELD TEXT JSON
	out=$(post "$5")
	refused "$1" "$2" "$3" "$4" "$out"
}
W="\"start_at\":\"$(iso $((NOW + HOUR)))\",\"end_at\":\"$(iso $((NOW + 2 * HOUR)))\""
bad 501 not_implemented flags.post_only "what this market does not have" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,$W,\"price\":1,\"flags\":{\"post_only\":true}}"
bad 501 not_implemented flags.market "nobody buys without a limit" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,$W,\"price\":1,\"flags\":{\"market\":true}}"
bad 422 invalid start_at "a time that is none" '{"side":"buy","instance_type":"h100v","quantity":1,"start_at":"tomorrow","end_at":"2027-01-15T12:00:00Z","price":1}'
bad 422 invalid end_at "a date that is none" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"start_at\":\"NOW\",\"end_at\":\"2027-02-30T12:00:00Z\",\"price\":1}"
bad 422 invalid end_at "an end before the start" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"start_at\":\"$(iso $END)\",\"end_at\":\"$(iso $((NOW + HOUR)))\",\"price\":1}"
bad 422 invalid quantity "none" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":0,$W,\"price\":1}"
bad 422 invalid price "a price below zero" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,$W,\"price\":-1}"
bad 404 not_found instance_type "a type that is not there" "{\"side\":\"buy\",\"instance_type\":\"z9\",\"quantity\":1,$W,\"price\":1}"
bad 422 unknown_field colour "a field that is not there" "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,$W,\"price\":1,\"colour\":\"red\"}"
bad 422 invalid contract_id "a sell of nothing" "{\"side\":\"sell\",\"quantity\":1,$W,\"price\":1}"
bad 404 not_found contract_id "a sell of what is not there" "{\"side\":\"sell\",\"quantity\":1,$W,\"price\":1,\"contract_id\":\"cont_1\"}"
is "$(money)" "$before" "all of this cost nothing"
body="{\"side\":\"buy\",\"cluster\":\"richmond\",\"quantity\":1,\"start_at\":\"$(iso $((NOW + 8 * HOUR)))\",\"end_at\":\"$(iso $((NOW + 9 * HOUR)))\",\"price\":1200,\"flags\":{\"ioc\":true}}"
one=$(as "$ACME" POST /v0/orders "$body" -H 'Idempotency-Key: k1')
two=$(as "$ACME" POST /v0/orders "$body" -H 'Idempotency-Key: k1')
is "$(json '[.status, .idempotency_key] | join(" ")' <<<"$one") $two" "filled k1 $one" "a key buys once"

# ---- Lists ----------------------------------------------------------------------------------------------------
ids() { as "$ACME" GET "/v0/orders$1" | json '[.data[].status] | join(" ")'; }
is "$(ids '')" "filled cancelled cancelled filled filled" "all, newest first"
is "$(ids '?exclude_cancelled=true&sort_by=start_time&sort_direction=ASC')" "filled filled filled" "without cancelled ones"
is "$(as "$ACME" GET '/v0/orders?exclude_cancelled=true&sort_by=start_time&sort_direction=ASC' | json '[.data[].start_at] | . == sort')" true "by start"
is "$(ids '?only_open=true') / $(ids '?only_cancelled=true') / $(ids '?side=sell')" " / cancelled cancelled / " "open, cancelled, sells"
is "$(ids '?min_duration=7200') / $(ids '?min_quantity=3') / $(ids '?max_price=1200')" "filled / cancelled / filled cancelled cancelled" "by length, size, total"
is "$(as "$ACME" GET '/v0/orders?limit=2&offset=1' | json '[(.data | length), .has_more] | map(tostring) | join(" ")')" "2 true" "page by page"
told v0.OrderList "$(as "$ACME" GET /v0/orders)" "as documented"
out=$(as "$ACME" GET '/v0/orders?min_placed_at=yesterday')
refused 422 invalid min_placed_at "a time that is none" "$out"
is "$(as "$STRANGER" GET /v0/orders | json '.data | length')" 0 "a stranger has none"

# ---- Contracts and resale -----------------------------------------------------------------------------------------
out=$(as "$ACME" GET /v0/contracts)
told v0.ContractList "$out" "contracts, as documented"
is "$(json '[.object, (.data | length), .has_more] | map(tostring) | join(" ")' <<<"$out")" "list 3 false" "three orders bought something"
CONT=$(json '.data[] | select(.shape.quantities[0] == 2) | .id' <<<"$out")
out=$(as "$ACME" GET "/v0/contracts/$CONT")
is "$(json '[.object, .status, .instance_type, .state, .is_node, (.shape.quantities | join(",")), (.shape.intervals | join(","))] | map(tostring) | join(" ")' <<<"$out")" \
	"contract active h100i Upcoming false 2,0 $(iso $((NOW + HOUR)) | sed 's/[.]000//'),$(iso $((NOW + 3 * HOUR)) | sed 's/[.]000//')" "its shape"
is "$(as "$ACME" GET '/v0/contracts?state=Active' | json '.data | length') $(as "$ACME" GET '/v0/contracts?state=Upcoming' | json '.data | length')" "0 3" "by state"
as "$STRANGER" GET "/v0/contracts/$CONT" >/dev/null
is "$(http_status)" 404 "a stranger sees none"
out=$(post "{\"side\":\"sell\",\"quantity\":1,\"price\":4000,\"contract_id\":\"$CONT\",\"start_at\":\"$(iso $((NOW + HOUR)))\",\"end_at\":\"$(iso $((NOW + 3 * HOUR)))\"}")
is "$(http_status) $(json .status <<<"$out")" "201 pending" "one of the two is for sale"
SELL=$(json .id <<<"$out")
is "$(as "$ACME" GET "/v0/orders/$SELL" | json '[.side, .status, .price] | map(tostring) | join(" ")')" "sell open 4000" "for what was said"
out=$(as "$STRANGER" POST /v0/orders "{\"side\":\"buy\",\"cluster\":\"richmond\",\"quantity\":2,\"start_at\":\"$(iso $((NOW + HOUR)))\",\"end_at\":\"$(iso $((NOW + 3 * HOUR)))\",\"price\":9000,\"flags\":{\"ioc\":true}}")
is "$(json .status <<<"$out") $(as "$ACME" GET "/v0/orders/$SELL" | json '[.status, .execution_price] | map(tostring) | join(" ")')" "filled filled 4000" "somebody buys it at that"
is "$(as "$ACME" GET "/v0/contracts/$CONT" | json '.shape.quantities | join(",")')" "1,0" "the contract has one left"
out=$(as "$ACME" GET "/v0/quote?side=sell&quantity=1&contract_id=$CONT&min_start_date=$(iso $((NOW + HOUR)))&duration=3600")
is "$(json .no_quote_reason <<<"$out")" ask_price_too_high "nobody asks for more of it"

# ---- Zones, VMs, procurements ------------------------------------------------------------------------------------------
out=$(as "$ACME" GET /v0/zones)
told v0.ZoneList "$out" "zones, as documented"
is "$(json '.data[0] | [.object, .name, .region, .hardware_type, .interconnect_type, .delivery_type] | join(" ")' <<<"$out")" \
	"zone richmond EuropeMiddleEastAfrica H100 Infiniband VM" "zones are SKUs"
ok "with what is on sale" jq -e '.data[0].available_capacity | length > 0 and all(.quantity >= 0 and .end_timestamp > .start_timestamp)' <<<"$out"
is "$(as "$ACME" GET /v0/zones/richmond | json .name)" richmond "one zone"
as "$ACME" GET /v0/zones/hayesvalley >/dev/null
is "$(http_status)" 404 "one that is not there"
as "$ACME" POST /v0/vms/script '{"script":"#!/bin/sh\necho hello\n"}' >/dev/null
is "$(as "$ACME" GET /v0/vms/script | json .script)" "$(printf '#!/bin/sh\necho hello')" "a script for new machines"
as "$ACME" POST /v0/vms/script '{"script":[35,33,120]}' >/dev/null
is "$(as "$ACME" GET /v0/vms/script | json .script)" '#!x' "also as bytes"
is "$(as "$STRANGER" GET /v0/vms/script | json .script)" "" "which is one's own"
is "$(as "$ACME" GET /v2/pools | json '[.data[] | select(.name == "vm-startup-script")] | length')" 0 "and leaves no pool among one's own"
as "$ACME" GET /v2/pools/vm-startup-script >/dev/null
is "$(http_status)" 404 "by no name"
out=$(as "$ACME" POST /v1/nodes "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"names\":[\"n1\"],\"zone\":\"richmond\",\"start_at\":$((NOW + 10 * HOUR)),\"end_at\":$((NOW + 11 * HOUR))}")
VM=$(json '.data[0].current_vm.id' <<<"$out")
is "$(as "$ACME" GET '/v2/instances?include=cloud_init_user_data' | json '.data[] | select(.name == "n1") | .cloud_init_user_data')" "$(printf '#!x' | openssl base64)" "a new machine gets it"
told v0.VmList "$(as "$ACME" GET /v0/vms/instances)" "VMs, as documented"
is "$(as "$ACME" GET /v0/vms/instances | json '.data[] | [.id, .cluster_id, .current_status] | join(" ")' | grep "^$VM")" "$VM richmond Pending" "machines"
as "$ACME" GET "/v0/vms/ssh?vm_id=$VM" >/dev/null
is "$(http_status)" 404 "no SSH before the agent said so"
v2_clock $((NOW + 10 * HOUR + 60))
as "$FOUNDRY" POST "/np/v1/instances/inst_${VM#vm_}/report" '{"status":"running","hostname":"192.0.2.9","port":22022,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAA"}]}' >/dev/null
out=$(as "$ACME" GET "/v0/vms/ssh?vm_id=$VM")
told v0.Ssh "$out" "SSH, as documented"
is "$(json '[.ssh_hostname, .ssh_port, .ssh_host_keys[0].key_type, .ssh_host_keys[0].base64_encoded_key] | map(tostring) | join(" ")' <<<"$out")" \
	"192.0.2.9 22022 ssh-ed25519 AAAA" "then there is"
for name in n1 "$(as "$ACME" GET /v1/nodes/n1 | json .id)" "$VM"; do
	out=$(as "$ACME" GET "/v2/nodes/$name/ssh")
	is "$(json '[.hostname, .port, .host_keys[0].key] | map(tostring) | join(" ")' <<<"$out")" "192.0.2.9 22022 AAAA" "and of a node, by ${name%%_*}"
done
told v2.NodeSsh "$out" "(as documented)"
is "$(as "$STRANGER" GET /v2/nodes/n1/ssh >/dev/null; http_status)" 404 "of one's own"
is "$(as "$ACME" GET "/v0/vms/logs2?instance_id=$VM&limit=100&order_by=seqnum_asc" | json '.data | length')" 0 "a console without lines"
as "$STRANGER" GET "/v0/vms/logs2?instance_id=$VM&limit=100&order_by=seqnum_asc" >/dev/null
is "$(http_status)" 404 "not a stranger's"
out=$(as "$ACME" POST /v0/vms/replace "{\"vm_id\":\"$VM\"}")
is "$(json '[.replaced, (.replaced_by | startswith("vm_"))] | map(tostring) | join(" ")' <<<"$out")" "$VM true" "a machine is replaced"
is "$(as "$ACME" GET /v1/nodes/n1 | json .current_vm.id)" "$(json .replaced_by <<<"$out")" "in its node"
out=$(as "$ACME" POST /v0/procurements '{"instance_type":"h100i","desired_quantity":1,"buy_limit_price_per_gpu_hour":265,"sell_limit_price_per_gpu_hour":25,"horizon":60,"status":"active","colocation_strategy":{"type":"colocate-pinned"}}')
is "$(http_status) $(json '[.object, .instance_type, .desired_quantity, .buy_limit_price_per_gpu_hour, .sell_limit_price_per_gpu_hour, .horizon, .status] | map(tostring) | join(" ")' <<<"$out")" \
	"201 procurement richmond 1 265 25 60 active" "a procurement, as 'sf scale create' makes one"
told v0.Procurement "$out" "(as documented)"
out=$(as "$ACME" PATCH "/v0/procurements/$(json .id <<<"$out")" '{"status":"disabled","desired_quantity":2}')
is "$(http_status) $(json '[.status, .desired_quantity] | map(tostring) | join(" ")' <<<"$out")" "200 disabled 2" "and changes it"
out=$(as "$ACME" POST /v0/tokens '{"expires_in_seconds":604800,"origin_client":"cli","name":"laptop"}')
is "$(http_status) $(json '[.object, .name, .is_system] | map(tostring) | join(" ")' <<<"$out")" "201 token laptop false" "a token"
told v0.NewToken "$out" "(as documented)"
told v0.TokenList "$(as "$ACME" GET /v0/tokens)" "a list of them"
is "$(as "$(json .token <<<"$out")" GET /v0/me | json .id)" "$(as "$ACME" GET /v1/account/me | json .id)" "that works"
as "$ACME" DELETE "/v0/tokens/$(json .id <<<"$out")" >/dev/null
is "$(http_status)" 204 "until it is revoked"

# ---- What the old clients sent, as it was logged ---------------------------------------------------------------------------
# METHOD PATH STATUS FILTER WANT [BODY]: ids, zones and times are those of this market.
NODE=$(as "$ACME" GET /v1/nodes/n1 | json .id)
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host rack19 richmond)/offers" '{"price_dollars_per_node_hour":"18.00"}' >/dev/null
said() {
	out=$(as "$ACME" "$1" "$2" "${6-}")
	is "$(http_status) $(json "$4" <<<"$out")" "$3 $5" "$1 $2"
}
E=$((NOW + 20 * HOUR))
said GET /v1/balances 200 '.available_balance_cents | type' number
said GET /v0/me 200 '.id | type' string
said GET /v0/zones 200 .object list
said GET /v0/contracts 200 .object list
said GET '/v0/contracts?state=Upcoming' 200 .object list
said GET '/v0/contracts?instance_type=h100v' 200 .object list
said GET /v0/tokens 200 .object list
said GET /v1/nodes 200 .object list
said GET '/v1/nodes?name=n1' 200 '.data[0].name' n1
said POST /v0/orders 201 .status filled \
	"{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"start_at\":\"NOW\",\"end_at\":\"$(iso $((NOW + 12 * HOUR)))\",\"price\":4858,\"colocate_with\":[],\"flags\":{\"ioc\":true}}"
said POST /v1/nodes 201 '.data[0].node_type' reserved \
	"{\"desired_count\":1,\"max_price_per_node_hour\":1851,\"names\":[\"foo\"],\"any_zone\":false,\"zone\":\"richmond\",\"node_type\":\"reserved\",\"end_at\":$((NOW + 13 * HOUR))}"
said POST /v1/nodes 201 '.data | length' 2 '{"desired_count":2,"max_price_per_node_hour":1800,"any_zone":true,"node_type":"autoreserved"}'
said POST /v1/nodes 201 '.data[0].start_at' $((NOW + 15 * HOUR)) \
	"{\"desired_count\":1,\"max_price_per_node_hour\":1500,\"names\":[\"bar\"],\"any_zone\":false,\"zone\":\"richmond\",\"node_type\":\"reserved\",\"start_at\":$((NOW + 15 * HOUR)),\"end_at\":$((NOW + 18 * HOUR))}"
said PATCH "/v1/nodes/$NODE/extend" 422 .error.type unprocessable_entity '{"duration_seconds":7200,"max_price_per_node_hour":100}'
said PATCH "/v1/nodes/$(as "$ACME" GET /v1/nodes/bar | json .id)/extend" 200 .end_at $E '{"duration_seconds":7200,"max_price_per_node_hour":1500}'
said PUT "/v1/nodes/$NODE/redeploy" 200 .object node '{"override_empty":false}'
said PATCH "/v1/nodes/$NODE/release" 200 .status released '{}'
said GET /v2/nodes/n1/ssh 404 .error.type not_found
said GET /v1/nodes/n1 200 .id "$NODE"
said GET /v0/vms/instances 200 '.data | type' array
said GET /v0/procurements 200 .object list
said GET "/preview/v2/images?workspace=sfc%3Aworkspace%3Aacme%3Adefault" 200 .object list
for flag in procurements infiniband-preview zones; do
	said GET "/v2/feature_flags/$flag" 200 .enabled true
	told v2.FeatureFlag "$out" "(as documented)"
	said GET "/preview/v2/feature_flags/$flag" 200 .enabled true
done
said GET /v2/feature_flags/other 404 .error.type not_found
ID=$(as "$ACME" GET /v1/account/me | json .id)
said GET "/preview/v2/images?workspace=sfc%3Aworkspace%3A$ID%3Adefault" 200 '.data[0].name' debian-12
said GET "/v2/workspaces/sfc%3Aworkspace%3A$ID%3Adefault" 200 .name default
said GET "/v2/workspaces/sfc%3Aworkspace%3A$(as "$STRANGER" GET /v1/account/me | json .id)%3Adefault" 404 .error.type not_found
said GET "/v0/quote?side=buy&quantity=1&min_start_date=$(iso $E | sed 's/:/%3A/g')&max_start_date=$(iso $E | sed 's/:/%3A/g')&min_duration=6480&max_duration=10800&cluster=richmond" 200 .quote.zone richmond
said GET /v0/zones/richmond 200 .name richmond
said POST /v0/orders 201 .status filled \
	"{\"side\":\"buy\",\"quantity\":1,\"start_at\":\"$(iso $E)\",\"end_at\":\"$(iso $((E + 2 * HOUR)))\",\"price\":2400,\"colocate_with\":[],\"flags\":{\"ioc\":false},\"cluster\":\"richmond\"}"
ORDER=$(json .id <<<"$out")
said GET "/v0/orders/$ORDER" 200 .status filled
CONT=$(as "$ACME" GET /v0/contracts | json '.data[0].id')
said GET "/v0/contracts/$CONT" 200 .id "$CONT"
said POST /v0/orders 201 .status pending \
	"{\"side\":\"sell\",\"quantity\":1,\"price\":1908,\"contract_id\":\"$CONT\",\"start_at\":\"$(iso $E)\",\"end_at\":\"$(iso $((E + HOUR)))\"}"
SELL=$(json .id <<<"$out")
said GET '/v0/orders?exclude_cancelled=true&sort_by=start_time&sort_direction=ASC' 200 .object list
said GET '/v0/orders?side=buy&min_duration=3600&only_open=true&exclude_cancelled=true&sort_by=start_time&sort_direction=ASC' 200 '.data | length' 0
said DELETE "/v0/orders/$SELL" 200 .object pending '{}'
# Its clients ask for the hardware of one zone and the name of another, and send the zone of a quote for any.
v2_sku landsend 8 '{"accelerator":"h200"}' >/dev/null
rest="\"start_at\":\"$(iso $((NOW + 20 * HOUR)))\",\"end_at\":\"$(iso $((NOW + 21 * HOUR)))\",\"flags\":{\"ioc\":false}}"
said POST /v0/orders 201 .status pending "{\"side\":\"buy\",\"cluster\":\"landsend\",\"quantity\":1,\"price\":3000,$rest"
LATER=$(json .id <<<"$out") had=$(vms)
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host hopper landsend)/offers" '{"price_dollars_per_node_hour":"30.00"}' >/dev/null
said GET "/v0/quote?side=buy&instance_type=h100v&quantity=1&min_start_date=NOW&max_start_date=NOW&min_duration=3240&max_duration=7200&cluster=landsend" 200 .quote.zone landsend
said GET /v0/zones/landsend 200 .available_capacity[0].start_timestamp $((NOW + 10 * HOUR + 60))
said POST /v1/nodes 201 '.data[0].zone' landsend \
	"{\"desired_count\":1,\"max_price_per_node_hour\":3000,\"any_zone\":true,\"zone\":\"landsend\",\"node_type\":\"reserved\",\"end_at\":$((NOW + 12 * HOUR))}"
is "$(as "$ACME" GET "/v0/orders/$LATER" | json .status)" filled "an order that rested fills when somebody sells"
v2_clock $((NOW + 10 * HOUR + 120))
is "$(vms)" $((had + 2)) "and a minute later its machine is made (the other is the node's)"
marketd_kill
marketd_start --test-clock=$((NOW + 10 * HOUR + 120))
v2_clock $((NOW + 10 * HOUR + 180))
is "$(vms)" $((had + 2)) "once, also after kill -9"
# Two zones have the hardware, neither at this price: the order waits for the cheaper one.
v2_sku yerba 8 '{"accelerator":"h100"}' >/dev/null
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host yerba1 yerba)/offers" '{"price_dollars_per_node_hour":"9.60"}' >/dev/null
said POST /v0/orders 201 .status pending "{\"side\":\"buy\",\"instance_type\":\"h100v\",\"quantity\":1,\"price\":400,$rest"
said GET "/v0/orders/$(json .id <<<"$out")" 200 '[.status, .instance_type, .cluster] | join(" ")' "open h100v yerba"
said GET /v0/ping 200 '.message' pong

# ---- What the market does by itself -----------------------------------------------------------------------------------------
# (Without GPUs, so that no node that may be in any zone comes between.) Two nodes are bought by one who may have one: the second comes once he may have it, and is told in the log once.
marketd_account tight 100000.00
TIGHT=$(marketd_token tight)
v2_sku tower 0 '{}' >/dev/null
for i in 1 2; do as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host "tower$i" tower)/offers" '{"price_dollars_per_node_hour":"6.00"}' >/dev/null; done
AT=$((NOW + 10 * HOUR + 180))
marketd_kill
marketd_start --test-clock=$AT --quota tight:instances=1
v2_clock $((AT += 60))
nodes() { as "$1" GET /v2/instances | json "[.data[] | select(.instance_sku.alias == \"$2\" and (.status == \"awaiting_allocation\" or .status == \"running\"))] | length"; }
out=$(as "$TIGHT" POST /v0/orders "{\"side\":\"buy\",\"cluster\":\"tower\",\"quantity\":2,\"start_at\":\"NOW\",\"end_at\":\"$(iso $((NOW + 20 * HOUR)))\",\"price\":90000}")
is "$(json .status <<<"$out") $(nodes "$TIGHT" tower)" "filled 1" "the nodes of an order stay within the quota"
for i in 1 2 3; do v2_clock $((AT += 60)); done
is "$(nodes "$TIGHT" tower) $(grep -c "quota 'instances'" "$MARKETD_LOG")" "1 1" "which the log says once"
marketd_kill
marketd_start --test-clock=$AT
v2_clock $((AT += 60))
is "$(nodes "$TIGHT" tower)" 2 "and the missing one is made when the quota allows it"
v2_clock $((AT += 60))
is "$(nodes "$TIGHT" tower) $(as "$TIGHT" GET /v2/pools | json '.data[0].tags | keys | join(" ")')" "2 sfc_contract sfc_sku" "once"
# A contract of two windows with nothing between them, on hosts of which each is free in one.
v2_sku bridge 0 '{}' >/dev/null
window() { # HOST START END
	as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host "$1" bridge)/offers" "{\"price_dollars_per_node_hour\":\"6.00\",\"start_at\":$2,\"end_at\":$3}" >/dev/null
}
window bridge1 $((NOW + 11 * HOUR)) $((NOW + 12 * HOUR))
window bridge2 $((NOW + 12 * HOUR)) $((NOW + 13 * HOUR))
window bridge3 $((NOW + 14 * HOUR)) $((NOW + 15 * HOUR))
buy() { # START END [MORE]
	as "$ACME" POST /v0/orders "{\"side\":\"buy\",\"cluster\":\"bridge\",\"quantity\":1,\"start_at\":\"$(iso "$1")\",\"end_at\":\"$(iso "$2")\",\"price\":2000${3-}}"
}
buy $((NOW + 11 * HOUR)) $((NOW + 12 * HOUR)) >/dev/null
CONT=$(as "$ACME" GET /v0/contracts | json '.data[0].id')
is "$(buy $((NOW + 12 * HOUR)) $((NOW + 13 * HOUR)) ",\"colocate_with\":[\"$CONT\"]" | json .status) $(nodes "$ACME" bridge)" "filled 1" "a contract goes on, on another host"
is "$(buy $((NOW + 14 * HOUR)) $((NOW + 15 * HOUR)) ",\"colocate_with\":[\"$CONT\"]" | json .status) $(nodes "$ACME" bridge)" "filled 1" "and after a while again"
for hour in 11 12 13 14 15; do
	v2_clock $((NOW + hour * HOUR))
	v2_clock $((NOW + hour * HOUR + 60))
	were[hour]=$(nodes "$ACME" bridge)
done
is "${were[*]}" "1 1 0 1 0" "in each of its windows it has a node, and in no other hour"
# Two orders for it rest; both fill.
window bridge4 $((NOW + 20 * HOUR)) $((NOW + 21 * HOUR))
buy $((NOW + 20 * HOUR)) $((NOW + 21 * HOUR)) >/dev/null
CONT=$(as "$ACME" GET /v0/contracts | json '.data[0].id')
is "$(buy $((NOW + 20 * HOUR)) $((NOW + 22 * HOUR)) ",\"colocate_with\":[\"$CONT\"]" | json .status) $(buy $((NOW + 23 * HOUR)) $((NOW + 24 * HOUR)) ",\"colocate_with\":[\"$CONT\"]" | json .status)" "pending pending" "two orders of a contract rest"
window bridge5 $((NOW + 20 * HOUR)) $((NOW + 22 * HOUR))
v2_clock $((NOW + 15 * HOUR + 120))
is "$(nodes "$ACME" bridge)" 2 "the one that fills first gets its node, though another came after it"
for i in $(seq 6); do buy $((NOW + 23 * HOUR)) $((NOW + 24 * HOUR)) ",\"colocate_with\":[\"$CONT\"]" >/dev/null; done
is "$(http_status)" 201 "eight orders of a contract may wait"
out=$(buy $((NOW + 23 * HOUR)) $((NOW + 24 * HOUR)) ",\"colocate_with\":[\"$CONT\"]")
refused 422 limit_reached colocate_with "but no more" "$out"
# Tags that the market sets are no client's.
out=$(as "$ACME" POST /v2/pools '{"workspace":"default","tags":{"sfc_order":"x"}}')
refused 422 invalid tags "nobody marks a pool of his as a contract" "$out"
ID=$(as "$ACME" GET /v2/pools | json '[.data[] | select(.tags.sfc_contract != null)][0].id')
TAGS=$(as "$ACME" GET "/v2/pools/$ID" | json '.tags | tojson')
as "$ACME" PATCH "/v2/pools/$ID" '{"tags":{"sfc_sku":"sku_1"}}' >/dev/null
is "$(http_status)" 422 "nor changes such a mark"
is "$(as "$ACME" PATCH "/v2/pools/$ID" "{\"tags\":$(jq -c '. + {"team":"a"}' <<<"$TAGS")}" | json '.tags | tojson')" "$(jq -cS '. + {"team":"a"}' <<<"$TAGS")" "who sends it back as it is adds his own"
is "$(as "$ACME" PATCH "/v2/pools/$ID" '{"tags":{"team":"b"}}' | json '.tags | tojson')" "$(jq -cS '. + {"team":"b"}' <<<"$TAGS")" "and who leaves it out does not lose it"
done_testing
