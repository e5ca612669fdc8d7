# SPDX-License-Identifier: Apache-2.0
# Debian has no Grafana, so the user must give its makers' package or archive (grafana-archive.sh). The password is generated here and never leaves the node.
GRAFANA_PASSWORD=/etc/grafana/nanopod-password
GRAFANA_DIR=/etc/grafana/provisioning

grafana_wanted() { [ -n "${S_grafana_deb-}${S_grafana-}" ] && ! addon_on_k3s; }
grafana_there() { dpkg-query -W -f '${db:Status-Status}' grafana 2>/dev/null | grep -qx installed; }

grafana_package() {
	[ -n "${S_grafana_deb-}" ] || return 0
	if [ "$NP_MODE" = check ]; then
		grafana_there || np_differs "install the package 'grafana'"
		return 0
	fi
	if grafana_there; then return 0; fi
	grafana_deb=$(find "$NP_UPLOAD" -name '*.deb' -type f | head -n 1)
	[ -n "$grafana_deb" ] || { np_fail "'$S_grafana_deb' has no package"; return 1; }
	[ "$(dpkg-deb -f "$grafana_deb" Package)" = grafana ] || { np_fail "'${grafana_deb##*/}' is not Grafana's package"; return 1; }
	np_trace /var/lib/grafana /var/log/grafana /etc/grafana
	grafana_install || return 1
	np_did "install Grafana $(dpkg-deb -f "$grafana_deb" Version)"
}

# Like np_packages, but with a file: writes the ledger before it installs.
grafana_install() {
	np_rooms && mkdir -p "$(np_book).d" || return 1
	np_before=$(np_book).d/names
	for np_word in passwd group; do np_names $np_word >"$np_before.$np_word"; done
	np_plan "$grafana_deb" || { np_apt_cause "cannot install Grafana's package"; return 1; }
	for np_name in $np_fresh; do np_ledger package "$np_name" || return 1; done
	np_quiet
	np_apt_log install "$grafana_deb"
	grafana_status=$?
	np_loud
	np_newcomers
	[ $grafana_status = 0 ] || { np_apt_cause "cannot install Grafana's package"; return 1; }
}

grafana_random() { od -An -tx1 -N 24 /dev/urandom | tr -d ' \n'; }
grafana_password() {
	if [ -s "$GRAFANA_PASSWORD" ]; then return 0; fi
	if [ "$NP_MODE" = check ]; then np_differs "generate a password for Grafana"; return 0; fi
	addon_put grafana_random "$GRAFANA_PASSWORD" 0640 root:grafana secret || return 1
	np_say "Grafana's password (user admin) is in '$GRAFANA_PASSWORD' on '$NP_HOST'"
}

grafana_unit() {
	cat <<-END
		# Written by nanopod (monitoring).
		[Service]
		Environment=GF_SERVER_HTTP_ADDR=$NP_ADDRESS
		Environment=GF_SECURITY_ADMIN_PASSWORD__FILE=$GRAFANA_PASSWORD
		Environment=GF_ANALYTICS_REPORTING_ENABLED=false
		Environment=GF_ANALYTICS_CHECK_FOR_UPDATES=false
		Environment=GF_USERS_ALLOW_SIGN_UP=false
	END
}
grafana_source() {
	cat <<-END
		# Written by nanopod (monitoring).
		apiVersion: 1
		datasources:
		- name: nanopod
		  type: prometheus
		  uid: nanopod
		  access: proxy
		  url: http://$(mon_at "$NP_ADDRESS" 9090)
		  isDefault: true
	END
}
grafana_provider() {
	cat <<-'END'
		# Written by nanopod (monitoring).
		apiVersion: 1
		providers:
		- name: nanopod
		  folder: nanopod
		  type: file
		  options:
		    path: /var/lib/nanopod-dashboards
	END
}

grafana() {
	grafana_wanted || return 0
	grafana_package || return 1
	addon_put grafana_unit /etc/systemd/system/grafana-server.service.d/nanopod.conf 0644 root:root || return 1
	addon_put grafana_source $GRAFANA_DIR/datasources/nanopod.yaml 0640 root:grafana || return 1
	addon_put grafana_provider $GRAFANA_DIR/dashboards/nanopod.yaml 0640 root:grafana || return 1
	for grafana_name in $DASHBOARDS; do
		addon_put "dashboard_$grafana_name" "/var/lib/nanopod-dashboards/nanopod-$grafana_name.json" 0644 root:root || return 1
	done
	grafana_password || return 1
	np_restart grafana-server && np_unit grafana-server
}
check() { grafana; }
apply() { grafana; }
verify() { if grafana_wanted; then np_hold 2 grafana-server; mon_verify_port grafana 3000; mon_way Grafana 3000; fi; }

undo() { np_aside /var/lib/grafana "the dashboards and users of Grafana" grafana-server; }
