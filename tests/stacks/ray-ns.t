#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/ray on two real nodes, with a DOUBLE of Ray's wheel: a Python environment from a folder of wheels, the token, the
# units, and the stack's own program. Ray itself is not here: nothing of it is proven.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
need python3
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/addons-ns.sh"
mkdir "$TMP/wheels"
sh "$SRC/tests/stacks/raydouble.sh" "$TMP/wheels" 2.52.0
ns_begin 2
ns_roles ray.head ray.workers
pictures before
for node in $CLUSTER_NODES; do tar -C "$TMP/wheels" -cf - . | in_node_stdin "$node" 'mkdir -p /mnt/wheels && tar -C /mnt/wheels -xf -'; done

ns_apply ray venv NP_UPLOAD=/mnt/wheels NP_UPLOAD_ID=abc -- train-1 train-2
ns_step check ray venv train-1 NP_UPLOAD_ID=def
like "$said" '^NP.differs.install ray' "other wheels are another installation"
ns_step apply ray token train-1
printf '%s\n' "$said" | sed -n 's/^NP.give.ray-token.//p' | base64 -d >"$TMP/token"
is "$(grep -cE '^[0-9a-f]{64}$' "$TMP/token")" 1 "the head gives its token"
unlike "$(cat "$TMP/log.train-1")" "$(cat "$TMP/token")" "and does not log it"
hash=$(printf '%s\n' "$said" | sed -n 's/^NP.hash.ray-token.//p' | head -n 1)
ns_apply ray head -- train-1
ns_apply ray worker NP_TAKEN="$TMP/token" NP_TAKEN_HASH="$hash" -- train-2
ns_step verify ray job train-1
ok "verify: ray status, and a task on every node (DOUBLE of Ray)" ns_ended
like "$said" '^NP.ok.a task ran on each of 2 nodes' "and says so"
is "$(in_node train-1 "ss -Hltn 'sport = :8265'" | awk '{ print $4 }')" "${ns_address[1]}:8265" "the dashboard listens on the inside address alone"
is "$(in_node train-2 'stat -c "%a %U:%G" /etc/nanopod-ray.token; systemctl show -p User --value ray-worker')" "400 ray:ray
ray" "the token is Ray's alone, and so is the program"
in_node train-2 'systemctl stop ray-worker'
# Once the head has noticed.
named() { ns_step verify ray job train-1 S_job_wait=1; grep -q '^NP.bad.a task did not run on: train-2' <<<"$said"; }
ok "a worker that stopped is named" wait_for 20 named
ns_step check ray worker train-2 NP_TAKEN_HASH="$hash"
like "$said" '^NP.differs.start ray-worker' "and the plan would start it"

ns_undo ray worker train-2
ns_undo ray 'head token venv' train-1
ns_undo ray venv train-2
on_nodes 'rm -rf /mnt/wheels'
pictures after
same_picture before after train-1 "train-1 is as it was before"
same_picture before after train-2 "train-2 is as it was before"
done_testing
