/* SPDX-License-Identifier: Apache-2.0 */
/* The state as text, line by line as rules.md says: for comparing, hashing and reading. */
#include <inttypes.h>

#include "base/hash.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/live/world.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/money/tariff.h"

/* Adds a line; keeps an error until the end. */
struct pen {
	struct buf *out;
	int rc;
};

#define line(p, ...) ((p)->rc = (p)->rc ? (p)->rc : buf_addf((p)->out, __VA_ARGS__))

static const char *dump_text(const char *s)
{
	return s ? s : "";
}

static void dump_accounts(const struct engine *e, struct pen *p)
{
	const struct account *a;
	const struct token *t;
	const struct sku *s;

	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));)
		line(p, "account %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\n",
			a->id, a->beneficiary, a->state, a->floor, a->available, a->held, a->escrow, a->name);
	for (size_t at = 0; (t = rank_next(&e->all[TOKENS], &at));)
		line(p, "token %" PRIu64 " %" PRIu64 " %d %" PRId64 " %d %s\n", t->id, t->account, t->scopes,
			t->expires, t->revoked, dump_text(t->name));
	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));)
		line(p, "sku %" PRIu64 " %d %s\n", s->id, s->gpus, s->alias);
}

static void dump_agents(const struct engine *e, struct pen *p)
{
	const struct agent *a;

	for (size_t at = 0; (a = rank_next(&e->all[AGENTS], &at));)
		line(p, "agent %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s %s\n", a->id, a->account, a->generation,
			a->retired, a->public_key, a->name);
}

static void engine_dump_hosts(const struct engine *e, struct pen *p)
{
	const struct live_host *h;

	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));)
		if (!h->pub.retired)
			line(p,
				"host %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64
				" %d %" PRIu64 " %s\n",
				h->pub.id, h->pub.account, h->pub.sku, h->pub.pool, h->pub.start, h->pub.end,
				h->pub.down + h->pub.watched, h->pub.agent, h->pub.name);
	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));)
		if (!h->pub.retired && h->pub.drain)
			line(p, "drain %" PRIu64 " %" PRId64 " %d\n", h->pub.id, h->pub.drain, h->pub.drain_ends);
	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));)
		if (!h->pub.retired && h->pub.proof)
			line(p, "proof %" PRIu64 " %d %" PRId64 "\n", h->pub.id, (int)h->pub.proof, h->pub.proof_until);
	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));)
		if (!h->pub.retired && h->pub.floor)
			line(p, "floor %" PRIu64 " %" PRId64 "\n", h->pub.id, h->pub.floor);
	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));)
		for (size_t i = calendar_find(h, e->minute); i < h->pub.piece_count; i++) {
			const struct piece *x = &h->pub.pieces[i];

			line(p,
				"piece %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				" %" PRId64,
				h->pub.id, x->start > e->minute ? x->start : e->minute, x->end, x->pool, x->lease,
				x->order, x->price);
			if (x->taken)
				line(p, " %" PRIu64, x->taken);
			line(p, "\n");
		}
}

static void dump_rest(const struct order *o, struct pen *p)
{
	if (o->side == SIDE_SELL)
		line(p, " -");
	for (size_t i = 0; i < o->rest_count; i++)
		line(p, "%c%" PRId64 "-%" PRId64 "*%d", i ? ',' : ' ', o->rest[i].start, o->rest[i].end,
			o->rest[i].nodes);
	line(p, "\n");
}

static void dump_orders(const struct engine *e, struct pen *p)
{
	const struct order *o;
	const struct pool *d;

	for (size_t at = 0; (d = rank_next(&e->all[POOLS], &at));)
		if (!d->deleted)
			line(p, "pool %" PRIu64 " %" PRIu64 " %d %s\n", d->id, d->account, d->kind, d->name);
	for (size_t at = 0; (o = rank_next(&e->all[ORDERS], &at));) {
		line(p, "order %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %d", o->id,
			o->account, o->pool, o->sku, o->host, o->procurement, o->side, o->flags, o->nodes);
		line(p, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d", o->start, o->end,
			o->price, o->hold, o->filled_minutes, o->filled_cost, o->status);
		dump_rest(o, p);
	}
	for (size_t at = 0; (o = rank_next(&e->all[ORDERS], &at));)
		if (o->side == SIDE_SELL && o->place != o->id)
			line(p, "placed %" PRIu64 " %" PRIu64 "\n", o->id, o->place);
}

