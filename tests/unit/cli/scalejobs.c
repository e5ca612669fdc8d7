/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as Slurm tells them, and how many nodes they need; tests/sim/autoscale.c has the decisions. */
#include "cli/autoscale/scale.h"

#include "../../lib/tap.h"

static struct scale_job job(const char *line)
{
	struct scale_job j = { .nodes = -1 };
	char room[300];

	snprintf(room, sizeof room, "%s", line);
	if (scale_job(room, &j))
		j.nodes = -1;
	return j;
}

/* As squeue of Slurm 22.05 printed them. */
static void test_jobs(void)
{
	struct scale_job j = job("1|1|cpu=1,mem=100M,node=1,billing=1|N/A|N/A|OK|Resources|");

	ok(j.nodes == 1 && j.cpus == 1 && j.memory_mb == 100 && !j.gpus && !j.whole && !j.never, "a small one");
	is_str(j.id, "1", "its id");
	j = job("2|2|cpu=2,mem=200M,node=2,billing=2|gres:gpu:8|N/A|OK|ReqNodeNotAvail, UnavailableNodes:t-[1-3]|");
	ok(j.nodes == 2 && j.gpus == 16, "GPUs of each node");
	j = job("4|1|cpu=1,mem=1.50G,node=1|gres:gpu:h100:2|N/A|NO|None|");
	ok(j.gpus == 2 && j.whole && j.memory_mb == 1536, "with a model, alone on its node");
	j = job("8|1|cpu=1,mem=100M,node=1|N/A|gres:gpu:3|OK|None|");
	ok(j.gpus == 3, "GPUs of the job");
	ok(job("6|4|cpu=4,mem=400M,node=4|N/A|N/A|OK|PartitionNodeLimit|").never, "more nodes than its partition has");
	ok(job("7_3|1|cpu=1,mem=100M,node=1|N/A|N/A|OK|Priority|").nodes == 1, "one of an array");
	ok(job("").nodes < 0 && job("1|x|y").nodes < 0 && job("1|0|cpu=1|N/A|N/A|OK|None|").nodes < 0, "what is none");
}

static void test_shape(void)
{
	struct scale_shape s = { 0 };
	struct fail f = { 0 };

	ok(!scale_shape("CPUs=16 RealMemory=60000 Gres=gpu:h100:8", &s, &f) && s.cpus == 16 && s.memory_mb == 60000 &&
			s.gpus == 8,
		"what a node has");
	ok(!scale_shape("CPUs=2 Sockets=1 RealMemory=400", &s, &f) && s.cpus == 2 && s.gpus == 0, "without GPUs");
	ok(scale_shape("RealMemory=400", &s, &f) < 0, "without CPUs");
	has_str(f.text, "expected 'CPUs=16 RealMemory=60000'", "is refused");
}

static void test_pack(void)
{
	static const struct scale_shape shape = { .cpus = 4, .memory_mb = 4000, .gpus = 2 };
	const struct scale_job small = { "1", 1, 1, 100, 0, false, false }, gpu = { "2", 1, 1, 100, 2, false, false },
			       wide = { "3", 3, 3, 300, 0, true, false }, large = { "4", 1, 5, 100, 0, false, false },
			       never = { "5", 9, 9, 900, 0, false, false };
	struct scale_job jobs[9];
	struct scale_need need;

	for (size_t i = 0; i < 9; i++)
		jobs[i] = small;
	scale_pack(jobs, 9, &shape, 0, 8, 8, &need);
	ok(need.more == 3 && need.jobs == 9, "nine jobs of a CPU need three nodes of four");
	scale_pack(jobs, 9, &shape, 2, 8, 8, &need);
	ok(need.more == 1 && need.taken == 2 && need.jobs == 1, "one, where two are free");
	scale_pack(jobs, 9, &shape, 5, 8, 8, &need);
	ok(need.more == 0 && need.taken == 3, "none, where five are free, of which three are filled");
	scale_pack((struct scale_job[]){ gpu, gpu, small }, 3, &shape, 0, 8, 8, &need);
	ok(need.more == 2, "all GPUs of two nodes; a job without one goes beside");
	scale_pack((struct scale_job[]){ wide, small }, 2, &shape, 0, 2, 8, &need);
	ok(need.more == 1 && need.jobs == 2, "a job that does not get all of its nodes gets none");
	scale_pack((struct scale_job[]){ wide, small }, 2, &shape, 0, 8, 8, &need);
	ok(need.more == 4, "nobody shares a node with one that is alone");
	scale_pack((struct scale_job[]){ large, never }, 2, &shape, 0, 8, 8, &need);
	ok(need.more == 0 && need.unfit == 2 && need.jobs == 0, "nothing is bought for what can never run");
	has_str(need.why[0], "job 4 asks for more than a node has: 4 CPUs", "which is said");
	has_str(need.why[1], "job 5 asks for 9 nodes, and the cluster has at most 8", "of either");
}

int main(void)
{
	test_jobs();
	test_shape();
	test_pack();
	return done();
}
