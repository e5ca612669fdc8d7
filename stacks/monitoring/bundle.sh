# SPDX-License-Identifier: Apache-2.0
# Only with K3s: plain nodes need no chart.
case " $stacks " in
*" k3s "*)
	. "$folder/common/charts.inc"
	bundle_chart kube-prometheus-stack "$(bundle_version kube-prometheus-stack)" "$(bundle_repo repo-kube-prometheus-stack)" ;;
esac
