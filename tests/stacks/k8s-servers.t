#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three servers of the stack k3s with a real Kubernetes and a real etcd behind a DOUBLE of K3s (tests/stacks/k8s-real.t has the
# rest): joining one by one, a server that dies, the quorum that is kept, a server less.
TEST_K8S=${NANOPOD_K8S-} TEST_K3S=${NANOPOD_K3S_BUNDLE-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/stacks/k8s.sh"
k8s_begin 3

# "NODE LEARNER" of what has started, as etcd on NODE sees it. K3s has no etcdctl, and serves HTTP on a port of its own.
members() {
	if [ -n "$TEST_K3S" ]; then
		in_node "$1" 'cd /var/lib/rancher/k3s/server/tls/etcd && curl -sS --cacert server-ca.crt --cert client.crt --key client.key -X POST -d "{}" https://127.0.0.1:2382/v3/cluster/member/list' |
			jq -r '.members[] | select(.name) | "\(.name | sub("-[0-9a-f]{8}$"; "")) \(.isLearner // false)"'
	else
		in_node "$1" 'cd /var/lib/rancher/k3s/server/tls && ETCDCTL_API=3 $(ls /var/lib/rancher/k3s/data/*/etcdctl | head -n 1) \
			--endpoints=https://127.0.0.1:2379 --cacert=etcd-ca.crt --cert=etcd.crt --key=etcd.key member list' |
			awk -F ', ' '$2 == "started" { print $3, $6 }'
	fi | sort | tr '\n' ' '
}
k8s_first "three servers from nothing, one after the other, and a pod on each" --role 'servers=k[1-3]'
is "$(members k1)" "k1 false k2 false k3 false " "etcd has three members, each with a vote ($IS)"
is "$(members k3)" "$(members k1)" "the last one says the same"
is "$(kube get nodes -l node-role.kubernetes.io/etcd=true -o name | wc -l)" 3 "three Nodes with the role"
run_is 0 "plan: nothing to do" provision plan real --detailed-exitcode
k8s_web
ok "a Deployment of four runs" wait_for 60 four_run
is "$(in_node k2 'grep -c "^K10[0-9a-f]*::server:" /etc/rancher/k3s/token; stat -c %a /etc/rancher/k3s/token' | tr '\n' ' ')" "1 600 " "the second joined with the whole form of the token, 0600"

# ---- One dies -------------------------------------------------------------------------------------------------------------
in_node k2 'systemctl stop k3s'
noticed() { ready | grep -q 'k2=Unknown'; }
ok "a server dies, and the API of the others says so ($IS)" wait_for 90 noticed
run provision drop real -w k3 -y
isnt "$status" 0 "another is not dropped meanwhile ($IS)"
like "$out$err" "etcd would lose its quorum" "and it says why"
unlike "$(versions)" "true" "nor is it drained"
is "$(members k1)" "k1 false k2 false k3 false " "etcd's members are as they were"
run_is 0 "apply starts it again" provision apply real -y
ok "it is Ready" wait_for 60 eval '! noticed && ready | grep -q k2=True'
since "a dead server"

# ---- The first one goes --------------------------------------------------------------------------------------------------
in_node k1 'systemctl stop k3s'
ok "without the first the others answer ($IS)" in_node k2 'k3s kubectl --cache-dir=/run/k3s/nanopod get nodes'
run_is 0 "apply starts the first again" provision apply real -y
run_is 0 "drop a server" provision drop real -w k3 -y || diag "$(tail -c 3000 "$TMP/.out")"
is "$(members k1)" "k1 false k2 false " "it is no member of etcd any more ($IS)"
is "$(ready)" "k1=True k2=True " "nor a Node"
as_before k3
since "drop"
run_is 0 "remove" provision remove real -y || diag "$(tail -c 3000 "$TMP/.out")"
as_before k1
as_before k2
since "remove"
done_testing
