# SPDX-License-Identifier: Apache-2.0
# Only with K3s: plain nodes need no chart. Grafana's archive, of a folder of the user's, is for plain nodes.
case " $stacks " in
*" k3s "*)
	. "$folder/common/charts.inc"
	bundle_chart kube-prometheus-stack "$(bundle_version kube-prometheus-stack)" "$(bundle_repo repo-kube-prometheus-stack)" ;;
esac
bundle_files | grep '/grafana[^/]*\.linux-[^/]*\.tar\.gz$' | head -n 1 >"$work/grafana"
while IFS= read -r monitoring_archive; do
	bundle_copy "$monitoring_archive" "${monitoring_archive##*/}"
	bundle_say "'--set monitoring.grafana=$target/monitoring/${monitoring_archive##*/}' installs Grafana of it"
done <"$work/grafana"
