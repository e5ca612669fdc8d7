/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/powercheck.h"

#include <stdio.h>
#include <string.h>

#include "agentd/os/statefile.h"
#include "agentd/power/hold.h"
#include "base/clock.h"

enum { CHECK_MS = 10000, FRESH_MS = 1000, DEADLINE_MS = 180000 };

static int powercheck_apply(void *arg, struct buf *out, struct fail *f)
{
	const struct powercheck *c = arg;
	struct hold h = { .data = c->data, .root = c->sysfs_root };

	(void)out;
	return hold_apply(&h, f);
}

/* For `status`, which another process runs. */
static void powercheck_write(const struct powercheck *c)
{
	char path[STATEFILE_PATH];
	struct fail f = { 0 };

	if (statefile_path(path, c->data, "power-state.json", NULL) == 0 &&
		statefile_json(path, json_pack("{s:b, s:s}", "holds", c->holds, "message", c->message), &f) != 0)
		log_at(c->log, LOG_WARN, "%s", f.text);
}

static void powercheck_become(struct powercheck *c, bool holds, const char *why)
{
	bool same = c->known && c->holds == holds && strcmp(c->message, why) == 0;

	c->news |= !c->known || c->holds != holds;
	c->known = true;
	c->holds = holds;
	snprintf(c->message, sizeof c->message, "%s", why);
	if (same)
		return;
	log_at(c->log, holds ? LOG_INFO : LOG_ERROR, "power limits %s%s",
		holds ? "hold" : "do not hold: ", holds ? "" : why);
	powercheck_write(c);
}

static void powercheck_take(struct powercheck *c)
{
	char why[POWERCHECK_TEXT];

	snprintf(why, sizeof why, "%.360s; no node starts; 'nanopod host power show' shows all", c->job.fail.text);
	if (c->set)
		powercheck_become(c, c->job.rc == 0, c->job.rc ? why : "");
	job_release(&c->job, c->loop);
	c->checked_ms = clock_ms();
	c->due_ms = c->checked_ms + CHECK_MS;
}

/* The owner may set something, or take it away, at any time. */
static void powercheck_look(struct powercheck *c)
{
	bool set = envelope_there(c->data);

	if (set == c->set)
		return;
	c->set = set;
	c->known = c->holds = false;
	c->message[0] = '\0';
	c->due_ms = 0;
	c->news = true;
}

static bool powercheck_fresh(const struct powercheck *c)
{
	return c->checked_ms && clock_ms() - c->checked_ms <= FRESH_MS;
}

int64_t powercheck_turn(struct powercheck *c)
{
	struct fail f = { 0 };

	if (c->job.pid && job_ended(&c->job, c->loop))
		powercheck_take(c);
	powercheck_look(c);
	if (!c->set && !c->job.pid)
		return INT64_MAX;
	if (c->asks && c->holds && !powercheck_fresh(c))
		c->due_ms = 0;
	if (!c->job.pid && c->due_ms <= clock_ms() &&
		job_begin(&c->job, c->loop, c->watch_kind, DEADLINE_MS, powercheck_apply, c, &f) != 0) {
		c->job.pid = 0;
		powercheck_become(c, false, f.text);
		c->due_ms = clock_ms() + CHECK_MS;
	}
	return c->job.pid ? c->job.due_ms : c->due_ms;
}

bool powercheck_open(const struct powercheck *c)
{
	return !c->set || (c->holds && (!c->asks || powercheck_fresh(c)));
}

void powercheck_release(struct powercheck *c)
{
	if (c->job.pid)
		job_release(&c->job, c->loop);
}

void powercheck_told(const char *data, char *room, size_t size)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL;

	room[0] = '\0';
	if (!envelope_there(data) || statefile_path(path, data, "power-state.json", NULL) ||
		statefile_load(path, &j, NULL))
		return;
	if (!statefile_bool(j, "holds"))
		statefile_text(j, "message", room, size);
	json_decref(j);
}
