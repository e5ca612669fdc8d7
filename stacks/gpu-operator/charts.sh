# SPDX-License-Identifier: Apache-2.0
charts() {
	addon_values_fit nfd cert-manager nvidia-gpu-operator amd-gpu-operator intel-device-plugins-operator intel-device-plugins-gpu || return 1
	# shellcheck disable=SC2046 # one word each
	addon_archives $(operator_archives) && addon_brought
}
check() { charts; }
apply() { charts; }
