/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/review.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"

static bool review_live(const struct instance *x)
{
	return x->status == INSTANCE_AWAITING || x->status == INSTANCE_RUNNING;
}

static void emit_status(struct engine *e, const struct instance *x)
{
	emit_notice(e, &(struct notice){ .kind = NOTICE_INSTANCE_STATUS, .account = x->account, .subject = x->id,
		.other = x->host, .minute = e->minute, .code = (int32_t)x->status });
}

static void review_set_text(char **text, const char *now)
{
	free(*text);
	*text = must_copy(now);
}

/* The host has no instance any more: one that waits may get it. */
static void review_leave(struct engine *e, struct live_pool *p, struct live_host *h)
{
	struct stock *s = world_stock(p, h->pub.sku);

	h->instance = 0;
	live_host_changed(h);
	s->free_from = h->pub.id < s->free_from ? h->pub.id : s->free_from;
	world_unplaced(e, p);
}

/* Ends an instance; frees its name and host. */
static void review_end(struct engine *e, struct instance *x, enum instance_status status, const char *detail)
{
	struct live_pool *p = world_pool(e, x->pool);
	struct live_host *h = world_host(e, x->host);

	if (instance_waits(x))
		world_unwait(p, x);
	if (h && h->instance == x->id)
		review_leave(e, p, h);
	x->host = 0;
	x->status = status;
	x->updated_at = x->ended_at = e->at;
	if (detail)
		review_set_text(&x->detail, detail);
	world_unname(e, INSTANCES, x->account, x->name);
	world_instance_end(p, x);
	emit_status(e, x);
}

/* A new one like that; takes over its tags and user data. */
static struct instance *review_add(struct engine *e, const struct instance *from)
{
	struct instance *x = must_zalloc(sizeof *x);
	struct live_pool *p = world_pool(e, from->pool);

	*x = (struct instance){ .id = world_id(e),
		.account = from->account,
		.pool = from->pool,
		.sku = from->sku,
		.image = from->image,
		.name = must_copy(from->name),
		.tags = from->tags,
		.user_data = from->user_data,
		.priority = from->priority,
		.status = INSTANCE_AWAITING,
		.created_at = e->at,
		.updated_at = e->at };
	world_add(e, INSTANCES, x->id, x->account, x);
	world_name(e, INSTANCES, x->account, x->name, x);
	world_instance_begin(p, x);
	world_wait(p, x);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_INSTANCE_CREATED,
			.account = x->account,
			.subject = x->id,
			.other = x->pool });
	world_unplaced(e, p);
	return x;
}

/* Does a procurement want as many nodes as there were with this one, which has ended? */
static bool review_missed(const struct engine *e, const struct instance *x)
{
	const struct live_pool *d = world_pool(e, x->pool);
	const struct procurement *p = NULL;

	for (size_t at = 0; (p = rank_next(&d->procurements, &at)) && p->sku != x->sku;)
		continue;
	return p && p->enabled && (p->target < 0 || world_instances(d, x->sku) < p->target);
}

/* The pool has lost the instance's host. What a procurement keeps goes on as a new instance, with its texts. */
static void review_lose(struct engine *e, struct instance *x)
{
	review_end(e, x, INSTANCE_TERMINATED, "lease ended");
	if (e->rules < 2 || !review_missed(e, x))
		return;
	review_set_text(&x->detail, "its host was sold; a new node with its name goes on");
	review_add(e, x);
	x->tags = x->user_data = NULL;
}

/* The pool's first host of that SKU without an instance. */
static struct live_host *free_host(const struct engine *e, const struct live_pool *p, struct stock *s)
{
	for (size_t i = world_holding(p, s->free_from); i < p->holding_count; i++) {
		struct live_host *h = p->holdings[i].live;

		if (h->pub.sku == s->sku && !h->instance && calendar_owned(h, p->pub.id, e->minute)) {
			s->free_from = h->pub.id;
			return h;
		}
	}
	s->free_from = UINT64_MAX;
	return NULL;
}

/* Of those that wait and for which there is a host, the first; and that. */
static struct instance *review_next(const struct engine *e, const struct live_pool *p, struct live_host **out)
{
	struct instance *first = NULL;

	for (size_t i = 0; i < p->stock_count; i++) {
		struct stock *s = &p->stocks[i];
		struct instance *x = s->waiting_count ? s->waiting[s->waiting_count - 1] : NULL;
		struct live_host *h = x && (!first || instance_sooner(x, first)) ? free_host(e, p, s) : NULL;

		if (h) {
			first = x;
			*out = h;
		}
	}
	return first;
}

static void place_waiting(struct engine *e, struct live_pool *p, int64_t when)
{
	struct live_host *h = NULL;
	struct instance *x;

	while ((x = review_next(e, p, &h))) {
		world_unwait(p, x);
		h->instance = x->id;
		live_host_changed(h);
		x->host = x->had = h->pub.id;
		x->updated_at = e->at;
		x->placed_at = when;
		emit_status(e, x);
	}
}

static int pool_cmp(const void *a, const void *b)
{
	const struct live_pool *x = *(struct live_pool *const *)a, *y = *(struct live_pool *const *)b;

	return x->pub.id < y->pub.id ? -1 : x->pub.id > y->pub.id;
}

