#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stacks/ray: its units, and KubeRay's objects. No Ray is here; ray-ns.t runs the steps with a double of it.
. "$(dirname "$0")/../lib/tap.sh"
need jq dash
. "$SRC/tests/stacks/addons.sh"
MANIFEST=$BUILD/tests/stacks/manifest KINDS=$SRC/tests/stacks/schema/kinds.json

addon_table "n1 10.0.0.1 ray.head" "n2 10.0.0.2 ray.workers" "n3 10.0.0.3 ray.workers"
addon ray head head_text S_head_cpus=0 >"$TMP/ray-head.service"
is "$(sed -n 's/^ExecStart=//p' "$TMP/ray-head.service")" "/opt/nanopod-ray/bin/ray start --block --node-ip-address=10.0.0.1 --head --port=6379 --dashboard-host=10.0.0.1 --dashboard-port=8265 --temp-dir=/var/lib/nanopod-ray/tmp --disable-usage-stats --num-cpus=0" "the head, its dashboard on the inside address"
like "$(cat "$TMP/ray-head.service")" '^User=ray$' "not as root"
like "$(cat "$TMP/ray-head.service")" 'RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=/etc/nanopod-ray.token' "with a token, which is in a file"
addon_node n2
like "$(addon ray worker worker_text)" '^ExecStart=.*/ray start --block --node-ip-address=10.0.0.2 --address=10.0.0.1:6379$' "a worker, by the head's address"
unlike "$(addon ray worker worker_text; cat "$TMP/ray-head.service")" 'password' "no password on a command line"
addon ray worker want NP_TAKEN_HASH=0123 >/dev/null
like "$(addon_records)" 'differs.write /etc/nanopod-ray.token' "plan: a token that it has not is one to be written"
unlike "$(addon_records)" 'diff.--- .etc.nanopod-ray.token' "and is not shown"
addon_node n1
is "$(addon ray token token_random | grep -cE '^[0-9a-f]{64}$')" 1 "the token is random"
addon ray worker 'worker_here && echo yes || echo no' >"$TMP/out"
is "$(cat "$TMP/out")" no "the head runs no worker beside it"

addon_table "n1 10.0.0.1 k3s.servers,ray.head" "n2 10.0.0.2 k3s.agents,ray.workers gpu_0=nvidia+h100+0+nvidia gpu_1=nvidia+h100+1+nvidia" "n3 10.0.0.3 k3s.agents,ray.workers gpu_0=nvidia+h100+0+nvidia"
addon ray kuberay kuberay_operator >"$TMP/m.yaml"
ok "KubeRay's chart fits" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
addon ray kuberay kuberay_cluster >"$TMP/c.yaml"
ok "the RayCluster fits" "$MANIFEST" "$KINDS" "$TMP/c.yaml"
is "$(grep -cE '^ +(replicas|minReplicas|maxReplicas): 2$' "$TMP/c.yaml")" 3 "as many workers as nodes for them"
is "$(sed -n 's/^ *nvidia.com\/gpu: //p' "$TMP/c.yaml")" 1 "as many GPUs a worker as each of the nodes has"
like "$(cat "$TMP/c.yaml")" '^    mode: token$' "with a token, which the operator makes"
addon ray head want >/dev/null
is "$(addon_records)" "" "on K3s nothing is installed beside it"
done_testing
