# SPDX-License-Identifier: Apache-2.0
intel_shared() { if [ "${S_sharing-none}" = time-slicing ]; then printf '%s' "$S_replicas"; else printf 1; fi; }
intel() {
	addon_lead && operator_wants intel || return 0
	addon_install intel-device-plugins-operator 800 intel_operator && addon_install intel-device-plugins-gpu 800 intel_plugin
}
intel_operator() {
	printf '' | addon_chart intel-device-plugins-operator inteldeviceplugins-system intel-device-plugins-operator "$S_version_intel" "$S_repo_intel"
}
intel_plugin() {
	printf 'name: gpudeviceplugin\nsharedDevNum: %s\nnodeFeatureRule: true\n' "$(intel_shared)" |
		addon_chart intel-device-plugins-gpu inteldeviceplugins-system intel-device-plugins-gpu "$S_version_intel" "$S_repo_intel"
}
check() { intel; }
apply() { intel; }
verify() { if addon_lead && operator_wants intel; then addon_verify intel-device-plugins-gpu inteldeviceplugins-system; fi; }
undo() { addon_remove intel-device-plugins-gpu intel-device-plugins-operator; }
