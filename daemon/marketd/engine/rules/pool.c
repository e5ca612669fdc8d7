/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/pool.h"

#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/live/offer_index.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/order.h"

static void pool_replace(char **text, const char *now)
{
	char *copy = must_copy(now);

	free(*text);
	*text = copy;
}

static int sku_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_sku *s = world_sku(e, ev->subject), *other;
	int rc;

	if (!s)
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	rc = check_name(ev->name, false, why);
	rc = rc ? rc : check_text(ev->text, why);
	if (rc)
		return rc;
	other = ev->name ? world_named(e, SKUS, 0, ev->name) : NULL;
	if (other && other != s)
		return fail_set(why, REASON_NAME_TAKEN, "instance SKU '%s' already exists", ev->name);
	if (ev->text)
		pool_replace(&s->pub.properties, ev->text);
	if (ev->name) {
		world_unname(e, SKUS, 0, s->pub.alias);
		pool_replace(&s->pub.alias, ev->name);
		world_name(e, SKUS, 0, ev->name, s);
	}
	if (s->pub.proof && !ev->u.sku.proof)
		s->marked = s->crossed = true;
	s->pub.proof = ev->u.sku.proof;
	return 0;
}

int sku_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct sku s = { .alias = (char *)ev->name,
		.properties = (char *)ev->text,
		.gpus = ev->u.sku.gpus,
		.proof = ev->u.sku.proof,
		.created_at = ev->at };
	int rc;

	if (ev->subject)
		return sku_change(e, ev, why);
	rc = check_name(ev->name, true, why);
	rc = rc ? rc : check_text(ev->text, why);
	if (rc)
		return rc;
	if (s.gpus < 0 || s.gpus > 1024)
		return fail_set(why, REASON_INVALID, "a node has 0 to 1024 GPUs");
	if (world_named(e, SKUS, 0, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "instance SKU '%s' already exists", ev->name);
	s.id = world_id(e);
	world_make_sku(e, &s);
	emit_made(e, s.id);
	return 0;
}

int pool_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct pool p = { .account = ev->account, .kind = (enum pool_kind)ev->u.pool.kind, .name = (char *)ev->name,
		.tags = (char *)ev->text, .created_at = ev->at };
	int rc = check_account(e, ev, why);

	rc = rc ? rc : check_name(ev->name, true, why);
	rc = rc ? rc : check_text(ev->text, why);
	if (rc)
		return rc;
	if (ev->u.pool.kind != POOL_MARKET && ev->u.pool.kind != POOL_ORIGINATING)
		return fail_set(why, REASON_INVALID, "a pool is for the market or for hosts");
	if (world_named(e, POOLS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "pool '%s' already exists", ev->name);
	p.id = world_id(e);
	world_make_pool(e, &p);
	emit_made(e, p.id);
	return 0;
}

int pool_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_pool *p, *other;
	int rc = check_account(e, ev, why);

	rc = rc ? rc : check_pool(e, ev, ev->subject, &p, why);
	rc = rc ? rc : check_name(ev->name, false, why);
	rc = rc ? rc : check_text(ev->text, why);
	if (rc)
		return rc;
	other = ev->name ? world_named(e, POOLS, ev->account, ev->name) : NULL;
	if (other && other != p)
		return fail_set(why, REASON_NAME_TAKEN, "pool '%s' already exists", ev->name);
	if (ev->name) {
		world_unname(e, POOLS, ev->account, p->pub.name);
		pool_replace(&p->pub.name, ev->name);
		world_name(e, POOLS, ev->account, ev->name, p);
	}
	if (ev->text)
		pool_replace(&p->pub.tags, ev->text);
	return 0;
}

/* What still needs the pool, as a sentence; NULL: nothing. */
static const char *pool_dependent(const struct engine *e, const struct live_pool *p)
{
	const struct live_lease *l;

	for (size_t i = 0; i < p->holding_count; i++) {
		const struct live_host *h = p->holdings[i].live;

		if (h->pool == p)
			return "it is for hosts";
		for (size_t k = calendar_find(h, e->minute); k < h->pub.piece_count; k++)
			if (h->pub.pieces[k].pool == p->pub.id)
				return "it has host time that is not over";
	}
	for (size_t at = 0; (l = rank_next(&p->owner->own[LEASES], &at));)
		if (l->pub.pool == p->pub.id)
			return "time that it sold on is not over";
	if (rank_live(&p->orders))
		return "it has an open order";
	if (rank_live(&p->instances))
		return "it has an instance";
	return rank_live(&p->procurements) ? "it has a procurement" : NULL;
}

