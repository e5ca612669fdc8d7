# SPDX-License-Identifier: Apache-2.0
# Runs after the controller, some nodes at a time. Jobs belong to their own slurmstepd, which the new slurmd finds again.

upgrades() { np_is controller || slurm_look "$@"; }

upgrade() {
	np_rooms && np_apt_update && slurm_newer >"$np_room/newer" && slurm_may || return 1
	if [ -s "$np_room/newer" ]; then
		read -r name old new <"$np_room/newer"
		slurm_install || return 1
		np_did "upgrade $name and others from $old to $new"
	fi
	slurm_restart
}
