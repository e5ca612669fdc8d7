#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /v1: nodes as SF Compute's second generation knows them, on the same pools and instances as /v2.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"

v2_start
for price in 12.00 15.00 18.00; do v2_offer "$(v2_host "rack${price%.00}" richmond)" $price >/dev/null; done
END=$((NOW + 4 * HOUR))
money() { as "$ACME" GET /np/v1/balance | json .available_micros; }
create() { as "$ACME" POST /v1/nodes "$1"; }
node_keys='created_at current_vm deleted_at end_at gpu_type id max_price_per_node_hour name node_type object owner procurement_id start_at status updated_at vms zone'

# ---- Reserved -------------------------------------------------------------------------------------------
before=$(money)
out=$(create "{\"desired_count\":1,\"max_price_per_node_hour\":1251,\"names\":[\"foo\"],\"any_zone\":false,\"zone\":\"richmond\",\"node_type\":\"reserved\",\"end_at\":$END}")
is "$(http_status) $(json '.object' <<<"$out") $(json '.data | length' <<<"$out")" "201 list 1" "a node is made"
told v1.NodeList "$out" "(as documented)"
is "$(json '.data[0] | keys | join(" ")' <<<"$out")" "$node_keys" "with SF Compute's fields"
is "$(json '.data[0] | [.object, .name, .zone, .gpu_type, .owner, .status, .node_type, .max_price_per_node_hour, .end_at, .procurement_id] | map(tostring) | join(" ")' <<<"$out")" \
	"node foo richmond H100 acme pending reserved 1251 $END null" "and what was asked for"
is "$(json '.data[0] | [.current_vm.object, .current_vm.status, .vms.object, (.vms.data | length), .current_vm.zone] | map(tostring) | join(" ")' <<<"$out")" \
	"vm Pending list 1 richmond" "one machine, which waits for its start"
FOO=$(json '.data[0].id' <<<"$out") VM=$(json '.data[0].current_vm.id' <<<"$out")
like "$FOO $VM" '^n_[0-9a-z]+ vm_[0-9a-z]+$' "ids of that generation"
is $((before - $(money))) $((239 * 200000)) "it costs the asked price, not the cap, for what is left of the four hours"
is "$(as "$ACME" GET /v2/pools/foo | json '.allocation_schedule.total | map("\(.start_at)-\(.end_at)*\(.node_count)") | join(" ")')" \
	"$((NOW + 60))-$END*1" "/v2 sees a pool of one node"
is "$(as "$ACME" GET /v2/instances/foo | json '.pool.name')" foo "and an instance in it"
is "$(as "$ACME" GET "/v1/nodes/$FOO" | json .name) $(as "$ACME" GET /v1/nodes/foo | json .id)" "foo $FOO" "found by id and by name"
as "$ACME" GET /v1/nodes/train >/dev/null
is "$(http_status)" 404 "a pool of /v2 is not a node"

# ---- What is refused, and costs nothing ---------------------------------------------------------------------
before=$(money)
no() { # STATUS CODE FIELD TEXT JSON
	out=$(create "$5")
	refused "$1" "$2" "$3" "$4" "$out"
}
no 422 invalid end_at "a reserved node without an end is never bought" '{"desired_count":1,"max_price_per_node_hour":2000,"zone":"richmond","node_type":"reserved"}'
no 422 invalid end_at "an end off the hour" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$((END + 60))}"
no 422 invalid end_at "an autoreserved node with an end" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"node_type\":\"autoreserved\",\"end_at\":$END}"
no 422 invalid zone "an autoreserved node without a zone" '{"desired_count":1,"max_price_per_node_hour":2000}'
no 404 not_found zone "a zone that is not there" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"nowhere\",\"end_at\":$END}"
no 422 price_too_low max_price_per_node_hour "a cap that is too low" "{\"desired_count\":1,\"max_price_per_node_hour\":1000,\"zone\":\"richmond\",\"end_at\":$END}"
like "$(json .error.message <<<"$out")" '15.000000 dollars per node-hour would fit' "says what would do"
no 422 no_capacity desired_count "more than there are" "{\"desired_count\":3,\"max_price_per_node_hour\":9900,\"zone\":\"richmond\",\"end_at\":$END}"
like "$(json .error.message <<<"$out")" '2 nodes would fit' "says how many there are"
no 400 name_taken names "a name that is in use" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"names\":[\"foo\"],\"zone\":\"richmond\",\"end_at\":$END}"
no 422 invalid names "two names for one node" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"names\":[\"a\",\"b\"],\"zone\":\"richmond\",\"end_at\":$END}"
no 422 invalid names "the same name twice" "{\"desired_count\":2,\"max_price_per_node_hour\":2000,\"names\":[\"a\",\"a\"],\"zone\":\"richmond\",\"end_at\":$END}"
for name in n_1 vm_1 123 'a b' ''; do
	no 422 invalid names "the name '$name'" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"names\":[\"$name\"],\"zone\":\"richmond\",\"end_at\":$END}"
