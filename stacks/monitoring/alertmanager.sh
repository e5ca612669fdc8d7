# SPDX-License-Identifier: Apache-2.0
alertmanager_conf() {
	cat <<-'END'
		# Written by nanopod (monitoring).
		route:
		  group_by: [alertname, instance]
		  group_wait: 30s
		  group_interval: 5m
		  repeat_interval: 12h
		  receiver: nanopod
		inhibit_rules:
		- source_matchers: ['alertname = "NodeDown"']
		  target_matchers: ['alertname != "NodeDown"']
		  equal: [instance]
		receivers:
		- name: nanopod
	END
	[ -n "${S_webhook-}" ] || return 0
	printf "  webhook_configs:\n  - url: '%s'\n    send_resolved: true\n" "$(printf '%s' "$S_webhook" | sed "s/'/''/g")"
}

# The address of a receiver is often a secret: it is not shown. Without cluster.listen-address= it would gossip on all addresses.
alertmanager() {
	! addon_on_k3s || return 0
	np_trace /var/lib/prometheus /etc/prometheus
	np_packages prometheus-alertmanager || return 1
	addon_put alertmanager_conf /etc/prometheus/alertmanager.yml 0640 root:prometheus secret || return 1
	mon_default prometheus-alertmanager "--web.listen-address=$(mon_at "$NP_ADDRESS" 9093)" "--cluster.listen-address=" || return 1
	np_restart prometheus-alertmanager && np_unit prometheus-alertmanager
}
check() { alertmanager; }
apply() { alertmanager; }
verify() {
	! addon_on_k3s || return 0
	np_hold 2 prometheus-alertmanager
	mon_verify_port alertmanager 9093
	[ -n "${S_webhook-}" ] || np_say "alerts go nowhere: set monitoring.webhook"
}

undo() { np_aside /var/lib/prometheus "what was measured and silenced" prometheus-alertmanager; }
