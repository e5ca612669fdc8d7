# SPDX-License-Identifier: Apache-2.0
dashboards_map() {
	cat <<-END
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: nanopod-dashboard-$1
		  namespace: monitoring
		  labels:
		    app.kubernetes.io/managed-by: nanopod
		    grafana_dashboard: "1"
		data:
		  nanopod-$1.json: |
	END
	"dashboard_$1" | addon_indent
}
dashboards_text() {
	dashboards_first=yes
	for dashboards_name in $DASHBOARDS; do
		[ -n "$dashboards_first" ] || echo ---
		dashboards_first=
		dashboards_map "$dashboards_name"
	done
}
dashboards_there() { kube -n monitoring get configmap nanopod-dashboard-cluster -o name >/dev/null 2>&1; }

dashboards() {
	addon_on_k3s && addon_lead || return 0
	addon_put dashboards_text "$(addon_file dashboards)" 0600 root:root || return 1
	case $NP_MODE in
	check) if kube_up; then dashboards_there || np_differs "add our dashboards to the cluster"; fi ;;
	apply) np_wait 120 dashboards_there || { np_fail "K3s did not take '$(addon_file dashboards)'"; return 1; } ;;
	esac
}
check() { dashboards; }
apply() { dashboards; }
verify() {
	addon_on_k3s && addon_lead || return 0
	if dashboards_there; then np_ok "our dashboards are in the cluster"; else np_bad "our dashboards are not in the cluster"; fi
}
undo() {
	addon_on_k3s && addon_lead || return 0
	rm -f "$(addon_file dashboards)"
	kube_up || return 0
	kube -n kube-system delete addon.k3s.cattle.io nanopod-dashboards --ignore-not-found --wait=false
	for dashboards_name in $DASHBOARDS; do
		kube -n monitoring delete configmap "nanopod-dashboard-$dashboards_name" --ignore-not-found
	done
}
