#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What people who know Slurm expect of it, on real nodes: a sick node gets no job and comes back by itself, in the health
# program that slurmd runs in intervals, before a job and after it; modules (Lmod) and MPI over two nodes; containers;
# which nodes are on one machine. Needs root, an image and packages (tests/lib/cluster.sh).
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
cluster_repo slurm
cluster_nodes 2

one() { in_node train-1 "$1"; }
state_of() { one "sinfo -h -n $1 -o '%T|%E'"; }
is_node() { [ "$(state_of "$1")" = "$2" ]; }
job() { one "scontrol -o show job $1 | sed 's/.*JobState=\([A-Z]*\) Reason=\([^ ]*\).*/\1 \2/'"; }
is_job() { job "$1" | grep -qE "^($2)\$"; }
says() { diag "$(one 'sinfo -N -l; sinfo -R; squeue -a; tail -n 15 /var/log/slurm/slurmctld.log' 2>&1)" "$(in_node train-2 'tail -n 15 /var/log/slurm/slurmd.log' 2>&1)"; }
# What slurmd does every five minutes.
look() { in_node "$1" "SLURMD_NODENAME=$1 /usr/local/sbin/nanopod-healthcheck"; }

SOFTWARE=()
grep -qx 'Package: lmod' "$CLUSTER_REPO/debs/Packages" && SOFTWARE=(--set 'slurm.software=lmod openmpi-bin')
grep -qx 'Package: bubblewrap' "$CLUSTER_REPO/debs/Packages" && SOFTWARE+=(--set slurm.containers=yes)
run_is 0 "provision" "$NANOPOD" provision -r train slurm --name train --set slurm.accounting=no "${SOFTWARE[@]}" --role 'workers=train-[1-2]' \
	--airgap "$CLUSTER_REPO" -y "${CLUSTER_WAY[@]}" || { diag "$(tail -c 3000 "$TMP/.err")"; done_testing; }
HEALTHY='idle|none'
ok "(both nodes are idle)" wait_for 60 is_node train-2 "$HEALTHY" || says

# ---- Modules, MPI ----
# A program of MPI without its headers: each rank adds its number to all others'.
cat >"$TMP/hello.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	void *mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
	int (*init)(int *, char ***), (*rank)(void *, int *), (*size)(void *, int *), (*finalize)(void);
	int (*allreduce)(const void *, void *, int, void *, void *, void *), me = -1, all = 0, sum = 0;
	char host[64] = "";
	void *world;

	if (!mpi)
		return puts(dlerror()), 1;
	init = dlsym(mpi, "MPI_Init"), rank = dlsym(mpi, "MPI_Comm_rank"), size = dlsym(mpi, "MPI_Comm_size");
	allreduce = dlsym(mpi, "MPI_Allreduce"), finalize = dlsym(mpi, "MPI_Finalize");
	world = dlsym(mpi, "ompi_mpi_comm_world");
	init(NULL, NULL), rank(world, &me), size(world, &all);
	me++;
	allreduce(&me, &sum, 1, dlsym(mpi, "ompi_mpi_int"), dlsym(mpi, "ompi_mpi_op_sum"), world);
	gethostname(host, sizeof host);
	printf("%d of %d on %s: %d\n", me, all, host, sum);
	return finalize();
}
END
if [[ "${SOFTWARE[*]}" != *lmod* ]]; then diag "no Lmod and no Open MPI in '$CLUSTER_REPO': './quickstart check' makes it anew"
elif ! "${CC:-cc}" -O1 -o "$TMP/hello" "$TMP/hello.c" -ldl 2>"$TMP/cc.log"; then diag "no compiler for a program of MPI"
else
	one 'mkdir -p /opt/modules && printf "help([[a compiler]])\nsetenv(\"COMPILER\", \"twelve\")\n" >/opt/modules/gcc.lua'
	is "$(one 'bash -lc "module use /opt/modules; module load gcc; echo \$COMPILER"')" twelve "module load"
	for name in train-1 train-2; do in_node_stdin $name 'cat >/usr/local/bin/hello && chmod 755 /usr/local/bin/hello' <"$TMP/hello"; done
	is "$(one 'timeout 120 srun -N2 -n2 hello 2>/tmp/hello.err | sort')" "1 of 2 on train-1: 3
