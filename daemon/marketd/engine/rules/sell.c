/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/sell.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/tell.h"
#include "marketd/engine/rules/ticket.h"
#include "marketd/engine/rules/trade.h"

enum { FEW = 32 }; /* sorted as they come, without asking for memory */

struct row {
	struct unit *unit;
	int rank;
};

static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->unit->pub.id > y->unit->pub.id ? -1 : x->unit->pub.id < y->unit->pub.id;
}

void pick_sort(struct pick *p, const struct engine *e, uint64_t pool)
{
	struct row few[FEW], *rows = few;

	if (p->count < 2)
		return;
	if (p->count > FEW)
		rows = must_realloc(NULL, p->count, sizeof *rows);
	for (size_t i = 0; i < p->count; i++) {
		const struct instance *x = world_instance(e, p->list[i]->instance);
		struct row row = { .unit = p->list[i], .rank = x && x->pool == pool ? 1 + (int)x->priority : 0 };
		size_t k = i;

		for (; p->count <= FEW && k > 0 && row_cmp(&row, &rows[k - 1]) < 0; k--)
			rows[k] = rows[k - 1];
		rows[k] = row;
	}
	if (p->count > FEW)
		qsort(rows, p->count, sizeof *rows, row_cmp);
	for (size_t i = 0; i < p->count; i++)
		p->list[i] = rows[i].unit;
	if (rows != few)
		free(rows);
}

void pick_release(struct pick *p)
{
	free(p->list);
	*p = (struct pick){ 0 };
}

/* The pool has the whole window of it, and none of it is on sale or can be taken back. */
static bool sellable(const struct unit *u, const struct order *o)
{
	int64_t at = o->start;

	for (size_t i = calendar_find(u, at); at < o->end; i++) {
		const struct piece *p = i < u->pub.piece_count ? &u->pub.pieces[i] : NULL;

		if (!p || p->start > at || p->pool != o->pool || p->order || p->interruptible)
			return false;
		at = p->end;
	}
	return true;
}

int sell_plan(const struct engine *e, const struct ticket *t, struct pick *out, struct fail *why)
{
	*out = (struct pick){ 0 };
	for (size_t i = 0; i < t->depot->holding_count; i++) {
		struct unit *u = t->depot->holdings[i].unit;

		if (t->depot->holdings[i].until < t->pub.end || u->ware != t->ware || (t->pub.host && u->pub.id != t->pub.host) || !sellable(u, &t->pub))
			continue;
		must_room(out->list, out->count, out->cap);
		out->list[out->count++] = u;
	}
	if (out->count < (size_t)t->pub.nodes) {
		pick_release(out);
		return fail_set(why, REASON_NOT_OWNED, "pool '%s' does not have %d nodes for sale throughout the window",
			t->depot->pub.name, t->pub.nodes);
	}
	pick_sort(out, e, t->pub.pool);
	out->count = (size_t)t->pub.nodes;
	return 0;
}

static int id_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void put_on_sale(struct engine *e, struct ticket *t, struct unit *u)
{
	for (int64_t at = t->pub.start; at < t->pub.end;) {
		struct piece p = *calendar_at(u, at);
		int64_t to = p.end < t->pub.end ? p.end : t->pub.end;

		p.order = t->pub.id;
		p.price = t->pub.price;
		p.block = order_block(&t->pub);
		calendar_put(u, at, to, &p);
		at = to;
	}
	ticket_on_sale(e, t, u, t->pub.start, t->pub.end);
}

void sell_do(struct engine *e, struct ticket *t, const struct pick *hosts)
{
	uint64_t *ids = must_realloc(NULL, hosts->count, sizeof *ids), id;
	struct ticket *made;

	t->pub.id = id = world_id(e);
	t->pub.status = ORDER_RESTING;
	for (size_t i = 0; i < hosts->count; i++)
		ids[i] = hosts->list[i]->pub.id;
	qsort(ids, hosts->count, sizeof *ids, id_cmp);
	made = ticket_open(e, t, ids, hosts->count);
	trade_tell_placed(e, &made->pub);
	for (size_t i = 0; i < hosts->count; i++)
		put_on_sale(e, made, hosts->list[i]);
	resting_try(e, made->ware);
	made = world_ticket(e, id);
	if (made && !(made->pub.flags & ORDER_STANDING))
		trade_close(e, made, ORDER_CANCELLED, REASON_NO_BUYER);
	else if (made)
		tell_order(e, &made->pub);
}
