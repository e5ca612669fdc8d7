#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod autoscale` of a Kubernetes cluster on real nodes: a server alone, pods that wait, a node bought for those that fill
# it, none for those that no node helps; the loop is killed and goes on; a node with a pod is extended, one without is given
# back. Against a DOUBLE of k3s, whose scheduler knows CPUs alone. Needs what tests/lib/cluster.sh needs.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=''
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/lib/scaling.sh"
. "$SRC/tests/stacks/k3s.sh"
cluster_nodes 1
k3s_bundle
scaling --skip-gate route
show() { diag "$(cat "$LOG")" "$(kubectl_on train-1 'get nodes; k3s kubectl get pods -o wide' 2>&1)"; }
# pod NAME CPUS [SELECTOR]
pod() {
	in_node_stdin train-1 'k3s kubectl apply -f -' >/dev/null <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: default}
		spec:
		  containers:
		  - {name: c, image: 'rancher/mirrored-pause:3.6', resources: {requests: {cpu: $2, memory: 10Mi}}}
		$([ -z "${3-}" ] || printf '  nodeSelector: {%s}\n' "$3")
	END
}
runs() { [ "$(kubectl_on train-1 "get pod $1 -o 'jsonpath={.status.phase}'")" = Running ]; }
# judged COUNT: so many pods have been judged by the scheduler, which takes one after another, and are put nowhere
judged() { [ "$(kubectl_on train-1 "get pods -o 'jsonpath={range .items[*]}{.status.conditions[*].reason} {end}'" | grep -o Unschedulable | wc -l)" = "$1" ]; }
bought() { as "$ACME" GET '/v2/orders?limit=200&side=buy' | jq '.data | length - 1'; }

cat >"$TMP/train.yaml" <<-END
	cluster: train
	nodes: train-1
	stacks: {k3s: {bundle: $K3S_BUNDLE, version-k3s: $K3S_VERSION, wait: 60, disk-mb: 100, memory-mb: 64, labels: {agents: pool=gpu}}}
	autoscale: {type: cpu, max: 2, max-price: 2, budget: 20, idle: 6s, ahead: 20m, node: CPUs=1 RealMemory=400}
END
in_node train-1 'ip route show default | grep -q . || ip route add default dev eth0'
run_is 0 "a server alone ($K3S_IS)" "$NANOPOD" provision "$TMP/train.yaml" -y --no-verify "${CLUSTER_WAY[@]}" || { diag "$out" "$err"; done_testing; }
run "$NANOPOD" autoscale train --dry-run "${CLUSTER_WAY[@]}"
like "$err" "nothing to do: 0 nodes, 0 pods wait" "nothing waits" || diag "$out" "$err"

# ---- Bought ------------------------------------------------------------------------------------------------
# Each node needs what a machine has and these lack: a default route.
routes() { while [ -e "$TMP/clock" ]; do for name in $("$NANOPOD" nodes -q 2>/dev/null | grep '^train-auto-'); do life_in "$name" 'ip route show default | grep -q . || ip route add default dev eth0'; done; sleep 0.5; done; }
routes >/dev/null 2>&1 & ROUTES=$!
more_end() { kill $ROUTES 2>/dev/null; }
at_exit more_end
pod half-1 500m
pod half-2 500m
pod large 3
pod other 500m 'disk: fast'
wait_for 120 judged 4 || show
loop
wait_for 120 says "bought a node" || { show; fail "(a node is bought)"; done_testing; }
like "$(grep -m1 'bought a node' "$LOG")" "for .0\\.50: 2 pods wait for nodes" "a node is bought, for the pods that need one"
ok "a pod that no node could run is told" says "pod default/large asks for more than a node has: 1 CPUs"
ok "and one for which no node like these is bought" says "no node is bought for pod default/other, which asks for nodes with the label disk=fast"
market_minute
loop_end KILL
loop
wait_for 300 says "joined 'train'" || { show; fail "(it joins)"; done_testing; }
wait_for 60 runs half-1 && wait_for 60 runs half-2
ok "both pods run on it, though the loop was killed" runs half-2 || show
is "$(bought)" 1 "one node is bought, as both fit on it" || show

# ---- Extended, given back ------------------------------------------------------------------------------------
NODE=$("$NANOPOD" nodes -q | grep '^train-auto-')
kubectl_on train-1 'delete pod half-1' >/dev/null
market_jump $(($(node "$NODE" .end_at) - 250))
wait_for 120 says "extended $NODE.*: its time ends in .*, and a pod runs on it" || show
ok "a node on which a pod runs is extended" says "extended $NODE"
kubectl_on train-1 'delete pod half-2' >/dev/null
wait_for 200 alone || show
ok "then it is drained, dropped and given back" alone
ok "it says why" wait_for 20 says "gave $NODE back: nothing has used it for"
is "$(kubectl_on train-1 'get nodes -o name')" "node/train-1" "Kubernetes knows it no more"
is "$(bought)" 2 "one order a node and extension" || show

# ---- What no node helps ---------------------------------------------------------------------------------------
# By what it asks for it fits, its label is the file's, and no reason is known; but the scheduler puts it nowhere.
kubectl_on train-1 'delete pod large other' >/dev/null
pod stubborn 500m 'pool: gpu'
bought_more() { [ "$(bought)" -ge 3 ]; }
wait_for 120 bought_more || { show; fail "(a node is bought for it)"; done_testing; }
market_minute
wait_for 400 says "no node is bought for pod default/stubborn now: it waits, or one like it, though a node was free for it" || show
ok "it is told" says "pod default/stubborn now: it waits"
wait_for 200 alone || show
loop_end KILL
kubectl_on train-1 'delete pod stubborn' >/dev/null
pod again 500m 'pool: gpu'
loop
wait_for 60 says "no node is bought for pod default/again now" || show
is "$(lives) $(bought)" "0 3" "the node is given back, and none is bought for the next of that kind, though the loop was killed" || show
loop_end TERM
diag "$(cat "$LOG")"
done_testing
