#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What stack k3s tells `nanopod autoscale` of a real Kubernetes (by hand: NANOPOD_K8S, NANOPOD_K3S_BUNDLE), whose scheduler says
# why pods wait and whose kubelets run them: CPUs, memory, labels, taints, affinity, volumes, GPUs, ports; which pods keep a node.
# tests/stacks/k3s-demand.t has the same from lines, autoscale-k3s.t the loop.
TEST_K8S=${NANOPOD_K8S-} TEST_K3S=${NANOPOD_K3S_BUNDLE-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/stacks/k8s.sh"
k8s_begin 2
k8s_first "a server and an agent" --role servers=k1 --set k3s.config.kubelet-arg=pod-manifest-path=/etc/static-pods --set k3s.labels.agents=team=a
kube taint node k1 server=yes:NoSchedule >/dev/null

demand() { in_node_stdin k1 "sh -s $1 '${2-}' '${3-}'" <"$SRC/stacks/k3s/demand.inc"; }
IMAGE='image: localhost/nanopod-pause:1, imagePullPolicy: Never'
# pod NAME REQUESTS [MORE OF THE SPEC] [MORE OF THE CONTAINER] [METADATA]
pod() { in_namespace default "$@"; }
in_namespace() {
	local space=$1
	shift
	kube apply -f - >/dev/null <<-Y
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: $space${5:+, $5}}
		spec:
		  terminationGracePeriodSeconds: 1
		  containers: [{name: c, $IMAGE, resources: {requests: {$2}}${4:+, $4}}]
		$(printf '%s' "${3-}" | sed 's/^/  /')
	Y
}
# device NAME RESOURCE COUNT: a pod that asks for them, and for a CPU's tenth.
device() {
	kube apply -f - >/dev/null <<-Y
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: default}
		spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, $IMAGE, resources: {requests: {cpu: 100m}, limits: {$2: $3}}}]}
	Y
}
phase() { kube get pod "$1" -n "${2-default}" -o 'jsonpath={.status.phase}' 2>/dev/null; }
is_phase() { [ "$(phase "$1" "${3-default}")" = "$2" ]; }
show() { diag "$(cat "$TMP/out")" "$(kube get pods -A -o wide)" "$(kube describe pods | grep -A8 Events)"; }

# ---- Waiting ------------------------------------------------------------------------------------------------------------
pod cpu 'cpu: 64'
pod memory 'memory: 4Ti'
device gpu nvidia.com/gpu 2
pod here 'cpu: 100m' 'nodeSelector: {pool: gpu, kubernetes.io/arch: amd64}'
pod there 'cpu: 100m' 'nodeSelector: {disk: fast}'
pod certain 'cpu: 100m' 'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [fast]}]}]}}}'
device rdma example.com/rdma 1
kube apply -f - >/dev/null <<-'Y'
	apiVersion: v1
	kind: PersistentVolumeClaim
	metadata: {name: data, namespace: default}
	spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
Y
pod disk 'cpu: 100m' 'volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]'
pod nodisk 'cpu: 100m' 'volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]'
pod before 'cpu: 100m, memory: 1Mi' "initContainers: [{name: i, $IMAGE, resources: {requests: {cpu: 48, memory: 1Gi}}}]"
reasons() { kube get pods -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="PodScheduled")].reason}{" "}{end}'; }
all_told() { [ "$(reasons | grep -o '=Unschedulable' | wc -l)" -ge 10 ]; }
ok "ten pods wait, by the scheduler ($IS)" wait_for 60 all_told || diag "$(reasons)"
demand demand 'team=a pool=gpu' '' >"$TMP/out"
is "$(sed -n 's/^job default.//p' "$TMP/out")" 'before|1|cpu=48000m,mem=1024M|gpu:0||OK|
cpu|1|cpu=64000m,mem=0M|gpu:0||OK|
gpu|1|cpu=100m,mem=0M|gpu:2||OK|
here|1|cpu=100m,mem=0M|gpu:0||OK|
memory|1|cpu=0m,mem=4194304M|gpu:0||OK|' "what those ask for that a node more would run ($IS)" || show
is "$(sed -n 's/^warn no node is bought for pod default.//p' "$TMP/out")" 'certain, which asks for certain nodes by nodeAffinity
disk, which waits for a volume
nodisk, which waits for a volume
rdma, which asks for example.com/rdma
there, which asks for nodes with the label disk=fast' "and why none is bought for the others ($IS)" || show
is "$(tail -n 1 "$TMP/out")" end "that is all"
like "$(demand demand 'team=a pool=gpu' 'own=yes:NoSchedule')" "pod default/cpu, which does not tolerate the taint own=yes:NoSchedule" "nor where bought nodes have a taint"
kube delete pods --all --wait=false >/dev/null
since "pods that wait"

