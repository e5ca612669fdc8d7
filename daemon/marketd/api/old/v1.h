/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SF Compute's second API sells named nodes. Here a node is a pool of one node with one instance of the
 * same name, so that /v2 shows the same thing. The pool's tags hold what /v2 has no field for: the kind
 * of node, its price cap, its release.
 */
#ifndef MARKETD_API_OLD_V1_H
#define MARKETD_API_OLD_V1_H

#include "marketd/api/api.h"
#include "marketd/api/render.h"

struct node {
	const struct pool *pool;
	const struct sku *sku;       /* NULL: no longer known */
	const struct instance *vm;   /* the last one; NULL */
	const struct procurement *procurement; /* of an autoreserved node that was not released */
	json_t *tags;                /* owned */
	bool reserved, released;
	int64_t end;                 /* when what it holds from now on ends; 0: it holds nothing */
};

/* The instances of an account by pool, to look up those of many nodes at once. */
struct vms {
	const struct instance **list;
	size_t count;
};

int vms_read(const struct engine *e, uint64_t account, struct vms *out); /* 0 or -ENOMEM */
void vms_release(struct vms *v);

/* 1: a node; 0: this pool is not one; -ENOMEM. */
int node_read(const struct engine *e, const struct pool *p, const struct vms *v, struct node *out);
void node_release(struct node *n);
const char *node_status(const struct node *n);
json_t *node_json(const struct engine *e, const struct node *n, const struct vms *v);

/* The tags of a new node; the text is malloc'd. */
struct node_tags {
	const char *type;            /* "reserved" or "autoreserved" */
	int64_t cents, start_at, end_at; /* Unix seconds; end_at 0: none */
	uint64_t sku;
	uint64_t network; /* the pool of the request's first node, whose network it shares; 0: its own */
	const char *zone; /* ZONE_…: it may move while it waits; NULL: it may not */
};
char *node_tags_text(const struct node_tags *t);

/* By id (n_…, vm_… of its instance) or name, of this account; NULL. */
const struct pool *node_find(const struct engine *e, uint64_t account, const char *text);

/* Cents per node-hour as the limit in micro-dollars per node-minute, rounded down so that no cost exceeds it. */
int64_t node_price(int64_t cents);

/* Micro-dollars as cents. */
int64_t cents_down(int64_t micros);
int64_t cents_up(int64_t micros);

/* Ids as the older generations write them: vm_…, vmi_…. */
json_t *old_id(enum ident kind, const char *prefix, uint64_t id);
/* The SSH address that an instance's agent reported: hostname, port, host_keys; NULL: none yet. */
json_t *old_ssh(const struct instance *i);
const char *old_gpu_type(const struct sku *s, char room[64]); /* "H100" */

/* ---- old_pick.c ---------------------------------------------------------------------- */

/*
 * The SKU on which the order fills most cheaply; where it fills on none, the one for which it has to wait least:
 * for the start of one that renews itself, for the price of one that rests; WAIT_NOT: none. 0: none fits.
 */
enum old_wait { WAIT_FOR_START, WAIT_FOR_PRICE, WAIT_NOT };
typedef bool (*old_fits)(const struct sku *s, const void *arg);
uint64_t old_pick(const struct engine *e, const struct event *order, enum old_wait wait, old_fits fits,
	const void *arg);

/* ---- old_promise.c -------------------------------------------------------------------- */

json_t *old_tags(const struct pool *p); /* of the pool; NULL: none */
/* Sets them, once what was promised is done. */
int old_tags_done(struct api *api, const struct pool *p, json_t *tags, struct fail *why);
/* What was promised was refused. true: for the first time since it was done last, so say it. */
bool old_tags_refused(struct api *api, const struct pool *p, int rc);

/* ---- v1_zone.c ----------------------------------------------------------------------- */

#define ZONE_ANY "any"
#define ZONE_INFINIBAND "infiniband"

bool zone_has_infiniband(const struct sku *s);
uint64_t zone_any(const struct engine *e, const struct event *order, const char *which); /* 0: no GPU SKU */
void v1_zone_minute(struct api *api, struct fail *why); /* why: the first thing to say; code 0: nothing */

/* The account's script for new VMs (v0), base64; NULL: none. malloc'd. */
char *old_script(const struct engine *e, uint64_t account);

int v1_create(struct api *api, const struct request *q, struct reply *r); /* POST /v1/nodes */

#endif
