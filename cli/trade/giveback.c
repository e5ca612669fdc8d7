/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/giveback.h"

#include <stdlib.h>
#include <string.h>

#include "market/money.h"

static const char *const ranks[] = { "yield", "normal", "preferred", "critical" };

/* ---- The nodes ------------------------------------------------------------------------- */

struct giving {
	struct giveback *out;
	const char *sku;
};

static void giveback_text(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

static int giveback_take(void *arg, struct doc *d, long at, struct fail *f)
{
	struct giving *w = arg;
	struct model_instance i;
	struct giveback_node *n;
	int rc = wire_instance(d, at, &i, f);

	if (rc || (i.status != MODEL_INSTANCE_AWAITING && i.status != MODEL_INSTANCE_RUNNING) ||
		(w->sku && (!i.sku.id || strcmp(i.sku.id, w->sku) != 0)))
		return rc;
	n = reallocarray(w->out->list, w->out->count + 1, sizeof *n);
	if (!n)
		command_nomem();
	w->out->list = n;
	n += w->out->count++;
	*n = (struct giveback_node){ .rank = 1 };
	giveback_text(n->id, sizeof n->id, i.id);
	giveback_text(n->name, sizeof n->name, i.name ? i.name : i.id);
	giveback_text(n->pool, sizeof n->pool, i.pool.id);
	giveback_text(n->sku, sizeof n->sku, i.sku.id);
	for (size_t k = 0; i.priority && k < sizeof ranks / sizeof *ranks; k++)
		if (strcmp(i.priority, ranks[k]) == 0)
			n->rank = (int)k;
	return 0;
}

/* The lowest priority first; of the same the one with the highest number, as people count. */
static int giveback_order(const void *a, const void *b)
{
	const struct giveback_node *x = a, *y = b;

	return x->rank != y->rank ? x->rank - y->rank : strverscmp(y->name, x->name);
}

int giveback_load(struct market_link *m, const char *pool, const char *sku, struct giveback *g)
{
	struct giving w = { g, sku };
	char path[128];
	int rc;

	*g = (struct giveback){ .count = 0 };
	snprintf(path, sizeof path, "/v2/instances?limit=200%s%.60s", pool ? "&pool=" : "", pool ? pool : "");
	rc = market_each(m, path, giveback_take, &w);
	if (g->count)
		qsort(g->list, g->count, sizeof *g->list, giveback_order);
	return rc;
}

void giveback_release(struct giveback *g)
{
	free(g->list);
	*g = (struct giveback){ .count = 0 };
}

struct giveback_node *giveback_find(const struct giveback *g, const char *name)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->list[i].name, name) == 0 || strcmp(g->list[i].id, name) == 0)
			return &g->list[i];
	return NULL;
}

/* ---- Which of them go ------------------------------------------------------------------- */

int giveback_choose(struct market_link *m, struct giveback *g, struct giveback_node *one, int64_t nodes, int64_t hosts)
{
	int lowest_stays = 4, highest_goes = -1;
	const struct giveback_node *stays = NULL;

	g->idle = hosts > (int64_t)g->count ? (size_t)hosts - g->count : 0;
	if (one && g->idle)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"%zu host%s of it ha%s no node, and the market takes %s first; 'nanopod release' with '-n %zu' "
			"gives %s back",
			g->idle, g->idle == 1 ? "" : "s", g->idle == 1 ? "s" : "ve", g->idle == 1 ? "that" : "those",
			g->idle, g->idle == 1 ? "it" : "them");
	for (size_t i = 0; i < g->count; i++) {
		struct giveback_node *n = &g->list[i];

		n->goes = one ? n == one : (int64_t)(i + g->idle) < nodes;
		g->going += n->goes;
		if (n->goes && n->rank > highest_goes)
			highest_goes = n->rank;
		if (!n->goes && n->rank < lowest_stays) {
			lowest_stays = n->rank;
			stays = n;
		}
	}
	g->marked = highest_goes >= lowest_stays;
	if (g->marked && lowest_stays == 0)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"the market may take '%.100s' first, whose priority is 'yield'; 'nanopod api PATCH "
			"/v2/instances/%s {\"priority_level\":\"normal\"}' changes it",
			stays->name, stays->id);
	return 0;
}

