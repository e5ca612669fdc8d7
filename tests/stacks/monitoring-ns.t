#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/monitoring on two real nodes: Debian's Prometheus scrapes itself, Alertmanager and both node exporters; an alert
# fires when one of them stops; a user prometheus who lays links gets nothing written elsewhere; undone, the nodes are as
# they were. Slurm is a DOUBLE: two commands that print.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/addons-ns.sh"
ns_begin 2
ns_roles monitoring.server,monitoring.nodes,slurm.controller monitoring.nodes
text=/var/lib/nanopod-metrics/node-exporter
on_nodes 'printf "#!/bin/sh\ncase \$* in *%%C*) echo 1/2/0/3 ;; *) echo \"c1|IDLE\" ;; esac\n" >/usr/local/bin/sinfo; printf "#!/bin/sh\necho RUNNING\n" >/usr/local/bin/squeue; chmod 755 /usr/local/bin/s*'
pictures before

ns_step check monitoring server train-1
like "$said" '^NP.differs.install package prometheus$' "plan: what would be installed"
like "$said" '^NP.diff.*job_name: node' "and the configuration as a diff"
ns_apply monitoring 'exporter collectors' -- train-1 train-2
ns_apply monitoring 'alertmanager server' S_webhook=http://127.0.0.1:1/x S_interval=2s -- train-1
ns_step verify monitoring server train-1 S_interval=2s
ok "verify: Prometheus reaches all that it watches" ns_ended
like "$said" '^NP.ok.Prometheus reaches all its targets' "and says so"
up() { in_node train-1 "promtool query instant http://${ns_address[1]}:9090 'sum by (job) (up)'" | sort; }
all_up() { [ "$(up | sed 's/ @.*//' | xargs)" = '{job=alertmanager} => 1 {job=node} => 2 {job=prometheus} => 1' ]; }
ok "the real Prometheus scrapes itself, Alertmanager and two nodes" wait_for 30 all_up || diag "$(up)"
is "$(in_node train-2 "ss -Hltn 'sport = :9100'" | awk '{ print $4 }')" "${ns_address[2]}:9100" "a node exporter listens on its inside address alone"
is "$(in_node train-1 "ss -Hltn" | awk '{ print $4 }' | grep -E ':(9090|9093|9094)$' | sort)" "${ns_address[1]}:9090
${ns_address[1]}:9093" "so do Prometheus and Alertmanager, and nothing gossips"

# What node exporter does not know, and who writes it.
ns_verified monitoring collectors train-1
is "$(in_node train-1 "stat -c '%U %a %F' $text $text/slurm.prom; ls /etc/systemd/system/timers.target.wants | grep nanopod")" "prometheus 755 directory
prometheus 644 regular file
nanopod-slurm-metrics.timer" "Slurm's metrics are written by prometheus"
slurm() { in_node train-1 "promtool query instant http://${ns_address[1]}:9090 'nanopod_slurm_jobs{state=\"running\"}'" | grep -q '=> 1 '; }
ok "and come to Prometheus (Slurm is a DOUBLE)" wait_for 20 slurm
# Links where somebody who writes there would write: at the name, and at those beside it with the number of a process.
in_node train-1 'mkdir /srv/canary && echo mine >/srv/canary/slurm.prom && chmod 600 /srv/canary/slurm.prom && ls -lR --time-style=full-iso /srv/canary >/root/canary'
canary() { in_node train-1 'ls -lR --time-style=full-iso /srv/canary | diff /root/canary - && cat /srv/canary/slurm.prom'; }
lay() { in_node train-1 "setpriv --reuid prometheus --regid prometheus --clear-groups sh -c '$1'"; }
ok "(prometheus cannot put another folder in its place)" in_node train-1 "! setpriv --reuid prometheus --regid prometheus --clear-groups mv $text $text.old"
# Not while the timer's program renames its file to one of them.
in_node train-1 'systemctl stop nanopod-slurm-metrics.timer nanopod-slurm-metrics.service'
ok "(prometheus lays links)" lay "rm -f $text/slurm.prom; ln -s /srv/canary $text/folder; mkdir -p $text/x/y; perl -e \"symlink q(/srv/canary/slurm.prom), qq($text/slurm.prom\\\$_) for q(), map qq(.\\\$_), \\\$\\\$ .. \\\$\\\$ + 3000\""
ok "(3003 of them)" [ "$(in_node train-1 "find $text -type l | wc -l")" = 3003 ]
in_node train-1 'systemctl start nanopod-slurm-metrics.timer'
ns_step verify monitoring collectors train-1
in_node train-1 '/usr/local/lib/nanopod/slurm-metrics'
ns_step apply monitoring collectors train-1
ns_undo monitoring collectors train-1
is "$(canary)" mine "neither the timer, nor root by hand, nor apply, nor undo wrote or removed anything where they lead"
is "$(in_node train-1 'ls -d /var/lib/nanopod-metrics /usr/local/lib/nanopod /etc/systemd/system/nanopod-*-metrics* 2>/dev/null')" "" "and the collector is gone"

# One stops.
in_node train-2 'systemctl stop prometheus-node-exporter'
alert() { in_node train-1 "promtool query instant http://${ns_address[1]}:9090 'ALERTS{alertname=\"NodeDown\"}'" | grep -q 'instance="train-2"'; }
ok "a node that stops is an alert (pending for its two minutes)" wait_for 30 alert
ns_step verify monitoring exporter train-2 S_port_wait=1
like "$said" '^NP.bad.node-exporter does not listen' "verify says which"
ns_step check monitoring exporter train-2
like "$said" '^NP.differs.start prometheus-node-exporter' "the plan would start it"
ns_apply monitoring exporter -- train-2
in_node train-2 'systemctl disable -q prometheus-node-exporter' 2>/dev/null
ns_step verify monitoring exporter train-2
like "$said" '^NP.bad.prometheus-node-exporter is active but will not start at boot' "verify: one that runs, but would not after a boot"
ns_apply monitoring exporter -- train-2

