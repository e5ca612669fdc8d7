# SPDX-License-Identifier: Apache-2.0
# slurmd runs this program every five minutes, before a job and after it (Prolog, Epilog). It drains its own node, and
# undrains it only after its own drain. Around a job it calls no command of Slurm while the node is well, as Slurm asks.

program() {
	cat <<'.'
#!/bin/sh
# Written by nanopod. Is this node well? If not, no new job comes to it and the reason says why.
# Programs in /etc/nanopod-health.d are checks of your own: one that fails says why in its first line.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
why='' job=${SLURM_JOB_ID-} node=${SLURMD_NODENAME:-$(hostname)}
run=/run/nanopod-healthcheck failed=/var/lib/nanopod/slurm-health.failed gpus=$run/gpus said=$run/$$
limit=20 # seconds for the GPUs, and for all checks of your own: slurmd ends this program after 60
trap 'rm -f "$said"' EXIT
trap 'exit 1' TERM INT HUP # of slurmd, which ends; what SIGKILL leaves is in that folder
mkdir -p $run || exit 1
bad() { why="${why:+$why, }$*"; }
tell() { timeout -s KILL 7 scontrol update "NodeName=$node" "$@"; }
# within SECONDS COMMAND…: what it says is in $said. Whoever waits for a broken device may outlive even SIGKILL: he is left behind.
within() { { timeout -s KILL "$@" >"$said" 2>&1 </dev/null; } 2>/dev/null; }
uptime() { read -r up _ </proc/uptime && echo "${up%%.*}"; }

within 5 df -Pk / /tmp /var /dev/shm
if [ $? -ge 124 ]; then bad "a file system does not answer"
else
	for at in $(awk 'NR > 1 && $6 ~ "^/" && $4 < ($6 == "/dev/shm" ? 16384 : 102400) && !seen[$6]++ { print $6 }' "$said"); do bad "$at is full"; done
	[ -w /tmp ] || bad "/tmp cannot be written"
fi
# No job comes to a node without munge, and its end is no reason to drain the node: munge may come back.
[ -n "$job" ] || within 5 sh -c 'munge -n | unmunge' || bad "munge does not work"

# The GPUs that Slurm expects; a driver that hangs does not answer.
if [ -z "$job" ] && within 5 scontrol show node "$node"; then
	want=$(sed -n 's/^ *Gres=\(.*\)/\1/p' "$said" | tr ',' '\n' | sed -n 's/^gpu:\([^:(]*:\)*\([0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }')
	echo "$want" >$gpus
else want=$(cat $gpus 2>/dev/null)
fi
if [ "${want:-0}" -gt 0 ] && command -v nvidia-smi >/dev/null; then
	within $limit nvidia-smi -L
	have=$(grep -c '^GPU' "$said")
	[ "$have" -ge "$want" ] || bad "$have of $want GPUs answer"
fi
[ -z "${want#0}" ] || ! dmesg 2>/dev/null | tail -n 500 | grep -qE 'NVRM: Xid .*: (48|63|64|74|79|94|95|119|120),' || bad "the kernel reports a GPU error (Xid)"
end=$(($(uptime) + limit))
for own in /etc/nanopod-health.d/*; do
	[ -f "$own" ] && [ -x "$own" ] || continue
	left=$((end - $(uptime)))
	[ $left -gt 0 ] || { bad "no time is left for ${own##*/}"; break; }
	within $left "$own"
	case $? in
	0) ;;
	137) bad "${own##*/} does not end in time" ;;
	*) line=$(head -n 1 "$said" | cut -c 1-120); bad "${line:-${own##*/} fails}" ;;
	esac
done
if [ -n "$job" ]; then
	[ -n "$why" ] || exit 0
	: >$failed
fi

now=$(timeout -s KILL 7 sinfo -h -n "$node" -o '%T|%E' 2>/dev/null | head -n 1)
case $now in
drain*'|nanopod: '*) [ -n "$why" ] || tell State=RESUME ;;
drain*'|Prolog error'|drain*'|Epilog error')
	# Slurm's reason for a failure of this program, which could not tell its own in time. Not of a program of yours.
	if [ ! -e $failed ]; then :
	elif [ -n "$why" ]; then tell State=DRAIN "Reason=nanopod: $why"
	else tell State=RESUME && rm -f $failed
	fi ;;
drain*) ;;
*) [ -z "$why" ] || tell State=DRAIN "Reason=nanopod: $why" ;;
esac
[ -z "$why" ]
.
}

want() {
	np_trace /run/nanopod-healthcheck "$NP_STATE/slurm-health.failed"
	program | np_file /usr/local/sbin/nanopod-healthcheck 0755 root:root
}

verify() {
	if SLURMD_NODENAME=$NP_HOST timeout 60 /usr/local/sbin/nanopod-healthcheck; then np_ok "the health check finds nothing"
	else np_bad "the health check: $(timeout 10 sinfo -h -n "$NP_HOST" -o '%E' | head -n 1)"
	fi
}
