/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/workers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentd/console.h"
#include "agentd/step_child.h"
#include "agentd/os/statefile.h"
#include "agentd/scan.h"
#include "base/clock.h"
#include "base/str.h"

enum {
	STEP_DEADLINE_MS = 600000, STOP_DEADLINE_MS = 120000, SSH_DEADLINE_MS = 10000, SSH_SCRIPT_MS = 60000,
	SHIP_MS = 20000, PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 60000, SSH_FIRST_MS = 30, SSH_MAX_MS = 300,
	SOON_GRACE_MS = 5000, DECISIONS = 8,
};

/* ---- Small things ------------------------------------------------------------------------- */

int workers_path(const struct workers *c, const char *id, const char *last, char *room, size_t size)
{
	return snprintf(room, size, "%s/nodes/%s/%s", c->setup->data, id, last) < (int)size ? 0 : -ENAMETOOLONG;
}

unsigned workers_port(const struct driver_setup *setup, const struct node *n, const char *dir)
{
	char path[STATEFILE_PATH];
	struct buf text;
	long port = 0;

	buf_init(&text, 16);
	if (statefile_path(path, dir, "port", NULL) == 0 && buf_read_file(&text, path) == 0) {
		while (text.len && text.data[text.len - 1] == '\n')
			buf_cut(&text, text.len - 1);
		if (str_to_long(buf_text(&text), 1, 65535, &port) != 0)
			port = 0;
	}
	buf_release(&text);
	return port ? (unsigned)port : n->port ? n->port : setup->first_port + n->slot;
}

size_t workers_unknown(const struct workers *c, int64_t *oldest)
{
	int64_t now = wallclock_now(c->clock);
	size_t count = 0;

	*oldest = 0;
	for (size_t i = 0; i < c->roster->count; i++) {
		const struct node *n = c->roster->nodes[i];

		if (n->life != LIFE_UNKNOWN)
			continue;
		count++;
		if (n->since && now - n->since > *oldest)
			*oldest = now - n->since;
	}
	return count;
}

static void workers_say(const struct workers *c, const struct node *n, const char *text)
{
	char path[STATEFILE_PATH];

	if (workers_path(c, n->id, "console", path, sizeof path) == 0)
		console_note(path, text);
}

static int64_t workers_pause_after(unsigned tries)
{
	int64_t ms = PAUSE_FIRST_MS;

	while (tries-- > 1 && ms < PAUSE_MAX_MS)
		ms *= 2;
	return clock_ms() + (ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : ms);
}

/* Sooner if the buyer's script may have closed SSH: so soon that the market does not yet call the host a failure. */
static int64_t workers_ssh_until(const struct workers *c, const struct node *n)
{
	return clock_ms() + (n->script && c->times.ssh_ms > SSH_SCRIPT_MS ? SSH_SCRIPT_MS : c->times.ssh_ms);
}

/* Hash of the user data with the wanted keys: a node without user data has the hash of nothing. */
static uint64_t workers_wanted_keys(const struct node *n)
{
	return node_hash(n->user_data ? n->user_data : "", n->user_data_len) & ~(uint64_t)1;
}

static struct workers_child *workers_child_of(struct workers *c, const char *id)
{
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid && strcmp(c->children[i].id, id) == 0)
			return &c->children[i];
	return NULL;
}

static struct workers_child *workers_free_child(struct workers *c)
{
	for (size_t i = 0; i < c->child_count; i++)
		if (!c->children[i].job.pid)
			return &c->children[i];
	return NULL;
}

static bool workers_any_at_work(const struct workers *c)
{
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid)
			return true;
	return false;
}

/* ---- The picture -------------------------------------------------------------------------- */

/* Does the other node have what n is to get: the whole machine, or what n's host is promised? */
static bool workers_takes_same(const struct node *o, const struct node *n)
{
	const struct contract *c = &n->contract;

	if (strcmp(n->driver, "host") == 0)
		return strcmp(o->driver, "host") == 0;
	return (c->vcpus || c->memory || c->disk || c->gpus) && strcmp(o->host, n->host) == 0;
}

