/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/reconcile.h"

#include <assert.h>

static const char *const words[] = {
#define RECONCILE_X(name, word) word,
	STEPS(RECONCILE_X)
#undef RECONCILE_X
};

const char *step_word(enum step s)
{
	return s < STEP_COUNT ? words[s] : "?";
}

static struct decision reconcile_do_step(enum step s)
{
	return (struct decision){ .step = s };
}

static struct decision reconcile_become(enum life life, enum cause cause)
{
	return (struct decision){ .step = STEP_BECOME, .life = life, .cause = cause };
}

static struct decision reconcile_wait_until(int64_t ms)
{
	return (struct decision){ .step = STEP_NONE, .look_ms = ms };
}

/* Ends by the clock: at once if the market is silent, a little later if it could have spoken and has not. */
enum cause reconcile_over(const struct picture *p)
{
	int64_t slack = p->healthy ? RECONCILE_SLACK : 0;

	if (p->heard && !p->fenced && !p->wanted)
		return p->now >= p->end_at ? CAUSE_LEASE_OVER : CAUSE_ENDED;
	if (p->end_at != INT64_MAX && p->now - slack >= p->end_at)
		return CAUSE_LEASE_OVER;
	return CAUSE_NONE;
}

/* Ends a node: first stops it, then wipes it. gone: the decision once nothing is left. */
static struct decision reconcile_take_away(const struct picture *p, struct decision gone)
{
	if (p->ms < p->due_ms)
		return reconcile_wait_until(p->due_ms);
	if (!p->is_known || p->is == NODE_RUNNING)
		return reconcile_do_step(STEP_STOP);
	if (p->is == NODE_ABSENT)
		return gone;
	if (!p->shipped && p->ms < p->ship_ms)
		return reconcile_wait_until(p->ship_ms);
	return reconcile_do_step(STEP_DESTROY);
}

static struct decision reconcile_unknown(const struct picture *p)
{
	if (p->is_known && p->is == NODE_ABSENT)
		return reconcile_become(LIFE_TERMINATED, CAUSE_NOT_ORDERED);
	if (p->ms < p->due_ms)
		return reconcile_wait_until(p->due_ms);
	if (!p->is_known || p->is == NODE_RUNNING)
		return reconcile_do_step(STEP_QUARANTINE);
	if (p->ms < p->remove_ms && !p->wanted)
		return reconcile_wait_until(p->remove_ms);
	return reconcile_do_step(STEP_DESTROY);
}

static struct decision reconcile_draining(const struct picture *p)
{
	bool back = p->heard && p->wanted && p->now < p->end_at && !p->fenced;

	/* The market extended the lease while this machine could not hear it; nothing was touched yet. */
	if (back && p->is_known && p->is == NODE_RUNNING)
		return reconcile_become(LIFE_READY, CAUSE_NONE);
	if (p->is_known && p->is == NODE_RUNNING && p->ms < p->drain_ms)
		return reconcile_wait_until(p->drain_ms);
	return reconcile_take_away(p, reconcile_become(LIFE_TERMINATED, p->cause));
}

static struct decision reconcile_failed(const struct picture *p)
{
	bool over = reconcile_over(p) != CAUSE_NONE;

	return reconcile_take_away(p,
		over && (p->told || !p->wanted) ? reconcile_become(LIFE_TERMINATED, p->cause)
						: reconcile_do_step(STEP_NONE));
}

static struct decision reconcile_pending(const struct picture *p)
{
	if (p->fenced || !p->wanted)
		return reconcile_do_step(STEP_NONE);
	if (p->tries >= RECONCILE_TRIES)
		return reconcile_become(LIFE_FAILED, CAUSE_CREATE_FAILED);
	if (p->ms < p->due_ms || p->host_taken)
		return reconcile_wait_until(p->due_ms);
	return reconcile_do_step(STEP_CREATE);
}

