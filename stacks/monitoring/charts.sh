# SPDX-License-Identifier: Apache-2.0
charts() {
	addon_on_k3s || return 0
	addon_values_fit kube-prometheus-stack || return 1
	addon_archives "kube-prometheus-stack-$S_version_kube_prometheus_stack" && addon_brought
}
check() { charts; }
apply() { charts; }