done
no 422 in_the_past '' "a start in the past" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"start_at\":$((NOW - HOUR)),\"end_at\":$END}"
no 404 not_found image_id "an image that is not there" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$END,\"image_id\":\"vmi_abc\"}"
no 422 unknown_field colour "a field that is not there" '{"desired_count":1,"max_price_per_node_hour":2000,"colour":"red"}'
data="\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$END,\"cloud_init_user_data\""
no 422 invalid cloud_init_user_data "user data that is no base64 would stop a whole agent" "{$data:\"A\"}"
no 422 invalid cloud_init_user_data "nor wrongly padded" "{$data:\"AA=\"}"
no 422 invalid cloud_init_user_data "nor more than an agent takes" "{$data:\"$(head -c 90112 /dev/zero | tr '\0' A)\"}"
no 501 not_implemented forward_443 "what this market does not have" "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$END,\"forward_443\":true}"
out=$(as "$STRANGER" POST /np/v1/tokens '{"scopes":["read","trade"]}')
as "$(json .token <<<"$out")" POST /v1/nodes "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$END}" >/dev/null
is "$(http_status)" 403 "a token that may buy but make no machine"
marketd_account poor 20.00
POOR=$(marketd_token poor)
out=$(as "$POOR" POST /v1/nodes "{\"desired_count\":1,\"max_price_per_node_hour\":2000,\"zone\":\"richmond\",\"end_at\":$END}")
refused 402 insufficient_funds "" "who cannot pay" "$out"
out=$(as "$POOR" POST /v1/nodes "{\"desired_count\":2,\"max_price_per_node_hour\":2000,\"names\":[\"p1\",\"p2\"],\"zone\":\"richmond\",\"start_at\":$NOW,\"end_at\":$((NOW + HOUR))}")
refused 402 insufficient_funds "" "who can pay for one of two gets none" "$out"
is "$(as "$POOR" GET /v1/nodes | json '.data | length') $(as "$POOR" GET /v2/pools | json '.data | length') $(as "$POOR" GET /np/v1/balance | json .available_dollars)" \
	"0 0 20.000000" "and nothing is left over of the try"
is "$(money) $(as "$ACME" GET /v1/nodes | json '.data | length')" "$before 1" "all of this cost nothing and made nothing"

# ---- Several ---------------------------------------------------------------------------------------------------
key='Idempotency-Key: pair'
body="{\"desired_count\":2,\"max_price_per_node_hour\":1800,\"names\":[\"bar\",\"baz\"],\"any_zone\":true,\"node_type\":\"reserved\",\"start_at\":$((NOW + HOUR)),\"end_at\":$END}"
out=$(as "$ACME" POST /v1/nodes "$body" -H "$key")
is "$(http_status) $(json '[.data[] | .name, .zone, .start_at] | map(tostring) | join(" ")' <<<"$out")" \
	"201 bar richmond $((NOW + HOUR)) baz richmond $((NOW + HOUR))" "two at once, in any zone, later"
is $((before - $(money))) $((3 * 33000000)) "at each host's own price"
again=$(as "$ACME" POST /v1/nodes "$body" -H "$key")
is "$(http_status) $again" "201 $out" "asked again with the same key: the same answer"
is $((before - $(money))) $((3 * 33000000)) "and nothing bought twice"

