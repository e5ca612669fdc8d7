#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod autoscale` with a real Kubernetes (by hand: NANOPOD_K8S): pods that its scheduler cannot place buy nodes, on which real
# kubelets run them; the loop is killed in between; what is idle is drained and given back; the ledger is exact. The market is
# real, in the nodes' network; who stands for an agent boots a node (tests/lib/k8s-double) for each instance, as its driver would.
TEST_K8S=${NANOPOD_K8S-} TEST_K3S='' TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/stacks/k8s.sh"
exec 8>"$BUILD/.cluster-lock" && flock -w 600 8 || skip_all "another test's cluster does not end"
diag "against: $IS"
began=$(date +%s)
k8s_take "$TMP/bundle" "$ONE" || { fail "(the bundle is made)"; done_testing; }
k8s_nodes 0

# ---- The market, and who boots what it sold -----------------------------------------------------------------------------
printf '#!/bin/sh\nexec ip netns exec %s %s "$@"\n' "$K8S_NAME" "$BUILD/nanopod-marketd" >"$TMP/marketd"
printf '#!/bin/sh\nexec ip netns exec %s %s "$@"\n' "$K8S_NAME" "$NANOPOD" >"$TMP/hub-nanopod"
chmod 755 "$TMP/marketd" "$TMP/hub-nanopod"
TEST_MARKETD=$TMP/marketd NANOPOD=$TMP/hub-nanopod
curl() { from_hub curl "$@"; }
. "$SRC/tests/lib/nodes.sh"
agentd_time() { printf '%s\n' "$1" >"$TMP/clock.new" && mv "$TMP/clock.new" "$TMP/clock"; }
node() { as "$ACME" GET "/np/v1/nodes/$1" | jq -r "$2"; }
trade_start 6
agentd_time $NOW
K8S_UP='k1 k2 k3 k4 k5 k6'
K8S_KEY() { cut -d' ' -f2 "$K8S_ROOM/k$1/root/etc/ssh/ssh_host_ed25519_key.pub"; }
# Each instance gets the next node, once; one that the market does not list any more loses its power.
boots() {
	local next=1 name there n
	while [ -e "$TMP/clock" ]; do
		there=$(curl -sS --max-time 20 -H "Authorization: Bearer $ACME" "$NANOPOD_URL/np/v1/nodes?state=live" | jq -r '.data[] | select(.status != "pending") | "\(.name)=\(.id)"') || there=''
		for n in $there; do
			[ ! -e "$TMP/booted/${n#*=}" ] || continue
			name=${n%%=*}
			echo "$next" >"$TMP/booted/${n#*=}"
			k8s_node $next "$name"
			wait_for 90 in_node k$next true && wait_for 90 k8s_booted k$next
			TMP=$TMP/booted node_report "$name" "{\"status\":\"running\",\"hostname\":\"$K8S_NET.$((10 + next))\",\"port\":22,\"user\":\"root\",\"host_keys\":[{\"type\":\"ssh-ed25519\",\"key\":\"$(K8S_KEY $next)\"}]}"
			next=$((next + 1))
		done
		for n in "$TMP"/booted/inst*; do
			[ -n "$there" ] && [ -s "$n" ] && ! printf '%s\n' "$there" | grep -q "=${n##*/}\$" || continue
			wait_for 20 k8s_gone "$K8S_NAME-k$(cat "$n")"
			: >"$n"
		done
		sleep 0.5
	done
}
mkdir "$TMP/booted"
CLUSTER_WAY=(--ssh-config none --known-hosts none --identity "$TMP/key" --host-key strict --agent none)
. "$SRC/tests/lib/scaling.sh"
cp "$TMP/key.pub" "$TMP/buyer.pub"
as "$ACME" POST /v2/pools '{"name":"train","workspace":"default"}' >"$TMP/.pool"
as "$ACME" POST /v2/orders "{\"pool\":\"train\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 86400)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"15.000000\"}" >"$TMP/.order"
as "$ACME" POST /v2/instances "{\"name\":\"train-1\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >"$TMP/.instance"
clock $((NOW + 61))
agentd_time $((NOW + 61))
scaling
boots >"$TMP/boots.log" 2>&1 & BOOTS=$!
boots_end() { kill "$BOOTS" 2>/dev/null; wait "$BOOTS" 2>/dev/null; }
at_exit boots_end
node_is() { [ "$(node "$1" .status)" = "$2" ]; }
wait_for 120 node_is train-1 running || { diag "$(cat "$TMP/boots.log" "$TMP/.order" "$TMP/.instance" "$TMP/.report")"; fail "(a node runs)"; done_testing; }
since "a market and a node"

