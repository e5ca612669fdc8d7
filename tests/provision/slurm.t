#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real Slurm on fresh nodes by `nanopod provision`, as a person types it: from nothing to a job on all, again, a node more,
# a node less, broken and mended, cut off at any moment and gone on with, removed: then each node is as it was. Its secret
# is looked for everywhere that it must not be. Needs root, an image and packages (tests/lib/cluster.sh says where from).
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} KILLS=${TEST_KILLS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/provision/look.sh"
"$NANOPOD" provision --help >/dev/null 2>&1 || skip_all "this nanopod has no 'provision'"
cluster_repo slurm
cluster_nodes 3
# A build with a sanitizer is some times slower: it is cut off at fewer places.
if grep -qs -- --enable-dev "$BUILD/config.status"; then : "${KILLS:=2}"; else : "${KILLS:=5}"; fi

provision() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}"; }
SLURM=(-r train slurm --name train --set slurm.accounting=no --role 'workers=train-[1-3]' --airgap "$CLUSTER_REPO")
ms() { echo $(($(date +%s%N) / 1000000)); }
# What srun says while it waits for a node that has just come back is no part of what the job says.
srun() { in_node train-1 "timeout 180 srun -N$1 -n$1 hostname 2>/tmp/srun.said >/tmp/srun.out || cat /tmp/srun.said >>/tmp/srun.out; sort /tmp/srun.out | xargs; rm -f /tmp/srun.said /tmp/srun.out"; }
# As a dpkg leaves it that was killed while it unpacked: it neither configures nor removes that package any more.
torn() { in_node "$1" "sed -i '/^Package: $2\$/,/^\$/s/^Status: .*/Status: install reinstreq $3/' /var/lib/dpkg/status; dpkg-query -W -f '\${db:Status-Abbrev}' $2"; }
# And its notes, with which apt-get does nothing.
noted() { in_node "$1" "dpkg -s $2 >/var/lib/dpkg/updates/0000; apt-get check 2>&1 | grep -c 'dpkg was interrupted'"; }
slurm_says() { diag "$(in_node train-1 'sinfo -N -l; sinfo -R; squeue -a; tail -n 20 /var/log/slurm/slurmctld.log' 2>&1)"; }
all() { seq -s ' ' -f 'train-%g' "$1"; }

look_begin
pictures before

# ---- From nothing -----------------------------------------------------------------------------------------------------
run provision plan "${SLURM[@]}" --detailed-exitcode
is "$status" 10 "plan: there is something to do" || diag "$out" "$err"
like "$out" 'slurmctld' "it says what"
pictures planned
for node in $CLUSTER_NODES; do same_picture before planned "$node" "plan: $node is as it was"; done
# On one an earlier run was killed as its useradd had written one file of two.
is "$(in_node train-3 'mkdir -p /var/lib/nanopod/steps /var/lib/nanopod/undo && cd /var/lib/nanopod && echo begun train >steps/slurm.users &&
	printf "users\tgroup\tmunge\nusers\tuser\tmunge\n" >undo/slurm && groupadd -r -g 985 munge && useradd -r -M -u 985 -g munge -d /nonexistent munge &&
	sed -i /^munge:/d /etc/shadow; su -s /bin/sh munge -c true 2>&1')" "su: Authentication failure" "(a user is torn)"
FROM=$(ms)
run_is 0 "provision: Slurm, from nothing" provision "${SLURM[@]}" -y || { diag "$(tail -c 6000 "$TMP/.out")"; done_testing; }
FIRST=$(($(ms) - FROM))
like "$out$err" "next: nanopod ssh train-1 sinfo" "it says how to begin"
diag "from nothing: $FIRST ms"
is "$(srun 3)" "$(all 3)" "srun over all"
KEY=$TMP/munge.key
in_node train-1 'cat /etc/munge/munge.key' >"$KEY"
ok "(it has a munge key of some length)" test "$(stat -c %s "$KEY")" -ge 32
is "$(on_nodes 'sha256sum </etc/munge/munge.key' | sort -u | wc -l)" 1 "which is the same on all"
is "$(on_nodes 'stat -c "%a %U" /etc/munge/munge.key' | sort -u)" "400 munge" "and munge's alone to read"
run_is 0 "verify" provision verify train
run provision status train
is "$status" 0 "status" || diag "$out" "$err"
like "$out" 'slurm' "tells of it"

