#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod provision … k3s` with a real Kubernetes, which tests/stacks/k8s-build made of Debian's source, behind a DOUBLE of K3s:
# its certificates, tokens and rights, kubelets, containers, evictions. The nodes are this test's own (tests/lib/k8s-double).
TEST_K8S=${NANOPOD_K8S-} TEST_K3S=${NANOPOD_K3S_BUNDLE-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/stacks/k8s.sh"

k8s_begin 3

# ---- From nothing -------------------------------------------------------------------------------------------------------
run provision plan "${K3S[@]}" --role servers=k1 --detailed-exitcode
is "$status" 10 "plan: there is something to do"
k8s_first "a server and two agents from nothing, and a pod on each" --role servers=k1
run_is 0 "plan: nothing to do" provision plan real --detailed-exitcode
run_is 0 "verify" provision verify real
like "$out$err" "[1-9][0-9]* checks hold, 0 do not" "all checks hold ($IS)"

# ---- Who may do what ------------------------------------------------------------------------------------------------------
is "$(stat -c %a "$HOME/.kube/config")" 600 "the kubeconfig is 0600"
unlike "$(cat "$HOME/.kube/config")" "insecure|127.0.0.1" "it has the server's address and its CA"
is "$(ready)" "k1=True k2=True k3=True " "three Nodes are Ready, for kubectl from outside ($IS)"
is "$(versions)" "k1=$ONE k2=$ONE k3=$ONE " "(their kubelets say so)"
asked() { from_hub curl -sk -o /dev/null -w '%{http_code}' "$@"; }
is "$(asked "https://$K8S_NET.11:6443/api/v1/nodes")" 401 "without a certificate: 401 ($IS)"
token=$(in_node k2 "sed 's/.*:://; s/.*://' /etc/rancher/k3s/agent-token")
is "${#token}" 64 "(the agents' token is 32 bytes)"
is "$(asked -H @- "https://$K8S_NET.11:6443/api/v1/secrets" <<<"Authorization: Bearer $token")" "$([ -n "$TEST_K3S" ] && echo 401 || echo 403)" "with the agents' token alone: refused ($IS)"
not_ok "an agent may not mark another's Node ($IS)" in_node k2 'k3s kubectl --cache-dir=/run/k3s/nanopod --kubeconfig /var/lib/rancher/k3s/agent/kubelet.kubeconfig annotate node k3 a=b'
for node in k1 k2; do
	is "$(in_node_stdin $node 'umask 077; cat >/run/.word; grep -aslFf /run/.word /proc/[0-9]*/cmdline /etc/rancher/k3s/config.yaml; rm /run/.word' <<<"$token")" "" "$node: no token in argv or config.yaml"
done
ok "and none among what this machine keeps" bash -c '! grep -rqsF -e "$0" "$1"' "$token" "$HOME"

# ---- Pods -------------------------------------------------------------------------------------------------------------------
k8s_web
ok "a Deployment of four runs ($IS)" wait_for 60 four_run || { kube describe pods | tail -n 30 | sed 's/^/# /'; done_testing; }
is "$(pods | cut -d' ' -f1 | sort -u | tr '\n' ' ')" "k1 k2 k3 " "on all three nodes"
pod=$(pods | sed -n 's/^k2 //p' | head -n 1)
run_is 0 "logs" from_hub timeout 30 "$NANOPOD" logs real "pod/$pod" "${NODES_WAY[@]}"
like "$out" "hello from $pod" "logs real pod/NAME: what the container said ($IS)"
other=$(pods | sed -n 's/^k3 //p' | head -n 1)
ok "pods of two nodes reach each other ($IS)" kube exec "$pod" -- ping -c 1 -W 5 "$(kube get pod "$other" -o 'jsonpath={.status.podIP}')"
since "pods and logs"

# ---- Drain ----------------------------------------------------------------------------------------------------------------
before=$(pods | sed -n 's/^k2 //p')
run_is 0 "drain ($IS)" provision drain real -w k2 -y
like "$(versions)" "k2=[^ ]*true" "the Node is cordoned"
gone() { for pod in $before; do ! kube get pod "$pod" >/dev/null 2>&1 || return 1; done; }
ok "its pods are evicted ($IS)" wait_for 20 gone
ok "and run on the others" wait_for 60 four_run
is "$(pods | grep -c '^k2 ')" 0 "none on the one that was drained"
run_is 0 "undrain" provision undrain real -w k2 -y
unlike "$(versions)" "true" "no Node is cordoned"
kube create pdb web --selector=app=web --min-available=4 >/dev/null
allowed() { [ "$(kube get pdb web -o 'jsonpath={.status.currentHealthy}')" = 4 ]; }
wait_for 30 allowed
run provision drain real -w k3 -y --set k3s.drain-seconds=8
isnt "$status" 0 "a drain that a disruption budget forbids fails ($IS)"
like "$out$err" "a disruption budget keeps web-" "and says what keeps it"
kube delete pdb web >/dev/null
run_is 0 "undrain" provision undrain real -w k3 -y
since "drains"

# ---- A change, a power cut --------------------------------------------------------------------------------------------------
is_before=$(restarts)
run_is 0 "a name more for the API, a label for the agents ($IS)" provision upgrade real --set k3s.tls-sans=api.example.com --set k3s.labels.agents=pool=gpu -y
is "$(restarts)" "$is_before" "no pod ended when K3s was restarted ($IS)"
is "$(kube --tls-server-name=api.example.com get nodes -l pool=gpu -o name | tr '\n' ' ')" "node/k2 node/k3 " "the certificate has the name, the Nodes have the label ($IS)"
ok "(an agent loses its power, and boots)" k8s_restart k2
up() { kube get node k2 -o 'jsonpath={.status.nodeInfo.bootID} {.status.conditions[?(@.type=="Ready")].status}' | grep -q True && in_node k2 'systemctl is-active k3s-agent'; }
ok "its Node is Ready again by itself ($IS)" wait_for 90 up
ok "and four run" wait_for 120 four_run
run_is 0 "verify" provision verify real
since "change and power cut"

# ---- An upgrade --------------------------------------------------------------------------------------------------------------
kube rollout restart deployment web >/dev/null
kube rollout status deployment web --timeout=60s >/dev/null
before=$(pods | sed -n 's/^k[23] //p')
isnt "$before" "" "(the agents have pods)"
k8s_take "$TMP/bundle2" "$TWO"
run_is 0 "upgrade: each agent drained before its restart ($IS)" provision upgrade real --set "k3s.bundle=$TMP/bundle2" --set k3s.version-k3s=$TWO -y ||
	diag "$(tail -c 4000 "$TMP/.out")"
is "$(versions)" "k1=$TWO k2=$TWO k3=$TWO " "all kubelets are the new ones, no Node is cordoned ($IS)"
ok "the agents' pods were evicted, by and by" wait_for 20 gone
ok "four run" wait_for 60 four_run
like "$(in_node k1 'ls /var/lib/rancher/k3s/server/db/snapshots')" "nanopod-before-${TWO%+*}" "etcd was saved before ($IS)"
run_is 0 "plan: nothing to do" provision plan real --detailed-exitcode
since "upgrade"

# ---- What breaks, less nodes, none ---------------------------------------------------------------------------------------------
in_node k2 'systemctl stop k3s-agent'
run_is 11 "verify finds an agent that does not run" provision verify real
run_is 0 "apply mends it" provision apply real -y
run_is 0 "drop" provision drop real -w k3 -y || diag "$(tail -c 3000 "$TMP/.out")"
is "$(ready)" "k1=True k2=True " "the API does not know it any more ($IS)"
ok "its pods run elsewhere" wait_for 60 four_run
as_before k3
since "drop"
run_is 0 "remove, with pods that run" provision remove real -y || diag "$(tail -c 3000 "$TMP/.out")"
as_before k1
as_before k2
since "remove"
done_testing