int giveback_mark(struct market_link *m, const struct giveback *g)
{
	char path[128];
	struct buf body;
	int rc = 0;

	buf_init(&body, 256);
	if (buf_adds(&body, "{\"priority_level\":\"yield\"}"))
		command_nomem();
	for (size_t i = 0; !rc && g->marked && i < g->count; i++) {
		snprintf(path, sizeof path, "/v2/instances/%s", g->list[i].id);
		if (g->list[i].goes && g->list[i].rank > 0)
			rc = market_send(m, "PATCH", path, &body, NULL);
		rc = rc == MARKET_EXPLAINED ? 0 : rc;
	}
	buf_release(&body);
	return rc;
}

const char *giveback_names(const struct giveback *g, char *room, size_t size)
{
	size_t len = 0;

	room[0] = '\0';
	for (size_t i = 0; i < g->count && len < size; i++)
		if (g->list[i].goes)
			len += (size_t)snprintf(room + len, size - len, "%s%s", len ? ", " : "", g->list[i].name);
	return room;
}

/* ---- What it was worth ------------------------------------------------------------------- */

struct worth {
	const char *pool, *sku;
	int64_t from, low, high;
};

static int giveback_take_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct worth *w = arg;
	struct model_lease l;
	int rc = wire_lease(d, at, &l, f);

	if (rc || l.end <= w->from || !l.pool.id || strcmp(l.pool.id, w->pool) != 0 ||
		(w->sku && l.sku.id && strcmp(l.sku.id, w->sku) != 0))
		return rc;
	w->low = w->high < 0 || l.price < w->low ? l.price : w->low;
	w->high = l.price > w->high ? l.price : w->high;
	return 0;
}

int giveback_worth(struct market_link *m, const struct reservation *r, const char *sku, int64_t from, int64_t nodes,
	int64_t *worth, bool *exact)
{
	struct worth w = { r->id, sku, from, 0, -1 };
	int64_t sum = 0, one;
	int rc = market_each(m, "/np/v1/leases?limit=200", giveback_take_lease, &w);

	for (size_t i = 0; !rc && w.high >= 0 && i < r->count; i++)
		for (size_t k = 0; !rc && (!sku || strcmp(r->parts[i].sku, sku) == 0) && k < r->parts[i].count; k++) {
			const struct model_span *s = &r->parts[i].spans[k];
			int64_t start = s->start > from ? s->start : from, n = s->nodes < nodes ? s->nodes : nodes;

			if (s->end > start &&
				(money_cost(w.high, n, (s->end - start) / 60, &one) || money_add(sum, one, &sum)))
				rc = fail_set(&m->fail, REASON_INVALID, "the sum is too large to compute");
		}
	*worth = sum;
	*exact = w.low == w.high;
	return rc;
}

/* ---- What of it is on sale ---------------------------------------------------------------- */

struct giveback_sale {
	const char *pool, *sku;
	int64_t from;
	struct giveback_offers *out;
};

static int giveback_take_order(void *arg, struct doc *d, long at, struct fail *f)
{
	struct giveback_sale *s = arg;
	struct giveback_offer *one;
	struct model_order o;
	int rc = wire_order(d, at, &o, f);

	bool on_sale = !rc && (o.status == MODEL_ORDER_STANDING || o.status == MODEL_ORDER_PARTIALLY_FILLED);

	if (rc || !o.sell || !on_sale || !o.window.count || !o.pool.id || strcmp(o.pool.id, s->pool) != 0 ||
		(s->sku && o.sku.id && strcmp(o.sku.id, s->sku) != 0) ||
		o.window.list[o.window.count - 1].end <= s->from)
		return rc;
	one = reallocarray(s->out->list, s->out->count + 1, sizeof *one);
	if (!one)
		command_nomem();
	s->out->list = one;
	one += s->out->count++;
	*one = (struct giveback_offer){ .nodes = o.window.list[0].nodes,
		.start = o.window.list[0].start,
		.end = o.window.list[o.window.count - 1].end };
	giveback_text(one->id, sizeof one->id, o.id);
	return 0;
}

int giveback_offers(struct market_link *m, const char *pool, const char *sku, int64_t from, struct giveback_offers *out)
{
	struct giveback_sale s = { pool, sku, from, out };
	char path[160];

	*out = (struct giveback_offers){ .count = 0 };
	snprintf(path, sizeof path, "/v2/orders?limit=200&status=standing&status=partially_filled&side=sell&pool=%.60s",
		pool);
	return market_each(m, path, giveback_take_order, &s);
}
