# SPDX-License-Identifier: Apache-2.0
charts() {
	addon_values_fit rook-ceph rook-ceph-cluster || return 1
	addon_archives "rook-ceph-$S_version_rook" "rook-ceph-cluster-$S_version_rook" && addon_brought
}
check() { charts; }
apply() { charts; }
