#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What machines measure: agents send it, a buyer sees it of his nodes while they are his, an owner of his machines, others
# nothing; the market loses nothing else with it. The agent is curl and openssl.
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
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
H1=$(as "$AGENT" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}' | json .id)
v2_offer "$H1" 2.00 >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + HOUR)) 20.0)" >/dev/null
INST=$(as "$ACME" POST /v2/instances "{\"name\":\"train-0\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
v2_clock $((NOW + 60))
is "$(as "$ACME" GET /np/v1/nodes/train-0 | json .id)" "$INST" "(a node is sold)"

# samples AT JSON: of one moment.
samples() { as "$AGENT" POST /np/v1/agent/samples "{\"samples\":[$(jq -c ". + {at: $1}" <<<"$2")]}"; }
# node_series FIELDS [QUERY]: of the buyer's node.
series() { as "$1" GET "/np/v1/series?$2"; }
mean() { jq -c --arg m "$1" '[.data[] | select(.metric == $m) | .mean | map(select(. != null))] | add'; }

# ---- What an agent sends ---------------------------------------------------------------------------------
BEGIN=$((NOW + 60))
one="{\"machine\":{\"cpu\":0.25,\"memory\":8589934592},\"gpus\":[{\"use\":0.9,\"power\":612},{\"use\":0.1}],
	\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":3.5,\"memory\":4294967296},\"gpus\":[{\"use\":0.9}]}]}"
samples $BEGIN "$one" >/dev/null
is "$(http_status)" 204 "an agent sends what it measured"
v2_clock $((BEGIN + 20))
out=$(as "$AGENT" POST /np/v1/agent/samples "{\"samples\":[{\"at\":$((BEGIN + 10)),\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":1.5}}]},
	{\"at\":$((BEGIN + 20)),\"machine\":{\"cpu\":0.75,\"warp_factor\":9}}]}")
is "$(http_status)" 204 "and several moments at once, with a metric of a later version"
v2_clock $((BEGIN + 600))
out=$(series "$ACME" "node=train-0&from=$BEGIN&to=$((BEGIN + 60))&step=10")
is "$(http_status)" 200 "the buyer asks for his node's"
told np.Series "$out" "(as documented)"
is "$(json '[.from, .step, (.data[0].mean | length)] | join(" ")' <<<"$out")" "$BEGIN 10 6" "from when, in which steps"
is "$(mean node.cpu <<<"$out")" '[3.5,1.5]' "it is what was sent"
is "$(json '[.data[] | "\(.metric) \(.unit) \(.gpu)"] | sort | join(", ")' <<<"$out")" \
	"node.cpu cores null, node.gpu.use ratio 0, node.memory bytes null" "of the node alone, with units"
is "$(mean node.memory <<<"$out" | jq '.[0] / 4294967296 | . * 1000 | round')" 1000 "large numbers are kept, too"
out=$(series "$ACME" "node=$INST&from=$BEGIN&to=$((BEGIN + 60))&step=60&metric=node.cpu")
is "$(json '[.data[0].mean[0], .data[0].largest[0], (.data | length)] | map(tostring) | join(" ")' <<<"$out")" "2.5 3.5 1" \
	"a minute has a mean and a largest; by id, and one metric alone"
out=$(series "$FOUNDRY" "agent=rack1&from=$BEGIN&to=$((BEGIN + 60))&step=10")
is "$(mean machine.cpu <<<"$out") $(jq -c '[.data[] | select(.metric == "gpu.use") | [.gpu, (.mean[0] * 1000 | round)]] | sort' <<<"$out")" \
	'[0.25,0.75] [[0,900],[1,100]]' "the owner sees his machine and its GPUs"
is "$(jq -c '[.data[] | select(.metric | startswith("node"))] | length' <<<"$out")" 0 "and no node of a buyer by that"
is "$(operator GET "/np/v1/series?agent=$AGT&from=$BEGIN&to=$((BEGIN + 60))" | mean machine.cpu)" '[0.25,0.75]' "so does the operator"

as "$ACME" POST /v2/instances "{\"name\":\"idle-0\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >/dev/null
out=$(series "$ACME" "node=idle-0&node=train-0&metric=node.cpu&from=$BEGIN&to=$((BEGIN + 60))&step=60")
is "$(json '[.data[] | [.node, .mean[0]]] | tostring' <<<"$out")" "[[\"$INST\",2.5]]" "of several nodes at once, where something is known"

# ---- Who sees nothing ---------------------------------------------------------------------------------------
for who in "$STRANGER" "$FOUNDRY"; do
	out=$(series "$who" "node=$INST")
	refused 404 not_found node "another account's node is none" "$out"
