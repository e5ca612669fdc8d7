#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The stack k3s, step by step, on three nodes of the driver ns: one server and two agents, an upgrade with drains, drain and
# leave, three servers and their quorum, refusals, and undo. Against a DOUBLE of k3s unless NANOPOD_K3S_BUNDLE is set.
TEST_LONG=${NANOPOD_TEST_LONG-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=${NANOPOD_K3S_BUNDLE-}
. "$(dirname "$0")/../lib/tap.sh"
[ "$TEST_LONG" = yes ] || skip_all "four minutes on two cores, and k3s-ns.t goes the same way: NANOPOD_TEST_LONG=yes runs it"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/k3s.sh"
need jq tar base64

cluster_nodes 3
k3s_bundle
for n in $CLUSTER_NODES; do
	node_address "$n" >"$TMP/address.$n"
	in_node "$n" 'ip route show default | grep -q . || ip route add default dev eth0'
	picture "$n" >"$TMP/before.$n"
done
A=train-1 B=train-2 C=train-3 K3S_GPU=train-3
k3s_bring "$K3S_BUNDLE" $CLUSTER_NODES

# ---- What is refused -------------------------------------------------------------------------------------------------
k3s_table "$A" "$B $C"
ok "gate: nothing against these nodes" k3s_step $A check gate
k3s_table "$A $B" "$C"
k3s_step $A check gate
like "$(said cause)" "odd number" "gate: two servers are refused"
k3s_table "$A" "$B $C"
k3s_step $A check gate S_cluster_cidr=10.42.0.0/23
like "$(said cause)" "has room for 2 nodes" "gate: too few addresses for pods"
in_node $B 'ip route del default'
k3s_step $B check gate
like "$(said cause)" "no default route" "gate: no default route"
in_node $B 'ip route add default dev eth0'
k3s_step $A check gate NP_UNKNOWN=n9
like "$(said cause)" "not all members are reached" "gate: no new cluster while a member is not reached"
in_node $A 'cp -r /run/k3s-upload /run/bad; echo x >>/run/bad/k3s'
k3s_step $A apply files NP_UPLOAD=/run/bad
like "$(said cause)" "another checksum" "files: a binary that was changed is refused"
ok "files: and nothing of it is left" in_node $A '! ls /usr/local/bin/k3s* 2>/dev/null; test ! -e /usr/local/bin/k3s && test ! -e /usr/local/bin/k3s.nanopod'
k3s_step $A apply files S_version_k3s=v1.33.0+k3s1
like "$(said cause)" "that file is k3s" "files: another version than the cluster file's"
in_node $A 'rm /run/bad/SHA256SUMS'
k3s_step $A apply files NP_UPLOAD=/run/bad
like "$(said cause)" "no SHA256SUMS" "files: a bundle without checksums"
in_node $A 'rm -r /run/bad'

# ---- One server, two agents --------------------------------------------------------------------------------------------
ok "a server and two agents, from nothing ($K3S_IS)" k3s_converge
ok "verify: units, Nodes, a pod on each ($K3S_IS)" k3s_verify
k3s_step $A verify pods
like "$(said ok)" "a pod ran on each of 3 nodes" "all three ran one ($K3S_IS)"
is "$(in_node $A 'cd /etc/rancher/k3s && stat -c "%a %n" config.yaml token agent-token k3s.yaml' | tr '\n' ' ')" "600 config.yaml 600 token 600 agent-token 600 k3s.yaml " "what is secret is 0600"
secret=$(in_node $A 'cat /etc/rancher/k3s/token')
is "${#secret}" 64 "the token is 32 random bytes"
# The word that is looked for must not be in the command line that looks.
found() {
	for n in $CLUSTER_NODES; do
		in_node_stdin "$n" 'umask 077; cat >/run/.word; grep -aslFf /run/.word /proc/[0-9]*/cmdline /etc/rancher/k3s/config.yaml /etc/systemd/system/k3s*.service; journalctl -q --no-pager | grep -Ff /run/.word; rm /run/.word' <<<"$secret"
	done
}
is "$(found)" "" "no token in argv, the journal or config.yaml"
is "$(in_node_stdin $A 'umask 077; cat >/run/.word; grep -slFf /run/.word /etc/rancher/k3s/*; rm /run/.word' <<<"$secret")" "/etc/rancher/k3s/token" "(it is found where it is)"
like "$(in_node $B 'cat /etc/rancher/k3s/agent-token')" "^K10[0-9a-f]{64}::node:" "agents join with the whole form of the agents' token"
ok "an agent has no server's token" in_node $B "! grep -rqs $secret /etc/rancher"
is "$(kubectl_on $A "get node $C -o 'jsonpath={.metadata.labels.nanopod\\.io/gpu-model} {.metadata.labels.nanopod\\.io/gpu-count} {.metadata.labels.pool}'")" "H100-SXM5 2 gpu" "labels: GPUs and the cluster file's"
is "$(in_node $C 'systemctl is-enabled k3s-agent; test -e /etc/systemd/system/k3s.service || echo none' | tr '\n' ' ')" "enabled none " "an agent has the agent's unit, enabled, and no other"
k3s_step $A kubeconfig server
like "$(grep server: "$TMP/given.kubeconfig")" "https://$(cat "$TMP/address.$A"):6443" "kubeconfig: with the server's address"

k3s_table "$A" "$B $C"
ok "again" k3s_converge
is "$(k3s_changes)" "" "nothing to do"

# ---- A change of the configuration ------------------------------------------------------------------------------------
pid=$(in_node $A 'systemctl show -p MainPID --value k3s')
K3S_SET=(S_tls_sans='api.example.com' S_registries='docker.io all' S_registries_docker_io='endpoint' S_registries_docker_io_endpoint='https://mirror:5000' S_registries_all='' S_config='kubelet-arg' S_config_kubelet_arg='max-pods=200')
k3s_step $A check first
like "$(said differs)" "unit 'k3s' is restarted" "config: the plan says the restart beforehand"
ok "config: applied" k3s_converge
isnt "$(in_node $A 'systemctl show -p MainPID --value k3s')" "$pid" "config: the server was restarted"
like "$(in_node $A 'tr "\n" " " </etc/rancher/k3s/config.yaml')" "- 'api.example.com' .*kubelet-arg: - 'max-pods=200'" "config.yaml has both"
like "$(in_node $B 'tr "\n" " " </etc/rancher/k3s/registries.yaml')" "'docker.io': +endpoint: +- 'https://mirror:5000' +'[*]':" "registries.yaml"
k3s_table "$A" "$B $C"
k3s_converge >/dev/null
is "$(k3s_changes)" "" "config: nothing to do after that"

# ---- Drain, leave, join again -----------------------------------------------------------------------------------------
in_node $A 'k3s kubectl apply -f -' <<<'' 2>/dev/null
k3s_step $A drain drain -- $B
is "$(kubectl_on $A "get node $B -o 'jsonpath={.spec.unschedulable}'")" true "drain: cordoned"
k3s_step $A undrain drain -- $B
is "$(kubectl_on $A "get node $B -o 'jsonpath={.spec.unschedulable}'")" "" "undrain"
k3s_step $A leave drain -- $A
like "$(said cause)" "all servers" "leave: the last server does not"
ok "leave: an agent" k3s_step $A leave drain -- $B
is "$(kubectl_on $A "get nodes -o name" | grep -c "$B")" 0 "it is no Node"
in_node $B 'systemctl stop k3s-agent'
in_node $B 'echo changed >/etc/rancher/node/password'
ok "and joins again under its name, with another node password" k3s_converge

# ---- Upgrade ----------------------------------------------------------------------------------------------------------
if [ -z "$TEST_K3S" ]; then
	k3s_double "$TMP/bundle2" v1.35.0+k3s1
	K3S_BUNDLE=$TMP/bundle2
	k3s_step $A check gate S_version_k3s=v1.36.0+k3s1
	like "$(said cause)" "one minor version at a time" "upgrade: no version is left out"
	k3s_step $A check gate S_version_k3s=v1.33.9+k3s1
	like "$(said cause)" "cannot downgrade" "upgrade: never back"
	K3S_SET+=(S_config_kubelet_arg='max-pods=200 fail-cgroupv1=false')
	K3S_VERSION=v1.35.0+k3s1
	k3s_bring "$K3S_BUNDLE" $CLUSTER_NODES
	k3s_table "$A" "$B $C"
	ok "upgrade: server, then agents drained one at a time ($K3S_IS)" k3s_converge
	is "$(kubectl_on $A "get nodes -o 'jsonpath={range .items[*]}{.status.nodeInfo.kubeletVersion}{.spec.unschedulable} {end}'")" "v1.35.0+k3s1 v1.35.0+k3s1 v1.35.0+k3s1 " "all run it, none is cordoned"
	OUT=$TMP/out.$A.turn; k3s_step $A check turn
	is "$(said differs)" "" "nobody is left to drain"
	ok "verify after it ($K3S_IS)" k3s_verify
fi

# ---- Three servers ----------------------------------------------------------------------------------------------------
k3s_table "$A $B $C" ""
ok "agents become servers: 1 → 3, one by one ($K3S_IS)" k3s_converge
is "$(kubectl_on $B "get nodes -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type==\"EtcdIsVoter\")].status} {end}'")" "True True True " "all have a vote"
ok "none has the agent's unit any more" on_nodes 'test ! -e /etc/systemd/system/k3s-agent.service'
k3s_table "$A $B $C" ""
ok "again" k3s_converge
is "$(k3s_changes)" "" "nothing to do"
in_node $B 'systemctl stop k3s'
away() { [ "$(kubectl_on $A "get node $B -o 'jsonpath={.status.conditions[?(@.type==\"Ready\")].status}'")" != True ]; }
wait_for 60 away
k3s_step $A may_leave drain -- $C
like "$(said cause)" "lose its quorum" "it is said before anything is drained"
k3s_step $A leave drain -- $C
like "$(said cause)" "lose its quorum" "leave: refused where etcd would lose its quorum"
K3S_SET+=(S_tls_sans='other.example.com')
k3s_step $C apply conf
k3s_step $C apply server NP_TAKEN="$TMP/given.k3s-token"
like "$(said cause)" "breaks the quorum" "a server is not restarted where that breaks the quorum"
ok "the dead one is taken out" k3s_step $A leave drain -- $B
like "$(said say)" "2 servers are left" "and what that means is said"
is "$(kubectl_on $C "get nodes -o name" | wc -l)" 2 "two are left"

