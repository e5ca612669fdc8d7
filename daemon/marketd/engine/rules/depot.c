/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/depot.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/door.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/live/shelf.h"
#include "marketd/engine/rules/tell.h"

static void replace(char **text, const char *now)
{
	char *copy = must_copy(now);

	free(*text);
	*text = copy;
}

static int sku_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct ware *w = world_ware(e, ev->subject), *other;
	int rc;

	if (!w)
		return fail_set(why, REASON_NOT_FOUND, "there is no such instance SKU");
	rc = door_name(ev->name, false, why);
	rc = rc ? rc : door_text(ev->text, why);
	if (rc)
		return rc;
	other = ev->name ? world_named(e, SKUS, 0, ev->name) : NULL;
	if (other && other != w)
		return fail_set(why, REASON_NAME_TAKEN, "there is an instance SKU '%s' already", ev->name);
	if (ev->text)
		replace(&w->pub.properties, ev->text);
	if (ev->name) {
		world_unname(e, SKUS, 0, w->pub.alias);
		replace(&w->pub.alias, ev->name);
		world_name(e, SKUS, 0, ev->name, w);
	}
	return 0;
}

int depot_sku(struct engine *e, const struct event *ev, struct fail *why)
{
	struct sku s = { .alias = (char *)ev->name, .properties = (char *)ev->text, .gpus = ev->u.sku.gpus,
		.created_at = ev->at };
	int rc;

	if (ev->subject)
		return sku_change(e, ev, why);
	rc = door_name(ev->name, true, why);
	rc = rc ? rc : door_text(ev->text, why);
	if (rc)
		return rc;
	if (s.gpus < 0 || s.gpus > 1024)
		return fail_set(why, REASON_INVALID, "a node has 0 to 1024 GPUs");
	if (world_named(e, SKUS, 0, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "there is an instance SKU '%s' already", ev->name);
	s.id = world_id(e);
	world_make_ware(e, &s);
	tell_made(e, s.id);
	return 0;
}

int depot_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct pool p = { .account = ev->account, .kind = (enum pool_kind)ev->u.pool.kind, .name = (char *)ev->name,
		.tags = (char *)ev->text, .created_at = ev->at };
	int rc = door_account(e, ev, why);

	rc = rc ? rc : door_name(ev->name, true, why);
	rc = rc ? rc : door_text(ev->text, why);
	if (rc)
		return rc;
	if (ev->u.pool.kind != POOL_MARKET && ev->u.pool.kind != POOL_ORIGINATING)
		return fail_set(why, REASON_INVALID, "a pool is for the market or for hosts");
	if (world_named(e, POOLS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "there is a pool '%s' already", ev->name);
	p.id = world_id(e);
	world_make_depot(e, &p);
	tell_made(e, p.id);
	return 0;
}

int depot_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct depot *d, *other;
	int rc = door_account(e, ev, why);

	rc = rc ? rc : door_pool(e, ev, ev->subject, &d, why);
	rc = rc ? rc : door_name(ev->name, false, why);
	rc = rc ? rc : door_text(ev->text, why);
	if (rc)
		return rc;
	other = ev->name ? world_named(e, POOLS, ev->account, ev->name) : NULL;
	if (other && other != d)
		return fail_set(why, REASON_NAME_TAKEN, "there is a pool '%s' already", ev->name);
	if (ev->name) {
		world_unname(e, POOLS, ev->account, d->pub.name);
		replace(&d->pub.name, ev->name);
		world_name(e, POOLS, ev->account, ev->name, d);
	}
	if (ev->text)
		replace(&d->pub.tags, ev->text);
	return 0;
}

/* What still needs the pool, in words; NULL. */
static const char *dependent(const struct engine *e, const struct depot *d)
{
	const struct instance *x;
	const struct tenure *t;

	for (size_t i = 0; i < d->holding_count; i++) {
		const struct unit *u = d->holdings[i].unit;

		if (u->depot == d)
			return "hosts are registered into it";
		for (size_t k = calendar_find(u, e->minute); k < u->pub.piece_count; k++)
			if (u->pub.pieces[k].pool == d->pub.id)
				return "it has minutes that are not over";
	}
	for (size_t at = 0; (t = rank_next(&d->owner->own[LEASES], &at));)
		if (t->pub.pool == d->pub.id)
			return "minutes that it sold on are not over";
	if (rank_live(&d->orders))
		return "it has an open order";
	for (size_t at = 0; (x = rank_next(&d->instances, &at));)
		if (x->status == INSTANCE_AWAITING || x->status == INSTANCE_RUNNING)
			return "it has an instance";
	return rank_live(&d->procurements) ? "it has a procurement" : NULL;
}