# ---- A server alone -------------------------------------------------------------------------------------------------------
cat >"$TMP/train.yaml" <<-END
	cluster: train
	nodes: train-1
	stacks: {k3s: {bundle: $TMP/bundle, version-k3s: $ONE, wait: 180, disk-mb: 1000, labels: {agents: pool=gpu}}}
	autoscale: {type: richmond, max: 2, max-price: 2, budget: 60, idle: 6s, ahead: 20m, node: 'CPUs=1 RealMemory=1000'}
END
run_is 0 "a server alone ($IS)" "$NANOPOD" provision "$TMP/train.yaml" -y --no-verify "${CLUSTER_WAY[@]}" || { diag "$out" "$(tail -n 30 <<<"$err")"; done_testing; }
since "provision"
on() { in_node k1 "k3s kubectl --cache-dir=/run/k3s/nanopod $*"; }
on taint node train-1 server=yes:NoSchedule >/dev/null
show() { diag "$(cat "$LOG")" "$(on 'get nodes; k3s kubectl get pods -A -o wide; k3s kubectl describe pods | grep -A6 Events')"; }
# pod NAME REQUESTS [SELECTOR]
pod() {
	in_node_stdin k1 'k3s kubectl apply -f -' >/dev/null <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: default}
		spec:
		  terminationGracePeriodSeconds: 1
		  containers: [{name: c, image: 'localhost/nanopod-pause:1', imagePullPolicy: Never, resources: {requests: {$2}}}]
		  nodeSelector: {${3-}}
	END
}
runs() { [ "$(on get pod "$1" -o "'jsonpath={.status.phase}'")" = Running ]; }
bought() { as "$ACME" GET '/v2/orders?limit=200&side=buy' | jq '.data | length - 1'; }
pod half-1 'cpu: 400m' 'pool: gpu'
pod half-2 'cpu: 400m, memory: 100Mi' 'pool: gpu'
pod large 'cpu: 300'
pod other 'cpu: 100m' 'disk: fast'
loop
wait_for 120 says "bought a node" || { show; fail "(a node is bought)"; done_testing; }
like "$(grep -m1 'bought a node' "$LOG")" ": 2 pods wait for nodes" "a node is bought for the pods that need one ($IS)"
ok "a pod that no node could run is told" wait_for 30 says "pod default/large asks for more than a node has: 1 CPUs"
ok "and one for which no node like these is bought" says "pod default/other, which asks for nodes with the label disk=fast"
market_minute
loop_end KILL
loop
wait_for 400 says "joined 'train'" || { show; diag "$(tail -n 30 "$TMP/boots.log")"; fail "(it joins)"; done_testing; }
loop_end KILL
loop
both_run() { runs half-1 && runs half-2; }
ok "both pods run on it, though the loop was killed twice ($IS)" wait_for 90 both_run || show
is "$(bought)" 1 "one node is bought, as both fit on it" || show
since "bought and joined"

# ---- Extended, given back -------------------------------------------------------------------------------------------------
NODE=$("$NANOPOD" nodes -q | grep '^train-auto-')
on delete pod half-1 >/dev/null
market_jump $(($(node "$NODE" .end_at) - 250))
ok "the node on which a pod runs is extended" wait_for 120 says "extended $NODE.*: its time ends in .*, and a pod runs on it" || show
on delete pod half-2 large other >/dev/null
going() { [ -n "$(on get node "$NODE" -o "'jsonpath={.spec.unschedulable}'")" ] || says "gave $NODE back"; }
wait_for 120 going || show
loop_end KILL
loop
ok "then it is drained, dropped and given back, though the loop was killed ($IS)" wait_for 300 alone || show
is "$(on get nodes -o name)" "node/train-1" "Kubernetes knows it no more" || show
is "$(bought)" 2 "one order a node and extension" || show
loop_end TERM
as "$ACME" GET '/v2/orders?limit=200&side=buy' >"$TMP/.orders"
PAID=$(jq '[.data[].np_filled_total_dollars | tonumber * 1000000 | round] | add' "$TMP/.orders")
as "$ACME" GET '/np/v1/ledger?limit=1000' | jq -c '.data[]' >"$TMP/.ledger"
BACK=$(jq -s '[.[] | select(.book == "available" and .amount > 0) | .amount] | add - 100000000000' "$TMP/.ledger")
is "$(balance_now)" "$((100000000000 - PAID + BACK))" "the ledger has these orders and what was given back, and nothing else" || diag "$(cat "$TMP/.ledger")"
run_is 0 "it is whole" "$NANOPOD" ledger verify
since "given back"
diag "$(cat "$LOG")"
done_testing
