#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the stack slurm writes (slurm.conf, gres.conf, cgroup.conf, topology.conf) for several clusters and versions, against
# tests/stacks/slurm-conf/, and tells sacctmgr. UPDATE=1 writes those files anew. Where Slurm is installed, its own slurmctld reads them.
. "$(dirname "$0")/../lib/tap.sh"
golden=$SRC/tests/stacks/slurm-conf
PATH=$PATH:/usr/sbin:/sbin

tab=$(printf '\t')
# row HOST ADDRESS ROLES FACTS: with | between facts.
row() { printf '%s\t%s\t%s\tbase.nodes,%s\t%s\n' "$1" "$1" "$2" "$3" "$(printf '%s' "$4" | tr '|' "$tab")"; }
gpus() { # N VENDOR MODEL DRIVER
	i=0
	while [ $i -lt "$1" ]; do
		printf '|gpu_%d=%s %s 0000:%02x:00.0 %s' $i "$2" "$3" $((i + 16)) "$4"
		i=$((i + 1))
	done
	printf '|gpu_count=%d|gpu_usable=%d' "$1" "${5:-$1}"
}
small='cpus=4|sockets=1|cores=2|threads=2|memory_mb=15872|init=systemd|gpu_count=0'
big='cpus=224|sockets=2|cores=56|threads=2|memory_mb=2063898|init=systemd'
v1='cgroup=hybrid|cgroup_write=yes|cgroup_devices=yes'
v2='cgroup=v2|cgroup_write=yes|cgroup_devices=yes'

# writes VERSION SETTING=VALUE…: the files of the cluster in $table.
writes() {
	version=$1
	shift
	{
		cat "$SRC/stacks/common/lib.sh"
		echo "NP_STACK=slurm NP_STEP=conf NP_MODE=check NP_CLUSTER=train NP_HOST=n1 NP_ADDRESS=10.0.0.1 NP_SLURM_VERSION=$version NP_TABLE='$table'"
		for setting; do printf "%s='%s'\n" "${setting%%=*}" "${setting#*=}"; done
		cat "$SRC/stacks/slurm/conf.inc"
		echo 'for f in slurm gres cgroup topology; do echo "==> $f.conf" >&3; ${f}_conf >&3; done'
	} | sh
}
same() { # FILE VERSION SETTING…
	file=$1
	shift
	writes "$@" >"$TMP/is" 2>"$TMP/err"
	[ -z "${UPDATE-}" ] || cp "$TMP/is" "$golden/$file"
	is "$(cat "$TMP/err")$(cat "$TMP/is")" "$(cat "$golden/$file")" "$file"
}
part() { sed -n "/^==> $1.conf/,/^==>/p" "$TMP/is" | grep -v '^==>'; }

# fits SETTING=VALUE…: "fits", or why its partitions do not.
fits() {
	{
		cat "$SRC/stacks/common/lib.sh"
		echo "NP_RUN='$TMP' NP_STACK=slurm NP_STEP=conf NP_MODE=check NP_CLUSTER=train NP_HOST=n1 NP_SLURM_VERSION=22.05.8 NP_TABLE='$table'"
		for setting; do printf "%s='%s'\n" "${setting%%=*}" "${setting#*=}"; done
		cat "$SRC/stacks/slurm/conf.inc"
		# shellcheck disable=SC2016
		echo 'np_room=$NP_RUN/room; slurm_know; slurm_partitions_fit && echo fits >&3; rm -rf "$np_room"'
	} | sh 2>&1
}

# ---- 8 x H100 -------------------------------------------------------------------------------------------------
table=$(
	row n1 10.0.0.1 slurm.controller "$small|$v2"
	for i in 1 2; do row gpu$i 10.0.1.$i slurm.workers "$big|$v2$(gpus 8 nvidia h100 nvidia)"; done
)
same h100-22.05 22.05.8
is "$(fits)" fits "no partitions fit"
is "$(fits 'S_partitions=long long_er' S_partitions_long_nodes='h100 gpu1 gpu[1-2]' S_partitions_long_max_time=1-00:00:00 S_partitions_long_er_nodes=workers \
	S_partitions_long_er_max_time=infinite S_partitions_long_er_default=yes)" fits "partitions that are right do"