int depot_delete(struct engine *e, const struct event *ev, struct fail *why)
{
	struct depot *d;
	const char *what;
	int rc = door_account(e, ev, why);

	rc = rc ? rc : door_pool(e, ev, ev->subject, &d, why);
	if (rc)
		return rc;
	what = dependent(e, d);
	if (what)
		return fail_set(why, REASON_HAS_DEPENDENTS, "pool '%s' cannot be deleted: %s", d->pub.name, what);
	world_unname(e, POOLS, ev->account, d->pub.name);
	replace(&d->pub.tags, NULL); /* nobody sees them any more */
	d->pub.deleted = true;
	return 0;
}

void depot_host_due(struct engine *e, struct unit *u)
{
	if (u->pub.start > e->minute)
		due_set(&e->hosts_due, &u->due, u->pub.id, u->pub.start);
	else if (u->pub.end > e->minute)
		due_set(&e->hosts_due, &u->due, u->pub.id, u->pub.end);
	else
		due_drop(&e->hosts_due, &u->due);
}

struct unit *depot_add_host(struct engine *e, const struct host *h, const struct piece *pieces, size_t count)
{
	struct unit *u = must_zalloc(sizeof *u);

	u->pub = *h;
	u->pub.name = must_copy(h->name);
	u->pub.pieces = NULL;
	u->pub.piece_count = 0;
	u->ware = world_ware(e, h->sku);
	u->depot = world_depot(e, h->pool);
	u->keeper = world_keeper(e, h->agent);
	u->version = e->count;
	world_add(e, HOSTS, h->id, h->account, u);
	if (h->retired)
		return u;
	world_name(e, HOSTS, h->account, h->name, u);
	shelf_add(u->ware, u);
	world_hold(u->depot, u, u->pub.end);
	if (u->keeper)
		rank_add(&u->keeper->hosts, h->id, u);
	if (count)
		calendar_start(u, pieces, count);
	depot_host_due(e, u);
	return u;
}

