/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies. They have only the fields that the caller gave, as a market refuses unknown ones. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/wire.h"

static int wire_write_add_piece(const char *text, size_t len, void *arg)
{
	return buf_add(arg, text, len) ? -1 : 0;
}

/* Takes over the object. NULL: out of memory, or a text is not UTF-8. */
static int wire_write_put(struct buf *out, json_t *o)
{
	size_t len = out->len;
	int rc = o ? json_dump_callback(o, wire_write_add_piece, out, JSON_COMPACT) : -1;

	json_decref(o);
	if (rc)
		buf_cut(out, len);
	return rc ? -EINVAL : 0;
}

/* Sets a member unless it is empty. 0 or -1. */
static int wire_write_set_text(json_t *o, const char *name, const char *text)
{
	return text ? json_object_set_new(o, name, json_string(text)) : 0;
}

static int set_int(json_t *o, const char *name, int64_t n, int64_t nothing)
{
	return n != nothing ? json_object_set_new(o, name, json_integer(n)) : 0;
}

static int wire_write_set_money(json_t *o, const char *name, int64_t micros)
{
	char room[MONEY_TEXT];

	return micros ? json_object_set_new(o, name, json_string(money_wire(micros, room))) : 0;
}

static int set_price(json_t *o, const char *name, int64_t price)
{
	char room[MONEY_TEXT];

	return json_object_set_new(o, name, json_string(price_wire(price, room)));
}

static int set_flag(json_t *o, const char *name, bool flag)
{
	return flag ? json_object_set_new(o, name, json_true()) : 0;
}

/* If any part failed, nothing comes out. */
static json_t *wire_write_whole(json_t *o, int failed)
{
	if (!failed)
		return o;
	json_decref(o);
	return NULL;
}

int wire_put_order(struct buf *out, const struct model_order_new *n)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "pool", n->pool);

	bad |= wire_write_set_text(o, "side", n->sell ? "sell" : "buy");
	bad |= wire_write_set_text(o, "instance_sku", n->sku);
	bad |= json_object_set_new(o, "allocation_schedule_delta",
		json_pack("[{s:I,s:I,s:I}]", "start_at", (json_int_t)n->start, "end_at", (json_int_t)n->end,
			"node_count", (json_int_t)n->nodes));
	bad |= set_price(o, "limit_price_dollars_per_node_hour", n->price);
	bad |= set_flag(o, "allow_standing", n->standing);
	bad |= set_flag(o, "allow_partial", n->partial);
	bad |= set_flag(o, "np_interruptible", n->interruptible);
	bad |= set_flag(o, "np_unverified", n->unverified);
	if (n->grant)
		bad |= wire_write_set_text(o, "np_grant", n->grant);
	bad |= wire_write_set_money(o, "np_max_total_dollars", n->max_total);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_preview(struct buf *out, const struct model_order_new *n, const struct model_sku *sku)
{
	json_t *o = json_object(), *r = json_object();
	int bad = wire_write_set_text(o, "side", n->sell ? "sell" : "buy");
	const struct { const char *name, *value; } wants[] = {
		{ "accelerator", sku ? sku->accelerator : NULL }, { "form_factor", sku ? sku->form_factor : NULL },
		{ "region", sku ? sku->region : NULL }, { "availability_zone", sku ? sku->zone : NULL },
		{ "rdma_type", sku ? sku->rdma : NULL },
	};

	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
		if (wants[i].value)
			bad |= json_object_set_new(r, wants[i].name, json_pack("[s]", wants[i].value));
	bad |= json_object_set_new(o, "requirements", r);
	bad |= set_int(o, "start_at", n->start, -1);
	bad |= set_int(o, "duration_seconds", n->end - n->start, -1);
	bad |= set_int(o, "node_count", n->nodes, -1);
	bad |= wire_write_set_text(o, "pool", n->pool);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_pool(struct buf *out, const char *name, const char *workspace)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "name", name);

	bad |= wire_write_set_text(o, "workspace", workspace);
	return wire_write_put(out, wire_write_whole(o, bad));
}

/* malloc'd, or NULL. */
static char *to_base64(const unsigned char *data, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = len <= WIRE_BYTES_MAX ? malloc((len + 2) / 3 * 4 + 1) : NULL, *to = text;

	for (size_t i = 0; text && i < len; i += 3) {
		uint32_t n = (uint32_t)data[i] << 16;

		n |= i + 1 < len ? (uint32_t)data[i + 1] << 8 : 0;
		n |= i + 2 < len ? data[i + 2] : 0;
		*to++ = letters[n >> 18];
		*to++ = letters[n >> 12 & 63];
		*to++ = i + 1 < len ? letters[n >> 6 & 63] : '=';
		*to++ = i + 2 < len ? letters[n & 63] : '=';
	}
	if (text)
		*to = '\0';
	return text;
}

