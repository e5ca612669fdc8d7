/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as Slurm tells them, how many nodes they need, what is done first; tests/sim/autoscale.c has the decisions. */
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

	ok(j.nodes == 1 && j.cpus == 1000 && j.memory_mb == 100 && !j.gpus && !j.whole && !j.never, "a small one");
	is_str(j.id, "1", "its id");
	j = job("2|2|cpu=2,mem=200M,node=2,billing=2|gres:gpu:8|N/A|OK|ReqNodeNotAvail, UnavailableNodes:t-[1-3]|");
	ok(j.nodes == 2 && j.gpus == 16, "GPUs of each node");
	j = job("4|1|cpu=1,mem=1.50G,node=1|gres:gpu:h100:2|N/A|NO|None|");
	ok(j.gpus == 2 && j.whole && j.memory_mb == 1536, "with a model, alone on its node");
	j = job("8|1|cpu=1,mem=100M,node=1|N/A|gres:gpu:3|OK|None|");
	ok(j.gpus == 3, "GPUs of the job");
	ok(job("6|4|cpu=4,mem=400M,node=4|N/A|N/A|OK|PartitionNodeLimit|").never, "more nodes than its partition has");
	ok(job("7_3|1|cpu=1,mem=100M,node=1|N/A|N/A|OK|Priority|").nodes == 1, "one of an array");
	j = job("default/web-0|1|cpu=500m,mem=128M|gpu:1||OK|");
	ok(j.cpus == 500 && j.memory_mb == 128 && j.gpus == 1, "a pod of half a CPU");
	is_str(j.id, "default/web-0", "its name");
	ok(job("a/b|1|cpu=0m,mem=0M|gpu:0||OK|").cpus == 0, "a pod that asks for nothing");
	ok(job("").nodes < 0 && job("1|x|y").nodes < 0 && job("1|0|cpu=1|N/A|N/A|OK|None|").nodes < 0, "what is none");
}

static void test_shape(void)
{
	struct scale_shape s = { 0 };
	struct fail f = { 0 };

	ok(!scale_shape("CPUs=16 RealMemory=60000 Gres=gpu:h100:8", &s, &f) && s.cpus == 16000 &&
			s.memory_mb == 60000 && s.gpus == 8,
		"what a node has");
	ok(!scale_shape("CPUs=2 Sockets=1 RealMemory=400", &s, &f) && s.cpus == 2000 && s.gpus == 0, "without GPUs");
	ok(scale_shape("RealMemory=400", &s, &f) < 0, "without CPUs");
	has_str(f.text, "expected 'CPUs=16 RealMemory=60000'", "is refused");
}

static void test_pack(void)
{
	static const struct scale_shape shape = { .cpus = 4000, .memory_mb = 4000, .gpus = 2 };
	const struct scale_job small = { "1", 1, 1000, 100, 0, false, false },
			       gpu = { "2", 1, 1000, 100, 2, false, false },
			       wide = { "3", 3, 3000, 300, 0, true, false },
			       large = { "4", 1, 5000, 100, 0, false, false },
			       never = { "5", 9, 9000, 900, 0, false, false };
	struct scale_job jobs[9];
	struct scale_need need;

	for (size_t i = 0; i < 9; i++)
		jobs[i] = small;
	scale_pack("job", jobs, 9, &shape, 0, 8, 8, &need);
	ok(need.more == 3 && need.jobs == 9, "nine jobs of a CPU need three nodes of four");
	scale_pack("job", jobs, 9, &shape, 2, 8, 8, &need);
	ok(need.more == 1 && need.taken == 2 && need.jobs == 1, "one, where two are free");
	scale_pack("job", jobs, 9, &shape, 5, 8, 8, &need);
	ok(need.more == 0 && need.taken == 3, "none, where five are free, of which three are filled");
	scale_pack("job", (struct scale_job[]){ gpu, gpu, small }, 3, &shape, 0, 8, 8, &need);
	ok(need.more == 2, "all GPUs of two nodes; a job without one goes beside");
	scale_pack("job", (struct scale_job[]){ wide, small }, 2, &shape, 0, 2, 8, &need);
	ok(need.more == 1 && need.jobs == 2, "a job that does not get all of its nodes gets none");
	scale_pack("job", (struct scale_job[]){ wide, small }, 2, &shape, 0, 8, 8, &need);
	ok(need.more == 4, "nobody shares a node with one that is alone");
	scale_pack("job", (struct scale_job[]){ large, never }, 2, &shape, 0, 8, 8, &need);
	ok(need.more == 0 && need.unfit == 2 && need.jobs == 0, "nothing is bought for what can never run");
	has_str(need.why[0], "job 4 asks for more than a node has: 4 CPUs", "which is said");
	has_str(need.why[1], "job 5 asks for 9 nodes, and the cluster has at most 8", "of either");
}

