# SPDX-License-Identifier: Apache-2.0
# Reads text from Debian's folder, where other packages write, and from that of our collectors.
exporter() {
	! addon_on_k3s || return 0
	np_trace /var/lib/prometheus
	np_packages prometheus-node-exporter || return 1
	mon_default prometheus-node-exporter "--web.listen-address=$(mon_at "$NP_ADDRESS" 9100)" \
		"--collector.textfile.directory=/var/lib/*/node-exporter" || return 1
	np_restart prometheus-node-exporter && np_unit prometheus-node-exporter
}
check() { exporter; }
apply() { exporter; }
verify() { addon_on_k3s || { np_hold 2 prometheus-node-exporter; mon_verify_port node-exporter 9100; }; }