/* All pools first take hosts from their instances, then give them: so a host can pass from pool to pool. */
void review_all(struct engine *e, int64_t when)
{
	size_t count = e->stale_count;

	if (!count)
		return;
	if (count > 1)
		qsort(e->stale, count, sizeof(struct live_pool *), pool_cmp);
	for (size_t i = 0; i < count; i++) {
		struct instance *x;

		for (uint64_t at = 0; e->stale[i]->moved && (x = rank_after(&e->stale[i]->instances, at)); at = x->id)
			if (x->host && !calendar_owned(world_host(e, x->host), x->pool, e->minute))
				review_lose(e, x);
	}
	for (size_t i = 0; i < count; i++) {
		place_waiting(e, e->stale[i], when);
		e->stale[i]->stale = e->stale[i]->moved = false;
	}
	e->stale_count = 0;
}

int instance_make(struct engine *e, const struct event *ev, struct fail *why)
{
	const struct live_account *a = world_account(e, ev->account);
	struct live_pool *p;
	struct instance like;
	int rc = a && account_shut(&a->pub) ? check_suspended(a, why) : check_account(e, ev, why);

	rc = rc ? rc : check_pool(e, ev, ev->u.instance.pool, &p, why);
	if (rc)
		return rc;
	if (!world_sku(e, ev->u.instance.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	rc = check_name(ev->name, true, why);
	rc = rc ? rc : check_text(ev->text, why);
	rc = rc ? rc : check_text(ev->u.instance.user_data, why);
	if (rc)
		return rc;
	if (ev->u.instance.priority < PRIORITY_YIELD || ev->u.instance.priority > PRIORITY_CRITICAL)
		return fail_set(why, REASON_INVALID, "the instance's priority is unknown");
	if (world_named(e, INSTANCES, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "instance '%s' already exists", ev->name);
	like = (struct instance){ .account = ev->account,
		.pool = p->pub.id,
		.sku = ev->u.instance.sku,
		.image = ev->u.instance.image,
		.name = (char *)(uintptr_t)ev->name,
		.tags = must_copy(ev->text),
		.user_data = must_copy(ev->u.instance.user_data),
		.priority = (enum instance_priority)ev->u.instance.priority };
	emit_made(e, review_add(e, &like)->id);
	return 0;
}

static int review_find(const struct engine *e, const struct event *ev, struct instance **out, struct fail *why)
{
	struct instance *x = world_instance(e, ev->subject);

	if (!world_account(e, ev->account) || !x || x->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such instance");
	*out = x;
	return 0;
}

static void review_set_priority(struct engine *e, struct instance *x, enum instance_priority priority)
{
	bool waits = instance_waits(x);

	if (waits)
		world_unwait(world_pool(e, x->pool), x);
	x->priority = priority;
	if (waits)
		world_wait(world_pool(e, x->pool), x);
}

int instance_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct instance *x, *other;
	int rc = review_find(e, ev, &x, why);

	rc = rc ? rc : check_name(ev->name, false, why);
	rc = rc ? rc : check_text(ev->text, why);
	rc = rc ? rc : check_text(ev->u.instance_change.user_data, why);
	if (rc)
		return rc;
	if (ev->u.instance_change.priority < -1 || ev->u.instance_change.priority > PRIORITY_CRITICAL)
		return fail_set(why, REASON_INVALID, "the instance's priority is unknown");
	other = ev->name ? world_named(e, INSTANCES, ev->account, ev->name) : NULL;
	if (other && other != x)
		return fail_set(why, REASON_NAME_TAKEN, "instance '%s' already exists", ev->name);
	if (ev->name) {
		if (review_live(x))
			world_unname(e, INSTANCES, x->account, x->name);
		free(x->name);
		x->name = must_copy(ev->name);
		if (review_live(x))
			world_name(e, INSTANCES, x->account, x->name, x);
	}
	if (ev->text)
		review_set_text(&x->tags, ev->text);
	if (ev->u.instance_change.user_data)
		review_set_text(&x->user_data, ev->u.instance_change.user_data);
	if (ev->u.instance_change.priority >= 0)
		review_set_priority(e, x, (enum instance_priority)ev->u.instance_change.priority);
	x->updated_at = ev->at;
	if (x->host)
		live_host_changed(world_host(e, x->host));
	return 0;
}

int instance_stop(struct engine *e, const struct event *ev, struct fail *why)
{
	struct instance *x;
	int rc = review_find(e, ev, &x, why);

	if (rc)
		return rc;
	if (!review_live(x))
		return fail_set(why, REASON_WRONG_STATE, "instance '%s' has already ended", x->name);
	review_end(e, x, INSTANCE_TERMINATED, "stopped");
	return 0;
}

int instance_delete(struct engine *e, const struct event *ev, struct fail *why)
{
	struct instance *x;
	int rc = review_find(e, ev, &x, why);

	if (rc)
		return rc;
	if (review_live(x))
		return fail_set(why, REASON_WRONG_STATE, "instance '%s' has not ended; stop it first", x->name);
	world_forget(e, INSTANCES, x->id, x->account, x);
	return 0;
}

int instance_report(struct engine *e, const struct event *ev, struct fail *why)
{
	struct instance *x;
	int32_t status = ev->u.report.status;
	int rc = review_find(e, ev, &x, why);

	if (rc)
		return rc;
	if (!x->host || !review_live(x))
		return fail_set(why, REASON_WRONG_STATE, "instance '%s' has no host", x->name);
	if (status != INSTANCE_RUNNING && status != INSTANCE_FAILED)
		return fail_set(why, REASON_INVALID, "a report says running or failed");
	rc = check_text(ev->text, why);
	if (rc)
		return rc;
	if (status == INSTANCE_FAILED) {
		review_end(e, x, INSTANCE_FAILED, ev->text);
		return 0;
	}
	if (ev->text)
		review_set_text(&x->detail, ev->text);
	x->updated_at = ev->at;
	if (x->status == INSTANCE_RUNNING)
		return 0;
	x->status = INSTANCE_RUNNING;
	emit_status(e, x);
	return 0;
}
