/* SPDX-License-Identifier: Apache-2.0 */
/* A pool seen as a node of /v1: its state, its machines, its JSON. */
#include "marketd/api/old/v1.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/ident.h"
#include "marketd/api/np/np.h"

enum { MICROS_PER_CENT = 10000 };

/* ---- Instances by pool ------------------------------------------------------------------------- */

static int by_pool(const void *a, const void *b)
{
	const struct instance *x = *(const struct instance *const *)a, *y = *(const struct instance *const *)b;

	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int vms_read(const struct engine *e, uint64_t account, struct vms *out)
{
	struct vms v = { 0 };
	size_t cap = 0;

	for (const struct instance *i = engine_instance_after(e, account, 0); i;
		i = engine_instance_after(e, account, i->id)) {
		if (v.count == cap) {
			const struct instance **more;

			cap = cap ? cap * 2 : 16;
			more = reallocarray(v.list, cap, sizeof *more);
			if (!more) {
				free(v.list);
				return -ENOMEM;
			}
			v.list = more;
		}
		v.list[v.count++] = i;
	}
	if (v.count)
		qsort(v.list, v.count, sizeof *v.list, by_pool);
	*out = v;
	return 0;
}

void vms_release(struct vms *v)
{
	free(v->list);
	*v = (struct vms){ 0 };
}

/* The position of the first instance of a pool, or where it would be. */
static size_t vms_first(const struct vms *v, uint64_t pool)
{
	size_t low = 0, high = v->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->list[mid]->pool < pool)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- Nodes ----------------------------------------------------------------------------------------- */

static const char *v1_model_tag(const struct node *n, const char *name)
{
	return json_string_value(json_object_get(n->tags, name));
}

static int64_t tag_number(const struct node *n, const char *name)
{
	const char *text = v1_model_tag(n, name);
	long value;

	return text && str_to_long(text, 0, INT64_MAX, &value) == 0 ? value : 0;
}

/* What it holds from now on, of the one SKU that it was made for. */
static int v1_model_read_end(const struct engine *e, struct node *n)
{
	struct spans spans = { 0 };
	int rc = engine_schedule(e, n->pool->id, n->sku ? n->sku->id : 0, engine_minute(e), &spans);

	if (rc == 0 && spans.count)
		n->end = spans.list[spans.count - 1].end;
	free(spans.list);
	return rc;
}

int node_read(const struct engine *e, const struct pool *p, const struct vms *v, struct node *out)
{
	struct node n = { .pool = p };
	const char *type, *text;
	uint64_t id;
	size_t i;

	if (p->kind != POOL_MARKET || p->deleted || !p->tags)
		return 0;
	n.tags = json_loads(p->tags, 0, NULL);
	type = v1_model_tag(&n, "sfc_node");
	if (!type) {
		json_decref(n.tags);
		return 0;
	}
	n.reserved = strcmp(type, "reserved") == 0;
	n.released = v1_model_tag(&n, "sfc_released") != NULL;
	text = v1_model_tag(&n, "sfc_sku");
	if (text && ident_parse(IDENT_SKU, text, &id))
		n.sku = engine_sku(e, id);
	for (i = vms_first(v, p->id); i < v->count && v->list[i]->pool == p->id; i++)
		n.vm = v->list[i];
	for (const struct procurement *c = n.reserved ? NULL : engine_procurement_after(e, p->account, 0); c;
	     c = engine_procurement_after(e, p->account, c->id))
		if (c->pool == p->id)
			n.procurement = c;
	if (v1_model_read_end(e, &n)) {
		json_decref(n.tags);
		return -ENOMEM;
	}
	*out = n;
	return 1;
}

void node_release(struct node *n)
{
	json_decref(n->tags);
	*n = (struct node){ 0 };
}

const char *node_status(const struct node *n)
{
	if (n->released)
		return "released";
	if (!n->vm)
		return n->end ? "pending" : "terminated";
	switch (n->vm->status) {
	case INSTANCE_RUNNING: return "running";
	case INSTANCE_FAILED: return "failed";
	case INSTANCE_TERMINATED: return "terminated";
	default:
		return n->vm->host || n->reserved || n->end ? "pending" : "awaitingcapacity";
	}
}

static json_t *number_or_null(int64_t n)
{
	return n ? json_integer(n) : json_null();
}

static json_t *vm_json(const struct node *n, const struct instance *i)
{
	static const char *const words[] = { "Pending", "Running", "Destroyed", "NodeFailure" };
	bool live = i->status == INSTANCE_AWAITING || i->status == INSTANCE_RUNNING;
	int64_t start = i->placed_at || i->status != INSTANCE_RUNNING ? i->placed_at : i->updated_at;
	int64_t end = live ? n->end * 60 : i->updated_at;

	return json_pack("{s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "object", "vm", "id",
		old_id(IDENT_INSTANCE, "vm", i->id), "status", words[i->status], "created_at",
		(json_int_t)i->created_at, "updated_at", (json_int_t)i->updated_at, "start_at", number_or_null(start),
		"end_at", number_or_null(end), "image_id", old_id(IDENT_IMAGE, "vmi", i->image), "zone",
		render_text(n->sku ? n->sku->alias : ""));
}

/* Its cap in cents: that of the procurement, which clients change by itself, else what was asked for. */
static int64_t node_cap(const struct node *n)
{
	return n->procurement ? cents_up(n->procurement->max_buy * 60) : tag_number(n, "sfc_max_price_cents");
}

json_t *node_json(const struct engine *e, const struct node *n, const struct vms *v)
{
	const struct account *owner = engine_account(e, n->pool->account);
	const struct instance *vm = n->vm;
	int64_t end = n->end ? n->end * 60 : tag_number(n, "sfc_end_at");
	json_t *list = json_array();
	char room[64];

	for (size_t i = vms_first(v, n->pool->id); i < v->count && v->list[i]->pool == n->pool->id; i++)
		json_array_append_new(list, vm_json(n, v->list[i]));
	if (vm && vm->status != INSTANCE_AWAITING && vm->status != INSTANCE_RUNNING)
		vm = NULL;
	if (!n->reserved && n->procurement)
		end = 0; /* it runs until it is released */
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:n, s:o, s:o, s:s, s:{s:s, s:o}, s:o}",
		"object", "node", "id", render_id(IDENT_NODE, n->pool->id), "name", render_text(n->pool->name), "zone",
		render_text(n->sku ? n->sku->alias : NULL), "gpu_type", old_gpu_type(n->sku, room), "owner",
		render_text(owner ? owner->name : ""), "status", node_status(n), "created_at",
		(json_int_t)n->pool->created_at, "updated_at",
		(json_int_t)(n->vm ? n->vm->updated_at : n->pool->created_at), "start_at",
		number_or_null(tag_number(n, "sfc_start_at")), "end_at", number_or_null(end), "deleted_at",
		"procurement_id", n->procurement ? render_id(IDENT_PROCUREMENT, n->procurement->id) : json_null(),
		"max_price_per_node_hour", number_or_null(node_cap(n)), "node_type",
		n->reserved ? "reserved" : "autoreserved", "vms", "object", "list", "data", list, "current_vm",
		vm ? vm_json(n, vm) : json_null());
}

