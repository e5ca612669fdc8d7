# SPDX-License-Identifier: Apache-2.0
# Called with host names, on the controller.

list() { printf '%s\n' "$@" | tr '\n' ',' | sed 's/,*$//'; }
states() { timeout 10 sinfo -h -N -n "$1" -o '%N %T' | sort -u; }
busy() { states "$1" | awk '$2 ~ /^(draining|allocated|mixed|completing)/ { print $1 }'; }
quiet() { [ -z "$(busy "$1")" ]; }

drain() {
	# A node that never got that far has no jobs.
	known=''
	for host; do [ -z "$(states "$host" 2>/dev/null)" ] || known="$known $host"; done
	[ -n "$known" ] || { np_say "slurmctld does not know $(list "$@")"; return 0; }
	# shellcheck disable=SC2086
	nodes=$(list $known)
	timeout 20 scontrol update "NodeName=$nodes" State=DRAIN "Reason=nanopod drain" || { np_fail "slurmctld does not drain $nodes"; return 1; }
	np_did "no new jobs on $nodes"
	if ! np_wait "${S_drain_wait:-600}" quiet "$nodes"; then
		np_fail "jobs still run on $(busy "$nodes" | tr '\n' ' '): $(timeout 10 squeue -h -w "$nodes" -o %i | tr '\n' ' ')"
		np_hint "nanopod ssh $NP_NODE squeue -w $nodes"
		return 1
	fi
	np_did "drained $nodes"
}

# Lists the running jobs before a cluster is removed.
at_work() {
	timeout 10 squeue -h -o '%i of %u (%T)' | awk '{ n++; if (n <= 8) list = list (n > 1 ? ", " : "") $0 }
		END { if (n) printf "%d %s with it: %s%s\n", n, n == 1 ? "job goes" : "jobs go", list, (n > 8 ? " …" : "") }' | while IFS= read -r line; do np_say "$line"; done
	return 0
}

undrain() {
	nodes=$(list "$@")
	for host; do
		case $(states "$host") in *drain*|*down*) timeout 20 scontrol update "NodeName=$host" State=RESUME || np_fail "slurmctld does not take $host back" ;; esac
	done
	! np_has_failed || return 1
	# It takes a moment before Slurm sends jobs there.
	np_wait 15 back "$@" || np_say "slurmctld still calls them $(states "$nodes" | cut -d ' ' -f 2 | sort -u | tr '\n' ' ')"
	np_did "jobs may run on $nodes again"
}
back() {
	for host; do
		case $(states "$host") in *drain*|*down*) return 1 ;; esac
	done
}

# The next apply writes a configuration without these nodes.
leave() {
	for host; do
		[ -z "$(states "$host")" ] || timeout 20 scontrol update "NodeName=$host" State=DOWN "Reason=nanopod: leaves the cluster" || np_fail "slurmctld does not let $host go"
	done
	! np_has_failed
}