static bool workers_host_taken(const struct workers *c, const struct node *n)
{
	for (size_t i = 0; i < c->roster->count; i++) {
		const struct node *o = c->roster->nodes[i];

		if (o != n && workers_takes_same(o, n) && o->life != LIFE_PENDING &&
			!(o->is_known && o->is == NODE_ABSENT))
			return true;
	}
	return false;
}

static struct picture workers_picture(const struct workers *c, const struct node *n)
{
	return (struct picture){
		.life = n->life,
		.cause = n->cause,
		.is = n->is,
		.is_known = n->is_known,
		.heard = c->work != NULL,
		.wanted = n->wanted,
		.healthy = c->healthy,
		.fenced = c->fenced,
		.rekey = n->keys_in && n->keys_in != workers_wanted_keys(n),
		.told = n->told,
		.script = n->script,
		.shipped = !n->console_more || n->console_refused || !c->link_open,
		.host_taken = workers_host_taken(c, n),
		.withheld = c->withheld,
		.measured = c->measured,
		.tries = n->tries,
		.quick_stops = n->quick_stops,
		.now = wallclock_now(c->clock),
		.end_at = n->end_at,
		.ms = clock_ms(),
		.due_ms = n->due_ms,
		.drain_ms = n->drain_ms,
		.ssh_ms = n->ssh_ms,
		.ship_ms = n->ship_ms,
		.remove_ms = n->remove_ms,
	};
}

bool workers_would_start(const struct workers *c)
{
	for (size_t i = 0; i < c->roster->count; i++) {
		struct picture p = workers_picture(c, c->roster->nodes[i]);

		p.withheld = false;
		if (reconcile(&p).step == STEP_START)
			return true;
	}
	return false;
}

/* ---- Changes of life ---------------------------------------------------------------------- */

static void workers_begin_draining(struct workers *c, struct node *n)
{
	bool by_clock = wallclock_now(c->clock) >= n->end_at - 60;
	int64_t grace = by_clock || c->times.grace_ms < SOON_GRACE_MS ? c->times.grace_ms : SOON_GRACE_MS;
	char text[160];

	n->drain_ms = clock_ms() + grace;
	snprintf(text, sizeof text, "%s: this node stops in %lld s and is then wiped", cause_text(n->cause),
		(long long)grace / 1000);
	workers_say(c, n, text);
}

/* The node stopped by itself. */
static void workers_node_stopped(struct node *n)
{
	bool quick = n->up_ms && clock_ms() - n->up_ms < RECONCILE_QUICK_MS;

	n->quick_stops = quick ? n->quick_stops + 1 : 0;
	n->due_ms = n->quick_stops ? workers_pause_after(n->quick_stops) : 0;
	n->ssh_ms = n->up_ms = 0;
}

static void workers_become(struct workers *c, struct node *n, const struct decision *d)
{
	enum life was = n->life;
	char message[NODE_MESSAGE];

	if (node_become(n, d->life, d->cause, wallclock_now(c->clock)) != 0) {
		log_at(c->log, LOG_ERROR, "%s: illegal change from %s to %s", n->id, life_text(was),
			life_text(d->life));
		return;
	}
	if (was == LIFE_RUNNING && d->life == LIFE_READY)
		workers_node_stopped(n);
	if (was == LIFE_DRAINING && d->life == LIFE_READY)
		n->drain_ms = n->ssh_ms = 0;
	if (d->life == LIFE_DRAINING)
		workers_begin_draining(c, n);
	if (d->life == LIFE_FAILED) {
		memcpy(message, n->message, sizeof message);
		node_say(n, "%s%s%.300s", cause_text(d->cause), *message ? ": " : "", message);
		n->due_ms = 0;
	}
	log_at(c->log, d->life == LIFE_FAILED ? LOG_ERROR : LOG_INFO, "%s: %s, was %s%s%s", n->id, life_text(d->life),
		life_text(was), d->cause ? ": " : "", d->life == LIFE_FAILED ? n->message : cause_text(d->cause));
	c->changed = true;
	roster_save(c->roster, n);
}

/* ---- What came of a step ------------------------------------------------------------------ */

static void workers_set_is(struct node *n, enum node_is is)
{
	n->is = is;
	n->is_known = true;
}

