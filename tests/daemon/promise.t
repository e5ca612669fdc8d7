#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A type is a contract: a machine offers no more nodes of it than it holds. The agents are curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

GIB=1073741824
WELL='{"health":"ok","driver":"ns","nodes":0,"unknown":0,"oldest_unknown_seconds":0,"rss_bytes":1}'
v2_start --rate 0 --agent-silent 86400
told() { shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1); is "$shape_why" "" "$3"; }
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"

# agent NAME: joins one; its id is in $AGENT, its session's token in $S.
agent() {
	key "$1"
	AGENT=$(join "$(join_token)" "$1" "$1" "$1" | json .id)
	S=$(session "$AGENT" "$1" 1 "$1" | json .token)
}
# has TOKEN CAPACITY…: the agent reports its inventory. host TOKEN NAME TYPE: registers one; prints the answer.
has() { has_token=$1; shift; as "$has_token" PUT /np/v1/agent/inventory "$(capacity "$@")" >/dev/null; is "$(http_status)" 204 "(it has $*)"; }
# has_less CAPACITY…: it still does so ten minutes later, which the market believes.
has_less() { has "$S" "$@"; v2_clock $(($(curl -sS "$NANOPOD_URL/np/v1" | json .now) + 600)); has "$S" "$@"; }
host() { as "$1" POST /np/v1/agent/hosts "{\"name\":\"$2\",\"instance_sku\":\"$3\"}"; }
taken() { host "$1" "$2" "$3" >"$TMP/taken"; is "$(http_status)" 201 "$4"; HOST=$(json .id <"$TMP/taken"); }
says() { like "$(json .error.message <<<"$out")" "$1" "$2"; }
offer() { as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" '{"price_dollars_per_node_hour":"1.00"}'; }
on_sale() { as "$FOUNDRY" GET "/np/v1/hosts/$1" | json '[.schedule[].state] | unique | join(",")'; }

# ---- What a type promises ---------------------------------------------------------------------------------
out=$(operator POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"num_vcpus":2,"memory":4294967296,"local_storage":21474836480,
	"requires":{"inodes":1000000,"network_mbps":1000,"overcommit":null,"features":["kvm"]}}}')
is "$(http_status) $(jq -c .np_requires <<<"$out")" '201 {"features":["kvm"],"inodes":1000000,"network_mbps":1000}' "a type promises what its properties cannot say"
shape InstanceSku "$out" "(as documented)"
CPU=$(json .id <<<"$out")
is "$(curl -sS -H "Authorization: Bearer $ACME" "$NANOPOD_URL/v2/instance_skus/$CPU" | json .np_requires.inodes)" 1000000 "buyers see it"
sku() { operator POST /np/v1/skus "{\"alias\":\"$1\",\"gpus\":$2,\"properties\":$3}"; }
out=$(sku x 0 '{"requires":{"colour":"red"}}')
refused 422 unknown_field properties.requires.colour "a promise that nobody knows is refused" "$out"
out=$(sku x 0 '{"requires":{"overcommit":17},"num_vcpus":1}')
refused 422 invalid properties.requires.overcommit "so is one that is too much" "$out"
out=$(sku x 0 '{"requires":{"overcommit":2}}')
refused 422 invalid properties.requires.overcommit "cores are shared where there are any" "$out"
out=$(sku x 8 '{"requires":{"gpu_vendor":"acme"}}')
refused 422 invalid properties.requires.gpu_vendor "a vendor that nobody knows" "$out"
out=$(sku x 0 '{"requires":{"gpu_memory":1}}')
refused 422 invalid properties.requires "GPUs that are none have no memory" "$out"
out=$(sku x 0 '{"requires":{"features":["wings"]}}')
refused 422 invalid properties.requires.features.0 "a feature that nobody knows" "$out"
operator PATCH "/np/v1/skus/$CPU" '{"properties":{"requires":{"inodes":5,"features":null}}}' >"$TMP/.made"
is "$(http_status) $(jq -c .np_requires <"$TMP/.made")" '200 {"inodes":5,"network_mbps":1000}' "a change replaces what it names"
operator PATCH "/np/v1/skus/$CPU" '{"properties":{"requires":null}}' >"$TMP/.made"
is "$(http_status) $(jq -c .np_requires <"$TMP/.made")" '200 null' "or removes all of it"