# ---- Lists ----------------------------------------------------------------------------------------------------------
names() { as "$ACME" GET "/v1/nodes$1" | json '[.data[].name] | join(" ")'; }
is "$(names '')" "foo bar baz" "all"
is "$(names '?name=bar&name=nothing&name=foo')" "foo bar" "by names; one that is not there is just not there"
is "$(names "?id=$FOO")" foo "by id"
is "$(names '?type=reserved') / $(names '?type=autoreserved')" "foo bar baz / " "by type"
out=$(as "$ACME" GET "/v1/nodes?id=$FOO&name=foo")
is "$(http_status)" 422 "not by both"
is "$(as "$STRANGER" GET /v1/nodes | json '.data | length')" 0 "a stranger has none"
as "$STRANGER" GET "/v1/nodes/$FOO" >/dev/null
is "$(http_status)" 404 "and sees none"

# ---- Running ----------------------------------------------------------------------------------------------------------
v2_clock $((NOW + 120))
is "$(as "$ACME" GET /v1/nodes/foo | json .status)" pending "its time has come; its agent has not said anything"
as "$FOUNDRY" POST "/np/v1/instances/inst_${VM#vm_}/report" '{"status":"running","hostname":"192.0.2.1","port":22,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAA"}]}' >/dev/null
is "$(as "$ACME" GET /v1/nodes/foo | json '[.status, .current_vm.status] | join(" ")')" "running Running" "now it runs"

# ---- Extend --------------------------------------------------------------------------------------------------------------
before=$(money)
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":7200,"max_price_per_node_hour":1500}' -H 'Idempotency-Key: longer')
extended=$out
is "$(http_status) $(json '[.end_at, .max_price_per_node_hour, .status] | map(tostring) | join(" ")' <<<"$out") $((before - $(money)))" \
	"200 $((END + 7200)) 1500 running 24000000" "two hours more, on the same machine, at its price"
is "$(as "$ACME" GET /v1/nodes/foo | json .current_vm.id)" "$VM" "which is the same"
is "$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":7200,"max_price_per_node_hour":1500}' -H 'Idempotency-Key: longer')" "$extended" \
	"asked for again under its key it is not bought again"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":5400,"max_price_per_node_hour":1500}')
refused 422 invalid duration_seconds "not an hour and a half" "$out"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":1800,"max_price_per_node_hour":1500}')
refused 422 invalid duration_seconds "not half an hour" "$out"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":3600,"max_price_per_node_hour":1000}')
is "$(http_status) $(json .error.code <<<"$out")" "422 price_too_low" "not below the price"
like "$(json .error.message <<<"$out")" '^Extension failed due to capacity' "in SF Compute's words"
out=$(as "$POOR" POST /v1/nodes "{\"desired_count\":1,\"max_price_per_node_hour\":1500,\"names\":[\"tiny\"],\"zone\":\"richmond\",\"start_at\":$((END + 7200)),\"end_at\":$((END + 10800))}")
is "$(http_status)" 201 "somebody else takes the hour after it"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":3600,"max_price_per_node_hour":9900}')
is "$(http_status) $(json .error.code <<<"$out")" "422 hosts_sold" "then the machine cannot stay"
out=$(as "$POOR" PATCH /v1/nodes/tiny/extend '{"duration_seconds":36000,"max_price_per_node_hour":9900}')
is "$(http_status) $(json '.error | [.type, .message] | join(": ")' <<<"$out")" "402 payment_required: Insufficient balance" "nor who cannot pay"
out=$(as "$ACME" PATCH /v1/nodes/nobody/extend '{"duration_seconds":3600,"max_price_per_node_hour":1500}')
is "$(http_status)" 404 "nor what is not there"

# ---- Redeploy ---------------------------------------------------------------------------------------------------------------
before=$(money)
out=$(as "$ACME" PUT "/v1/nodes/$FOO/redeploy" '{"cloud_init_user_data":"IyEvYmluL3NoCg==","override_empty":false}')
is "$(http_status) $(json '[.id == "'"$FOO"'", .current_vm.id != "'"$VM"'", (.vms.data | length), .vms.data[0].status, .status] | map(tostring) | join(" ")' <<<"$out")" \
	"200 true true 2 Destroyed pending" "a new machine in the node; the old one is kept in its history"
