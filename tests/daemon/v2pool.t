#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# /v2/pools and /v2/procurements.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"

v2_start
S=$((NOW + 3600)) E=$((NOW + 7200))
n=0
for price in 12.000000 15.000000 15.000000 18.000000; do
	n=$((n + 1))
	v2_offer "$(v2_host "a$n" "$SKU")" "$price" >/dev/null
done

# ---- Making and finding ---------------------------------------------------------------------------
got=$(cat "$TMP/.pool")
shape PoolResponse "$got" "a pool has its shape"
shape AllocationSchedule "$(jq .allocation_schedule <<<"$got")" "so has its schedule"
is "$(json '[.object,.kind,.owner,.workspace,.name,.resource_path] | join(" ")' <<<"$got")" \
	"pool market acme default train sfc:pool:acme:default:train" "what it is and where"
is "$(json '[.allocation_schedule.total, .procurements, .deployments, .tags] | tojson' <<<"$got")" "[[],[],[],null]" "empty at first"
for name in "$POOL" "cap_${POOL#pool_}" train sfc:pool:acme:default:train; do
	is "$(as "$ACME" GET "/v2/pools/$name" | json .id)" "$POOL" "found as ${name%%_*}"
	refused 404 not_found id "not by a stranger" "$(as "$STRANGER" GET "/v2/pools/$name")"
done
for name in pool_0000000000001 sfc:pool:stranger:default:train sfc:pool:acme:prod:train sfc:instance:acme:default:train nobody; do
	refused 404 not_found id "there is no $name" "$(as "$ACME" GET "/v2/pools/$name")"
done
got=$(as "$ACME" POST /v2/pools '{"workspace":"sfc:workspace:acme:default","tags":{"team":"vision","tier":"1"}}')
is "$(http_status)" 201 "a pool without a name"
like "$(json .name <<<"$got")" '^pool-[0-9a-z]+$' "gets one"
is "$(json '.tags | tojson' <<<"$got")" '{"team":"vision","tier":"1"}' "tags are kept"
TAGGED=$(json .id <<<"$got")
is "$(as "$ACME" GET "/v2/pools/$(json .name <<<"$got")" | json .id)" "$TAGGED" "by which it is found"
make() { as "$ACME" POST /v2/pools "$1"; }
refused 422 name_taken name "a name that is taken" "$(make '{"name":"train","workspace":"default"}')"
is "$(as "$STRANGER" POST /v2/pools '{"name":"train","workspace":"default"}' | json .name)" train "another account may have the same"
refused 422 invalid name "a name with a blank" "$(make '{"name":"a b","workspace":"default"}')"
refused 422 invalid name "an empty name" "$(make '{"name":"","workspace":"default"}')"
refused 422 invalid name "a name of 256 bytes" "$(make "{\"name\":\"$(printf '%0256d' 0)\",\"workspace\":\"default\"}")"
is "$(make "{\"name\":\"$(printf '%0255d' 0)\",\"workspace\":\"default\"}" | json '.name | length')" 255 "one of 255 is"
refused 422 invalid name "a name like an id" "$(make '{"name":"pool_0000000000001","workspace":"default"}')"
refused 422 invalid workspace "no workspace" "$(make '{"name":"x"}')"
refused 404 not_found workspace "a stranger's workspace" "$(make '{"name":"x","workspace":"sfc:workspace:stranger:default"}')"
refused 422 unknown_field kind "a field that pools do not have" "$(make '{"name":"x","workspace":"default","kind":"originating"}')"
refused 422 invalid tags.a "a tag's value with a comma" "$(make '{"name":"x","workspace":"default","tags":{"a":"b,c"}}')"
refused 422 invalid tags "a tag's key with =" "$(make '{"name":"x","workspace":"default","tags":{"a=b":"c"}}')"
refused 403 forbidden "" "a token that may only read" "$(as "$(marketd_token acme read)" POST /v2/pools '{"name":"x","workspace":"default"}')"

