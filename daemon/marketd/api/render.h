/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the market's things look in SF Compute's v2: one place for every field, for /v2 and for the other
 * APIs that answer with the same shapes. All return NULL only when out of memory.
 */
#ifndef MARKETD_API_RENDER_H
#define MARKETD_API_RENDER_H

#include <jansson.h>

#include "marketd/api/api.h"
#include "market/ident.h"

/* The only public image so far. */
#define IMAGE_NAME "debian-12"
#define IMAGE_PATH "sfc:image:sfcompute:public:debian-12"
#define PUBLIC_WORKSPACE "sfc:workspace:sfcompute:public"
enum { IMAGE_ID = 1 };
#define PUBLIC_WORKSPACE_ID UINT64_MAX /* no account has this id */

/* ---- Small things ----------------------------------------------------------------------- */

json_t *render_id(enum ident kind, uint64_t id);              /* "pool_…" */
json_t *render_price(int64_t price);                          /* "14.940000" per node-hour */
json_t *render_average(int64_t cost,
	int64_t node_minutes); /* the same for a mean, rounded to a micro-dollar; null for nothing */
json_t *render_minute(int64_t minute);                        /* Unix seconds; null for MINUTE_MAX */
json_t *render_text(const char *text);                        /* null for NULL; bytes that are no UTF-8 become '?' */
json_t *render_reason(int reason);                            /* its code; null for 0 */
/* Sets NAME_dollars ("12.500000") and NAME_micros. */
int render_money(json_t *object, const char *name, int64_t micros);
json_t *render_tags(const char *tags);                        /* the JSON as stored; null for NULL */
/* The resource path of an account's thing: sfc:KIND:<account>:default:<name>. */
json_t *render_path(const struct engine *e, const char *kind, uint64_t account, const char *name);

/* Schedule: [{start_at,end_at,node_count}]. */
json_t *render_spans(const struct span *spans, size_t count);
json_t *render_span(int64_t start, int64_t end, int32_t nodes);
/* Adds spans up to steps, in order, without empty ones. Appends to *out; 0 or -ENOMEM. */
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
int64_t render_ended_at(const struct instance *i); /* Unix seconds; 0: it has not ended */
json_t *render_gpus(const struct instance *i); /* those that its host gave it, by kind */
json_t *render_procurement(const struct engine *e, const struct procurement *p);            /* ProcurementResponse */
json_t *render_image(void);                                                /* ImageListEntry */

/*
 * v2.OrderResponse with its fills from the store or, for an order that this turn made or changed, from
 * the effects (did; NULL: none).
 */
json_t *render_order(struct api *api, const struct order *o, const struct effects *did);
json_t *render_order_brief(struct api *api, const struct order *o); /* no fills: there may be thousands */

/* The last row of an order in an event's effects; NULL: none. */
const struct order *effects_order(const struct effects *did, uint64_t id);

/*
 * An order by id, open or closed, of this account (0: anybody's). 1: found, and fn returned 0 for it
 * (else what fn returned); 0: none; negative: the store failed.
 */
int find_order(struct api *api, uint64_t account, uint64_t id, store_order_fn fn, void *arg, struct fail *f);

/* ---- Finding by id, resource path or name ----------------------------------------------- */

/* Of this account (0: any, by id only). NULL: none, or another account's. */
/* A pool that its account sees: not deleted, and not the one that only keeps the script of /v0 for new VMs. */
#define SCRIPT_POOL "vm-startup-script"
bool pool_seen(const struct pool *p);
const struct pool *find_pool(const struct engine *e, uint64_t account, const char *text);
const struct instance *find_instance(const struct engine *e, uint64_t account, const char *text);
const struct procurement *find_procurement(const struct engine *e, uint64_t account, const char *text);
const struct sku *find_sku(const struct engine *e, const char *text);      /* id or alias */
bool find_image(const char *text, uint64_t *image);
/* The account's own workspace, by id, path or name. */
bool find_workspace(const struct engine *e, uint64_t account, const char *text);

/* ---- Reading bodies whose shape the schema has checked -------------------------------- */

const char *body_text(const json_t *body, const char *name);               /* NULL: absent, or null */
int64_t body_int(const json_t *body, const char *name, int64_t fallback);
bool body_bool(const json_t *body, const char *name, bool fallback);
/* A price or an amount as a decimal string. true, or refused (422, naming the field). absent: *out stays. */
bool body_price(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);
bool body_money(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);
/* Base64, padded, of at most USER_DATA_MAX bytes, as an agent takes it; *out NULL: absent or empty. */
enum { USER_DATA_MAX = 64 * 1024 };
bool body_user_data(const struct request *q, struct reply *r, const char *name, const char **out);
/* Unix seconds on the minute. */
bool body_minute(const struct request *q, struct reply *r, const json_t *body, const char *name, int64_t *out);

/*
 * A v2.CreateOrderRequest as an event of this account. true, or refused. A missing pool is 0 in the event
 * (a schema that requires one has refused before).
 */
bool body_order(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev);

/*
 * Places it and answers 201 with the order (200 if status says so), or refuses as the market does. This
 * is all of POST /v2/orders and of the calls built on it.
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

json_t *sku_facts(const struct sku *s); /* {name: value} for those that it has, with num_accelerators */
json_t *sku_value_text(const json_t *value);           /* as requirements write it */
json_t *sku_property_display(const struct sku_property *p, const json_t *value);

/* np.Person, and the words of enum role. */
json_t *render_person(const struct engine *e, const struct person *x);
void render_spending(const struct engine *e, json_t *o, const struct spending *s); /* SPENDING of np_schemas.h */
json_t *render_roles(int32_t roles);
int32_t role_read(const char *word, size_t len); /* 0: it is none */

#endif