is "$(json '.data // .vms.data | .[0] | [.start_at, .end_at] | map(tostring) | join(" ")' <<<"$out")" "$((NOW + 60)) $((NOW + 120))" "which began and ended"
is "$(money)" "$before" "it costs nothing"
user_data() { as "$ACME" GET '/v2/instances?include=cloud_init_user_data' | json '[.data[] | select(.name == "foo" and .status != "terminated")][0].cloud_init_user_data'; }
is "$(user_data)" "IyEvYmluL3NoCg==" "with its user data"
for bad in A AA= '*'; do
	out=$(as "$ACME" PUT "/v1/nodes/$FOO/redeploy" "{\"cloud_init_user_data\":\"$bad\"}")
	refused 422 invalid cloud_init_user_data "never with user data such as '$bad'" "$out"
done
as "$ACME" PUT "/v1/nodes/$FOO/redeploy" '{"override_empty":false}' >/dev/null
is "$(user_data)" "IyEvYmluL3NoCg==" "which the next one inherits"
as "$ACME" PUT "/v1/nodes/$FOO/redeploy" '{"override_empty":true}' >/dev/null
is "$(user_data)" null "unless it is told not to"

# ---- Delete and release ----------------------------------------------------------------------------------------------------------
out=$(as "$ACME" DELETE "/v1/nodes/$FOO")
refused 409 wrong_state id "a node with a machine is not deleted" "$out"
before=$(money)
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/release" '{}')
is "$(http_status) $(json '[.status, .current_vm.status, .end_at] | map(tostring) | join(" ")' <<<"$out") $(money)" \
	"200 released Pending $((END + 7200)) $before" "released: it runs on to its end, and nothing comes back"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/release")
refused 409 wrong_state id "once" "$out"
out=$(as "$ACME" PATCH "/v1/nodes/$FOO/extend" '{"duration_seconds":3600,"max_price_per_node_hour":1500}')
is "$(http_status) $(json .error.code <<<"$out")" "422 wrong_state" "and not extended any more"
v2_clock $((END + 60))
is "$(as "$ACME" GET /v1/nodes/bar | json '[.status, .current_vm, .end_at] | map(tostring) | join(" ")')" "terminated null $END" "at its end a node is terminated"
as "$ACME" DELETE /v1/nodes/bar >/dev/null
is "$(http_status) $(names '')" "204 foo baz" "then it is deleted"
as "$ACME" GET /v1/nodes/bar >/dev/null
is "$(http_status)" 404 "and gone"

# ---- Autoreserved --------------------------------------------------------------------------------------------------------------------
before=$(money)
out=$(create '{"desired_count":1,"max_price_per_node_hour":1500,"names":["auto"],"zone":"richmond"}')
is "$(http_status) $(json '.data[0] | [.node_type, .end_at, .max_price_per_node_hour] | map(tostring) | join(" ")' <<<"$out")" "201 autoreserved null 1500" \
	"without an end a node is autoreserved: it has none"
