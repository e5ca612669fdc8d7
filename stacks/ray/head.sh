# SPDX-License-Identifier: Apache-2.0
head_words() {
	printf '%s' "--head --port=$S_port --dashboard-host=$NP_ADDRESS --dashboard-port=$S_dashboard_port --temp-dir=$RAY_DATA/tmp --disable-usage-stats"
	[ -z "${S_head_cpus-}" ] || printf ' --num-cpus=%s' "$S_head_cpus"
}
head_text() { ray_unit_text head "$(head_words)"; }
want() {
	ray_plain || return 0
	addon_put head_text /etc/systemd/system/ray-head.service 0644 root:root
	np_restart ray-head
	np_unit ray-head
}
head_listens() { ss -Hltn "sport = :$1" | grep -q .; }
verify() {
	ray_plain || return 0
	np_unit ray-head
	if np_wait 60 head_listens "$S_port"; then np_ok "the head listens on $(ray_address)"; else
		np_hint "journalctl -u ray-head -n 50"
		np_bad "the head does not listen on $(ray_address)"
	fi
	if ss -Hltn "sport = :$S_dashboard_port" | awk '{ print $4 }' | grep -qE '^(\*|0\.0\.0\.0|\[::\]):'; then
		np_bad "the dashboard listens on every address of '$NP_HOST'"
	fi
}
