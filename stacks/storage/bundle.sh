# SPDX-License-Identifier: Apache-2.0
# Only with K3s: plain nodes need no charts.
case " $stacks " in
*" k3s "*)
	. "$folder/common/charts.inc"
	bundle_chart rook-ceph "$(bundle_version rook)" "$(bundle_repo repo-rook)"
	bundle_chart rook-ceph-cluster "$(bundle_version rook)" "$(bundle_repo repo-rook)" ;;
esac
