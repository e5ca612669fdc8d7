#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When the health check of Slurm's workers drains a node and takes it back, with doubles of Slurm's commands: a controller
# that does not answer, munge that ends, checks that hang. tests/stacks/slurm-ns.t has the real ones.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$TMP/bin" "$TMP/run" "$TMP/kept" "$TMP/own"
# The node: "idle|none". Slurm's commands fail where $TMP/away is.
cat >"$TMP/bin/sinfo" <<END
#!/bin/sh
[ ! -e $TMP/away ] && cat $TMP/node
END
cat >"$TMP/bin/scontrol" <<END
#!/bin/sh
[ ! -e $TMP/away ] || exit 1
case \$1 in show) echo "   Gres=gpu:h100:2(S:0)"; exit ;; esac
echo "\$3 \${4-}" >>$TMP/told
case \$3 in State=RESUME) echo 'idle|none' ;; *) echo "drained|\${4#Reason=}" ;; esac >$TMP/node
END
echo '#!/bin/sh' | tee "$TMP/bin/munge" "$TMP/bin/unmunge" "$TMP/bin/dmesg" >/dev/null
printf '#!/bin/sh\necho "GPU 0: H100"\necho "GPU 1: H100"\n' >"$TMP/bin/nvidia-smi"
printf '#!/bin/sh\necho Filesystem\necho "/dev/sda 9000000 1 8000000 1%% /"\n' >"$TMP/bin/df"
chmod 755 "$TMP/bin/"*
{ cat "$SRC/stacks/slurm/health.sh"; echo program; } | sh |
	sed "s,^PATH=,&$TMP/bin:,; s,/run/nanopod,$TMP/run/nanopod,g; s,/var/lib/nanopod,$TMP/kept,g; s,/etc/nanopod-health.d,$TMP/own,; s/^limit=20/limit=\${LIMIT:-20}/" >"$TMP/check"
[ -s "$TMP/check" ] || { ok "(the program is there)" false; done_testing; }

# look [JOB]: what slurmd does every five minutes, or around a job. Its exit status, what it told Slurm and the node.
look() { rm -f "$TMP/told"; SLURMD_NODENAME=n1 SLURM_JOB_ID=${1-} sh "$TMP/check" 2>"$TMP/err"; echo "$? $(cat "$TMP/told" 2>/dev/null)/$(cat "$TMP/node")"; }
check() { cat >"$TMP/own/$1"; chmod 755 "$TMP/own/$1"; }
node() { echo "$1" >"$TMP/node"; }
boot() { rm -rf "$TMP/run/"*; }

node 'idle|none'
is "$(look)" "0 /idle|none" "a node that is well"
is "$(look 7)" "0 /idle|none" "and before a job"
printf '#!/bin/sh\necho disk sdb fails\nexit 1\n' | check disk
is "$(look)" "1 State=DRAIN Reason=nanopod: disk sdb fails/drained|nanopod: disk sdb fails" "one that is not"
rm "$TMP/own/disk"
is "$(look)" "0 State=RESUME /idle|none" "comes back"