# ---- Changing ---------------------------------------------------------------------------------------
got=$(as "$ACME" PATCH /v2/pools/train '{"tags":{"team":"speech"}}')
is "$(http_status) $(json '.name + " " + (.tags | tojson)' <<<"$got")" '200 train {"team":"speech"}' "tags alone"
got=$(as "$ACME" PATCH /v2/pools/train '{"name":"train2"}')
is "$(json '.id + " " + .name + " " + (.tags | tojson)' <<<"$got")" "$POOL train2 {\"team\":\"speech\"}" "the name alone"
is "$(as "$ACME" PATCH /v2/pools/train2 '{"name":"train2","tags":null}' | json '.tags | tojson')" '{"team":"speech"}' "null and its own name change nothing"
is "$(as "$ACME" PATCH /v2/pools/train2 '{"name":"train"}' | json .name)" train "and back"
refused 422 name_taken name "another's name" "$(as "$ACME" PATCH "/v2/pools/$TAGGED" '{"name":"train"}')"
refused 404 not_found id "a stranger may not" "$(as "$STRANGER" PATCH "/v2/pools/$POOL" '{"name":"mine"}')"

# ---- Schedules ----------------------------------------------------------------------------------------
as "$ACME" POST /v2/orders "$(order buy train 2 $S $E 15.0)" >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $E $((E + 3600)) 15.0)" >/dev/null
got=$(as "$ACME" GET /v2/pools/train)
is "$(json '.allocation_schedule.total | tojson' <<<"$got")" \
	"[{\"start_at\":$S,\"end_at\":$E,\"node_count\":2},{\"start_at\":$E,\"end_at\":$((E + 3600)),\"node_count\":1}]" "what it has, over time"
is "$(json '.allocation_schedule.by_instance_sku | tojson' <<<"$got")" \
	"{\"$SKU\":[{\"start_at\":$S,\"end_at\":$E,\"node_count\":2},{\"start_at\":$E,\"end_at\":$((E + 3600)),\"node_count\":1}]}" "by SKU"
v2_clock $((S + 1800))
is "$(as "$ACME" GET /v2/pools/train | json '.allocation_schedule.total[0].start_at')" $((S + 1800)) "what is past is not told"
is "$(as "$ACME" GET '/v2/pools/train?schedule_history_minutes=10' | json '.allocation_schedule.total[0] | tojson')" \
	"{\"start_at\":$((S + 1200)),\"end_at\":$E,\"node_count\":2}" "unless it is asked for"
refused 422 invalid schedule_history_minutes "not more than a day" "$(as "$ACME" GET '/v2/pools/train?schedule_history_minutes=1441')"
is "$(as "$FOUNDRY" GET /v2/pools/hosts-richmond | json '.kind + " " + (.allocation_schedule.total | length > 0 | tostring)')" \
	"originating true" "a pool of hosts is one too"
v2_clock $((S + 1860))

# ---- Deleting -------------------------------------------------------------------------------------------
refused 422 has_dependents "" "not while it has nodes" "$(as "$ACME" DELETE /v2/pools/train)"
refused 404 not_found id "a stranger may not" "$(as "$STRANGER" DELETE "/v2/pools/$POOL")"
is "$(as "$ACME" DELETE "/v2/pools/$TAGGED")$(http_status)" 204 "one that is empty"
refused 404 not_found id "is gone" "$(as "$ACME" GET "/v2/pools/$TAGGED")"
refused 404 not_found id "once" "$(as "$ACME" DELETE "/v2/pools/$TAGGED")"

