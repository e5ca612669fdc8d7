# SPDX-License-Identifier: Apache-2.0
# The head needs no worker on its node.
worker_text() { ray_unit_text worker "--address=$(ray_address)"; }
worker_here() { ray_plain && ! np_is head; }
want() {
	worker_here || return 0
	if [ -n "${NP_TAKEN-}" ]; then np_file "$RAY_TOKEN" 0400 ray:ray secret <"$NP_TAKEN"
	elif ! ray_token_is; then np_differs "write $RAY_TOKEN"
	fi
	addon_put worker_text /etc/systemd/system/ray-worker.service 0644 root:root
	np_restart ray-worker
	np_unit ray-worker
}
verify() { if worker_here; then np_unit ray-worker; fi; }
