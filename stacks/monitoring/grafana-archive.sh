# SPDX-License-Identifier: Apache-2.0
# Grafana from its makers' archive, in a folder of its own, with a unit of the name that their package has: what comes after
# is the same for both.
ARCHIVE_HOME=/opt/nanopod-grafana
ARCHIVE_UNIT=/etc/systemd/system/grafana-server.service

archive_wanted() { [ -n "${S_grafana-}" ] && ! addon_on_k3s; }
archive_there() { [ -x "$(archive_program)" ] && [ -s "$ARCHIVE_HOME/conf/defaults.ini" ]; }
# 'grafana server' since version 10, 'grafana-server' before.
archive_program() { if [ -e "$ARCHIVE_HOME/bin/grafana" ]; then echo "$ARCHIVE_HOME/bin/grafana"; else echo "$ARCHIVE_HOME/bin/grafana-server"; fi; }

archive_fits() {
	[ -z "${S_grafana_deb-}" ] || { np_fail "'grafana' and 'grafana-deb' are two ways to one Grafana: set one of them"; return 1; }
	case ${S_grafana_sha256-} in *[!0-9a-f]*) np_fail "'grafana-sha256' is not a SHA-256: 64 of 0-9 and a-f"; return 1 ;; esac
	np_systemd || { np_fail "Grafana's archive is run by systemd, which '$NP_HOST' lacks"; return 1; }
}
archive_unpack() {
	if [ "$NP_MODE" = check ]; then
		archive_there || np_differs "unpack ${S_grafana##*/} to $ARCHIVE_HOME"
	else
		archive_from=$(find "$NP_UPLOAD" -type f 2>/dev/null | head -n 1)
		if [ -n "$archive_from" ]; then archive_replace || return 1; fi
		archive_there || { np_fail "Grafana's archive did not come"; return 1; }
	fi
	[ -z "${NP_UPLOAD_ID-}" ] || addon_put "echo $NP_UPLOAD_ID" "$NP_STATE/brought/grafana" 0644 root:root
}
archive_replace() {
	archive_sum=$(np_hash "$archive_from")
	[ -z "${S_grafana_sha256-}" ] || [ "$archive_sum" = "$S_grafana_sha256" ] || {
		np_fail "'${S_grafana##*/}' is not what its makers say: its SHA-256 is $archive_sum, not $S_grafana_sha256"
		return 1
	}
	np_trace "$ARCHIVE_HOME" "$ARCHIVE_HOME.new" && np_owe || return 1
	rm -rf "$ARCHIVE_HOME.new" && mkdir "$ARCHIVE_HOME.new" &&
		tar -xzf "$archive_from" -C "$ARCHIVE_HOME.new" --strip-components=1 --no-same-owner --no-same-permissions || {
		rm -rf "$ARCHIVE_HOME.new"
		np_fail "cannot unpack '${S_grafana##*/}'$(np_disk /opt)"
		return 1
	}
	[ -s "$ARCHIVE_HOME.new/conf/defaults.ini" ] && { [ -x "$ARCHIVE_HOME.new/bin/grafana" ] || [ -x "$ARCHIVE_HOME.new/bin/grafana-server" ]; } || {
		rm -rf "$ARCHIVE_HOME.new"
		np_hint "'https://grafana.com/grafana/download' has it as grafana-VERSION.linux-amd64.tar.gz"
		np_fail "'${S_grafana##*/}' is not Grafana's archive: it lacks bin/grafana or conf/defaults.ini"
		return 1
	}
	rm -rf "$ARCHIVE_HOME" && mv "$ARCHIVE_HOME.new" "$ARCHIVE_HOME" || { np_fail "cannot replace '$ARCHIVE_HOME'"; return 1; }
	np_note_change
	np_did "unpack Grafana $(head -n 1 "$ARCHIVE_HOME/VERSION" 2>/dev/null) to $ARCHIVE_HOME"
}

archive_ini() {
	cat <<-'END'
		# Written by nanopod (monitoring).
		[paths]
		data = /var/lib/grafana
		logs = /var/log/grafana
		plugins = /var/lib/grafana/plugins
		provisioning = /etc/grafana/provisioning
		[log]
		mode = console file
	END
}
archive_unit() {
	archive_run=$ARCHIVE_HOME/bin/grafana-server
	[ ! -e "$ARCHIVE_HOME/bin/grafana" ] && [ -e "$archive_run" ] || archive_run="$ARCHIVE_HOME/bin/grafana server"
	cat <<-END
		# Written by nanopod (monitoring).
		[Unit]
		Description=Grafana, of its makers' archive
		Wants=network-online.target
		After=network-online.target
		[Service]
		User=grafana
		Group=grafana
		WorkingDirectory=$ARCHIVE_HOME
		ExecStart=$archive_run --homepath=$ARCHIVE_HOME --config=/etc/grafana/grafana.ini
		Restart=on-failure
		UMask=0027
		NoNewPrivileges=yes
		ProtectSystem=full
		PrivateTmp=yes
		[Install]
		WantedBy=multi-user.target
	END
}

archive() {
	archive_wanted || return 0
	archive_fits || return 1
	np_group grafana 64032
	np_user grafana 64032 /var/lib/grafana
	archive_unpack || return 1
	np_dir /var/lib/grafana 0750 grafana:grafana
	np_dir /var/log/grafana 0750 grafana:grafana
	np_dir /etc/grafana 0755 root:root
	addon_put archive_ini /etc/grafana/grafana.ini 0640 root:grafana && addon_put archive_unit "$ARCHIVE_UNIT" 0644 root:root || return 1
	np_restart grafana-server
}
check() { archive; }
apply() { archive; }
verify() {
	archive_wanted || return 0
	if archive_there; then np_ok "Grafana of its makers' archive is in '$ARCHIVE_HOME'"; else np_bad "'$ARCHIVE_HOME' lacks Grafana"; fi
}
undo() { ! np_systemd || systemctl stop grafana-server 2>/dev/null; np_aside /var/lib/grafana "the dashboards and users of Grafana" grafana-server; }
