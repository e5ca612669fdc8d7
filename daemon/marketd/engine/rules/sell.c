/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/sell.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/trade.h"

enum { FEW = 32 }; /* sorted without an allocation */

struct row {
	struct live_host *host;
	int rank;
};

static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->host->pub.id > y->host->pub.id ? -1 : x->host->pub.id < y->host->pub.id;
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
		struct row row = { .host = p->list[i], .rank = x && x->pool == pool ? 1 + (int)x->priority : 0 };
		size_t k = i;

		for (; p->count <= FEW && k > 0 && row_cmp(&row, &rows[k - 1]) < 0; k--)
			rows[k] = rows[k - 1];
		rows[k] = row;
	}
	if (p->count > FEW)
		qsort(rows, p->count, sizeof *rows, row_cmp);
	for (size_t i = 0; i < p->count; i++)
		p->list[i] = rows[i].host;
	if (rows != few)
		free(rows);
}

void pick_release(struct pick *p)
{
	free(p->list);
	*p = (struct pick){ 0 };
}

/* The pool owns the whole window of the host and may sell it; none is on sale, interruptible or paid by a grant. */
static bool sell_sellable(const struct live_host *h, const struct order *o)
{
	int64_t at = o->start;

	if (h->pool->pub.id == o->pool && o->end > live_host_sells_until(h))
		return false;
	for (size_t i = calendar_find(h, at); at < o->end; i++) {
		const struct piece *p = i < h->pub.piece_count ? &h->pub.pieces[i] : NULL;

		if (!p || p->start > at || p->pool != o->pool || p->order || p->interruptible || p->granted || p->taken)
			return false;
		at = p->end;
	}
	return true;
}

/* Its owner wants to sell minutes that a drain took from a buyer. */
static bool sell_taken(const struct live_host *h, const struct order *o)
{
	for (size_t i = calendar_find(h, o->start); i < h->pub.piece_count && h->pub.pieces[i].start < o->end; i++)
		if (h->pub.pieces[i].taken)
			return h->pub.pool == o->pool;
	return false;
}

int sell_plan(const struct engine *e, const struct live_order *o, struct pick *out, struct fail *why)
{
	const struct live_host *dear = NULL;
	size_t dears = 0;

	*out = (struct pick){ 0 };
	for (size_t i = world_holding(o->pool, o->pub.host); i < o->pool->holding_count; i++) {
		struct live_host *h = o->pool->holdings[i].live;

		if (o->pub.host && h->pub.id != o->pub.host)
			break;
		if (o->pool->holdings[i].until < o->pub.end || h->sku != o->sku || !sell_sellable(h, &o->pub))
			continue;
		if (!floor_allows(h, o->pub.pool, o->pub.price)) {
			dear = dear ? dear : h;
			dears++;
			continue;
		}
		must_room(out->list, out->count, out->cap);
		out->list[out->count++] = h;
	}
	if (out->count < (size_t)o->pub.nodes) {
		const struct live_host *named = world_host(e, o->pub.host);
		bool enough = out->count + dears >= (size_t)o->pub.nodes;

		pick_release(out);
		if (enough)
			return floor_refuse(dear, why);
		if (named && sell_taken(named, &o->pub))
			return fail_set(why, REASON_NOT_OWNED,
				"host '%s' took time of that window back from a buyer; nobody sells that again",
				named->pub.name);
		if (named && named->pool == o->pool && o->pub.end > live_host_sells_until(named))
			return fail_set(why, REASON_NOT_OWNED,
				"host '%s' is out of service then; 'nanopod host undrain' puts it back",
				named->pub.name);
		return fail_set(why, REASON_NOT_OWNED, "pool '%s' does not have %d unsold nodes throughout the window",
			o->pool->pub.name, o->pub.nodes);
	}
	pick_sort(out, e, o->pub.pool);
	out->count = (size_t)o->pub.nodes;
	return 0;
}

static int id_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void put_on_sale(struct engine *e, struct live_order *o, struct live_host *h)
{
	for (int64_t at = o->pub.start; at < o->pub.end;) {
		struct piece p = *calendar_at(h, at);
		int64_t to = p.end < o->pub.end ? p.end : o->pub.end;

		p.order = o->pub.id;
		p.price = o->pub.price;
		p.place = o->pub.place;
		p.block = order_block(&o->pub);
		calendar_put(h, at, to, &p);
		at = to;
	}
	live_order_on_sale(e, o, h, o->pub.start, o->pub.end);
}

void sell_do(struct engine *e, struct live_order *o, const struct pick *hosts)
{
	uint64_t *ids = must_realloc(NULL, hosts->count, sizeof *ids), id;
	struct live_order *made;

	o->pub.id = o->pub.place = id = world_id(e);
	o->pub.status = ORDER_RESTING;
	for (size_t i = 0; i < hosts->count; i++)
		ids[i] = hosts->list[i]->pub.id;
	qsort(ids, hosts->count, sizeof *ids, id_cmp);
	made = live_order_open(e, o, ids, hosts->count);
	trade_emit_placed(e, &made->pub);
	for (size_t i = 0; i < hosts->count; i++)
		put_on_sale(e, made, hosts->list[i]);
	resting_try(e, made->sku);
	made = world_order(e, id);
	if (made && !(made->pub.flags & ORDER_STANDING))
		trade_close(e, made, ORDER_CANCELLED, REASON_NO_BUYER);
	else if (made)
		emit_order(e, &made->pub);
}