# ---- The liar, and the machine with two cores -----------------------------------------------------------------
agent old
as "$S" PUT /np/v1/agent/inventory '{"sold_as":"8x h100 sxm","gpus":[]}' >/dev/null
out=$(host "$S" old-1 richmond)
refused 422 no_room instance_sku "a machine that does not say what it has registers nothing that promises something" "$out"
says "nobody knows whether this machine holds .*; update nanopod-agentd" "and is told what to do"
BARE=$(sku bare 0 '{}' | json .id)
taken "$S" old-1 bare "but what promises nothing"
operator PATCH "/np/v1/skus/$BARE" '{"properties":{"num_vcpus":2}}' >"$TMP/.made"
is "$(http_status)" 200 "(which then does)"
is "$(as "$FOUNDRY" GET /np/v1/agents/old | jq -c '[.hosts[0].fits, .room]')" '[null,null]' "its owner sees that nobody checked that host"
agent liar-1
has "$S" 256 $((4096 * GIB)) $((40960 * GIB))
out=$(host "$S" liar-1 richmond)
refused 422 no_room instance_sku "a machine without a GPU is no h100" "$out"
says "no room for a node of type 'richmond' \(8 h100 GPUs, 208 vCPUs, 2 TiB memory, 28 TiB disk\): it has no GPU" "and is told so"
as "$S" PUT /np/v1/agent/inventory "$(capacity 256 $((4096 * GIB)) $((40960 * GIB)) '8 h100' | jq -c '.capacity.devices = false | .capacity.driver = "process"')" >/dev/null
out=$(host "$S" liar-1 richmond)
refused 422 no_room instance_sku "nor one whose driver gives nodes no devices" "$out"
says "its driver process gives nodes no GPUs; run nanopod-agentd with a driver that does" "and is told so"
as "$S" PUT /np/v1/agent/inventory "$(capacity 256 $((4096 * GIB)) $((40960 * GIB)) '8 h100' | jq -c '.capacity.devices = false |
	.capacity.driver = "vm" | .capacity.no_gpus = "the IOMMU is off: turn on VT-d in the BIOS and boot with intel_iommu=on"')" >/dev/null
out=$(host "$S" liar-1 richmond)
refused 422 no_room instance_sku "nor one whose guests can have none" "$out"
says "its driver vm gives nodes no GPUs: the IOMMU is off: turn on VT-d in the BIOS and boot with intel_iommu=on" "and is told what to turn on"
as "$S" PUT /np/v1/agent/inventory "$(capacity 256 $((4 * GIB)) $((40960 * GIB)) | jq -c '.capacity.driver = "vm" | .capacity.node_memory_bytes = 1048576')" >/dev/null
out=$(host "$S" liar-1 cpu)
refused 422 no_room instance_sku "nor one that has the node's memory, and not what its driver takes beside it" "$out"
says "it has 4 GiB of memory for nodes" "and is told so"
sku fast 0 '{"requires":{"network_mbps":80}}' >/dev/null
as "$S" PUT /np/v1/agent/inventory "$(capacity 256 $((4 * GIB)) $((40960 * GIB)) | jq -c '.capacity.driver = "vm" | .capacity.network = false')" >/dev/null
out=$(host "$S" liar-1 fast)
refused 422 no_room instance_sku "nor one whose driver limits no network" "$out"
says "its driver vm limits no network; run nanopod-agentd as root, with driver ns or vm" "and is told so"
has "$S" 256 $((4096 * GIB)) $((40960 * GIB)) '8 a100'
out=$(host "$S" liar-1 richmond)
says "it has 8 nvidia a100" "nor one of another model"
has "$S" 256 $((4096 * GIB)) $((40960 * GIB)) '4 h100'
as "$S" PUT /np/v1/agent/inventory '{"sold_as":"8x h100 sxm","gpus":[]}' >/dev/null
out=$(host "$S" liar-1 richmond)
refused 422 no_room instance_sku "what it has said once holds, though it says no more" "$out"
says "it has 4 such GPUs" "nor one with half of them"

