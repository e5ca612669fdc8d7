# SPDX-License-Identifier: Apache-2.0
# K3s runs its control plane in one process, which serves no metrics on the node's address by default: the
# chart would wait for them for ever.
chart_control_plane() {
	for chart_part in kubeProxy kubeControllerManager kubeScheduler kubeEtcd; do
		printf '%s:\n  enabled: false\n' $chart_part
	done
}

chart_prometheus() {
	cat <<-END
		prometheus:
		  prometheusSpec:
		    retention: $S_retention
		    scrapeInterval: $S_interval
		    serviceMonitorSelectorNilUsesHelmValues: false
		    podMonitorSelectorNilUsesHelmValues: false
		    ruleSelectorNilUsesHelmValues: false
		    probeSelectorNilUsesHelmValues: false
	END
	[ -n "${S_storage_class-}" ] || return 0
	cat <<-END
		    storageSpec:
		      volumeClaimTemplate:
		        spec:
		          storageClassName: $S_storage_class
		          accessModes: [ReadWriteOnce]
		          resources:
		            requests:
		              storage: $S_storage_size
	END
}

chart_alertmanager() {
	[ -n "${S_webhook-}" ] || return 0
	cat <<-'END'
		alertmanager:
		  config:
		    route:
		      group_by: [alertname, instance]
		      receiver: nanopod
		      routes:
		      - receiver: "null"
		        matchers: ['alertname = "Watchdog"']
		    receivers:
		    - name: "null"
		    - name: nanopod
		      webhook_configs:
	END
	printf "      - url: '%s'\n" "$(printf '%s' "$S_webhook" | sed "s/'/''/g")"
}

chart_values() {
	cat <<-'END'
		grafana:
		  admin:
		    existingSecret: nanopod-grafana
		    userKey: admin-user
		    passwordKey: admin-password
		  sidecar:
		    dashboards:
		      enabled: true
		      label: grafana_dashboard
		      labelValue: "1"
		      searchNamespace: ALL
	END
	chart_prometheus
	chart_alertmanager
	chart_control_plane
	printf 'additionalPrometheusRulesMap:\n  nanopod:\n    groups:\n'
	rules_groups k3s | sed 's/^/    /'
}

# Generates Grafana's password once, and stores it only in the cluster.
chart_secret() { kube -n monitoring get secret nanopod-grafana -o name >/dev/null 2>&1; }
chart_make_secret() {
	! chart_secret || return 0
	kube create namespace monitoring --dry-run=client -o yaml | kube apply -f - || return 1
	chart_password=$(od -An -tx1 -N 24 /dev/urandom | tr -d ' \n') || return 1
	printf 'apiVersion: v1\nkind: Secret\nmetadata:\n  name: nanopod-grafana\n  namespace: monitoring\n  labels:\n    app.kubernetes.io/managed-by: nanopod\nstringData:\n  admin-user: admin\n  admin-password: "%s"\n' "$chart_password" |
		kube apply -f - || return 1
	chart_password=
	np_did "generated a password for Grafana"
	np_say "Grafana's password: k3s kubectl -n monitoring get secret nanopod-grafana -o jsonpath='{.data.admin-password}' | base64 -d"
}

check() {
	addon_on_k3s && addon_lead || return 0
	if kube_up; then chart_secret || np_differs "generate a password for Grafana"; fi
	chart_plan
}
chart_plan() { addon_install kube-prometheus-stack 1200 chart_text; }
chart_text() {
	chart_values | addon_chart kube-prometheus-stack monitoring kube-prometheus-stack "$S_version_kube_prometheus_stack" "$S_repo_kube_prometheus_stack"
}
apply() {
	addon_on_k3s && addon_lead || return 0
	np_wait 60 kube_up || { np_fail "K3s does not answer on '$NP_HOST'"; return 1; }
	chart_make_secret || { np_fail "cannot save Grafana's password in the cluster"; return 1; }
	chart_plan
}
verify() { if addon_on_k3s && addon_lead; then addon_verify kube-prometheus-stack monitoring; fi; }
undo() {
	addon_on_k3s && addon_lead || return 0
	addon_remove kube-prometheus-stack || return 1
	if [ -n "$NP_LEAVING" ]; then np_left "the namespace 'monitoring', with the volumes of metrics"; return 0; fi
	if kube_up; then kube delete namespace monitoring --ignore-not-found --wait=false; fi
}
