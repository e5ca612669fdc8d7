/* SPDX-License-Identifier: Apache-2.0 */
/* A market in numbers. */
#include <errno.h>
#include <stddef.h>

#include "market/wire_part.h"

#define IN(name, member) FIELD(model_overview, name, INT, NEEDED, member)

static const struct wire_field in_whole[] = {
	IN("now", now),
	FIELD(model_overview, "counted", BOOL, NEEDED, counted),
	IN("away_total", away_total),
	{ 0 },
};
static const struct wire_field in_accounts[] = {
	IN("total", accounts.total),
	IN("suspended", accounts.suspended),
	IN("buying", accounts.buying),
	IN("selling", accounts.selling),
	{ 0 },
};
static const struct wire_field in_hosts[] = {
	IN("up", hosts.up),
	IN("draining", hosts.draining),
	IN("down", hosts.down),
	IN("silent", hosts.silent),
	{ 0 },
};
static const struct wire_field in_machines[] = {
	IN("up", machines.up),
	IN("silent", machines.silent),
	IN("joined", machines.joined),
	{ 0 },
};
static const struct wire_field in_nodes[] = {
	IN("running", nodes.running),
	IN("starting", nodes.starting),
	IN("pending", nodes.pending),
	IN("longest_start_seconds", nodes.longest),
	{ 0 },
};
static const struct wire_field in_orders[] = {
	IN("buy", orders.buy),
	IN("sell", orders.sell),
	{ 0 },
};
static const struct wire_field in_money[] = {
	IN("available_micros", money.available),
	IN("held_micros", money.held),
	IN("escrow_micros", money.escrow),
	IN("running_per_hour_micros", money.hourly),
	{ 0 },
};

static const struct wire_field in_period[] = {
	FIELD(model_overview_period, "turnover_micros", INT, NEEDED, turnover),
	FIELD(model_overview_period, "fees_micros", INT, NEEDED, fees),
	FIELD(model_overview_period, "credited_micros", INT, NEEDED, credited),
	FIELD(model_overview_period, "node_seconds", INT, NEEDED, seconds),
	{ 0 },
};

static int wire_overview_section(struct doc *d, struct json_t *whole, const char *name, const struct wire_field *fields,
	struct model_overview *out, struct fail *f)
{
	struct json_t *o = wire_member(whole, name);

	return o ? wire_fields(d, o, fields, "an overview", out, f) : wire_bad(f, "an overview", name, "is missing");
}

static int wire_overview_sections(struct doc *d, struct json_t *whole, struct model_overview *out, struct fail *f)
{
	int rc = wire_fields(d, whole, in_whole, "an overview", out, f);

	rc = rc ? rc : wire_overview_section(d, whole, "accounts", in_accounts, out, f);
	rc = rc ? rc : wire_overview_section(d, whole, "hosts", in_hosts, out, f);
	rc = rc ? rc : wire_overview_section(d, whole, "machines", in_machines, out, f);
	rc = rc ? rc : wire_overview_section(d, whole, "nodes", in_nodes, out, f);
	rc = rc ? rc : wire_overview_section(d, whole, "orders", in_orders, out, f);
	return rc ? rc : wire_overview_section(d, whole, "money", in_money, out, f);
}

static int wire_overview_period(struct doc *d, struct json_t *whole, const char *name, bool counted,
	struct model_overview_period *out, struct fail *f)
{
	struct json_t *o = wire_member(whole, name);

	*out = (struct model_overview_period){ MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE };
	if (!counted)
		return 0;
	return o ? wire_fields(d, o, in_period, "an overview", out, f) : wire_bad(f, "an overview", name, "is missing");
}

static int wire_overview_type(struct doc *d, struct json_t *o, struct model_overview_type *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_overview_type, "instance_sku", TEXT, NEEDED, type),
		FIELD(model_overview_type, "type", TEXT, MAY, type),
		FIELD(model_overview_type, "gpus", INT, MAY, gpus),
		FIELD(model_overview_type, "hosts", INT, NEEDED, hosts),
		FIELD(model_overview_type, "hosts_up", INT, NEEDED, up),
		FIELD(model_overview_type, "sold", INT, NEEDED, sold),
		FIELD(model_overview_type, "on_sale", INT, NEEDED, on_sale),
		{ 0 },
	};
	static const struct wire_field day[] = {
		FIELD(model_overview_type, "sold_seconds", INT, NEEDED, day_sold),
		FIELD(model_overview_type, "on_sale_seconds", INT, NEEDED, day_on_sale),
		{ 0 },
	};
	static const struct wire_field week[] = {
		FIELD(model_overview_type, "sold_seconds", INT, NEEDED, week_sold),
		FIELD(model_overview_type, "on_sale_seconds", INT, NEEDED, week_on_sale),
		{ 0 },
	};
	struct json_t *in_day = wire_member(o, "day"), *in_week = wire_member(o, "week");
	int rc = wire_fields(d, o, fields, "a type", out, f);

	if (!rc && (!in_day || !in_week))
		rc = wire_bad(f, "a type", in_day ? "week" : "day", "is missing");
	rc = rc ? rc : wire_fields(d, in_day, day, "a type", out, f);
	return rc ? rc : wire_fields(d, in_week, week, "a type", out, f);
}

static int wire_overview_types(struct doc *d, struct json_t *whole, struct model_overview *out, struct fail *f)
{
	size_t count = wire_length(whole, "types");
	struct model_overview_type *list = wire_room(d, count ? count : 1, sizeof *list);
	int rc = list ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < count; i++) {
		struct json_t *o = wire_item(whole, "types", i);

		rc = o ? wire_overview_type(d, o, &list[i], f)
		       : wire_bad(f, "an overview", "types", "is no list of objects");
	}
	out->types = list;
	out->type_count = count;
	return rc;
}

static int wire_overview_away(struct doc *d, struct json_t *whole, struct model_overview *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_overview_away, "kind", TEXT, NEEDED, kind),
		FIELD(model_overview_away, "id", TEXT, NEEDED, id),
		FIELD(model_overview_away, "name", TEXT, MAY, name),
		FIELD(model_overview_away, "account", TEXT, MAY, account),
		FIELD(model_overview_away, "account_name", TEXT, MAY, account),
		FIELD(model_overview_away, "reason", TEXT, MAY, reason),
		FIELD(model_overview_away, "since", INT, MAY, since),
		FIELD(model_overview_away, "hosts", INT, NEEDED, hosts),
		FIELD(model_overview_away, "sold", INT, NEEDED, sold),
		{ 0 },
	};
	size_t count = wire_length(whole, "away");
	struct model_overview_away *list = wire_room(d, count ? count : 1, sizeof *list);
	int rc = list ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < count; i++) {
		struct json_t *o = wire_item(whole, "away", i);

		rc = o ? wire_fields(d, o, fields, "an overview", &list[i], f)
		       : wire_bad(f, "an overview", "away", "is no list of objects");
	}
	out->away = list;
	out->away_count = count;
	return rc;
}

int wire_overview(struct doc *d, struct model_overview *out, struct fail *f)
{
	struct model_overview made = { 0 };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an overview", f);
	int rc = o ? wire_overview_sections(d, o, &made, f) : -EPROTO;

	rc = rc ? rc : wire_overview_period(d, o, "today", made.counted, &made.today, f);
	rc = rc ? rc : wire_overview_period(d, o, "month", made.counted, &made.month, f);
	rc = rc ? rc : wire_overview_types(d, o, &made, f);
	rc = rc ? rc : wire_overview_away(d, o, &made, f);
	if (!rc)
		*out = made;
	return rc;
}
