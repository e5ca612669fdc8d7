#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/monitoring on two real nodes: Debian's Prometheus scrapes itself, Alertmanager and both node exporters; an alert
# fires when one of them stops; undone, the nodes are as they were.
TEST_SCRIPTS=${NANOPOD_TEST_SCRIPTS-} TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
[ "$TEST_SCRIPTS" != no ] || skip_all "what runs here is sh on nodes: NANOPOD_TEST_SCRIPTS is no"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/addons-ns.sh"
ns_begin 2
ns_roles monitoring.server,monitoring.nodes monitoring.nodes
pictures before

ns_step check monitoring server train-1
like "$said" '^NP.differs.install package prometheus$' "plan: what would be installed"
like "$said" '^NP.diff.*job_name: node' "and the configuration as a diff"
ns_apply monitoring exporter -- train-1 train-2
ns_apply monitoring alertmanager S_webhook=http://127.0.0.1:1/x -- train-1
ns_apply monitoring server S_interval=2s -- train-1
ns_step verify monitoring server train-1 S_interval=2s
ok "verify: Prometheus reaches all that it watches" ns_ended
like "$said" '^NP.ok.Prometheus reaches all that it watches' "and says so"
up() { in_node train-1 "promtool query instant http://${ns_address[1]}:9090 'sum by (job) (up)'" | sort; }
is "$(up | sed 's/ @.*//')" '{job="alertmanager"} => 1
{job="node"} => 2
{job="prometheus"} => 1' "the real Prometheus scrapes itself, Alertmanager and two nodes"
is "$(in_node train-2 "ss -Hltn 'sport = :9100'" | awk '{ print $4 }')" "${ns_address[2]}:9100" "a node exporter listens on its inside address alone"
is "$(in_node train-1 "ss -Hltn" | awk '{ print $4 }' | grep -E ':(9090|9093|9094)$' | sort)" "${ns_address[1]}:9090
${ns_address[1]}:9093" "so do Prometheus and Alertmanager, and nothing gossips"

# One stops.
in_node train-2 'systemctl stop prometheus-node-exporter'
alert() { in_node train-1 "promtool query instant http://${ns_address[1]}:9090 'ALERTS{alertname=\"NodeDown\"}'" | grep -q 'instance="train-2"'; }
ok "a node that stops is an alert (pending for its two minutes)" wait_for 30 alert
ns_step verify monitoring exporter train-2
like "$said" '^NP.bad.node-exporter does not listen' "verify says which"
ns_step check monitoring exporter train-2
like "$said" '^NP.differs.start prometheus-node-exporter' "the plan would start it"
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
ns_undo monitoring server train-1
ns_undo monitoring alertmanager train-1
ns_undo monitoring exporter train-1
ns_undo monitoring exporter train-2
pictures after
same_picture before after train-1 "train-1 is as it was before"
same_picture before after train-2 "train-2 is as it was before"
done_testing