like "$(json '.data[0].procurement_id' <<<"$out")" '^proc_' "a procurement buys for it"
spent=$((before - $(money)))
ok "an hour at first, up to the end of a full hour ($spent)" test "$spent" -ge 15000000 -a "$spent" -lt 30000000
v2_clock $((END + 120))
runs() { # NODE: its machine is there, or its time would be given back
	local vm

	vm=$(as "$ACME" GET "/v1/nodes/$1" | json .current_vm.id)
	as "$FOUNDRY" POST "/np/v1/instances/inst_${vm#vm_}/report" \
		'{"status":"running","hostname":"192.0.2.1","port":22,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAA"}]}' >/dev/null
	is "$(http_status)" 204 "($1 runs)"
}
runs auto
v2_clock $((END + 3660))
ok "and more as time goes by" test $((before - $(money))) -gt "$spent"
out=$(as "$ACME" PATCH /v1/nodes/auto/extend '{"duration_seconds":3600,"max_price_per_node_hour":1500}')
refused 422 invalid id "it is not extended by hand" "$out"
out=$(as "$ACME" DELETE /v1/nodes/auto)
refused 409 wrong_state id "nor deleted while it renews itself" "$out"
PROC=$(as "$ACME" GET /v1/nodes/auto | json .procurement_id)
out=$(as "$ACME" PATCH "/v0/procurements/$PROC" '{"buy_limit_price_per_gpu_hour":200}')
is "$(http_status) $(json .buy_limit_price_per_gpu_hour <<<"$out")" "200 200" "its cap is changed as the old client does it"
is "$(as "$ACME" GET /v1/nodes/auto | json .max_price_per_node_hour)" 1600 "and the node shows the cap in force"
out=$(as "$ACME" PATCH /v1/nodes/auto/release)
is "$(http_status) $(json '[.status, .procurement_id] | map(tostring) | join(" ")' <<<"$out")" "200 released null" "released it renews no more"
spent=$(money)
v2_clock $((END + 3 * HOUR))
ok "and costs no more" test "$(money)" -ge "$spent"
as "$ACME" DELETE /v1/nodes/auto >/dev/null
is "$(http_status)" 204 "and is deleted after its end"
out=$(create '{"desired_count":1,"max_price_per_node_hour":100,"names":["poorauto"],"any_zone":true,"node_type":"autoreserved"}')
is "$(http_status) $(json '.data[0].status' <<<"$out")" "201 awaitingcapacity" "under the price it waits for capacity"

as "$ACME" PATCH /v1/nodes/poorauto/release >/dev/null
as "$ACME" DELETE /v1/nodes/poorauto >/dev/null
is "$(http_status)" 204 "released, it is deleted: it has no minutes that anybody waits for"

