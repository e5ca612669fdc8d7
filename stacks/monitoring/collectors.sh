# SPDX-License-Identifier: Apache-2.0
collectors_wanted() {
	! addon_vendor nvidia "$NP_HOST" || [ "${S_dcgm-no}" = yes ] || echo gpu
	! np_members slurm.controller | grep -qxF -e "$NP_HOST" || echo slurm
}

collectors_timer() {
	np_file "/etc/systemd/system/nanopod-$1-metrics.service" 0644 root:root <<-END || return 1
		# Written by nanopod (monitoring).
		[Unit]
		Description=Metrics of $1 for node exporter
		[Service]
		Type=oneshot
		ExecStart=/usr/local/lib/nanopod/$1-metrics
		Nice=10
	END
	np_file "/etc/systemd/system/nanopod-$1-metrics.timer" 0644 root:root <<-END || return 1
		# Written by nanopod (monitoring).
		[Unit]
		Description=Metrics of $1 for node exporter
		[Timer]
		OnBootSec=10
		OnUnitActiveSec=30
		AccuracySec=1
		[Install]
		WantedBy=timers.target
	END
	np_unit "nanopod-$1-metrics.timer"
}

collectors() {
	! addon_on_k3s || return 0
	for collectors_name in $(collectors_wanted); do
		addon_put "collector_$collectors_name" "/usr/local/lib/nanopod/$collectors_name-metrics" 0755 root:root || return 1
		if np_systemd; then collectors_timer "$collectors_name" || return 1; continue; fi
		np_file "/etc/cron.d/nanopod-$collectors_name-metrics" 0644 root:root <<-END || return 1
			# Written by nanopod (monitoring).
			* * * * * root /usr/local/lib/nanopod/$collectors_name-metrics
		END
	done
}
check() { collectors; }
apply() { collectors; }
collectors_new() { [ -s "/var/lib/prometheus/node-exporter/$1.prom" ]; }
verify() {
	! addon_on_k3s || return 0
	for collectors_name in $(collectors_wanted); do
		"/usr/local/lib/nanopod/$collectors_name-metrics"
		if collectors_new "$collectors_name"; then np_ok "metrics of $collectors_name are collected"; else
			np_hint "sh -x /usr/local/lib/nanopod/$collectors_name-metrics"
			np_bad "there are no metrics of $collectors_name"
		fi
	done
}
undo() { rm -f /var/lib/prometheus/node-exporter/gpu.prom /var/lib/prometheus/node-exporter/slurm.prom; }