done
as "$STRANGER" GET "/np/v1/series?agent=$AGT" >/dev/null
is "$(http_status)" 403 "nor is a machine a buyer's"
as "$AGENT" GET "/np/v1/series?agent=$AGT" >/dev/null
is "$(http_status)" 403 "an agent only sends"
as "$ACME" POST /np/v1/agent/samples '{"samples":[{"at":1}]}' >/dev/null
is "$(http_status)" 403 "and only agents do"
as "$(marketd_token acme host)" GET "/np/v1/series?node=train-0" >/dev/null
is "$(http_status)" 403 "a token for machines alone reads no nodes"
OTHER=$(join "$(join_token)" rack2 "$(key two; echo two)" m2 | json .id)
S2=$(session "$OTHER" two 1 m2 | json .token)
as "$S2" POST /np/v1/agent/samples "{\"samples\":[{\"at\":$((BEGIN + 30)),\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":99}}]}]}" >/dev/null
is "$(http_status) $(series "$ACME" "node=train-0&from=$BEGIN&to=$((BEGIN + 60))&step=10" | mean node.cpu)" '204 [3.5,1.5]' \
	"another machine says nothing of this node"

# ---- The next tenant ------------------------------------------------------------------------------------------
# The first one's time ends; the second one has the host from the next minute on.
END=$((NOW + HOUR))
v2_clock $((END - 60))
samples $((END - 10)) "{\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":7}}]}" >/dev/null
v2_clock $((END - 30))
samples $((END + 20)) "{\"nodes\":[{\"id\":\"$INST\",\"measures\":{\"cpu\":9}}]}" >/dev/null
as "$STRANGER" POST /v2/pools '{"name":"next","workspace":"default"}' >/dev/null
as "$STRANGER" POST /v2/orders "$(order buy next 1 $END $((END + HOUR)) 20.0)" >/dev/null
NEXT=$(as "$STRANGER" POST /v2/instances "{\"name\":\"next-0\",\"pool\":\"next\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
v2_clock $((END + 30))
samples $((END + 10)) "{\"nodes\":[{\"id\":\"$NEXT\",\"measures\":{\"cpu\":2}},{\"id\":\"$INST\",\"measures\":{\"cpu\":8}}]}" >/dev/null
v2_clock $((END + 900))
is "$(series "$STRANGER" "node=next-0&from=$((END - 300))&to=$((END + 300))&step=10" | mean node.cpu)" '[2]' \
	"who comes next sees nothing of who was there before, whose machine's clock was ahead"
is "$(series "$STRANGER" "node=next-0&from=$((END - 600))&to=$((END + 600))&step=1500" | mean node.cpu)" '[]' \
	"nor in a mean that reaches back to him"
is "$(series "$ACME" "node=train-0&from=$((END - 300))&to=$((END + 300))&step=10" | mean node.cpu)" '[7,9]' "nor he of who comes next"

# ---- What is refused, dropped, or too much ---------------------------------------------------------------------
for bad in '{}' '{"samples":[]}' '{"samples":[{}]}' '{"samples":[{"at":"now"}]}' '{"samples":[{"at":1,"machine":{"cpu":"full"}}]}' \
	'{"samples":[{"at":1,"nodes":[{"measures":{}}]}]}' "{\"samples\":[$(printf '{"at":1},%.0s' {1..60}){\"at\":1}]}"; do
	as "$AGENT" POST /np/v1/agent/samples "$bad" >/dev/null
	is "$(http_status)" 422 "refused: ${bad:0:60}"
done
samples $((END + 90000)) '{"machine":{"cpu":1}}' >/dev/null
samples 5 '{"machine":{"cpu":1}}' >/dev/null
samples $((END + 900)) '{"machine":{"cpu":-1e300,"memory":1e300}}' >/dev/null
is "$(http_status) $(series "$FOUNDRY" "agent=rack1&metric=machine.cpu&from=$END&to=$((END + 1000))&step=10" | mean machine.cpu)" '204 [0]' \
	"what lies ahead of time or long ago is dropped, and odd numbers harm nothing"
for bad in 'node=train-0&agent=rack1' 'metric=node.cpu' 'node=train-0&metric=nothing' "node=train-0&from=$NOW&to=$NOW" \
	"node=train-0&from=0&to=$NOW&step=300" 'node=train-0&step=1'; do
	series "$ACME" "$bad" >/dev/null
	is "$(http_status)" 422 "refused: $bad"
done

# ---- The market ends, and its disk is full -----------------------------------------------------------------------
marketd_kill
marketd_start --test-clock=$NOW --rate 0 --agent-silent 86400 || exit 1
is "$(series "$ACME" "node=train-0&from=$BEGIN&to=$((BEGIN + 60))&step=10" | mean node.cpu)" '[3.5,1.5]' "a kill loses none of it"
: >"$MARKETD_DATA/series/$(basename "$(ls "$MARKETD_DATA"/series/*.ring | head -n 1)")"
is "$(series "$ACME" "node=train-0&from=$BEGIN&to=$((BEGIN + 60))&step=10" >/dev/null; http_status)" 200 "a lost file is no error"
rm -r "$MARKETD_DATA/series"
AGENT=$(session "$AGT" one 2 m1 | json .token)
out=$(samples $((END + 900)) '{"machine":{"cpu":0.5}}')
like "$(http_status) $out" '^503 ' "what cannot be written is told to the agent"
is "$(as "$AGENT" GET /np/v1/agent/work >/dev/null; http_status)" 200 "and all else goes on"
done_testing
