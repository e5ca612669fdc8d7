# SPDX-License-Identifier: Apache-2.0
# Checks `ray status`, and runs a task pinned to each node.
job_program() {
	cat <<'END_PROGRAM'
import os, socket, sys
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)
@ray.remote(num_cpus=0)
def where():
    return socket.gethostname()
alive = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
tasks = [where.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote() for node in alive]
for host in sorted(ray.get(tasks, timeout=60)):
    print("ran on", host)
END_PROGRAM
}
job_nodes() { { np_members head; np_members workers; } | sort -u; }
job_all() {
	job_out=$(ray_run timeout 90 "$RAY_HOME/bin/python3" - 2>&1 <<-END
		$(job_program)
	END
	)
	[ "$(printf '%s\n' "$job_out" | sed -n 's/^ran on //p' | sort -u)" = "$(job_nodes)" ]
}
verify() {
	ray_plain || return 0
	if ray_run timeout 60 "$RAY_HOME/bin/ray" status; then np_ok "ray status: the cluster answers"; else
		np_hint "journalctl -u ray-head -n 50"
		np_bad "ray status: the cluster does not answer"
		return 1
	fi
	if np_wait "${S_job_wait:-90}" job_all; then np_ok "a task ran on each of $(job_nodes | wc -l) nodes"; else
		printf '%s\n' "$job_out"
		np_hint "journalctl -u ray-worker -n 50, on the nodes where it did not"
		np_bad "a task did not run on: $(job_nodes | while read -r job_node; do printf '%s\n' "$job_out" | grep -qxF "ran on $job_node" || printf '%s ' "$job_node"; done)"
	fi
}
