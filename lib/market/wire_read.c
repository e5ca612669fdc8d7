/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of thing on the wire: tables, and code for what a table cannot express. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"
#include "market/wire_part.h"

/* ---- What is for sale ------------------------------------------------------------------ */

int wire_sku(struct doc *d, long at, struct model_sku *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_sku, "id", TEXT, NEEDED, id),
		FIELD(model_sku, "alias", TEXT, MAY, alias),
		FIELD(model_sku, "accelerator", WORTH_TEXT, MAY, accelerator),
		FIELD(model_sku, "form_factor", WORTH_TEXT, MAY, form_factor),
		FIELD(model_sku, "region", WORTH_TEXT, MAY, region),
		FIELD(model_sku, "availability_zone", WORTH_TEXT, MAY, zone),
		FIELD(model_sku, "rdma_type", WORTH_TEXT, MAY, rdma),
		FIELD(model_sku, "num_accelerators", WORTH_INT, MAY, gpus),
		FIELD(model_sku, "num_vcpus", WORTH_INT, MAY, vcpus),
		FIELD(model_sku, "memory", WORTH_INT, MAY, memory),
		FIELD(model_sku, "local_storage", WORTH_INT, MAY, storage),
		FIELD(model_sku, "supports_public_ipv4", WORTH_INT, MAY, public_ipv4),
		FIELD(model_sku, "audience_hint", TEXT, MAY, audience),
		{ 0 },
	};
	static const struct wire_field more[] = {
		FIELD(model_sku, "gpu_memory", INT, MAY, gpu_memory),
		FIELD(model_sku, "overcommit", INT, MAY, overcommit),
		FIELD(model_sku, "shared_storage", INT, MAY, shared),
		FIELD(model_sku, "share", TEXT, MAY, share),
		{ 0 },
	};
	struct model_sku made = { .gpus = -1,
		.vcpus = -1,
		.memory = -1,
		.storage = -1,
		.public_ipv4 = -1,
		.gpu_memory = -1,
		.overcommit = -1,
		.shared = -1 };
	struct json_t *o = wire_object(d, at, "an instance SKU", f);
	int rc = o ? wire_fields(d, o, fields, "an instance SKU", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, wire_member(o, "np_requires"), more, "an instance SKU", &made, f);
	if (!rc)
		*out = made;
	return rc;
}

int wire_availability(struct doc *d, long at, struct model_availability *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_availability, "instance_sku", REF, NEEDED, sku),
		FIELD(model_availability, "schedule", SCHEDULE, NEEDED, schedule), { 0 },
	};
	struct model_availability made = { 0 };
	int rc = wire_read(d, at, "an availability", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

static int read_levels(struct doc *d, struct json_t *o, const char *name, const struct model_level **out, size_t *count,
	struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_level, "instance_sku", TEXT, NEEDED, sku),
		FIELD(model_level, "dollars_per_node_hour", PRICE, NEEDED, price),
		FIELD(model_level, "allocation_schedule_delta", SCHEDULE, NEEDED, schedule),
		{ 0 },
	};
	size_t n = wire_length(o, name);
	struct model_level *list = wire_room(d, n, sizeof *list);
	int rc = list ? 0 : fail_set(f, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_fields(d, wire_item(o, name, i), fields, "a price level", &list[i], f);
	*out = list;
	*count = n;
	return rc;
}

int wire_depth(struct doc *d, long at, struct model_depth *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_depth, "start_at", INT, NEEDED, start), FIELD(model_depth, "end_at", INT, NEEDED, end),
		FIELD(model_depth, "requested_at", INT, MAY, requested_at), { 0 },
	};
	struct model_depth made = { 0 };
	struct json_t *o = wire_object(d, at, "an order book", f);
	int rc = o ? wire_fields(d, o, fields, "an order book", &made, f) : -EPROTO;

	rc = rc ? rc : read_levels(d, o, "bids", &made.bids, &made.bid_count, f);
	rc = rc ? rc : read_levels(d, o, "asks", &made.asks, &made.ask_count, f);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- Orders ---------------------------------------------------------------------------- */

static enum model_order_status order_status(const char *word)
{
	static const char *const words[] = {
#define WORD(name, word) [MODEL_ORDER_##name] = word,
		MODEL_ORDER_STATUSES(WORD)
#undef WORD
	};