static void workers_after_create(struct workers *c, struct node *n)
{
	struct decision d = { .life = LIFE_READY };
	struct userdata u;

	workers_set_is(n, NODE_STOPPED);
	n->tries = 0;
	n->message[0] = '\0';
	n->keys_in = workers_wanted_keys(n);
	userdata_read(n->user_data, n->user_data_len, &u);
	workers_say(c, n, buf_text(&u.notes));
	if (u.refused)
		node_say(n, "%.*s", (int)strcspn(buf_text(&u.notes), "\n"), buf_text(&u.notes));
	userdata_release(&u);
	if (n->life == LIFE_PENDING)
		workers_become(c, n, &d);
	else
		roster_save(c->roster, n);
}

static void workers_after_rekey(struct workers *c, struct node *n)
{
	struct userdata u;

	n->keys_in = workers_wanted_keys(n);
	userdata_read(n->user_data, n->user_data_len, &u);
	workers_say(c, n, buf_text(&u.notes));
	if (n->life == LIFE_RUNNING)
		log_at(c->log, LOG_INFO, "%s: %u keys", n->id, u.key_count);
	userdata_release(&u);
	roster_save(c->roster, n);
}

static void workers_after_ssh(struct workers *c, struct node *n)
{
	struct decision d = { .life = LIFE_RUNNING };

	n->tries = 0;
	if (n->life == LIFE_READY && n->ssh_said)
		n->message[0] = '\0';
	n->ssh_said = false;
	n->due_ms = n->ssh_ms = 0;
	n->up_ms = clock_ms();
	if (n->life == LIFE_READY)
		workers_become(c, n, &d);
}

static void workers_after_destroy(struct workers *c, struct node *n)
{
	workers_set_is(n, NODE_ABSENT);
	n->console.offset = n->console.inode = n->console.left_bytes = n->console.left_lines = 0;
	n->console_more = false;
	n->console_freed = 0;
	n->keys_in = 0;
	c->tidy = true;
	roster_save(c->roster, n);
}

static void workers_step_done(struct workers *c, struct node *n, enum step step)
{
	n->due_ms = n->waits = 0;
	switch (step) {
	case STEP_CREATE:
		workers_after_create(c, n);
		break;
	case STEP_START:
		workers_set_is(n, NODE_RUNNING);
		n->ssh_ms = workers_ssh_until(c, n);
		break;
	case STEP_REKEY:
		workers_after_rekey(c, n);
		break;
	case STEP_TRY_SSH:
		workers_after_ssh(c, n);
		break;
	case STEP_RETRY:
		n->ssh_ms = 0;
		n->due_ms = workers_pause_after(++n->tries);
		workers_set_is(n, NODE_STOPPED);
		roster_save(c->roster, n);
		break;
	case STEP_STOP: case STEP_QUARANTINE:
		workers_set_is(n, NODE_STOPPED);
		n->ship_ms = clock_ms() + SHIP_MS;
		n->console_more = true; /* until a look finds no more */
		break;
	case STEP_DESTROY:
		workers_after_destroy(c, n);
		break;
	default: break;
	}
}

/* A process answers in a moment, a virtual machine in a minute: wait half as long again as it has taken so far. */
static int64_t workers_ssh_pause(const struct workers *c, const struct node *n)
{
	int64_t ms = n->ssh_ms ? (workers_ssh_until(c, n) - n->ssh_ms) / 2 : 0;

	return ms < SSH_FIRST_MS ? SSH_FIRST_MS : ms > SSH_MAX_MS ? SSH_MAX_MS : ms;
}

/* Another program has the node's port: the node moves to another one, and the market is told when SSH answers there. */
static bool workers_other_port(struct workers *c, struct node *n)
{
	unsigned was = roster_port(c->roster, n), port = roster_other_port(c->roster, n);

	if (!port)
		return false;
	log_at(c->log, LOG_WARN, "%s: another program has port %u: its SSH moves to port %u", n->id, was, port);
	n->port = port;
	n->told = false;
	roster_save(c->roster, n);
	return true;
}

