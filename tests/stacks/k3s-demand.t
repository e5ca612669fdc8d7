#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What stack k3s tells `nanopod autoscale` of pods and nodes, from lines as kubectl's own jsonpath prints them, in each awk that
# is here: what is asked for, what no node like these would run, which nodes are in use; and when a node is held. kubectl is a
# DOUBLE; tests/stacks/autoscale-k3s.t has the loop.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$TMP/bin"
# Nodes or pods, as the query begins; fails where $TMP/away names it.
cat >"$TMP/bin/k3s" <<END
#!/bin/sh
for word; do last=\$word; done
case "\$*" in *cordon*) echo "\$3 \$4" >>$TMP/told; exit ;; esac
case \$last in *'}node|'*) what=nodes ;; *) what=pods ;; esac
! grep -qx \$what $TMP/away 2>/dev/null || exit 1
cat $TMP/\$what
END
chmod 755 "$TMP/bin/k3s"
demand() { PATH=$TMP/bin:$PATH sh "$SRC/stacks/k3s/demand.inc" "$@"; }
GPU='[{"effect":"NoSchedule","key":"nvidia.com/gpu","operator":"Exists"}]' ANY='[{"effect":"NoSchedule","operator":"Exists"}]'
# waits NAME CONTAINERS [BEFORE] [SELECTOR] [AFFINITY] [TOLERATIONS] [RESOURCES] [MESSAGE]
waits() { printf 'pod|%s||Pending|||Unschedulable|%s|%s|%s|%s|%s|%s|%s\n' "$1" "$2" "${3-}" "${4-}" "${5-}" "${6-}" "${7-}" "${8-0/1 nodes are available: 1 Insufficient cpu.}"; }
runs() { printf 'pod|%s|%s|Running||%s||,,,;||||||\n' "$1" "$2" "${3-}"; }

# has NAME READY [UNSCHEDULABLE] [KEYS OF TAINTS] [LABELS]
has() { printf 'node|%s|%s|%s|amd64|%s |4,16777216Ki,2,|{"kubernetes.io/arch":"amd64"%s}\n' "$1" "$2" "${3-}" "${4-}" "${5:+,$5}"; }
{
	has k1 True
	has k2 Unknown '' 'node.kubernetes.io/unreachable node.kubernetes.io/unreachable'
	has k3 Unknown
	has k4 True true node.kubernetes.io/unschedulable
	has k5 True '' mine
	has k6 True '' nvidia.com/gpu
} >"$TMP/nodes"
{
	runs default/web k1
	runs default/mine k2
	runs kube-system/coredns k3
	runs default/each k6 DaemonSet
	runs gpu-operator/operator k4
	runs default/moves k4
	waits a/one '500m,1Gi,,;1.5,1500M,1,;'
	waits a/before '1,1Mi,,;' '3,2Gi,,;250m,,,;'
	waits a/nothing ',,,;'
	waits a/here '1,,,;' '' '{"kubernetes.io/arch":"amd64","kubernetes.io/os":"linux","pool":"gpu"}'
	waits a/there '1,,,;' '' '{"pool":"cpu"}'
	waits a/certain '1,,,;' '' '' In
	waits a/rdma '1,,,;' '' '' '' '' '{"cpu":"1"} {"cpu":"1","rdma/hca":"1"}'
	waits a/disk '1,,,;' '' '' '' '' '' '1 node(s) had volume node affinity conflict|node|k1|False'
	printf 'pod|a/goes||Pending|2026-01-01T00:00:00Z||Unschedulable|1,,,;||||||x\npod|a/gated||Pending|||SchedulingGated|1,,,;||||||\n'
	echo 'node|k1|False'
	echo 'moves|default/moves'
} >"$TMP/pods"

for awk in mawk gawk 'busybox awk' original-awk; do
	command -v ${awk%% *} >/dev/null || continue
	printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >"$TMP/bin/awk"
	chmod 755 "$TMP/bin/awk"
	demand demand pool=gpu '' >"$TMP/out"
	is "$(grep ^job "$TMP/out")" 'job a/one|1|cpu=2000m,mem=2455M|gpu:1||OK|
job a/before|1|cpu=3000m,mem=2048M|gpu:0||OK|
job a/nothing|1|cpu=0m,mem=0M|gpu:0||OK|
job a/here|1|cpu=1000m,mem=0M|gpu:0||OK|' "$awk: what pods ask for: containers together, the largest of those before"
	is "$(sed -n 's/^warn no node is bought for pod //p' "$TMP/out")" 'a/there, which asks for nodes with the label pool=cpu