	for (size_t i = 1; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0)
			return (enum model_order_status)i;
	return MODEL_ORDER_UNKNOWN;
}

static int read_fills(struct doc *d, struct json_t *o, struct model_order *made, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_fill, "contract", TEXT, MAY, contract),
		FIELD(model_fill, "filled_at", INT, NEEDED, filled_at),
		FIELD(model_fill, "price_dollars_per_node_hour", PRICE, NEEDED, price),
		FIELD(model_fill, "allocation_schedule_delta", SCHEDULE, NEEDED, schedule),
		FIELD(model_fill, "np_given_up", BOOL, MAY, given_up),
		{ 0 },
	};
	size_t n = wire_length(o, "fills");
	struct model_fill *list = wire_room(d, n, sizeof *list);
	int rc = list ? 0 : fail_set(f, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_fields(d, wire_item(o, "fills", i), fields, "a fill", &list[i], f);
	made->fills = list;
	made->fill_count = n;
	return rc;
}

int wire_order(struct doc *d, long at, struct model_order *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_order, "id", TEXT, NEEDED, id),
		FIELD(model_order, "side", TEXT, NEEDED, side),
		FIELD(model_order, "status", TEXT, NEEDED, status_text),
		FIELD(model_order, "pool", REF, MAY, pool),
		FIELD(model_order, "instance_sku", REF, MAY, sku),
		FIELD(model_order, "allow_standing", BOOL, MAY, standing),
		FIELD(model_order, "allow_partial", BOOL, MAY, partial),
		FIELD(model_order, "allocation_schedule_delta", SCHEDULE, NEEDED, window),
		FIELD(model_order, "filled_allocation_schedule_delta", SCHEDULE, MAY, filled),
		FIELD(model_order, "limit_price_dollars_per_node_hour", PRICE, NEEDED, limit),
		FIELD(model_order, "created_at", INT, MAY, created_at),
		FIELD(model_order, "filled_at", INT, MAY, filled_at),
		FIELD(model_order, "cancelled_at", INT, MAY, cancelled_at),
		FIELD(model_order, "created_by", REF, MAY, by),
		FIELD(model_order, "filled_average_price_dollars_per_node_hour", PRICE, MAY, average),
		FIELD(model_order, "np_reason", TEXT, MAY, reason_text),
		FIELD(model_order, "np_filled_total_dollars", MONEY, MAY, filled_total),
		FIELD(model_order, "np_hold_dollars", MONEY, MAY, hold),
		FIELD(model_order, "np_granted", BOOL, MAY, granted),
		{ 0 },
	};
	struct model_order made = { .average = -1, .filled_total = MODEL_NONE, .hold = MODEL_NONE };
	struct json_t *o = wire_object(d, at, "an order", f);
	int rc = o ? wire_fields(d, o, fields, "an order", &made, f) : -EPROTO;

	if (!rc && strcmp(made.side, "buy") != 0 && strcmp(made.side, "sell") != 0)
		rc = wire_bad(f, "an order", "side", "is neither buy nor sell");
	rc = rc ? rc : read_fills(d, o, &made, f);
	if (!rc) {
		made.sell = strcmp(made.side, "sell") == 0;
		made.status = order_status(made.status_text);
		made.reason = reason_find(made.reason_text);
	}
	if (!rc)
		*out = made;
	return rc;
}

