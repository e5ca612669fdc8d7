# SPDX-License-Identifier: Apache-2.0
# The controller goes first, as Slurm requires: slurmdbd, then slurmctld, then this node's slurmd. Jobs keep running meanwhile.

upgrades() { slurm_look "$@"; }

upgrade() {
	np_rooms && np_apt_update && slurm_newer >"$np_room/newer" && slurm_may || return 1
	if [ -s "$np_room/newer" ]; then
		read -r name old new <"$np_room/newer"
		# All daemons of one version share plugins, so none may run while these change.
		stopped=''
		for daemon in slurmctld slurmdbd; do
			! np_active $daemon || { np_control stop $daemon && stopped="$daemon $stopped"; } || np_fail "cannot stop $daemon"
		done
		if np_has_failed; then :
		elif slurm_same_release "$old" "$new" || backup "$old"; then slurm_install; fi
		# Start the old daemons again even after a failure.
		for daemon in $stopped; do start "$daemon"; done
		! np_has_failed || return 1
		np_did "upgrade $name and others from $old to $new"
	fi
	for daemon in slurmdbd slurmctld; do
		if np_active $daemon && slurm_stale $daemon; then np_control stop $daemon && start $daemon || return 1; fi
	done
	slurm_restart
}

start() {
	np_control start "$1" && np_wait 10 np_active "$1" && np_wait 3000 settled "$1" && np_active "$1" && return
	np_unit_log "$1"
	tail -n 20 "/var/log/slurm/$1.log"
	np_fail "$1 does not answer: $(grep -E 'fatal|error' "/var/log/slurm/$1.log" | tail -n 1 | sed 's/^\[[^]]*\] //')"
}
# A new release of slurmdbd converts all of its tables at its first start, which takes long. Stops waiting if it ends.
settled() {
	np_active "$1" || return 0
	case $1 in
	slurmdbd) timeout 20 sacctmgr -n -P show cluster format=cluster >/dev/null 2>&1 ;;
	slurmctld) timeout 5 scontrol ping 2>/dev/null | grep -q UP ;;
	esac
}

# Saves what a new release converts and the old one cannot read any more. It goes with the rest of /var/lib/slurm.
backup() {
	at=/var/lib/slurm/before-upgrade-$1
	(umask 077; mkdir -p "$at") && tar -C /var/lib/slurm -czf "$at/slurmctld.tar.gz.new" slurmctld && mv "$at/slurmctld.tar.gz.new" "$at/slurmctld.tar.gz" || { np_fail "cannot save a copy of slurmctld's state$(np_disk /var/lib)"; return 1; }
	if [ "${S_accounting:-yes}" = yes ]; then
		(umask 077; mysqldump --protocol=socket --single-transaction slurm_acct_db | gzip >"$at/slurm_acct_db.sql.gz.new") && gzip -dc "$at/slurm_acct_db.sql.gz.new" | tail -n 1 | grep -q '^-- Dump completed' &&
			mv "$at/slurm_acct_db.sql.gz.new" "$at/slurm_acct_db.sql.gz" || { np_fail "cannot save a copy of the accounting database$(np_disk /var/lib)"; return 1; }
	fi
	np_did "save the old state in $at"
}