# ---- A node that renews itself lives -----------------------------------------------------------------------------------------
AT=$(((END + 5 * HOUR) / HOUR * HOUR)) # a full hour
v2_clock $AT
v2_sku yerba 8 '{"accelerator":"h100"}' >/dev/null
offer() { # HOST PRICE START END
	as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" "{\"price_dollars_per_node_hour\":\"$2\",\"start_at\":$3,\"end_at\":$4}" >/dev/null
}
auto() { as "$ACME" GET "/v1/nodes/$1" | json '[.status, (.vms.data | length), .current_vm.id] | map(tostring) | join(" ")'; }
R1=$(v2_host r1 yerba) R2=$(v2_host r2 yerba)
offer "$R1" 9.60 $((AT + 60)) $((AT + 20 * HOUR))
create '{"desired_count":1,"max_price_per_node_hour":1100,"names":["stays"],"zone":"yerba"}' >/dev/null
v2_clock $((AT + 300))
like "$(auto stays)" '^pending 1 vm_' "a node has its host"
runs stays
was=$(auto stays)
offer "$R2" 8.00 $((AT + 360)) $((AT + 20 * HOUR))
v2_clock $((AT + 6 * HOUR))
is "$(auto stays)" "$was" "and stays on it while it is for sale below the cap, though another is cheaper"
PROC=$(as "$ACME" GET /v1/nodes/stays | json .procurement_id)
orders() { as "$ACME" GET "/v2/orders?limit=200&procurement=$PROC" | json '.data | length'; }
ok "it made an order an hour ($(orders))" test "$(orders)" -ge 5 -a "$(orders)" -le 8
before=$(money)
v2_clock $((AT + 12 * HOUR))
is $((before - $(money))) $((6 * 60 * 160000)) "and pays one host, at its price"
as "$ACME" PATCH /v1/nodes/stays/release >/dev/null
v2_clock $((AT + 15 * HOUR))

# Its host goes to another at a time: the node goes on as a new machine, by then.
AT=$((AT + 15 * HOUR))
v2_sku hayes 8 '{"accelerator":"h100"}' >/dev/null
RB=$(v2_host rb hayes) RC=$(v2_host rc hayes)
offer "$RB" 9.60 $((AT + 60)) $((AT + 2 * HOUR))
create '{"desired_count":1,"max_price_per_node_hour":1100,"names":["moves"],"zone":"hayes"}' >/dev/null
v2_clock $((AT + 300))
runs moves
was=$(auto moves)
offer "$RC" 9.60 $((AT + 360)) $((AT + 5 * HOUR))
before=$(money)
v2_clock $((AT + 2 * HOUR + 60))
like "$(auto moves)" '^pending 2 vm_' "a node that lost its host goes on as a new machine"
isnt "$(auto moves | cut -d' ' -f3)" "${was##* }" "with an id of its own"
runs moves
is "$(as "$ACME" GET /v1/nodes/moves | json '.vms.data[0].status')" Destroyed "the old one is in its history"
v2_clock $((AT + 6 * HOUR))
like "$(auto moves)" '^awaitingcapacity 3 vm_' "with no host for sale it waits, and is not dead"
is "$(as "$ACME" PATCH /v1/nodes/moves/release | json .status)" released "then it can be released"
as "$ACME" DELETE /v1/nodes/moves >/dev/null
is "$(http_status)" 204 "and deleted"

# ---- Money is safe where nothing runs ------------------------------------------------------------------------------------------------
out=$(create '{"desired_count":1,"max_price_per_node_hour":1500,"names":["orphan"],"zone":"richmond"}')
as "$ACME" POST /v2/instances/orphan/terminate >/dev/null
before=$(money)
v2_clock $((AT + 9 * HOUR))
ok "once its machine is ended, an autoreserved node buys nothing more" test "$(money)" -ge "$before"
is "$(as "$ACME" GET /v1/nodes/orphan | json .status)" terminated "and is terminated"

# Two nodes are on sale as a block, which is sold whole: to one order of two, not to two nodes.
DAY20=$((NOW + 20 * 86400))
as "$FOUNDRY" POST /v2/orders "$(order sell hosts-richmond 2 $DAY20 $((DAY20 + HOUR)) 10.0 ',"allow_standing":true')" >"$TMP/block"
is "$(json .status <"$TMP/block")" standing "a block of two"
is "$(as "$ACME" POST /np/v1/quote "$(order buy train 2 $DAY20 $((DAY20 + HOUR)) 20.0)" | json .fills)" true "would fill an order of two"
before=$(as "$ACME" GET /v2/pools | json '[.data[].name] | sort | join(" ")') cash=$(money)
out=$(create "{\"desired_count\":2,\"max_price_per_node_hour\":2000,\"names\":[\"b1\",\"b2\"],\"zone\":\"richmond\",\"start_at\":$DAY20,\"end_at\":$((DAY20 + HOUR))}")
is "$(http_status) $(json .error.code <<<"$out")" "422 no_capacity" "but not two nodes"
is "$(as "$ACME" GET /v2/pools | json '[.data[].name] | sort | join(" ")') $(money)" "$before $cash" "of which nothing is left over"
# One host can be had, two are asked for: the first is not bought for nothing.
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host rack30 richmond)/offers" "{\"price_dollars_per_node_hour\":\"12.0\",\"start_at\":$DAY20,\"end_at\":$((DAY20 + 2 * HOUR))}" >/dev/null
out=$(create "{\"desired_count\":2,\"max_price_per_node_hour\":2000,\"names\":[\"b1\",\"b2\"],\"zone\":\"richmond\",\"start_at\":$((DAY20 + HOUR)),\"end_at\":$((DAY20 + 2 * HOUR))}")
is "$(http_status) $(as "$ACME" GET /v2/pools | json '[.data[].name] | sort | join(" ")') $(money)" "422 $before $cash" "one of two is none"

# ---- Any zone, while it waits ---------------------------------------------------------------------------------------------------------
out=$(create '{"desired_count":1,"max_price_per_node_hour":1100,"names":["roamer"],"any_zone":true,"node_type":"autoreserved"}')
is "$(json '.data[0] | [.zone, .status] | join(" ")' <<<"$out")" "richmond awaitingcapacity" "no zone has it at this price"
v2_sku cedar 8 '{"accelerator":"h100"}' >/dev/null
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host cedar1 cedar)/offers" '{"price_dollars_per_node_hour":"9.60"}' >/dev/null
before=$(money)
v2_clock $((AT + 9 * HOUR + 60))
is "$(as "$ACME" GET /v1/nodes/roamer | json '[.zone, .status, .current_vm.status, .node_type] | join(" ")')" "cedar pending Pending autoreserved" "once another has, it is there"
ok "and buys there" test "$(money)" -lt "$before"
is "$(as "$ACME" GET "/v0/procurements/$(as "$ACME" GET /v1/nodes/roamer | json .procurement_id)" | json '[.instance_type, .desired_quantity] | map(tostring) | join(" ")')" "cedar 1" "by the same procurement"
v2_clock $((AT + 9 * HOUR + 180))
is "$(as "$ACME" GET /v1/nodes/roamer | json '[.zone, .status, (.vms.data | length)] | map(tostring) | join(" ")')" "cedar pending 2" "where it gets its host, and stays"

