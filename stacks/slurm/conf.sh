# SPDX-License-Identifier: Apache-2.0
# The only copy: workers get the configuration from slurmctld.

want() {
	slurm_know
	slurm_partitions_fit || return
	slurm_conf | np_file /etc/slurm/slurm.conf 0644 root:root
	gres_conf | np_file /etc/slurm/gres.conf 0644 root:root
	cgroup_conf | np_file /etc/slurm/cgroup.conf 0644 root:root
	topology_conf | np_file /etc/slurm/topology.conf 0644 root:root
	[ "${S_containers:-no}" != yes ] || oci_conf | np_file /etc/slurm/oci.conf 0644 root:root
	case $NP_TABLE in *"${np_tab}gpu_usable="*) ;; *) return 0 ;; esac
	np_rows | awk -F '\t' 'index("," $4 ",", ",slurm.workers,") {
		n = 0; u = ""
		for (i = 5; i <= NF; i++) { if ($i ~ /^gpu_count=/) n = substr($i, 11) + 0; if ($i ~ /^gpu_usable=/) u = substr($i, 12) + 0 }
		if (u != "" && u < n) print $2 ": " u " of " n " GPUs can be used: the others have no driver"
	}' | while IFS= read -r line; do np_say "$line"; done
}