static void dump_leases(const struct engine *e, struct pen *p)
{
	const struct lease *l;

	for (size_t at = 0; (l = rank_next(&e->all[LEASES], &at));) {
		line(p,
			"lease %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRIu64,
			l->id, l->parent, l->order, l->sell_order, l->host, l->sku, l->buyer, l->seller, l->pool);
		line(p, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %d\n", l->start, l->end,
			l->paid_end, l->price, l->settled, l->interruptible, l->sold_on);
	}
}

static void dump_grants(const struct engine *e, struct pen *p)
{
	const struct account *a;
	const struct grant *g;
	const struct lease *l;

	for (size_t at = 0; (l = rank_next(&e->all[LEASES], &at));)
		if (l->grant)
			line(p, "granted %" PRIu64 " %" PRIu64 " %" PRId64 "\n", l->id, l->grant, l->granted);
	for (size_t at = 0; (g = rank_next(&e->all[GRANTS], &at));)
		line(p, "grant %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %s\n", g->id,
			g->account, g->sponsor, g->max, g->spent, g->until, g->ended, g->name);
	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));)
		if (a->facts)
			line(p, "facts %" PRIu64 " %s\n", a->id, a->facts);
}

/* Only what a market has that asks for proofs. */
static void dump_asked(const struct engine *e, struct pen *p)
{
	const struct sku *s;
	const struct lease *l;

	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));)
		if (s->proof)
			line(p, "asks %" PRIu64 "\n", s->id);
	for (size_t at = 0; (l = rank_next(&e->all[LEASES], &at));)
		if (l->proof)
			line(p, "asked %" PRIu64 " %" PRId64 "\n", l->id, l->since);
}

static void dump_instances(const struct engine *e, struct pen *p)
{
	const struct instance *x;
	const struct procurement *q;

	for (size_t at = 0; (x = rank_next(&e->all[INSTANCES], &at));)
		line(p, "instance %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %s\n", x->id,
			x->account, x->pool, x->sku, x->host, x->priority, x->status, dump_text(x->name));
	for (size_t at = 0; (q = rank_next(&e->all[PROCUREMENTS], &at));) {
		line(p, "procurement %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d", q->id, q->account, q->pool,
			q->sku, q->target, q->window);
		line(p, " %" PRId64 " %" PRId64 " %d %d %s\n", q->min_sell, q->max_buy, q->enabled, q->reason,
			dump_text(q->name));
	}
}

static void dump_announcements(const struct engine *e, struct pen *p)
{
	const struct announcement *x;

	for (size_t at = 0; (x = rank_next(&e->all[ANNOUNCEMENTS], &at));)
		line(p, "announcement %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %s\n", x->id, x->account,
			(int)x->severity, x->from, x->until, x->text);
}

static void dump_people(const struct engine *e, struct pen *p)
{
	const struct invitation *i;
	const struct person *x;
	const struct token *t;

	for (size_t at = 0; (x = rank_next(&e->all[PEOPLE], &at));)
		line(p, "person %" PRIu64 " %" PRIu64 " %d %s %s %s\n", x->id, x->account, x->roles, x->identity,
			x->email ? x->email : "-", x->name);
	for (size_t at = 0; (t = rank_next(&e->all[TOKENS], &at));)
		if (t->person)
			line(p, "whose %" PRIu64 " %" PRIu64 "\n", t->id, t->person);
	for (size_t at = 0; (i = rank_next(&e->all[INVITATIONS], &at));)
		line(p, "invitation %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRId64 " %s\n", i->id, i->account,
			i->maker, i->roles, i->expires, i->name ? i->name : "-");
}

static void dump_spending(const struct engine *e, struct pen *p, uint64_t id, const struct spending *s)
{
	if (s->capped)
		line(p, "cap %" PRIu64 " %" PRId64 "\n", id, s->cap);
	if (cap_spent(e, s))
		line(p, "spent %" PRIu64 " %" PRId64 "\n", id, cap_spent(e, s));
}

