/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of /v0: its clients buy a contract and expect its machines, which they have no request to make. The
 * tags of a contract's pool say what was asked for, and which orders are not answered with nodes yet: one rests, a
 * node was refused, or its window has not begun, and a node that runs before it may end by then. The market looks at
 * those each minute, and changes the tag with the same commit that makes the nodes, so that a restart neither forgets
 * nor doubles them.
 */
#include "marketd/api/old/v0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"

#define TAG_TYPE "sfc_contract"
#define TAG_SKU "sfc_sku"
#define TAG_ORDER "sfc_order"

enum {
	MARKS = 8,    /* of one contract; with one more the tag is still as short as clients may send it back */
	WALK = 50000, /* pools a minute */
	LOOKS = 1000, /* at marked ones among them */
};

/* An order whose nodes are to be made. In the tag: "ID@START", or "@START" once they were made when it filled. */
struct mark {
	uint64_t order;
	int64_t start;
};
struct marks {
	struct mark list[MARKS + 1];
	size_t count;
};

char *v0_nodes_new_tags(const char *type, uint64_t sku)
{
	json_t *tags = json_pack("{s:s, s:o}", TAG_TYPE, type ? type : "", TAG_SKU, render_id(IDENT_SKU, sku));
	char *text = json_dumps(tags, JSON_COMPACT);

	json_decref(tags);
	return text;
}

const char *v0_asked_type(const struct engine *e, uint64_t pool, const struct sku *s, char room[TYPE_BYTES])
{
	json_t *tags = old_tags(engine_pool(e, pool));
	const char *type = json_string_value(json_object_get(tags, TAG_TYPE));

	snprintf(room, TYPE_BYTES, "%s", type && *type && s && v0_type_is(s, type) ? type : v0_type(s));
	json_decref(tags);
	return room;
}

static void v0_marks_add(struct marks *m, uint64_t order, int64_t start)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].order == order && m->list[i].start == start)
			return;
	if (m->count < MARKS + 1)
		m->list[m->count++] = (struct mark){ order, start };
}

static void v0_marks_read(const json_t *tags, struct marks *m)
{
	const char *kept = json_string_value(json_object_get(tags, TAG_ORDER));
	char *text = strdup(kept ? kept : ""), *save = NULL;

	m->count = 0;
	for (char *word = text ? strtok_r(text, " ", &save) : NULL; word; word = strtok_r(NULL, " ", &save)) {
		char *at = strchr(word, '@');
		uint64_t order = 0;
		long start = 0;

		if (at)
			*at++ = '\0';
		if ((!*word || ident_parse(IDENT_ORDER, word, &order)) &&
			(!at || str_to_long(at, 0, MINUTE_MAX, &start) == 0))
			v0_marks_add(m, order, start);
	}
	free(text);
}

/* true: they are others than the tag says so far. */
static bool v0_marks_write(json_t *tags, const struct marks *m)
{
	char text[(MARKS + 1) * (IDENT_TEXT + 24)] = "", room[IDENT_TEXT];
	const char *kept = json_string_value(json_object_get(tags, TAG_ORDER));
	bool other;
	size_t at = 0;

	for (size_t i = 0; i < m->count; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s@%lld", i ? " " : "",
			m->list[i].order ? ident_text(IDENT_ORDER, m->list[i].order, room) : "",
			(long long)m->list[i].start);
	other = strcmp(text, kept ? kept : "") != 0;
	if (m->count)
		json_object_set_new(tags, TAG_ORDER, json_string(text));
	else
		json_object_del(tags, TAG_ORDER);
	return other;
}

bool v0_nodes_room(const struct engine *e, uint64_t pool)
{
	json_t *tags = old_tags(engine_pool(e, pool));
	struct marks m;

	v0_marks_read(tags, &m);
	json_decref(tags);
	return m.count < MARKS;
}

static int64_t v0_nodes_alive(const struct engine *e, uint64_t pool)
{
	int64_t alive = 0;

	for (const struct instance *i = engine_instance_of_pool(e, pool, 0); i;
		i = engine_instance_of_pool(e, pool, i->id))
		alive += i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING;
	return alive;
}

/* The most nodes that a pool holds at once from now on. */
static int64_t v0_nodes_most(const struct engine *e, uint64_t pool, uint64_t sku)
{
	struct spans spans = { 0 };
	int64_t most = 0;

	if (engine_schedule(e, pool, sku, engine_minute(e), &spans) == 0)
		for (size_t i = 0; i < spans.count; i++)
			most = spans.list[i].nodes > most ? spans.list[i].nodes : most;
	free(spans.list);
	return most;
}

