/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/sharecheck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentd/console.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { SHARE_LOOK_MS = 2000, SHARE_GRACE_MS = 6000, SHARE_DEADLINE_MS = 20000, SHARE_LINE = 240, SHARE_FAILS = 3 };

static const int64_t share_mib = 1 << 20;

static int sharecheck_look(void *arg, struct buf *out, struct fail *f)
{
	const struct sharecheck *c = arg;
	const struct driver_setup *s = c->workers->setup;

	return gpu_holders_watch(s->data, s->sysfs_root, c->list, c->count, SHARE_GRACE_MS, out, f);
}

static void sharecheck_say(const struct sharecheck *c, const struct gpu_excess *x)
{
	char path[STATEFILE_PATH], text[SHARE_LINE];

	if (x->ended)
		snprintf(text, sizeof text,
			"%s ended: it held %" PRId64 " MiB of the GPU, and this node bought %" PRId64 " MiB", x->name,
			x->freed / share_mib, x->may / share_mib);
	else
		snprintf(text, sizeof text,
			"this node holds %" PRId64 " MiB of the GPU and bought %" PRId64
			" MiB; free the rest, or its largest process ends in %d s",
			x->holds / share_mib, x->may / share_mib, SHARE_GRACE_MS / 1000);
	log_at(c->workers->log, LOG_WARN, "%s: GPU at %s: %s", x->node, x->address, text);
	if (roster_find(c->workers->roster, x->node) &&
		workers_path(c->workers, x->node, "console", path, sizeof path) == 0)
		console_note(path, text);
}

static bool sharecheck_is_new(const struct sharecheck *c, const struct gpu_excess *x)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->list[i].node, x->node) == 0 && strcmp(c->list[i].address, x->address) == 0)
			return false;
	return true;
}

/* "": the look was good, or nobody needs one. */
static void sharecheck_found(struct sharecheck *c, const char *why)
{
	char message[SHARECHECK_MESSAGE] = "";

	if (*why && strncmp(c->why, why, sizeof c->why - 1) != 0)
		log_at(c->workers->log, LOG_ERROR, "cannot watch the memory of GPUs that nodes share: %s", why);
	snprintf(c->why, sizeof c->why, "%.199s", why);
	c->fails = *why ? c->fails + 1 : 0;
	if (c->fails >= SHARE_FAILS)
		snprintf(message, sizeof message, "the agent cannot watch the memory of GPUs that nodes share: %s",
			c->why);
	c->news = c->news || strcmp(c->message, message) != 0;
	memcpy(c->message, message, sizeof c->message);
}

/* After a look that died or was late, nodes are as they were: who held too much has no more time for that. */
static void sharecheck_take(struct sharecheck *c)
{
	const struct gpu_excess *found = (const void *)c->job.said.data;
	size_t count = c->job.said.len / sizeof *found;

	sharecheck_found(c, c->job.rc ? c->job.fail.text : "");
	count = count > SHARECHECK_MOST ? SHARECHECK_MOST : count;
	for (size_t i = 0; i < count; i++)
		if (found[i].ended || sharecheck_is_new(c, &found[i]))
			sharecheck_say(c, &found[i]);
	if (count)
		memcpy(c->list, found, count * sizeof *found);
	if (c->job.complete)
		c->count = count;
	job_release(&c->job, c->workers->loop);
	c->due_ms = clock_ms() + SHARE_LOOK_MS;
}

static bool sharecheck_any(const struct sharecheck *c)
{
	const struct roster *r = c->workers->roster;

	for (size_t i = 0; i < r->count; i++)
		if (r->nodes[i]->contract.gpu_parts)
			return true;
	return false;
}

int64_t sharecheck_turn(struct sharecheck *c)
{
	struct fail f = { 0 };

	if (c->job.pid && job_ended(&c->job, c->workers->loop))
		sharecheck_take(c);
	if (c->job.pid)
		return c->job.due_ms;
	if (!sharecheck_any(c)) {
		c->count = 0;
		sharecheck_found(c, "");
		return INT64_MAX;
	}
	if (c->due_ms > clock_ms())
		return c->due_ms;
	if (job_begin(&c->job, c->workers->loop, c->watch_kind, SHARE_DEADLINE_MS, sharecheck_look, c, &f) == 0)
		return c->job.due_ms;
	c->job.pid = 0;
	sharecheck_found(c, f.text);
	return c->due_ms = clock_ms() + SHARE_LOOK_MS;
}

void sharecheck_release(struct sharecheck *c)
{
	if (c->job.pid)
		job_release(&c->job, c->workers->loop);
}
