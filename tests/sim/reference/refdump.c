/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the reference market as text. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "ref.h"

#define EACH(list, type, name) \
	for (size_t name##_n = 0; name##_n < (list).n; name##_n++) \
		for (const type *name = (list).at[name##_n]; name; name = NULL)

static void dump_people(const struct reference *r, struct buf *out)
{
	buf_addf(out, "minute %" PRId64 "\n", r->minute);
	buf_addf(out, "policy %d %d %d %d\n", r->policy.fee_bps, r->policy.release_bps, r->policy.settle_minutes,
		r->policy.notice_minutes);
	if (r->policy.drain_notice_minutes != 0)
		buf_addf(out, "drain-notice %d\n", r->policy.drain_notice_minutes);
	if (r->policy.volume_grace_minutes != 0)
		buf_addf(out, "volume-grace %d\n", r->policy.volume_grace_minutes);
	if (r->rules > 1)
		buf_addf(out, "rules %d\n", r->rules);
	buf_addf(out, "next %" PRIu64 " %" PRIu64 "\n", r->next_id, r->next_transfer);
	EACH(r->accounts, struct raccount, a)
	buf_addf(out, "account %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\n", a->id,
		a->beneficiary, a->state, a->floor, ref_available(r, a->id), ref_book_balance(r, a->id, BOOK_HELD, 0),
		ref_book_balance(r, a->id, BOOK_ESCROW, 0), a->name);
	EACH(r->tokens, struct rtoken, t)
	buf_addf(out, "token %" PRIu64 " %" PRIu64 " %d %" PRId64 " %d %s\n", t->id, t->account, t->scopes, t->expires,
		t->revoked, t->name);
	EACH(r->skus, struct rsku, s)
		buf_addf(out, "sku %" PRIu64 " %d %s\n", s->id, s->gpus, s->name);
}

static void dump_hosts(const struct reference *r, struct buf *out)
{
	EACH(r->agents, struct ragent, g)
	buf_addf(out, "agent %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s %s\n", g->id, g->account, g->generation,
		g->retired, g->key, g->name);
	EACH(r->hosts, struct rhost, h)
	buf_addf(out,
		"host %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %d %" PRIu64 " %s\n",
		h->id, h->account, h->sku, h->pool, h->start, h->end, h->down ? 1 + h->watched : 0, h->agent, h->name);
	EACH(r->hosts, struct rhost, h)
	if (h->drain)
		buf_addf(out, "drain %" PRIu64 " %" PRId64 " %d\n", h->id, h->drain, h->drain_ends);
	EACH(r->hosts, struct rhost, h)
	if (h->proof)
		buf_addf(out, "proof %" PRIu64 " %d %" PRId64 "\n", h->id, h->proof, h->valid);
	EACH(r->hosts, struct rhost, h)
	if (h->floor)
		buf_addf(out, "floor %" PRIu64 " %" PRId64 "\n", h->id, h->floor);
	EACH(r->hosts, struct rhost, h)
		for (size_t i = 0; i < h->cells; i++) {
			const struct cell *c = &h->cell[i];
			const struct rorder *o = ref_list_find(&r->orders, c->order);

			buf_addf(out,
				"piece %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				" %" PRId64,
				h->id, c->start, c->end, c->pool, c->lease, c->order, o ? o->price : 0);
			if (c->lost)
				buf_addf(out, " %" PRIu64, c->lost);
			buf_adds(out, "\n");
		}
	EACH(r->pools, struct rpool, p)
		buf_addf(out, "pool %" PRIu64 " %" PRIu64 " %d %s\n", p->id, p->account, p->kind, p->name);
}

static void dump_trade(const struct reference *r, struct buf *out)
{
	EACH(r->orders, struct rorder, o) {
		buf_addf(out,
			"order %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d ",
			o->id, o->account, o->pool, o->sku, o->host, o->procurement, o->side, o->flags, o->nodes,
			o->start, o->end, o->price, o->hold, o->minutes, o->cost, o->status);
		for (size_t i = 0; i < o->rest.n; i++)
			buf_addf(out, "%s%" PRId64 "-%" PRId64 "*%d", i ? "," : "", o->rest.at[i].start,
				o->rest.at[i].end, o->rest.at[i].nodes);
		buf_adds(out, o->side == SIDE_SELL ? "-\n" : "\n");
	}
	EACH(r->orders, struct rorder, o)
	if (o->side == SIDE_SELL && o->place != o->id)
		buf_addf(out, "placed %" PRIu64 " %" PRIu64 "\n", o->id, o->place);
	EACH(r->leases, struct rlease, l)
	buf_addf(out,
		"lease %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %d\n",
		l->id, l->parent, l->order, l->sell_order, l->host, l->sku, l->buyer, l->seller, l->pool, l->start,
		l->end, l->paid_end, l->price, l->settled, l->interruptible, l->sold_on);
	EACH(r->skus, struct rsku, s)
	if (s->asks)
		buf_addf(out, "asks %" PRIu64 "\n", s->id);
	EACH(r->leases, struct rlease, l)
	if (l->asked)
		buf_addf(out, "asked %" PRIu64 " %" PRId64 "\n", l->id, l->came);
}

void reference_dump(const struct reference *r, struct buf *out)
{
	dump_people(r, out);
	dump_hosts(r, out);
	dump_trade(r, out);
	EACH(r->instances, struct rinstance, i)
	buf_addf(out, "instance %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %s\n", i->id,
		i->account, i->pool, i->sku, i->host, i->priority, i->status, i->name);
	EACH(r->procurements, struct rprocurement, p)
	buf_addf(out,
		"procurement %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %" PRId64 " %" PRId64 " %d %d %s\n",
		p->id, p->account, p->pool, p->sku, p->target, p->window, p->min_sell, p->max_buy, p->enabled,
		p->reason, p->name);
	EACH(r->words, struct rword, w)
	buf_addf(out, "announcement %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRId64 " %s\n", w->id, w->account,
		w->severity, w->from, w->until, w->text);
	EACH(r->leases, struct rlease, l)
	if (l->gift)
		buf_addf(out, "granted %" PRIu64 " %" PRIu64 " %" PRId64 "\n", l->id, l->gift, l->given);
	EACH(r->grants, struct rgrant, g)
	buf_addf(out, "grant %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %s\n", g->id,
		g->account, g->sponsor, g->max, g->spent, g->until, g->ended, g->name);
	EACH(r->accounts, struct raccount, a)
	if (a->known)
		buf_addf(out, "facts %" PRIu64 " %s\n", a->id, a->known);
	ref_people_dump(r, out);
	ref_payments_dump(r, out);
	ref_caps_dump(r, out);
	ref_volumes_dump(r, out);
	ref_tariffs_dump(r, out);
	ref_payouts_dump(r, out);
	ref_debts_dump(r, out);
	for (size_t i = 0; i < r->books; i++)
		if (r->book[i].balance)
			buf_addf(out, "book %" PRIu64 " %d %" PRIu64 " %" PRId64 "\n", r->book[i].owner,
				r->book[i].book, r->book[i].asset, r->book[i].balance);
}

static int closed_order(const void *a, const void *b)
{
	const struct rclosed *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

void reference_closed(const struct reference *r, struct buf *out)
{
	if (r->closeds)
		qsort(r->closed, r->closeds, sizeof *r->closed, closed_order);
	for (size_t i = 0; i < r->closeds; i++)
		buf_addf(out, "closed %" PRIu64 " %d %d %" PRId64 " %" PRId64 "\n", r->closed[i].id,
			r->closed[i].status, r->closed[i].reason, r->closed[i].minutes, r->closed[i].cost);
}
