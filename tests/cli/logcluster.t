#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod logs of a provisioned cluster, against real sshd: its stacks' words, jobs and pods, merged, filtered, followed.
# scontrol, kubectl, journalctl and systemctl are doubles here (files in $TMP/double), all else is real.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep jq
cd "$TMP" || exit 99
mkdir double logs
SSHD_EXTRA="SetEnv PATH=$TMP/double:$PATH SHLVL=3"
sshd_up 3 || { fail "sshd is up"; done_testing; }
export TZ=UTC
logs() { timeout -k 5 60 "$NANOPOD" logs -F "$SSHD_CONFIG" "$@"; }

# ---- The cluster, as it would be kept ----
NANOPOD_STACKS=$TMP/stacks
export NANOPOD_STACKS
mkdir -p stacks/common stacks/base stacks/slurm stacks/k3s
cat >stacks/base/stack.yaml <<-'END'
	stack: base
	about: nothing
	logs:
	  syslog: {file: /nothing/syslog}
	steps: [{name: look, only-verify: true, help: nothing}]
END
cat >stacks/slurm/stack.yaml <<-END
	stack: slurm
	about: a toy
	roles:
	  controller: {min: 1, max: 1, default: first, help: one}
	  workers: {min: 1, default: rest, help: the rest}
	logs:
	  slurmctld: {role: controller, file: $TMP/logs/slurmctld.log, unit: slurmctld}
	  slurmd: {role: workers, file: $TMP/logs/slurmd.log, unit: slurmd}
	  health: {role: all, unit: health}
	  extra: {role: workers, dir: $TMP/logs/extra}
	  missing: {role: controller, file: $TMP/logs/missing}
	steps: [{name: look, only-verify: true, help: nothing}]
END
cat >stacks/k3s/stack.yaml <<-END
	stack: k3s
	about: a toy
	roles:
	  servers: {min: 1, default: first, help: servers}
	  agents: {min: 0, default: rest, help: the rest}
	logs:
	  k3s: {role: servers, file: $TMP/logs/k3s.log}
	steps: [{name: look, only-verify: true, help: nothing}]
END
for stack in base slurm k3s; do echo "verify() { :; }" >stacks/$stack/look.sh; done
kept=$HOME/.local/state/nanopod/clusters/lab
mkdir -p -m 700 "$kept/logs"
printf 'cluster: lab\nnodes: {from: reservation/lab}\nroles: {controller: n1, workers: "n[2-3]"}\nstacks: {slurm: {}, k3s: {}}\n' >"$kept/cluster.yaml"
printf 'n1\nn2\nn3\n' >"$kept/members"

# ---- Rows ----
cat >logs/slurmctld.log <<-'END'
	[2026-11-21T10:00:01.100] slurmctld version 22.05.8 started on cluster lab
	[2026-11-21T10:00:03.300] error: Nodes n3 not responding
	[2026-11-21T10:00:05.500] fatal: it ends
END
cat >logs/slurmd.log <<-'END'
	[2026-11-21T10:00:02.200] slurmd started
	[2026-11-21T10:00:04.400] error: cannot reach slurmctld
	  and what belongs to it
	[2026-11-21T10:00:06.600] debug: later