like "$(fits S_partitions=long S_partitions_long_nodes=wrkers)" "'wrkers' is no worker" "a name of nothing does not"
like "$(fits S_partitions=long S_partitions_long_nodes=login)" "'login' is no worker, no role that one has" "nor a role that nobody has"
like "$(fits S_partitions=long S_partitions_long_nodes=n1)" "'n1' is no worker" "nor a node that does no jobs"
like "$(fits S_partitions=long 'S_partitions_long_nodes=gpu[7-9]')" "'gpu\[7-9\]' is no worker" "nor several of which none is there"
writes 22.05.8 'S_partitions=long more' 'S_partitions_long_nodes=n1,gpu[2-9]' 'S_partitions_more_nodes=gpu[1-1],gpu[02-3],gpu[2]' >"$TMP/is"
like "$(part slurm)" 'PartitionName=long Nodes=gpu2 ' "of several those that are workers"
like "$(part slurm)" 'PartitionName=more Nodes=gpu\[1-2\] ' "each once"
like "$(fits S_partitions=long S_partitions_long_max_tme=60)" "'long' has no setting 'max-tme'" "nor a setting that there is none of"
like "$(fits S_partitions=long S_partitions_long_max_time=foo)" "'foo' is no time" "nor a time that is none"
same h100-25.05 25.05.3 S_accounting=yes
writes 21.08.5 >"$TMP/is"
like "$(part slurm)" '^ProctrackType=proctrack/linuxproc' "21.08 knows no cgroup v2: tracked without"
is "$(part cgroup | grep -c Plugin)" 0 "and has no CgroupPlugin"
writes 22.05.8 S_cgroup=no >"$TMP/is"
like "$(part cgroup)" '^CgroupPlugin=cgroup/v1' "22.05 without cgroups needs a plugin that exists"
writes 23.11.4 S_cgroup=no >"$TMP/is"
like "$(part cgroup)" '^CgroupPlugin=disabled' "23.11 has 'disabled'"
writes 22.05.8 'S_software=lmod openmpi-bin' >"$TMP/is"
like "$(part slurm)" 'MpiDefault=pmix' "Open MPI among the packages for jobs: srun talks PMIx"
writes 22.05.8 S_health_check=no "S_conf=MaxJobCount=5" >"$TMP/is"
unlike "$(part slurm)" 'HealthCheck|Prolog=|Epilog=' "no health check"
like "$(part slurm)" '^MaxJobCount=5' "further lines"
unlike "$(part slurm)" nohold "as they are"
writes 22.05.8 "S_conf=MaxJobCount=5
# SchedulerParameters=none
schedulerparameters = bf_continue,defer # mine" >"$TMP/is"
is "$(part slurm | grep -i schedulerp)" "# SchedulerParameters=none
schedulerparameters = nohold_on_prolog_fail,bf_continue,defer # mine" "one's own SchedulerParameters keep what the health check needs"
writes 22.05.8 'S_conf=SchedulerParameters="defer,nohold_on_prolog_fail"' >"$TMP/is"
is "$(part slurm | grep SchedulerP)" 'SchedulerParameters="defer,nohold_on_prolog_fail"' "once"
writes 22.05.8 'S_conf=PrologFlags=X11
prologflags = "Serial,Alloc,Contain"' >"$TMP/is"
is "$(part slurm | grep -i ^prologflags)" 'PrologFlags=Alloc,Contain,X11
prologflags = "Serial,Alloc,Contain"' "one's own PrologFlags keep what cgroups and the health check need"
writes 22.05.8 S_cgroup=no S_conf=PrologFlags=NoHold >"$TMP/is"
is "$(part slurm | grep ^PrologFlags)" 'PrologFlags=Alloc,NoHold' "without cgroups, too"
writes 22.05.8 S_cgroup=no S_health_check=no S_conf=PrologFlags=NoHold >"$TMP/is"
is "$(part slurm | grep ^PrologFlags)" 'PrologFlags=NoHold' "where nothing is needed, they are as they are"

