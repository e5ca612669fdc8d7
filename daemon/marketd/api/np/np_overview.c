/* SPDX-License-Identifier: Apache-2.0 */
/* GET /np/v1/overview: the market in numbers, for its operator. */
#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/np/overview.h"
#include "marketd/api/render.h"
#include "marketd/api/takings.h"

/* ---- Rendering -------------------------------------------------------------------------- */

static json_t *overview_time_json(const struct overview_time *t)
{
	return json_pack("{s:I, s:I}", "sold_seconds", (json_int_t)(60 * t->sold), "on_sale_seconds",
		(json_int_t)(60 * t->on_sale));
}

static json_t *overview_types_json(const struct overview *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->type_count; i++) {
		const struct overview_type *t = &o->types[i];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:i, s:I, s:I, s:I, s:I, s:o, s:o}", "instance_sku",
				render_id(IDENT_SKU, t->sku->id), "type", render_text(t->sku->alias), "gpus",
				(int)t->sku->gpus, "hosts", (json_int_t)t->hosts, "hosts_up", (json_int_t)t->up, "sold",
				(json_int_t)t->now.sold, "on_sale", (json_int_t)t->now.on_sale, "day",
				overview_time_json(&t->day), "week", overview_time_json(&t->week)));
	}
	return list;
}

static json_t *overview_away_json(const struct engine *e, const struct overview *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->away_count; i++) {
		const struct overview_away *x = &o->away[i];
		const struct account *a = engine_account(e, x->agent ? x->agent->account : x->host->account);

		json_array_append_new(list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "kind",
				x->agent ? "machine" : "host", "id",
				x->agent ? render_id(IDENT_AGENT, x->agent->id) : render_id(IDENT_HOST, x->host->id),
				"name", render_text(x->agent ? x->agent->name : x->host->name), "account",
				render_id(IDENT_ACCOUNT, a->id), "account_name", render_text(a->name), "since",
				x->since ? json_integer(x->since) : json_null(), "hosts", (json_int_t)x->hosts, "sold",
				(json_int_t)x->sold, "reason", render_text(x->host ? x->host->why : NULL)));
	}
	return list;
}

static json_t *overview_sums(const struct takings_sum *s)
{
	json_t *o = json_object();

	render_money(o, "turnover", s->turnover);
	render_money(o, "fees", s->fees);
	render_money(o, "credited", s->credited);
	json_object_set_new(o, "node_seconds", json_integer(60 * s->minutes));
	return o;
}

static json_t *overview_money_json(const struct overview *o)
{
	json_t *money = json_object();
	int64_t hour;

	if (money_mul(o->per_minute, 60, &hour) != 0)
		hour = INT64_MAX;
	render_money(money, "available", o->available);
	render_money(money, "held", o->held);
	render_money(money, "escrow", o->escrow);
	render_money(money, "running_per_hour", hour);
	return money;
}

static int get_overview(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct takings_sum today, month;
	struct fail why = { 0 };
	struct overview o;
	bool counted;
	json_t *body;
	int rc = takings_read(api, &today, &month, &counted, &why);

	if (rc)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	if (overview_count(api, &o))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
	body = json_pack("{s:s, s:I, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, "
			 "s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I}, s:o, s:b, s:o, s:o, s:o, s:o, s:I}",
		"object", "overview", "now", (json_int_t)market_now(api->market), "accounts", "total",
		(json_int_t)o.accounts, "suspended", (json_int_t)o.suspended, "buying", (json_int_t)o.buying, "selling",
		(json_int_t)o.selling, "hosts", "up", (json_int_t)o.hosts.up, "draining", (json_int_t)o.hosts.draining,
		"down", (json_int_t)o.hosts.down, "silent", (json_int_t)o.hosts.silent, "machines", "up",
		(json_int_t)o.machines.up, "silent", (json_int_t)o.machines.silent, "joined",
		(json_int_t)o.machines.joined, "nodes", "running", (json_int_t)o.nodes.running, "starting",
		(json_int_t)o.nodes.starting, "pending", (json_int_t)o.nodes.pending, "longest_start_seconds",
		(json_int_t)o.nodes.longest_start, "orders", "buy", (json_int_t)o.buys, "sell", (json_int_t)o.sells,
		"money", overview_money_json(&o), "counted", (int)counted, "today",
		counted ? overview_sums(&today) : json_null(), "month", counted ? overview_sums(&month) : json_null(),
		"types", overview_types_json(&o), "away", overview_away_json(e, &o), "away_total",
		(json_int_t)o.away_total);
	overview_release(&o);
	return api_json(q, r, 200, body);
}

const struct route api_np_overview_routes[] = {
	{ METHOD_GET, "/np/v1/overview", get_overview, SCOPE_ADMIN, 0,
		"Get the market in numbers: accounts, hosts, what is sold, money, who is silent", NULL, NULL,
		"np.Overview", 200 },
	{ 0 },
};

/* ---- Shapes ----------------------------------------------------------------------------- */

#define OVERVIEW_INT(name, about) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, about \
	}
#define OVERVIEW_TEXT(name, flags, about) \
	{ \
		name, SCHEMA_STRING, FIELD_REQUIRED | (flags), NULL, 0, 0, about \
	}
#define OVERVIEW_REF(name, flags, of) \
	{ \
		name, SCHEMA_REF, FIELD_REQUIRED | (flags), of, 0, 0, NULL \
	}
#define OVERVIEW_MONEY(name, about) OVERVIEW_REF(name "_dollars", 0, "np.Dollars"), OVERVIEW_INT(name "_micros", about)

