# SPDX-License-Identifier: Apache-2.0
charts() {
	addon_on_k3s || return 0
	addon_values_fit kuberay-operator || return 1
	addon_archives "kuberay-operator-$S_version_kuberay" && addon_brought
}
check() { charts; }
apply() { charts; }
