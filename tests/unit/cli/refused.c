/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of jobs that no node helps: none is bought for the next of that kind, whatever it is called. */
#include <string.h>

#include "cli/autoscale/scale.h"

#include "../../lib/tap.h"

enum { NOW = 1000000, HOUR = 3600 };

static const struct scale_shape shape = { .cpus = 4000, .memory_mb = 4000, .gpus = 2 };
static struct scale_node node = { .place = SCALE_SERVES };
static const struct scale_world world = { .nodes = &node, .count = 1 };
static struct scale_refusals first, second, many;

static bool refuses(struct scale_refusals *r, const char *name, int64_t memory, int64_t gpus, int64_t now)
{
	struct scale_job j = { .nodes = 1, .cpus = 500, .memory_mb = memory, .gpus = gpus };

	snprintf(j.id, sizeof j.id, "%s", name);
	return scale_refuses(r, &world, &shape, &j, now);
}

static void test_kinds(void)
{
	node.quiet_ms = 20000;
	ok(!refuses(&first, "x/a-1", 10, 0, NOW), "a node that is free for a moment says nothing");
	node.quiet_ms = 40000;
	ok(refuses(&first, "x/a-1", 10, 0, NOW), "beside one that is free for long a pod is refused");
	ok(!refuses(&first, "x/g-1", 10, 1, NOW), "one with a GPU not yet, as its driver may still start");
	ok(!refuses(&first, "x/large", 9000, 0, NOW), "nor one that fits on no such node");
	node.quiet_ms = 0;
	ok(refuses(&first, "x/a-2", 10, 0, NOW + 60), "when it is gone, no other is bought for the next of that kind");
	ok(!refuses(&first, "x/b-1", 20, 0, NOW) && !refuses(&first, "y/a-1", 10, 0, NOW),
		"for one that asks for more, and for others', it is");
	node.quiet_ms = 16 * 60000;
	ok(refuses(&first, "x/g-1", 10, 1, NOW), "a GPU is waited for a quarter of an hour");
}

static void test_kept(void)
{
	struct buf out;
	char *rest;

	buf_init(&out, 1 << 20);
	ok(!scale_refusals_write(&first, "refused", &out), "it is written");
	rest = out.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));)
		scale_refusals_read(&second, "refused", line);
	buf_release(&out);
	node.quiet_ms = 0;
	ok(second.count == 2 && refuses(&second, "x/a-9", 10, 0, NOW + 60), "and the next loop knows it");
	ok(!scale_refusals_read(&second, "refused", "i-1 2 3 4 0") &&
			!scale_refusals_read(&second, "refused", "refused x"),
		"other lines are not its own");
	ok(!refuses(&second, "x/a-9", 10, 0, NOW + HOUR), "after an hour one more node is tried");
	node.quiet_ms = 40000;
	ok(refuses(&second, "x/a-9", 10, 0, NOW + HOUR), "if that does not help");
	node.quiet_ms = 0;
	ok(refuses(&second, "x/a-9", 10, 0, NOW + 3 * HOUR - 1) && !refuses(&second, "x/a-9", 10, 0, NOW + 3 * HOUR),
		"it is refused for twice as long");
	scale_refusals_forget(&second, NOW + 26 * HOUR);
	is_int(second.count, 1, "what has not been refused for a day is forgotten");
}

static void test_many(void)
{
	node.quiet_ms = 40000;
	for (int i = 0; i < SCALE_REFUSALS; i++)
		refuses(&many, "z/many", 100 + i, 0, NOW);
	ok(refuses(&many, "z/more", 10, 0, NOW), "more kinds than are remembered are refused, too");
	node.quiet_ms = 0;
	ok(refuses(&many, "z/more", 20, 0, NOW), "also beside no node");
	scale_refusals_forget(&many, NOW + 26 * HOUR);
	ok(!refuses(&many, "z/more", 20, 0, NOW + 26 * HOUR), "until some are forgotten");
}

int main(void)
{
	plan_none;
	test_kinds();
	test_kept();
	test_many();
	return done();
}
