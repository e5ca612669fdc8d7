/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, instances, procurements and images as v2 shows them; people. */
#include "marketd/api/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

/* The first fields of everything that an account owns. */
static json_t *render_thing_scope(const struct engine *e, const char *object, enum ident kind, const char *path,
	uint64_t id, uint64_t account, const char *name)
{
	const struct account *owner = engine_account(e, account);

	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "object", object, "id", render_id(kind, id),
		"resource_path", render_path(e, path, account, name), "owner", render_text(owner ? owner->name : ""),
		"workspace", "default", "workspace_id", render_id(IDENT_WORKSPACE, account), "name", render_text(name));
}

/* ---- Pools ------------------------------------------------------------------------------- */

static json_t *schedule_of(const struct engine *e, uint64_t pool, uint64_t sku, int64_t from)
{
	struct spans s = { 0 };
	json_t *made = NULL;

	if (engine_schedule(e, pool, sku, from, &s) == 0)
		made = render_spans(s.list, s.count);
	free(s.list);
	return made;
}

static json_t *render_thing_allocation(const struct engine *e, uint64_t pool, int64_t from)
{
	json_t *by_sku = json_object();

	for (const struct sku *s = engine_sku_after(e, 0); by_sku && s; s = engine_sku_after(e, s->id)) {
		json_t *schedule = schedule_of(e, pool, s->id, from);
		char room[IDENT_TEXT];

		if (json_array_size(schedule))
			json_object_set_new(by_sku, ident_text(IDENT_SKU, s->id, room), schedule);
		else
			json_decref(schedule);
	}
	return json_pack("{s:o, s:o}", "total", schedule_of(e, pool, 0, from), "by_instance_sku", by_sku);
}

static json_t *procurements_of(const struct engine *e, const struct pool *p)
{
	json_t *list = json_array();
	const struct procurement *c;

	for (c = engine_procurement_after(e, p->account, 0); c; c = engine_procurement_after(e, p->account, c->id))
		if (c->pool == p->id)
			json_array_append_new(list, json_pack("{s:o, s:o}", "id", render_id(IDENT_PROCUREMENT, c->id),
				"name", render_text(c->name)));
	return list;
}

json_t *render_pool(const struct engine *e, const struct pool *p, int64_t history_minutes)
{
	json_t *made = render_thing_scope(e, "pool", IDENT_POOL, "pool", p->id, p->account, p->name);
	int64_t from = engine_minute(e) - history_minutes;

	if (!made)
		return NULL;
	json_object_set_new(made, "kind", json_string(p->kind == POOL_ORIGINATING ? "originating" : "market"));
	json_object_set_new(made, "allocation_schedule", render_thing_allocation(e, p->id, from > 0 ? from : 0));
	json_object_set_new(made, "procurements", procurements_of(e, p));
	json_object_set_new(made, "deployments", json_array());
	json_object_set_new(made, "created_at", json_integer(p->created_at));
	json_object_set_new(made, "tags", render_tags(p->tags));
	return made;
}

/* ---- Instances --------------------------------------------------------------------------- */

static const char *render_thing_status_text(enum instance_status s)
{
	switch (s) {
	case INSTANCE_RUNNING: return "running";
	case INSTANCE_TERMINATED: return "terminated";
	case INSTANCE_FAILED: return "failed";
	default: return "awaiting_allocation";
	}
}

static const char *priority_text(enum instance_priority p)
{
	static const char *const names[] = { "yield", "normal", "preferred", "critical" };

	return names[p];
}

/* When the pool stops owning the instance's host; null: unknown. */
static json_t *shutdown_of(const struct engine *e, const struct instance *i)
{
	const struct host *h = i->host ? engine_host(e, i->host) : NULL;
	int64_t minute = engine_minute(e), end = 0;

	if (!h)
		return json_null();
	for (size_t n = 0; n < h->piece_count; n++) {
		const struct piece *p = &h->pieces[n];

		if (p->end <= minute)
			continue;
		if (p->pool != i->pool || (end && p->start != end))
			break;
		end = p->end;
	}
	return end ? render_minute(end) : json_null();
}

/* An agent's report is JSON that holds a sentence; the engine's detail is a plain sentence. */
static json_t *detail_of(const struct instance *i)
{
	json_t *report = i->detail && i->detail[0] == '{' ? json_loads(i->detail, 0, NULL) : NULL;
	json_t *made = render_text(report ? json_string_value(json_object_get(report, "detail")) : i->detail);

	json_decref(report);
	return made;
}

json_t *render_gpus(const struct instance *i)
{
	bool runs = i->status == INSTANCE_RUNNING && i->detail && i->detail[0] == '{';
	json_t *report = runs ? json_loads(i->detail, 0, NULL) : NULL;
	json_t *list = json_incref(json_object_get(report, "gpus"));

	json_decref(report);
	return list ? list : json_array();
}

int64_t render_ended_at(const struct instance *i)
{
	if (i->status != INSTANCE_TERMINATED && i->status != INSTANCE_FAILED)
		return 0;
	return i->ended_at ? i->ended_at : i->updated_at;
}

static void set_instance_np(json_t *made, const struct instance *i)
{
	json_object_set_new(made, "np_host", i->host ? render_id(IDENT_HOST, i->host) : json_null());
	json_object_set_new(made, "np_ended_at", render_ended_at(i) ? json_integer(render_ended_at(i)) : json_null());
	json_object_set_new(made, "np_detail", detail_of(i));
	json_object_set_new(made, "np_gpus", render_gpus(i));
}