# ---- A port, another pod, a GPU that is in use --------------------------------------------------------------------------
# An extended resource, as a device plugin's: kubelet keeps what is written into the Node's status.
in_node k1 'cd /var/lib/rancher/k3s/server/tls && curl -fsS --cacert server-ca.crt --cert admin.crt --key admin.key -X PATCH -H "Content-Type: application/json-patch+json" \
	-d '\''[{"op":"add","path":"/status/capacity/nvidia.com~1gpu","value":"1"}]'\'' https://127.0.0.1:6443/api/v1/nodes/k2/status' >/dev/null
has_gpu() { [ "$(kube get node k2 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 1 ]; }
ok "(the agent has a GPU)" wait_for 60 has_gpu
for name in gpu-1 gpu-2; do
	device $name nvidia.com/gpu 1
	[ $name = gpu-2 ] || { ok "one runs on it" wait_for 60 is_phase gpu-1 Running; }
done
pod port-1 'cpu: 10m' '' 'ports: [{containerPort: 80, hostPort: 8080}]'
wait_for 60 is_phase port-1 Running
pod port-2 'cpu: 10m' '' 'ports: [{containerPort: 80, hostPort: 8080}]'
APART='affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}]}}'
pod apart-1 'cpu: 10m' "$APART" '' 'labels: {app: apart}'
wait_for 60 is_phase apart-1 Running
pod apart-2 'cpu: 10m' "$APART" '' 'labels: {app: apart}'
three_wait() { [ "$(demand demand team=a '' | grep -c '^job ')" = 3 ]; }
ok "three wait for a node more" wait_for 60 three_wait
demand demand team=a '' >"$TMP/out"
is "$(sed -n 's/^job default.//p' "$TMP/out")" 'apart-2|1|cpu=10m,mem=0M|gpu:0||OK|
gpu-2|1|cpu=100m,mem=0M|gpu:1||OK|
port-2|1|cpu=10m,mem=0M|gpu:0||OK|' "the GPU, the port and the place of another pod are taken ($IS)" || show
is "$(grep -E '^node' "$TMP/out" | tr '\n' ' ')" "node k1|drained| node k2|allocated| " "the agent is in use, the server is out of service by its taint ($IS)"
kube delete pods --all >/dev/null
since "ports and GPUs"

# ---- Which pods keep a node ---------------------------------------------------------------------------------------------
state_of() { demand demand team=a '' | sed -n "s/^node $1|\\([^|]*\\)|.*/\\1/p"; }
is_state() { [ "$(state_of k2)" = "$1" ]; }
ok "the agent is idle" wait_for 60 is_state idle
kube apply -f - >/dev/null <<-Y
	apiVersion: apps/v1
	kind: DaemonSet
	metadata: {name: each}
	spec: {selector: {matchLabels: {app: each}}, template: {metadata: {labels: {app: each}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, $IMAGE}]}}}
Y
in_node_stdin k2 'mkdir -p /etc/static-pods && cat >/etc/static-pods/static.yaml' <<-Y
	apiVersion: v1
	kind: Pod
	metadata: {name: static, namespace: default}
	spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, $IMAGE}]}
Y
pod ended 'cpu: 10m' 'restartPolicy: Never' 'command: [sh, -c, exit 0]'
pod moves 'cpu: 10m' '' '' 'annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}'
in_namespace kube-system system 'cpu: 10m'
each_runs() { kube get pods -l app=each --field-selector spec.nodeName=k2 2>/dev/null | grep -q Running; }
ok "(a DaemonSet's pod runs there," wait_for 60 each_runs || show
ok "a static one of the node," wait_for 60 is_phase static-k2 Running || show
ok "one that may be moved," wait_for 60 is_phase moves Running
ok "one of the system," wait_for 60 is_phase system Running kube-system
ok "and one has ended)" wait_for 60 is_phase ended Succeeded || show
is "$(state_of k2)" idle "none of these keeps the node ($IS)" || { demand demand team=a '' >"$TMP/out"; show; }
is "$(demand hold K2)" held "so it can be held ($IS)"
is "$(state_of k2)" drained "and takes no pods"
demand work K2 >/dev/null
k8s_web
kube scale deployment web --replicas=1 >/dev/null
one_runs() { pods | grep -q '^k2 '; }
ok "(a Deployment's pod runs there)" wait_for 60 one_runs
is "$(state_of k2)" allocated "that keeps it"
is "$(demand hold K2)" "a pod has just begun on it" "and it is not held ($IS)"
unlike "$(versions)" "k2=[^ ]*true" "nor cordoned"
since "pods that keep a node"

# ---- A node that is gone ------------------------------------------------------------------------------------------------
in_node k2 'systemctl stop k3s-agent'
ok "an agent without kubelet is told, with its pod ($IS)" wait_for 120 is_state 'allocated*'
done_testing
