/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agentd/step_child.h"
#include "base/clock.h"

enum { LOOK_DEADLINE_MS = 120000, EARLY_PAUSE_MS = 1000 };

struct scan {
	const struct workers *c;
	bool tidy, tidied; /* wanted; done, of all drivers */
	struct buf *out;
	const struct driver *driver;   /* whose list is being printed */
};

/* ---- In the child: lines "n ID IS", "l DRIVER ID", and "t" if all was tidied ----------------- */

static bool scan_in_use(const struct workers *c, const struct driver *d)
{
	if (d == c->driver)
		return true;
	for (size_t i = 0; i < c->roster->count; i++)
		if (strcmp(c->roster->nodes[i]->driver, d->name) == 0)
			return true;
	return false;
}

static void scan_look_at(const struct scan *l, const struct node *n)
{
	const struct driver *d = drivers_find(l->c->all, n->driver);
	enum node_is is = NODE_ABSENT;
	struct step_child h;
	struct fail f = { 0 };
	char path[1040];
	int fd;

	if (!d || step_child_init(&h, n, NULL, l->c->setup) != 0)
		return;
	snprintf(path, sizeof path, "%s/lock", h.dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && d->inspect(&h.spec, &is, NULL) == 0)
		buf_addf(l->out, "n %s %d\n", n->id, (int)is);
	if (fd >= 0 && is == NODE_RUNNING && d->rebind && d->rebind(&h.spec, &f) != 0)
		log_at(l->c->log, LOG_WARN, "%s: %s", n->id, f.text);
	if (fd >= 0)
		close(fd);
}

static void scan_listed(void *arg, const char *id)
{
	const struct scan *l = arg;

	if (work_is_id(id, "inst_") && !roster_find(l->c->roster, id))
		buf_addf(l->out, "l %s %s\n", l->driver->name, id);
}

/* What is not right with one driver's networks hides neither what runs nor keeps the others' from being tidied. */
static void scan_keep_up(struct scan *l, const struct driver *d, bool listed)
{
	const struct driver_setup *s = l->c->setup;
	struct fail f = { 0 };

	if (d->renew && d->renew(s, &f) != 0)
		log_at(l->c->log, LOG_WARN, "driver '%s' cannot renew what nodes share: %s", d->name, f.text);
	if (!l->tidy || !d->tidy)
		return;
	if (!listed || d->tidy(s, &f) != 0) {
		log_at(l->c->log, LOG_WARN, "driver '%s' cannot remove what no node uses any more: %s", d->name,
			f.text);
		l->tidied = false;
	}
}

static int scan_look(void *arg, struct buf *out, struct fail *f)
{
	struct scan *l = arg;
	int rc = 0, first = 0;

	l->out = out;
	l->tidied = l->tidy;
	for (size_t i = 0; i < l->c->roster->count; i++)
		scan_look_at(l, l->c->roster->nodes[i]);
	for (drivers d = l->c->all; *d; d++) {
		l->driver = *d;
		if (!scan_in_use(l->c, *d))
			continue;
		rc = (*d)->list(l->c->setup, scan_listed, l, f);
		first = first ? first : rc;
		scan_keep_up(l, *d, !rc);
	}
	if (l->tidied)
		buf_adds(l->out, "t\n");
	return first;
}

int scan_begin(struct job *j, struct workers *c, bool tidy, struct fail *f)
{
	struct scan l = { .c = c, .tidy = tidy };

	return job_begin(j, c->loop, c->watch_kind, LOOK_DEADLINE_MS, scan_look, &l, f);
}

/* ---- In the agent ------------------------------------------------------------------------- */

/* A node that the buyer's script closed before its SSH answered: two stops are enough. */
static void scan_stopped_early(struct node *n)
{
	n->quick_stops += (RECONCILE_TRIES + 1) / 2;
	n->ssh_ms = 0;
	n->due_ms = clock_ms() + EARLY_PAUSE_MS;
}

static void scan_take_seen(const struct workers *c, const struct job *j, const char *id, int is)
{
	struct node *n = roster_find(c->roster, id);

	/* A look that overlapped with a step on the node proves nothing. */
	if (!n || n->touched_ms >= j->began_ms || is < NODE_ABSENT || is > NODE_RUNNING)
		return;
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid && strcmp(c->children[i].id, id) == 0)
			return;
	if (n->script && n->life == LIFE_READY && n->ssh_ms && n->is_known && n->is == NODE_RUNNING &&
		is != NODE_RUNNING)
		scan_stopped_early(n);
	n->is = (enum node_is)is;
	n->is_known = true;
}

static void scan_take_listed(struct workers *c, const struct job *j, const char *driver, const char *id)
{
	struct node *n;

	if (roster_find(c->roster, id) || c->forgot_ms >= j->began_ms)
		return;
	log_at(c->log, LOG_WARN, "%s runs here (driver %s) without a journal: stopping it, wiping it in %lld s",
		id, driver, (long long)c->times.unknown_ms / 1000);
	n = roster_add_unknown(c->roster, id, driver, wallclock_now(c->clock));
	if (n)
		n->remove_ms = clock_ms() + c->times.unknown_ms;
	c->changed = true;
}

void scan_take(struct workers *c, const struct job *j)
{
	const char *line = buf_text(&j->said);

	while (*line) {
		char text[128], a[64], b[64];
		size_t len = strcspn(line, "\n");
		int is;

		snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), line);
		if (sscanf(text, "n %63s %d", a, &is) == 2)
			scan_take_seen(c, j, a, is);
		else if (strcmp(text, "t") == 0)
			c->tidy_again = false;
		else if (sscanf(text, "l %63s %63s", a, b) == 2)
			scan_take_listed(c, j, a, b);
		line += len + (line[len] == '\n');
	}
}
