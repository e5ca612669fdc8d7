/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of /v0: its clients buy a contract and expect its machines, which they have no request to make. The
 * tags of a contract's pool say what was asked for, and which order is not answered with nodes yet: it rests, or
 * a node was refused. The market looks at those each minute, and takes the tag away with the same commit that
 * makes the nodes, so that a restart neither forgets nor doubles them.
 */
#include "marketd/api/old/v0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/api/np/np.h"

#define TAG_TYPE "sfc_contract"
#define TAG_SKU "sfc_sku"
#define TAG_ORDER "sfc_order"

static json_t *v0_nodes_tags(const struct pool *p)
{
	return p && p->tags ? json_loads(p->tags, 0, NULL) : NULL;
}

char *v0_nodes_new_tags(const char *type, uint64_t sku)
{
	json_t *tags = json_pack("{s:s, s:o}", TAG_TYPE, type ? type : "", TAG_SKU, render_id(IDENT_SKU, sku));
	char *text = json_dumps(tags, JSON_COMPACT);

	json_decref(tags);
	return text;
}

const char *v0_asked_type(const struct engine *e, uint64_t pool, const struct sku *s, char room[TYPE_BYTES])
{
	json_t *tags = v0_nodes_tags(engine_pool(e, pool));
	const char *type = json_string_value(json_object_get(tags, TAG_TYPE));

	snprintf(room, TYPE_BYTES, "%s", type && *type && s && v0_type_is(s, type) ? type : v0_type(s));
	json_decref(tags);
	return room;
}

/* Remembers that the nodes of an order are still to be made; 0: none are. */
static int v0_nodes_mark(struct api *api, const struct pool *p, uint64_t order, struct fail *why)
{
	json_t *tags = v0_nodes_tags(p);
	struct event ev = { .kind = EVENT_POOL_CHANGE, .account = p->account, .subject = p->id };
	char *text;
	int rc;

	if (order)
		json_object_set_new(tags, TAG_ORDER, render_id(IDENT_ORDER, order));
	else
		json_object_del(tags, TAG_ORDER);
	ev.text = text = json_dumps(tags, JSON_COMPACT);
	rc = text ? market_apply(api->market, &ev, NULL, why) : 0;
	free(text);
	json_decref(tags);
	return rc;
}

/* How many nodes a pool lacks: the most that it holds at once from now on, less those that live. */
static int64_t v0_nodes_missing(const struct engine *e, const struct pool *p, uint64_t sku)
{
	struct spans spans = { 0 };
	int64_t most = 0;

	if (engine_schedule(e, p->id, sku, engine_minute(e), &spans) == 0)
		for (size_t i = 0; i < spans.count; i++)
			most = spans.list[i].nodes > most ? spans.list[i].nodes : most;
	free(spans.list);
	for (const struct instance *i = engine_instance_after(e, p->account, 0); i;
		i = engine_instance_after(e, p->account, i->id))
		most -= i->pool == p->id && (i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING);
	return most;
}

/* Makes them, named after the contract. 0, or why the market refused one. */
static int v0_nodes_fill(struct api *api, const struct pool *p, uint64_t sku, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	char *script = old_script(e, p->account), name[NAME_BYTES + 1];
	int rc = 0;

	for (int64_t left = v0_nodes_missing(e, p, sku), n = 1; rc == 0 && left > 0; left--) {
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
		rc = market_apply(api->market, &ev, NULL, why);
	}
	free(script);
	return rc;
}

void v0_nodes_follow(struct api *api, const struct order *o)
{
	const struct engine *e = market_engine(api->market);
	const struct pool *p = engine_pool(e, o->pool);
	json_t *tags = o->side == SIDE_BUY ? v0_nodes_tags(p) : NULL;
	struct fail why = { 0 };

	if (json_object_get(tags, TAG_TYPE) &&
		(o->status == ORDER_FILLED ? v0_nodes_fill(api, p, o->sku, &why) != 0 : engine_order(e, o->id) != NULL))
		v0_nodes_mark(api, p, o->id, &why);
	json_decref(tags);
}

/* A contract whose order rested when it was looked at last. */
static int v0_nodes_look(struct api *api, const struct pool *p, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	json_t *tags = v0_nodes_tags(p);
	const char *order = json_string_value(json_object_get(tags, TAG_ORDER)),
		   *sku_text = json_string_value(json_object_get(tags, TAG_SKU));
	uint64_t id = 0, sku = 0;
	int rc = 0;

	if (order && sku_text && ident_parse(IDENT_ORDER, order, &id) && ident_parse(IDENT_SKU, sku_text, &sku) &&
		!engine_order(e, id)) {
		rc = v0_nodes_fill(api, p, sku, why);
		rc = rc ? rc : v0_nodes_mark(api, p, 0, why);
	}
	json_decref(tags);
	return rc;
}

int v0_nodes_minute(struct api *api, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	int rc = 0;

	for (const struct pool *p = engine_pool_after(e, 0, 0); p; p = engine_pool_after(e, 0, p->id))
		if (!p->deleted && p->tags && strstr(p->tags, "\"" TAG_ORDER "\":") &&
			engine_account(e, p->account)->state != ACCOUNT_SUSPENDED) {
			int failed = v0_nodes_look(api, p, why);

			rc = rc ? rc : failed;
		}
	return rc;
}
