# SPDX-License-Identifier: Apache-2.0
# One NFD for all operators: each chart would install its own, and two would fight over the labels.
nfd_values() {
	cat <<-'END'
		master:
		  config:
		    extraLabelNs: [nvidia.com, gpu.intel.com]
		worker:
		  tolerations:
		  - operator: Exists
		  config:
		    core:
		      sleepInterval: 60s
		    sources:
		      pci:
		        deviceClassWhitelist: ["02", "0200", "0207", "0300", "0302", "0380", "12"]
		        deviceLabelFields: [vendor]
	END
}
nfd() {
	addon_lead || return 0
	operator_wants nvidia || operator_certs || return 0
	addon_install nfd 1000 nfd_chart
}
nfd_chart() { nfd_values | addon_chart nfd node-feature-discovery node-feature-discovery "$S_version_nfd" "$S_repo_nfd"; }
check() { nfd; }
apply() { nfd; }
verify() {
	addon_lead || return 0
	if operator_wants nvidia || operator_certs; then addon_verify nfd node-feature-discovery; fi
}
undo() { addon_remove nfd; }
