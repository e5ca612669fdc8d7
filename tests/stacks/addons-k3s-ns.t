#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gpu-operator, monitoring, storage (Rook) and ray on a K3s of two nodes: every step of theirs that K3s has to do with is
# applied, looked at again, verified and undone. Against a DOUBLE of K3s: its Helm controller looks whether the chart is to
# be had, says that it is installed, and makes a pod and what its operator would make. GPUs are facts, no devices.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=${NANOPOD_K3S_BUNDLE-}
. "$(dirname "$0")/../lib/tap.sh"
[ -z "$TEST_K3S" ] || skip_all "charts of the real K3s need the internet"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/k3s.sh"
. "$SRC/tests/stacks/addons-ns.sh"
cluster_nodes 2
ns_where
k3s_bundle
on_nodes 'ip route show default | grep -q . || ip route add default dev eth0'
NANOPOD_STACKS=$SRC/stacks
export NANOPOD_STACKS
run_is 0 "a server and an agent ($K3S_IS)" "$NANOPOD" provision -r train k3s --name test --role 'servers=train-1' --set "k3s.bundle=$K3S_BUNDLE" \
	--set "k3s.version-k3s=$K3S_VERSION" --set k3s.wait=60 --set k3s.disk-mb=100 "${CLUSTER_WAY[@]}" -y --no-verify || { diag "$out" "$err"; done_testing; }
ns_roles k3s.servers,gpu-operator.nodes,monitoring.server,monitoring.nodes,storage.server,storage.nodes,ray.head \
	k3s.agents,gpu-operator.nodes,monitoring.nodes,storage.nodes,ray.workers
ns_facts train-2 'gpu_0=nvidia h100 0000:18:00.0 nvidia' 'gpu_1=nvidia h100 0000:2a:00.0 nvidia' 'gpu_2=amd mi300x 0000:c1:00.0 amdgpu' 'gpu_3=intel max1550 0000:d1:00.0 xe'
disk=/dev/disk/by-id/nvme-double
common=(S_charts=/x NP_UPLOAD=/run/charts NP_UPLOAD_ID=abc S_ready_timeout=60 S_pods_timeout=60 S_chart_timeout=60)
gpu=("${common[@]}" S_mig=h100 S_mig_h100=all-1g.10gb S_test_image='')
rook=("${common[@]}" S_kind=rook-ceph S_replicas=1 S_devices='train-1' S_devices_train_1=$disk)
charts='nfd cert-manager nvidia-gpu-operator amd-gpu-operator intel-device-plugins-gpu intel-device-plugins-operator kube-prometheus-stack rook-ceph rook-ceph-cluster kuberay-operator'
server=/var/lib/rancher/k3s/server
in_node train-1 "ls $server/manifests" >"$TMP/manifests.before"

# ---- Archives of charts ------------------------------------------------------------------------------------------------
ns_step apply gpu-operator charts train-1 "${gpu[@]}"
like "$said" "^NP.cause.the uploaded files lack 'node-feature-discovery-0.18.3.tgz'" "an archive that was not brought is said"
for stack in gpu-operator monitoring storage ray; do
	sed -n "s/^  \\(rook\\|nfd\\|cert-manager\\|nvidia\\|amd\\|intel\\|kube-prometheus-stack\\|kuberay\\): \\([v0-9].*\\)/\\1 \\2/p" "$SRC/stacks/$stack/stack.yaml"
done | sed 's/^rook \(.*\)/rook-ceph \1\nrook-ceph-cluster \1/; s/^nfd/node-feature-discovery/; s/^nvidia/gpu-operator/; s/^amd/gpu-operator-charts/; s/^kuberay/kuberay-operator/
	s/^intel \(.*\)/intel-device-plugins-operator \1\nintel-device-plugins-gpu \1/' | tr ' ' - >"$TMP/charts"
in_node_stdin train-1 'mkdir /run/charts && while read -r c; do echo DOUBLE >/run/charts/$c.tgz; done' <"$TMP/charts"
ns_apply gpu-operator charts "${gpu[@]}" -- train-1 train-2
ns_apply monitoring charts "${common[@]}" -- train-1 train-2
ns_apply storage charts "${rook[@]}" -- train-1 train-2
ns_apply ray charts "${common[@]}" -- train-1 train-2
is "$(in_node train-1 "ls $server/static/charts | sort")" "$(sed 's/$/.tgz/' "$TMP/charts" | sort)" "the server has all of them"
is "$(in_node train-2 "ls -d $server 2>/dev/null")" "" "and the agent none"

