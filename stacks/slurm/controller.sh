# SPDX-License-Identifier: Apache-2.0
# slurmctld. What it was started with is kept: partitions alone are read again, for anything else it is started again.

started=$NP_STATE/slurm-started
# Debian's slurmdbd takes this one away where it is purged.
log=/var/log/slurm/slurmctld.log

# One that the settings put elsewhere is not missed here.
log_there() { [ -e $log ] || [ -e "$(slurm_conf | sed -n 's/^SlurmctldLogFile=//p' | tail -n 1)" ]; }

now() {
	text=$(slurm_conf; gres_conf; cgroup_conf)
	echo "$(printf '%s\n' "$text" | grep -v '^PartitionName=' | np_sum) $(printf '%s\n' "$text" | grep '^PartitionName=' | np_sum)"
}

check() {
	if np_active slurmctld; then
		slurm_know
		before=$(cat $started 2>/dev/null) new=$(now)
		[ "${before% *}" = "${new% *}" ] || { np_differs "restart slurmctld"; return 0; }
		[ "$before" = "$new" ] || np_differs "reconfigure slurmctld"
		log_there || np_differs "let slurmctld open its log again"
	fi
	np_unit slurmctld
}

apply() {
	slurm_know
	new=$(now) before=$(cat $started 2>/dev/null)
	np_ledger file $started absent
	if ! np_active slurmctld; then np_unit slurmctld
	elif [ "${before% *}" != "${new% *}" ]; then np_note_change; np_restart slurmctld; np_unit slurmctld
	else np_unit slurmctld
	fi
	! np_has_failed || return 1
	np_wait 20 answers || { np_unit_log slurmctld; tail -n 20 /var/log/slurm/slurmctld.log; np_fail "slurmctld does not answer: $(why)"; return 1; }
	# Workers that run get their new copy with this.
	{ [ "$before" = "$new" ] && log_there; } || [ -z "$before" ] || { timeout 30 scontrol reconfigure && np_did "reconfigure slurmctld"; } || { np_fail "'scontrol reconfigure' failed"; return 1; }
	printf '%s\n' "$new" >$started.new && mv -f $started.new $started
}

answers() { timeout 5 scontrol ping 2>/dev/null | grep -q UP; }
why() { grep -E 'fatal|error' /var/log/slurm/slurmctld.log 2>/dev/null | tail -n 1 | sed 's/^\[[^]]*\] //'; }

verify() {
	np_hold 2 slurmctld
	if answers; then np_ok "slurmctld answers"; else np_bad "slurmctld does not answer: $(why)"; fi
}