enum { LEAD = 600, END = 100000 };

/* Two nodes that end together, of which one works and one is idle, and a third that joins. */
static void test_order(void)
{
	static struct scale_plan p;
	struct scale_node nodes[] = { { .place = SCALE_SERVES, .member = true, .busy = true, .end = END },
		{ .place = SCALE_SERVES, .member = true, .end = END, .quiet_ms = 1000 },
		{ .place = SCALE_UP, .end = END + 9000 } };
	struct scale_world w = { .limits = { .max = 4, .idle_ms = 60000, .lead = LEAD, .budget = 100 },
		.price = { .asked = true, .fills = true, .cost = 60 },
		.now = END - LEAD,
		.need = { .taken = 1 },
		.nodes = nodes,
		.count = 3 };

	scale_decide(&w, &p);
	ok(p.count == 3 && p.steps[0].verb == SCALE_EXTEND && p.steps[1].verb == SCALE_JOIN &&
			p.steps[2].verb == SCALE_GIVE_BACK,
		"one goes on, one joins, one goes");
	ok(scale_hurries(&w, &p), "the idle one goes before the other joins");
	is_int(scale_extension(&w, &p, END), -1, "and before what ends with it is extended");
	w.now = END - LEAD / 2 + 1;
	scale_decide(&w, &p);
	is_int(scale_extension(&w, &p, END), 0, "but a node that works does not wait for it to the end");
	ok(scale_at_once(&w, &p, 2, END) && !scale_at_once(&w, &p, 0, END) && !scale_at_once(&w, &p, 2, END + 1),
		"nor is the idle one extended with it: it goes at once, and is forgotten later");
	nodes[1].place = SCALE_OVER;
	ok(!scale_at_once(&w, &p, 2, END), "once");
	nodes[1].place = SCALE_SERVES;
	nodes[1].busy = true;
	scale_decide(&w, &p);
	ok(p.steps[0].verb == SCALE_EXTEND && p.steps[1].verb == SCALE_DRAIN, "the budget covers one of two");
	is_int(scale_extension(&w, &p, END), 1, "which is extended alone");
	ok(!scale_hurries(&w, &p), "and the third joins");
	w.limits.budget = 120;
	scale_decide(&w, &p);
	is_int(scale_extension(&w, &p, END), 0, "all, where the budget covers them");
}

/* More nodes come and go than can be remembered. */
static void test_seen(void)
{
	static struct scale_seen list[SCALE_NODES];
	struct scale_node nodes[3] = { { .id = "first" }, { .id = "second" } };
	struct scale_world w = { .nodes = nodes, .count = 3 };
	bool kept = true, one = true;
	size_t count = 0;

	scale_seen(list, &count, &w, "first")->failed = 1;
	scale_seen(list, &count, &w, "second")->failed = 2;
	for (int i = 0; i < 2 * SCALE_NODES; i++) {
		snprintf(nodes[2].id, sizeof nodes[2].id, "inst_%d", i);
		one &= scale_seen(list, &count, &w, nodes[2].id)->failed == 0;
		scale_seen(list, &count, &w, nodes[2].id)->failed = 7;
		one &= scale_seen(list, &count, &w, nodes[2].id)->failed == 7;
		kept &= scale_seen(list, &count, &w, "first")->failed == 1 &&
			scale_seen(list, &count, &w, "second")->failed == 2;
	}
	ok(one, "each new node is remembered");
	ok(kept, "and what is remembered of those that stay is not lost");
	is_int(count, SCALE_NODES, "in the room that there is");
}

/* Looks six hours apart. */
static void test_rare(void)
{
	struct scale_node n = { .place = SCALE_SERVES, .blind = true };
	struct scale_seen s = { .id = "inst_1" }, was;
	struct buf b;

	buf_init(&b, 1000);
	scale_since(&s, &n, 1000);
	ok(!scale_seen_write(&s, 1000, &b) && scale_seen_read(buf_text(&b), 1000, false, &was), "a line of its file");
	scale_since(&was, &n, 1000 + 6 * 3600000);
	is_int(n.blind_ms, 6 * 3600000, "a node that does not say who uses it has not for all of the time between");
	is_int(n.quiet_ms, 0, "which is no idle time");
	buf_release(&b);
}

