# SPDX-License-Identifier: Apache-2.0
certs() {
	addon_lead && operator_certs || return 0
	addon_install cert-manager 1000 certs_chart
}
certs_chart() {
	printf 'crds:\n  enabled: true\n  keep: false\n' |
		addon_chart cert-manager cert-manager cert-manager "$S_version_cert_manager" "$S_repo_cert_manager"
}
check() { certs; }
apply() { certs; }
verify() { if addon_lead && operator_certs; then addon_verify cert-manager cert-manager; fi; }
undo() { addon_remove cert-manager; }