# One that cannot move, as its pool buys the other zone's hardware already, does not hold up those after it.
out=$(create '{"desired_count":1,"max_price_per_node_hour":900,"names":["stuck"],"any_zone":true,"node_type":"autoreserved"}')
STUCK=$(as "$ACME" GET /v1/nodes/stuck | json .current_vm.id)
out=$(create '{"desired_count":1,"max_price_per_node_hour":900,"names":["next"],"any_zone":true,"node_type":"autoreserved"}')
v2_sku elm 8 '{"accelerator":"h100"}' >/dev/null
as "$ACME" POST /v2/procurements '{"pool":"stuck","instance_sku":"elm","target":0,"min_sell_price_dollars_per_node_hour":"0.60","max_buy_price_dollars_per_node_hour":"1.20","managed_window_minutes":60}' >/dev/null
is "$(http_status)" 201 "a second procurement of a node's pool"
as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host elm1 elm)/offers" '{"price_dollars_per_node_hour":"7.20"}' >/dev/null
v2_clock $((AT + 9 * HOUR + 240))
v2_clock $((AT + 9 * HOUR + 300))
is "$(as "$ACME" GET /v1/nodes/stuck | json '[.zone, .status, .current_vm.id] | join(" ")')" "richmond awaitingcapacity $STUCK" "a node that cannot move stays as it is"
is "$(as "$ACME" GET /v1/nodes/next | json '[.zone, .current_vm.status] | join(" ")')" "elm Pending" "and one after it moves"
marketd_account tight 100000.00
TIGHT=$(marketd_token tight)
# A move makes an instance, within the account's quota.
out=$(as "$TIGHT" POST /v1/nodes '{"desired_count":1,"max_price_per_node_hour":800,"names":["last"],"any_zone":true,"node_type":"autoreserved"}')
VM=$(json '.data[0] | [.zone, .status, .current_vm.id] | join(" ")' <<<"$out")
marketd_kill
marketd_start --test-clock=$((AT + 9 * HOUR + 300)) --quota tight:instances=1
v2_clock $((AT + 9 * HOUR + 360))
v2_sku fir 8 '{"accelerator":"h100"}' >/dev/null
for i in 1 2; do as "$FOUNDRY" POST "/np/v1/hosts/$(v2_host "fir$i" fir)/offers" '{"price_dollars_per_node_hour":"6.00"}' >/dev/null; done
cash=$(as "$TIGHT" GET /np/v1/balance | json .available_micros)
for i in 1 2 3; do v2_clock $((AT + 9 * HOUR + 360 + i * 60)); done
is "$(as "$TIGHT" GET /v1/nodes/last | json '[.zone, .status, .current_vm.id] | join(" ")') $(as "$TIGHT" GET /np/v1/balance | json .available_micros)" \
	"$VM $cash" "where it may not, the node waits on and buys nothing"
is "$(grep -c "quota 'instances'" "$MARKETD_LOG")" 1 "which the log says once"

# ---- After the end of the process ------------------------------------------------------------------------------------------------------
as "$ACME" GET /v1/nodes >"$TMP/before"
marketd_kill
marketd_start --test-clock=$((AT + 9 * HOUR + 540))
as "$ACME" GET /v1/nodes >"$TMP/after"
ok "after kill -9 all nodes are as they were" cmp "$TMP/before" "$TMP/after"

