#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What all nodes of an account, or all machines of an owner, measured last, in one answer: how large it is, what is not
# known, and who sees nothing. The agent is curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

v2_start --rate 0 --agent-silent 86400
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
told() { shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1); is "$shape_why" "" "$3"; }
key one
AGT=$(join "$(join_token)" rack1 one m1 | json .id)
AGENT=$(session "$AGT" one 1 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 1664 17592186044416 246290604621824 '64 h100')" >/dev/null
for i in 1 2 3 4 5 6 7 8; do
	H=$(as "$AGENT" POST /np/v1/agent/hosts "{\"name\":\"h$i\",\"instance_sku\":\"richmond\"}" | json .id)
	v2_offer "$H" 16.80 >/dev/null
done
as "$ACME" POST /v2/orders "$(order buy train 8 $((NOW + 60)) $((NOW + HOUR)) 20.0)" >/dev/null
for i in 1 2 3 4 5 6 7 8; do
	as "$ACME" POST /v2/instances "{\"name\":\"train-$i\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id
done >"$TMP/ids"
v2_clock $((NOW + 60))
is "$(as "$ACME" GET /np/v1/nodes | json '[.data[].price_dollars_per_node_hour] | unique | join(" ")')" 16.800000 "what each node costs now"
told np.NodeList "$(as "$ACME" GET /np/v1/nodes)" "(as documented)"
INST=$(head -n 1 "$TMP/ids")
samples() { as "$AGENT" POST /np/v1/agent/samples "{\"samples\":[$(jq -c ". + {at: $1}" <<<"$2")]}" >/dev/null; is "$(http_status)" 204 "(samples at +$(($1 - NOW)))"; }
look() { as "$1" GET "/np/v1/samples${2:+?$2}"; }

# ---- Nothing is known ------------------------------------------------------------------------------------
out=$(look "$ACME")
is "$(jq -c '[(.data | length), .data[0].at, .data[0].measures, .data[0].gpus, .data[0].use]' <<<"$out")" '[8,null,{},[],[]]' \
	"a node of which nothing is known has no numbers"
told np.SampleList "$out" "(as documented)"

# ---- 64 GPUs ------------------------------------------------------------------------------------------------
gpu='{use: 0.874, memory: 7.1e10, memory_total: 8.5e10, temperature: 71, power: 612, power_limit: 700, clock: 1.7e9, throttled: 0, memory_errors: 0}'
whole=$(jq -nc --slurpfile ids <(jq -R . "$TMP/ids") "{machine: {cpu: 0.25, disk: 1e12}, gpus: [range(64) | $gpu],
	nodes: [\$ids[] | {id: ., measures: {cpu: 3.51, memory: 4e9, processes: 90, network_in: 1e6, network_out: 2e6}, gpus: [range(8) | $gpu]}]}")
v2_clock $((NOW + 1260))
for t in 60 600 630 660 1240 1250; do samples $((NOW + t)) "$whole"; done
out=$(look "$ACME")
told np.SampleList "$out" "64 GPUs in one answer"
is "$(jq -c '[.data[].gpus | length] | add' <<<"$out")" 64 "all of them"
is "$(jq -c '.data[0] | [.at, .measures.processes, (.gpus[7].temperature | round), (.gpus[0].use * 100 | round)]' <<<"$out")" \
	"[$((NOW + 1250)),90,71,87]" "the last sample, and when it was"
is "$(jq -c '.data[0] | [.step, (.cpu | length), (.use[3] | length), (.use | length)]' <<<"$out")" '[30,30,30,8]' "15 minutes as curves of 30 points"
is "$(jq -c '.data[0] | [.from, .use[0][28], .use[0][27], .use[0][29]]' <<<"$out")" "[$((NOW + 390)),0.87,null,null]" \
	"a point is the mean of its seconds; the last one has the present, of which nothing is known yet"
is "$(jq -c '.data[0] | [.use[0][:10][]] | map(. != null)' <<<"$out")" \
	'[false,false,false,false,false,false,false,true,true,true]' "where nothing was measured, nothing is said"
