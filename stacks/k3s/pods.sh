# SPDX-License-Identifier: Apache-2.0
# Runs a pod on every node, of the image that K3s has for its own sandboxes, so no registry is needed.
pods_image() {
	if [ -n "${S_pause_image-}" ]; then
		printf '%s\n' "$S_pause_image"
		return
	fi
	# containerd 1: sandbox_image = "…", containerd 2: sandbox = "…"
	image=$(sed -n 's/^[[:space:]]*sandbox\(_image\)\{0,1\}[[:space:]]*=[[:space:]]*["'\'']\(.*\)["'\''].*/\2/p' "$K3S_DATA/agent/etc/containerd/config.toml" 2>/dev/null | head -n 1)
	printf '%s\n' "${image:-rancher/mirrored-pause:3.6}"
}
pods_yaml() {
	for node in $1; do
		cat <<-Y
			---
			apiVersion: v1
			kind: Pod
			metadata:
			  name: nanopod-verify-$node
			  namespace: default
			  labels:
			    app: nanopod-verify
			spec:
			  nodeName: $node
			  restartPolicy: Never
			  automountServiceAccountToken: false
			  enableServiceLinks: false
			  terminationGracePeriodSeconds: 0
			  tolerations:
			  - operator: Exists
			  containers:
			  - name: pause
			    image: $2
			    imagePullPolicy: IfNotPresent
		Y
	done
}
pods_table() {
	k3s_kubectl -n default get pods -l app=nanopod-verify -o 'jsonpath={range .items[*]}{.spec.nodeName}{" "}{.status.phase}{" "}{.status.podIP}{" "}{.status.containerStatuses[0].state.waiting.reason}{"\n"}{end}' 2>/dev/null
}
pods_gone() { K3S_PATIENCE=90 k3s_kubectl -n default delete pods -l app=nanopod-verify --grace-period=0 --force --ignore-not-found; }
# Waits for pods, but not on a node that is no longer Ready, because it lost its kubelet.
pods_settled() {
	pods_late=$(printf '%s\n' "$1" | grep -vxF "$(pods_table | awk '$2 == "Running" { print $1 }; END { print "-" }')")
	[ -n "$pods_late" ] || return 0
	pods_ready=$(nodes_table | awk '$2 == "True" { print $1 }; END { print "-" }')
	! printf '%s\n' "$pods_late" | grep -qxF "$pods_ready"
}

verify() {
	k3s_is_first || return 0
	k3s_kubectl -n default get serviceaccount default >/dev/null || { np_bad "the cluster has no service account yet: its controller manager does not run"; return 1; }
	# The step before reports a node that is not Ready; do not wait for its pod.
	hosts=$(nodes_table | awk '$2 == "True" { print $1 }' | grep -xF "$(nodes_wanted)")
	[ -n "$hosts" ] || { np_bad "no Node is Ready"; return 1; }
	count=$(printf '%s\n' "$hosts" | grep -c .)
	image=$(pods_image)
	pods_gone >/dev/null 2>&1
	pods_yaml "$hosts" "$image" | k3s_kubectl apply -f - || { np_bad "pods cannot be made"; return 1; }
	np_wait "${S_wait:-300}" pods_settled "$hosts"
	table=$(pods_table)
	printf '%s\n' "$table"
	bad=0
	for node in $hosts; do
		row=$(printf '%s\n' "$table" | grep "^$node ")
		case $row in
		"$node Running "*) ;;
		*)
			bad=$((bad + 1))
			np_bad "a pod of '$image' does not run on '$node': $(printf '%s' "${row:-not made}" | cut -d' ' -f2-)"
			np_hint "k3s kubectl -n default describe pod nanopod-verify-$node" ;;
		esac
	done
	[ $bad -gt 0 ] || { np_ok "a pod ran on each of $count nodes ($image)"; pods_gone; }
	[ $bad -eq 0 ]
}