END
printf '%s\n' 'time="2026-11-21T10:00:02Z" level=info msg="Starting k3s"' 'E1121 10:00:03.000001       1 main.go:1] klog' >logs/k3s.log
# klog has no year: what it says is of the last twelve months.
day=$(date -u -d '7 days ago' +%F)
klog=E$(date -u -d "$day" +%m%d)
sed -i "s/2026-11-21/$day/; s/E1121/$klog/" logs/*.log
run logs lab slurmctld --no-label
is "$status" 0 "a word of a stack"
is "$out" "$(cat logs/slurmctld.log)" "is the file that it says"
run logs lab slurmd
is "$(cut -d: -f1 "$TMP/.out" | sort | uniq -c | tr -s ' ' | tr '\n' ';')" " 4 n2; 4 n3;" "on the nodes of its role"
run logs lab slurmctld slurmd k3s -o jsonl
is "$(jq -r '[.time[14:23], .node, .what, .priority // "-"] | join(" ")' "$TMP/.out" | grep -v n3 | head -4)" \
	"$(printf '%s\n' '00:01.100 n1 slurmctld -' '00:02.000 n1 k3s 6' '00:02.200 n2 slurmd -' '00:03.000 n1 k3s 3')" "merged by their times, with names and severities"
run logs lab slurmctld slurmd k3s -p err --no-label
is "$(sort -u "$TMP/.out")" "$(printf '%s\n' '  and what belongs to it' "$klog 10:00:03.000001       1 main.go:1] klog" \
	"[${day}T10:00:03.300] error: Nodes n3 not responding" "[${day}T10:00:04.400] error: cannot reach slurmctld" \
	"[${day}T10:00:05.500] fatal: it ends" | sort -u)" "-p: what is that bad in Slurm's, klog's and logrus' ways, and what belongs to it"
run logs lab slurmd --since "${day}T10:00:05Z" --no-label -w n3
is "$out" "[${day}T10:00:06.600] debug: later" "--since leaves out what is older, and -w n3 other nodes"
run logs lab missing
is "$status" 3 "a file that is not there"
like "$err" "n1! '$TMP/logs/missing' is not there" "is said"
run logs lab slurmct
is "$status" 2 "a word that it does not have"
like "$err" "'slurmct' is not a log of cluster 'lab': .*slurmctld, slurmd, .*pod/.*job/ID" "is told which it has"
run logs labb slurmctld
is "$status" 2 "a cluster whose name was mistyped"
like "$err" "did you mean the cluster 'lab'" "is asked for"
run logs lab "$TMP/logs/slurmd.log" --no-label -n 1
is "$(wc -l <"$TMP/.out")" 3 "a path, on all of its nodes"

# ---- The unit's journal where the file is not there (journalctl is a double) ----
cat >double/journalctl <<-END
	#!/bin/sh
	case " \$* " in
	*" -o cat "*) case "\$*" in *slurmctld*) echo there ;; esac ;;
	*"-u slurmctld"*) echo '{"__CURSOR":"c1","__REALTIME_TIMESTAMP":"1795256400000000","PRIORITY":"6","SYSLOG_IDENTIFIER":"slurmctld","MESSAGE":"from the journal"}' ;;
	*"-u broken.service"*) echo '{"__CURSOR":"c2","__REALTIME_TIMESTAMP":"1795256401000000","PRIORITY":"3","SYSLOG_IDENTIFIER":"broken","MESSAGE":"it broke"}' ;;
	esac
END
cat >double/systemctl <<-'END'
	#!/bin/sh
	case "$*" in *--failed*) echo 'broken.service loaded failed failed Broken' ;; esac
END
chmod +x double/*
mv logs/slurmctld.log logs/kept
run logs lab slurmctld
like "$out" '^n1: .*slurmctld: from the journal$' "where the file is not there the unit's journal is read (double: journalctl)"
mv logs/kept logs/slurmctld.log
run logs lab
is "$status" 0 "all of its stacks' logs: what is not there is no failure" || diag "$err"
is "$(sed 's/: .*//' "$TMP/.out" | sort -u | tr '\n' ';')" "n1 k3s;n1 slurmctld;n2 slurmd;n3 slurmd;" "and says nothing"
is "$err" "" "nor on standard error"
run_is 0 "the name of a stack" logs lab slurm
is "$(sed 's/: .*//' "$TMP/.out" | sort -u | tr '\n' ';')" "n1 slurmctld;n2 slurmd;n3 slurmd;" "is all its logs that are there" || diag "$err"
mkdir logs/extra
printf '2026-11-21T10:00:01Z in a folder\n' >logs/extra/a.log
run logs lab extra -w n2 --no-label
is "$out" "2026-11-21T10:00:01Z in a folder" "a folder's files"

# ---- What failed ----
printf '%s\n' '{"seq":1,"time":"2026-11-21T09:00:00.000000Z","event":"end","node":"n2","stack":"slurm","step":"conf","ok":false,"text":"the disk is full","log":"/x/logs/slurm.conf.n2.log","ms":3}' \
	'{"seq":2,"time":"2026-11-21T09:00:00.000000Z","event":"end","node":"n3","stack":"slurm","step":"conf","ok":false,"log":"/x/logs/slurm.conf.n3.log","ms":3}' \
	'{"seq":3,"time":"2026-11-21T09:01:00.000000Z","event":"end","node":"n3","stack":"slurm","step":"conf","ok":true,"log":"/x/logs/slurm.conf.n3.log","ms":3}' >"$kept/journal.jsonl"
