# SPDX-License-Identifier: Apache-2.0
server_targets() {
	for server_host in "$@"; do
		printf "  - targets: ['%s']\n    labels: {instance: '%s'}\n" "$(mon_at "$(np_address "$server_host")" "$server_port")" "$server_host"
	done
}
server_job() {
	server_name=$1 server_port=$2
	shift 2
	[ $# -gt 0 ] || return 0
	printf -- '- job_name: %s\n  static_configs:\n' "$server_name"
	server_targets "$@"
}
server_gpu_hosts() { addon_gpus | awk '$2 == "nvidia" { print $1 }' | sort -u; }

server_conf() {
	cat <<-END
		# Written by nanopod (monitoring).
		global:
		  scrape_interval: $S_interval
		  evaluation_interval: $S_interval
		  external_labels:
		    cluster: '$NP_CLUSTER'
		rule_files:
		- /etc/prometheus/nanopod.rules.yml
		alerting:
		  alertmanagers:
		  - static_configs:
		    - targets: ['$(mon_at "$NP_ADDRESS" 9093)']
		scrape_configs:
	END
	server_job prometheus 9090 "$NP_HOST"
	server_job alertmanager 9093 "$NP_HOST"
	# shellcheck disable=SC2046 # host names have no blanks
	server_job node 9100 $(mon_nodes)
	[ "${S_dcgm-no}" != yes ] || {
		# shellcheck disable=SC2046 # host names have no blanks
		server_job dcgm 9400 $(server_gpu_hosts)
	}
}

server() {
	! addon_on_k3s || return 0
	np_trace /var/lib/prometheus /etc/prometheus
	np_packages prometheus || return 1
	addon_put rules_file /etc/prometheus/nanopod.rules.yml 0644 root:root || return 1
	addon_put server_conf /etc/prometheus/prometheus.yml 0644 root:root || return 1
	mon_default prometheus "--web.listen-address=$(mon_at "$NP_ADDRESS" 9090)" "--storage.tsdb.retention.time=$S_retention" || return 1
	if [ "$NP_MODE" = apply ] && ! promtool check config /etc/prometheus/prometheus.yml; then
		np_fail "'/etc/prometheus/prometheus.yml' has errors according to promtool; Prometheus keeps running with the old one"
		return 1
	fi
	np_restart prometheus && np_unit prometheus
}
check() { server; }
apply() { server; }

server_up() { promtool query instant "http://$(mon_at "$NP_ADDRESS" 9090)" "$1" 2>/dev/null; }
# All targets of the configuration must be up; one that was never queried is missing from the list.
server_all() { grep -c '^  - targets:' /etc/prometheus/prometheus.yml; }
server_all_up() { [ "$(server_up 'sum(up)' | sed -n 's/.*=> \([0-9]*\) .*/\1/p')" = "$(server_all)" ]; }

verify() {
	! addon_on_k3s || return 0
	np_hold 2 prometheus
	mon_verify_port prometheus 9090
	mon_way Prometheus 9090
	if np_wait 90 server_all_up; then np_ok "Prometheus reaches all its targets"; else
		np_bad "Prometheus does not reach: $(server_up 'up == 0' | sed -n 's/.*instance="\([^"]*\)".*job="\([^"]*\)".*/\1 (\2)/p' | tr '\n' ' ')"
	fi
	if promtool check config /etc/prometheus/prometheus.yml >/dev/null; then np_ok "its configuration and rules are right"; else
		np_hint "promtool check config /etc/prometheus/prometheus.yml"
		np_bad "its configuration or rules are wrong"
	fi
}

undo() { np_aside /var/lib/prometheus "what was measured" prometheus; }
