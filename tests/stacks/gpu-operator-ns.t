#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/gpu-operator on a cluster of two nodes, against K3s where NANOPOD_K3S_BUNDLE names it, else against a DOUBLE of it:
# its Helm controller says that each chart is installed and installs nothing. GPUs are facts, no devices.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=${NANOPOD_K3S_BUNDLE-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/k3s.sh"
. "$SRC/tests/stacks/addons-ns.sh"
[ -z "$TEST_K3S" ] || skip_all "charts of the real K3s need the internet"
cluster_nodes 2
k3s_bundle
for node in $CLUSTER_NODES; do
	node_address "$node" >"$TMP/address.$node"
	ns_address[${node##*-}]=$(cat "$TMP/address.$node")
done
on_nodes 'ip route show default | grep -q . || ip route add default dev eth0'
# shellcheck disable=SC2086
k3s_bring "$K3S_BUNDLE" $CLUSTER_NODES
k3s_table train-1 train-2
ok "a server and an agent ($K3S_IS)" k3s_converge || done_testing

ns_roles k3s.servers,gpu-operator.nodes k3s.agents,gpu-operator.nodes
ns_facts train-2 'gpu_0=nvidia h100 0000:18:00.0 nvidia' 'gpu_1=nvidia h100 0000:2a:00.0 nvidia'
set_=(S_mig=h100 S_mig_h100=all-1g.10gb S_ready_timeout=4 S_pods_timeout=4 S_chart_timeout=20 S_test_image=)
on_nodes 'find /etc /var/lib/rancher -newer /etc/hostname -type f 2>/dev/null | sort >/root/before; true'

ns_step check gpu-operator nvidia train-1 "${set_[@]}"
like "$said" '^NP.differs.write /var/lib/rancher/k3s/server/manifests/nanopod-nvidia-gpu-operator.yaml' "plan: the manifest, on the server"
ns_step check gpu-operator nvidia train-2 "${set_[@]}"
unlike "$said" '^NP.differs' "and on no other node"
for step in charts nfd certs nvidia amd intel; do ns_apply gpu-operator $step "${set_[@]}" -- train-1; done
is "$(kubectl_on train-1 'get helmchart -n kube-system -o name' | sort | tr '\n' ' ')" "helmchart/nfd helmchart/nvidia-gpu-operator " "K3s has these charts, and none for other vendors ($K3S_IS)"
is "$(kubectl_on train-1 "get helmchart nvidia-gpu-operator -n kube-system -o 'jsonpath={.spec.version} {.spec.targetNamespace} {.status.jobName}'")" "v26.3.3 gpu-operator helm-install-nvidia-gpu-operator" "as they were written"
is "$(in_node train-1 'stat -c "%a %U" /var/lib/rancher/k3s/server/manifests/nanopod-nfd.yaml')" "600 root" "their files are root's alone"

# The runtime: there is none until the operator brings it.
ns_step apply gpu-operator runtime train-2 "${set_[@]}"
like "$said" '^NP.cause.there is no nvidia-container-runtime' "a toolkit that does not come is said"
unlike "$(in_node train-2 'ls /etc/rancher/k3s/config.yaml.d 2>/dev/null')" gpu "and the default runtime is not set before it is there"
in_node train-2 'mkdir -p /usr/local/nvidia/toolkit && printf "#!/bin/sh\n" >/usr/local/nvidia/toolkit/nvidia-container-runtime && chmod 755 /usr/local/nvidia/toolkit/nvidia-container-runtime'
ns_apply gpu-operator runtime "${set_[@]}" -- train-2
ns_apply gpu-operator runtime "${set_[@]}" -- train-1
is "$(in_node train-2 'systemctl is-active k3s-agent; grep -c nvidia /var/lib/rancher/k3s/agent/etc/containerd/config.toml; tail -n 1 /etc/rancher/k3s/config.yaml.d/60-nanopod-gpu.yaml')" "active
1
default-runtime: nvidia" "the agent was started anew, and its containerd knows the runtime ($K3S_IS)"

# MIG and what is allocatable: the operator's part is played by kubectl.
ns_apply gpu-operator mig "${set_[@]}" -- train-1
is "$(kubectl_on train-1 "get node train-2 -o 'jsonpath={.metadata.labels.nvidia\\.com/mig\\.config}'")" all-1g.10gb "the node is labelled with its MIG profile"
ns_step verify gpu-operator gpus train-1 S_ready_timeout=1 S_test_image=
like "$said" "^NP.bad.'train-2' offers 0 GPUs of nvidia, PCI has 2" "GPUs that nobody offers are found"

# And back.
for step in mig; do ns_undo gpu-operator $step train-1 S_mig=; done
ns_undo gpu-operator runtime train-2
for step in intel amd nvidia certs nfd charts; do ns_undo gpu-operator $step train-1 "${set_[@]}"; done
is "$(kubectl_on train-1 'get helmchart -n kube-system -o name' 2>/dev/null)" "" "K3s has no chart any more"
is "$(in_node train-1 'ls /var/lib/rancher/k3s/server/manifests; ls /var/lib/nanopod/undo 2>/dev/null'; in_node train-2 'ls /etc/rancher/k3s/config.yaml.d 2>/dev/null')" "" "and nothing of it is left"
done_testing