agent two
has "$S" 2 $((22 * GIB)) $((60 * GIB))
taken "$S" a cpu "a machine with two cores has room for a node of two vCPUs"
A=$HOST
told np.Host "$(cat "$TMP/taken")" "(as documented)"
out=$(host "$S" b cpu)
refused 422 no_room instance_sku "not for the next" "$out"
says "^this machine has room for 1 node of type 'cpu' \(2 vCPUs, 4 GiB memory, 20 GiB disk\): it has 2 vCPUs, and 2 of them are promised to host 'a'$" \
	"and it is told what it has room for"
host "$S" a cpu >/dev/null
is "$(http_status)" 200 "the one that it has is not counted against itself"
is "$(as "$S" GET /np/v1/agent/work | jq -c '.hosts[0].resources')" \
	'{"vcpus":2,"overcommit":1,"memory_bytes":4294967296,"disk_bytes":21474836480}' "its agent hears what to give a node"
told np.Work "$(as "$S" GET /np/v1/agent/work)" "(as documented)"
out=$(as "$FOUNDRY" GET /np/v1/agents/two)
is "$(jq -c '[.room.has.vcpus, .room.promised.vcpus, .room.left.vcpus, .room.left.memory_bytes / 1073741824, .room.left.disk_bytes / 1073741824, .hosts[0].fits]' <<<"$out")" \
	'[2,2,0,18,40,true]' "its owner sees what is promised and what is left"
told np.Agent "$out" "(as documented)"
is "$(as "$FOUNDRY" GET /np/v1/agents | jq -c '[.data[].room] | unique')" '[null]' "one machine at a time"

# ---- Sums ---------------------------------------------------------------------------------------------------------
sku shared 0 '{"num_vcpus":2,"requires":{"overcommit":4}}' >"$TMP/.made"
sku big 0 '{"memory":8589934592}' >"$TMP/.made"
sku wide 0 '{"local_storage":32212254720}' >"$TMP/.made"
sku plain 0 '{"region":"here"}' >"$TMP/.made"
agent sums
has "$S" 2 $((10 * GIB)) $((50 * GIB))
for i in 1 2 3 4; do taken "$S" "s$i" shared "four share a core: number $i"; done
out=$(host "$S" s5 shared)
says "room for 4 nodes of type 'shared' \(2 vCPUs \(4 share a core\)\): it has 2 vCPUs, and 2 of them are promised to 's1' and 3 more hosts" "not the fifth"
taken "$S" b1 big "memory is another matter"
out=$(host "$S" b2 big)
says "it has 10 GiB of memory for nodes, and 8 GiB of it is promised to host 'b1'" "and never shared"
taken "$S" w1 wide "so is the disk"
out=$(host "$S" w2 wide)
says "it has 50 GiB of disk for nodes, and 30 GiB of it is promised to host 'w1'" "never shared either"
for i in 1 2 3; do taken "$S" "p$i" plain "a type that promises nothing always has room: $i"; done

sku one 1 '{"accelerator":"h100"}' >"$TMP/.made"
sku large 1 '{"accelerator":"h100","requires":{"gpu_vendor":"nvidia","gpu_memory":150000000000}}' >"$TMP/.made"
sku any 1 '{}' >"$TMP/.made"
agent gpus
as "$S" PUT /np/v1/agent/inventory '{"capacity":{"vcpus":1,"memory_bytes":1,"disk_bytes":1,"driver":"ns","devices":true,"gpus":[
	{"vendor":"nvidia","model":"H100","memory_bytes":85000000000,"count":1},{"vendor":"nvidia","model":"h100","memory_bytes":150000000000,"count":1},
	{"vendor":"amd","model":"mi300x","memory_bytes":190000000000,"count":1}]}}' >/dev/null