static const struct schema_field overview_accounts[] = {
	OVERVIEW_INT("total", NULL),
	OVERVIEW_INT("suspended", NULL),
	OVERVIEW_INT("buying", "pay for node time now"),
	OVERVIEW_INT("selling", "have hosts"),
	{ 0 },
};

static const struct schema_field overview_hosts[] = {
	OVERVIEW_INT("up", NULL),
	OVERVIEW_INT("draining", "of those that are up"),
	OVERVIEW_INT("down", NULL),
	OVERVIEW_INT("silent", "their machine is"),
	{ 0 },
};

static const struct schema_field overview_machines[] = {
	OVERVIEW_INT("up", NULL),
	OVERVIEW_INT("silent", NULL),
	OVERVIEW_INT("joined", "never connected"),
	{ 0 },
};

static const struct schema_field overview_nodes[] = {
	OVERVIEW_INT("running", NULL),
	OVERVIEW_INT("starting", NULL),
	OVERVIEW_INT("pending", "without a host: not paid, or not yet their time"),
	OVERVIEW_INT("longest_start_seconds", "how long the most overdue node should have been running"),
	{ 0 },
};

static const struct schema_field overview_orders[] = {
	OVERVIEW_INT("buy", "open ones"),
	OVERVIEW_INT("sell", NULL),
	{ 0 },
};

static const struct schema_field overview_money_fields[] = {
	OVERVIEW_MONEY("available", "of all accounts, also the next two"),
	OVERVIEW_MONEY("held", NULL),
	OVERVIEW_MONEY("escrow", NULL),
	OVERVIEW_MONEY("running_per_hour", "what running leases cost"),
	{ 0 },
};

static const struct schema_field overview_period[] = {
	OVERVIEW_MONEY("turnover", "what sellers were paid, before fees"),
	OVERVIEW_MONEY("fees", "what the market got of it"),
	OVERVIEW_MONEY("credited", "by the operator, less what he took back"),
	OVERVIEW_INT("node_seconds", "that passed in leases"),
	{ 0 },
};

static const struct schema_field overview_span[] = {
	OVERVIEW_INT("sold_seconds", "of nodes"),
	OVERVIEW_INT("on_sale_seconds", "of hosts that are up"),
	{ 0 },
};

static const struct schema_field overview_type[] = {
	OVERVIEW_TEXT("instance_sku", 0, NULL),
	OVERVIEW_TEXT("type", FIELD_NULL, NULL),
	OVERVIEW_INT("gpus", "of a node"),
	OVERVIEW_INT("hosts", NULL),
	OVERVIEW_INT("hosts_up", NULL),
	OVERVIEW_INT("sold", "nodes, now"),
	OVERVIEW_INT("on_sale", "nodes, now, of hosts that are up"),
	OVERVIEW_REF("day", 0, "np.OverviewSpan"),
	OVERVIEW_REF("week", 0, "np.OverviewSpan"),
	{ 0 },
};

static const struct schema_field overview_away_fields[] = {
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED, "machine|host", 0, 0,
		"a machine that is silent, or a host that is down for another reason" },
	OVERVIEW_TEXT("id", 0, NULL),
	OVERVIEW_TEXT("name", FIELD_NULL, NULL),
	OVERVIEW_TEXT("account", 0, NULL),
	OVERVIEW_TEXT("account_name", FIELD_NULL, NULL),
	TIME("since", FIELD_REQUIRED | FIELD_NULL),
	OVERVIEW_INT("hosts", "of the machine"),
	OVERVIEW_INT("sold", "of those, now"),
	OVERVIEW_TEXT("reason", FIELD_NULL, "of a host"),
	{ 0 },
};

static const struct schema_field overview_fields[] = {
	OBJECT_IS("overview"),
	TIME("now", FIELD_REQUIRED),
	OVERVIEW_REF("accounts", 0, "np.OverviewAccounts"),
	OVERVIEW_REF("hosts", 0, "np.OverviewHosts"),
	OVERVIEW_REF("machines", 0, "np.OverviewMachines"),
	OVERVIEW_REF("nodes", 0, "np.OverviewNodes"),
	OVERVIEW_REF("orders", 0, "np.OverviewOrders"),
	OVERVIEW_REF("money", 0, "np.OverviewMoney"),
	{ "counted", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0,
		"false: 'today' and 'month' are not known yet; each answer counts on, so ask again" },
	OVERVIEW_REF("today", FIELD_NULL, "np.OverviewPeriod"),
	OVERVIEW_REF("month", FIELD_NULL, "np.OverviewPeriod"),
	{ "types", SCHEMA_ARRAY, FIELD_REQUIRED, "np.OverviewType", 0, 0, NULL },
	{ "away", SCHEMA_ARRAY, FIELD_REQUIRED, "np.OverviewAway", 0, OVERVIEW_AWAY, "the longest away first" },
	OVERVIEW_INT("away_total", NULL),
	{ 0 },
};

const struct schema schema_np_overview[] = {
	{ "np.OverviewAccounts", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_accounts, NULL },
	{ "np.OverviewHosts", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_hosts, NULL },
	{ "np.OverviewMachines", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_machines, NULL },
	{ "np.OverviewNodes", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_nodes, NULL },
	{ "np.OverviewOrders", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_orders, NULL },
	{ "np.OverviewMoney", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_money_fields, NULL },
	{ "np.OverviewPeriod", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_period, "in UTC" },
	{ "np.OverviewSpan", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_span, "the next 24 hours, or seven days" },
	{ "np.OverviewType", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_type, NULL },
	{ "np.OverviewAway", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_away_fields, NULL },
	{ "np.Overview", SCHEMA_OBJECT, NULL, 0, 0, NULL, overview_fields, NULL },
	{ 0 },
};