int pool_delete(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_pool *p;
	const char *what;
	int rc = check_account(e, ev, why);

	rc = rc ? rc : check_pool(e, ev, ev->subject, &p, why);
	if (rc)
		return rc;
	what = pool_dependent(e, p);
	if (what)
		return fail_set(why, REASON_HAS_DEPENDENTS, "pool '%s' cannot be deleted: %s", p->pub.name, what);
	world_unname(e, POOLS, ev->account, p->pub.name);
	pool_replace(&p->pub.tags, NULL); /* nobody can read them now */
	p->pub.deleted = true;
	p->owner->gone[POOLS]++;
	return 0;
}

void host_pass_due(struct engine *e, struct live_host *h)
{
	if (h->pub.start > e->minute)
		due_set(&e->hosts_due, &h->due, h->pub.id, h->pub.start);
	else if (h->pub.end > e->minute)
		due_set(&e->hosts_due, &h->due, h->pub.id, h->pub.end);
	else
		due_drop(&e->hosts_due, &h->due);
}

struct live_host *pool_add_host(struct engine *e, const struct host *h, const struct piece *pieces, size_t count)
{
	struct live_host *u = must_zalloc(sizeof *u);

	u->pub = *h;
	u->pub.name = must_copy(h->name);
	u->pub.why = must_copy(h->why);
	u->pub.drain_why = must_copy(h->drain_why);
	u->pub.proof_why = must_copy(h->proof_why);
	u->pub.claims = h->retired ? NULL : must_copy(h->claims); /* kept by a snapshot of an older version */
	u->pub.pieces = NULL;
	u->pub.piece_count = 0;
	u->sku = world_sku(e, h->sku);
	u->pool = world_pool(e, h->pool);
	u->agent = world_agent(e, h->agent);
	u->version = e->count;
	world_add(e, HOSTS, h->id, h->account, u);
	if (h->retired)
		return u;
	world_name(e, HOSTS, h->account, h->name, u);
	offer_index_add(u->sku, u);
	world_hold(u->pool, u, u->pub.end);
	if (u->agent)
		rank_add(&u->agent->hosts, h->id, u);
	if (count)
		calendar_start(u, pieces, count);
	host_pass_due(e, u);
	return u;
}