taken "$S" g1 any "any GPU is taken first"
taken "$S" g2 one "then one of two"
taken "$S" g3 large "and still there is the one that alone would do"
out=$(host "$S" g4 any)
refused 422 no_room instance_sku "three GPUs are for three" "$out"
says "it has 3 such GPUs" "and all are counted"

# ---- Shares of a GPU ----------------------------------------------------------------------------------------------
out=$(sku x 8 '{"requires":{"share":"1/4"}}')
refused 422 invalid properties.requires.share "a share is one of one GPU" "$out"
for share in 1/1 1/17 2/4 mig: mig:1g mig:0g.10gb mig:1g.10gb+ "mig:1g.10gb me"; do
	out=$(sku x 1 "{\"requires\":{\"share\":\"$share\"}}")
	refused 422 invalid properties.requires.share "not of '$share'" "$out"
done
sku quarter 1 '{"accelerator":"h100","requires":{"gpu_vendor":"nvidia","share":"1/4"}}' >"$TMP/.made"
sku halves 1 '{"accelerator":"h100","requires":{"share":"1/2"}}' >"$TMP/.made"
export NANOPOD_TOKEN=$ACME HOME=$TMP XDG_CONFIG_HOME=$TMP
like "$("$BUILD/nanopod" types | grep quarter)" "quarter .* 1/4" "'nanopod types' shows it"
like "$("$BUILD/nanopod" price -t quarter -d 1h 2>&1)" "each +1/4 of a h100 GPU .a share of its speed: for people who trust each other." "'nanopod price' says what kind of wall it is"
agent sharer
SHARER='{"capacity":{"vcpus":1,"memory_bytes":1,"disk_bytes":1,"driver":"ns","devices":true,%s"gpus":[{"vendor":"nvidia","model":"h100","memory_bytes":85000000000,"count":2}]}}'
# shellcheck disable=SC2059  # the format is the inventory
as "$S" PUT /np/v1/agent/inventory "$(printf "$SHARER" '')" >/dev/null
out=$(host "$S" q1 quarter)
refused 422 no_room instance_sku "a machine that cannot share GPUs has no room" "$out"
says "its nodes cannot share a GPU" "and is told why"
# shellcheck disable=SC2059
as "$S" PUT /np/v1/agent/inventory "$(printf "$SHARER" '"shares":"nvidia",')" >/dev/null
for i in 1 2 3 4; do taken "$S" "q$i" quarter "one that can: quarter $i"; done
is "$(as "$S" GET /np/v1/agent/work | jq -Sc '[.hosts[].resources.gpu] | unique')" \
	'[{"count":1,"model":"h100","share":"1/4","vendor":"nvidia"}]' "its agent is told"
taken "$S" qw one "the other GPU is whole"
out=$(host "$S" q5 quarter)
refused 422 no_room instance_sku "a fifth quarter would be more than one GPU" "$out"
says "1/4 of a nvidia h100 GPU.: it has 2 such GPUs, and 2 of them are promised" "and is told what is promised"
as "$FOUNDRY" DELETE "/np/v1/hosts/$HOST" >/dev/null
taken "$S" q6 halves "without the whole one there is room for a half"
taken "$S" q7 halves "and another"
out=$(host "$S" q8 one)
refused 422 no_room instance_sku "but not for a whole one beside shares" "$out"