# ---- munge ends, the controller does not answer ----
printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/unmunge"
touch "$TMP/away"
is "$(look)" "1 /idle|none" "without munge the check in intervals fails"
is "$(look 7)" "0 /idle|none" "and the one around a job does not, or Slurm would drain the node"
echo '#!/bin/sh' >"$TMP/bin/unmunge"
printf '#!/bin/sh\necho disk sdb fails\nexit 1\n' | check disk
for reason in Prolog Epilog; do
	touch "$TMP/away"
	node 'idle|none'
	is "$(look 7)" "1 /idle|none" "a sick node whose controller does not answer"
	rm "$TMP/away"
	node "draining|$reason error"
	is "$(look)" "1 State=DRAIN Reason=nanopod: disk sdb fails/drained|nanopod: disk sdb fails" "'$reason error' of Slurm's gets its reason"
	node "drained|$reason error"
	rm "$TMP/own/disk"
	is "$(look)" "0 State=RESUME /idle|none" "and is taken back once the node is well"
	node "drained|$reason error"
	is "$(look)" "0 /drained|$reason error" "which '$reason error' of a program of one's own is not"
	node 'idle|none'
	printf '#!/bin/sh\necho disk sdb fails\nexit 1\n' | check disk
	touch "$TMP/away"
	look 7 >"$TMP/looked"
	rm "$TMP/away" "$TMP/own/disk"
	node "drained|$reason error"
	boot
	is "$(look)" "0 State=RESUME /idle|none" "a node that a reboot mends comes back with it"
	node "drained*|nanopod: disk sdb fails"
	boot
	is "$(look)" "0 State=RESUME /idle|none" "so does one that the check drained itself"
	node "drained|$reason error"
	boot
	is "$(look)" "0 /drained|$reason error" "and not one with a failure of a program of one's own"
	printf '#!/bin/sh\necho disk sdb fails\nexit 1\n' | check disk
done
rm "$TMP/own/disk"
node 'drained|mine'
is "$(look)" "0 /drained|mine" "what a person drained stays drained"

# ---- What hangs ----
# A grandchild that holds its output, too. With less time, as it is waited for; what does not hang has to end in that.
export LIMIT=4
node 'idle|none'
printf '#!/bin/sh\n(sleep 600) &\nwait\n' | check links
is "$(look)" "1 State=DRAIN Reason=nanopod: links does not end in time/drained|nanopod: links does not end in time" "a check that hangs"
printf '#!/bin/sh\nexit 0\n' | check more
node 'idle|none'
like "$(look)" 'Reason=nanopod: links does not end in time, no time is left for more/' "all of them have one deadline"
rm "$TMP/own/"*
printf '#!/bin/sh\nsleep 600\n' >"$TMP/bin/nvidia-smi"
node 'idle|none'
is "$(look)" "1 State=DRAIN Reason=nanopod: 0 of 2 GPUs answer/drained|nanopod: 0 of 2 GPUs answer" "a driver that hangs"
unset LIMIT
printf '#!/bin/sh\necho "GPU 0: H100"\n' >"$TMP/bin/nvidia-smi"
node 'idle|none'
like "$(look 7)" '^1 .*nanopod: 1 of 2 GPUs answer' "before a job, too"
printf '#!/bin/sh\necho Filesystem\necho "/dev/sda 9000000 1 8000 1%% /"\necho "/dev/sda 9000000 1 8000 1%% /"\necho "shm 9000000 1 17000 1%% /dev/shm"\n' >"$TMP/bin/df"
echo '#!/bin/sh' >"$TMP/bin/nvidia-smi"
node 'idle|none'
like "$(look)" 'nanopod: / is full, 0 of 2 GPUs answer$' "a file system that is full is named once"
left() { (cd "$TMP" && find run kept -type f | sort | tr '\n' ' '); }
is "$(left)" "kept/slurm-health.failed run/nanopod-healthcheck/gpus " "nothing is left behind"

# ---- slurmd ends, with all that it has started ----
sed 's/^limit=.*/limit=600/' "$TMP/check" >"$TMP/slow"
printf '#!/bin/sh\n: >%s\nexec sleep 600\n' "$TMP/began" | check slow
SLURMD_NODENAME=n1 setsid sh "$TMP/slow" >/dev/null 2>&1 &
session=$!
ok "(a check runs)" wait_for 60 test -e "$TMP/began"
pkill -TERM -s $session # timeout has a process group of its own
ended() { ! pgrep -s $session >/dev/null; }
ok "all of it ends" wait_for 60 ended
pkill -KILL -s $session
is "$(left)" "kept/slurm-health.failed run/nanopod-healthcheck/gpus " "a check that is ended with slurmd leaves nothing behind, either"
done_testing