int wire_preview(struct doc *d, long at, struct model_preview *out, struct fail *f)
{
	struct { const char *type; } kind = { 0 };
	struct { struct model_schedule window; } body = { 0 };
	static const struct wire_field kinds[] = { { "type", WIRE_TEXT, true, 0 }, { 0 } };
	static const struct wire_field fields[] = { FIELD(model_preview, "reason", TEXT, MAY, reason), { 0 } };
	static const struct wire_field fee[] = {
		FIELD(model_preview, "flat_dollars_per_node_hour", PRICE, MAY, fee_flat),
		FIELD(model_preview, "percentage_bps", INT, MAY, fee_bps), { 0 },
	};
	static const struct wire_field order[] = {
		FIELD(model_preview, "instance_sku", TEXT, NEEDED, sku), FIELD(model_preview, "pool", TEXT, MAY, pool),
		FIELD(model_preview, "limit_price_dollars_per_node_hour", PRICE, NEEDED, limit), { 0 },
	};
	static const struct wire_field window[] = { { "allocation_schedule_delta", WIRE_SCHEDULE, true, 0 }, { 0 } };
	struct model_preview made = { 0 };
	struct json_t *o = wire_object(d, at, "an estimate", f);
	int rc = o ? wire_fields(d, o, fields, "an estimate", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, o, kinds, "an estimate", &kind, f);
	rc = rc ? rc : wire_fields(d, wire_member(o, "fee"), fee, "an estimate", &made, f);
	made.quoted = !rc && strcmp(kind.type, "quoted") == 0;
	if (!rc && made.quoted) {
		o = wire_member(o, "post_order_body");
		rc = wire_fields(d, o, order, "an estimate", &made, f);
		rc = rc ? rc : wire_fields(d, o, window, "an estimate", &body, f);
		if (!rc && body.window.count != 1)
			rc = wire_bad(f, "an estimate", "allocation_schedule_delta", "is not one window");
		if (!rc) {
			made.start = body.window.list[0].start;
			made.end = body.window.list[0].end;
			made.nodes = body.window.list[0].nodes;
		}
	}
	if (!rc)
		*out = made;
	return rc;
}

static int read_alternatives(struct doc *d, struct json_t *o, struct model_quote *made, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_alternative, "kind", TEXT, NEEDED, kind),
		FIELD(model_alternative, "message", TEXT, MAY, message),
		FIELD(model_alternative, "price_dollars_per_node_hour", PRICE, MAY, price),
		FIELD(model_alternative, "limit_price_dollars_per_node_hour", PRICE, MAY, price),
		FIELD(model_alternative, "node_count", INT, MAY, nodes),
		FIELD(model_alternative, "start_at", INT, MAY, start),
		FIELD(model_alternative, "end_at", INT, MAY, end),
		{ 0 },
	};
	size_t n = wire_length(o, "alternatives");
	struct model_alternative *list = wire_room(d, n, sizeof *list);
	int rc = list ? 0 : fail_set(f, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !rc; i++) {
		list[i] = (struct model_alternative){ .price = -1, .nodes = -1, .start = -1, .end = -1 };
		rc = wire_fields(d, wire_item(o, "alternatives", i), fields, "an alternative", &list[i], f);
	}
	made->alternatives = list;
	made->alternative_count = n;
	return rc;
}

int wire_quote(struct doc *d, long at, struct model_quote *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_quote, "fills", BOOL, NEEDED, fills),
		FIELD(model_quote, "cost_dollars", MONEY, MAY, cost),
		FIELD(model_quote, "granted_dollars", MONEY, MAY, granted),
		FIELD(model_quote, "price_dollars_per_node_hour", PRICE, MAY, price),
		FIELD(model_quote, "node_count", INT, MAY, nodes),
		FIELD(model_quote, "start_at", INT, MAY, start),
		FIELD(model_quote, "end_at", INT, MAY, end),
		FIELD(model_quote, "available_after_dollars", MONEY, MAY, available_after),
		FIELD(model_quote, "reason", TEXT, MAY, reason_text),
		FIELD(model_quote, "message", TEXT, MAY, message),
		{ 0 },
	};
	static const struct wire_field policy[] = {
		FIELD(model_quote, "rule", TEXT, MAY, rule),
		FIELD(model_quote, "rate", TEXT, MAY, rate),
		FIELD(model_quote, "reason", TEXT, MAY, why),
		FIELD(model_quote, "grant_name", TEXT, MAY, grant),
		{ 0 },
	};
	struct model_quote made = { .available_after = MODEL_NONE, .end = MODEL_NEVER };
	struct json_t *o = wire_object(d, at, "a quote", f), *said = o ? wire_member(o, "policy") : NULL;
	int rc = o ? wire_fields(d, o, fields, "a quote", &made, f) : -EPROTO;

	rc = rc || !said ? rc : wire_fields(d, said, policy, "a policy", &made, f);
	rc = rc ? rc : read_alternatives(d, o, &made, f);
	made.reason = reason_find(made.reason_text);
	if (!rc)
		*out = made;
	return rc;
}

