/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zone of a node of /v1 that may be in any. An autoreserved one that still waits for its first host is looked
 * at again each minute, or some of them are: as soon as it would fill elsewhere, it moves there.
 */
#include "marketd/api/old/v1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

#define TAG_ZONE "sfc_zone"

enum {
	WALK = 50000, /* procurements a minute */
	LOOKS = 200,  /* at waiting nodes among them */
};

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
	for (const struct instance *i = engine_instance_of_pool(e, p->pool, 0); i;
		i = engine_instance_of_pool(e, p->pool, i->id))
		if (i->status == INSTANCE_AWAITING && !i->host)
			live = i;
	return live;
}

/* A pool has at most one procurement for a SKU. */
static bool zone_taken(const struct engine *e, const struct procurement *p, uint64_t sku)
{
	for (const struct procurement *o = engine_procurement_after(e, p->account, 0); o;
		o = engine_procurement_after(e, p->account, o->id))
		if (o->pool == p->pool && o->sku == sku)
			return true;
	return false;
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
	uint64_t sku = old_pick(e, &order, WAIT_NOT, zone_fits, which);

	return sku && !zone_taken(e, p, sku) ? sku : 0;
}

/* The one that waits in its place: a VM cannot change its hardware. It is made first, as only that may be refused. */
static int zone_make(struct api *api, const struct instance *vm, uint64_t sku, uint64_t *made, struct fail *why)
{
	struct request own = api_own(api, vm->account);
	char name[NAME_BYTES + 1];
	struct event make = { .kind = EVENT_INSTANCE,
		.account = vm->account,
		.name = name,
		.u.instance = { .pool = vm->pool,
			.sku = sku,
			.image = vm->image,
			.priority = (int32_t)vm->priority,
			.user_data = vm->user_data } };
	const struct effects *did;
	int rc;

	snprintf(name, sizeof name, "%.200s-%llu", vm->name,
		(unsigned long long)engine_next_id(market_engine(api->market)));
	rc = api_apply(api, &own, &make, &did, why);
	if (rc == 0)
		*made = effects_made(did);
	return rc;
}

/* Takes over the name; and the procurement buys for it. */
static int zone_move(struct api *api, const struct procurement *p, const struct instance *vm, json_t *tags,
	uint64_t sku, struct fail *why)
{
	struct event stop = { .kind = EVENT_INSTANCE_STOP, .account = p->account, .subject = vm->id };
	struct event name = { .kind = EVENT_INSTANCE_CHANGE,
		.account = p->account,
		.name = vm->name,
		.u.instance_change.priority = -1 };
	struct event buy = { .kind = EVENT_PROCUREMENT_CHANGE,
		.account = p->account,
		.subject = p->id,
		.u.procurement_change = { .sku = sku,
			.target = -1,
			.window = -1,
			.min_sell = -1,
			.max_buy = -1,
			.enabled = -1 } };
	int rc = zone_make(api, vm, sku, &name.subject, why);

	json_object_set_new(tags, "sfc_sku", render_id(IDENT_SKU, sku));
	rc = rc ? rc : market_apply(api->market, &stop, NULL, why);
	rc = rc ? rc : market_apply(api->market, &name, NULL, why);
	rc = rc ? rc : old_tags_done(api, engine_pool(market_engine(api->market), p->pool), tags, why);
	return rc ? rc : market_apply(api->market, &buy, NULL, why);
}

/* 0, or why it cannot move to where it would run. */
static int zone_look(struct api *api, const struct procurement *p, const struct instance *vm, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	json_t *tags = old_tags(engine_pool(e, p->pool));
	const char *which = json_string_value(json_object_get(tags, TAG_ZONE));
	uint64_t sku = which ? zone_better(e, p, which) : 0;
	int rc = sku ? zone_move(api, p, vm, tags, sku, why) : 0;

	json_decref(tags);
	return rc;
}

/* NULL: nothing to do. */
static const struct instance *zone_due(const struct engine *e, const struct procurement *p)
{
	const struct pool *pool = p->enabled ? engine_pool(e, p->pool) : NULL;

	return pool && pool->tags && strstr(pool->tags, "\"" TAG_ZONE "\":") &&
			engine_account(e, p->account)->state != ACCOUNT_SUSPENDED
		? zone_waits(e, p)
		: NULL;
}

void v1_zone_minute(struct api *api, struct fail *why)
{
	const struct engine *e = market_engine(api->market);

	for (int walked = 0, looks = 0; walked < WALK && looks < LOOKS; walked++) {
		const struct procurement *p = engine_procurement_after(e, 0, api->looked.procurement);
		const struct instance *vm;
		struct fail f = { 0 };
		int failed;

		api->looked.procurement = p ? p->id : 0;
		if (!p)
			break;
		vm = zone_due(e, p);
		if (!vm)
			continue;
		looks++;
		failed = zone_look(api, p, vm, &f);
		if (failed && !why->code && old_tags_refused(api, engine_pool(e, p->pool), failed)) {
			*why = f;
			why->code = failed;
		}
	}
}
