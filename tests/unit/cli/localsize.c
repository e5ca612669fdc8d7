/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes of `nanopod local` are promised: all of them fit on this machine. */
#include "cli/local/localmarket.h"

#include "../../lib/tap.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static struct localtype sized(int64_t vcpus, int64_t memory, int64_t disk, long nodes)
{
	struct localtype t = { .name = "cpu" };

	localmarket_size(&t, &(struct model_sizes){ vcpus, memory, disk, 0 }, nodes);
	return t;
}

int main(void)
{
	struct localtype t = sized(2, GIB, 20 * GIB, 4);
	int wrong = 0;

	ok(t.vcpus == 1 && t.overcommit == 2 && t.memory == 256 * MIB && t.disk == 2 * GIB,
		"two cores and 2 GiB, four nodes");
	t = sized(16, 60 * GIB, 900 * GIB, 4);
	ok(t.vcpus == 4 && !t.overcommit && t.memory == 15 * GIB && t.disk == 32 * GIB, "a workstation");
	t = sized(-1, -1, -1, 4);
	ok(!t.vcpus && !t.overcommit && !t.memory && !t.disk,
		"a machine that does not say what it has promises nothing");
	t = sized(1, 100 * MIB, GIB, 32);
	ok(!t.vcpus && !t.overcommit && !t.memory && !t.disk, "nor one that is too small");
	for (int64_t cores = 0; cores < 40; cores++)
		for (long nodes = 1; nodes <= 32; nodes++) {
			int64_t memory = cores * 700 * MIB, disk = cores * 3 * GIB;

			t = sized(cores, memory, disk, nodes);
			wrong += t.vcpus * nodes > cores * (t.overcommit ? t.overcommit : 1) || t.overcommit > 16 ||
				t.memory * nodes > memory || t.disk * nodes > disk;
		}
	is_int(wrong, 0, "no machine promises more than it has");
	return done();
}
