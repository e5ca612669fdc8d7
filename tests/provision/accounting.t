#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real slurmdbd and MariaDB on fresh nodes, by `nanopod provision`: sacct knows a job, the database's password is nowhere but
# where it belongs. `nanopod logs` of jobs and daemons through rotation and restarts. `nanopod provision upgrade` to packages
# that are a version later, while a job runs. Accounting given up again, and all of it removed. Needs root, an image and packages.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/provision/look.sh"
. "$SRC/tests/provision/newer.sh"
need dpkg-deb

# ---- How far Slurm goes in one step, without nodes --------------------------------------------------------------------
reaches() { sh -c '. "$0"; slurm_reaches "$1" "$2"' "$SRC/stacks/slurm/upgrade.inc" "$@"; }
ok "22.05 to 22.05" reaches 22.05.8-4+deb12u3 22.05.8-4+deb12u4
ok "22.05 to 23.11: two releases" reaches 22.05.8-4 23.11.4-1.2
not_ok "22.05 to 24.05: three" reaches 22.05.8-4 24.05.3-1
ok "23.11 to 24.11" reaches 1:23.11.4 24.11.5-4
ok "24.05 to 25.11: three, which is fine from 24.11 on" reaches 24.05.1 25.11.0
not_ok "23.11 to 25.11: four" reaches 23.11.4 25.11.0
not_ok "nor back" reaches 23.02.1 22.05.8

cluster_repo all
cluster_nodes 2
look_begin
pictures before
newer_repo "$CLUSTER_REPO" "$TMP/newer" +np1 'slurm.*' >"$TMP/newer.log" 2>&1 &
MAKING=$!

provision() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}" </dev/null; }
logs() { "$NANOPOD" logs "$@" "${CLUSTER_WAY[@]}" </dev/null; }
one() { in_node train-1 "$1"; }
# follow FILE WORD…: `nanopod logs lab -f`, until it is ended.
FOLLOWERS=''
follow() {
	follow_file=$1
	shift
	"$NANOPOD" logs lab -f -n all --no-label "$@" "${CLUSTER_WAY[@]}" >"$TMP/$follow_file" 2>"$TMP/$follow_file.err" </dev/null &
	FOLLOWERS="$FOLLOWERS $!"
}
at_exit 'kill $FOLLOWERS 2>/dev/null'
says() { diag "$(one 'sinfo -N -l; squeue -a; tail -n 15 /var/log/slurm/slurm{ctld,dbd}.log' 2>&1)"; }
on_both() { on_nodes "$1" | sort -u; }

# ---- From nothing --------------------------------------------------------------------------------------------------------
FROM=$(date +%s)
run_is 0 "provision with accounting" provision -r train slurm --name lab --role 'workers=train-[1-2]' \
	--set slurm.conf=MinJobAge=10 --airgap "$CLUSTER_REPO" --no-verify -y || { diag "$(tail -c 6000 "$TMP/.out")"; done_testing; }
diag "from nothing: $(($(date +%s) - FROM)) s"
ok "munge: what the controller says is good on the other" in_node_stdin train-2 unmunge < <(one 'munge -n')
FIRST=$(one 'cd /root && sbatch --parsable --wait -N2 -J steps -o /root/%x-%j.log --wrap "srun -l hostname; echo done"')
ok "(a job ran)" test -n "$FIRST" || says
accounted() { one "sacct -X -n -P -j $1 --format=State,NodeList,JobName" | grep -qx "$2"; }
ok "sacct knows it" wait_for 20 accounted "$FIRST" 'COMPLETED|train-\[1-2\]|steps' || diag "$(one 'sacct -a -P')"
is "$(one 'sacctmgr -n -P show cluster format=cluster,controlport')" "lab|6817" "the database has the cluster"
is "$(one 'stat -c "%a %U" /etc/slurm/slurmdbd.conf')" "600 slurm" "its configuration is slurm's alone to read"
one 'sed -n s/^StoragePass=//p /etc/slurm/slurmdbd.conf' >"$TMP.password"
at_exit 'rm -f "$TMP.password"'
ok "(there is a password of some length)" grep -qE '^.{24,}$' "$TMP.password"
run_is 0 "again: nothing to do" provision plan lab --detailed-exitcode || diag "$out"