# A changed setting is a restart, once.
ns_step apply monitoring server train-1 S_interval=3s
like "$said" '^NP.did.restart prometheus$' "a changed configuration is a restart"
ns_step apply monitoring server train-1 S_interval=3s
unlike "$said" '^NP.did' "the same once more is nothing"
in_node train-1 'echo "nonsense: [" >>/etc/prometheus/nanopod.rules.yml'
ns_step check monitoring server train-1 S_interval=3s
like "$said" '^NP.differs.change /etc/prometheus/nanopod.rules.yml' "what somebody changed is found"
ns_apply monitoring server S_interval=3s -- train-1

# ---- Grafana of its archive (a STAND-IN: the real one is not to be had here) ----------------------------------------------
. "$SRC/tests/stacks/grafanadouble.sh"
grafana_archive "$TMP/grafana"
archive=$TMP/grafana/grafana-11.1.0.linux-amd64.tar.gz
in_node_stdin train-1 'mkdir -p /run/grafana /run/boards && cat >/run/grafana/grafana.tar.gz' <"$archive"
for board in machines market; do in_node_stdin train-1 "cat >/run/boards/$board.json" <"$SRC/daemon/monitoring/$board.json"; done
grafana=(S_grafana=/x/grafana-11.1.0.linux-amd64.tar.gz NP_UPLOAD=/run/grafana NP_UPLOAD_ID=1)
ns_step apply monitoring grafana-archive train-1 "${grafana[@]}" S_grafana_sha256="$(printf '%064d' 0)"
like "$said" "^NP.cause.'grafana-11.1.0.linux-amd64.tar.gz' is not what its makers say: its SHA-256 is [0-9a-f]*, not 0000" "an archive that is not what its makers say is refused"
ns_apply monitoring grafana-archive "${grafana[@]}" S_grafana_sha256="$(sha256sum <"$archive" | cut -d ' ' -f 1)" -- train-1
ns_apply monitoring boards S_boards=/x NP_UPLOAD=/run/boards NP_UPLOAD_ID=2 -- train-1
ns_apply monitoring grafana "${grafana[@]}" -- train-1
ns_verified monitoring 'grafana-archive grafana' train-1 "${grafana[@]}"
asked() { in_node_stdin train-1 "read -r p; curl -s -K - http://${ns_address[1]}:3000/$2 <<<\"user = admin:\$p\"" <<<"$1"; }
secret=$(in_node train-1 'cat /etc/grafana/nanopod-password')
is "$(asked "$secret" | sed 's,.*/,,')" "nanopod.yaml
nanopod.yaml
machines.json
market.json
nanopod-cluster.json
nanopod-gpu.json
nanopod-slurm.json" "it has the data source and all boards, by its password (STAND-IN of Grafana)"
is "$(asked admin)" "" "and none by the makers' own"
unlike "$(cat "$TMP/apply.train-1" "$TMP/log.train-1")" "$secret" "the password is in no log and no record"
ok "nor in anybody's argv" in_node_stdin train-1 'read -r s; ! grep -aqsF -e "$s" /proc/[0-9]*/cmdline' <<<"$secret"
is "$(in_node train-1 'stat -c "%a %U:%G" /etc/grafana/nanopod-password; ps -o user= -C grafana; ss -Hltn "sport = :3000" | awk "{ print \$4 }"; test -s /var/log/grafana/grafana.log && echo logs')" "640 root:grafana
grafana
${ns_address[1]}:3000
logs" "it runs as its own user, listens inside alone, and has the log that 'nanopod logs' shows"
in_node train-1 'cat /etc/grafana/grafana.ini' >"$TMP/grafana.ini"
in_node train-1 'cat /etc/grafana/provisioning/datasources/nanopod.yaml' >"$TMP/datasource.yaml"
in_node train-1 'cat /etc/grafana/provisioning/dashboards/nanopod.yaml' >"$TMP/boards.yaml"
if python3 -c 'import yaml' 2>/dev/null; then
	is "$(python3 - "$TMP" <<-'END'
		import configparser, sys, yaml
		at = sys.argv[1]
		ini = configparser.ConfigParser(); ini.read(at + "/grafana.ini")
		source = yaml.safe_load(open(at + "/datasource.yaml"))["datasources"][0]
		boards = yaml.safe_load(open(at + "/boards.yaml"))["providers"][0]
		print(ini["paths"]["provisioning"], source["type"], source["url"], source["isDefault"], boards["type"], boards["options"]["path"])
	END
	)" "/etc/grafana/provisioning prometheus http://${ns_address[1]}:9090 True file /var/lib/nanopod-dashboards" "its ini, data source and boards are read by parsers of their formats"
else
	skip "python3-yaml is not installed"
fi
in_node train-1 'rm /opt/nanopod-grafana/conf/defaults.ini'
ns_step check monitoring grafana-archive train-1 "${grafana[@]}"
like "$said" '^NP.differs.unpack grafana-11.1.0.linux-amd64.tar.gz to /opt/nanopod-grafana' "what is missing is unpacked again"
in_node train-1 'rm -r /run/grafana /run/boards'
ns_undo monitoring 'grafana boards grafana-archive' train-1 "${grafana[@]}"

# And back.
in_node train-1 'rm -r /srv/canary /root/canary'
ns_undo monitoring 'server alertmanager exporter' train-1
ns_undo monitoring 'collectors exporter' train-2
pictures after
same_picture before after train-1 "train-1 is as it was before"
same_picture before after train-2 "train-2 is as it was before"
done_testing