# ---- Slices of a GPU -----------------------------------------------------------------------------------------------
out=$(sku x 8 '{"requires":{"share":"mig:1g.10gb"}}')
refused 422 invalid properties.requires.share "a slice is one of one GPU" "$out"
out=$(sku x 1 '{"requires":{"gpu_vendor":"amd","share":"mig:1g.10gb"}}')
refused 422 invalid properties.requires.share "and of NVIDIA's" "$out"
sku seventh 1 '{"accelerator":"h100","requires":{"gpu_vendor":"nvidia","share":"mig:1g.10gb"}}' >"$TMP/.made"
sku third 1 '{"accelerator":"h100","requires":{"share":"mig:2g.20gb"}}' >"$TMP/.made"
sku media 1 '{"accelerator":"h100","requires":{"share":"mig:1g.10gb+me"}}' >"$TMP/.made"
like "$("$BUILD/nanopod" types | grep seventh)" "seventh .* mig:1g.10gb" "'nanopod types' shows it"
like "$("$BUILD/nanopod" price -t seventh -d 1h 2>&1)" "each +mig:1g.10gb of a h100 GPU .a slice: hardware of its own." "'nanopod price' says what kind of wall it is"
out=$(host "$S" m0 seventh)
refused 422 no_room instance_sku "a machine whose GPUs have no MIG has no room" "$out"
says "a slice mig:1g.10gb of a nvidia h100 GPU.: it has 2 nvidia h100, without slices" "and is told what it has"
agent cutter
SLICES='"slices":[{"profile":"1g.10gb","count":7},{"profile":"2g.20gb","count":3},{"profile":"rm -rf","count":1}],'
CUTTER='{"capacity":{"vcpus":1,"memory_bytes":1,"disk_bytes":1,"driver":"ns","devices":true,"shares":"","gpus":[{%s"vendor":"nvidia","model":"h100","memory_bytes":85000000000,"count":2}]}}'
# shellcheck disable=SC2059  # the format is the inventory
as "$S" PUT /np/v1/agent/inventory "$(printf "$CUTTER" "$SLICES")" >/dev/null
out=$(host "$S" m0 media)
refused 422 no_room instance_sku "a slice that its GPUs do not have" "$out"
says "it has 2 nvidia h100, which can be cut into mig:1g.10gb, mig:2g.20gb" "and what they have"
for i in 1 2 3 4 5 6 7; do taken "$S" "m$i" seventh "seven of one GPU: $i"; done
is "$(as "$S" GET /np/v1/agent/work | jq -Sc '[.hosts[].resources.gpu] | unique')" \
	'[{"count":1,"model":"h100","share":"mig:1g.10gb","vendor":"nvidia"}]' "its agent is told"
for i in 1 2 3; do taken "$S" "k$i" third "three of another size of the other GPU: $i"; done
out=$(host "$S" m8 seventh)
refused 422 no_room instance_sku "an eighth would be more than one GPU" "$out"
says "it has 2 such GPUs, and 2 of them are promised" "and is told what is promised"
out=$(host "$S" k4 third)
refused 422 no_room instance_sku "a fourth of the other size, too" "$out"
out=$(host "$S" mw one)
refused 422 no_room instance_sku "and so is a whole one" "$out"
# shellcheck disable=SC2059
as "$S" PUT /np/v1/agent/inventory "$(printf "$CUTTER" "")" >/dev/null
is "$(as "$FOUNDRY" GET /np/v1/agents/cutter | jq -c '.inventory.capacity.gpus[0].slices[0]')" '{"count":7,"profile":"1g.10gb"}' \
	"a report that does not tell of slices takes none back"

