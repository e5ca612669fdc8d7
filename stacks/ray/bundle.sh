# SPDX-License-Identifier: Apache-2.0
# Only with K3s: plain nodes need no chart.
case " $stacks " in
*" k3s "*)
	. "$folder/common/charts.inc"
	bundle_chart kuberay-operator "$(bundle_version kuberay)" "$(bundle_repo repo-kuberay)" ;;
esac
# The user provides wheels, because pip here would choose those for this machine's Python.
case "$(printf '%s' "$froms" | while IFS= read -r ray_from; do find "$ray_from" -name 'ray-*.whl' 2>/dev/null; done | head -n 1)" in
'') bundle_say "no wheels of Ray: plain nodes need them; add them with '--from FOLDER'" ;;
esac