static void dump_caps(const struct engine *e, struct pen *p)
{
	const struct procurement *q;
	const struct person *x;
	const struct order *o;
	const struct token *t;
	const struct lease *l;

	for (size_t at = 0; (t = rank_next(&e->all[TOKENS], &at));)
		dump_spending(e, p, t->id, &t->spending);
	for (size_t at = 0; (x = rank_next(&e->all[PEOPLE], &at));)
		dump_spending(e, p, x->id, &x->spending);
	for (size_t at = 0; (o = rank_next(&e->all[ORDERS], &at));)
		if (o->month)
			line(p, "counts %" PRIu64 " %" PRIu64 " %" PRId64 "\n", o->id, o->token, o->month);
	for (size_t at = 0; (l = rank_next(&e->all[LEASES], &at));)
		if (l->month)
			line(p, "counts %" PRIu64 " %" PRIu64 " %" PRId64 "\n", l->id, l->token, l->month);
	for (size_t at = 0; (q = rank_next(&e->all[PROCUREMENTS], &at));)
		if (q->token)
			line(p, "started %" PRIu64 " %" PRIu64 "\n", q->id, q->token);
}

static void dump_tariffs(const struct engine *e, struct pen *p)
{
	const struct subscription *s;
	const struct tariff *t;
	const struct grant *g;
	int32_t lapses;
	int64_t fee;

	for (size_t at = 0; (t = rank_next(&e->all[TARIFFS], &at));) {
		line(p, "plan %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64, t->id, t->account, t->sku,
			t->fee, t->included);
		line(p, " %" PRId64 " %d %s\n", t->rates, (int)t->state, t->name);
	}
	for (size_t at = 0; (s = rank_next(&e->all[SUBSCRIPTIONS], &at));) {
		line(p, "subscription %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, s->id, s->account,
			s->plan, s->next, s->grant);
		line(p, " %" PRId64 " %" PRId64 " %" PRId64, s->fee, s->included, s->rates);
		fee = subscription_next_fee(e, s, &lapses);
		line(p, " %" PRId64 " %d\n", fee, lapses);
	}
	for (size_t at = 0; (g = rank_next(&e->all[GRANTS], &at));)
		if (g->plan)
			line(p, "month %" PRIu64 " %" PRIu64 " %" PRId64 "\n", g->id, g->plan, g->units);
}

static void dump_payments(const struct engine *e, struct pen *p)
{
	const struct payment *x;

	for (size_t at = 0; (x = rank_next(&e->all[PAYMENTS], &at));) {
		line(p, "payment %" PRIu64 " %" PRIu64 " %s\n", x->id, x->account, x->reference);
		for (size_t i = 0; i < x->part_count; i++)
			line(p, "part %" PRIu64 " %" PRId64 " %" PRId64 " %s\n", x->id, x->parts[i].step,
				x->parts[i].micros, x->parts[i].reference);
	}
}

static void dump_volumes(const struct engine *e, struct pen *p)
{
	const struct live_volume *v;
	const struct live_agent *a;

	for (size_t at = 0; (a = rank_next(&e->all[AGENTS], &at));)
		if (!a->pub.retired && (a->pub.volume_gib || a->pub.volume_price))
			line(p, "lets %" PRIu64 " %d %" PRId64 "\n", a->pub.id, a->pub.volume_gib, a->pub.volume_price);
	for (size_t at = 0; (v = rank_next(&e->all[VOLUMES], &at));)
		line(p, "volume %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRId64 " %d %" PRId64 " %" PRId64 " %s\n",
			v->pub.id, v->pub.account, v->pub.agent, v->pub.gib, v->pub.price, (int)v->pub.state,
			v->pub.paid_until, v->pub.until, v->pub.name);
}

static void dump_payouts(const struct engine *e, struct pen *p)
{
	const struct account *a;
	const struct payout *x;

	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));)
		if (a->income.earned || a->income.paid)
			line(p, "income %" PRIu64 " %" PRId64 " %" PRId64 "\n", a->id, a->income.earned,
				a->income.paid);
	for (size_t at = 0; (x = rank_next(&e->all[PAYOUTS], &at));)
		line(p, "payout %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %s\n", x->id, x->account, x->state,
			x->micros, x->back, dump_text(x->reference));
}