static void workers_step_failed(struct workers *c, struct node *n, enum step step, const struct fail *f)
{
	/* A node that ran waits for its volume: failing, it would lose its disk. */
	unsigned *times = f->code == -EAGAIN && (n->market_running || n->ran) ? &n->waits : &n->tries;

	if (step == STEP_TRY_SSH) { /* most likely still booting */
		n->due_ms = clock_ms() + workers_ssh_pause(c, n);
		n->ssh_ms = n->ssh_ms ? n->ssh_ms : workers_ssh_until(c, n);
		if (!*n->message || n->ssh_said) {
			n->ssh_said = true;
			node_say(n, "%s", f->text);
		}
		return;
	}
	if (f->code == -EADDRINUSE && step == STEP_START && workers_other_port(c, n))
		return;
	n->due_ms = workers_pause_after(++*times);
	n->is_known = false;
	c->look_due_ms = 0;
	node_say(n, "%s: %s", step_word(step), f->text);
	if (*times == 1)
		workers_say(c, n, n->message);
	log_at(c->log, LOG_WARN, "%s: %s failed (%u): %s", n->id, step_word(step), *times, f->text);
	roster_save(c->roster, n);
	c->changed = true;
}

static void workers_child_ended(struct workers *c, struct workers_child *h)
{
	struct node *n = roster_find(c->roster, h->id);

	assert(!h->job.pid);   /* its child has been waited for */
	if (n) {
		n->touched_ms = clock_ms();
		log_at(c->log, LOG_DEBUG, "%s: %s took %lld ms: %s", n->id, step_word(h->step),
			(long long)(clock_ms() - h->job.began_ms), h->job.rc ? h->job.fail.text : "done");
		if (h->job.rc)
			workers_step_failed(c, n, h->step, &h->job.fail);
		else
			workers_step_done(c, n, h->step);
	}
	job_release(&h->job, c->loop);
}

/* ---- Beginning a step --------------------------------------------------------------------- */

static int64_t workers_deadline_of(enum step step)
{
	return step == STEP_TRY_SSH                              ? SSH_DEADLINE_MS
		: step == STEP_STOP || step == STEP_QUARANTINE ? STOP_DEADLINE_MS
							       : STEP_DEADLINE_MS;
}

static void workers_begin_step(struct workers *c, struct workers_child *h, struct node *n, enum step step)
{
	struct step_child work;
	struct userdata u;
	struct fail f = { 0 };
	int rc;

	assert(!h->job.pid && !workers_child_of(c, n->id)); /* never two children on one node */
	userdata_read(n->user_data, n->user_data_len, &u);
	rc = step_child_init(&work, n, &u, c->setup);
	work.driver = drivers_find(c->all, n->driver);
	work.step = step;
	if (!rc && !work.driver)
		rc = fail_set(&f, -ENOENT, "%s ('%s')", cause_text(CAUSE_NO_DRIVER), n->driver);
	if (!rc && step == STEP_TRY_SSH)
		work.port = workers_port(c->setup, n, work.dir);
	rc = rc ? rc : node_folder(c->setup->data, n->id, &f);
	snprintf(h->id, sizeof h->id, "%s", n->id);
	h->step = step;
	rc = rc ? rc : job_begin(&h->job, c->loop, c->watch_kind, workers_deadline_of(step), step_child_do, &work, &f);
	userdata_release(&u);
	n->touched_ms = clock_ms();
	if (rc)
		workers_step_failed(c, n, step, &f);
}

static void workers_forget(struct workers *c, struct node *n)
{
	char id[WORK_ID];
	int rc;

	memcpy(id, n->id, sizeof id);
	if ((rc = roster_forget(c->roster, n)) != 0) {
		log_at(c->log, LOG_ERROR, "%s: cannot remove its folder (%s); asking its driver again", id,
			strerror(-rc));
		n->due_ms = clock_ms() + PAUSE_MAX_MS;
		n->is_known = false;
		return;
	}
	log_at(c->log, LOG_INFO, "%s: removed", id);
	c->changed = true;
	c->forgot = true;
	c->forgot_ms = clock_ms();
}

static void workers_sooner(int64_t *next, int64_t ms)
{
	if (ms && ms < *next)
		*next = ms;
}

