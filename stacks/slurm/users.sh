# SPDX-License-Identifier: Apache-2.0
# Slurm sends user ids over the wire, so its own must be the same everywhere; munge's may differ.

want() {
	np_group slurm "${S_slurm_id:-64030}"
	np_user slurm "${S_slurm_id:-64030}" /nonexistent
	if ! getent passwd munge >/dev/null; then
		np_group munge "${S_munge_id:-985}"
		np_user munge "${S_munge_id:-985}" /nonexistent
	fi
}
