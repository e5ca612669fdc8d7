#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stacks/gpu-operator: what is written for which GPUs. Manifests fit the schemas of their kinds; no GPU and no K3s is here.
. "$(dirname "$0")/../lib/tap.sh"
need jq dash
. "$SRC/tests/stacks/addons.sh"
MANIFEST=$BUILD/tests/stacks/manifest KINDS=$SRC/tests/stacks/schema/kinds.json

# chart STEP FUNCTION NAME [VAR=VALUE…]: the manifest is in $TMP/m.yaml, the chart's values in $values.
chart() {
	chart_step=$1 chart_function=$2 chart_name=$3
	shift 3
	addon gpu-operator "$chart_step" "$chart_function" "$@" >"$TMP/m.yaml"
	"$MANIFEST" "$KINDS" "$TMP/m.yaml" || return 1
	values=$("$MANIFEST" --values "$chart_name" "$KINDS" "$TMP/m.yaml")
}
is_value() { is "$(printf '%s' "$values" | jq -c "$1")" "$2" "$3"; }

H100='gpu_0=nvidia+h100-sxm5+0000:18:00.0+nvidia gpu_1=nvidia+h100-sxm5+0000:2a:00.0+nvidia'
addon_table "n1 10.0.0.1 k3s.servers,gpu-operator.nodes" "n2 10.0.0.2 k3s.agents,gpu-operator.nodes $H100"

ok "NVIDIA: the chart fits the schema of the Helm controller" chart nvidia nvidia_chart nvidia-gpu-operator
is "$(sed -n 's/^  chart: //p; s/^  repo: //p' "$TMP/m.yaml" | tr '\n' ' ')" "gpu-operator https://helm.ngc.nvidia.com/nvidia " "its chart comes from the repository"
is_value .driver.enabled false "a driver that the nodes have is left alone"
is_value .nfd.enabled false "NFD is not installed a second time"
is_value '[.toolkit.env[] | {(.name): .value}] | add' '{"CONTAINERD_SOCKET":"/run/k3s/containerd/containerd.sock","CONTAINERD_CONFIG":"/var/lib/rancher/k3s/agent/etc/containerd/config.toml","RUNTIME_DROP_IN_CONFIG":"/var/lib/rancher/k3s/agent/etc/containerd/config-v3.toml.d/99-nvidia.toml","CONTAINERD_RUNTIME_CLASS":"nvidia","CONTAINERD_SET_AS_DEFAULT":"false"}' "the toolkit is told where K3s has its containerd, in text"
is_value .mig '{"strategy":"single"}' "MIG: the strategy"
is_value .devicePlugin null "no sharing, no configuration of the device plugin"
is_value .dcgmExporter.serviceMonitor.enabled false "no ServiceMonitor where nobody knows what that is"
is "$(sed -n 's/^  failurePolicy: //p' "$TMP/m.yaml")" abort "a chart that failed is not uninstalled by itself"

chart nvidia nvidia_chart nvidia-gpu-operator S_sharing=time-slicing S_replicas=6
is "$(printf '%s' "$values" | jq -r '.devicePlugin.config.data.any' | "$MANIFEST" --values x "$KINDS" /dev/stdin >/dev/null && printf '%s' "$values" | jq -r .devicePlugin.config.data.any)" \
"version: v1
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: true
    resources:
    - {name: nvidia.com/gpu, replicas: 6}" "time-slicing is a configuration of the device plugin, YAML in YAML"
chart nvidia nvidia_chart nvidia-gpu-operator S_sharing=mps S_replicas=3
like "$(printf '%s' "$values" | jq -r .devicePlugin.config.data.any)" '^  mps:$' "MPS is one as well"
unlike "$(printf '%s' "$values" | jq -r .devicePlugin.config.data.any)" 'renameByDefault|failRequests' "without what only time-slicing knows"
addon gpu-operator nvidia nvidia S_sharing=mps S_mig=h100 S_mig_h100=all-1g.10gb >/dev/null
like "$(addon_records)" 'cause.*MPS and MIG cannot be combined' "MPS with MIG is refused"

