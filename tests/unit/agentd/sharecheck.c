/* SPDX-License-Identifier: Apache-2.0 */
/* A look at who holds memory of shared GPUs that tells nothing changes nothing: nobody is warned anew. */
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "agentd/device/gpu_book.h"
#include "agentd/sharecheck.h"
#include "inventorytree.h"

static int warned;

static void hear(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	warned += strstr(text, "this node holds") != NULL;
}

/* Until the look that runs is over. */
static void finish(struct sharecheck *c)
{
	for (; c->job.pid; sharecheck_turn(c))
		loop_wait(c->workers->loop, 100);
}

int main(void)
{
	struct log log = { .sink = hear, .level = LOG_DEBUG };
	char data[] = "/tmp/nanopod-sharecheck.XXXXXX";
	struct driver_setup setup = { .data = data, .sysfs_root = data };
	struct node node = { .id = "inst_a", .contract = { .gpu_parts = 4 } }, *nodes[] = { &node };
	struct roster roster = { .data = data, .log = &log, .nodes = nodes, .count = 1 };
	struct workers workers = { .log = &log, .setup = &setup, .roster = &roster };
	static struct sharecheck c;
	int turn;

	plan_none;
	if (!mkdtemp(data) || loop_new(&workers.loop) != 0)
		exit(99);
	c = (struct sharecheck){ .workers = &workers, .count = 1, .list = { { .node = "inst_a", .since_ms = 1 } } };

	turn = gpu_book_turn(data, LOCK_EX, NULL); /* as while a GPU is reset, so the look waits */
	sharecheck_turn(&c);
	ok(c.job.pid > 0, "a look");
	kill(c.job.pid, SIGKILL);
	finish(&c);
	ok(*c.why, "that dies (%s)", c.why);
	ok(c.count == 1 && c.list[0].since_ms == 1, "leaves what was known");
	close(turn);

	tree_put(data, "gpus.json", "no book");
	c.due_ms = 0;
	sharecheck_turn(&c);
	finish(&c);
	has_str(c.why, "gpus.json", "one that cannot read which shares there are");
	ok(c.count == 1 && c.list[0].since_ms == 1, "does so, too");

	tree_put(data, "gpus.json", "{\"gpus\":[]}");
	c.due_ms = 0;
	sharecheck_turn(&c);
	finish(&c);
	is_int(c.count, 0, "one that found no share any more forgets it");
	is_int(warned, 0, "nobody was warned again");

	loop_free(workers.loop);
	tree_remove(data);
	return done();
}
