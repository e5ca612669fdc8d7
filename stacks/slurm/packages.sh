# SPDX-License-Identifier: Apache-2.0

want() {
	set -- munge slurm-client
	! np_is controller || set -- "$@" slurmctld
	! np_is workers || set -- "$@" slurmd
	np_trace /etc/munge /var/lib/munge /var/log/munge /etc/slurm /var/lib/slurm /var/log/slurm /var/spool/slurm
	np_trace /run/munge /run/slurm /run/slurmctld.pid /run/slurmd.pid
	np_packages "$@"
	! np_has_failed || return 1
	np_changing || getent passwd slurm >/dev/null || return 0
	np_dir /var/lib/slurm 0755 slurm:slurm
	np_dir /var/log/slurm 0755 slurm:slurm
	! np_is controller || np_dir /var/lib/slurm/slurmctld 0700 slurm:slurm
	! np_is workers || np_dir /var/lib/slurm/slurmd 0755 slurm:slurm
}

undo() { [ ! -d /var/lib/slurm/slurmctld ] || np_aside /var/lib/slurm "the state of slurmctld and its jobs"; }