chart nvidia nvidia_chart nvidia-gpu-operator S_mig='h100 a100' S_mig_h100=small S_mig_a100=all-disabled S_mig_profiles=small "S_mig_profiles_small=1g.10gb=5 2g.20gb=1"
is "$(printf '%s' "$values" | jq -r '.migManager.config.data["config.yaml"]')" \
"version: v1
mig-configs:
  all-disabled:
  - {devices: all, mig-enabled: false}
  small:
  - devices: all
    mig-enabled: true
    mig-devices:
      \"1g.10gb\": 5
      \"2g.20gb\": 1" "MIG profiles of one's own"
addon gpu-operator nvidia nvidia S_mig=h100 S_mig_h100=big S_mig_profiles=small "S_mig_profiles_small=1g.10gb=7" >/dev/null
like "$(addon_records)" "cause.*MIG profile 'big' of 'h100' is not among your mig-profiles: small" "a profile that is not there is refused"
is "$(addon gpu-operator mig mig_pairs S_mig='h100 h100-sxm5 a100' S_mig_h100=all-1g.10gb S_mig_h100_sxm5=all-2g.20gb S_mig_a100=all-3g.20gb)" "n2 all-2g.20gb" "the longest name that fits a model is meant"
is "$(addon gpu-operator mig mig_pairs S_mig=a100 S_mig_a100=all-3g.20gb)" "" "a model that is not named is left alone"

# Drivers, other vendors, nothing at all.
addon_table "n1 10.0.0.1 k3s.servers,gpu-operator.nodes gpu_0=nvidia+a100+0000:18:00.0+nvidia" "n2 10.0.0.2 k3s.agents,gpu-operator.nodes gpu_0=nvidia+a100+0000:18:00.0+none" \
	"n3 10.0.0.3 k3s.agents,gpu-operator.nodes,monitoring.server gpu_0=amd+mi300x+0000:c1:00.0+amdgpu gpu_1=amd+mi300x+0000:c2:00.0+amdgpu"
chart nvidia nvidia_chart nvidia-gpu-operator
is_value .driver.enabled true "one node without a driver: the operator brings it"
is_value .dcgmExporter.serviceMonitor.enabled true "beside the monitoring stack its ServiceMonitor is there"
chart nvidia nvidia_chart nvidia-gpu-operator S_driver=no
is_value .driver.enabled false "driver: no"
ok "AMD: the chart fits" chart amd amd_chart amd-gpu-operator
is_value '[.deviceConfig.spec.driver.enable, .kmm.enabled, ."node-feature-discovery".enabled]' '[false,false,false]' "AMD: with the kernel's driver there is no KMM, and no second NFD"
ok "cert-manager fits" chart certs certs_chart cert-manager
is_value . '{"crds":{"enabled":true,"keep":false}}' "cert-manager brings its CRDs"
ok "NFD fits" chart nfd nfd_chart nfd
is_value '.worker.config.sources.pci.deviceClassWhitelist' '["02","0200","0207","0300","0302","0380","12"]' "NFD looks at network cards, GPUs and accelerators; classes are text"
is "$(addon gpu-operator charts operator_archives)" "node-feature-discovery-0.18.3
cert-manager-v1.15.1
gpu-operator-v26.3.3
gpu-operator-charts-v1.5.1" "archives of what these vendors need, no more"
is "$(addon gpu-operator gpus 'gpus_times nvidia; gpus_times amd' S_sharing=time-slicing S_replicas=8 | tr '\n' ' ')" "8 1 " "sharing multiplies what NVIDIA offers, not what AMD does"
is "$(addon gpu-operator nvidia 'operator_wants nvidia; echo $?; operator_wants amd; echo $?; operator_wants intel; echo $?' S_vendors=amd | tr '\n' ' ')" "1 0 1 " "vendors: only those that are named, and there"

addon_table "n1 10.0.0.1 k3s.servers,gpu-operator.nodes gpu_0=intel+max1550+0000:18:00.0+xe"
ok "Intel: its plugin fits" chart intel intel_plugin intel-device-plugins-gpu S_sharing=time-slicing S_replicas=4
is_value . '{"name":"gpudeviceplugin","nodeFeatureRule":true,"sharedDevNum":4}' "Intel: shared devices"
ok "Intel: its operator fits, without values" chart intel intel_operator intel-device-plugins-operator

# Archives and the user's own values.
addon_table "n1 10.0.0.1 k3s.servers,gpu-operator.nodes $H100"
chart nvidia nvidia_chart nvidia-gpu-operator S_charts=/x S_values=nvidia-gpu-operator "S_values_nvidia_gpu_operator=driver:
  version: 580.1
  # mine"
