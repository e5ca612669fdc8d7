# SPDX-License-Identifier: Apache-2.0
# The operator generates the token and stores it as a Secret.
kuberay_workers() { np_members workers | wc -l | tr -d ' '; }

# GPUs of a worker: the number that every worker's node has.
kuberay_gpus() {
	for kuberay_host in $(np_members workers); do addon_gpus "$kuberay_host" | grep -c ' nvidia ' || :; done | sort -n | head -n 1
}
kuberay_pod() {
	cat <<-END
		${1}template:
		${1}  spec:
		${1}    containers:
		${1}    - name: $2
		${1}      image: $S_image:$S_version_ray
		${1}      resources:
		${1}        limits:
		${1}          cpu: "$S_worker_cpus"
		${1}          memory: $S_worker_memory
	END
	[ "${3:-0}" = 0 ] || printf '%s          nvidia.com/gpu: %s\n' "$1" "$3"
}
kuberay_cluster() {
	cat <<-END
		apiVersion: ray.io/v1
		kind: RayCluster
		metadata:
		  name: nanopod
		  namespace: ray
		  labels:
		    app.kubernetes.io/managed-by: nanopod
		spec:
		  rayVersion: "$S_version_ray"
		  authOptions:
		    mode: token
		  headGroupSpec:
		    serviceType: ClusterIP
		    rayStartParams: {}
	END
	kuberay_pod '    ' ray-head
	cat <<-END
		  workerGroupSpecs:
		  - groupName: workers
		    replicas: $(kuberay_workers)
		    minReplicas: $(kuberay_workers)
		    maxReplicas: $(kuberay_workers)
		    rayStartParams: {}
	END
	kuberay_pod '    ' ray-worker "$(kuberay_gpus)"
}
kuberay_operator() { printf '' | addon_chart kuberay-operator ray kuberay-operator "$S_version_kuberay" "$S_repo_kuberay"; }
kuberay_state() { kube -n ray get raycluster nanopod -o "jsonpath={.status.$1}" 2>/dev/null; }
kuberay_there() { kube -n ray get raycluster nanopod -o name >/dev/null 2>&1; }

kuberay() {
	addon_on_k3s && addon_lead || return 0
	addon_install kuberay-operator 900 kuberay_operator || return 1
	addon_put kuberay_cluster "$(addon_file ray-cluster)" 0600 root:root || return 1
	case $NP_MODE in
	check) if kube_up; then kuberay_there || np_differs "create the RayCluster 'nanopod'"; fi ;;
	apply) np_wait 180 kuberay_there || { np_fail "K3s did not take '$(addon_file ray-cluster)'"; return 1; } ;;
	esac
}
check() { kuberay; }
apply() { kuberay; }

kuberay_ready() { [ "$(kuberay_state state)" = ready ]; }
verify() {
	addon_on_k3s && addon_lead || return 0
	addon_verify kuberay-operator ray
	if np_wait "${S_ready_timeout:-600}" kuberay_ready; then np_ok "the RayCluster is ready with $(kuberay_state availableWorkerReplicas) workers"; else
		np_hint "k3s kubectl -n ray describe raycluster nanopod"
		np_bad "the RayCluster is not ready: $(kuberay_state state) $(kuberay_state reason)"
	fi
}
undo() {
	addon_on_k3s && addon_lead || return 0
	rm -f "$(addon_file ray-cluster)"
	if kube_up; then
		kube -n kube-system delete addon.k3s.cattle.io nanopod-ray-cluster --ignore-not-found --wait=false
		kube -n ray delete raycluster.ray.io nanopod --ignore-not-found --timeout=55s
	fi
	addon_remove kuberay-operator
}