static void dump_debts(const struct engine *e, struct pen *p)
{
	const struct account *a;

	for (size_t at = 0; (a = rank_next(&e->all[ACCOUNTS], &at));) {
		if (a->debt.owes)
			line(p, "debt %" PRIu64 " %" PRId64 " %d %" PRId64 "\n", a->id, a->debt.since,
				(int)a->debt.step, a->debt.stepped);
		if (a->debt.reopened)
			line(p, "opened %" PRIu64 "\n", a->id);
	}
}

static void dump_book(struct pen *p, uint64_t owner, enum book b, uint64_t asset, int64_t balance)
{
	if (balance)
		line(p, "book %" PRIu64 " %d %" PRIu64 " %" PRId64 "\n", owner, (int)b, asset, balance);
}

static void pool_books(const struct live_pool *d, struct pen *p)
{
	for (size_t i = 0; i < d->stock_count; i++)
		dump_book(p, d->pub.id, BOOK_ISSUED, d->stocks[i].sku, d->stocks[i].issued);
	for (size_t i = 0; i < d->stock_count; i++)
		dump_book(p, d->pub.id, BOOK_CAPACITY, d->stocks[i].sku, d->stocks[i].capacity);
}

/* Owners in order of id: accounts and pools take their ids from one counter. */
static void dump_books(const struct engine *e, struct pen *p)
{
	const struct account *a = rank_after(&e->all[ACCOUNTS], 0);
	const struct live_pool *d = rank_after(&e->all[POOLS], 0);
	const struct live_sku *s;

	dump_book(p, 0, BOOK_ISSUED, 0, e->issued);
	dump_book(p, 0, BOOK_FEES, 0, e->fees);
	for (size_t at = 0; (s = rank_next(&e->all[SKUS], &at));)
		dump_book(p, 0, BOOK_USED, s->pub.id, s->used);
	dump_book(p, 0, BOOK_PAID, 0, e->paid);
	while (a || d) {
		if (a && (!d || a->id < d->pub.id)) {
			dump_book(p, a->id, BOOK_AVAILABLE, 0, a->available);
			dump_book(p, a->id, BOOK_HELD, 0, a->held);
			dump_book(p, a->id, BOOK_ESCROW, 0, a->escrow);
			a = rank_after(&e->all[ACCOUNTS], a->id);
		} else {
			pool_books(d, p);
			d = rank_after(&e->all[POOLS], d->pub.id);
		}
	}
}

int engine_dump(const struct engine *e, struct buf *out)
{
	struct pen p = { .out = out };

	line(&p, "minute %" PRId64 "\n", e->minute);
	line(&p, "policy %d %d %d %d\n", e->policy.fee_bps, e->policy.release_bps, e->policy.settle_minutes,
		e->policy.notice_minutes);
	if (e->policy.drain_notice_minutes)
		line(&p, "drain-notice %d\n", e->policy.drain_notice_minutes);
	if (e->policy.volume_grace_minutes)
		line(&p, "volume-grace %d\n", e->policy.volume_grace_minutes);
	if (e->rules > 1)
		line(&p, "rules %d\n", e->rules);
	line(&p, "next %" PRIu64 " %" PRIu64 "\n", e->next_id, e->next_transfer);
	dump_accounts(e, &p);
	dump_agents(e, &p);
	engine_dump_hosts(e, &p);
	dump_orders(e, &p);
	dump_leases(e, &p);
	dump_asked(e, &p);
	dump_instances(e, &p);
	dump_announcements(e, &p);
	dump_grants(e, &p);
	dump_people(e, &p);
	dump_payments(e, &p);
	dump_caps(e, &p);
	dump_volumes(e, &p);
	dump_tariffs(e, &p);
	dump_payouts(e, &p);
	dump_debts(e, &p);
	dump_books(e, &p);
	return p.rc;
}

uint64_t engine_hash(const struct engine *e)
{
	struct buf text_of;
	uint64_t h;

	buf_init(&text_of, SIZE_MAX / 2);
	ensure(engine_dump(e, &text_of) == 0, "out of memory");
	h = hash_more(HASH_BEGIN, text_of.data, text_of.len);
	buf_release(&text_of);
	return h;
}