# ---- Undo ---------------------------------------------------------------------------------------------------------------
in_node $A 'mkdir -p /var/lib/rancher/k3s/storage/pvc-1 && echo data >/var/lib/rancher/k3s/storage/pvc-1/file'
for n in $C $B $A; do
	for s in pods drain nodes agent turn server agent-token first conf registries files gate; do k3s_step $n undo $s || { fail "undo $s on $n"; k3s_show; }; [ $n$s != ${A}files ] || said left >"$TMP/left"; done
done
like "$(cat "$TMP/left")" "/var/lib/rancher/k3s/storage" "undo: volumes of pods are left, and said"
in_node $A 'rm -rf /var/lib/rancher'
for n in $CLUSTER_NODES; do
	in_node $n 'rm -rf /run/k3s-upload'
	picture "$n" >"$TMP/after.$n"
	is "$(diff "$TMP/before.$n" "$TMP/after.$n")" "" "undo: $n is as it was"
	is "$(in_node $n 'ls -d /var/lib/nanopod /run/k3s /sys/class/net/cni0 /usr/local/bin/* 2>/dev/null; grep -E "rancher|kubelet|k3s" /proc/mounts; pgrep -af "k3s|containerd-shim" | grep -v pgrep')" "" "undo: nothing is mounted, runs or is left on $n"
done
done_testing
