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
		User=prometheus
		Group=prometheus
		SupplementaryGroups=systemd-journal
		ExecStart=/usr/local/lib/nanopod/$1-metrics
		ProtectSystem=strict
		ProtectHome=yes
		PrivateTmp=yes
		ReadWritePaths=$COLLECTORS_TEXT
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
	[ "$NP_MODE" != apply ] || np_reload_units "nanopod-$1-metrics.service"
	np_unit "nanopod-$1-metrics.timer"
}

collectors() {
	! addon_on_k3s && [ -n "$(collectors_wanted)" ] || return 0
	np_dir "$COLLECTORS_DATA" 0755 root:root data
	np_dir "$COLLECTORS_TEXT" 0755 prometheus:prometheus data
	for collectors_name in $(collectors_wanted); do
		addon_put "collector_$collectors_name" "/usr/local/lib/nanopod/$collectors_name-metrics" 0755 root:root || return 1
		if np_systemd; then collectors_timer "$collectors_name" || return 1; continue; fi
		np_file "/etc/cron.d/nanopod-$collectors_name-metrics" 0644 root:root <<-END || return 1
			# Written by nanopod (monitoring).
			* * * * * prometheus /usr/local/lib/nanopod/$collectors_name-metrics
		END
	done
}
check() { collectors; }
apply() { collectors; }
collectors_run() { if np_systemd; then systemctl start "nanopod-$1-metrics.service"; else "/usr/local/lib/nanopod/$1-metrics"; fi; }
# It must be a recent file, not a link.
collectors_new() { [ -f "$COLLECTORS_TEXT/$1.prom" ] && [ ! -L "$COLLECTORS_TEXT/$1.prom" ] && [ -n "$(find "$COLLECTORS_TEXT/$1.prom" -mmin -3 -size +0)" ]; }
verify() {
	! addon_on_k3s || return 0
	for collectors_name in $(collectors_wanted); do
		collectors_run "$collectors_name"
		if collectors_new "$collectors_name"; then np_ok "metrics of $collectors_name are collected"; else
			! np_systemd || np_unit_log "nanopod-$collectors_name-metrics"
			np_hint "/usr/local/lib/nanopod/$collectors_name-metrics; ls -ld $COLLECTORS_TEXT"
			np_bad "there are no metrics of $collectors_name"
		fi
	done
}
# The user prometheus deletes in its own folder. reset-failed, or systemd would list a removed service.
undo() {
	for collectors_name in gpu slurm; do
		np_systemd && [ -e "/etc/systemd/system/nanopod-$collectors_name-metrics.service" ] || continue
		systemctl stop "nanopod-$collectors_name-metrics.timer" "nanopod-$collectors_name-metrics.service"
		systemctl reset-failed "nanopod-$collectors_name-metrics.service" 2>/dev/null
	done
	[ ! -d "$COLLECTORS_TEXT" ] || collectors_as find "$COLLECTORS_TEXT" -mindepth 1 -delete
}
