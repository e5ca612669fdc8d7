/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/selfcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentd/machine/inventory.h"
#include "base/clock.h"

enum { DEADLINE_MS = 30000, INVENTORY_MS = 6 * 3600 * 1000 };

static int selfcheck_read_inventory(void *arg, struct buf *out, struct fail *f)
{
	const struct selfcheck *c = arg;
	struct inventory_setup setup = { .root = c->sysfs_root };
	struct inventory *v = NULL;
	int rc = inventory_read(&setup, &v);

	if (!rc)
		rc = inventory_json(v, out);
	free(v);
	return rc ? fail_errno(f, rc, -rc, "cannot read the inventory") : 0;
}

/* The child is this program's, so the report comes back as it is in memory. */
static int selfcheck_read_health(void *arg, struct buf *out, struct fail *f)
{
	const struct selfcheck *c = arg;
	struct health_setup setup = { .root = c->sysfs_root,
		.data = c->data,
		.kmsg = c->kmsg,
		.clock_known = c->clock->learnt && !c->clock->stands && !c->clock->file,
		.market_now = wallclock_now(c->clock),
		.local_now = time(NULL) };
	struct health_report report = { 0 };

	(void)f;
	health_check(&setup, &report);
	return buf_add(out, &report, sizeof report);
}

static void selfcheck_take_health(struct selfcheck *c)
{
	struct health_report now = { 0 };

	if (!c->job.rc && c->job.said.len == sizeof now)
		memcpy(&now, c->job.said.data, sizeof now);
	else
		health_found(&now, HEALTH_DEGRADED, "check", "", "", "cannot check the machine's health: %.160s",
			c->job.fail.text);
	c->health_new |= now.health != c->report.health || now.count != c->report.count;
	c->report = now;
	health_message(&now, c->message, sizeof c->message);
}

static void selfcheck_take(struct selfcheck *c)
{
	if (!c->inventories) {
		selfcheck_take_health(c);
	} else if (!c->job.rc) {
		free(c->inventory);
		c->inventory = buf_steal(&c->job.said);
		c->inventory_new = c->inventory != NULL;
	}
	job_release(&c->job, c->loop);
}

static void selfcheck_begin(struct selfcheck *c, bool inventories)
{
	struct fail f;

	c->inventories = inventories;
	if (job_begin(&c->job, c->loop, c->watch_kind, DEADLINE_MS,
		    inventories ? selfcheck_read_inventory : selfcheck_read_health, c, &f) != 0)
		c->job.pid = 0; /* try again next time */
	if (inventories)
		c->inventory_due_ms = clock_ms() + INVENTORY_MS;
	else
		c->health_due_ms = clock_ms() + c->health_ms;
}

int64_t selfcheck_turn(struct selfcheck *c)
{
	if (c->job.pid && job_ended(&c->job, c->loop))
		selfcheck_take(c);
	if (!c->job.pid && c->inventory_due_ms <= clock_ms())
		selfcheck_begin(c, true);
	else if (!c->job.pid && c->health_due_ms <= clock_ms())
		selfcheck_begin(c, false);
	if (c->job.pid)
		return c->job.due_ms;
	return c->inventory_due_ms < c->health_due_ms ? c->inventory_due_ms : c->health_due_ms;
}

void selfcheck_release(struct selfcheck *c)
{
	if (c->job.pid)
		job_release(&c->job, c->loop);
	free(c->inventory);
	c->inventory = NULL;
}
