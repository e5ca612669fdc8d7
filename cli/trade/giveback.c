/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/giveback.h"

#include <stdlib.h>
#include <string.h>

#include "market/when.h"

static const char *const ranks[] = { "yield", "normal", "preferred", "critical" };

/* ---- The nodes ------------------------------------------------------------------------- */

struct giving {
	struct giveback *out;
	const char *sku;
	bool ended;
};

static void giveback_text(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%s", text ? text : "");
}

static struct giveback_node *giveback_add(struct giveback *g, const char *id, const char *name)
{
	struct giveback_node *n = reallocarray(g->list, g->count + 1, sizeof *n);

	if (!n)
		command_nomem();
	g->list = n;
	n += g->count++;
	*n = (struct giveback_node){ .rank = 1 };
	giveback_text(n->id, sizeof n->id, id);
	giveback_text(n->name, sizeof n->name, name ? name : id);
	return n;
}

static int giveback_take_node(void *arg, struct doc *d, long at, struct fail *f)
{
	struct giving *w = arg;
	struct model_instance i;
	struct giveback_node *n;
	int rc = wire_instance(d, at, &i, f);
	bool ended = i.status != MODEL_INSTANCE_AWAITING && i.status != MODEL_INSTANCE_RUNNING;

	if (rc || (ended && !w->ended) || (w->sku && (!i.sku.id || strcmp(i.sku.id, w->sku) != 0)))
		return rc;
	n = giveback_add(w->out, i.id, i.name);
	giveback_text(n->pool, sizeof n->pool, i.pool.id);
	giveback_text(n->sku, sizeof n->sku, i.sku.id);
	giveback_text(n->type, sizeof n->type, i.sku.name ? i.sku.name : i.sku.id);
	n->ended = ended;
	for (size_t k = 0; i.priority && k < sizeof ranks / sizeof *ranks; k++)
		if (strcmp(i.priority, ranks[k]) == 0)
			n->rank = (int)k;
	return 0;
}

/* The highest number first, as people count. */
static int giveback_order(const void *a, const void *b)
{
	const struct giveback_node *x = a, *y = b;

	return strverscmp(y->name, x->name);
}

int giveback_load(struct market_link *m, const char *pool, const char *sku, struct giveback *g)
{
	struct giving w = { g, sku, !pool };
	char path[128];
	int rc;

	*g = (struct giveback){ .count = 0 };
	snprintf(path, sizeof path, "/v2/instances?limit=200%s%.60s", pool ? "&pool=" : "", pool ? pool : "");
	rc = market_each(m, path, giveback_take_node, &w);
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
	struct giveback_node *ended = NULL;

	for (size_t i = 0; i < g->count; i++) {
		struct giveback_node *n = &g->list[i];

		if (strcmp(n->name, name) != 0 && strcmp(n->id, name) != 0)
			continue;
		if (!n->ended)
			return n;
		ended = n;
	}
	return ended;
}

/* ---- Which of them go ------------------------------------------------------------------- */

void giveback_take(struct giveback *g, const struct model_release *said)
{
	for (size_t i = 0; i < g->count; i++)
		g->list[i].goes = false;
	g->stopping = g->waiting = 0;
	g->idle = said->idle > 0 ? (size_t)said->idle : 0;
	for (size_t i = 0; i < said->end_count; i++) {
		const struct model_released *e = &said->ends[i];
		struct giveback_node *n = giveback_find(g, e->id);

		if (!n)
			n = giveback_add(g, e->id, e->name);
		n->goes = true;
		n->start = e->start_at;
		g->waiting += n->start != 0;
		g->stopping += n->start == 0;
	}
	if (g->count)
		qsort(g->list, g->count, sizeof *g->list, giveback_order);
}

int giveback_may(struct market_link *m, const struct giveback *g, const struct giveback_node *one,
	const struct giveback_words *words)
{
	const char *subject = words->subject, *from = words->from;
	char when[WHEN_TEXT];

	if (!one->goes)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"it does not end by that; 'nanopod release %.200s -n 1%s' gives its reservation's time back",
			subject, from);
	if (!one->start && g->idle)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"%zu host%s of its reservation ha%s no node, and the market takes %s first; 'nanopod release "
			"%.200s -n %zu%s' gives %s back",
			g->idle, g->idle == 1 ? "" : "s", g->idle == 1 ? "s" : "ve", g->idle == 1 ? "that" : "those",
			subject, g->idle, from, g->idle == 1 ? "it" : "them");
	if (one->start && !g->idle)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"it waits for later time of a host that another node uses; 'nanopod release %.200s --from %s' "
			"gives that back",
			subject, when_iso(one->start, when));
	return 0;
}

/* Others wait for time of hosts that nodes use now. */
static bool giveback_others_wait(const struct giveback *g, const struct giveback_node *one)
{
	for (size_t i = 0; i < g->count; i++)
		if (&g->list[i] != one && g->list[i].start)
			return true;
	return false;
}

int giveback_choose(struct market_link *m, struct giveback *g, struct giveback_node *one,
	const struct giveback_words *words)
{
	if (one->goes)
		return 0;
	if (one->start && g->waiting != 1)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"the market takes other hosts of its reservation first; the plan of 'nanopod release %.200s -n "
			"1%s' says what goes",
			words->subject, words->from);
	if (!one->start && giveback_others_wait(g, one))
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"nodes that wait may end with it; after 'nanopod api PATCH /v2/instances/%s "
			"{\"priority_level\":\"yield\"}' the same command says which",
			one->id);
	for (size_t i = 0; i < g->count; i++)
		if (&g->list[i] != one && g->list[i].rank == 0 && (g->list[i].start != 0) == (one->start != 0))
			return fail_set(&m->fail, REASON_WRONG_STATE,
				"the market may take '%.100s' first, whose priority is 'yield'; 'nanopod api PATCH "
				"/v2/instances/%s {\"priority_level\":\"normal\"}' changes it",
				g->list[i].name, g->list[i].id);
	for (size_t i = 0; i < g->count; i++)
		g->list[i].goes = &g->list[i] == one;
	g->waiting = one->start != 0;
	g->stopping = one->start == 0;
	g->marked = true;
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

const char *giveback_names(const struct giveback *g, bool waiting, char *room, size_t size)
{
	size_t len = 0;

	room[0] = '\0';
	for (size_t i = 0; i < g->count && len < size; i++)
		if (g->list[i].goes && waiting == (g->list[i].start != 0))
			len += (size_t)snprintf(room + len, size - len, "%s%s", len ? ", " : "", g->list[i].name);
	return room;
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