int wire_release(struct doc *d, long at, struct model_release *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_release, "refund_dollars", MONEY, NEEDED, refund),
		FIELD(model_release, "paid_dollars", MONEY, MAY, paid),
		FIELD(model_release, "from", INT, MAY, from),
		FIELD(model_release, "node_count", INT, MAY, nodes),
		FIELD(model_release, "idle_hosts", INT, MAY, idle),
		FIELD(model_release, "rule", TEXT, MAY, rule),
		{ 0 },
	};
	static const struct wire_field node[] = {
		FIELD(model_released, "id", TEXT, NEEDED, id),
		FIELD(model_released, "name", TEXT, NEEDED, name),
		FIELD(model_released, "start_at", INT, MAY, start_at),
		{ 0 },
	};
	struct model_release made = { .paid = MODEL_NONE };
	struct json_t *o = wire_object(d, at, "a release", f);
	int rc = o ? wire_fields(d, o, fields, "a release", &made, f) : -EPROTO;
	size_t n = wire_length(o, "nodes");
	struct model_released *ends = wire_room(d, n, sizeof *ends);

	if (!rc && !ends)
		rc = fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_fields(d, wire_item(o, "nodes", i), node, "a node", &ends[i], f);
	made.ends = ends;
	made.end_count = n;
	made.paid = made.paid == MODEL_NONE ? made.refund : made.paid; /* an older market does not say it */
	if (!rc)
		*out = made;
	return rc;
}

/* ---- What one has ---------------------------------------------------------------------- */

/* A map: a table cannot name its keys, so this reads them from the document. */
static int read_by_sku(struct doc *d, struct json_t *schedule, struct model_pool *made, struct fail *f)
{
	static const struct wire_field total[] = { FIELD(model_pool, "total", SCHEDULE, MAY, total), { 0 } };
	struct json_t *map = wire_member(schedule, "by_instance_sku");
	size_t n = wire_names(map, NULL), i = 0;
	const char **names = wire_room(d, n, sizeof *names);
	struct model_pool_sku *list = wire_room(d, n, sizeof *list);
	int rc = list && names ? wire_fields(d, schedule, total, "a pool", made, f)
			       : fail_set(f, -ENOMEM, "out of memory");

	if (!rc)
		wire_names(map, names);
	for (; i < n && !rc; i++) {
		const struct wire_field one[] = {
			{ names[i], WIRE_SCHEDULE, true, offsetof(struct model_pool_sku, schedule) }, { 0 }
		};

		list[i].sku = names[i];
		rc = wire_fields(d, map, one, "a pool", &list[i], f);
	}
	made->by_sku = list;
	made->sku_count = n;
	return rc;
}

int wire_pool(struct doc *d, long at, struct model_pool *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_pool, "id", TEXT, NEEDED, id),
		FIELD(model_pool, "name", TEXT, NEEDED, name),
		FIELD(model_pool, "resource_path", TEXT, MAY, path),
		FIELD(model_pool, "owner", TEXT, MAY, owner),
		FIELD(model_pool, "kind", TEXT, MAY, kind),
		FIELD(model_pool, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_pool made = { 0 };
	struct json_t *o = wire_object(d, at, "a pool", f);
	int rc = o ? wire_fields(d, o, fields, "a pool", &made, f) : -EPROTO;

	rc = rc ? rc : read_by_sku(d, wire_member(o, "allocation_schedule"), &made, f);
	if (!rc)
		*out = made;
	return rc;
}

static enum model_instance_status instance_status(const char *word)
{
	static const char *const words[] = {
#define WORD(name, word) [MODEL_INSTANCE_##name] = word,
		MODEL_INSTANCE_STATUSES(WORD)
#undef WORD
	};

	for (size_t i = 1; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0)
			return (enum model_instance_status)i;
	return MODEL_INSTANCE_UNKNOWN;
}

int wire_instance(struct doc *d, long at, struct model_instance *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_instance, "id", TEXT, NEEDED, id),
		FIELD(model_instance, "name", TEXT, NEEDED, name),
		FIELD(model_instance, "status", TEXT, NEEDED, status_text),
		FIELD(model_instance, "pool", REF, MAY, pool),
		FIELD(model_instance, "instance_sku", REF, MAY, sku),
		FIELD(model_instance, "image", REF, MAY, image),
		FIELD(model_instance, "created_at", INT, MAY, created_at),
		FIELD(model_instance, "updated_at", INT, MAY, updated_at),
		FIELD(model_instance, "np_ended_at", INT, MAY, ended_at),
		FIELD(model_instance, "expected_shutdown_at", INT, MAY, shutdown_at),
		FIELD(model_instance, "priority_level", TEXT, MAY, priority),
		FIELD(model_instance, "public_ip", TEXT, MAY, public_ip),
		{ 0 },
	};
	struct model_instance made = { 0 };
	struct json_t *o = wire_object(d, at, "an instance", f);
	int rc = o ? wire_fields(d, o, fields, "an instance", &made, f) : -EPROTO;

	if (!rc)
		made.status = instance_status(made.status_text);
	rc = rc ? rc : wire_gpus(d, o, "np_gpus", &made.gpus, &made.gpu_count, f);
	if (!rc)
		*out = made;
	return rc;
}

