#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod provision … k3s` from end to end: one server and two agents from nothing, again, a node more, three servers,
# drain, an upgrade, kubeconfig, a node less, remove. From a folder that `nanopod provision bundle` made. Against a DOUBLE
# of k3s unless NANOPOD_K3S_BUNDLE is set.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=${NANOPOD_K3S_BUNDLE-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/k3s.sh"
"$NANOPOD" provision --help >/dev/null 2>&1 || skip_all "this nanopod has no 'provision'"
NANOPOD_STACKS=$SRC/stacks
export NANOPOD_STACKS

cluster_nodes 3
k3s_bundle
provision() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}"; }
# What is installed from is a bundle of K3s alone, which has no packages, with images of the user's.
mkdir "$TMP/images"
[ -n "$TEST_K3S" ] || printf 'example.org/mine:1\n' >"$TMP/images/mine.tar"
run_is 0 "a bundle" "$NANOPOD" provision bundle k3s -d "$TMP/airgap" --from "$K3S_BUNDLE" --from "$TMP/images" || { diag "$out" "$err"; done_testing; }
K3S=(-r train k3s --name train --role 'servers=train-1' --airgap "$TMP/airgap" --set "k3s.version-k3s=$K3S_VERSION" --set k3s.wait=60 --set k3s.disk-mb=100 --set 'k3s.disable=traefik')
routes() { on_nodes 'ip route show default | grep -q . || ip route add default dev eth0'; }
routes
versions() { kubectl_on train-1 "get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.nodeInfo.kubeletVersion}{.spec.unschedulable} {end}'"; }
for node in $CLUSTER_NODES; do picture "$node" >"$TMP/before.$node"; done

run provision plan "${K3S[@]}" --detailed-exitcode
is "$status" 10 "plan: there is something to do" || diag "$out" "$err"
run_is 0 "a server and two agents, from nothing, and a pod on each ($K3S_IS)" provision "${K3S[@]}" -y || { diag "$(tail -c 5000 "$TMP/.out")"; find "$HOME" -name '*.log' -exec tail -n 5 {} +; done_testing; }
is "$(versions)" "train-1=$K3S_VERSION train-2=$K3S_VERSION train-3=$K3S_VERSION " "all are Nodes"
is "$(in_node train-2 'ls /var/lib/rancher/k3s/agent/images' | xargs)" "$(cd "$TMP/airgap/k3s" && LC_ALL=C ls | grep tar | xargs)" "a node has all images of it"
is "$(in_node train-2 'cat /etc/apt/sources.list.d/nanopod.list' | wc -l)" 0 "and its own package sources"
TOKEN=$(in_node train-1 'cat /etc/rancher/k3s/token')
is "${#TOKEN}" 64 "(the token is 32 bytes)"
ok "no token among what this machine keeps" bash -c '! grep -rqsF -e "$0" "$1"' "$TOKEN" "$HOME"
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode

cluster_more 1
routes
picture train-4 >"$TMP/before.train-4"
run_is 0 "add" provision add train -w train-4 --role agents -y
is "$(kubectl_on train-1 'get nodes -o name' | wc -l)" 4 "it is a Node"
run_is 0 "drain" provision drain train -w train-2 -y
like "$(versions)" "train-2=[^ ]*true" "cordoned"
run_is 0 "undrain" provision undrain train -w train-2 -y
unlike "$(versions)" "true" "and back"
run_is 0 "kubeconfig" "$NANOPOD" kubeconfig train "${CLUSTER_WAY[@]}"

if [ -z "$TEST_K3S" ]; then
	k3s_double "$TMP/bundle2" v1.35.0+k3s1
	UP=(--set "k3s.bundle=$TMP/bundle2" --set k3s.version-k3s=v1.35.0+k3s1)
	if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
		run provision upgrade train "${UP[@]}" -y
		isnt "$status" 0 "K3s 1.35 is refused on control groups of version 1"
		like "$out$err" "wants control groups of version 2" "and it says why"
		like "$(versions)" "train-2=${K3S_VERSION/+/.} train-3=${K3S_VERSION/+/.}" "and nothing was begun"
		UP+=(--set k3s.config.kubelet-arg=fail-cgroupv1=false)
	fi
	run_is 0 "upgrade ($K3S_IS)" provision upgrade train "${UP[@]}" -y
	is "$(versions)" "train-1=v1.35.0+k3s1 train-2=v1.35.0+k3s1 train-3=v1.35.0+k3s1 train-4=v1.35.0+k3s1 " "all run it, none is cordoned"
fi
run_is 0 "drop" provision drop train -w train-4 -y
is "$(kubectl_on train-1 'get nodes -o name' | grep -c train-4)" 0 "it is no Node"
picture train-4 >"$TMP/after.train-4"
is "$(diff "$TMP/before.train-4" "$TMP/after.train-4")" "" "train-4 is as it was"
in_node train-3 'systemctl stop k3s-agent'
run provision verify train
is "$status" 11 "verify finds an agent that does not run"
run_is 0 "apply mends it" provision apply train -y
[ -n "$TEST_K3S" ] || is "$(in_node train-2 'systemctl is-active kubepods.slice')" active "(a node has kubelet's groups)"
run_is 0 "remove" provision remove train -y
for node in train-1 train-2 train-3; do
	picture "$node" >"$TMP/after.$node"
	is "$(diff "$TMP/before.$node" "$TMP/after.$node")" "" "$node is as it was"
	[ -n "$TEST_K3S" ] || is "$(in_node "$node" 'cat /run/double.rules' | xargs)" "*nat -A INPUT -j MINE COMMIT" "and of its packet filter's rules only K3s' are gone"
done
done_testing