bytes=$(printf %s "$out" | wc -c)
diag "64 GPUs take $bytes bytes"
ok "64 GPUs take less than 40 kB" [ "$bytes" -lt 40000 ]
# The page asks for so many at once that no answer has more than 100 kB.
# page_has NAME BYTES ROWS FILE: so many bytes for so many rows, of as many as the page's file asks for.
page_has() {
	limit=$(sed -n "s/^const .*\b$1 = \([0-9]*\).*/\1/p" "$SRC/daemon/marketd/web/files/$4")
	ok "$limit of them are less than 100 kB for the page ($(($2 / $3)) bytes each)" [ $(($2 * ${limit:-999999} / $3)) -lt 100000 ]
}
page_has SAMPLES "$bytes" 8 nodes.js
page_has SAMPLES "$(look "$FOUNDRY" machines=true | wc -c)" 8 machines.js
as "$FOUNDRY" GET /np/v1/hosts >"$TMP/hosts"
page_has HOSTS "$(wc -c <"$TMP/hosts")" "$(jq '.data | length' "$TMP/hosts")" machines.js
brief() { as "$ACME" GET "/v2/orders?np_fills=$1" | jq -c '[.data[0] | (.fills | length), .filled_average_price_dollars_per_node_hour, .status]'; }
is "$(brief true) $(brief false)" "[8,\"16.800000\",\"filled\"] [0,\"16.800000\",\"filled\"]" "orders come without fills for the page, as there may be thousands"
like "$(cat "$SRC/daemon/marketd/web/files/money.js")" 'v2/orders\?limit=30&.*np_fills=false' "which asks for that"
page_has PAGE "$(as "$ACME" GET /np/v1/nodes | wc -c)" 8 nodes.js
as "$ACME" GET /np/v1/leases >"$TMP/leases"
page_has LEASES "$(wc -c <"$TMP/leases")" "$(jq '.data | length' "$TMP/leases")" nodes.js
is "$(look "$ACME" minutes=60 | jq -c '[.data[0].step, (.data[0].cpu | length)]')" '[120,30]' "an hour, if asked for"
is "$(look "$ACME" 'node=train-3&node=train-5' | jq -c '[.data[].node]')" "[\"$(sed -n 3p "$TMP/ids")\",\"$(sed -n 5p "$TMP/ids")\"]" "some of them, by name"
pages "$ACME" /np/v1/samples 3
is "$pages_count" 3 "a long list comes in pages"
is "$(as "$ACME" GET "/np/v1/samples?limit=3&starting_after=$(sed -n 3p "$TMP/ids")" | jq -c '[.data[].node]')" \
	"$(sed -n 4,6p "$TMP/ids" | jq -Rc . | jq -sc .)" "none is missing, none comes twice"

# ---- Some of it is lost ---------------------------------------------------------------------------------------
v2_clock $((NOW + 1320))
samples $((NOW + 1320)) "{\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":1},\"gpus\":[{},{\"use\":0.5}]}]}"
is "$(look "$ACME" node=train-1 | jq -c '.data[0] | [.at, .measures.cpu, .measures.memory, .gpus[0], .gpus[1].use, .gpus[1].power]')" \
	"[$((NOW + 1320)),1,null,{},0.5,null]" "what the last minute does not say is not known, and is no old number"
v2_clock $((NOW + 1320 + 880))
is "$(look "$ACME" node=train-1 | jq -c '.data[0] | [.at, .measures.cpu, (.gpus | length)]')" "[$((NOW + 1320)),1,2]" "a silent node's last sample keeps its time"
v2_clock $((NOW + 1320 + 960))
is "$(look "$ACME" node=train-1 | jq -c '.data[0] | [.at, .measures, .gpus]')" '[null,{},[]]' "and is forgotten after 15 minutes"