json_t *render_instance(const struct engine *e, const struct instance *i, bool user_data)
{
	json_t *made = render_thing_scope(e, "instance", IDENT_INSTANCE, "instance", i->id, i->account, i->name);

	if (!made)
		return NULL;
	json_object_set_new(made, "status", json_string(render_thing_status_text(i->status)));
	json_object_set_new(made, "instance_sku", render_sku_summary(e, i->sku));
	json_object_set_new(made, "capacity", render_pool_summary(e, i->pool));
	json_object_set_new(made, "pool", render_pool_summary(e, i->pool));
	json_object_set_new(made, "created_at", json_integer(i->created_at));
	json_object_set_new(made, "updated_at", json_integer(i->updated_at));
	json_object_set_new(made, "image",
		json_pack("{s:o, s:s}", "id", render_id(IDENT_IMAGE, i->image), "name", IMAGE_NAME));
	json_object_set_new(made, "managed_by", json_null());
	json_object_set_new(made, "cloud_init_user_data_used", json_boolean(i->user_data && *i->user_data));
	if (user_data && i->user_data && *i->user_data)
		json_object_set_new(made, "cloud_init_user_data", render_text(i->user_data));
	json_object_set_new(made, "enable_public_ipv4", json_false());
	json_object_set_new(made, "firewall", json_null());
	json_object_set_new(made, "tags", render_tags(i->tags));
	json_object_set_new(made, "expected_shutdown_at", shutdown_of(e, i));
	json_object_set_new(made, "priority_level", json_string(priority_text(i->priority)));
	set_instance_np(made, i);
	return made;
}

/* ---- Procurements ------------------------------------------------------------------------ */

static json_t *render_thing_reconciliation(const struct procurement *p)
{
	if (!p->enabled)
		return json_pack("{s:s, s:s}", "state", "info", "message", "disabled: it places no orders");
	if (!p->reason)
		return json_pack("{s:s, s:s}", "state", "info", "message",
			"the pool has its target over the whole window");
	return json_pack("{s:s, s:s}", "state",
		p->reason == REASON_FUNDS || p->reason == REASON_OVER_CAP ? "error" : "warning", "message",
		reason_row(p->reason)->text);
}

json_t *render_procurement(const struct engine *e, const struct procurement *p)
{
	json_t *made = render_thing_scope(e, "procurement", IDENT_PROCUREMENT, "procurement", p->id, p->account,
		p->name);

	if (!made)
		return NULL;
	json_object_set_new(made, "target", p->target < 0 ? json_string("node_count") : json_integer(p->target));
	json_object_set_new(made, "capacity", render_pool_summary(e, p->pool));
	json_object_set_new(made, "pool", render_pool_summary(e, p->pool));
	json_object_set_new(made, "instance_sku", render_sku_summary(e, p->sku));
	json_object_set_new(made, "min_sell_price_dollars_per_node_hour", render_price(p->min_sell));
	json_object_set_new(made, "max_buy_price_dollars_per_node_hour", render_price(p->max_buy));
	json_object_set_new(made, "managed_window_minutes", json_integer(p->window));
	json_object_set_new(made, "enabled", json_boolean(p->enabled));
	json_object_set_new(made, "status", render_thing_reconciliation(p));
	json_object_set_new(made, "np_reason", render_reason(p->enabled ? p->reason : 0));
	json_object_set_new(made, "created_at", json_integer(p->created_at));
	json_object_set_new(made, "updated_at", json_integer(p->updated_at));
	return made;
}

/* ---- Images ------------------------------------------------------------------------------ */

json_t *render_image(void)
{
	return json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:s, s:b, s:s, s:i, s:n, s:n}", "object", "image", "id",
		render_id(IDENT_IMAGE, IMAGE_ID), "resource_path", IMAGE_PATH, "owner", "sfcompute", "workspace",
		"public", "workspace_id", render_id(IDENT_WORKSPACE, PUBLIC_WORKSPACE_ID), "name", IMAGE_NAME,
		"is_public", 1, "upload_status", "completed", "created_at", 0, "provider", "sha256");
}

/* ---- People ----------------------------------------------------------------------------- */

static const char *const people_words[] = { "owner", "buyer", "provider", "viewer", "billing" };

json_t *render_roles(int32_t roles)
{
	json_t *list = json_array();

	for (int i = 0; i < (int)(sizeof people_words / sizeof *people_words); i++)
		if (roles & (1 << i))
			json_array_append_new(list, json_string(people_words[i]));
	return list;
}

int32_t role_read(const char *word, size_t len)
{
	for (int i = 0; i < (int)(sizeof people_words / sizeof *people_words); i++)
		if (strlen(people_words[i]) == len && memcmp(people_words[i], word, len) == 0)
			return 1 << i;
	return 0;
}

void render_spending(const struct engine *e, json_t *o, const struct spending *s)
{
	if (s->capped) {
		render_money(o, "cap", s->cap);
	} else {
		json_object_set_new(o, "cap_dollars", json_null());
		json_object_set_new(o, "cap_micros", json_null());
	}
	render_money(o, "spent", engine_spent(e, s));
	json_object_set_new(o, "month_ends_at", json_integer(60 * engine_next_month(e)));
}

json_t *render_person(const struct engine *e, const struct person *x)
{
	const char *blank = strchr(x->identity, ' ');
	json_t *o;

	o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I}", "object", "person", "id",
		render_id(IDENT_PERSON, x->id), "account", render_id(IDENT_ACCOUNT, x->account), "name",
		render_text(x->name), "email", render_text(x->email), "roles", render_roles(x->roles), "issuer",
		json_stringn(x->identity, blank ? (size_t)(blank - x->identity) : strlen(x->identity)), "subject",
		blank ? blank + 1 : "", "created_at", (json_int_t)x->created_at);
	render_spending(e, o, &x->spending);
	return o;
}
