/* SPDX-License-Identifier: Apache-2.0 */
/* A node that ran and whose volume cannot be had waits, however long, also across reboots, and does not fail for it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agentd/os/wipe.h"
#include "agentd/workers.h"
#include "base/loop.h"

#include "../../lib/tap.h"

enum { MORE = 3 };

static char data[] = "/tmp/nanopod-waits.XXXXXX";
static int says; /* what a start comes to */

static int driver_start(const struct node_spec *n, struct fail *f)
{
	(void)n;
	return says ? fail_set(f, says, "no start") : 0;
}

static void unheard(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* Starts, as often as that; a look says each time that it does not run. */
static enum life started(struct workers *c, int times, int rc)
{
	struct node *n = c->roster->nodes[0];

	says = rc;
	while (times--) {
		n->is = NODE_STOPPED;
		n->is_known = true;
		n->due_ms = 0;
		c->look_due_ms = INT64_MAX;
		workers_turn(c);
		for (c->look_due_ms = INT64_MAX; c->children[0].job.pid; c->look_due_ms = INT64_MAX) {
			loop_wait(c->loop, 100);
			n->due_ms = INT64_MAX;
			workers_turn(c);
		}
	}
	n->is_known = true;
	n->is = NODE_STOPPED;
	n->due_ms = INT64_MAX;
	c->look_due_ms = INT64_MAX;
	workers_turn(c);
	return n->life;
}

/* As after a reboot, before the market's word. */
static void reboot(struct workers *c)
{
	roster_release(c->roster);
	if (roster_load(c->roster, "fake", NULL) != 0 || c->roster->count != 1)
		exit(99);
}

static void fresh(struct workers *c, enum life life)
{
	struct node *n = node_new("inst_a");

	if (!n)
		exit(99);
	roster_release(c->roster);
	snprintf(n->driver, sizeof n->driver, "fake");
	n->life = life;
	node_folder(data, n->id, NULL);
	node_save(data, n, NULL);
	node_free(n);
	reboot(c);
}

int main(void)
{
	const struct driver fake = { .name = "fake", .create = driver_start, .start = driver_start };
	const struct driver *const all[] = { &fake, NULL };
	struct log log = { .sink = unheard, .level = LOG_DEBUG };
	struct driver_setup setup = { .data = data, .sysfs_root = data };
	struct roster roster = { .data = data, .log = &log, .setup = &setup };
	struct wallclock clock = { 0 };
	static struct workers c;

	plan_none;
	c = (struct workers){ .log = &log,
		.all = all,
		.setup = &setup,
		.roster = &roster,
		.clock = &clock,
		.driver = &fake,
		.child_count = 1 };
	if (!mkdtemp(data) || loop_new(&c.loop) != 0 || roster_load(&roster, "fake", NULL) != 0) /* makes nodes/ */
		exit(99);
	fresh(&c, LIFE_RUNNING);
	is_str(life_word(started(&c, RECONCILE_TRIES + MORE, -EAGAIN)), "ready",
		"after a reboot a node that ran waits for its volume, longer than one is tried");
	reboot(&c);
	is_str(life_word(started(&c, RECONCILE_TRIES + MORE, -EAGAIN)), "ready", "also across another reboot");
	is_str(life_word(started(&c, RECONCILE_TRIES - 1, -EIO)), "ready",
		"what else fails then is tried as often as ever");
	is_str(life_word(started(&c, 1, -EIO)), "failed", "and not longer");
	fresh(&c, LIFE_READY);
	is_str(life_word(started(&c, RECONCILE_TRIES, -EAGAIN)), "failed", "one that never ran fails");

	workers_release(&c);
	roster_release(&roster);
	loop_free(c.loop);
	wipe_folder(data, NULL, NULL);
	rmdir(data);
	return done();
}