# ---- Again ---------------------------------------------------------------------------------------------------------------
pictures done
pids() { on_nodes 'for u in munge slurmd slurmctld; do systemctl show -p MainPID --value $u; done'; }
PIDS=$(pids)
FROM=$(ms)
run_is 0 "again" provision "${SLURM[@]}" -y
diag "again: $(($(ms) - FROM)) ms for 3 nodes"
FROM=$(ms)
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode
AGAIN=$(($(ms) - FROM))
# On a machine that does much else, the quickest of some.
for ((i = 1; i <= 9 && AGAIN >= 4000; i++)); do
	FROM=$(ms)
	provision plan train >/dev/null 2>&1
	AT=$(($(ms) - FROM))
	[ $AT -ge $AGAIN ] || AGAIN=$AT
done
diag "plan again: $AGAIN ms for 3 nodes, $((AGAIN / 3)) ms a node"
ok "within a second a node, and a second" test $AGAIN -lt 4000
is "$(pids)" "$PIDS" "nothing was restarted"
pictures again
# Slurm writes down its jobs when it likes.
sed -i '/ \/var\/lib\/slurm\/slurmctld\//d' "$TMP"/done.* "$TMP"/again.*
for node in $CLUSTER_NODES; do same_picture done again "$node" "$node: nothing changed"; done

# ---- A node more, a node less ----------------------------------------------------------------------------------------------
cluster_more 1
listen train-4
pictures before train-4
run_is 0 "add" provision add train -w train-4 --role workers -y
is "$(srun 4)" "$(all 4)" "a job runs on it, too"
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode
run_is 0 "a partition with it alone" provision apply train --set slurm.partitions.all.nodes=workers --set slurm.partitions.long.nodes=train-4 -y || diag "$out" "$err"
like "$(in_node train-1 'sinfo -h -p long -o %N')" "^train-4$" "it is there"
run provision drop train -w train-4 -y
is "$status" 5 "drop: not whom a partition is of"
like "$out$err" "partition 'long': 'train-4' is no worker" "which is told"
idles() { [ "$(in_node train-1 'sinfo -h -n train-4 -o %T | sort -u')" = idle ]; }
ok "and it goes on there" wait_for 30 idles || slurm_says
run_is 0 "a partition with one more" provision apply train --set slurm.partitions.long.nodes='train-[3-4]' -y || diag "$out" "$err"
like "$(in_node train-1 'sinfo -h -p long -o %N')" "^train-\\[3-4\\]$" "has both"
run_is 0 "drop" provision drop train -w train-4 -y || diag "$out" "$err"
like "$(in_node train-1 'sinfo -h -p long -o %N')" "^train-3$" "one is left in that partition"
pictures after train-4
same_picture before after train-4 "train-4 is as it was"
unlike "$(in_node train-1 'sinfo -h -N -o %n')" 'train-4' "Slurm knows it no more"
is "$(srun 3)" "$(all 3)" "a job runs on the others"
run provision "${SLURM[@]}" --dry-run
like "$err" "not in the cluster 'train': train-4; 'nanopod provision add'" "a node of the reservation that is not in the cluster is told"

run provision plan train --set slurm.partitions.long.nodes=wrkers
isnt "$status" 0 "a partition of nobody is not planned"
like "$out$err" "partition 'long': 'wrkers' is no worker" "which is said"

# ---- Out of work, on purpose -------------------------------------------------------------------------------------------------
run_is 0 "drain" provision drain train -w train-2
like "$(in_node train-1 'sinfo -h -n train-2 -o "%T %E" | head -n 1')" '^drained nanopod drain' "Slurm gives it no jobs"
run_is 0 "verify: that is no fault" provision verify train || diag "$out" "$err"
like "$out$err" "train-2 slurm/jobs: drained, as was asked for" "but is said"
like "$out$err" "undrain train -w train-2" "and how it ends"
run_is 0 "status" provision status train -o csv
like "$out" '^"?train-2"?,"?resting' "train-2 rests"
like "$out" '^"?train-3"?,"?ready' "the others do not"
run_is 0 "undrain" provision undrain train -w train-2
is "$(srun 3)" "$(all 3)" "a job runs on all again"

