# SPDX-License-Identifier: Apache-2.0
# slurmd runs this program every five minutes, before a job and after it (Prolog, Epilog). It drains its own node, and
# undrains it only after its own drain. Around a job it calls no command of Slurm while the node is well, as Slurm asks.

program() {
	cat <<'.'
#!/bin/sh
# Written by nanopod. Is this node well? If not, no new job comes to it and the reason says why.
# Programs in /etc/nanopod-health.d are checks of your own: one that fails says why in its first line.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
why='' gpus=/run/nanopod-healthcheck.gpus
bad() { why="${why:+$why, }$*"; }

for at in / /tmp /var; do
	[ "$(df -Pk "$at" 2>/dev/null | awk 'NR == 2 { print $4 < 102400 ? "full" : "" }')" != full ] || bad "$at is full"
done
[ -w /tmp ] || bad "/tmp cannot be written"
[ ! -d /dev/shm ] || [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 < 16384 ? "full" : "" }')" != full ] || bad "/dev/shm is full"
munge -n 2>/dev/null | unmunge >/dev/null 2>&1 || bad "munge does not work"

# The GPUs that Slurm expects; a driver that hangs does not answer.
if [ -n "${SLURM_JOB_ID-}" ]; then want=$(cat $gpus 2>/dev/null)
else
	want=$(timeout 10 scontrol show node "$SLURMD_NODENAME" 2>/dev/null | sed -n 's/^ *Gres=\(.*\)/\1/p' | tr ',' '\n' | sed -n 's/^gpu:\([^:(]*:\)*\([0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }')
	echo "$want" >$gpus
fi
if [ "${want:-0}" -gt 0 ] && command -v nvidia-smi >/dev/null; then
	have=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU')
	[ "$have" -ge "$want" ] || bad "$have of $want GPUs answer"
fi
[ -z "${want#0}" ] || ! dmesg 2>/dev/null | tail -n 500 | grep -qE 'NVRM: Xid .*: (48|63|64|74|79|94|95|119|120),' || bad "the kernel reports a GPU error (Xid)"
for own in /etc/nanopod-health.d/*; do
	[ -f "$own" ] && [ -x "$own" ] || continue
	said=$(timeout 60 "$own" 2>&1 </dev/null) || bad "$(printf '%s\n' "${said:-${own##*/} fails}" | head -n 1 | cut -c 1-120)"
done
[ -n "$why" ] || [ -z "${SLURM_JOB_ID-}" ] || exit 0

node=${SLURMD_NODENAME:-$(hostname)}
now=$(timeout 10 sinfo -h -n "$node" -o '%T|%E' 2>/dev/null | head -n 1)
case $now in
drain*'|nanopod: '*) [ -n "$why" ] || timeout 10 scontrol update "NodeName=$node" State=RESUME ;;
drain*) ;;
*) [ -z "$why" ] || timeout 10 scontrol update "NodeName=$node" State=DRAIN "Reason=nanopod: $why" ;;
esac
[ -z "$why" ]
.
}

want() {
	np_trace /run/nanopod-healthcheck.gpus
	program | np_file /usr/local/sbin/nanopod-healthcheck 0755 root:root
}

verify() {
	if SLURMD_NODENAME=$NP_HOST timeout 90 /usr/local/sbin/nanopod-healthcheck; then np_ok "the health check finds nothing"
	else np_bad "the health check: $(timeout 10 sinfo -h -n "$NP_HOST" -o '%E' | head -n 1)"
	fi
}