# ---- On sale ---------------------------------------------------------------------------------------------------------
agent shrinks
has "$S" 6 $((12 * GIB)) $((60 * GIB))
for i in 1 2 3; do taken "$S" "n$i" cpu "(n$i)"; eval "N$i=$HOST"; done
offer "$N2" >/dev/null; offer "$N3" >/dev/null
is "$(on_sale "$N1") $(on_sale "$N2") $(on_sale "$N3")" "idle on_sale on_sale" "two of three are on sale"
has "$S" 2 $((12 * GIB)) $((60 * GIB))
as "$S" POST /np/v1/agent/status "$WELL" >/dev/null
is "$(on_sale "$N2") $(on_sale "$N3")" "on_sale on_sale" "a machine that has less for a moment loses no offer"
like "$(as "$FOUNDRY" GET /np/v1/agents/shrinks | json .status.message)" "holds less than its hosts on sale promise" "but its owner is warned"
v2_clock $((NOW + 300))
has "$S" 6 $((12 * GIB)) $((60 * GIB))
has "$S" 2 $((12 * GIB)) $((60 * GIB))
v2_clock $((NOW + 600))
as "$S" PUT /np/v1/agent/inventory '{"capacity":{"vcpus":2,"memory_bytes":-1,"disk_bytes":null}}' >/dev/null
is "$(on_sale "$N2") $(on_sale "$N3")" "on_sale on_sale" "minutes count since it last had enough, and what it does not know stays"
v2_clock $((NOW + 900))
has "$S" 2 $((12 * GIB)) $((60 * GIB))
is "$(on_sale "$N2") $(on_sale "$N3")" "on_sale idle" "one that has less ten minutes later sells less"
out=$(as "$FOUNDRY" GET '/np/v1/events?limit=1000' | jq -cs '[.[] | select(.type == "order.closed" and .reason == "no_room")] | .[0]')
like "$(json .message <<<"$out")" "^the market withdrew this offer: .* 'nanopod host status' shows what it holds, 'nanopod host offer' sells it again$" \
	"an event tells the seller why, and what to type"
told np.Event "$out" "(as documented)"
as "$S" POST /np/v1/agent/status "$WELL" >/dev/null
like "$(as "$FOUNDRY" GET /np/v1/agents/shrinks | json .status.message)" "^the market withdrew offers that this machine no longer holds" "so does the machine's status"
is "$(as "$FOUNDRY" GET /np/v1/agents/shrinks | jq -c '[.hosts[] | [.name, .fits]]')" '[["n1",false],["n2",true],["n3",false]]' "its owner sees which do not fit"
out=$(offer "$N3")
refused 422 no_room '' "they are not offered again" "$out"
says "^the machine of host 'n3' has room for 1 node of type 'cpu' .* 2 of them are promised to host 'n2'" "and he hears why"
SKU_CPU=$CPU
sell() { printf '{"pool":"hosts-cpu","side":"sell","instance_sku":"%s","allocation_schedule_delta":[{"start_at":%s,"end_at":%s,"node_count":1}],"limit_price_dollars_per_node_hour":"1.00","allow_standing":true}' "$SKU_CPU" $((NOW + 60)) $((NOW + HOUR)); }
out=$(as "$FOUNDRY" POST /v2/orders "$(sell)")
refused 422 no_room '' "nor by an order for the whole pool" "$out"
has "$S" 6 $((12 * GIB)) $((60 * GIB))
offer "$N3" >/dev/null
is "$(http_status)" 201 "whole again, they are"
is "$(as "$FOUNDRY" GET /np/v1/agents/shrinks | json .status.message)" null "and nothing is wrong with it"

