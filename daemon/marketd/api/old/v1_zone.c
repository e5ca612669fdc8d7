/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zone of a node of /v1 that may be in any. An autoreserved one that still waits for its first host is looked
 * at again each minute: as soon as it would fill elsewhere, it moves there.
 */
#include "marketd/api/old/v1.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

bool zone_has_infiniband(const struct sku *s)
{
	json_t *facts = s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	const char *word = json_string_value(json_object_get(facts, "rdma_type"));
	bool has = word && strcmp(word, "infiniband") == 0;

	json_decref(facts);
	return has;
}

static bool zone_fits(const struct sku *s, const void *which)
{
	return s->gpus > 0 && (strcmp(which, ZONE_ANY) == 0 || zone_has_infiniband(s));
}

uint64_t zone_any(const struct engine *e, const struct event *order, const char *which)
{
	return old_pick(e, order, WAIT_FOR_START, zone_fits, which);
}

/* The instance of a node that has no host and no minutes; NULL: it has. */
static const struct instance *zone_waits(const struct engine *e, const struct procurement *p)
{
	const struct instance *live = NULL;
	struct spans spans = { 0 };
	int rc = engine_schedule(e, p->pool, 0, engine_minute(e), &spans);

	free(spans.list);
	if (rc || spans.count)
		return NULL;
	for (const struct instance *i = engine_instance_after(e, p->account, 0); i;
		i = engine_instance_after(e, p->account, i->id))
		if (i->pool == p->pool && i->status == INSTANCE_AWAITING && !i->host)
			live = i;
	return live;
}

/* The zone where it would run now; 0: where it waits is as good as any. */
static uint64_t zone_better(const struct engine *e, const struct procurement *p, const char *which)
{
	int64_t start = engine_minute(e) + 1;
	struct event order = { .kind = EVENT_ORDER,
		.account = p->account,
		.u.order = { .pool = p->pool,
			.nodes = 1,
			.start = start,
			.end = start + p->window,
			.price = p->max_buy } };
	struct quote quote;

	order.u.order.sku = zone_any(e, &order, which);
	return order.u.order.sku && order.u.order.sku != p->sku && engine_quote(e, &order, &quote, NULL) == 0
		? order.u.order.sku
		: 0;
}

/* A VM cannot change its hardware: a new one waits in its place, and the procurement buys for that. */
static int zone_move(struct api *api, const struct procurement *p, const struct instance *vm, json_t *tags,
	uint64_t sku, struct fail *why)
{
	struct event stop = { .kind = EVENT_INSTANCE_STOP, .account = p->account, .subject = vm->id };
	struct event make = { .kind = EVENT_INSTANCE,
		.account = p->account,
		.u.instance = { .pool = p->pool, .sku = sku, .image = vm->image, .priority = (int32_t)vm->priority } };
	struct event tell = { .kind = EVENT_POOL_CHANGE, .account = p->account, .subject = p->pool };
	struct event buy = { .kind = EVENT_PROCUREMENT_CHANGE,
		.account = p->account,
		.subject = p->id,
		.u.procurement_change = { .sku = sku,
			.target = -1,
			.window = -1,
			.min_sell = -1,
			.max_buy = -1,
			.enabled = -1 } };
	char *name = strdup(vm->name), *data = vm->user_data ? strdup(vm->user_data) : NULL, *text;
	int rc;

	json_object_set_new(tags, "sfc_sku", render_id(IDENT_SKU, sku));
	text = json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS);
	make.name = name;
	make.u.instance.user_data = data;
	tell.text = text;
	rc = name && text ? market_apply(api->market, &stop, NULL, why) : REASON_UNAVAILABLE;
	rc = rc ? rc : market_apply(api->market, &make, NULL, why);
	rc = rc ? rc : market_apply(api->market, &tell, NULL, why);
	rc = rc ? rc : market_apply(api->market, &buy, NULL, why);
	free(name);
	free(data);
	free(text);
	return rc;
}

int v1_zone_minute(struct api *api, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	int rc = 0;

	for (const struct procurement *p = engine_procurement_after(e, 0, 0); p && rc == 0;
		p = engine_procurement_after(e, 0, p->id)) {
		const struct pool *pool = engine_pool(e, p->pool);
		json_t *tags = p->enabled && pool && pool->tags && strstr(pool->tags, "\"sfc_zone\":")
			? json_loads(pool->tags, 0, NULL)
			: NULL;
		const char *which = json_string_value(json_object_get(tags, "sfc_zone"));
		const struct instance *vm = which ? zone_waits(e, p) : NULL;
		uint64_t sku = vm && engine_account(e, p->account)->state != ACCOUNT_SUSPENDED
			? zone_better(e, p, which)
			: 0;

		if (sku)
			rc = zone_move(api, p, vm, tags, sku, why);
		json_decref(tags);
	}
	return rc;
}