printf 'first\nNo space left on device\n' >"$kept/logs/slurm.conf.n2.log"
echo 'mended since' >"$kept/logs/slurm.conf.n3.log"
cat >double/dmesg <<-'END'
	#!/bin/sh
	echo '2026-11-21T10:00:00,000000+00:00 usb 1-1: new device'
	echo '2026-11-21T10:00:01,000000+00:00 NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.'
END
chmod +x double/dmesg
run logs lab --failed
is "$status" 0 "--failed" || diag "$err"
like "$out" '^n2 slurm.conf: No space left on device$' "has the logs of steps that failed last"
like "$out" '^n2 slurm.conf: the disk is full$' "and why"
unlike "$out" 'mended since' "but not of those that were mended"
like "$out" '^n1 failed units: .*broken: it broke$' "the journal of failed units (double: systemctl, journalctl)"
like "$out" '^n3 kernel: .*Xid .*fallen off' "what the kernel says of GPUs (double: dmesg)"
unlike "$out" 'usb' "and nothing else of it"
run logs n1 --failed
is "$status" 2 "--failed is of clusters"
run logs lab --failed slurmd
is "$status" 2 "and takes no logs"

# ---- Jobs (double: scontrol) ----
cat >double/scontrol <<-END
	#!/bin/sh
	case "\$*" in
	*' 12') echo "JobId=12 JobName=x y JobState=RUNNING Reason=None BatchHost=$(hostname -s) WorkDir=$TMP StdErr=$TMP/logs/job 12.out StdIn=/dev/null StdOut=$TMP/logs/job 12.out Power=" ;;
	*' 13') [ -e $TMP/started ] && s=RUNNING h=$(hostname -s) || s=PENDING h='(null)'
		echo "JobId=13 JobState=\$s Reason=Resources BatchHost=\$h StdErr=$TMP/logs/13.err StdOut=$TMP/logs/13.out Power=" ;;
	*' 14') echo "JobId=15 ArrayJobId=14 ArrayTaskId=3 JobState=COMPLETED Reason=None BatchHost=elsewhere StdErr=$TMP/logs/14_3 StdOut=$TMP/logs/14_3 Power="
		echo "JobId=14 ArrayJobId=14 ArrayTaskId=4-9 JobState=PENDING Reason=Resources StdErr=/x StdOut=/x Power=" ;;
	*' 16') echo "JobId=16 JobState=RUNNING Reason=None BatchHost=x WorkDir=/ Power=" ;;
	*) echo 'slurm_load_jobs error: Invalid job id specified'; exit 1 ;;
	esac
END
chmod +x double/scontrol
printf 'epoch 1\nepoch 2\n' >'logs/job 12.out'
printf 'a task\n' >logs/14_3
run logs lab job/12
is "$status $(cut -d' ' -f2- "$TMP/.out" | tr '\n' '|')" "0 job/12: epoch 1|job/12: epoch 2|" "a job's output, from the node that has it (double: scontrol)"
run logs lab job/14 --no-label
is "$out" "a task" "of an array those that began, on a shared folder too"
run logs lab job/13
is "$status" 5 "one that waits has none"
like "$err" "'job/13' is waiting \(Resources\)" "which is said"
run logs lab job/16
is "$status" 3 "one without files"
run logs lab job/99
is "$status" 3 "one that nobody knows"
like "$err" "Invalid job id" "in Slurm's words"
run logs lab job/x
is "$status" 2 "what is no job"
said() { grep -cF "$1" "$TMP/follow.out" >/dev/null; }
"$NANOPOD" logs -F "$SSHD_CONFIG" -f lab job/13 >follow.out 2>follow.err </dev/null &
follower=$!
at_exit "kill $follower 2>/dev/null"
ok "-f waits for one that waits" wait_for 20 grep -q 'is waiting' follow.err
: >started
echo 'out 1' >logs/13.out
ok "and follows it when it begins" wait_for 30 said 'out 1'
echo 'err 1' >logs/13.err
ok "its errors too, though they come later" wait_for 20 said 'err 1'
like "$(cat follow.out)" "job/13 stderr: err 1" "which are told apart"
kill -TERM $follower
wait $follower
is $? 143 "SIGTERM ends it"

