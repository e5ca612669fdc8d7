# SPDX-License-Identifier: Apache-2.0
# Jobs carry numbers of users over the wire, so Slurm's must be the same everywhere; munge's own may differ.

want() {
	np_group slurm "${S_slurm_id:-64030}"
	np_user slurm "${S_slurm_id:-64030}" /nonexistent
	if ! getent passwd munge >/dev/null; then
		np_group munge "${S_munge_id:-985}"
		np_user munge "${S_munge_id:-985}" /nonexistent
	fi
}