# ---- A unit that dies and is started again ---------------------------------------------------------------------------------
mkdir "$TMP/flap"
printf 'steps:\n  - {name: one}\n' >"$TMP/flap/stack.yaml"
printf 'verify() { np_hold 4 flap; }\nyoung() { np_say "lacks $(np_young "$2" "$1")"; }\n' >"$TMP/flap/one.sh"
flap() { sh "$SRC/tests/stacks/step.sh" "$1" "$TMP/flap" one -- "${@:2}" | in_node_stdin train-3 'sh -s' | tr '\036\t' '  '; }
in_node train-3 'printf "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep 1\nRestart=always\nRestartSec=0\n[Install]\nWantedBy=multi-user.target\n" >/etc/systemd/system/flap.service
	systemctl -q enable --now flap' 2>/dev/null
like "$(flap verify)" 'NP bad started again within [1-4] s: flap' "is no unit that runs"
like "$(flap young munge 2)" 'NP say lacks 0' "one that has run for long is not waited for"
in_node train-3 'systemctl restart munge' 2>/dev/null
like "$(flap young munge 3600)" 'NP say lacks [1-9][0-9]*' "one that has not is"
in_node train-3 'systemctl -q disable --now flap; rm /etc/systemd/system/flap.service; systemctl daemon-reload' 2>/dev/null

# One that says why by syslog and is gone before the journal asks whose process that was.
# shellcheck disable=SC2016
printf 'young() { np_say "heard $(np_unit_log "$1" | xargs)"; }\n' >"$TMP/flap/one.sh"
in_node train-3 'logger -t brief "error: no process of the unit said this"; setpriv --reuid 1000 logger -t brief "nor did this user"' 2>/dev/null
like "$(flap young brief)" 'NP say heard error: no process of the unit said this$' "a unit's last words are heard though it is gone"

# One that hangs while it starts, mended: systemd would wait for the start that hangs.
# shellcheck disable=SC2016
echo 'want() { printf "[Service]\nType=exec\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n" | np_file /etc/systemd/system/slow.service 0644 root:root; np_unit slow; }' >"$TMP/flap/two.sh"
slow() { sh "$SRC/tests/stacks/step.sh" "$1" "$TMP/flap" two | in_node_stdin train-3 'sh -s' | tr '\036\t' '  '; }
in_node train-3 'printf "[Service]\nType=notify\nTimeoutStartSec=500\nExecStart=/bin/sleep 1001\n[Install]\nWantedBy=multi-user.target\n" >/etc/systemd/system/slow.service
	systemctl -q enable slow; systemctl start --no-block slow' 2>/dev/null
is "$(in_node train-3 'systemctl is-active slow')" "activating" "(a unit hangs while it starts)"
FROM=$(ms)
like "$(slow apply)" 'NP did start slow' "its file mended: it is started anew"
ok "without waiting for that" test $(($(ms) - FROM)) -lt 200000
in_node train-3 'systemctl -q disable --now slow; rm -f /etc/systemd/system/slow.service; systemctl daemon-reload; rm -rf /var/lib/nanopod/undo/flap* /var/lib/nanopod/steps/flap*' 2>/dev/null

# ---- A setting that Slurm cannot read ---------------------------------------------------------------------------------------
run provision apply train --set slurm.conf=NoSuchThing=1 -y
isnt "$status" 0 "a word that Slurm does not know in slurm.conf"
like "$out$err" "cause .*Parsing error at unrecognized key: NoSuchThing" "is told as the cause"
like "$out$err" "slurmctld runs with its old configuration again" "and taken back"
is "$(srun 3)" "$(all 3)" "jobs go on" || slurm_says
run provision plan train --detailed-exitcode
is "$status" 10 "the plan still has it" || diag "$out" "$err"
run provision apply train --set slurm.conf='PartitionName=odd Nodes=nobody' -y
isnt "$status" 0 "nodes that Slurm does not know, which it finds out later"
like "$out$err" "cause .*(nobody|odd)" "are told as the cause"
is "$(srun 3)" "$(all 3)" "jobs go on" || slurm_says
run_is 0 "apply, without it" provision apply train --set slurm.conf= -y || diag "$out" "$err"
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode
is "$(srun 3)" "$(all 3)" "a job runs on all"

