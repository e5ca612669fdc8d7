# SPDX-License-Identifier: Apache-2.0
# Runs slurmd, which gets its configuration from the controller.

started=$NP_STATE/slurm-worker
drop_in=/etc/systemd/system/slurmd.service.d/nanopod.conf

want() {
	slurm_know
	controller=$(slurm_controller)
	printf "SLURMD_OPTIONS='--conf-server %s:6817'\n" "$(np_address "$controller")" | np_file /etc/default/slurmd 0644 root:root
	if np_systemd; then
		# Debian's unit silently does not start without a file that configless workers lack.
		printf '[Unit]\nConditionPathExists=\n[Service]\nRestart=on-failure\nRestartSec=5\n' | np_file $drop_in 0644 root:root
		! np_has_changed || ! np_changing || systemctl daemon-reload
	elif ! np_is controller; then
		# So does the init script; slurmd gets the same text from the controller.
		slurm_conf | np_file /etc/slurm/slurm.conf 0644 root:root
	fi
	new=$(slurm_worker "$NP_HOST")
	[ "$(cat "$started" 2>/dev/null)" = "$new" ] || np_note_change
	reaches || return 1
	before=$(begun) pids=$(! np_changing || pidof slurmd)
	np_restart slurmd
	np_unit slurmd
	np_changing || return 0
	! np_has_failed || return 1
	# A failing slurmd ends a moment after its unit reports a start; and until slurmctld knows of this start
	# it may send a job to the old one.
	[ "$pids" != "$(pidof slurmd)" ] || before=''
	np_wait 60 registered || { tail -n 20 /var/log/slurm/slurmd.log; np_fail "slurmd is not known to slurmctld: $(why)"; return 1; }
	np_ledger file "$started" absent && printf '%s\n' "$new" >"$started.new" && mv -f "$started.new" "$started"
}

# Report a blocked port at once; slurmd would retry for a minute without naming the cause.
reaches() {
	np_changing || return 0
	np_open "$(np_address "$controller")" 6817 10 && return
	np_hint "nanopod run -w $(np_node_name "$controller") ss -tlnp"
	np_fail "port 6817 of '$controller', where slurmctld is, cannot be reached from here: is there a firewall?"
}

# The start time of slurmd, as slurmctld knows it.
begun() { ! np_changing || timeout 5 scontrol -o show node "$NP_HOST" 2>/dev/null | sed -n 's/.* SlurmdStartTime=\([^ ]*\).*/\1/p'; }
registered() {
	np_active slurmd && now=$(begun) && [ -n "$now" ] && [ "$now" != None ] && [ "$now" != "$before" ] || return 1
	case $(timeout 5 sinfo -h -n "$NP_HOST" -o %T 2>/dev/null) in ''|unk*|down*|*\*) return 1 ;; esac
}
why() { grep -E 'fatal|error' /var/log/slurm/slurmd.log 2>/dev/null | tail -n 1 | sed 's/^\[[^]]*\] //'; }

verify() {
	np_hold 2 slurmd
	case $(timeout 10 sinfo -h -n "$NP_HOST" -o %T 2>/dev/null | head -n 1) in
	idle*\*|mixed*\*|allocated*\*) np_bad "slurmctld does not hear from this node" ;;
	idle*|mixed*|allocated*|completing*|planned*) np_ok "slurmd is known to slurmctld" ;;
	*)
		reason=$(timeout 10 sinfo -h -n "$NP_HOST" -o '%T: %E' | head -n 1)
		case $reason in drain*": nanopod drain") np_ok "slurmd is known to slurmctld, which gives it no jobs"; return ;; esac
		np_bad "slurmctld has this node as ${reason:-unknown}"
		np_hint "nanopod logs $NP_CLUSTER slurmd -w $NP_NODE" ;;
	esac
}

