# SPDX-License-Identifier: Apache-2.0
# Compares the cluster's GPUs with those on PCI, then runs nvidia-smi -L in a pod on every node with NVIDIA GPUs.
gpus_node() { printf '%s' "$1" | tr 'A-Z' 'a-z'; }
gpus_resources() {
	case $1 in
	nvidia) echo nvidia.com/gpu ;;
	amd) echo amd.com/gpu ;;
	intel) echo gpu.intel.com/xe gpu.intel.com/i915 ;;
	esac
}
gpus_escape() { printf '%s' "$1" | sed 's/\./\\./g'; }

# gpus_have VENDOR HOST: how many are allocatable now.
gpus_have() {
	gpus_sum=0
	for gpus_resource in $(gpus_resources "$1"); do
		gpus_n=$(kube get node "$(gpus_node "$2")" -o "jsonpath={.status.allocatable.$(gpus_escape "$gpus_resource")}" 2>/dev/null)
		gpus_sum=$((gpus_sum + ${gpus_n:-0}))
	done
	echo "$gpus_sum"
}

gpus_sliced() { [ "$1" = nvidia ] && [ -n "$(operator_profile "$(addon_gpus "$2" | awk '$2 == "nvidia" { print $3; exit }')")" ]; }
gpus_times() {
	case ${S_sharing-none},$1 in
	none,* | *,amd | mps,intel) echo 1 ;;
	*) echo "$S_replicas" ;;
	esac
}
gpus_fit() {
	if gpus_sliced "$1" "$2"; then [ "$(gpus_have "$1" "$2")" -gt 0 ]; else [ "$(gpus_have "$1" "$2")" -eq "$3" ]; fi
}

gpus_count() {
	for gpus_host in $(operator_hosts "$1"); do
		gpus_want=$(($(operator_count "$1" "$gpus_host") * $(gpus_times "$1")))
		if np_wait "${S_ready_timeout:-1800}" gpus_fit "$1" "$gpus_host" "$gpus_want"; then
			np_ok "'$gpus_host' offers $(gpus_have "$1" "$gpus_host") GPUs of $1"
		else
			np_hint "k3s kubectl describe node $(gpus_node "$gpus_host")"
			np_bad "'$gpus_host' offers $(gpus_have "$1" "$gpus_host") GPUs of $1, PCI has $gpus_want"
		fi
	done
}

gpus_pod() { printf 'nanopod-gpu-%s' "$(gpus_node "$1")" | cut -c1-63; }

# gpus_manifest HOST: a pod with all its GPUs, if one pod may have them.
gpus_manifest() {
	gpus_limit=$(operator_count nvidia "$1")
	[ "${S_sharing-none}" = none ] && ! gpus_sliced nvidia "$1" || gpus_limit=1
	cat <<-END
		apiVersion: v1
		kind: Pod
		metadata:
		  name: $(gpus_pod "$1")
		  namespace: default
		  labels:
		    app.kubernetes.io/managed-by: nanopod
		spec:
		  restartPolicy: Never
		  nodeSelector:
		    kubernetes.io/hostname: $(gpus_node "$1")
		  tolerations:
		  - operator: Exists
	END
	[ "${S_default_runtime-yes}" = yes ] || printf '  runtimeClassName: nvidia\n'
	cat <<-END
		  containers:
		  - name: nvidia-smi
		    image: $S_test_image
		    command: [nvidia-smi, -L]
		    resources:
		      limits:
		        nvidia.com/gpu: $gpus_limit
	END
}
gpus_over() {
	case $(kube -n default get pod "$(gpus_pod "$1")" -o 'jsonpath={.status.phase}' 2>/dev/null) in
	Succeeded | Failed) true ;;
	*) false ;;
	esac
}
gpus_result() {
	np_wait 300 gpus_over "$1"
	gpus_seen=$(kube -n default logs "$(gpus_pod "$1")" 2>/dev/null | grep -c '^GPU ')
	if [ "$gpus_seen" -gt 0 ]; then np_ok "a pod on '$1' saw $gpus_seen GPUs"; else
		kube -n default describe pod "$(gpus_pod "$1")"
		np_hint "k3s kubectl -n default describe pod $(gpus_pod "$1")"
		np_bad "a pod on '$1' saw no GPU"
	fi
}
gpus_clear() { for gpus_host in $(operator_hosts nvidia); do kube -n default delete pod "$(gpus_pod "$gpus_host")" --ignore-not-found --wait=true; done; }

verify() {
	addon_lead || return 0
	for gpus_vendor in nvidia amd intel; do
		! operator_wants $gpus_vendor || gpus_count $gpus_vendor
	done
	operator_wants nvidia && [ -n "${S_test_image-}" ] || return 0
	gpus_clear
	for gpus_host in $(operator_hosts nvidia); do
		gpus_manifest "$gpus_host" | kube apply -f - || np_bad "cannot make a pod for '$gpus_host'"
	done
	for gpus_host in $(operator_hosts nvidia); do
		gpus_result "$gpus_host"
	done
	gpus_clear
}
undo() { if addon_lead && kube_up; then gpus_clear; fi; }
