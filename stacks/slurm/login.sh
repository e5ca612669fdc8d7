# SPDX-License-Identifier: Apache-2.0
# A login node runs no slurmd, so nothing else brings the configuration here.

check() {
	np_uses /etc/slurm/slurm.conf
	hash=$(np_taken_hash)
	if [ -n "$NP_TAKEN" ]; then np_file /etc/slurm/slurm.conf 0644 root:root <"$NP_TAKEN"
	elif [ ! -e /etc/slurm/slurm.conf ]; then np_differs "write /etc/slurm/slurm.conf"
	elif [ -n "$hash" ] && [ "$(np_hash /etc/slurm/slurm.conf)" != "$hash" ]; then np_differs "change /etc/slurm/slurm.conf"
	fi
}

apply() { np_file /etc/slurm/slurm.conf 0644 root:root <"$NP_TAKEN"; }