# ---- Mixed: NVIDIA of two models, AMD, none; one without a driver; v1 beside v2 ------------------------------------
table=$(
	row n1 10.0.0.1 slurm.controller,slurm.login "$small|$v2"
	row a1 10.0.0.2 slurm.workers "$big|$v1$(gpus 4 nvidia a100 nvidia)"
	row a2 10.0.0.3 slurm.workers "$big|$v2$(gpus 4 nvidia a100 none 0)"
	row h1 10.0.0.4 slurm.workers "$big|$v2$(gpus 8 nvidia h100 nvidia)"
	row m1 fd00::5 slurm.workers "$big|$v2$(gpus 8 amd mi300x amdgpu)"
	row c1 10.0.0.6 slurm.workers "$small|$v2"
)
same mixed-24.11 24.11.5
same partitions-22.05 22.05.8 'S_partitions=gpu amd-only all' S_partitions_gpu_nodes='h100 a1' S_partitions_gpu_default=true S_partitions_amd_only_nodes=mi300x \
	S_partitions_amd_only_max_time=1-00:00:00 S_partitions_amd_only_default_time=60 S_partitions_all_nodes=workers S_partitions_all_extra=PriorityTier=10
unlike "$(part slurm)" 'a2 .*Gres' "GPUs without a driver are not offered"
writes 22.05.8 S_partitions=x 'S_partitions_x_nodes=c[1-9] *' >"$TMP/is"
like "$(part slurm)" 'PartitionName=x Nodes=c1 ' "of several those that are there are named, and files here are no answer"

# ---- AMD alone; none; one node ------------------------------------------------------------------------------------
table=$(row n1 10.0.0.1 slurm.controller "$small|$v1"; row m1 10.0.0.2 slurm.workers "$big|$v1$(gpus 8 amd mi300x amdgpu)")
same amd-22.05 22.05.8
table=$(row n1 10.0.0.1 slurm.controller,slurm.workers "$small|cgroup=v1|cgroup_write=no|cgroup_devices=no")
same one-22.05 22.05.8
same one-26.05 26.05.0
# A controller alone, and what can be bought.
table=$(row n1 10.0.0.1 slurm.controller "$small|$v1")
same alone-22.05 22.05.8 S_accounting=no
same spare-22.05 22.05.8 'S_spare=8 CPUs=16 RealMemory=60000 Gres=gpu:h100:8' 'S_partitions=gpu any l4' S_partitions_gpu_nodes=h100 S_partitions_l4_nodes=l4
table=$(row n1 10.0.0.1 slurm.controller,slurm.workers "$small|cgroup=v1|cgroup_write=no|cgroup_devices=no")
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2"; row w1 10.0.0.2 slurm.workers "$(echo "$big" | sed 's/systemd/sysv/')|$v2|gpu_count=0")
writes 23.11.4 >"$TMP/is"
like "$(part cgroup)" '^IgnoreSystemd=yes' "v2 without systemd"
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2"; row w1 10.0.0.2 slurm.workers "$big|cgroup=v1|cgroup_write=yes|cgroup_devices=no$(gpus 2 nvidia l4 nvidia)")
writes 22.05.8 >"$TMP/is"
like "$(part cgroup)" '^ConstrainRAMSpace=yes' "where devices cannot be denied, memory is"
unlike "$(part cgroup)" ConstrainDevices "and devices are not"
like "$(part slurm)" '^ProctrackType=proctrack/cgroup' "and jobs are tracked by groups"
for cgroup in v1 v2; do
	table=$(row n1 10.0.0.1 slurm.controller "$small|$v2"; row w1 10.0.0.2 slurm.workers "$small|cgroup=$cgroup|cgroup_write=yes|cgroup_devices=no|user_namespace=yes")
	writes 22.05.8 >"$TMP/is"
	like "$(part slurm)" "^ProctrackType=proctrack/$(case $cgroup in v1) echo linuxproc ;; v2) echo cgroup ;; esac)" "in a user namespace with $cgroup"
done