/* The clock begins anew with the machine: what was before has times below 0. */
static void test_reboot(void)
{
	struct scale_node n = { .place = SCALE_SERVES, .busy = true };
	struct scale_seen s = { .id = "inst_1", .served = true, .failed = 2, .joined_ms = 4000 }, was;
	struct buf b;

	buf_init(&b, 1000);
	scale_since(&s, &n, 5000000);
	s.joined_ms = s.heard_ms = 4000000;
	ok(!scale_seen_write(&s, 5000000, &b) && scale_seen_read(buf_text(&b), 30000, true, &was),
		"a line that is older than the clock");
	ok(was.used && was.served, "a node that was used and took jobs is known as that");
	is_int(scale_for(was.heard_ms, 40000), 1010000, "and for how long its manager has not answered");
	buf_clear(&b);
	ok(!scale_seen_write(&s, 5000000, &b) && scale_seen_read(buf_text(&b), 1000000, true, &was),
		"at the moment at which the clock began");
	is_int(scale_for(was.heard_ms, 1000001), 1000000, "it is so, too");
	buf_release(&b);
}

static void test_gaps(void)
{
	is_int(scale_gap((int64_t[]){ 72000, 300, 300 }, 15), 300, "one late look does not make a timer slow");
	is_int(scale_gap((int64_t[]){ 72000, 300, 0 }, 15), 300, "nor the third one of all");
	is_int(scale_gap((int64_t[]){ 72000, 0, 0 }, 15), 15, "nor the second");
	is_int(scale_gap((int64_t[]){ 300, 72000, 300 }, 15), 300, "nor the one after it");
	is_int(scale_gap((int64_t[]){ 60, 1200, 1200 }, 15), 1200, "one in between does not make it fast");
	is_int(scale_gap((int64_t[]){ 1140, 60, 1200 }, 15), 1140, "nor the next one");
	is_int(scale_gap((int64_t[]){ 60, 60, 60 }, 1800), 1800, "what was said is the least");
}

static void test_members(void)
{
	static struct scale_plan p;
	struct scale_node nodes[3] = { { .name = "train-auto-0", .place = SCALE_SERVES, .end = END } };
	struct scale_world w = { .limits = { .max = 4, .min = 1 }, .nodes = nodes, .count = 1 };

	ok(scale_member(&w, "train-auto-0", true) && w.count == 1 && nodes[0].member, "a member that serves");
	ok(!scale_member(&w, "train-auto-1", true) && w.count == 1,
		"one that runs in another reservation is left alone");
	ok(scale_member(&w, "train-auto-2", false) && w.count == 2 && nodes[1].place == SCALE_OVER, "one has ended");
	scale_decide(&w, &p);
	ok(p.count == 1 && p.steps[0].verb == SCALE_FORGET && p.steps[0].node == 1, "which alone is forgotten");
}

static struct scale_node has_room(int64_t cpus, bool busy)
{
	return (struct scale_node){ .place = SCALE_SERVES, .busy = busy, .room = { .cpus = cpus, .memory_mb = 100 } };
}

/* Which of three nodes stay busy, as "101"; each has a job of 400m that may be moved, where it is not 0. */
static const char *moves(struct scale_node nodes[3], const char *has, int64_t other, struct scale_refusals *moved)
{
	static char busy[4];
	struct scale_move list[3];
	struct scale_shape room = { .cpus = other, .memory_mb = 100 };
	struct scale_world w = { .nodes = nodes, .count = 3, .moves = list, .rooms = &room, .room_count = 1 };

	for (size_t i = 0; i < 3; i++)
		if (has[i] != '0')
			list[w.move_count++] = (struct scale_move){ .node = i,
				.job = { .id = "x/a", .nodes = 1, .cpus = 400 } };
	scale_moves(&w, moved, 1000);
	for (size_t i = 0; i < 3; i++)
		busy[i] = nodes[i].busy ? '1' : '0';
	scale_moved(&w, 0, moved, 1000);
	return busy;
}

static void test_moves(void)
{
	static struct scale_refusals none, moved;
	struct scale_node empty[3] = { has_room(100, false), has_room(1000, false), has_room(1000, false) },
			  beside[3] = { has_room(100, false), has_room(1000, true), has_room(1000, false) },
			  each[3] = { has_room(600, false), has_room(600, false), has_room(100, false) },
			  elsewhere[3] = { has_room(600, false), has_room(600, false), has_room(600, false) },
			  again[3] = { has_room(600, false), has_room(600, true), has_room(600, false) };

	is_str(moves(empty, "100", 0, &none), "100", "a job stays where others are only free");
	is_str(moves(beside, "100", 0, &moved), "010", "it goes to one that is in use");
	is_str(moves(again, "100", 0, &moved), "110", "and not at once again");
	none.count = 0;
	is_str(moves(each, "111", 0, &none), "011", "of three one goes, and the others have no room");
	none.count = 0;
	is_str(moves(elsewhere, "111", 800, &none), "001", "two go to a node that was not bought, the third stays");
}

int main(void)
{
	test_moves();
	test_jobs();
	test_shape();
	test_pack();
	test_order();
	test_seen();
	test_gaps();
	test_rare();
	test_reboot();
	test_members();
	return done();
}
