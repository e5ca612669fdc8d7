#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the stack k3s writes (config.yaml, registries.yaml, units) for several clusters, against tests/stacks/k3s-conf/.
# UPDATE=1 writes those files anew.
. "$(dirname "$0")/../lib/tap.sh"
golden=$SRC/tests/stacks/k3s-conf

tab=$(printf '\t')
NP_RESOURCES=/dev/null; export NP_RESOURCES
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$1" "$2" "$3" "$(printf '%s' "${4:-arch=x86_64}" | tr '|' "$tab")"; }
table=$(
	row n1 10.0.0.1 base.nodes,k3s.servers
	row N2 10.0.0.2 base.nodes,k3s.servers
	row n3 fd00::3 base.nodes,k3s.servers
	row g1 10.0.0.4 base.nodes,k3s.agents 'gpu_count=8|gpu_0=nvidia H100-SXM5/80GB 0000:01:00.0 nvidia|gpu_1=nvidia H100 0000:02:00.0 nvidia'
	row a1 10.0.0.5 base.nodes,k3s.agents 'gpu_count=1|gpu_0=amd 74a1 0000:03:00.0 amdgpu'
)
# writes FUNCTION NODE ROLES SETTING=VALUE…
writes() {
	function=$1 node=$2 roles=$3
	shift 3
	{
		cat "$SRC/stacks/common/lib.sh"
		echo "NP_STACK=k3s NP_STEP=conf NP_MODE=check NP_CLUSTER=train NP_STATE=$TMP NP_NODE=$node NP_HOST=$node NP_ROLES='$roles' NP_TABLE='$table'"
		echo "S_cluster_cidr=10.42.0.0/16 S_service_cidr=10.43.0.0/16 S_version_k3s=v1.34.1+k3s1"
		for setting; do printf "%s='%s'\n" "${setting%%=*}" "$(printf '%s' "${setting#*=}" | sed "s/'/'\\\\''/g")"; done
		cat "$SRC/stacks/k3s/k3s.inc" "$SRC/stacks/k3s/registries.sh"
		echo "$function >&3"
	} | sh
}
same() {
	file=$1
	shift
	writes "$@" >"$TMP/is" 2>"$TMP/err"
	[ -z "${UPDATE-}" ] || cp "$TMP/is" "$golden/$file"
	is "$(cat "$TMP/err")$(cat "$TMP/is")" "$(cat "$golden/$file")" "$file"
}

same first.yaml k3s_config n1 servers
same second.yaml k3s_config N2 servers S_endpoint=api.example.com 'S_tls_sans=api.example.com 192.0.2.1' 'S_disable=traefik servicelb' S_embedded_registry=yes
same second-v6.yaml k3s_config n3 servers S_flannel_iface=eth1 S_cluster_cidr=fd01::/48
same agent-nvidia.yaml k3s_config g1 agents S_default_runtime=nvidia 'S_labels=agents g1' 'S_labels_agents=pool=gpu' 'S_labels_g1=rack=7' S_taints=agents S_taints_agents=nvidia.com/gpu=present:NoSchedule
same agent-amd.yaml k3s_config a1 agents S_default_runtime=nvidia
same config-more.yaml k3s_config n1 servers 'S_config=kubelet-arg secrets-encryption log flannel-backend BAD;x etcd-snapshot-retention' 'S_config_kubelet_arg=max-pods=250 v=2' S_config_secrets_encryption=true "S_config_log=it's" S_config_flannel_backend=wireguard-native S_config_etcd_snapshot_retention=7
same server.service k3s_unit_text n1 servers
same agent.service k3s_unit_text g1 agents
mkdir -p "$TMP/proc"
printf 'processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\n' >"$TMP/proc/cpuinfo"
printf 'MemTotal:       24684000 kB\nMemFree:          100 kB\n' >"$TMP/proc/meminfo"
printf 'cpus=1\nmemory_mb=3615\ndisk_mb=20480\n' >"$TMP/resources"
NP_RESOURCES=$TMP/resources NP_PROC=$TMP/proc; export NP_RESOURCES NP_PROC
same config-part.yaml k3s_config n1 servers
is "$(writes k3s_config n1 servers S_config=kubelet-arg S_config_kubelet_arg=v=2 | grep -c kubelet-arg)" 1 "kubelet's arguments of the cluster file are left alone"
NP_RESOURCES=/dev/null

same registries.yaml registries_text n1 servers 'S_registries=docker.io quay.io all' S_registries_docker_io=endpoint 'S_registries_docker_io_endpoint=mirror:5000 https://other' S_registries_quay_io=endpoint S_registries_quay_io_endpoint=http://q S_registries_all=
is "$(writes registries_text n1 servers)" "" "no registries, no file"
same registries-embedded.yaml registries_text n1 servers S_embedded_registry=yes

# Who makes the cluster: the first named, unless another has etcd already.
is "$(writes k3s_first n1 servers)" n1 "the first server is the first named"
table=$(printf '%s\n' "$table" | sed "s/^N2${tab}.*/&${tab}k3s_server=etcd/")
is "$(writes k3s_first n1 servers)" N2 "but where another one is a member of etcd, that one"
like "$(writes k3s_config n1 servers)" "^server: 'https://10.0.0.2:6443'" "and the first named joins it"
if command -v python3 >/dev/null && python3 -c 'import yaml' 2>/dev/null; then
	for file in "$golden"/*.yaml; do ok "$(basename "$file") is YAML" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$file"; done
else
	skip "python3-yaml is not installed"
fi
done_testing