# ---- Listing --------------------------------------------------------------------------------------------
for n in 1 2 3 4 5 6; do make "{\"name\":\"p$n\",\"workspace\":\"default\",\"tags\":{\"n\":\"$n\",\"odd\":\"$((n % 2))\"}}" >/dev/null; done
list() { as "$ACME" GET "/v2/pools?limit=200&$1" | json '[.data[].name] | join(" ")'; }
shape ListPoolsResponse "$(as "$ACME" GET /v2/pools)" "the list has its shape"
is "$(list '' | cut -d' ' -f1-6)" "p6 p5 p4 p3 p2 p1" "the newest first"
is "$(list tag=odd%3D1)|$(list 'tag=odd%3D1&tag=n%3D3')|$(list tag=n%3D9)" "p5 p3 p1|p3|" "by tag"
is "$(list tag_key=n)|$(list 'tag_key=n&tag=odd%3D0')|$(list tag_key=none)" "p6 p5 p4 p3 p2 p1|p6 p4 p2|" "by a tag's key"
is "$(list "id=p2&id=sfc:pool:acme:default:p4&id=$POOL")" "p4 p2 train" "by id, path and name, repeated"
is "$(as "$STRANGER" GET "/v2/pools?id=$POOL" | json '.data | length')" 0 "nobody else's"
refused 404 not_found workspace "nor another's workspace" "$(as "$STRANGER" GET '/v2/pools?workspace=sfc:workspace:acme:default')"
pages "$ACME" '/v2/pools?tag_key=n' 4
is "$(tr '\n' ' ' <<<"$out")$pages_count" "p6 p5 p4 p3 p2 p1 2" "pages of what fits, not of what is looked at"
first=$(as "$ACME" GET '/v2/pools?limit=2')
as "$ACME" DELETE /v2/pools/p5 >/dev/null
make '{"name":"p7","workspace":"default"}' >/dev/null
second=$(as "$ACME" GET "/v2/pools?limit=2&starting_after=$(json .cursor <<<"$first")")
is "$(json '[.data[].name] | join(" ")' <<<"$second")" "p4 p3" "the one at the end of a page may go: the next page is where it was"
back=$(as "$ACME" GET "/v2/pools?limit=2&ending_before=$(json .cursor <<<"$second")")
is "$(json '[(.data[].name), .has_more] | map(tostring) | join(" ")' <<<"$back")" "p7 p6 false" "back there is what is there now"
is "$(as "$ACME" GET "/v2/pools?ending_before=$(json .cursor <<<"$back")" | json '[.data, .cursor, .has_more] | tojson')" '[[],null,false]' "before the first there is nothing"

# ---- Procurements ------------------------------------------------------------------------------------------
proc() { # NAME TARGET MAX [MORE]
	as "$ACME" POST /v2/procurements "{\"name\":\"$1\",\"target\":$2,\"pool\":\"p1\",\"instance_sku\":\"$SKU\",
		\"min_sell_price_dollars_per_node_hour\":\"1.200000\",\"max_buy_price_dollars_per_node_hour\":\"$3\",
		\"managed_window_minutes\":30${4-}}"
}
got=$(proc keep 1 15.000000)
is "$(http_status)" 201 "a procurement is made"
shape ProcurementResponse "$got" "with its shape"
shape ReconciliationStatus "$(jq .status <<<"$got")" "so its status"
PROC=$(json .id <<<"$got")
is "$(json '[.name,.target,.pool.name,.capacity.name,.instance_sku.alias,.enabled,.managed_window_minutes,.status.state,.resource_path] | map(tostring) | join(" ")' <<<"$got")" \
	"keep 1 p1 p1 richmond true 30 info sfc:procurement:acme:default:keep" "what it is"