# ---- Logs ------------------------------------------------------------------------------------------------------------------
run_is 0 "logs of a job that ended" logs lab "job/$FIRST"
is "$(sed 's/.*: //' <<<"$out" | sort | xargs)" "done train-1 train-2" "all that it said, from both nodes" || diag "$out"
# One that runs while slurmctld's log is rotated and Slurm is brought up to date.
JOB=$(one 'cd /root && sbatch --parsable -N2 --wrap "srun sh -c \"until [ -e /run/stop ]; do sleep 0.3; done; echo \\\$(hostname) goes on\" & i=0; until [ -e /run/stop ]; do i=\$((i + 1)); echo tick \$i; sleep 0.5; done; wait; echo end"')
follow job "job/$JOB"
follow controller slurmctld
ok "-f of one that runs" wait_for 30 grep -q 'tick 2' "$TMP/job" || diag "$(cat "$TMP/job.err")"
run_is 0 "and what it said so far" logs lab "job/$JOB" -n 1
like "$out" '^train-[12] job/[0-9]+: tick [0-9]+$' "with its node"
is "$(grep -c . <<<"$out")" 1 "of one line as -n says"
step() { on_nodes "pgrep -f 'slurmstepd: .$JOB[.]0'"; }
tasks() { on_nodes "pgrep -f '^[^ ]*sh -c until'"; } # before they are, a process of the step stands for each
ok "(its step is there)" wait_for 20 tasks || says
STEP=$(step)
one 'mv /var/log/slurm/slurmctld.log /var/log/slurm/slurmctld.log.1; scontrol reconfigure'
has_log() { one 'test -s /var/log/slurm/slurmctld.log'; }
ok "(slurmctld's log is another file)" wait_for 20 has_log
run_is 0 "of a unit, a path and a stack's word, together" logs lab slurmd unit:munge /var/log/slurm/slurmd.log -n 1
is "$(cut -d ' ' -f 1,2 <<<"$out" | sort | tr -d : | xargs)" "train-1 /var/log/slurm/slurmd.log train-1 slurmd train-1 unitmunge train-2 /var/log/slurm/slurmd.log train-2 slurmd train-2 unitmunge" \
	"are told apart, on all nodes that have them"
run_is 0 "by how bad" logs lab slurmd -p err -n all
is "$(grep -vE 'error|fatal' <<<"$out")" "" "only errors" || diag "$out"
run_is 0 "by time, of an hour before" logs lab slurmctld slurmd --until 1h
is "$out" "" "nothing"

# ---- Newer packages ----------------------------------------------------------------------------------------------------------
wait $MAKING
ok "(packages that are a version later)" test -s "$TMP/newer/SHA256SUMS" || diag "$(cat "$TMP/newer.log")"
run_is 0 "upgrade, with nothing newer" provision upgrade lab -y
like "$err" "nothing newer" "says so"
run_is 0 "upgrade --dry-run" provision upgrade lab --airgap "$TMP/newer" --dry-run
like "$err" "upgrade to newer packages of the new package sources" "what it would do"
like "$err" "base/repo +upload packages" "and what comes first"
is "$(on_both "dpkg-query -W -f '\${Version}\n' slurmd" | grep -c np1)" 0 "nothing is done"
NOW=$(date +%s)
run_is 0 "upgrade" provision upgrade lab --airgap "$TMP/newer" -y || { diag "$out" "$err"; says; }
diag "upgrade: $(($(date +%s) - NOW)) s"
like "$err" "train-1 slurm/upgrade: .* to .*np1" "from which to which" || diag "$err"
is "$(on_both "dpkg-query -W -f '\${db:Status-Status} \${Version}\n' 'slurm*' | grep '^installed' | grep -vc '+np1$'")" 0 "all packages of Slurm are new"
since() { in_node "$1" "for u in $2; do systemctl show -p ActiveEnterTimestampMonotonic --value \$u; done"; }
TIMES="$(since train-1 'slurmdbd slurmctld slurmd') $(since train-2 slurmd)"
is "$(tr ' ' '\n' <<<"$TIMES" | xargs)" "$(tr ' ' '\n' <<<"$TIMES" | sort -n | xargs)" "slurmdbd first, then slurmctld, then slurmd there and on the other"
is "$(on_both 'for p in $(pidof slurmdbd slurmctld slurmd); do readlink /proc/$p/exe; done' | grep -c deleted)" 0 "all run what is on the disk"
is "$(step)" "$STEP" "the job's processes are those of before"
is "$(one "squeue -h -j $JOB -o %T")" RUNNING "it runs" || says
run_is 0 "logs since then" logs lab slurmctld --since "@$NOW" -o jsonl
is "$(jq -r --arg t "$(date -u -d "@$NOW" +%FT%T)" 'select(.time < $t) | .line' <<<"$out")" "" "have nothing older"
like "$out" 'Running as primary controller' "and the new start"
on_nodes ': >/run/stop'
ok "the job comes to its end" wait_for 60 accounted "$JOB" 'COMPLETED|.*'
ok "-f has that" wait_for 20 grep -qx 'end' "$TMP/job"
one "cat /root/slurm-$JOB.out" >"$TMP/job.file"
is "$(diff "$TMP/job.file" "$TMP/job" | head -n 5)" "" "and each line of it once"
like "$(cat "$TMP/job")" 'train-2 goes on' "from the other node, too"
one 'cat /var/log/slurm/slurmctld.log.1 /var/log/slurm/slurmctld.log' >"$TMP/controller.file"
caught_up() { tail -n 1 "$TMP/controller.file" | grep -qxF -f - "$TMP/controller"; }
ok "-f of slurmctld goes on" wait_for 20 caught_up
head -n "$(wc -l <"$TMP/controller.file")" "$TMP/controller" >"$TMP/controller.head"
is "$(diff "$TMP/controller.file" "$TMP/controller.head" | head -n 5)" "" "through rotation and restart: each line once"
kill -TERM $FOLLOWERS
wait $FOLLOWERS
FOLLOWERS=''
run_is 0 "upgrade again" provision upgrade lab -y
like "$err" "nothing newer" "has nothing to do"
forgotten() { ! one "scontrol show job $FIRST" >/dev/null; }
ok "(slurmctld has forgotten the first job)" wait_for 100 forgotten
run_is 0 "its output, by what the accounting knows" logs lab "job/$FIRST" --no-label
is "$(sed 's/.*: //' <<<"$out" | sort | xargs)" "done train-1 train-2" "from the file that it was sent away with" || diag "$out" "$err"