# ---- A firewall between ---------------------------------------------------------------------------------------------------------
there=$(in_node train-1 'hostname -I' | awk '{ print $1 }')
in_node train-3 "systemctl stop slurmd; ip route add unreachable $there/32" 2>/dev/null
run provision apply train -y
isnt "$status" 0 "a worker that does not reach the controller"
like "$out$err" "port 6817 of 'train-1', where slurmctld is, cannot be reached from here" "says so"
in_node train-3 "ip route del unreachable $there/32"
run_is 0 "and is mended when it does" provision apply train -y || slurm_says

# ---- Broken and mended ---------------------------------------------------------------------------------------------------------
# Killed for good on one, where a package and its user are torn, too; scribbled over on another; gone from the third.
is "$(torn train-1 munge unpacked)" iUR "(a package is torn)"
is "$(in_node train-1 "sed -i /^munge:/d /etc/shadow; su -s /bin/sh munge -c true 2>&1")" "su: Authentication failure" "(a user is torn)"
in_node train-1 'systemctl disable -q --now slurmd'
in_node train-2 'for f in /etc/default/slurmd /etc/slurm/slurm.conf; do [ ! -e $f ] || echo "scribble $$" >$f; done; head -c 1024 /dev/urandom >/etc/munge/munge.key; systemctl restart munge slurmd' 2>/dev/null
in_node train-3 'DEBIAN_FRONTEND=noninteractive apt-get -q -y purge slurmd; userdel -f slurm' >/dev/null 2>&1
is "$(noted train-3 libmunge2)" 1 "(dpkg was interrupted)"
run provision plan train --detailed-exitcode
is "$status" 10 "plan sees what was broken" || diag "$out" "$err"
for node in $CLUSTER_NODES; do [ "$node" = train-4 ] || like "$out" "$node|train-\[" "on $node"; done
run provision verify train
isnt "$status" 0 "verify fails" || diag "$out"
like "$out$err" "slurmd of train-1 does not answer" "and says whose slurmd is deaf"
run_is 0 "apply mends it" provision apply train -y || slurm_says
is "$(srun 3)" "$(all 3)" "a job runs on all" || slurm_says
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode

# ---- Removed -----------------------------------------------------------------------------------------------------------------------
BEFORE='train-1 train-2 train-3'
if [ -x "${PTY:=$BUILD/tests/lib/pty}" ]; then
	in_node train-1 'sbatch -D /tmp -o /dev/null -J long --wrap="sleep 600"' >/dev/null
	printf 'expect Remove it?\nsend n\\n\n' >"$TMP/no"
	run "$PTY" "$TMP/no" "$NANOPOD" provision remove train "${CLUSTER_WAY[@]}"
	like "$out$err" "1 job goes with it: [0-9]+ of root \\([A-Z]+\\)" "remove says what runs, before it asks"
	is "$(in_node train-1 'squeue -h -o %j')" "long" "and takes no for an answer"
	in_node train-1 'scancel -n long'
fi
is "$(torn train-2 slurm-client half-installed)" iHR "(a package is torn)"
is "$(noted train-1 libmunge2)" 1 "(dpkg was interrupted)"
# As a killed groupadd leaves /etc; and what somebody put there himself.
in_node train-3 "sh -c 'printf \"%d\\0\" \$\$ >/etc/group.\$\$'; cp /etc/group /etc/group.20260101"
is "$(in_node train-3 'ls /etc/group.* | wc -l')" 2 "(a killed groupadd has left a file)"
run_is 0 "remove" provision remove train -y || diag "$(tail -c 4000 "$TMP/.out")"
diag "$(printf '%s\n' "$out" "$err" | tail -n 5)"
is "$(in_node train-3 'ls /etc/group.*; rm -f /etc/group.20260101')" "/etc/group.20260101" "what it left is gone, what somebody put there is not"
pictures after $BEFORE
for node in $BEFORE; do same_picture before after "$node" "$node is as it was"; done
CLUSTER_NODES=$BEFORE

