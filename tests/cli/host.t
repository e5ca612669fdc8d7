#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod host: what it asks of the agent and of the market, and what it says where either refuses.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq

# A nanopod that has a stand-in beside it, which says how it was called.
mkdir "$TMP/bin" "$TMP/agent"
if [ -x "$BUILD/.libs/nanopod" ]; then cp "$BUILD/.libs/nanopod" "$TMP/bin/nanopod"; else cp "$BUILD/nanopod" "$TMP/bin/nanopod"; fi
LD_LIBRARY_PATH=$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
AGENT=$TMP/agent
export LD_LIBRARY_PATH AGENT
cat >"$TMP/bin/nanopod-agentd" <<'EOF'
#!/bin/sh
echo "$*" >>"$AGENT/calls"
tr '\0' '\n' </proc/$$/cmdline >>"$AGENT/cmdlines"
json=
for word; do
	case $word in
	--json) json=yes ;;
	inventory) verb=inventory ;; join | leave | verify | status | drivers | image) verb=${verb:-$word} ;;
	esac
done
printf '%s' "${NANOPOD_JOIN_TOKEN-}" >"$AGENT/token"
case $verb in
inventory) if [ "$json" ]; then cat "$AGENT/inventory.json"; else cat "$AGENT/inventory"; fi ;;
status) [ ! -e "$AGENT/none" ] || { echo "nanopod-agentd: this machine has joined no market" >&2; exit 3; }
	if [ "$json" ]; then cat "$AGENT/status.json"; else echo "agent here, as it says"; fi ;;
verify) echo "ok disk"; exit "$(cat "$AGENT/verify" 2>/dev/null || echo 0)" ;;
join) [ ! -e "$AGENT/refuse" ] || { echo "nanopod-agentd: the market refused: the token was used" >&2; exit 4; }; echo "joined" ;;
*) echo "$verb done" ;;
esac
EOF
chmod +x "$TMP/bin/nanopod-agentd"
np() { "$TMP/bin/nanopod" host "$@" </dev/null; }
calls() { tail -n "${1-1}" "$AGENT/calls"; }
echo '{"object":"inventory","sold_as":"8x h100 sxm","accelerator":"h100","form_factor":"sxm","gpus":[]}' >"$AGENT/inventory.json"
printf '  cpu      Xeon\n  gpu      0000:1b:00.0  h100\n  sold as  8x h100 sxm\n' >"$AGENT/inventory"
echo '{"agent":"agt_none","name":"here"}' >"$AGENT/status.json"

marketd_start || exit 99
MARKET=$NANOPOD_URL
marketd_account foundry
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
operator POST /np/v1/skus '{"alias":"richmond","gpus":8,"properties":{"accelerator":"h100","form_factor":"sxm"}}' >"$TMP/.made"
operator POST /np/v1/skus '{"alias":"oslo","gpus":8,"properties":{"accelerator":"h100","form_factor":"pcie"}}' >"$TMP/.made"
operator POST /np/v1/skus '{"alias":"plain","gpus":0,"properties":{}}' >"$TMP/.made"

# What is wrong with the line is said before anybody is asked.
run_is 2 "an action that is none" np jion
like "$err" "did you mean 'host join'" "names the nearest"
run_is 2 "join without a URL" np join
run_is 2 "a URL that is none" np join htp://x -y
run_is 2 "nobody to ask" np join "$MARKET" --type richmond
like "$err" "'-y'" "and what to type"
run_is 2 "offer without a price" np offer rack1 -y
like "$err" "--price is required, e.g. -p 1.90" "and what to type"
run_is 2 "a price that is none" np offer rack1 -p 12abc -y
run_is 2 "a time that is none" np offer rack1 -p 1 --until '3 hours from now' -y
run_is 2 "nobody to ask for leave" np leave
run_is 2 "no nodes" np join "$MARKET" --nodes 0 -y
run_is 2 "a format that the agent has not" np drivers -o csv
is "$(cat "$AGENT/calls" 2>/dev/null)" "" "the agent was not run for any of that"

