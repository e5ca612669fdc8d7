/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market's things look like in SF Compute's v2: one place for every field, for /v2 itself
 * and for whoever answers with the same shapes. All give NULL only where memory is short.
 */
#ifndef MARKETD_API_RENDER_H
#define MARKETD_API_RENDER_H

#include <jansson.h>

#include "marketd/api/api.h"
#include "market/ident.h"

/* The one public image, until there are others. */
#define IMAGE_NAME "debian-12"
#define IMAGE_PATH "sfc:image:sfcompute:public:debian-12"
#define PUBLIC_WORKSPACE "sfc:workspace:sfcompute:public"
enum { IMAGE_ID = 1 };
#define PUBLIC_WORKSPACE_ID UINT64_MAX /* no account has this id */

/* ---- Small things ----------------------------------------------------------------------- */

json_t *render_id(enum ident kind, uint64_t id);              /* "pool_…" */
json_t *render_price(int64_t price);                          /* "14.940000" per node-hour */
json_t *render_average(int64_t cost,
	int64_t node_minutes); /* the same of a mean, rounded to a micro-dollar; null of nothing */
json_t *render_minute(int64_t minute);                        /* Unix seconds; null of MINUTE_MAX */
json_t *render_text(const char *text);                        /* null of NULL; bytes that are no UTF-8 become '?' */
json_t *render_reason(int reason);                            /* its code; null of 0 */
/* Sets NAME_dollars ("12.500000") and NAME_micros. */
int render_money(json_t *object, const char *name, int64_t micros);
json_t *render_tags(const char *tags);                        /* the JSON as it is kept; null of NULL */
/* What an account owns is at sfc:KIND:<account>:default:<name>. */
json_t *render_path(const struct engine *e, const char *kind, uint64_t account, const char *name);

/* Schedule: [{start_at,end_at,node_count}]. */
json_t *render_spans(const struct span *spans, size_t count);
json_t *render_span(int64_t start, int64_t end, int32_t nodes);
/* The sum of rectangles as steps, in order, without empty ones. Appended to *out; 0 or -ENOMEM. */
int spans_sum(const struct span *spans, size_t count, struct spans *out);
int spans_add(struct spans *s, int64_t start, int64_t end, int32_t nodes);

/* {object:"list", cursor, has_more, data}; takes cursor (NULL: JSON null) and data. */
json_t *render_list(json_t *data, json_t *cursor, bool has_more);

/* ---- Summaries, as other things embed them ---------------------------------------------- */

json_t *render_pool_summary(const struct engine *e, uint64_t pool);        /* {id,name} */
json_t *render_sku_summary(const struct engine *e, uint64_t sku);          /* {object,id,alias} */

/* ---- Whole things ----------------------------------------------------------------------- */

json_t *render_sku(const struct sku *s);                                   /* InstanceSku */
json_t *render_availability(const struct engine *e, const struct sku *s);  /* InstanceSkuAvailability */
json_t *render_pool(const struct engine *e, const struct pool *p, int64_t history_minutes); /* PoolResponse */
json_t *render_instance(const struct engine *e, const struct instance *i, bool user_data);  /* InstanceResponse */
json_t *render_procurement(const struct engine *e, const struct procurement *p);            /* ProcurementResponse */
json_t *render_image(void);                                                /* ImageListEntry */

/*
 * v2.OrderResponse with its fills as they are in the store, or, for an order that this very turn made
 * or changed, as its effects tell (did; NULL: none).
 */
json_t *render_order(struct api *api, const struct order *o, const struct effects *did);

/* The row of an order as an event's effects have it last; NULL where they have none. */
const struct order *effects_order(const struct effects *did, uint64_t id);

/*
 * An order by id, open or over, of this account (0: anybody's). 1: found, fn was called with it and
 * gave 0 (else what it gave), 0: there is none; negative: the store failed.
 */
int find_order(struct api *api, uint64_t account, uint64_t id, store_order_fn fn, void *arg, struct fail *f);

/* ---- Finding by id, resource path or name ----------------------------------------------- */

/* Of this account (0: any, by id only). NULL: none, or a stranger's. */
const struct pool *find_pool(const struct engine *e, uint64_t account, const char *text);
const struct instance *find_instance(const struct engine *e, uint64_t account, const char *text);
const struct procurement *find_procurement(const struct engine *e, uint64_t account, const char *text);
const struct sku *find_sku(const struct engine *e, const char *text);      /* id or alias */
bool find_image(const char *text, uint64_t *image);
/* The account's own workspace, by id, path or name. */
bool find_workspace(const struct engine *e, uint64_t account, const char *text);

/* ---- Reading bodies that the schema has held to its shape -------------------------------- */

const char *body_text(const json_t *body, const char *name);               /* NULL: not there, or null */
int64_t body_int(const json_t *body, const char *name, int64_t fallback);
bool body_bool(const json_t *body, const char *name, bool fallback);
/* A price or an amount as a decimal string. true, or refused (422, naming the field). absent: *out is left. */
bool body_price(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);
bool body_money(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);
/* Unix seconds on the minute. */
bool body_minute(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);

/*
 * A v2.CreateOrderRequest as an event of this account. true, or refused. A missing pool is 0 in the event
 * (schemas that demand one have refused before).
 */
bool body_order(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev);

/*
 * Places it and answers 201 with the order (200 where status says so); or refuses as the market does.
 * The whole of POST /v2/orders and of what is built on it.
 */
int place_order(struct api *api, const struct request *q, struct reply *r, struct event *ev);

/* ---- Properties of SKUs ------------------------------------------------------------------ */

enum sku_property_type { SKU_WORD, SKU_PLACE, SKU_NUMBER, SKU_BYTES, SKU_YESNO };

struct sku_property {
	const char *name;
	enum sku_property_type type;
	const char *title, *text;
};

extern const struct sku_property sku_properties[]; /* ends with { 0 } */

json_t *sku_facts(const struct sku *s); /* {name: value} of those that it has, num_accelerators among them */
json_t *sku_value_text(const json_t *value);           /* as requirements write it */
json_t *sku_property_display(const struct sku_property *p, const json_t *value);

#endif
