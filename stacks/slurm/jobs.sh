# SPDX-License-Identifier: Apache-2.0
# Checks the cluster's own view and runs a job on every node, with a timeout, because srun waits for ever on a dead node.

# After a state, "+", "-" and "$" mean: a job ends, one is planned, a maintenance comes. Other signs mark nodes that cannot work.
view() { timeout 10 sinfo -h -N -o '%N %T %E' | sed 's/^\([^ ]* [a-z]*\)[-+$] /\1 /' | sort -u; }
# Nodes that 'nanopod provision drain' drained, which is no failure.
ours='$2 ~ /^(drained|draining|drng)$/ && $3 " " $4 == "nanopod drain"'
drained() { view | awk "$ours { print \$1 }"; }
# Nodes that cannot work. "*": does not answer.
unwell() { view | awk "$ours"' { next } $1 ~ /-spare-[0-9]+$/ && /nanopod autoscale/ { next } $2 !~ /^(idle|mixed|allocated|completing|planned)$/ { print $1 " is " $2 ($3 != "none" ? " (" substr($0, index($0, $3)) ")" : "") }'; }
in_state() { view | awk -v states="^($1)\$" '$2 ~ states { print $1 }'; }
# Do not wait for states that will not change by themselves.
settled() { [ -z "$(unwell | grep -vE ' is (down|drained|draining|drng|fail|failing)( |$)')$(in_state completing)" ]; }

# Prints nodes whose slurmd accepts no connection: Slurm notices after minutes, and a job would hang there.
deaf() {
	port=$(timeout 10 scontrol show config | sed -n 's/^SlurmdPort *= *//p')
	while IFS= read -r host; do np_open "$(np_address "$host")" "${port:-6818}" || echo "$host" & done | sort
}

# Frees nodes from a job of an earlier verify that they could not end, if they have no other job.
let_go() {
	for host in $(in_state completing); do
		[ -z "$(timeout 10 squeue -h -w "$host" -o '%j' | grep -vx 'nanopod-verify\|nanopod-array')" ] || continue
		timeout 10 scontrol update "NodeName=$host" State=DOWN Reason='nanopod: a job of verify did not end' &&
			timeout 10 scontrol update "NodeName=$host" State=RESUME
	done
}

verify() {
	np_rooms || return
	began=$(date +%FT%T)
	np_wait 15 settled || { let_go; np_wait 45 settled; }
	unwell >"$np_room/unwell"
	while IFS= read -r line; do
		np_bad "$line"
		case $line in *' is drain'*|*' is down'*) np_hint "nanopod provision undrain $NP_CLUSTER -w $(np_node_name "${line%% *}")" ;; esac
	done <"$np_room/unwell"
	np_members workers | sort >"$np_room/all"
	missing=$(view | cut -d ' ' -f 1 | sort -u | comm -13 - "$np_room/all" | tr '\n' ' ')
	[ -z "$missing" ] || np_bad "slurmctld does not know $missing"
	drained >"$np_room/drained"
	while IFS= read -r host; do
		np_rests "$host" "drained, as was asked for"
		np_hint "nanopod provision undrain $NP_CLUSTER -w $(np_node_name "$host")"
	done <"$np_room/drained"
	np_has_failed || np_ok "$(comm -23 "$np_room/all" "$np_room/drained" | wc -l) nodes are in service"
	# Test healthy nodes with room; the others were reported above, or are busy.
	in_state 'idle|mixed|planned' | sort -u >"$np_room/well"
	full=$(in_state 'allocated|completing' | tr '\n' ' ')
	[ -z "$full" ] || np_say "not tested, because they are full or still end a job: $full"
	deaf <"$np_room/well" >"$np_room/deaf"
	while IFS= read -r host; do
		np_bad "slurmd of $host does not answer"
		np_hint "nanopod logs $NP_CLUSTER slurmd -w $(np_node_name "$host")"
	done <"$np_room/deaf"
	comm -23 "$np_room/well" "$np_room/deaf" >"$np_room/hears" && mv "$np_room/hears" "$np_room/well"
	[ -s "$np_room/well" ] || return 0
	for partition in $(timeout 10 scontrol -o show partition | sed -n 's/^PartitionName=\([^ ]*\) .*/\1/p'); do
		one "$partition" || return 1
	done
	array && gpus && accounted
}

