/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SF Compute's first API: orders for a total in cents, contracts, zones, VMs. A contract is what one buy
 * order bought. Each buy order gets its own pool, unless it names a contract to be colocated with.
 */
#ifndef MARKETD_API_OLD_V0_H
#define MARKETD_API_OLD_V0_H

#include "marketd/api/old/v1.h"

/* ---- v0_word.c ---------------------------------------------------------------------- */

/* "NOW" or ISO 8601 with a zone, as Unix seconds; now: the value of NOW. false: neither. */
bool v0_time(const char *text, int64_t now, int64_t *seconds);
json_t *v0_iso(int64_t seconds);

/* Whether "h100i", a SKU's alias or its accelerator means this SKU. type NULL: any SKU with GPUs. */
bool v0_type_is(const struct sku *s, const char *type);
const char *v0_type(const struct sku *s);            /* the name of this SKU: its alias */

/*
 * The SKU for an order that names a type or a cluster (either may be NULL): the cluster, whatever type old
 * clients send with it; else, of the type, what old_pick() finds. 0: none.
 */
uint64_t v0_pick(const struct engine *e, const struct event *order, enum old_wait wait, const char *type,
	const char *cluster);

/* ---- v0_nodes.c --------------------------------------------------------------------- */

enum { TYPE_BYTES = NAME_BYTES + 1 };

char *v0_nodes_new_tags(const char *type, uint64_t sku); /* of the pool of a new contract; malloc'd */
/* The type that a pool's contract was asked for by; else the SKU's own name. */
const char *v0_asked_type(const struct engine *e, uint64_t pool, const struct sku *s, char room[TYPE_BYTES]);
/* Can the contract of this pool take another order? */
bool v0_nodes_room(const struct engine *e, uint64_t pool);
/* After a buy: makes its nodes, or lets the market make them once it fills and once its window begins. */
void v0_nodes_follow(struct api *api, const struct order *o);
void v0_nodes_minute(struct api *api, struct fail *why); /* why: the first thing to say; code 0: nothing */

/* ---- v0_contract.c ------------------------------------------------------------------ */

/* The buy order behind "cont_…" (or a lease's id). 1: found, 0: none of this account; negative: the store failed. */
struct v0_contract { uint64_t order, pool, sku; int64_t created_at; };
int v0_contract_find(struct api *api, uint64_t account, const char *text, struct v0_contract *out, struct fail *f);

/* ---- v0_list.c and v0_quote.c: handlers of v0_order.c's table --------------- */

int v0_list_orders(struct api *api, const struct request *q, struct reply *r);
int v0_get_order(struct api *api, const struct request *q, struct reply *r);
int v0_cancel_order(struct api *api, const struct request *q, struct reply *r);
int v0_get_quote(struct api *api, const struct request *q, struct reply *r);

#define V0_ORDER_FILTERS \
	"side:string,instance_type:string,contract_id:string,limit:integer,offset:integer,sort_by:string,sort_" \
	"direction:string," \
	"min_price:integer,max_price:integer,min_start_date:string,max_start_date:string,min_duration:integer," \
	"max_duration:integer,min_quantity:integer,max_quantity:integer,only_open:boolean,exclude_filled:boolean," \
	"only_filled:boolean,min_filled_at:string,max_filled_at:string,min_fill_price:integer,max_fill_price:integer," \
	"include_cancelled:boolean,exclude_cancelled:boolean,only_cancelled:boolean,min_cancelled_at:string," \
	"max_cancelled_at:string,min_placed_at:string,max_placed_at:string"

#endif