# The agent's own words.
run_is 0 "drivers" np drivers
is "$out|$(calls)" "drivers done|drivers" "are passed on"
run_is 0 "with JSON and a folder" np drivers -o json --data /some/where
is "$(calls)" "--data /some/where --json drivers" "in its words"
run_is 0 "image build" np image build debian-12
is "$(calls)" "image build debian-12" "with its name"
echo 11 >"$AGENT/verify"
run_is 11 "a verification that fails" np verify
like "$out|$err" "ok disk.*not fit to be listed" "is told, and said once more"
run_is 11 "with JSON" np verify -o json
run_is 11 "a bill of materials that it does not fit" np verify --bom nanopod.yaml
is "$(calls)" "verify --bom nanopod.yaml" "the agent compares"
like "$err" "this machine is not what 'nanopod.yaml' says" "and whose file it was is said"
echo 0 >"$AGENT/verify"
run_is 0 "one that passes" np verify
run_is 0 "the latest results" np verify --last
is "$(calls)" "verify --last" "are the agent's"
run_is 0 "with a nonce" np verify --nonce 0011223344556677
is "$(calls)" "verify --nonce 0011223344556677" "which the agent gets"
run_is 0 "inventory of another machine" np inventory --sysfs-root /some/tree
is "$(calls)" "--sysfs-root /some/tree inventory" "by its folder"

# A token to join with.
NANOPOD_TOKEN=$FOUNDRY; export NANOPOD_TOKEN
run_is 0 "host token" np token
like "$out" 'npk_[A-Za-z0-9_-]+ ' "prints the token"
like "$err" "nanopod host join '$MARKET'" "and the line to type"
run_is 0 "only the token" np token rack1 -q
token=$out
like "$token" '^npk_[A-Za-z0-9_-]+$' "with -q"
is "$(as "$FOUNDRY" GET /np/v1/tokens | jq -c '[.data[] | select(.name == "rack1") | .scopes] | .[0]')" '["join"]' "it can do nothing else"
run_is 2 "a life that is none" np token x --expires soon
marketd_account buyer
buyer=$(marketd_token buyer read trade tokens)
NANOPOD_TOKEN=$buyer run np token
isnt "$status" 0 "who may not host makes none"
run_is 0 "the operator makes one for an account" env NANOPOD_URL="unix:$MARKETD_SOCKET" "$TMP/bin/nanopod" host token --account foundry -o json
is "$(printf '%s' "$out" | jq -r '.[0] | keys | join(" ")')" "expires id token url" "as JSON"

# Joining.
: >"$AGENT/calls"; : >"$AGENT/cmdlines"
run_is 0 "a plan" np join "$MARKET" --dry-run --name rack1
like "$err" "found +cpu +Xeon" "says what was found"
like "$err" "sold as +1 node of type 'richmond' \(this machine is 8x h100 sxm\)" "and as what it is sold: the type that fits"
unlike "$(cat "$AGENT/calls")" join "and joins nothing"
run_is 2 "without a token" np join "$MARKET" -y --name rack1
like "$err" "nanopod host token" "and what to type"
NANOPOD_JOIN_TOKEN=$token run_is 0 "join" np join "$MARKET#sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" -y --name rack1
like "$(calls)" "^join $MARKET#sha256//A+= --name rack1 --type richmond --nodes 1" "the agent is told all of it"
is "$(cat "$AGENT/token")" "$token" "the token by its environment"
unlike "$(cat "$AGENT/cmdlines")" "$token" "and not on a command line"
unlike "$out$err" "$token" "nor in what is printed"
like "$err" "nanopod host verify.*nanopod host offer rack1 " "and what to type next"
printf '%s\n' "$token" >"$TMP/token"
run_stdin "$TMP/token" "$TMP/bin/nanopod" host join "$MARKET" -y --name rack1 --nodes 2 --type half
is "$status|$(cat "$AGENT/token")|$(calls)" "0|$token|join $MARKET --name rack1 --type half --nodes 2" "the token by standard input, two nodes of a type"
NANOPOD_JOIN_TOKEN=$token run_is 2 "eight GPUs in three nodes" np join "$MARKET" -y --nodes 3 --type x
operator POST /np/v1/skus '{"alias":"quarter","gpus":1,"properties":{"accelerator":"h100","requires":{"gpu_vendor":"nvidia","share":"1/4"}}}' \
	>"$TMP/.made"
cp "$AGENT/inventory.json" "$TMP/whole.json"
jq -c '.capacity = {"vcpus":64,"memory_bytes":1099511627776,"disk_bytes":1099511627776,"driver":"ns","devices":true,
	"gpus":[{"vendor":"nvidia","model":"h100","count":8}]}' "$TMP/whole.json" >"$AGENT/inventory.json"
