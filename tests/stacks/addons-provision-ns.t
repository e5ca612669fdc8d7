#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod provision … k3s gpu-operator monitoring ray` on two nodes: all of it from nothing in one go, again, verify and
# remove. Against a DOUBLE of K3s, which installs no chart; there is no GPU. addons-k3s-ns.t has the steps one by one.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_K3S=${NANOPOD_K3S_BUNDLE-}
. "$(dirname "$0")/../lib/tap.sh"
[ -z "$TEST_K3S" ] || skip_all "charts of the real K3s need the internet"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/k3s.sh"
NANOPOD_STACKS=$SRC/stacks
export NANOPOD_STACKS
cluster_nodes 2
k3s_bundle
on_nodes 'ip route show default | grep -q . || ip route add default dev eth0'
pictures before

mkdir "$TMP/charts"
chart() { echo DOUBLE >"$TMP/charts/$1-$(sed -n "s/^  $3: \\([v0-9].*\\)/\\1/p" "$SRC/stacks/$2/stack.yaml").tgz"; }
chart kube-prometheus-stack monitoring kube-prometheus-stack
provision() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}"; }
ALL=(-r train k3s gpu-operator monitoring ray --name train --role 'servers=train-1' --set "k3s.bundle=$K3S_BUNDLE" --set "k3s.version-k3s=$K3S_VERSION"
	--set k3s.wait=60 --set k3s.disk-mb=100 --set monitoring.disk-mb=100 --set ray.disk-mb=100)
for stack in gpu-operator monitoring ray; do ALL+=(--set "$stack.charts=$TMP/charts"); done

run provision "${ALL[@]}" -y
is "$status" 10 "a chart that was not brought stops what needs it"
like "$out$err" "the uploaded files lack 'kuberay-operator-[0-9.]*.tgz'" "and is named"
like "$(kubectl_on train-1 'get helmchart -A -o name')" '^helmchart/kube-prometheus-stack$' "the rest went on ($K3S_IS)"
chart kuberay-operator ray kuberay
run_is 0 "the same once more, with it: the rest of it ($K3S_IS)" provision "${ALL[@]}" -y || diag "$out" "$err"
like "$out$err" 'ray/kuberay: installed the chart' "the chart that was missing is installed"
unlike "$out$err" 'monitoring/chart: installed the chart' "and no other again"
run provision plan train --detailed-exitcode
is "$status" 0 "plan: nothing to do" || diag "$out" "$err"
run_is 0 "verify: all checks hold ($K3S_IS)" provision verify train || diag "$out" "$err"
kubectl_on train-1 'delete secret nanopod-grafana -n monitoring' >/dev/null
run provision plan train --detailed-exitcode
is "$status" 10 "what somebody took away in the cluster is in the plan"
like "$out$err" 'generate a password for Grafana' "by name"
run_is 0 "remove" provision remove train -y || diag "$out" "$err"
pictures after
same_picture before after train-1 "train-1 is as it was"
same_picture before after train-2 "train-2 is as it was"
done_testing
