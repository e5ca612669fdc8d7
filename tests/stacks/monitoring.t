#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stacks/monitoring: configuration and rules against the real promtool, collectors against doubles of nvidia-smi and sinfo,
# dashboards, and the chart on K3s. No Prometheus runs here: monitoring-ns.t has that.
. "$(dirname "$0")/../lib/tap.sh"
need jq dash
. "$SRC/tests/stacks/addons.sh"
MANIFEST=$BUILD/tests/stacks/manifest KINDS=$SRC/tests/stacks/schema/kinds.json

addon_table "n1 10.0.0.1 monitoring.server,monitoring.nodes,slurm.controller" \
	"n2 10.0.0.2 monitoring.nodes gpu_0=nvidia+h100+0000:18:00.0+nvidia" "n3 fd00::3 monitoring.nodes"

# ---- Prometheus ----
mkdir "$TMP/etc"
addon monitoring server rules_file >"$TMP/etc/rules.yml"
addon monitoring server server_conf S_dcgm=yes | sed "s|/etc/prometheus/nanopod.rules.yml|$TMP/etc/rules.yml|" >"$TMP/etc/prometheus.yml"
is "$(sed -n "/job_name: node/,/job_name: dcgm/p" "$TMP/etc/prometheus.yml")" "- job_name: node
  static_configs:
  - targets: ['10.0.0.1:9100']
    labels: {instance: 'n1'}
  - targets: ['10.0.0.2:9100']
    labels: {instance: 'n2'}
  - targets: ['[fd00::3]:9100']
    labels: {instance: 'n3'}
- job_name: dcgm" "all members are watched, under their names"
is "$(sed -n "/job_name: dcgm/,\$p" "$TMP/etc/prometheus.yml" | grep -c targets)" 1 "dcgm-exporter where GPUs are"
unlike "$(addon monitoring server server_conf)" 'dcgm' "and not where nobody said that it runs"
if have promtool; then
	ok "promtool: the configuration is right, with its rules" promtool check config "$TMP/etc/prometheus.yml"
	ok "promtool: the rules do what they say" sh -c "cd '$TMP/etc' && cp '$SRC/tests/stacks/monitoring-rules.yml' test.yml && promtool test rules test.yml"
	# It can fail.
	sed 's/GPU_TEMP > 87/GPU_TEMP > 99/' "$TMP/etc/rules.yml" >"$TMP/etc/rules.new" && mv "$TMP/etc/rules.new" "$TMP/etc/rules.yml"
	not_ok "promtool: a rule with another number is found" sh -c "cd '$TMP/etc' && promtool test rules test.yml"
else
	skip "'promtool' is not installed"
fi
like "$(addon monitoring server 'server')" '.*' "(plan of the server)"
like "$(addon_records)" 'web.listen-address=10.0.0.1:9090' "Prometheus listens inside alone"
addon monitoring alertmanager alertmanager >/dev/null
like "$(addon_records)" 'web.listen-address=10.0.0.1:9093 --cluster.listen-address="' "so does Alertmanager, and gossips with nobody"
addon monitoring alertmanager alertmanager_conf "S_webhook=https://hook.example/it's?token=abc" >"$TMP/etc/am.yml"
if have amtool; then ok "amtool: its configuration is right" amtool check-config "$TMP/etc/am.yml"; else skip "'amtool' is not installed"; fi
addon monitoring alertmanager alertmanager "S_webhook=https://hook.example/?token=abc" >/dev/null
unlike "$(addon_records)" 'token=abc' "the address of a receiver is not shown in a plan"
addon_node n3
addon monitoring exporter exporter >/dev/null
like "$(addon_records)" 'web.listen-address=.fd00::3.:9100' "an address of version 6 is written as one"

