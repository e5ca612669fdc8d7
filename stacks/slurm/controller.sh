# SPDX-License-Identifier: Apache-2.0
# Runs slurmctld and remembers its configuration: a change of partitions needs a reconfigure, any other a restart.

started=$NP_STATE/slurm-started
# Purging Debian's slurmdbd removes this file.
log=/var/log/slurm/slurmctld.log

# The settings may put it elsewhere.
log_there() { [ -e $log ] || [ -e "$(slurm_conf | sed -n 's/^SlurmctldLogFile=//p' | tail -n 1)" ]; }

now() {
	text=$(slurm_conf; gres_conf; cgroup_conf; topology_conf; [ "${S_containers:-no}" != yes ] || oci_conf)
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
	new=$(now) before=$(cat $started 2>/dev/null) began=$(date +%s) from=$(stat -c %s $log 2>/dev/null) fault='' refused=''
	np_ledger file $started absent && np_ledger tree $good '' || return 1
	if start && follow; then
		printf '%s\n' "$new" >$started.new && mv -f $started.new $started && keep
	else
		# The command that calls it back may print errors, too.
		reason=$(why); said | tail -n 20
		[ -z "$fault" ] || np_fail "slurmctld $fault"
		[ -z "$reason" ] || np_cause "($reason)"
		call_back
		return 1
	fi
}
start() {
	if ! np_active slurmctld; then np_unit slurmctld
	elif [ "${before% *}" != "${new% *}" ]; then np_note_change; np_restart slurmctld; np_unit slurmctld
	else np_unit slurmctld
	fi
	! np_has_failed || return
	np_wait 20 answers || { fault='does not answer'; return 1; }
}
# This also gives running workers their new copy.
follow() {
	if [ "$before" = "$new" ] && log_there || [ -z "$before" ]; then return 0; fi
	timeout 30 scontrol reconfigure || { [ $? = 124 ] || refused=1; fault='does not take what is new'; return 1; }
	np_wait 20 answers || { fault='does not answer any more'; return 1; }
	np_did "reconfigure slurmctld"
}

# Saves the last working configuration, because one that slurmctld cannot read must not stop everybody's jobs.
good=$NP_STATE/slurm-good
confs='slurm.conf gres.conf cgroup.conf topology.conf'
# shellcheck disable=SC2086 # words
keep() { rm -rf $good.new && (umask 022; mkdir $good.new && cd /etc/slurm && cp -p $confs $good.new) && rm -rf $good && mv $good.new $good || np_fail "cannot write '$good'$(np_disk "$NP_STATE")"; }
# Leave a slow one alone.
# shellcheck disable=SC2086
call_back() {
	[ -d $good ] && [ "$(cd $good && cat $confs)" != "$(cd /etc/slurm && cat $confs)" ] || return 0
	[ -n "$refused" ] || ! np_active slurmctld || said | grep -q 'fatal: ' || return 0
	if cp -p $good/* /etc/slurm/ && np_control restart slurmctld && np_wait 20 answers && timeout 30 scontrol reconfigure; then
		np_say "slurmctld runs with its old configuration again"
	else
		np_say "the old configuration is back in /etc/slurm, but slurmctld does not answer with it either"
	fi
}

answers() { timeout 5 scontrol ping 2>/dev/null | grep -q UP; }
# Its log since the start, or all of it; the journal has what comes before the log opens.
said() { [ -z "${began-}" ] || np_unit_log slurmctld "$began"; tail -c "+$((${from:-0} + 1))" $log 2>/dev/null; }
# Its fatal error with the one before, else its last errors about the configuration, else its last ones: what fails later
# because of them is no cause. Ignores the usual complaint about a missing mailer.
why() {
	said | sed 's/^\[[^]]*\] //; s/^slurmctld: //' | grep -E '^(fatal|error): ' | grep -v MailProg | awk '
		seen[$0]++ { next }
		/^fatal/ { why = wrong != "" ? wrong : last; died = (why != "" ? why "; " : "") $0; next }
		/[Pp]arsing|[Ii]nvalid|[Uu]nrecogni|[Uu]nknown|[Dd]uplicate|lookup failure|\.conf/ { wrongs = (wrong != "" ? wrong "; " : "") $0; wrong = $0 }
		{ lasts = (last != "" ? last "; " : "") $0; last = $0 }
		END { print died != "" ? died : wrongs != "" ? wrongs : lasts }'
}

verify() {
	np_hold 2 slurmctld
	if answers; then np_ok "slurmctld answers"; else np_bad "slurmctld does not answer: $(why)"; fi
}