# ---- Machines ---------------------------------------------------------------------------------------------------
samples $((NOW + 2280)) "$whole"
out=$(look "$FOUNDRY" machines=true)
told np.SampleList "$out" "an owner's machines"
is "$(jq -c '.data | [length, .[0].node, .[0].agent, .[0].measures.cpu, (.[0].gpus | length), (.[0].use | length), .[0].cpu[29]]' <<<"$out")" \
	"[1,null,\"$AGT\",0.25,64,64,0.25]" "with GPUs and curves"
is "$(jq -c '.data[0].gpu_hosts' <<<"$out")" '[]' "whose node has which GPU is not told where no agent says it"
numbered=$(jq -c '.nodes |= [.[:2] | to_entries[] | .key as $n | .value | .gpus |= [to_entries[] | .value + {machine_gpu: ((1 - $n) * 8 + .key)}]]' <<<"$whole")
v2_clock $((NOW + 2290))
samples $((NOW + 2290)) "$numbered"
out=$(look "$FOUNDRY" machines=true)
told np.SampleList "$out" "an owner's machines whose nodes say it"
is "$(jq -c '.data[0].gpu_hosts | [length, (map(.gpu) | sort | . == [range(16)]), (group_by(.host) | map([length, .[0].name, (map(.gpu) | min)]))]' <<<"$out")" \
	'[16,true,[[8,"h1",8],[8,"h2",0]]]' "which host's node has which of its GPUs"
is "$(look "$ACME" node=train-2 | jq -c '.data[0] | [[.gpus[].machine_gpu], .gpu_hosts]')" '[[0,1,2,3,4,5,6,7],[]]' "a buyer sees his node's, and no others"
is "$(jq -c '[.data[0].gpu_hosts[] | keys[]] | unique' <<<"$out")" '["gpu","host","name"]' "an owner hears of hosts, not whose nodes they have"
v2_clock $((NOW + 2400))
is "$(look "$FOUNDRY" machines=true | jq -c '.data[0].gpu_hosts')" '[]' "two minutes later nobody knows"
is "$(jq -c '.data[0].measures | keys' <<<"$out")" '["cpu","disk"]' "and none of a buyer's"
is "$(operator GET '/np/v1/samples?machines=true' | jq -c '[.data[].agent]')" "[\"$AGT\"]" "the operator sees all machines"
is "$(operator GET '/np/v1/samples?account=acme' | jq -c '.data | length')" 8 "and an account's nodes"
out=$(operator GET /np/v1/samples)
refused 422 invalid account "whose account has to be said" "$out"

# ---- Who sees nothing ---------------------------------------------------------------------------------------------
is "$(look "$STRANGER" | jq -c .data)" '[]' "a stranger has none"
out=$(look "$STRANGER" node="$INST")
refused 404 not_found node "and another account's node is none" "$out"
out=$(look "$STRANGER" machines=true)
is "$(http_status)" 403 "nor does a buyer see machines"
look "$AGENT" >/dev/null
is "$(http_status)" 403 "an agent only sends"
look "$(marketd_token acme host)" >/dev/null
is "$(http_status)" 403 "a token for machines alone reads no nodes"
for bad in minutes=0 minutes=61 limit=0 starting_after=train-1 machines=maybe; do
	look "$FOUNDRY" "$bad" >/dev/null
	is "$(http_status)" 422 "refused: $bad"
done

# ---- The next tenant ------------------------------------------------------------------------------------------------
END=$((NOW + HOUR))
v2_clock $((END - 60))
samples $((END - 10)) "$whole"
as "$STRANGER" POST /v2/pools '{"name":"next","workspace":"default"}' >/dev/null
as "$STRANGER" POST /v2/orders "$(order buy next 8 $END $((END + HOUR)) 20.0)" >/dev/null
as "$STRANGER" POST /v2/instances "{\"name\":\"next-0\",\"pool\":\"next\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >/dev/null
v2_clock $((END + 30))
is "$(look "$STRANGER" | jq -c '.data[0] | [.at, .measures, .gpus, ([.cpu[], .use[][]] | map(select(. != null)))]')" '[null,{},[],[]]' \
	"who comes next sees nothing of who was there before"
is "$(look "$ACME" | jq -c .data)" '[]' "whose nodes have ended"
done_testing