# ---- Which nodes are on one machine --------------------------------------------------------------------------------
at() { row "$1" 10.0.0.2 slurm.workers "$small|$v2${2:+|boot_id=$2}"; }
topology() { writes 22.05.8 "$@" >"$TMP/is"; part topology | sed 1d; part slurm | grep -i topology; }
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2|boot_id=x"; at a1 x; at a2 y; at a3 x; at a4 z)
is "$(topology)" "SwitchName=machine1 Nodes=a[1,3]
SwitchName=machine2 Nodes=a2
SwitchName=machine3 Nodes=a4
SwitchName=all Switches=machine[1-3]
TopologyPlugin=topology/tree" "nodes of one kernel are at one switch"
is "$(topology 'S_spare=8 CPUs=16 RealMemory=60000' 'S_conf= topologyplugin=topology/none')" "SwitchName=machine1 Nodes=a[1,3]
SwitchName=machine2 Nodes=a2
SwitchName=machine3 Nodes=a4
SwitchName=spare Nodes=train-spare-[1-8]
SwitchName=all Switches=machine[1-3],spare
 topologyplugin=topology/none" "what can be bought is at one, too; and a plugin of one's own stays"
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2|boot_id=x"; at a1 y; at a2 z; at a3)
is "$(topology)" "" "where each has its own, or none is known, all nodes are alike for Slurm"
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2|boot_id=x"; at a1 y; at a2 y)
is "$(topology)" "" "and where all have the same"

# ---- Large: one pass, not one a node -------------------------------------------------------------------------------
table=$(i=0; row n1 10.0.0.1 slurm.controller "$small|$v2"; while [ $i -lt 200 ]; do i=$((i + 1)); row gpu$i 10.0.1.$i slurm.workers "$big|$v2$(gpus 8 nvidia h100 nvidia)"; done)
spent() { awk '{ print int(($14 + $15 + $16 + $17) / 100) }' "/proc/$$/stat"; } # seconds of a processor
start=$(spent)
writes 22.05.8 >"$TMP/is"
is "$(part slurm | grep -c '^NodeName=')" 200 "200 workers"
like "$(part slurm)" '^PartitionName=all Nodes=gpu\[1-200\] ' "named in short: Slurm cuts off long lines"
is "$(part gres | tail -n 1)" 'NodeName=gpu[1-200] Name=gpu Type=h100 File=/dev/nvidia[0-7]' "and their GPUs"
is "$(printf '%s\n' n8 n9 n10 n12 a01 a02 a04 x node-1.example.com b7 n1 | { cat "$SRC/stacks/common/lib.sh" "$SRC/stacks/slurm/conf.inc"; echo 'slurm_list >&3 <<"."'; cat; echo .; } | sh)" \
	'n[8-10,12],a[01-02,04],x,node-1.example.com,b7,n1' "names are folded"
ok "in seconds ($(($(spent) - start)))" test $(($(spent) - start)) -lt 20

# ---- What its database is told -----------------------------------------------------------------------------------------
# told SETTING=VALUE…: what sacctmgr was asked to change, a line a call. (A stand-in knows nobody yet and notes its words.)
mkdir "$TMP/bin"
cat >"$TMP/bin/sacctmgr" <<'.'
#!/bin/sh
case $1 in -i) shift; printf '%s\n' "$*" >>"$SACCTMGR_ASKED" ;; esac
.
chmod +x "$TMP/bin/sacctmgr"
told() {
	rm -f "$TMP/asked"
	[ -n "${again-}" ] || rm -rf "$TMP/state"
	mkdir -p "$TMP/state"
	[ -z "${people-}" ] || printf '%b' "$people" >"$TMP/state/people"
	{
		cat "$SRC/stacks/common/lib.sh"
		echo "NP_STATE='$TMP/state' NP_RUN='$TMP' NP_CLUSTER=train PATH='$TMP/bin':\$PATH SACCTMGR_ASKED='$TMP/asked'; export SACCTMGR_ASKED"
		echo "(NP_STACK=slurm NP_STEP=people"
		for setting; do printf "%s='%s'\n" "${setting%%=*}" "${setting#*=}"; done
		cat "$SRC/stacks/slurm/people.sh"
		echo 'np_work apply) </dev/null'
	} | sh >"$TMP/is" 2>&1
	grep -q '	done	0' "$TMP/is" || cat "$TMP/is"
	cat "$TMP/asked" 2>/dev/null
}
is "$(told 'S_qos=rush capped both bare' S_qos_rush_priority=100 'S_qos_capped_limits=MaxJobsPerUser=2 GrpTRES=cpu=8' S_qos_both_priority=7 S_qos_both_limits=MaxWall=60 |
	grep '^modify qos')" "modify qos rush set priority=100