# ---- Charts ------------------------------------------------------------------------------------------------------------
ns_step check gpu-operator nvidia train-1 "${gpu[@]}"
like "$said" "^NP.differs.write $server/manifests/nanopod-nvidia-gpu-operator.yaml" "plan: the manifest, on the server"
ns_step check gpu-operator nvidia train-2 "${gpu[@]}"
unlike "$said" '^NP.differs' "and on no other node"
in_node train-1 "mv $server/static/charts/gpu-operator-v26.3.3.tgz /run/"
ns_step apply gpu-operator nvidia train-1 "${gpu[@]}"
like "$said" "^NP.cause.Helm did not install the chart 'nvidia-gpu-operator'" "a chart that fails is said ($K3S_IS)"
ns_step verify gpu-operator nvidia train-1 "${gpu[@]}" S_ready_timeout=1
like "$said" "^NP.bad.pods of 'gpu-operator' do not run: there are none" "and found by verify"
in_node train-1 "mv /run/gpu-operator-v26.3.3.tgz $server/static/charts/; k3s kubectl -n kube-system delete job helm-install-nvidia-gpu-operator" >/dev/null
ns_apply gpu-operator 'nfd certs nvidia amd intel' "${gpu[@]}" -- train-1
ns_apply monitoring 'chart dashboards' "${common[@]}" S_webhook=http://hook.example/x -- train-1
ns_apply storage rook "${rook[@]}" -- train-1
ns_apply ray kuberay "${common[@]}" -- train-1
is "$(kubectl_on train-1 'get helmchart -n kube-system -o name' | sort | tr '\n' ' ')" "$(printf 'helmchart/%s\n' $charts | sort | tr '\n' ' ')" "K3s has these charts ($K3S_IS)"
is "$(kubectl_on train-1 "get helmchart nvidia-gpu-operator -n kube-system -o 'jsonpath={.spec.chart} {.spec.targetNamespace} {.status.jobName}'")" "https://%{KUBERNETES_API}%/static/charts/gpu-operator-v26.3.3.tgz gpu-operator helm-install-nvidia-gpu-operator" "as they were written"
is "$(in_node train-1 "stat -c '%a %U' $server/manifests/nanopod-*" | sort -u)" "600 root" "their files are root's alone"
is "$(kubectl_on train-1 "get raycluster nanopod -n ray -o 'jsonpath={.spec.authOptions.mode} {.spec.workerGroupSpecs[0].replicas}'")" "token 1" "a RayCluster with a token, a worker a node"
password() { kubectl_on train-1 "get secret nanopod-grafana -n monitoring -o 'jsonpath={.stringData.admin-password}'"; }
secret=$(password)
is "${#secret}" 48 "a password for Grafana was made"
ok "and is in no file of the node" in_node_stdin train-1 'read -r s; ! grep -rqsF -e "$s" /etc /var/lib/nanopod /var/lib/rancher/k3s/server/manifests' <<<"$secret"

# What changes is installed once more.
job() { kubectl_on train-1 "get job helm-install-kube-prometheus-stack -n kube-system -o 'jsonpath={.metadata.uid}'"; }
old=$(job)
ns_apply monitoring chart "${common[@]}" S_retention=3d S_values=kube-prometheus-stack S_values_kube_prometheus_stack='a: 1' -- train-1
isnt "$(job)" "$old" "another value is another run of Helm"
is "$(password)" "$secret" "and the same password"