# ---- The password ----------------------------------------------------------------------------------------------------------------
look_end
ok "(command lines were looked at: $(wc -l <"$TMP/processes"))" grep -q 'mariadb\|mysql' "$TMP/processes"
is "$(grep -caF -f "$TMP.password" "$TMP/processes")" 0 "the password was in no command line and no environment"
is "$(grep -rlaF -f "$TMP.password" "$TMP" --exclude-dir=m1 2>/dev/null)" "" "in no file of this machine: state, journal, logs, output"
is "$(in_node_stdin train-1 'cat >/dev/shm/p; { grep -rlaF -f /dev/shm/p /etc /var /root /tmp /home /run 2>/dev/null; journalctl -q --no-pager -a 2>/dev/null | grep -cF -f /dev/shm/p | grep -v "^0$"; }; rm /dev/shm/p' <"$TMP.password")" \
	/etc/slurm/slurmdbd.conf "and there in slurmdbd's configuration alone"
is "$(in_node_stdin train-2 'cat >/dev/shm/p; grep -rlaF -f /dev/shm/p /etc /var /root /tmp /home /run 2>/dev/null; rm /dev/shm/p' <"$TMP.password")" "" "nowhere on the other"

# ---- Given up again -----------------------------------------------------------------------------------------------------------------
run provision plan lab --set slurm.accounting=no --detailed-exitcode
is "$status" 10 "accounting: no" || diag "$out" "$err"
like "$out" 'slurm/database +undo' "the plan says that the database goes"
run_is 0 "apply" provision apply lab --set slurm.accounting=no --no-verify -y || { diag "$out" "$err"; says; }
is "$(one "dpkg-query -W -f '\${db:Status-Status} \${Package}\n' 2>/dev/null | grep -E '^installed (mariadb-server|slurmdbd)'; ls -d /var/lib/mysql /etc/slurm/slurmdbd.conf 2>/dev/null; getent passwd mysql")" "" "neither packages nor data of it are left"
like "$out$err" 'left: /var/lib/mysql[.]20[0-9-]+: the accounting' "what jobs there were is set aside, and said where" || diag "$out" "$err"
ok "it is there" one 'ls /var/lib/mysql.20*/slurm_acct_db/*job_table* && rm -rf /var/lib/mysql.20*'
is "$(one 'timeout 60 srun -N2 -n2 hostname | sort | xargs')" "train-1 train-2" "jobs run" || says
ok "slurmctld's log is there, which Debian's slurmdbd takes away" one 'test -s /var/log/slurm/slurmctld.log'
run_is 0 "plan: nothing to do" provision plan lab --detailed-exitcode || diag "$out"

# ---- Removed --------------------------------------------------------------------------------------------------------------------------
run_is 0 "remove" provision remove lab -y || diag "$(tail -c 4000 "$TMP/.out")"
on_nodes 'rm -f /root/slurm-*.out /root/steps-*.log /run/stop' >/dev/null
pictures after
for node in $CLUSTER_NODES; do same_picture before after "$node" "$node is as it was"; done
done_testing