int host_register(struct engine *e, const struct event *ev, struct fail *why)
{
	struct host h = { .account = ev->account,
		.sku = ev->u.host.sku,
		.pool = ev->u.host.pool,
		.name = (char *)ev->name,
		.start = ev->u.host.start,
		.end = ev->u.host.end,
		.agent = ev->u.host.agent,
		.created_at = ev->at };
	const struct live_agent *a = world_agent(e, ev->u.host.agent);
	struct live_pool *p;
	int rc = check_open_account(e, ev, why);

	rc = rc ? rc : check_pool(e, ev, h.pool, &p, why);
	if (rc)
		return rc;
	if (p->pub.kind != POOL_ORIGINATING)
		return fail_set(why, REASON_WRONG_STATE, "pool '%s' is not for hosts", p->pub.name);
	if (!world_sku(e, h.sku))
		return fail_set(why, REASON_NOT_FOUND, "no such instance SKU");
	if (h.agent && (!a || a->pub.account != ev->account || a->pub.retired))
		return fail_set(why, REASON_NOT_FOUND, "no such agent");
	rc = check_name(ev->name, true, why);
	if (rc)
		return rc;
	if (h.start < 0 || h.start >= h.end || h.end > MINUTE_MAX || h.end <= e->minute)
		return fail_set(why, REASON_INVALID, "a host's time must end after it starts, and later than now");
	if (world_named(e, HOSTS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "host '%s' already exists", ev->name);
	h.id = world_id(e);
	pool_add_host(e, &h, &(struct piece){ .start = h.start, .end = h.end, .pool = h.pool }, 1);
	calendar_trim(world_host(e, h.id), e->minute);
	emit_made(e, h.id);
	world_stale(e, p);
	return 0;
}

int pool_find_host(const struct engine *e, const struct event *ev, struct live_host **out, struct fail *why)
{
	struct live_host *h = world_host(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!h || h->pub.account != ev->account || h->pub.retired)
		return fail_set(why, REASON_NOT_FOUND, "no such host");
	*out = h;
	return 0;
}

static int tenure_cmp(const void *a, const void *b)
{
	const struct live_lease *x = *(struct live_lease *const *)a, *y = *(struct live_lease *const *)b;

	return x->pub.id < y->pub.id ? -1 : x->pub.id > y->pub.id;
}

void pool_settle_running(struct engine *e, const struct live_host *h, int64_t since)
{
	const struct piece *p = calendar_at(h, e->minute);
	struct live_lease *l = p ? world_lease(e, p->lease) : NULL, **list = NULL;
	size_t count = 0, cap = 0;

	for (; l; l = world_lease(e, l->pub.parent)) {
		must_room(list, count, cap);
		list[count++] = l;
	}
	if (count > 1)
		qsort(list, count, sizeof(struct live_lease *), tenure_cmp);
	for (size_t i = 0; i < count; i++) {
		lease_settle(e, list[i], since);
		lease_schedule(e, list[i]);
	}
	free(list);
}

/* It is up, and stays so: the market itself kept a node from it since then. */
static bool state_gives_back(const struct live_host *h, const struct event *ev)
{
	return !h->pub.down && !ev->u.host_state.down && ev->u.host_state.watch && ev->u.host_state.since > 0;
}

static int state_check(const struct live_host *h, const struct event *ev, struct fail *why)
{
	bool down = ev->u.host_state.down, watch = ev->u.host_state.watch, back = state_gives_back(h, ev);

	if (h->pub.down == down && (watch || !h->pub.watched) && !back)
		return fail_set(why, REASON_WRONG_STATE, "host '%s' is already %s", h->pub.name, down ? "down" : "up");
	if (h->pub.down && watch && !h->pub.watched)
		return fail_set(why, REASON_WRONG_STATE, "host '%s' was taken down by its owner", h->pub.name);
	if (ev->u.host_state.since < 0 || (ev->u.host_state.since && !down && !back))
		return fail_set(why, REASON_INVALID, "a host can be down since an earlier minute, but comes up now");
	if (ev->text && strlen(ev->text) > WHY_BYTES)
		return fail_set(why, REASON_INVALID, "a reason has at most %d bytes", WHY_BYTES);
	return 0;
}

static void emit_state(struct engine *e, const struct live_host *h)
{
	const struct piece *p = calendar_at(h, e->minute);

	emit_notice(e, &(struct notice){ .kind = NOTICE_HOST_STATE, .account = h->pub.account, .subject = h->pub.id,
		.minute = e->minute, .code = h->pub.down });
	if (p && p->lease && world_lease(e, p->lease)->pub.buyer != h->pub.account)
		emit_notice(e,
			&(struct notice){ .kind = NOTICE_HOST_STATE,
				.account = world_lease(e, p->lease)->pub.buyer,
				.subject = h->pub.id,
				.other = p->lease,
				.minute = e->minute,
				.code = h->pub.down });
}

/* As if it had been down from then on, up to the end of this minute. */
static void state_give_back(struct engine *e, struct live_host *h, int64_t since)
{
	pool_settle_running(e, h, since < e->minute ? since : e->minute);
	h->pub.down = true;
	pool_settle_running(e, h, e->minute + 1);
	h->pub.down = false;
}

int host_set_state(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t since = ev->u.host_state.since;
	struct live_host *h;
	int rc = pool_find_host(e, ev, &h, why);

	rc = rc ? rc : state_check(h, ev, why);
	if (rc)
		return rc;
	live_host_changed(h);
	if (state_gives_back(h, ev)) {
		state_give_back(e, h, since);
		return 0;
	}
	h->pub.watched = ev->u.host_state.down && ev->u.host_state.watch;
	pool_replace(&h->pub.why, ev->u.host_state.down ? ev->text : NULL);
	if (h->pub.down == ev->u.host_state.down) /* the owner takes it over from the watch: it stays down */
		return 0;
	pool_settle_running(e, h, since && since < e->minute ? since : e->minute);
	h->pub.down = ev->u.host_state.down;
	h->pub.down_at = h->pub.down ? ev->at : 0;
	offer_index_update(h, 0, MINUTE_MAX);
	if (!h->pub.down)
		h->sku->marked = h->sku->crossed = true;
	emit_state(e, h);
	return 0;
}

int host_retire(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_host *h;
	int rc = pool_find_host(e, ev, &h, why);

	if (rc)
		return rc;
	for (size_t i = calendar_find(h, e->minute); i < h->pub.piece_count; i++) {
		if (h->pub.pieces[i].lease || h->pub.pieces[i].order)
			return fail_set(why, REASON_HAS_DEPENDENTS, "time of host '%s' is on sale or sold",
				h->pub.name);
		if (h->pub.pieces[i].taken) /* the machine would sell it again as another host */
			return fail_set(why, REASON_HAS_DEPENDENTS,
				"host '%s' took time back from buyers that is not over; wait until it is", h->pub.name);
	}
	calendar_clear(h);
	offer_index_drop(h->sku, h);
	world_unhold(h->pool, h);
	world_unname(e, HOSTS, h->pub.account, h->pub.name);
	due_drop(&e->hosts_due, &h->due);
	h->pub.retired = true;
	pool_replace(&h->pub.claims, NULL); /* no lease needs them any more */
	pool_replace(&h->pub.proof_why, NULL);
	if (h->agent)
		rank_remove(&h->agent->hosts, h->pub.id);
	world_stale(e, h->pool);
	return 0;
}

/* ---- The lowest price of a host ------------------------------------------------------------- */

int floor_refuse(const struct live_host *h, struct fail *why)
{
	char money[MONEY_TEXT];

	return fail_set(why, REASON_BELOW_FLOOR,
		"host '%s' is not sold below its floor of $%s per node-hour, which 'nanopod host floor' sets",
		h->pub.name, price_text(h->pub.floor, 0, money));
}

int floor_check_order(const struct engine *e, const struct live_order *o, int64_t price, struct fail *why)
{
	for (size_t i = 0; i < o->host_count; i++) {
		const struct live_host *h = world_host(e, o->hosts[i]);

		if (!floor_allows(h, o->pub.pool, price))
			for (size_t k = calendar_find(h, e->minute); k < h->pub.piece_count; k++)
				if (h->pub.pieces[k].order == o->pub.id)
					return floor_refuse(h, why);
	}
	return 0;
}

int floor_check(const struct engine *e, const struct event *ev, struct live_host **out, struct fail *why)
{
	int64_t floor = ev->u.host_floor.price;
	int rc = pool_find_host(e, ev, out, why);
	char asks[MONEY_TEXT], least[MONEY_TEXT];

	if (rc)
		return rc;
	if (floor < 0 || floor > ORDER_PRICE_MAX)
		return fail_set(why, REASON_INVALID, "the price is below 0 or too high");
	for (size_t i = calendar_find(*out, e->minute); i < (*out)->pub.piece_count; i++) {
		const struct piece *p = &(*out)->pub.pieces[i];
		const struct live_order *sell = p->order && p->price < floor ? world_order(e, p->order) : NULL;

		if (sell && sell->pool == (*out)->pool)
			return fail_set(why, REASON_BELOW_FLOOR,
				"host '%s' is on sale at $%s per node-hour, below a floor of $%s; give that another "
				"price first, with 'nanopod host price'",
				(*out)->pub.name, price_text(p->price, 0, asks), price_text(floor, 0, least));
	}
	return 0;
}

int host_floor(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_host *h = NULL;
	int rc = floor_check(e, ev, &h, why);

	if (rc || h->pub.floor == ev->u.host_floor.price)
		return rc;
	h->pub.floor = ev->u.host_floor.price;
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_HOST_FLOOR,
			.account = h->pub.account,
			.subject = h->pub.id,
			.amount = h->pub.floor });
	return 0;
}