modify qos capped set priority=0 MaxJobsPerUser=2 GrpTRES=cpu=8
modify qos both set priority=7 MaxWall=60
modify qos bare set priority=0" "qualities of service: each with its own priority and limits"
is "$(people='ada\tlab-a\t3\t\ncy\tusers\t1\tMaxJobs=1\n' told 'S_accounts=lab-a' S_accounts_lab_a_limits=GrpTRES=cpu=8 | grep -E '^(add|modify) (account|user)' | grep -v 'set defaultaccount')" \
	"add account lab-a cluster=train parent=root
modify account lab-a set fairshare=1 GrpTRES=cpu=8 where cluster=train
add account users cluster=train parent=root
modify account users set fairshare=1 where cluster=train
add user ada cluster=train account=lab-a fairshare=3
modify user ada set fairshare=3 where cluster=train account=lab-a
add user cy cluster=train account=users fairshare=1
modify user cy set fairshare=1 MaxJobs=1 where cluster=train account=users" "accounts and users: so too"

# A limit that left the file.
is "$(again=1 people='ada\tlab-a\t3\t\ncy\tusers\t1\tMaxJobs=1\n' told 'S_accounts=lab-a' | grep -E '^modify account lab-a|^modify user cy set fair')" \
	"modify account lab-a set fairshare=1 GrpTRES=cpu=-1 where cluster=train
modify user cy set fairshare=1 MaxJobs=1 where cluster=train account=users" "a limit that left the file is lifted, others stay"
told S_qos=rush 'S_qos_rush_limits=GrpTRES=cpu=8,gres/gpu=2 MaxWall=60 MaxJobs=3' >/dev/null
is "$(again=1 told S_qos=rush 'S_qos_rush_limits=GrpTRES=cpu=4 MaxJobs=3' | grep '^modify qos')" \
	"modify qos rush set priority=0 GrpTRES=cpu=4 MaxJobs=3 GrpTRES=gres/gpu=-1 MaxWall=-1" "of a quality of service, too, and one resource of several"

# ---- Why slurmctld does not take it ---------------------------------------------------------------------------------------
# reason <LOG: what is told as the cause.
reason() {
	cat >"$TMP/log"
	{ cat "$SRC/stacks/common/lib.sh" "$SRC/stacks/slurm/controller.sh"; echo "log='$TMP/log'; why >&3"; } | sh
}
is "$(reason <<'.'
[2026-11-27T10:00:00.001] error: Configured MailProg is invalid
[2026-11-27T10:00:00.100] error: Node train-3 not responding, setting DOWN
[2026-11-27T10:00:00.200] error: Invalid node name nobody in partition odd
[2026-11-27T10:00:00.300] error: slurm_receive_msg [10.0.0.2:41000]: Zero Bytes were transmitted or received
[2026-11-27T10:00:00.400] error: Node ping apparently hung, many nodes may be DOWN
.
)" "error: Invalid node name nobody in partition odd" "what is wrong with the configuration, whatever was logged later"
is "$(reason <<'.'
[2026-11-27T10:00:00.1] error: Parsing error at unrecognized key: NoSuchThing
[2026-11-27T10:00:00.2] fatal: Unable to process configuration file
[2026-11-27T10:00:00.3] error: slurm_receive_msg [10.0.0.2:41000]: Zero Bytes were transmitted or received
[2026-11-27T10:00:00.4] error: Parsing error at unrecognized key: NoSuchThing
[2026-11-27T10:00:00.5] fatal: Unable to process configuration file
.
)" "error: Parsing error at unrecognized key: NoSuchThing; fatal: Unable to process configuration file" "a fatal error, with the one before"
is "$(reason <<'.'
[2026-11-27T10:00:00.1] error: Munge decode failed: Expired credential
[2026-11-27T10:00:00.2] error: slurm_unpack_received_msg: Protocol authentication error
.
)" "error: Munge decode failed: Expired credential; error: slurm_unpack_received_msg: Protocol authentication error" "else the last two"

# ---- A credential that is not good: whose fault? ---------------------------------------------------------------------
blames() { # WHAT-UNMUNGE-SAYS PATTERN
	{
		cat "$SRC/stacks/common/lib.sh"
		echo "NP_STATE='$TMP/state' NP_RUN='$TMP' NP_NODE=n2"
		echo "(unmunge() { echo '$1'; return 15; }"
		cat "$SRC/stacks/slurm/try.sh"
		echo 'NP_STACK=slurm NP_STEP=try NP_TAKEN=/dev/null; np_work apply) </dev/null'
	} | sh >"$TMP/is" 2>/dev/null
	like "$(cat "$TMP/is")" "cause	.*$2" "$1: $2"
}
blames 'STATUS:           Invalid credential (15)' "munge key of this node is not the controller's"
blames 'STATUS:           Rewound credential (16)' 'clock of this node is minutes behind'
blames 'STATUS:           Expired credential (15)' 'clock of this node is minutes ahead'
blames 'unmunge: Error: Failed to access "/run/munge": No such file' 'munge cannot read'