is "$(sed -n 's/^  chart: //p' "$TMP/m.yaml")" 'https://%{KUBERNETES_API}%/static/charts/gpu-operator-v26.3.3.tgz' "from an archive: below static/charts of the servers"
unlike "$(cat "$TMP/m.yaml")" '^  (repo|version):' "and from no repository"
is "$(sed -n 's/^kind: //p' "$TMP/m.yaml" | tr '\n' ' ')" "HelmChart HelmChartConfig " "values of one's own are a HelmChartConfig, which the controller puts over ours"
ok "both fit" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
addon gpu-operator charts charts S_values=nonsense S_values_nonsense='a: b' >/dev/null
like "$(addon_records)" "cause.*'nonsense', which is not a chart of this stack" "values of a chart that is not there are refused"
addon gpu-operator charts charts S_values=nfd S_values_nfd='worker master' >/dev/null
like "$(addon_records)" "cause.*'values.nfd' is not YAML text" "values that are a map and no text are refused"
addon gpu-operator charts charts S_charts=/x >/dev/null
like "$(addon_records)" "differs.*'gpu-operator-v26.3.3' is not in '/var/lib/rancher/k3s/server/static/charts'" "plan: an archive that is not on the server"

# The pod that looks.
addon gpu-operator gpus 'gpus_manifest n1' >"$TMP/m.yaml"
ok "the pod that runs nvidia-smi fits the schema of a Pod" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
is "$(sed -n 's/^ *nvidia.com\/gpu: //p' "$TMP/m.yaml")" 2 "it asks for all GPUs of its node"
is "$(addon gpu-operator gpus 'gpus_manifest n1' S_sharing=mps | sed -n 's/^ *nvidia.com\/gpu: //p')" 1 "but for one where they are shared"
like "$(addon gpu-operator gpus 'gpus_manifest n1' S_default_runtime=no)" '^  runtimeClassName: nvidia$' "without a default runtime it names the class"

# Where a chart is, out of a repository's index, whatever the order of its keys.
cat >"$TMP/index.yaml" <<'END'
apiVersion: v1
entries:
  other:
  - name: other
    urls:
    - https://x.example/other-v26.3.3.tgz
    version: v26.3.3
  gpu-operator:
  - annotations:
      a: b
    dependencies:
    - name: node-feature-discovery
      version: v26.3.3
    digest: 1111
    urls:
    - https://x.example/gpu-operator-v26.3.4.tgz
    version: v26.3.4
  - digest: sha256:2222
    name: gpu-operator
    urls:
    - charts/gpu-operator-v26.3.3.tgz
    version: "v26.3.3"
generated: "2026-01-01"
END
is "$(dash -c '. "$SRC/stacks/common/charts.inc"; chart_find gpu-operator v26.3.3' <"$TMP/index.yaml")" "charts/gpu-operator-v26.3.3.tgz 2222" "bundle: the archive of a version, with its checksum"
is "$(dash -c '. "$SRC/stacks/common/charts.inc"; chart_find gpu-operator v26.3.4' <"$TMP/index.yaml")" "https://x.example/gpu-operator-v26.3.4.tgz 1111" "bundle: of another"
is "$(dash -c '. "$SRC/stacks/common/charts.inc"; chart_find gpu-operator v9' <"$TMP/index.yaml")" "" "bundle: and none that is not there"

# The validator can refuse.
printf 'apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: x_y, namespace: kube-system}\nspec: {chart: x}\n' >"$TMP/bad.yaml"
not_ok "a name that is none of Kubernetes' is refused" "$MANIFEST" "$KINDS" "$TMP/bad.yaml"
printf 'apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: x, namespace: kube-system}\nspec: {chart: x, valueContent: a}\n' >"$TMP/bad.yaml"
not_ok "a field that is not in the contract is refused" "$MANIFEST" "$KINDS" "$TMP/bad.yaml"
printf 'apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: x, namespace: kube-system}\nspec:\n  chart: x\n  valuesContent: |\n    a: 1\n    a: 2\n' >"$TMP/bad.yaml"
not_ok "values with a key twice are refused" "$MANIFEST" "$KINDS" "$TMP/bad.yaml"
done_testing