# ---- The rest of /v1 -----------------------------------------------------------------------------------------------------------------
operator POST /np/v1/accounts/poor/credits '{"amount_dollars":"0.019999"}' >/dev/null
out=$(as "$POOR" GET /v1/balances)
told v1.Balances "$out" "balances, as documented"
is "$(json '[.object, .available_balance_cents, .current_overage_cents] | map(tostring) | join(" ")' <<<"$out")" "balances 2001 0" "cents are rounded down, and a node that never ran cost nothing" ||
	diag "$(as "$POOR" GET /np/v1/balance)"
is "$(as "$ACME" GET /v1/account/me | json .id)" "$(as "$ACME" GET /np/v1/whoami | json .account_id)" "account/me"
out=$(as "$ACME" GET /v1/vms/images)
told v1.ImageList "$out" "images, as documented"
is "$(json '[.object, .data[0].name, .data[0].upload_status, .has_more] | map(tostring) | join(" ")' <<<"$out")" "list debian-12 completed false" "images"
is "$(as "$ACME" GET "/v1/vms/images/$(json '.data[0].image_id' <<<"$out")" | json .name)" debian-12 "one image"

# ---- At the quotas ---------------------------------------------------------------------------------------------------------------------
marketd_account small 100000.00
SMALL=$(marketd_token small)
v2_sku oak 8 '{"accelerator":"h100"}' >/dev/null
LATE=$((AT + 10 * HOUR))
for n in 1 2 3; do offer "$(v2_host oak$n oak)" 9.60 $LATE $((LATE + 5 * HOUR)); done
marketd_stop
marketd_start --test-clock --quota small:instances=2 --quota small:journal=1
three="{\"desired_count\":3,\"max_price_per_node_hour\":1100,\"names\":[\"s1\",\"s2\",\"s3\"],\"zone\":\"oak\",\"start_at\":$LATE,\"end_at\":$((LATE + HOUR))}"
out=$(as "$SMALL" POST /v1/nodes "$three")
refused 403 quota_exceeded "" "three nodes where two may be" "$out"
is "$(json .error.message <<<"$out")" \
	"account 'small' has 0 of 2 nodes (quota 'instances'); this request needs 3 more; delete some that have ended, or ask the operator for more" \
	"says how many it needs"
is "$(as "$SMALL" GET /v1/nodes | json '.data | length') $(as "$SMALL" GET /v2/pools | json '.data | length') $(as "$SMALL" GET /np/v1/balance | json .available_dollars)" \
	"0 0 100000.000000" "and none is bought"
as "$SMALL" POST /v1/nodes "$(jq -c '.desired_count = 1 | .names = ["s1"]' <<<"$three")" >/dev/null
is "$(http_status)" 201 "one is"
as "$SMALL" POST /v1/nodes '{"desired_count":1,"max_price_per_node_hour":1100,"names":["renews"],"zone":"oak"}' >/dev/null
is "$(http_status)" 201 "and one that renews itself"
was=$(as "$SMALL" GET /v1/nodes/s1 | json '[.status, .current_vm.id] | join(" ")')
out=$(as "$SMALL" PUT /v1/nodes/s1/redeploy '{}')
refused 403 quota_exceeded "" "its machine is not replaced then" "$out"
is "$(as "$SMALL" GET /v1/nodes/s1 | json '[.status, .current_vm.id] | join(" ")')" "$was" "and is not stopped"
printf '{"script":"%s"}' "$(head -c 60000 /dev/zero | tr '\0' A)" >"$TMP/script"
for ((i = 0; i < 50; i++)); do
	as "$SMALL" POST /v0/vms/script @"$TMP/script" >"$TMP/out"
	[ "$(http_status)" = 200 ] || break
done
is "$(http_status)" 429 "who has changed as much as a day may have"
out=$(as "$SMALL" PATCH /v1/nodes/renews/release)
is "$(http_status) $(json '[.status, .procurement_id] | map(tostring) | join(" ")' <<<"$out")" "200 released null" "can still release a node"
done_testing