static struct decision reconcile_stopped(const struct picture *p)
{
	if (p->fenced || !p->wanted)
		return reconcile_do_step(STEP_NONE);
	if (p->quick_stops >= RECONCILE_TRIES)
		return reconcile_become(LIFE_FAILED, CAUSE_KEEPS_STOPPING);
	if (p->tries >= RECONCILE_TRIES)
		return reconcile_become(LIFE_FAILED, CAUSE_START_FAILED);
	if (p->ms < p->due_ms)
		return reconcile_wait_until(p->due_ms);
	if (p->is == NODE_ABSENT)
		return reconcile_do_step(STEP_CREATE);
	if (p->rekey)
		return reconcile_do_step(STEP_REKEY);
	return p->withheld ? reconcile_wait_until(0) : reconcile_do_step(STEP_START);
}

static struct decision reconcile_ready(const struct picture *p)
{
	if (!p->is_known)
		return reconcile_do_step(STEP_NONE); /* wait for a look at it */
	if (p->is != NODE_RUNNING)
		return reconcile_stopped(p);
	if (p->ms < p->due_ms)
		return reconcile_wait_until(p->due_ms);
	if (p->ssh_ms && p->ms >= p->ssh_ms && p->script)
		return reconcile_become(LIFE_RUNNING, CAUSE_NONE);
	if (p->ssh_ms && p->ms >= p->ssh_ms)
		return p->tries + 1 >= RECONCILE_TRIES ? reconcile_become(LIFE_FAILED, CAUSE_SSH_SILENT)
						       : reconcile_do_step(STEP_RETRY);
	return reconcile_do_step(p->rekey ? STEP_REKEY : STEP_TRY_SSH);
}

static struct decision reconcile_running(const struct picture *p)
{
	if (!p->is_known)
		return reconcile_do_step(STEP_NONE);
	if (p->is != NODE_RUNNING)
		return reconcile_become(LIFE_READY, CAUSE_NONE);
	if (p->rekey && p->ms >= p->due_ms)
		return reconcile_do_step(STEP_REKEY);
	return reconcile_wait_until(p->rekey ? p->due_ms : 0);
}

/* Its time is over, and nothing has been done about that yet. */
static struct decision reconcile_time_over(const struct picture *p, enum cause why)
{
	if (p->life == LIFE_PENDING && p->is_known && p->is == NODE_ABSENT)
		return reconcile_become(LIFE_TERMINATED, why);
	return reconcile_become(LIFE_DRAINING, why);
}

static struct decision reconcile_by_life(const struct picture *p)
{
	switch (p->life) {
	case LIFE_PENDING: return reconcile_pending(p);
	case LIFE_READY: return reconcile_ready(p);
	case LIFE_RUNNING: return reconcile_running(p);
	case LIFE_DRAINING: return reconcile_draining(p);
	case LIFE_FAILED: return reconcile_failed(p);
	case LIFE_UNKNOWN: return reconcile_unknown(p);
	case LIFE_TERMINATED:
		return reconcile_take_away(p, reconcile_do_step(STEP_FORGET));
	default: return reconcile_do_step(STEP_NONE);
	}
}

struct decision reconcile(const struct picture *p)
{
	bool lives = p->life == LIFE_PENDING || p->life == LIFE_READY || p->life == LIFE_RUNNING;
	enum cause why = lives ? reconcile_over(p) : CAUSE_NONE;
	struct decision d = why != CAUSE_NONE ? reconcile_time_over(p, why) : reconcile_by_life(p);

	if (p->measured && (d.step == STEP_CREATE || d.step == STEP_START))
		d = reconcile_wait_until(0);
	assert(d.step < STEP_COUNT);
	assert(d.step != STEP_BECOME || (d.life != p->life && life_legal(p->life, d.life)));
	assert(!p->fenced || (d.step != STEP_CREATE && d.step != STEP_START));   /* a fenced agent makes nothing new */
	return d;
}