is "$(as "$ACME" GET /v2/pools/p1 | json '[.allocation_schedule.total[0].node_count, .procurements[0].name] | map(tostring) | join(" ")')" "1 keep" "it has bought"
is "$(as "$ACME" GET "/v2/orders?procurement=$PROC" | json '[.data[].np_procurement] | unique | join(" ")')" "$PROC" "by orders of its own"
is "$(as "$ACME" GET '/v2/orders?pool=p1' | json '.data | length')" 0 "which lists omit"
refused 409 wrong_state "" "a second one for the pool and SKU" "$(proc again 1 15.0)"
for name in "$PROC" keep sfc:procurement:acme:default:keep; do
	is "$(as "$ACME" GET "/v2/procurements/$name" | json .id)" "$PROC" "found as ${name%%_*}"
	refused 404 not_found id "not by a stranger" "$(as "$STRANGER" GET "/v2/procurements/$name")"
done
refused 404 not_found id "nor changed by one" "$(as "$STRANGER" PATCH "/v2/procurements/$PROC" '{"enabled":false}')"
refused 404 not_found id "nor deleted by one" "$(as "$STRANGER" DELETE "/v2/procurements/$PROC")"
refused 422 invalid target "a negative target" "$(proc x -1 15.0)"
refused 422 invalid target "a target that is no word of it" "$(proc x '"nodes"' 15.0)"
refused 422 invalid max_buy_price_dollars_per_node_hour "no price" "$(proc x 1 15)"
refused 422 invalid min_sell_price_dollars_per_node_hour "selling above buying" "$(proc x 1 0.5)"
refused 422 invalid managed_window_minutes "a window of 0" "$(as "$ACME" PATCH "/v2/procurements/$PROC" '{"managed_window_minutes":0}')"
got=$(as "$ACME" PATCH /v2/procurements/keep '{"name":"kept","max_buy_price_dollars_per_node_hour":"16.800000","managed_window_minutes":60,"enabled":false}')
is "$(json '[.name,.max_buy_price_dollars_per_node_hour,.min_sell_price_dollars_per_node_hour,.managed_window_minutes,.enabled,.status.state] | map(tostring) | join(" ")' <<<"$got")" \
	"kept 16.800000 1.200000 60 false info" "what is given is changed"
is "$(as "$ACME" POST /v2/procurements "{\"target\":\"node_count\",\"pool\":\"p2\",\"instance_sku\":\"$SKU\",\"enabled\":false,
	\"min_sell_price_dollars_per_node_hour\":\"0.0\",\"max_buy_price_dollars_per_node_hour\":\"1.0\",\"managed_window_minutes\":5}" | json .target)" node_count "as many as there are instances"
is "$(as "$ACME" POST /v2/procurements "{\"name\":\"cheap\",\"target\":2,\"pool\":\"p3\",\"instance_sku\":\"$SKU\",
	\"min_sell_price_dollars_per_node_hour\":\"0.0\",\"max_buy_price_dollars_per_node_hour\":\"1.0\",\"managed_window_minutes\":5}" |
	json '.status.state + " " + .np_reason')" "warning price_too_low" "one that cannot buy says why"
shape ListProcurementsResponse "$(as "$ACME" GET /v2/procurements)" "the list has its shape"
is "$(as "$ACME" GET '/v2/procurements?pool=p3' | json '[.data[].name] | join(" ")')" cheap "by pool"
pages "$ACME" /v2/procurements 1
is "$pages_count" 3 "in pages"
pages_back "$ACME" /v2/procurements 1 "$pages_last"
is "$(wc -l <<<"$out")" 2 "and back"
refused 422 invalid limit "at most 50 a page" "$(as "$ACME" GET '/v2/procurements?limit=51')"
refused 422 has_dependents "" "its pool cannot go" "$(as "$ACME" DELETE /v2/pools/p3)"
is "$(as "$ACME" DELETE /v2/procurements/cheap)$(http_status)" 204 "it can be deleted"
refused 404 not_found id "and is gone" "$(as "$ACME" GET /v2/procurements/cheap)"
is "$(as "$ACME" DELETE /v2/pools/p3)$(http_status)" 204 "then the pool can"

marketd_stop
is "$marketd_status" 0 "and the market ends well" || diag "$(tail -n 30 "$MARKETD_LOG")"
done_testing