run_is 0 "eight GPUs as 32 nodes with a quarter" np join "$MARKET" --nodes 32 --type quarter --dry-run
like "$err" "room +for 32 nodes of that type" "all of which fit"
run_is 0 "and as three, which do not divide them" np join "$MARKET" --nodes 3 --type quarter --dry-run
NANOPOD_JOIN_TOKEN=$token run_is 5 "33 quarters" np join "$MARKET" --nodes 33 --type quarter -y
like "$err" "this machine has room for 32 nodes of type 'quarter'.*try --nodes 32" "are too many"
cp "$TMP/whole.json" "$AGENT/inventory.json"
NANOPOD_JOIN_TOKEN=$token run_is 2 "a type that nobody knows to fit" np join "$MARKET" -y --nodes 2
like "$err" "8x h100 sxm, 4 GPUs per node; name it by '--type'" "says what it is"
NANOPOD_JOIN_TOKEN=$token run_is 2 "nor the types of another market" np join http://127.0.0.1:1 -y
: >"$AGENT/refuse"
NANOPOD_JOIN_TOKEN=$token run_is 4 "a refusal keeps its status" np join "$MARKET" -y
like "$err" "^nanopod: cannot join '$MARKET': the market refused: the token was used" "and its reason"
NANOPOD_JOIN_TOKEN=$token run_is 4 "also as JSON" np join "$MARKET" -y -o json
is "$(printf '%s\n' "$err" | tail -n 1 | jq -r '.error.code')" denied "one object"
rm "$AGENT/refuse"
echo '{"object":"inventory","not_sold_because":"its GPUs differ: a and b"}' >"$AGENT/inventory.json"
NANOPOD_JOIN_TOKEN=$token run_is 5 "a machine that cannot be sold" np join "$MARKET" -y --type richmond
like "$err" "its GPUs differ" "says why"
echo '{"object":"inventory","sold_as":"0x none","accelerator":"none","gpus":[]}' >"$AGENT/inventory.json"
run_is 0 "a machine without GPU" np join "$MARKET" --dry-run
like "$err" "of type 'plain' \(this machine is without GPU\)" "is a node without"

# What does not fit is seen before anybody joins.
operator POST /np/v1/skus '{"alias":"two","gpus":0,"properties":{"num_vcpus":2,"memory":4294967296,"local_storage":21474836480}}' >"$TMP/.made"
echo '{"object":"inventory","sold_as":"0x none","accelerator":"none","gpus":[],"capacity":{"vcpus":2,"memory_bytes":23622320128,
	"disk_bytes":64424509440,"gpus":[],"driver":"ns","devices":true}}' >"$AGENT/inventory.json"
run_is 0 "a plan of one node of two cores on two" np join "$MARKET" --type two --dry-run
like "$err" "for nodes +2 vCPUs, 22 GiB memory, 60 GiB disk" "says what there is for nodes"
like "$err" "each node +2 vCPUs, 4 GiB memory, 20 GiB disk" "what each gets"
like "$err" "room +for 1 node of that type" "and how many fit"
: >"$AGENT/calls"
NANOPOD_JOIN_TOKEN=$token run_is 5 "six nodes of two cores on two" np join "$MARKET" --type two --nodes 6 -y
like "$err" "this machine has room for 1 node of type 'two' \(2 vCPUs, 4 GiB memory, 20 GiB disk\): it has 2 vCPUs, 22 GiB memory, 60 GiB disk for nodes; try --nodes 1" \
	"are refused, with what would do"
unlike "$(cat "$AGENT/calls")" join "and nothing was joined"
run_is 0 "of two types the one that fits is found" np join "$MARKET" --nodes 6 --dry-run
like "$err" "6 nodes of type 'plain'" "by its name"
operator POST /np/v1/skus '{"alias":"h100-1","gpus":1,"properties":{"accelerator":"h100"}}' >"$TMP/.made"
NANOPOD_JOIN_TOKEN=$token run_is 5 "a machine without a GPU as h100" np join "$MARKET" --type h100-1 -y
like "$err" "room for 0 nodes of type 'h100-1' \(1 h100 GPU\)" "is refused"
echo '{"object":"inventory","sold_as":"0x none","accelerator":"none","gpus":[]}' >"$AGENT/inventory.json"
run_is 2 "what the agent does is no request to print" np leave -y --explain
like "$err" "cannot explain 'host leave': .*'--dry-run' only shows the plan" "says so"
unlike "$(calls)" leave "and does nothing"
run_is 0 "a plan of leaving" np leave --dry-run
unlike "$(calls)" leave "does nothing either"
run_is 0 "leave" np leave -y
like "$err|$(calls)" "forgotten" "after a plan"
is "$(calls)" leave "is the agent's"