int wire_ssh(struct doc *d, long at, struct model_ssh *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_ssh, "hostname", TEXT, NEEDED, hostname), FIELD(model_ssh, "port", INT, MAY, port),
		FIELD(model_ssh, "last_successful_key_update_at", INT, MAY, updated_at), { 0 },
	};
	static const struct wire_field key[] = {
		FIELD(model_key, "key_type", TEXT, NEEDED, type), FIELD(model_key, "key", TEXT, NEEDED, key), { 0 },
	};
	struct model_ssh made = { .port = 22 };
	struct json_t *o = wire_object(d, at, "an SSH address", f);
	int rc = o ? wire_fields(d, o, fields, "an SSH address", &made, f) : -EPROTO;
	size_t n = wire_length(o, "host_keys");
	struct model_key *keys = wire_room(d, n, sizeof *keys);

	if (!rc && !keys)
		rc = fail_set(f, -ENOMEM, "out of memory");
	if (!rc && (made.port < 1 || made.port > 65535))
		rc = wire_bad(f, "an SSH address", "port", "is not a port");
	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_fields(d, wire_item(o, "host_keys", i), key, "a host key", &keys[i], f);
	made.keys = keys;
	made.key_count = n;
	if (!rc)
		*out = made;
	return rc;
}

/* Decodes base64 into room, which is large enough; the length, or -1. Padding is optional. */
static long from_base64(const char *text, char *room)
{
	uint32_t bits = 0;
	int have = 0;
	long len = 0;

	for (; *text && *text != '='; text++) {
		static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
		const char *at = strchr(letters, *text);

		if (!at)
			return -1;
		bits = bits << 6 | (uint32_t)(at - letters);
		have += 6;
		if (have >= 8) {
			have -= 8;
			room[len++] = (char)(bits >> have & 0xff);
		}
	}
	text += strspn(text, "=");
	return *text || have >= 6 ? -1 : len;
}

int wire_log(struct doc *d, long at, struct model_log *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_log, "seqnum", UINT, NEEDED, seq), FIELD(model_log, "timestamp_realtime", INT, MAY, at),
		FIELD(model_log, "np_at_micros", INT, MAY, micros),
		FIELD(model_log, "data", TEXT, NEEDED, data), { 0 },
	};
	struct model_log made = { 0 };
	int rc = wire_read(d, at, "a log", fields, &made, f);
	char *room = rc ? NULL : wire_room(d, strlen(made.data) + 1, 1);
	long len = room ? from_base64(made.data, room) : 0;

	if (!rc && !room)
		rc = fail_set(f, -ENOMEM, "out of memory");
	if (!rc && len < 0)
		rc = wire_bad(f, "a log", "data", "is not base64");
	made.data = room;
	made.len = len > 0 ? (size_t)len : 0;
	if (!rc)
		*out = made;
	return rc;
}

int wire_image(struct doc *d, long at, struct model_image *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_image, "id", TEXT, NEEDED, id),
		FIELD(model_image, "name", TEXT, NEEDED, name),
		FIELD(model_image, "resource_path", TEXT, MAY, path),
		FIELD(model_image, "upload_status", TEXT, MAY, status),
		FIELD(model_image, "is_public", BOOL, MAY, is_public),
		FIELD(model_image, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_image made = { 0 };
	int rc = wire_read(d, at, "an image", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_workspace(struct doc *d, long at, struct model_workspace *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_workspace, "id", TEXT, NEEDED, id), FIELD(model_workspace, "name", TEXT, NEEDED, name),
		FIELD(model_workspace, "resource_path", TEXT, MAY, path), { 0 },
	};
	struct model_workspace made = { 0 };
	int rc = wire_read(d, at, "a workspace", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}