/* False once n is gone. */
static bool workers_decide(struct workers *c, struct node *n, int64_t *next)
{
	for (int i = 0; i < DECISIONS; i++) {
		struct picture p = workers_picture(c, n);
		struct decision d = reconcile(&p);
		struct workers_child *h;

		if (d.look_ms > p.ms)
			workers_sooner(next, d.look_ms);
		if (d.step == STEP_BECOME) {
			workers_become(c, n, &d);
			continue;
		}
		if (d.step == STEP_FORGET && n->due_ms <= clock_ms()) {
			workers_forget(c, n);
			return false;
		}
		if (d.step == STEP_NONE || d.step == STEP_FORGET)
			return true;
		h = c->look.tidies && c->look.job.pid ? NULL : workers_free_child(c);
		if (h)
			workers_begin_step(c, h, n, d.step);
		return true;
	}
	return true;
}

/* ---- Looking ------------------------------------------------------------------------------ */

static void workers_begin_look(struct workers *c)
{
	struct fail f = { 0 };
	bool tidy = (c->tidy || c->tidy_again) && !workers_any_at_work(c);

	assert(!c->look.job.pid);
	c->look.looks = true;
	c->look.tidies = tidy;
	c->look_due_ms = clock_ms() + c->times.look_ms;
	if (scan_begin(&c->look.job, c, tidy, &f) != 0) {
		log_at(c->log, LOG_ERROR, "cannot start looking at what runs: %s", f.text);
		return;
	}
	c->tidy = c->tidy && !tidy;
}

static void workers_look_ended(struct workers *c)
{
	if (c->look.job.rc)
		log_at(c->log, LOG_WARN, "cannot see what runs: %s", c->look.job.fail.text);
	else
		c->looked = true;
	c->tidy_again |= c->look.tidies;
	scan_take(c, &c->look.job);
	job_release(&c->look.job, c->loop);
	c->look.tidies = false;
}

/* ---- Turns -------------------------------------------------------------------------------- */

static void workers_collect(struct workers *c)
{
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid && job_ended(&c->children[i].job, c->loop))
			workers_child_ended(c, &c->children[i]);
	if (c->look.job.pid && job_ended(&c->look.job, c->loop))
		workers_look_ended(c);
}

int64_t workers_turn(struct workers *c)
{
	int64_t next = INT64_MAX;
	bool waits = false;

	workers_collect(c);
	for (size_t i = 0; i < c->roster->count;) {
		struct node *n = c->roster->nodes[i];
		bool stays = workers_child_of(c, n->id) || workers_decide(c, n, &next);

		if (!stays)
			continue;
		waits = waits || n->end_at != INT64_MAX;
		i++;
	}
	if (!c->look.job.pid &&
		(c->look_due_ms <= clock_ms() || (c->tidy && !workers_any_at_work(c) && c->roster->count == 0)))
		workers_begin_look(c);
	workers_sooner(&next, c->look.job.pid ? c->look.job.due_ms : c->look_due_ms);
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid)
			workers_sooner(&next, c->children[i].job.due_ms);
	if (waits) /* leases end by a clock that may be moved */
		workers_sooner(&next, clock_ms() + (c->clock->file ? 200 : 1000));
	return next;
}

void workers_take_again(struct workers *c)
{
	if (wanted_gpus_own(c->driver))
		c->changed |= wanted_gpus_fix(c->work, c->setup, c->driver, c->log, c->lacks);
	if (roster_take(c->roster, c->work, &c->share, wallclock_now(c->clock)))
		c->look_due_ms = 0; /* a look binds those that run */
}

void workers_take(struct workers *c, struct work *w)
{
	work_free(c->work);
	c->work = w;
	workers_take_again(c);
}

void workers_begin(struct workers *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	c->child_count = cores < 1 ? 2 : cores * 2 > WORKERS_MAX ? WORKERS_MAX : (size_t)cores * 2;
	assert(c->child_count > 0 && c->child_count <= WORKERS_MAX);
	for (size_t i = 0; i < c->roster->count; i++) {
		struct node *n = c->roster->nodes[i];

		if (n->life == LIFE_UNKNOWN)
			n->remove_ms = clock_ms() + c->times.unknown_ms;
		if (n->life == LIFE_DRAINING)
			n->drain_ms = clock_ms() + c->times.grace_ms;
		n->console_more = true;
	}
}

void workers_release(struct workers *c)
{
	for (size_t i = 0; i < c->child_count; i++)
		if (c->children[i].job.pid)
			job_release(&c->children[i].job, c->loop);
	if (c->look.job.pid)
		job_release(&c->look.job, c->loop);
	work_free(c->work);
	c->work = NULL;
}