int depot_host(struct engine *e, const struct event *ev, struct fail *why)
{
	struct host h = { .account = ev->account, .sku = ev->u.host.sku, .pool = ev->u.host.pool, .name = (char *)ev->name,
		.start = ev->u.host.start, .end = ev->u.host.end, .agent = ev->u.host.agent, .created_at = ev->at };
	const struct keeper *k = world_keeper(e, ev->u.host.agent);
	struct depot *d;
	int rc = door_open_account(e, ev, why);

	rc = rc ? rc : door_pool(e, ev, h.pool, &d, why);
	if (rc)
		return rc;
	if (d->pub.kind != POOL_ORIGINATING)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is not for hosts", d->pub.name);
	if (!world_ware(e, h.sku))
		return fail_set(why, REASON_NOT_FOUND, "there is no such instance SKU");
	if (h.agent && (!k || k->pub.account != ev->account || k->pub.retired))
		return fail_set(why, REASON_NOT_FOUND, "there is no such agent");
	rc = door_name(ev->name, true, why);
	if (rc)
		return rc;
	if (h.start < 0 || h.start >= h.end || h.end > MINUTE_MAX || h.end <= e->minute)
		return fail_set(why, REASON_INVALID, "a host's minutes end after they start, and later than now");
	if (world_named(e, HOSTS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "there is a host '%s' already", ev->name);
	h.id = world_id(e);
	depot_add_host(e, &h, &(struct piece){ .start = h.start, .end = h.end, .pool = h.pool }, 1);
	calendar_trim(world_unit(e, h.id), e->minute);
	tell_made(e, h.id);
	world_stale(e, d);
	return 0;
}

static int find_host(const struct engine *e, const struct event *ev, struct unit **out, struct fail *why)
{
	struct unit *u = world_unit(e, ev->subject);
	int rc = door_account(e, ev, why);

	if (rc)
		return rc;
	if (!u || u->pub.account != ev->account || u->pub.retired)
		return fail_set(why, REASON_NOT_FOUND, "there is no such host");
	*out = u;
	return 0;
}

static int tenure_cmp(const void *a, const void *b)
{
	const struct tenure *x = *(struct tenure *const *)a, *y = *(struct tenure *const *)b;

	return x->pub.id < y->pub.id ? -1 : x->pub.id > y->pub.id;
}

/*
 * The leases under way on a host, that of this minute and those that it was sold on from, up to
 * `since`; what is settled after that stays so, and the time from there on goes by the new state.
 */
static void settle_running(struct engine *e, const struct unit *u, int64_t since)
{
	const struct piece *p = calendar_at(u, e->minute);
	struct tenure *t = p ? world_tenure(e, p->lease) : NULL, **list = NULL;
	size_t count = 0, cap = 0;

	for (; t; t = world_tenure(e, t->pub.parent)) {
		must_room(list, count, cap);
		list[count++] = t;
	}
	if (count > 1)
		qsort(list, count, sizeof(struct tenure *), tenure_cmp);
	for (size_t i = 0; i < count; i++) {
		lease_settle(e, list[i], since);
		lease_schedule(e, list[i]);
	}
	free(list);
}

static int state_check(const struct unit *u, const struct event *ev, struct fail *why)
{
	bool down = ev->u.host_state.down, watch = ev->u.host_state.watch;

	if (u->pub.down == down && (watch || !u->pub.watched))
		return fail_set(why, REASON_WRONG_STATE, "host '%s' is %s already", u->pub.name, down ? "down" : "up");
	if (u->pub.down && watch && !u->pub.watched)
		return fail_set(why, REASON_WRONG_STATE, "host '%s' was taken down by its owner", u->pub.name);
	if (ev->u.host_state.since < 0 || (ev->u.host_state.since && !down))
		return fail_set(why, REASON_INVALID, "a host is down since a minute, and up from now on");
	return 0;
}

static void tell_state(struct engine *e, const struct unit *u)
{
	const struct piece *p = calendar_at(u, e->minute);

	tell_notice(e, &(struct notice){ .kind = NOTICE_HOST_STATE, .account = u->pub.account, .subject = u->pub.id,
		.minute = e->minute, .code = u->pub.down });
	if (p && p->lease && world_tenure(e, p->lease)->pub.buyer != u->pub.account)
		tell_notice(e, &(struct notice){ .kind = NOTICE_HOST_STATE, .account = world_tenure(e, p->lease)->pub.buyer,
			.subject = u->pub.id, .other = p->lease, .minute = e->minute, .code = u->pub.down });
}

int depot_host_state(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t since = ev->u.host_state.since;
	struct unit *u;
	int rc = find_host(e, ev, &u, why);

	rc = rc ? rc : state_check(u, ev, why);
	if (rc)
		return rc;
	unit_changed(u);
	u->pub.watched = ev->u.host_state.down && ev->u.host_state.watch;
	if (u->pub.down == ev->u.host_state.down) /* the owner takes it over from the watch: it stays down */
		return 0;
	settle_running(e, u, since && since < e->minute ? since : e->minute);
	u->pub.down = ev->u.host_state.down;
	shelf_update(u, 0, MINUTE_MAX);
	if (!u->pub.down)
		u->ware->marked = u->ware->crossed = true;
	tell_state(e, u);
	return 0;
}

int depot_host_retire(struct engine *e, const struct event *ev, struct fail *why)
{
	struct unit *u;
	int rc = find_host(e, ev, &u, why);

	if (rc)
		return rc;
	for (size_t i = calendar_find(u, e->minute); i < u->pub.piece_count; i++)
		if (u->pub.pieces[i].lease || u->pub.pieces[i].order)
			return fail_set(why, REASON_HAS_DEPENDENTS, "minutes of host '%s' are on sale or leased", u->pub.name);
	calendar_clear(u);
	shelf_drop(u->ware, u);
	world_unhold(u->depot, u);
	world_unname(e, HOSTS, u->pub.account, u->pub.name);
	due_drop(&e->hosts_due, &u->due);
	u->pub.retired = true;
	if (u->keeper)
		rank_remove(&u->keeper->hosts, u->pub.id);
	world_stale(e, u->depot);
	return 0;
}