# ---- Pods (double: kubectl) ----
cat >double/kubectl <<-END
	#!/bin/sh
	echo "\$*" >>$TMP/kubectl.called
	case "\$*" in *' nothing'*) echo 'Error from server (NotFound): pods "nothing" not found' >&2; exit 1 ;; esac
	case "\$*" in *' -f '*) exec tail -n +1 -f $TMP/logs/pod ;; esac # nothing is lost between what is there and what comes
	cat $TMP/logs/pod
END
chmod +x double/kubectl
printf '%s\n' '2026-11-21T10:00:01.000000001Z one' '2026-11-21T10:00:02.000000001Z level=error two' '2026-11-21T10:00:02.000000001Z two' >logs/pod
run logs lab pod/web/front-0:app --since 2026-11-21T10:00:00Z -n 7
is "$status $out" "0 $(printf 'n1: one\nn1: level=error two\nn1: two')" "a pod's log, without Kubernetes' own times (double: kubectl)"
is "$(cat kubectl.called)" "logs --timestamps -n web -c app --since-time=2026-11-21T10:00:00Z --tail=7 front-0" "by namespace, container and time"
run logs lab pod/front-0 -p err -o jsonl
is "$(jq -r '[.time, .priority, .what, .line] | join("|")' "$TMP/.out")" "2026-11-21T10:00:02.000000Z|3|pod/front-0|level=error two" "filtered"
run logs lab pod/nothing
is "$status" 1 "one that is not there"
like "$err" "n1! Error from server \(NotFound\)" "in kubectl's words"
run logs lab 'pod/-x'
is "$status" 2 "what is no pod"
printf '  web: {pod: web/app=front}\n  kuberay: {pod: ray/deployment/kuberay-operator}\n' >pods
sed -i '/^logs:/r pods' stacks/slurm/stack.yaml
: >kubectl.called
run logs lab web -n all
like "$out" '^n1: one' "all pods with a label, which a stack names"
run logs lab kuberay -n 5
is "$(cat kubectl.called)" "logs --timestamps -n web --tail=-1 --max-log-requests=100 -l app=front
logs --timestamps -n ray --tail=5 deployment/kuberay-operator" "by a selector, or of a deployment"
"$NANOPOD" logs -F "$SSHD_CONFIG" -f lab pod/front-0 >follow.out 2>follow.err </dev/null &
follower=$!
at_exit "kill $follower 2>/dev/null"
ok "-f" wait_for 20 said ': two'
pid=$(pgrep -f "tail -n [+]1 -f $TMP/logs/pod" | head -n 1)
echo '2026-11-21T10:00:03Z three' >>logs/pod
ok "what comes" wait_for 20 said three
kill "$pid" # as a container that ends: kubectl ends too, and says all from that second on when it is asked again
ok "it goes on when the log ended" wait_for 30 grep -q 'since-time=2026-11-21T10:00:03Z.* front-0' kubectl.called
echo '2026-11-21T10:00:04Z four' >>logs/pod
ok "with what is new" wait_for 30 said four
is "$(sed 's/.*: //' follow.out | tr '\n' ' ')" "one level=error two two three four " "and nothing twice"
kill -TERM $follower
wait $follower

# ---- Following a stack through rotation ----
"$NANOPOD" logs -F "$SSHD_CONFIG" -f lab slurmctld slurmd -p err >follow.out 2>follow.err </dev/null &
follower=$!
at_exit "kill $follower 2>/dev/null"
ok "errors of both" wait_for 20 said 'cannot reach slurmctld'
mv logs/slurmctld.log logs/slurmctld.log.1
printf "[${day}T10:01:00.000] all well\n[${day}T10:01:01.000] error: after the rotation\n" >logs/slurmctld.log
ok "over a rotation" wait_for 20 said 'after the rotation'
not_ok "and what is well is left out" said 'all well'
kill -TERM $follower
wait $follower
gone() { ! pgrep -f "nanopod-logs $TMP/logs/" >/dev/null; }
ok "no process stays on the nodes" wait_for 20 gone

done_testing