static void set_number(json_t *tags, const char *name, int64_t n)
{
	if (n)
		json_object_set_new(tags, name, json_sprintf("%" PRId64, n));
}

char *node_tags_text(const struct node_tags *t)
{
	json_t *tags = json_pack("{s:s, s:o}", "sfc_node", t->type, "sfc_sku", render_id(IDENT_SKU, t->sku));
	char *text;

	if (t->zone)
		json_object_set_new(tags, "sfc_zone", json_string(t->zone));
	if (t->network)
		json_object_set_new(tags, NP_TAG_NETWORK, render_id(IDENT_POOL, t->network));
	set_number(tags, "sfc_max_price_cents", t->cents);
	set_number(tags, "sfc_start_at", t->start_at);
	set_number(tags, "sfc_end_at", t->end_at);
	text = json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(tags);
	return text;
}

const struct pool *node_find(const struct engine *e, uint64_t account, const char *text)
{
	const struct instance *i;
	const struct pool *p;
	uint64_t id;

	if (ident_parse(IDENT_NODE, text, &id)) {
		p = engine_pool(e, id);
	} else if (ident_parse(IDENT_INSTANCE, text, &id)) {
		i = engine_instance(e, id);
		p = i ? engine_pool(e, i->pool) : NULL;
	} else {
		p = engine_pool_named(e, account, text);
	}
	return p && p->account == account && !p->deleted ? p : NULL;
}

/* ---- What /v0 and /v1 share ------------------------------------------------------------------ */

int64_t node_price(int64_t cents)
{
	return cents * MICROS_PER_CENT / 60;
}

int64_t cents_down(int64_t micros)
{
	return micros / MICROS_PER_CENT - (micros % MICROS_PER_CENT < 0);
}

int64_t cents_up(int64_t micros)
{
	return micros / MICROS_PER_CENT + (micros % MICROS_PER_CENT > 0);
}

json_t *old_id(enum ident kind, const char *prefix, uint64_t id)
{
	char room[IDENT_TEXT];
	const char *text = strchr(ident_text(kind, id, room), '_');

	return json_sprintf("%s%s", prefix, text ? text : "");
}

json_t *old_ssh(const struct instance *i)
{
	json_t *told = i->detail && i->detail[0] == '{' ? json_loads(i->detail, 0, NULL) : NULL;

	if (told && json_string_value(json_object_get(told, "hostname")))
		return told;
	json_decref(told);
	return NULL;
}

const char *old_gpu_type(const struct sku *s, char room[64])
{
	json_t *facts = s && s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	const char *word = json_string_value(json_object_get(facts, "accelerator"));
	size_t i;

	for (i = 0; word && word[i] && i < 63; i++)
		room[i] = (char)toupper((unsigned char)word[i]);
	room[word ? i : 0] = '\0';
	json_decref(facts);
	return room[0] ? room : s && s->gpus ? "GPU" : "CPU";
}