# Checks that the database has the test jobs, too.
accounted() {
	[ "${S_accounting:-yes}" = yes ] || return 0
	if np_wait 20 in_account; then np_ok "sacct knows the jobs"; else np_bad "sacct does not know that jobs were run"; np_hint "nanopod logs $NP_CLUSTER slurmdbd"; fi
}
in_account() { [ "$(timeout 10 sacct -X -n -P -S "$began" --name=nanopod-array --format=State 2>/dev/null | grep -c COMPLETED)" -ge 4 ]; }

# One task on each healthy node of a partition.
one() {
	timeout 10 sinfo -h -N -p "$1" -o %N | sort -u | comm -12 - "$np_room/well" >"$np_room/nodes"
	count=$(wc -l <"$np_room/nodes")
	[ "$count" -gt 0 ] || return 0
	said=$(timeout 40 srun -p "$1" -N "$count" -w "$(slurm_list <"$np_room/nodes")" --ntasks-per-node=1 --mem=16 -t 1 --immediate=20 -D / -J nanopod-verify hostname 2>"$np_room/srun")
	status=$?
	if [ $status = 0 ] && [ "$(printf '%s\n' "$said" | sort | cut -d . -f 1)" = "$(cut -d . -f 1 "$np_room/nodes")" ]; then
		np_ok "srun -N$count in partition '$1'"
	else
		printf '%s\n' "$said"
		cat "$np_room/srun"
		case $(cat "$np_room/srun") in
		*"allocation failure"*|*immediate*) np_bad "no room for a job on all $count nodes of partition '$1' within 20 s: are they busy?" ;;
		*) np_bad "srun -N$count in partition '$1': $(grep -v 'queued and waiting\|has been allocated' "$np_room/srun" | tail -n 1)$([ $status != 124 ] || echo ' no end within 40 s')" ;;
		esac
		np_hint "nanopod logs $NP_CLUSTER slurmd"
	fi
	scancel -n nanopod-verify 2>/dev/null
	! np_has_failed
}

# 'sbatch --wait' would poll only every two or three seconds.
array() {
	if job=$(printf '#!/bin/sh\nexit 0\n' | timeout 20 sbatch --parsable --array=0-3 --mem=16 -t 1 -D / -o /dev/null -J nanopod-array 2>"$np_room/sbatch") &&
		np_wait 40 array_over && [ "$(array_states | grep -c '^COMPLETED$')" = 4 ]; then np_ok "sbatch --array=0-3"
	else
		cat "$np_room/sbatch"
		scancel -n nanopod-array 2>/dev/null
		np_bad "sbatch --array=0-3: $(grep -v '^Submitted' "$np_room/sbatch" | tail -n 1 | grep . || echo 'no end within 40 s') $(unwell | head -n 1)"
		np_hint "nanopod logs $NP_CLUSTER slurmd"
	fi
}

array_states() { timeout 10 scontrol -o show job "${job%%;*}" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p'; }
array_over() { [ -n "$(array_states)" ] && ! array_states | grep -qE '^(PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED)$'; }

# One job for all GPUs of each node: counts those named in its environment.
gpus() {
	slurm_know
	printf '%s\n' "$slurm_lines" | sed -n 's/^NodeName=\([^ ]*\) .* Gres=\([^ ]*\) .*/\1 \2/p' >"$np_room/gres"
	while read -r host gres; do
		grep -qxF "$host" "$np_room/well" || continue
		want=$(printf '%s\n' "$gres" | tr ',' '\n' | awk -F : '{ n += $NF } END { print n }')
		partition=$(timeout 10 sinfo -h -n "$host" -o %R | head -n 1)
		# shellcheck disable=SC2016
		got=$(timeout 40 srun -p "$partition" -w "$host" -N 1 -n 1 --gres="$gres" --mem=16 -t 1 --immediate=20 -D / -J nanopod-verify sh -c 'echo "${CUDA_VISIBLE_DEVICES:-${ROCR_VISIBLE_DEVICES:-$ZE_AFFINITY_MASK}}"' 2>/dev/null </dev/null | tr ',' '\n' | grep -c .)
		if [ "$got" = "$want" ]; then np_ok "$host: a job gets its $want GPUs"; else np_bad "$host: a job gets $got of $want GPUs"; fi
	done <"$np_room/gres"
}