2 of 2 on train-2: 3" "srun starts a program of MPI on two nodes, whose ranks reach each other" || { diag "$(one 'cat /tmp/hello.err; srun --mpi=list 2>&1')"; says; }
fi

# ---- Containers ----
# A root with a shell and a file of its own, for somebody who is not root.
box() { cat <<'END'; }
useradd -m -u 3000 ada && mkdir -p /srv/box/rootfs && cd /srv/box/rootfs && mkdir -p bin dev proc sys tmp run home etc
cp /bin/dash bin/sh && for lib in $(ldd /bin/dash | grep -o '/[^ ]*'); do mkdir -p .${lib%/*} && cp $lib .$lib; done
echo box >etc/inside
echo '{"ociVersion": "1.0.0", "root": {"path": "rootfs"}}' >../config.json
END
if [[ "${SOFTWARE[*]}" != *containers* ]]; then diag "no bubblewrap in '$CLUSTER_REPO': './quickstart check' makes it anew"
else
	for name in train-1 train-2; do in_node_stdin $name 'sh -s' < <(box); done
	is "$(one "cd /home/ada && runuser -u ada -- env ODD=\"a'b \\\$c\" timeout 60 srun -N2 --container /srv/box sh -c 'read x </etc/inside; echo \$x \$PWD \$ODD' 2>/tmp/box.err")" "box /home/ada a'b \$c
box /home/ada a'b \$c" "a job in a container of each node" || { diag "$(one 'cat /tmp/box.err')"; says; }
	one "cd /home/ada && runuser -u ada -- sbatch -W -o out --wrap \"srun --container /srv/box sh -c 'read x </etc/inside; echo \\\$x >whose'\""
	is "$(one 'cd ~ada && cat whose; stat -c %U whose')" "box
ada" "and in a batch job, as its user" || { diag "$(one 'cat ~ada/out')"; says; }
fi

# ---- Before a job ----
in_node train-2 'mkdir -p /etc/nanopod-health.d && printf "#!/bin/sh\necho disk sdb fails; exit 1\n" >/etc/nanopod-health.d/disk && chmod 755 /etc/nanopod-health.d/disk'
JOB=$(one 'cd /root && sbatch --parsable -w train-2 --wrap hostname')
ok "a job on a node that is sick" wait_for 60 is_node train-2 'drained|nanopod: disk sdb fails' || { says; done_testing; }
ok "does not run, and is not held: it waits for the node" wait_for 60 is_job "$JOB" 'PENDING .*(Nodes|Resources|Down|Drain|BeginTime|Priority).*' || diag "$(job "$JOB")"
is "$(one 'cd /root && timeout 60 srun -N1 hostname')" train-1 "others run elsewhere" || says
look train-2
is "$?" 1 "the program that runs in intervals finds the same"
is "$(state_of train-2)" "drained|nanopod: disk sdb fails" "and leaves it so"
in_node train-2 'rm /etc/nanopod-health.d/disk'
ok "once the node is well, it" look train-2
ok "takes it back" wait_for 20 is_node train-2 "$HEALTHY" || says
one "scontrol update JobId=$JOB StartTime=now" # Slurm lets two minutes pass
ok "and the job runs" wait_for 200 is_job "$JOB" 'COMPLETED .*' || { diag "$(job "$JOB")"; says; }
is "$(in_node train-2 "cat /root/slurm-$JOB.out")" train-2 "there"

# ---- Where the check cannot tell Slurm why ----
in_node_stdin train-2 'cat >/etc/nanopod-health.d/away && chmod 755 /etc/nanopod-health.d/away' <<'END'
#!/bin/sh
mv /usr/bin/scontrol /usr/bin/scontrol.away 2>/dev/null
exit 1
END
SAID=$(one 'cd /root && timeout 60 srun -w train-2 hostname 2>&1')
RC=$?
ok "srun on a node that turns out to be sick ends with an error ($RC)" test $RC -ne 0 -a $RC -ne 124 || diag "$SAID"
ok "Slurm drains the node with a reason of its own" wait_for 60 is_node train-2 'drained|Prolog error' || says
in_node train-2 'rm /etc/nanopod-health.d/away; mv /usr/bin/scontrol.away /usr/bin/scontrol'
look train-2
ok "and it comes back" wait_for 20 is_node train-2 "$HEALTHY" || says

# ---- After a reboot ----
in_node_stdin train-2 'cat >/etc/nanopod-health.d/away && chmod 755 /etc/nanopod-health.d/away' <<'END'
#!/bin/sh
# Mended by a reboot.
[ -e /run/sick ] || exit 0
mv /usr/bin/scontrol /usr/bin/scontrol.away 2>/dev/null
exit 1
END
in_node train-2 'touch /run/sick'
one 'cd /root && timeout 60 srun -w train-2 hostname' >/dev/null 2>&1
ok "(Slurm drains the node with a reason of its own)" wait_for 60 is_node train-2 'drained|Prolog error' || says
in_node train-2 'mv /usr/bin/scontrol.away /usr/bin/scontrol'
ok "(it boots)" node_restart train-2 || done_testing
ok "a node that boots well comes back by itself" wait_for 90 is_node train-2 "$HEALTHY" || says
in_node train-2 'touch /run/sick; sed -i /scontrol/d /etc/nanopod-health.d/away'
look train-2
is "$(state_of train-2)" "drained|nanopod: away fails" "(the check drains it)"
ok "(it boots)" node_restart train-2 || done_testing
ok "so does one that the check drained" wait_for 90 is_node train-2 "$HEALTHY" || says
in_node train-2 'rm /etc/nanopod-health.d/away'

# ---- After a job ----
JOB=$(one 'cd /root && sbatch --parsable -w train-2 --wrap "printf \"#!/bin/sh\nexit 1\n\" >/etc/nanopod-health.d/links && chmod 755 /etc/nanopod-health.d/links"')
ok "a job that leaves its node sick" wait_for 60 is_node train-2 'drained|nanopod: links fails' || says
ok "has ended well itself" wait_for 20 is_job "$JOB" 'COMPLETED .*' || diag "$(job "$JOB")"
is "$(state_of train-1)" "$HEALTHY" "the other node goes on"
in_node train-2 'rm -r /etc/nanopod-health.d'
look train-2
ok "and it comes back" wait_for 20 is_node train-2 "$HEALTHY" || says

# ---- By hand ----
one 'scontrol update NodeName=train-2 State=DRAIN Reason=mine'
look train-2
is "$(state_of train-2)" "drained|mine" "what a person drained stays drained"
one 'scontrol update NodeName=train-2 State=RESUME'
ok "(it is back)" wait_for 20 is_node train-2 "$HEALTHY"
# ---- Two machines ----
# Nodes of one machine share a kernel, of which their agent tells. It is another one here for two of three.
cluster_more 1
for name in train-2 train-3; do in_node $name 'sed "s/^boot_id=./boot_id=z/" /etc/nanopod/resources >/run/resources && mount --bind /run/resources /etc/nanopod/resources'; done
run_is 0 "a third node joins" "$NANOPOD" provision add train -w train-3 --role workers --no-verify -y "${CLUSTER_WAY[@]}" || diag "$(tail -c 3000 "$TMP/.err")"
is "$(one 'scontrol show topology | sed "s/ *Level=\([0-9]\).*Nodes=\([^ ]*\).*/ \1 \2/"')" "SwitchName=machine1 0 train-1
SwitchName=machine2 0 train-[2-3]
SwitchName=all 1 train-[1-3]" "machines are switches for Slurm" || diag "$(one 'scontrol show topology; cat /etc/slurm/topology.conf')"
all_idle() { is_node train-1 "$HEALTHY" && is_node train-2 "$HEALTHY" && is_node train-3 "$HEALTHY"; }
ok "(all of them are idle)" wait_for 60 all_idle || says
is "$(one 'cd /root && timeout 60 srun -N2 hostname | sort | xargs')" "train-2 train-3" "a job that fits on one machine runs there" || says

# With a whole node well, Slurm's commands are not called around a job, as its pages ask.
in_node train-2 'for c in sinfo scontrol; do printf "#!/bin/sh\necho \$0 >>/run/called\n" >/usr/local/bin/$c; chmod 755 /usr/local/bin/$c; done; PATH=/usr/local/bin:$PATH; sed "s,^PATH=,PATH=/usr/local/bin:," /usr/local/sbin/nanopod-healthcheck >/run/look; SLURM_JOB_ID=1 SLURMD_NODENAME=train-2 sh /run/look; rm /usr/local/bin/sinfo /usr/local/bin/scontrol'
is "$(in_node train-2 'cat /run/called 2>/dev/null')" "" "around a job on a node that is well it calls no command of Slurm"
done_testing
