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
is "$(up | sed 's/ @.*//')" '{job="alertmanager"} => 1
{job="node"} => 2
{job="prometheus"} => 1' "the real Prometheus scrapes itself, Alertmanager and two nodes"
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
ok "(prometheus lays links)" lay "rm -f $text/slurm.prom; ln -s /srv/canary $text/folder; mkdir -p $text/x/y; perl -e \"symlink q(/srv/canary/slurm.prom), qq($text/slurm.prom\\\$_) for q(), map qq(.\\\$_), \\\$\\\$ .. \\\$\\\$ + 3000\""
ok "(3003 of them)" [ "$(in_node train-1 "find $text -type l | wc -l")" = 3003 ]
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

# And back.
in_node train-1 'rm -r /srv/canary /root/canary'
ns_undo monitoring 'server alertmanager exporter' train-1
ns_undo monitoring 'collectors exporter' train-2
pictures after
same_picture before after train-1 "train-1 is as it was before"
same_picture before after train-2 "train-2 is as it was before"
done_testing