v2_clock $((NOW + 960)) # what was offered begins
# What is sold stays; what is not sold of it is no longer on sale.
as "$ACME" POST /v2/orders "{\"pool\":\"train\",\"side\":\"buy\",\"instance_sku\":\"$CPU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 1020)),\"end_at\":$((NOW + HOUR)),\"node_count\":2}],\"limit_price_dollars_per_node_hour\":\"2.00\"}" >/dev/null
is "$(http_status) $(on_sale "$N2") $(on_sale "$N3")" "201 on_sale,sold on_sale,sold" "both are sold for an hour"
has_less 0 0 0
is "$(on_sale "$N2") $(on_sale "$N3")" "idle,sold idle,sold" "a machine that has nothing keeps what it sold and sells no more"
out=$(operator PATCH "/np/v1/skus/$CPU" '{"properties":{"memory":1073741824}}')
refused 422 has_dependents '' "what is sold of a type is not made less" "$out"
operator PATCH "/np/v1/skus/$CPU" '{"properties":{"region":"north"}}' >/dev/null
is "$(http_status)" 200 "what is no promise may change"
v2_clock $((NOW + 2 * HOUR))
has "$S" 6 $((12 * GIB)) $((60 * GIB))
offer "$N2" >/dev/null; offer "$N3" >/dev/null
v2_clock $((NOW + 2 * HOUR + 600))
has_less 0 0 0 # some of what was on sale is past
is "$(on_sale "$N2") $(on_sale "$N3")" "idle idle" "offers of some minutes ago end, too, all of them"
has "$S" 6 $((12 * GIB)) $((60 * GIB))
offer "$N1" >/dev/null; offer "$N2" >/dev/null; offer "$N3" >/dev/null
out=$(operator PATCH "/np/v1/skus/$CPU" '{"properties":{"memory":8589934592}}')
refused 422 no_room '' "nor more than the machines hold on which it is on sale" "$out"
says "the machine of host 'n2' has room for 1 node" "and the operator hears where"
operator PATCH "/np/v1/skus/$CPU" '{"properties":{"memory":2147483648}}' >/dev/null
is "$(http_status)" 200 "else it may"
SHRINKS=$S

# ---- Inventories of others ------------------------------------------------------------------------------------------------
agent odd
odd() {
	as "$S" PUT /np/v1/agent/inventory "$1" >"$TMP/odd"
	is "$(http_status)" "${3-204}" "$2"
	[ -n "${3-}" ] || { host "$S" odd cpu >"$TMP/odd"; is "$(http_status) $(json .error.code <"$TMP/odd")" "422 no_room" "(and it has no room)"; }
}
odd '{"capacity":{}}' "nothing"
odd '{"capacity":"all of it"}' "a text"
odd '{"capacity":[]}' "a list"
odd '{"capacity":null}' "null"
odd '{"capacity":{"vcpus":"2","memory_bytes":true,"disk_bytes":{}}}' "numbers that are none"
odd '{"capacity":{"vcpus":2.5,"memory_bytes":1e18,"disk_bytes":1e300}}' "numbers with a point"
odd '{"capacity":{"vcpus":-9223372036854775808,"memory_bytes":-1,"disk_bytes":-1}}' "numbers below zero"
odd '{"capacity":{"vcpus":9223372036854775808,"memory_bytes":1,"disk_bytes":1}}' "a number that is too large is no JSON of ours" 400
odd '{"capacity":{"vcpus":9223372036854775807,"memory_bytes":9223372036854775807,"disk_bytes":0,"gpus":7}}' "the largest numbers"
GPU='{"vendor":"nvidia","model":"h100","memory_bytes":9223372036854775807,"count":9223372036854775807}'
as "$S" PUT /np/v1/agent/inventory "{\"capacity\":{\"vcpus\":9223372036854775807,\"memory_bytes\":9223372036854775807,\"disk_bytes\":9223372036854775807,
	\"driver\":\"\\u0007\\u001b[31m\",\"devices\":true,\"gpus\":[$GPU,$GPU,$GPU,null,[],{\"count\":1,\"model\":\"\\u001b[2J\"},{\"count\":-1}]}}" >/dev/null
is "$(http_status)" 204 "more than there is in the world"
sku huge 1024 '{"num_vcpus":4503599627370496,"memory":4503599627370496,"local_storage":4503599627370496}' >"$TMP/.made"
out=$(host "$S" huge huge)
refused 422 no_room instance_sku "is cut to what a machine can have" "$out"
sku half 1000 '{"accelerator":"h100","num_vcpus":600000,"memory":4000000000000000,"local_storage":1,"requires":{"overcommit":16}}' >"$TMP/.made"
taken "$S" half1 half "(a node of half of it)"
out=$(host "$S" half2 half)
refused 422 no_room instance_sku "and never promised twice" "$out"
unlike "$(as "$FOUNDRY" GET "/np/v1/agents/odd" | json .room)" '-' "no sum passes its end"
sku odd-gpu 1 '{"accelerator":"none-such"}' >"$TMP/.made"
out=$(host "$S" h odd-gpu)
unlike "$out" '\\u001b|\\u0007' "its words cannot move a terminal's cursor"