# ---- Cut off ----------------------------------------------------------------------------------------------------------------------
# kill -9 at random moments, each time going on with what is there.
RANDOM=$$
diag "kill -9: seed $$"
for ((i = 1; i <= KILLS; i++)); do
	at=$((800 + RANDOM % (FIRST / 4 + 1)))
	provision "${SLURM[@]}" -y >"$TMP/killed.$i" 2>&1 </dev/null &
	pid=$!
	sleep "$((at / 1000)).$(printf %03d $((at % 1000)))"
	pkill -9 -P "$pid" 2>/dev/null
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	diag "killed after $at ms: $(grep -c . "$TMP/killed.$i") lines said"
done
# And by Ctrl-C, which says what to do. A step on train-2 is to be done and waits all the time, so that it does not end before.
in_node train-2 'rm -f /etc/default/slurmd; mkdir -p -m 700 /run/nanopod-lock; systemd-run -q --unit=hold flock -F /run/nanopod-lock/step.lock sleep 600
	while flock -n /run/nanopod-lock/step.lock true; do sleep 0.1; done'
sh -c 'trap - INT; exec "$@"' sh "$NANOPOD" provision "${SLURM[@]}" -y "${CLUSTER_WAY[@]}" >"$TMP/stopped" 2>&1 </dev/null &
pid=$!
ok "(it has begun, and cannot end)" wait_for 120 grep -q 'nanopod: applying' "$TMP/stopped"
kill -INT "$pid" 2>/dev/null
wait "$pid"
is $? 130 "Ctrl-C" || diag "$(tail -n 20 "$TMP/stopped")"
like "$(cat "$TMP/stopped")" 'nanopod provision' "says what to type to go on"
in_node train-2 'systemctl stop hold'
run_is 0 "then it goes on, to the end" provision "${SLURM[@]}" -y || diag "$(tail -c 4000 "$TMP/.err")"
is "$(srun 3)" "$(all 3)" "srun over all"
run_is 0 "plan: nothing to do" provision plan train --detailed-exitcode
in_node train-1 'cat /etc/munge/munge.key' >"$KEY.2"

# Remove, cut off, and again.
provision remove train -y >"$TMP/killed" 2>&1 </dev/null &
pid=$!
ok "(it has begun)" wait_for 120 grep -q 'nanopod: removing' "$TMP/killed"
pkill -9 -P "$pid" 2>/dev/null
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
diag "remove killed: $(grep -c . "$TMP/killed") lines said"
run_is 0 "remove goes on" provision remove train -y || diag "$out" "$err"
pictures after
for node in $CLUSTER_NODES; do same_picture before after "$node" "$node is as it was, after all that"; done

# ---- The secret -------------------------------------------------------------------------------------------------------------------
look_end
{ forms "$KEY"; forms "$KEY.2"; } >"$TMP.forms"
at_exit 'rm -f "$TMP.forms" "$TMP.processes"'
ok "(command lines were looked at: $(wc -l <"$TMP/processes"))" grep -q 'slurmd' "$TMP/processes"
is "$(grep -cF -f "$TMP.forms" "$TMP/processes")" 0 "the munge key was in no command line and no environment"
is "$(grep -caP "$(bytes "$KEY")|$(bytes "$KEY.2")" "$TMP/processes")" 0 "nor as bytes"
mv "$TMP/processes" "$TMP.processes"
mv "$KEY" "$TMP.key"; mv "$KEY.2" "$TMP.key2"
at_exit 'rm -f "$TMP.key" "$TMP.key2"'
is "$(grep -rlaF -f "$TMP.forms" "$TMP" --exclude-dir=m1 --exclude-dir=market 2>/dev/null)" "" "in no file of this machine: state, journal, logs, output"
is "$(for key in "$TMP.key" "$TMP.key2"; do grep -rlaP "$(bytes "$key")" "$TMP" --exclude-dir=m1 2>/dev/null; done)" "" "nor as bytes"
for node in $CLUSTER_NODES; do
	is "$(in_node_stdin "$node" 'cat >/run/forms; { grep -rlaF -f /run/forms /etc /var /root /tmp /home 2>/dev/null; journalctl -q --no-pager -a 2>/dev/null | grep -cF -f /run/forms | grep -v "^0$"; }; rm /run/forms' <"$TMP.forms")" "" \
		"$node: in no file, log or journal of it"
	is "$(find "$TMP/m1/nodes/$(node "$node" .id)/upper" -type f -print0 2>/dev/null | xargs -0 grep -laP "$(bytes "$TMP.key2")" 2>/dev/null)" "" "$node: nor left on its disk"
done
done_testing