# Offering.
as "$FOUNDRY" POST /np/v1/hosts '{"name":"rack1","instance_sku":"richmond"}' >"$TMP/.made"
as "$FOUNDRY" POST /np/v1/hosts '{"name":"cpu1","instance_sku":"plain"}' >"$TMP/.made"
run_is 3 "offer of what is not there" np offer rack9 -p 1.90 -y
run_is 2 "per GPU-hour without GPUs" np offer cpu1 -p 0.05 --per gpu -y
like "$err" "'--per node'" "and what to type"
run_is 0 "nothing typed" np offer cpu1 -p 0.05 --dry-run
like "$out$err" "\\\$0\.05 per node-hour" "is per node there"
as "$FOUNDRY" POST /np/v1/hosts '{"name":"part1","instance_sku":"quarter"}' >"$TMP/.made"
run_is 2 "a share per GPU-hour" np offer part1 -p 0.50 --per gpu -y
like "$err" "its nodes have 1/4 of a GPU.*'--per node'" "is refused, with what to type"
run_is 0 "a share" np offer part1 -p 0.50 --dry-run
like "$out$err" "\\\$0\.50 per node-hour" "is offered per node"
run_is 0 "a plan of an offer" np offer rack1 -p 1.90 --dry-run
like "$err" "price +at least \\\$1\.90 per GPU-hour" "with its price"
like "$err" "promise +8 h100 GPUs, as type 'richmond' has it" "and what its type promises"
is "$(as "$FOUNDRY" GET /v2/orders | jq '.data | length')" 0 "offers nothing"
run_is 0 "offer" np offer rack1 -p 1.90 --until +3d -y -o json
is "$(printf '%s' "$out" | jq -r '.[0] | .host + " " + .price + " " + .status')" "rack1 1.90 standing" "is on sale"
run_is 5 "twice" np offer rack1 -p 1.90 --until +3d -y
run_is 0 "per node" np offer cpu1 -p 0.05 --per node --until +3d -y
run_is 0 "list" np list -o json
is "$(jq -c '[.[] | select(.node_price) | [.host, .node_price, .sold_until]] | sort' <<<"$out")" \
	'[["cpu1","0.05",null],["rack1","15.20",null]]' "says what is on sale at which price, and that nothing is sold"
is "$(jq -r '.[] | select(.host == "rack1") | .order' <<<"$out")" \
	"$(as "$FOUNDRY" GET /v2/orders |
		jq -r '.data[] | select((.limit_price_dollars_per_node_hour | tonumber * 100 | round) == 1520) | .id')" "by which order"

# Status.
run_is 0 "status" np status
like "$out" "agent here, as it says" "the machine's own words first"
run np status -o json
is "$status $(printf '%s' "$out" | jq -c .)" "0 []" "a list, of none"
key=$(head -c 32 /dev/urandom | base64)
http_call "$MARKET" POST /np/v1/agents/join "{\"name\":\"rack1\",\"public_key\":\"$key\",\"machine\":\"m1\",\"inventory\":{\"capacity\":{\"vcpus\":4,\"memory_bytes\":8589934592,\"disk_bytes\":64424509440}}}" -H "Authorization: Bearer $token" >"$TMP/.made"
id=$(jq -r .id "$TMP/.made")
echo "{\"agent\":\"$id\",\"name\":\"rack1\"}" >"$AGENT/status.json"
run np status -o json
is "$status $(printf '%s' "$out" | jq -r '.[0] | .agent + " " + .id + " " + .here.agent')" "0 rack1 $id $id" "a machine that joined, and that it is this one"
is "$(printf '%s' "$out" | jq -r '.[0] | .left + "; " + .promised')" \
	"4 vCPUs, 8 GiB memory, 60 GiB disk; 0 vCPUs, 0 B memory, 0 B disk" "what is left of it, and what is promised"
: >"$AGENT/none"
run_is 0 "on another machine" np status
unlike "$out" "agent here" "there is only what the market says"
unset NANOPOD_TOKEN
run_is 3 "neither joined nor signed in" np status -o json
rm "$AGENT/none"
run_is 0 "joined and not signed in" np status -o json
is "$(printf '%s' "$out" | jq -r '.[0] | .agent + " " + .id + " " + .here.agent')" "rack1 $id $id" "the machine alone"
mv "$TMP/bin/nanopod-agentd" "$TMP/away"
PATH=/usr/bin:/bin run_is 3 "without an agent installed" np drivers
like "$err" "'nanopod-agentd' is not installed" "says so"
done_testing
