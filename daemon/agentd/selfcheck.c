/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/selfcheck.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/device/gpu_slices.h"
#include "agentd/machine/capacity.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/probe.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { DEADLINE_MS = 30000, AGAIN_MS = 5000, INVENTORY_MS = 6 * 3600 * 1000, WEEK_MS = 7 * 24 * 3600 * 1000 };

/* The market believes that a machine has less when it still has ten minutes later. */
enum { SHRANK_MS = 11 * 60 * 1000 };

static int selfcheck_read_inventory(void *arg, struct buf *out, struct fail *f)
{
	const struct selfcheck *c = arg;
	struct inventory_setup setup = { .root = c->sysfs_root, .data = c->data };
	struct inventory *v = NULL;
	int turn, rc;

	drivers_tell(c->driver, &c->terms, &setup);
	rc = gpu_turn_look(c->data, 0, &turn, f);
	if (rc)
		return rc;
	rc = inventory_read(&setup, &v);
	if (turn >= 0)
		close(turn);
	if (!rc && c->data) /* before the market can sell them */
		rc = gpu_slices_keep(c->data, v, f);
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
	int turn, rc = gpu_turn_look(c->data, 0, &turn, f);

	/* While a GPU is reset, the log and the rest are looked at all the same. */
	if (rc)
		setup.nvml = "";
	health_check(&setup, &report);
	if (rc)
		health_keep(&c->report, &report);
	if (turn >= 0)
		close(turn);
	if (c->probing)
		probe_run(c->data, c->probing == PROBE_LONG, &report);
	return buf_add(out, &report, sizeof report);
}

/* For 'nanopod-agentd status'. Not knowing it is no reason to stop. */
static void selfcheck_save_probe(const struct selfcheck *c, const struct health_finding *found)
{
	char path[STATEFILE_PATH];
	struct fail f;

	if (statefile_path(path, c->data, "probe.json", NULL) == 0)
		statefile_json(path,
			json_pack("{s:I, s:b, s:b, s:s}", "at", (json_int_t)time(NULL), "passed", (int)!found, "long",
				(int)(c->probing == PROBE_LONG), "text", found ? found->text : ""),
			&f);
}

/* What failed is tried again with each look, until it passes. */
static void selfcheck_take_probe(struct selfcheck *c, const struct health_report *r)
{
	const struct health_finding *found = probe_failed(r);

	selfcheck_save_probe(c, found);
	if (c->probing == PROBE_LONG)
		c->week_due_ms = clock_ms() + WEEK_MS;
	if (!found && !c->probe_again)
		c->probe = PROBE_NONE;
}

static void selfcheck_take_health(struct selfcheck *c)
{
	struct health_report now = c->report;

	if (!c->job.rc && c->job.said.len == sizeof now) {
		memcpy(&now, c->job.said.data, sizeof now);
		if (c->probing)
			selfcheck_take_probe(c, &now);
	} else if (!now.count || strcmp(now.list[now.count - 1].check, "check") != 0) {
		/* What was wrong before still is, as far as anybody knows. */
		health_found(&now, HEALTH_DEGRADED, "check", "", "", "cannot check the machine's health: %.160s",
			c->job.fail.text);
	}
	c->known = true;
	c->health_new |= now.health != c->report.health || now.count != c->report.count;
	c->report = now;
	health_message(&now, c->message, sizeof c->message);
}

static void selfcheck_take(struct selfcheck *c)
{
	if (!c->inventories) {
		selfcheck_take_health(c);
	} else if (!c->job.rc) {
		char *before = c->inventory;

		c->inventory = buf_steal(&c->job.said);
		if (capacity_shrank(before, c->inventory))
			c->inventory_due_ms = clock_ms() + SHRANK_MS;
		free(before);
		c->inventory_new = c->inventory != NULL;
	}
	if (c->inventories && c->job.rc == -EBUSY) /* a GPU was being reset */
		c->inventory_due_ms = clock_ms() + AGAIN_MS;
	job_release(&c->job, c->loop);
}

static void selfcheck_begin(struct selfcheck *c, bool inventories)
{
	struct fail f;

	c->inventories = inventories;
	c->probing = inventories ? PROBE_NONE : c->probe;
	c->probe_again = c->probe_again && inventories;
	if (job_begin(&c->job, c->loop, c->watch_kind, DEADLINE_MS,
		    inventories ? selfcheck_read_inventory : selfcheck_read_health, c, &f) != 0)
		c->job.pid = 0; /* try again next time */
	if (inventories)
		c->inventory_due_ms = clock_ms() + INVENTORY_MS;
	else
		c->health_due_ms = clock_ms() + c->health_ms;
}

void selfcheck_probe(struct selfcheck *c)
{
	if (!c->probe)
		c->probe = PROBE_SHORT;
	c->probe_again = true; /* one under way began before this */
	c->health_due_ms = 0;
}

int64_t selfcheck_turn(struct selfcheck *c)
{
	if (!c->week_due_ms)
		c->week_due_ms = clock_ms() + WEEK_MS;
	if (c->idle && c->week_due_ms <= clock_ms())
		c->probe = PROBE_LONG;
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