# ---- The runtime, MIG, GPUs --------------------------------------------------------------------------------------------
ns_step apply gpu-operator runtime train-2 "${gpu[@]}" S_ready_timeout=1
like "$said" "^NP.cause.'[^']*' has no nvidia-container-runtime" "a toolkit that does not come is said"
unlike "$(in_node train-2 'ls /etc/rancher/k3s/config.yaml.d 2>/dev/null')" gpu "and the default runtime is not set before it is there"
in_node train-2 'mkdir -p /usr/local/nvidia/toolkit && printf "#!/bin/sh\n" >/usr/local/nvidia/toolkit/nvidia-container-runtime && chmod 755 /usr/local/nvidia/toolkit/nvidia-container-runtime'
ns_apply gpu-operator runtime "${gpu[@]}" -- train-1 train-2
is "$(in_node train-2 'systemctl is-active k3s-agent; grep -c nvidia /var/lib/rancher/k3s/agent/etc/containerd/config.toml; tail -n 1 /etc/rancher/k3s/config.yaml.d/60-nanopod-gpu.yaml')" "active
1
default-runtime: nvidia" "the agent was started anew, and its containerd knows the runtime ($K3S_IS)"
ns_apply gpu-operator mig "${gpu[@]}" -- train-1
is "$(kubectl_on train-1 "get node train-2 -o 'jsonpath={.metadata.labels.nvidia\\.com/mig\\.config}'")" all-1g.10gb "the node is labelled with its MIG profile"
ns_step verify gpu-operator gpus train-1 "${gpu[@]}" S_ready_timeout=1 S_mig=
like "$said" "^NP.bad.'train-2' offers 0 GPUs of nvidia, PCI has 2" "GPUs that nobody offers are found"
# What the operators would do.
kubectl_on train-1 "label node train-2 nvidia.com/mig.config.state=success" >/dev/null
kubectl_on train-1 "patch node train-2 --type merge -p '{\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"14\",\"amd.com/gpu\":\"1\",\"gpu.intel.com/xe\":\"1\"}}}'" >/dev/null

# ---- Verify --------------------------------------------------------------------------------------------------------------
ns_verified gpu-operator 'nfd certs nvidia amd intel mig gpus' train-1 "${gpu[@]}"
ns_verified gpu-operator runtime train-2 "${gpu[@]}"
ns_verified monitoring 'chart dashboards' train-1 "${common[@]}"
ns_verified storage rook train-1 "${rook[@]}"
ns_verified ray kuberay train-1 "${common[@]}"
kubectl_on train-1 "patch raycluster nanopod -n ray --type merge -p '{\"status\":{\"state\":\"failed\",\"reason\":\"why\"}}'" >/dev/null
ns_step verify ray kuberay train-1 "${common[@]}" S_ready_timeout=1
like "$said" '^NP.bad.the RayCluster is not ready: failed why' "a RayCluster that is not ready is found, with its reason"

# ---- And back ------------------------------------------------------------------------------------------------------------
ns_undo ray kuberay train-1 "${common[@]}"
ns_undo storage rook train-1 "${rook[@]}"
ns_undo monitoring 'dashboards chart' train-1 "${common[@]}"
ns_undo gpu-operator mig train-1 "${gpu[@]}"
is "$(kubectl_on train-1 "get node train-2 -o 'jsonpath={.metadata.labels.nvidia\\.com/mig\\.config}'")" all-disabled "MIG is switched off"
ns_undo gpu-operator runtime train-2 "${gpu[@]}"
ns_undo gpu-operator 'runtime mig intel amd nvidia certs nfd charts' train-1 "${gpu[@]}"
ns_undo gpu-operator charts train-2 "${gpu[@]}"
for stack in monitoring storage ray; do
	for node in train-1 train-2; do ns_undo $stack charts $node "${common[@]}"; done
done
is "$(kubectl_on train-1 'get helmchart,helmchartconfig,raycluster,cephcluster -A -o name; k3s kubectl get secret,configmap,pods -n monitoring -o name' 2>/dev/null)" "" "K3s has no chart any more, and nothing of them"
is "$(in_node train-1 "ls $server/manifests")" "$(cat "$TMP/manifests.before")" "its folder of manifests is as it was"
is "$(in_node train-1 "find $server/static /etc/rancher -name '*nanopod*' -o -name '*.tgz'; ls /var/lib/nanopod/undo /var/lib/nanopod/steps 2>/dev/null | grep -v '^k3s\|^base\|:\$\|^\$'"; in_node train-2 'ls /etc/rancher/k3s/config.yaml.d 2>/dev/null')" "" "and nothing of theirs is left"
done_testing
