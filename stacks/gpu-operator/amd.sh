# SPDX-License-Identifier: Apache-2.0
# The chart creates the DeviceConfig. KMM is only needed to build a driver that the kernel lacks.
amd_values() {
	amd_driver=$(operator_bool operator_driver amd amdgpu)
	cat <<-END
		node-feature-discovery:
		  enabled: false
		kmm:
		  enabled: $amd_driver
		remediation:
		  enabled: false
		installdefaultNFDRule: true
		crds:
		  defaultCR:
		    install: true
		    upgrade: true
		deviceConfig:
		  spec:
		    driver:
		      enable: $amd_driver
		    metricsExporter:
		      enable: true
		      prometheus:
		        serviceMonitor:
		          enable: $(operator_bool operator_monitored)
	END
}
amd() {
	addon_lead && operator_wants amd || return 0
	addon_install amd-gpu-operator 1500 amd_chart
}
amd_chart() { amd_values | addon_chart amd-gpu-operator kube-amd-gpu gpu-operator-charts "$S_version_amd" "$S_repo_amd"; }
check() { amd; }
apply() { amd; }
verify() { if addon_lead && operator_wants amd; then addon_verify amd-gpu-operator kube-amd-gpu; fi; }
undo() { addon_remove amd-gpu-operator; }