a/certain, which asks for certain nodes by nodeAffinity
a/rdma, which asks for rdma/hca
a/disk, which waits for a volume' "$awk: and which no node like these would run"
	is "$(sed -n 's/^node //p' "$TMP/out" | tr '\n' ' ')" 'k1|allocated|cpu=4000m,mem=16384M,gpu=2 k2|allocated*| k3|down*| k4|drained| k5|drained| k6|drained| ' \
		"$awk: which nodes are in use, gone, or out of service"
	is "$(tail -n 1 "$TMP/out")" end "$awk: and that is all"
done
waits a/plain '1,,,;' >"$TMP/pods"
waits a/gpu '1,,1,;' '' '' '' "$GPU" >>"$TMP/pods"
waits a/any '1,,1,;' '' '' '' "$ANY" >>"$TMP/pods"
is "$(demand demand '' 'nvidia.com/gpu=present:NoSchedule soft=1:PreferNoSchedule' | cut -d'|' -f1 | tr '\n' ';')" \
	'warn no node is bought for pod a/plain, which does not tolerate the taint nvidia.com/gpu=present:NoSchedule;job a/gpu;job a/any;node k1;node k2;node k3;node k4;node k5;node k6;end;' \
	"taints of the cluster's file are tolerated, or not"

# ---- Pods that may be moved ------------------------------------------------------------------------------------
# moves NAME NODE CONTAINERS [SELECTOR] [AFFINITY] [TOLERATIONS] [RESOURCES]
moves() { printf 'pod|%s|%s|Running||||%s||%s|%s|%s|%s|\n' "$1" "$2" "$3" "${4-}" "${5-}" "${6-}" "${7-}"; printf 'moves|%s\n' "$1" >>"$TMP/moves"; }
cp "$TMP/nodes" "$TMP/nodes.before"
cp "$TMP/pods" "$TMP/pods.before"
{
	has k1 True '' '' '"pool":"gpu"'
	has k2 True
	has k3 True '' nvidia.com/gpu '"pool":"gpu"'
	has k4 True true node.kubernetes.io/unschedulable
} >"$TMP/nodes"
{
	moves a/m k1 '500m,1Gi,1,;' '{"pool":"gpu"}' '' "$GPU"
	moves a/certain k2 '1,,,;' '' In
	moves a/own k4 '1,,,;' '' '' '' '{"cpu":"1","rdma/hca":"1"}'
	runs kube-system/dns k3
	printf 'pod|a/small|k3|Running||||1500m,1Mi,,;||||||\n'
	cat "$TMP/moves"
} >"$TMP/pods"
both() { demand demand pool=gpu "nvidia.com/gpu=present:NoSchedule" | grep -E '^(node|move) '; }
is "$(both)" 'move a/m|1|cpu=500m,mem=1024M|gpu:1||OK|k1
node k1|idle|cpu=3500m,mem=15360M,gpu=1
node k2|allocated|
node k3|allocated|cpu=2500m,mem=16383M,gpu=2
node k4|draining|' "a pod that may be moved is told, and the room of nodes where it could run; one that needs a certain node keeps it"
sed -i "s/^moves.*//" "$TMP/pods"
unlike "$(both)" '^move|cpu=' "without such pods none is"
mv "$TMP/nodes.before" "$TMP/nodes"
mv "$TMP/pods.before" "$TMP/pods"

# ---- Holding a node ------------------------------------------------------------------------------------------
echo pods >"$TMP/away"
isnt "$(demand hold K4)" held "a node is not held where the API does not say which pods are on it"
is "$(demand demand '' '' | wc -l)" 0 "and nothing is told of such a cluster"
rm "$TMP/away"
: >"$TMP/told"
is "$(demand hold K4)" held "one without pods is"
is "$(cat "$TMP/told")" "cordon k4" "by a cordon"
runs a/late k4 >>"$TMP/pods"
is "$(demand hold k4)" "a pod has just begun on it" "one with a pod is not"
is "$(tail -n 1 "$TMP/told")" "uncordon k4" "and takes pods again"
runs a/lost k2 >>"$TMP/pods"
is "$(demand hold k2)" "a pod has just begun on it" "nor is one that is not Ready, with a pod on it"
done_testing