/* Makes those that it lacks, named after the contract. 0, or why the market refused one. */
static int v0_nodes_fill(struct api *api, const struct pool *p, uint64_t sku, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	char *script = old_script(e, p->account), name[NAME_BYTES + 1];
	int64_t left = v0_nodes_most(e, p->id, sku) - v0_nodes_alive(e, p->id);
	int rc = 0;

	for (int64_t n = 1; rc == 0 && left > 0; left--) {
		struct request own = api_own(api, p->account);
		struct event ev = { .kind = EVENT_INSTANCE,
			.account = p->account,
			.name = name,
			.u.instance = { .pool = p->id,
				.sku = sku,
				.image = IMAGE_ID,
				.priority = PRIORITY_NORMAL,
				.user_data = script } };

		do
			snprintf(name, sizeof name, "%.200s-%lld", p->name, (long long)n++);
		while (engine_instance_named(e, p->account, name));
		rc = api_apply(api, &own, &ev, NULL, why);
	}
	free(script);
	return rc;
}

/*
 * Drops the marks that are dealt with. true: nodes may be missing, as an order filled or a window begins. One that
 * begins with the next minute needs no second look where no other node of the contract can end before it.
 */
static bool v0_marks_turn(const struct engine *e, uint64_t pool, struct marks *m)
{
	int64_t next = engine_minute(e) + 1, soon = v0_nodes_alive(e, pool) ? next - 1 : next;
	struct marks was = *m;
	bool due = false;

	m->count = 0;
	for (size_t i = 0; i < was.count; i++) {
		const struct mark *x = &was.list[i];
		bool open = x->order && engine_order(e, x->order);

		if (open)
			v0_marks_add(m, x->order, x->start);
		else if (x->start > soon)
			v0_marks_add(m, 0, x->start);
		due = due || (!open && (x->order || x->start <= soon));
	}
	return due;
}

/* placed: an order of the contract that was placed just now; NULL: none. 0, or why a node is still missing. */
static int v0_nodes_look(struct api *api, const struct pool *p, uint64_t sku, const struct order *placed,
	struct fail *why)
{
	json_t *tags = old_tags(p);
	struct marks marks, before;
	struct fail written = { 0 };
	int rc = 0, kept = 0;

	v0_marks_read(tags, &marks);
	if (placed)
		v0_marks_add(&marks, placed->id, placed->start);
	before = marks;
	if (v0_marks_turn(market_engine(api->market), p->id, &marks))
		rc = v0_nodes_fill(api, p, sku, why);
	if (v0_marks_write(tags, rc ? &before : &marks))
		kept = old_tags_done(api, p, tags, rc ? &written : why);
	json_decref(tags);
	return rc ? rc : kept;
}

void v0_nodes_follow(struct api *api, const struct order *o)
{
	const struct engine *e = market_engine(api->market);
	const struct pool *p = engine_pool(e, o->pool);
	json_t *tags = o->side == SIDE_BUY ? old_tags(p) : NULL;
	struct fail why = { 0 };

	if (json_object_get(tags, TAG_TYPE) && (o->status == ORDER_FILLED || engine_order(e, o->id)))
		v0_nodes_look(api, p, o->sku, o, &why);
	json_decref(tags);
}

/* Whether the pool's nodes are to be made, and of which SKU. */
static bool v0_nodes_due(const struct engine *e, const struct pool *p, uint64_t *sku)
{
	json_t *tags = !p->deleted && p->tags && strstr(p->tags, "\"" TAG_ORDER "\":") &&
			!account_shut(engine_account(e, p->account))
		? old_tags(p)
		: NULL;
	const char *text = json_string_value(json_object_get(tags, TAG_SKU));
	bool due = text && ident_parse(IDENT_SKU, text, sku);

	json_decref(tags);
	return due;
}

void v0_nodes_minute(struct api *api, struct fail *why)
{
	const struct engine *e = market_engine(api->market);

	for (int walked = 0, looks = 0; walked < WALK && looks < LOOKS; walked++) {
		const struct pool *p = engine_pool_after(e, 0, api->looked.pool);
		struct fail f = { 0 };
		uint64_t sku;
		int failed;

		api->looked.pool = p ? p->id : 0;
		if (!p)
			break;
		if (!v0_nodes_due(e, p, &sku))
			continue;
		looks++;
		failed = v0_nodes_look(api, p, sku, NULL, &f);
		if (failed && !why->code && old_tags_refused(api, p, failed)) {
			*why = f;
			why->code = failed;
		}
	}
}