int wire_put_instance(struct buf *out, const struct model_instance_new *n)
{
	json_t *o = json_object();
	char *data = n->user_data ? to_base64(n->user_data, n->user_data_len) : NULL;
	int bad = wire_write_set_text(o, "name", n->name);

	bad |= n->user_data && !data ? -1 : 0;
	bad |= wire_write_set_text(o, "pool", n->pool);
	bad |= wire_write_set_text(o, "image", n->image);
	bad |= wire_write_set_text(o, "instance_sku", n->sku);
	bad |= wire_write_set_text(o, "cloud_init_user_data", data);
	bad |= wire_write_set_text(o, "priority_level", n->priority);
	if (data)
		explicit_bzero(data, strlen(data));
	free(data);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_extend(struct buf *out, const struct model_extend *e)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "instance_sku", e->sku);

	bad |= set_int(o, "start_at", e->start, 0);
	bad |= wire_write_set_text(o, "last_order", e->last_order);
	bad |= set_int(o, "duration_seconds", e->seconds, 0);
	bad |= set_int(o, "end_at", e->end, 0);
	bad |= set_int(o, "node_count", e->nodes, 0);
	bad |= set_price(o, "limit_price_dollars_per_node_hour", e->price);
	bad |= wire_write_set_money(o, "max_total_dollars", e->max_total);
	bad |= set_flag(o, "dry_run", e->dry_run);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_release(struct buf *out, const struct model_release_new *r)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "instance_sku", r->sku);

	bad |= set_int(o, "from", r->from, 0);
	bad |= set_int(o, "node_count", r->nodes, 0);
	bad |= set_flag(o, "dry_run", r->dry_run);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_procurement(struct buf *out, const struct model_procurement_new *p)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "name", p->name);

	bad |= wire_write_set_text(o, "pool", p->pool);
	bad |= wire_write_set_text(o, "instance_sku", p->sku);
	bad |= set_int(o, "target", p->target, -1);
	bad |= set_price(o, "min_sell_price_dollars_per_node_hour", p->min_sell);
	bad |= set_price(o, "max_buy_price_dollars_per_node_hour", p->max_buy);
	bad |= set_int(o, "managed_window_minutes", p->window, 0);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_procurement_change(struct buf *out, const struct model_procurement_new *p)
{
	json_t *o = json_object();
	int bad = set_int(o, "managed_window_minutes", p->window, 0);

	if (p->change_prices) {
		bad |= set_price(o, "min_sell_price_dollars_per_node_hour", p->min_sell);
		bad |= set_price(o, "max_buy_price_dollars_per_node_hour", p->max_buy);
	}
	if (p->change_enabled)
		bad |= json_object_set_new(o, "enabled", json_boolean(p->enabled));
	return wire_write_put(out, wire_write_whole(o, bad));
}

static int set_cap(json_t *o, int64_t cap)
{
	char room[MONEY_TEXT];

	return json_object_set_new(o, "cap_dollars", cap < 0 ? json_null() : json_string(money_wire(cap, room)));
}

int wire_put_token(struct buf *out, const struct model_token_new *t)
{
	json_t *o = json_object(), *scopes = json_array();
	int bad = wire_write_set_text(o, "name", t->name);

	for (size_t i = 0; i < t->scope_count; i++)
		bad |= json_array_append_new(scopes, json_string(t->scopes[i]));
	bad |= json_object_set_new(o, "scopes", scopes);
	if (t->capped)
		bad |= set_cap(o, t->cap);
	if (t->seconds < 0)
		bad |= json_object_set_new(o, "expires_in_seconds", json_null());
	else
		bad |= set_int(o, "expires_in_seconds", t->seconds, 0);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_cap(struct buf *out, int64_t cap, const char *reason)
{
	json_t *o = json_object();
	int bad = set_cap(o, cap);

	bad |= wire_write_set_text(o, "reason", reason);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_signin(struct buf *out, const char *id_token, const char *invitation, const char *account)
{
	json_t *o = json_object();
	int bad = wire_write_set_text(o, "id_token", id_token);

	bad |= wire_write_set_text(o, "invitation", invitation) | wire_write_set_text(o, "account", account);
	return wire_write_put(out, wire_write_whole(o, bad));
}

int wire_put_invitation(struct buf *out, const char *name, const char *roles, int64_t seconds)
{
	json_t *o = json_object(), *list = json_array();
	int bad = wire_write_set_text(o, "name", name);

	for (size_t len; *roles; roles += len + (roles[len] == ',')) {
		len = strcspn(roles, ",");
		bad |= len && json_array_append_new(list, json_stringn(roles, len));
	}
	bad |= json_object_set_new(o, "roles", list);
	bad |= set_int(o, "expires_in_seconds", seconds, 0);
	return wire_write_put(out, wire_write_whole(o, bad));
}