# ---- The real one reads them -----------------------------------------------------------------------------------------
if ! command -v slurmctld >/dev/null; then
	diag "slurmctld is not installed (Debian: slurmctld): what it reads was not tried"
	done_testing
fi
here=$(slurmctld -V | sed 's/.* //')
command -v munged >/dev/null || { diag "no munged"; done_testing; }
mkdir -p "$TMP/etc" "$TMP/run" "$TMP/state"
chmod 700 "$TMP/etc"
. "$SRC/tests/lib/ports.sh"
head -c 1024 /dev/urandom >"$TMP/munge.key"
chmod 400 "$TMP/munge.key"
decided() { cat "$TMP/ctld" "$TMP/run/slurmctld.log" 2>/dev/null | grep -qE 'Running as primary controller|fatal'; }
pid=''
at_exit '[ -z "$pid" ] || kill -9 $pid 2>/dev/null'
reads() { # NAME SETTING…
	name=$1
	shift
	writes "$here" "$@" >"$TMP/is"
	for f in slurm gres cgroup topology; do part $f >"$TMP/etc/$f.conf"; done
	sed -i "s|^SlurmctldHost=.*|SlurmctldHost=$(hostname -s)|; s|^SlurmUser=.*|SlurmUser=$(id -un)|; s|^StateSave.*|StateSaveLocation=$TMP/state|; s|/run/slurm|$TMP/run/slurm|; s|/var/log/slurm|$TMP/run|; s|^AuthType=.*|&\nAuthInfo=socket=$TMP/run/munge\nSlurmctldPort=$PORTS|; /^Accounting/d" "$TMP/etc/slurm.conf"
	rm -rf "$TMP/state"/*
	slurmctld -D -f "$TMP/etc/slurm.conf" -c >"$TMP/ctld" 2>&1 &
	pid=$!
	wait_for 10 decided
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	pid=''
	said=$(cat "$TMP/ctld" "$TMP/run/slurmctld.log" 2>/dev/null)
	rm -f "$TMP/run/slurmctld.log"
	like "$said" 'Running as primary controller' "slurmctld $here reads $name"
	unlike "$said" 'fatal|[Pp]arse|[Uu]nrecognized|[Ii]nvalid (node|partition|config|Gres|option)' "and finds nothing wrong in it"
}
munged --force --key-file="$TMP/munge.key" --socket="$TMP/run/munge" --pid-file="$TMP/run/munged.pid" --log-file="$TMP/run/munged.log" --seed-file="$TMP/run/munged.seed" 2>"$TMP/munged" || {
	diag "munged does not start here: $(tail -n 1 "$TMP/munged")"; done_testing; }
at_exit 'kill "$(cat "$TMP/run/munged.pid")" 2>/dev/null'
table=$(row n1 10.0.0.1 slurm.controller "$small|$v1"; for i in 1 2; do row gpu$i 127.0.0.$((i + 1)) slurm.workers "$big|$v1$(gpus 8 nvidia h100 nvidia)"; done; row c1 127.0.0.9 slurm.workers "$small|$v1")
reads "a mixed cluster"
table=$(row n1 10.0.0.1 slurm.controller "$small|$v2"; for i in 1 2 3; do at gpu$i $((i / 2)); done)
reads "machines as switches"
table=$(row n1 10.0.0.1 slurm.controller "$small|$v1"; for i in 1 2; do row gpu$i 127.0.0.$((i + 1)) slurm.workers "$big|$v1$(gpus 8 nvidia h100 nvidia)"; done; row c1 127.0.0.9 slurm.workers "$small|$v1")
reads "partitions" 'S_partitions=gpu slow' S_partitions_gpu_nodes=h100 S_partitions_slow_nodes=c1 S_partitions_slow_max_time=1-00:00:00
done_testing