# ---- Collectors, with doubles of nvidia-smi and of Slurm's commands ----
mkdir "$TMP/bin" "$TMP/text"
addon monitoring collectors collector_gpu >"$TMP/gpu" && addon monitoring collectors collector_slurm >"$TMP/slurm"
cat >"$TMP/bin/nvidia-smi" <<'END'
#!/bin/sh
echo '0, GPU-aaaa, NVIDIA H100 "80GB", 00000000:18:00.0, 41, 7, 1024, 80000, 123.45, 1980, 0, 0, No'
echo '1, GPU-bbbb, NVIDIA H100 80GB, 00000000:2A:00.0, 88, 100, 70000, 11024, 650.1, 1755, 3, 1, Yes'
echo '2, GPU-cccc, NVIDIA T4, 00000000:3B:00.0, 50, 0, 1, 2, [N/A], 300, [N/A], [N/A], [N/A]'
END
cat >"$TMP/bin/journalctl" <<'END'
#!/bin/sh
echo 'NVRM: Xid (PCI:0000:2a:00): 13, pid=1, name=x'
echo 'NVRM: Xid (PCI:0000:2a:00): 79, pid=1, GPU has fallen off the bus.'
END
cat >"$TMP/bin/sinfo" <<'END'
#!/bin/sh
[ -z "$SLURM_DOWN" ] || exit 1
case $* in
*%C*) echo 6/10/2/18 ;;
*) printf '%s\n' 'c1|ALLOCATED' 'c1|ALLOCATED' 'c2|DRAINED*' 'c3|IDLE~' ;;
esac
END
printf '#!/bin/sh\nprintf "RUNNING\\nRUNNING\\nPENDING\\n"\n' >"$TMP/bin/squeue"
chmod +x "$TMP/bin"/* "$TMP/gpu" "$TMP/slurm"
PATH=$TMP/bin:$PATH "$TMP/gpu" "$TMP/text"
gpu=$(cat "$TMP/text/gpu.prom")
if have promtool; then ok "promtool: the metrics of GPUs are metrics" sh -c "promtool check metrics <'$TMP/text/gpu.prom' 2>&1 | grep -v 'no help text\|camelCase' | { ! grep .; }"; else skip "'promtool' is not installed"; fi
like "$gpu" '^DCGM_FI_DEV_GPU_TEMP\{gpu="1",UUID="GPU-bbbb",modelName="NVIDIA H100 80GB",Hostname="[^"]+"\} 88$' "a temperature, under DCGM's name"
like "$gpu" '^DCGM_FI_DEV_XID_ERRORS\{gpu="1",.*\} 79$' "the last Xid of a GPU, from the kernel's log"
like "$gpu" '^DCGM_FI_DEV_XID_ERRORS\{gpu="0",.*modelName="NVIDIA H100 80GB".*\} 0$' "none of another; quotes in a name do no harm"
like "$gpu" '^DCGM_FI_DEV_ROW_REMAP_FAILURE\{gpu="1",.*\} 1$' "rows that could not be remapped"
unlike "$gpu" 'POWER_USAGE\{gpu="2"' "what a GPU does not say is not there"
PATH=$TMP/bin:$PATH "$TMP/slurm" "$TMP/text"
is "$(grep -v '^#\|time_seconds' "$TMP/text/slurm.prom")" 'nanopod_slurm_up 1
nanopod_slurm_node_state{node="c1",state="allocated"} 1
nanopod_slurm_node_state{node="c2",state="drained"} 1
nanopod_slurm_node_state{node="c3",state="idle"} 1
nanopod_slurm_cpus{state="allocated"} 6
nanopod_slurm_cpus{state="idle"} 10
nanopod_slurm_cpus{state="other"} 2
nanopod_slurm_cpus{state="total"} 18
nanopod_slurm_jobs{state="pending"} 1
nanopod_slurm_jobs{state="running"} 2' "Slurm's nodes, CPUs and jobs"
SLURM_DOWN=1 PATH=$TMP/bin:$PATH "$TMP/slurm" "$TMP/text"
is "$(grep -v '^#\|time_seconds' "$TMP/text/slurm.prom")" 'nanopod_slurm_up 0' "a controller that does not answer is said"
addon_node n1
is "$(addon monitoring collectors collectors_wanted)" slurm "Slurm is asked on its controller"
addon_node n2
is "$(addon monitoring collectors collectors_wanted)$(addon monitoring collectors collectors_wanted S_dcgm=yes)" gpu "GPUs where they are, unless dcgm-exporter does it"
addon_node n1

# ---- Dashboards ----
for board in cluster gpu slurm; do
	addon monitoring grafana "dashboard_$board" >"$TMP/$board.json"
	ok "dashboard '$board' is JSON with a title, and panels that do not overlap" jq -e '
		.title != "" and .uid == "nanopod-'$board'" and ([.panels[].id] | length == (unique | length)) and
		([.panels[] | select((.targets | length) == 0 or .gridPos.x + .gridPos.w > 24)] == []) and
		([.panels as $p | range(0; $p | length) as $i | range($i + 1; $p | length) as $j | $p[$i].gridPos as $a | $p[$j].gridPos as $b |
			select($a.x < $b.x + $b.w and $b.x < $a.x + $a.w and $a.y < $b.y + $b.h and $b.y < $a.y + $a.h)] == [])' "$TMP/$board.json"
done
if have promtool; then
	# Every query of a panel is one: as rules, promtool reads them.
	jq -r '.panels[].targets[].expr' "$TMP/cluster.json" "$TMP/gpu.json" "$TMP/slurm.json" | sed 's/\$node/n1/g' |
		awk 'BEGIN { print "groups:\n- name: x\n  rules:" } { gsub(/\x27/, "\x27\x27"); printf "  - record: q%d\n    expr: \x27%s\x27\n", NR, $0 }' >"$TMP/q.yml"
	ok "promtool: every query of the dashboards is one" promtool check rules "$TMP/q.yml"
else
	skip "'promtool' is not installed"
fi

# ---- K3s ----
addon_table "n1 10.0.0.1 k3s.servers,monitoring.server,monitoring.nodes" "n2 10.0.0.2 k3s.agents,monitoring.nodes"
addon monitoring chart chart_text "S_webhook=https://hook.example/it's" S_storage_class=nanopod-block >"$TMP/m.yaml"
ok "the chart fits" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
values=$("$MANIFEST" --values kube-prometheus-stack "$KINDS" "$TMP/m.yaml")
is "$(printf '%s' "$values" | jq -c '[.grafana.admin.existingSecret, .prometheus.prometheusSpec.serviceMonitorSelectorNilUsesHelmValues, .kubeProxy.enabled, .prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec.storageClassName]')" \
	'["nanopod-grafana",false,false,"nanopod-block"]' "no password in it, all monitors are taken, no kube-proxy, a volume where one is asked for"
is "$(printf '%s' "$values" | jq -r '.alertmanager.config.receivers[1].webhook_configs[0].url')" "https://hook.example/it's" "the receiver"
is "$(printf '%s' "$values" | jq -c '[.additionalPrometheusRulesMap.nanopod.groups[].name]')" '["nanopod-gpus","nanopod-slurm"]' "rules of GPUs and Slurm; the chart has its own of nodes"
addon monitoring dashboards dashboards_text >"$TMP/d.yaml"
ok "dashboards as ConfigMaps fit" "$MANIFEST" "$KINDS" "$TMP/d.yaml"
is "$(grep -c '^kind: ConfigMap' "$TMP/d.yaml")" 3 "all three"
addon monitoring exporter exporter >/dev/null
is "$(addon_records)" "" "on K3s nothing is installed beside it"
addon monitoring exporter exporter S_on=plain >/dev/null
like "$(addon_records)" 'prometheus-node-exporter' "unless it is asked for"
done_testing