# ---- Random types and machines: never promised twice -----------------------------------------------------------------------
RANDOM=${TEST_SEED:-14}
diag "TEST_SEED=${TEST_SEED:-14}"
for i in 1 2 3 4 5 6; do
	sku "r$i" $((RANDOM % 3)) "{\"num_vcpus\":$((RANDOM % 5 + 1)),\"memory\":$(((RANDOM % 4) * GIB)),
		\"local_storage\":$(((RANDOM % 4) * 5 * GIB)),\"requires\":{\"overcommit\":$((RANDOM % 4 + 1))}}" >"$TMP/.made"
done
# promised: what the hosts on sale promise, beside what the machine has.
promised() {
	as "$FOUNDRY" GET "/np/v1/hosts?limit=1000" >"$TMP/hosts"
	as "$S" GET /np/v1/agent/work >"$TMP/work"
	as "$FOUNDRY" GET "/np/v1/agents/$1" >"$TMP/agent"
	jq -n -c --slurpfile h "$TMP/hosts" --slurpfile w "$TMP/work" --slurpfile a "$TMP/agent" '
		[$h[0].data[] | select([.schedule[].state] | any(. == "on_sale")) | .id] as $sale | $a[0].room.has as $has |
		[$w[0].hosts[] | select(.id as $i | $sale | any(. == $i)) | .resources] as $r |
		{n: ($r | length), fits: [($r | map((.vcpus // 0) / (.overcommit // 1)) | add // 0) <= $has.vcpus + 0.000001,
		($r | map(.memory_bytes // 0) | add // 0) <= $has.memory_bytes, ($r | map(.disk_bytes // 0) | add // 0) <= $has.disk_bytes,
		($r | map(.gpu.count // 0) | add // 0) <= $has.gpus]}' >"$TMP/promised"
}
taken=0 refusals=0 stayed=0
for round in 1 2 3 4; do
	agent "random$round"
	has "$S" $((RANDOM % 16 + 4)) $(((RANDOM % 20 + 4) * GIB)) $(((RANDOM % 80 + 20) * GIB)) "$((RANDOM % 6 + 1)) h100"
	for i in 1 2 3 4 5 6 7 8; do
		host "$S" "h$round-$i" "r$((RANDOM % 6 + 1))" >"$TMP/random"
		if [ "$(http_status)" = 201 ]; then
			taken=$((taken + 1))
			offer "$(json .id <"$TMP/random")" >/dev/null
		else
			refusals=$((refusals + 1))
		fi
	done
	promised "random$round"
	is "$(jq -c .fits "$TMP/promised")" '[true,true,true,true]' "what is on sale is there"
	has_less $((RANDOM % 8)) $(((RANDOM % 8) * GIB)) $(((RANDOM % 30) * GIB)) "$((RANDOM % 4)) h100"
	promised "random$round"
	is "$(jq -c .fits "$TMP/promised")" '[true,true,true,true]' "also where the machine has less than before"
	stayed=$((stayed + $(jq .n "$TMP/promised")))
done
ok "some were taken ($taken), some refused ($refusals), some stayed on sale ($stayed)" test $taken -gt 8 -a $refusals -gt 3 -a $stayed -gt 0 -a $stayed -lt $taken

# ---- A market that opens again ------------------------------------------------------------------------------------------------
before="$(on_sale "$N1") $(on_sale "$N2") $(on_sale "$N3")"
marketd_kill
ok "check finds nothing wrong" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock=$((NOW + 2 * HOUR)) --rate 0 || exit 1
is "$(on_sale "$N1") $(on_sale "$N2") $(on_sale "$N3")" "$before" "what is on sale stays on sale"
out=$(host "$SHRINKS" n4 cpu)
refused 422 no_room instance_sku "and what is promised stays promised" "$out"
done_testing
