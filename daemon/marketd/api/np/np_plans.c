/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what an account pays a month, and what that pays for. The operator makes them; an account has one at most. */
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

/* ---- What they are ------------------------------------------------------------------------- */

static json_t *plan_type(const struct engine *e, const struct tariff *t)
{
	const struct sku *s = engine_sku(e, t->sku);

	return render_text(s ? s->alias : NULL);
}

/* What it would cost this account now; where that is nothing more, it begins with the next month. */
static void plan_quote(const struct engine *e, json_t *o, uint64_t account, const struct tariff *t)
{
	const struct subscription *s = engine_subscription_of(e, account);
	int64_t now = account ? engine_plan_fee(e, account, t) : 0;
	bool later = s && s->plan != t->id && !engine_plan_raises(e, account, t);

	render_money(o, "now", now);
	json_object_set_new(o, "begin_at", json_integer(60 * (later ? engine_next_month(e) : engine_minute(e))));
}

static json_t *tariff_json(const struct engine *e, uint64_t account, const struct tariff *t)
{
	const struct account *a = engine_account(e, t->account);
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:I}", "object", "plan", "id",
		render_id(IDENT_PLAN, t->id), "name", render_text(t->name), "seller",
		render_id(IDENT_ACCOUNT, t->account), "seller_name", render_text(a ? a->name : NULL), "type",
		plan_type(e, t), "state", t->state == TARIFF_OPEN ? "open" : "closed", "created_at",
		(json_int_t)t->created_at);

	render_money(o, "fee", t->fee);
	render_money(o, "included", t->included);
	render_money(o, "rates", t->rates);
	plan_quote(e, o, account, t);
	return o;
}

/* By id or name. NULL: refused. */
static const struct tariff *plan_find(struct api *api, const struct request *q, struct reply *r, const char *text)
{
	const struct engine *e = market_engine(api->market);
	const struct tariff *t = NULL;
	uint64_t id;

	if (ident_parse(IDENT_PLAN, text, &id))
		t = engine_tariff(e, id);
	t = t ? t : engine_tariff_named(e, text);
	if (!t)
		api_refuse(q, r, REASON_NOT_FOUND, "plan", "no plan '%.80s'; 'nanopod plan list' shows them", text);
	return t;
}

static int list_plans(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();
	const struct tariff *t;

	for (t = engine_tariff_after(e, 0, 0); t; t = engine_tariff_after(e, 0, t->id))
		json_array_append_new(data, tariff_json(e, q->account, t));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

/* ---- The operator makes and changes them ----------------------------------------------------- */

static int plan_apply(struct api *api, const struct request *q, struct reply *r, struct event *ev, int status)
{
	const struct engine *e = market_engine(api->market);
	const char *state = body_text(q->body, "state");
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	if (!body_money(q, r, q->body, "fee_dollars", &ev->u.plan.fee) ||
		!body_money(q, r, q->body, "included_dollars", &ev->u.plan.included) ||
		!body_money(q, r, q->body, "rates_dollars", &ev->u.plan.rates))
		return r->status;
	if (state)
		ev->u.plan.state = strcmp(state, "closed") == 0 ? TARIFF_CLOSED : TARIFF_OPEN;
	rc = api_apply(api, q, ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, status,
		tariff_json(e, q->account, engine_tariff(e, ev->subject ? ev->subject : effects_made(did))));
}

static int post_plan(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *by = body_text(q->body, "seller"), *type = body_text(q->body, "type");
	const struct account *a = np_find_account(e, by);
	const struct sku *s = type ? engine_sku_named(e, type) : NULL;
	struct event ev = { .kind = EVENT_PLAN, .name = body_text(q->body, "name") };

	if (!a)
		return api_refuse(q, r, REASON_NOT_FOUND, "seller", "no account '%.255s'", by);
	if (type && !s)
		return api_refuse(q, r, REASON_NOT_FOUND, "type", "no type '%.80s'", type);
	ev.account = a->id;
	ev.u.plan.sku = s ? s->id : 0;
	return plan_apply(api, q, r, &ev, 201);
}

static int patch_plan(struct api *api, const struct request *q, struct reply *r)
{
	const struct tariff *t = plan_find(api, q, r, q->parts[0]);
	struct event ev = { .kind = EVENT_PLAN };

	if (!t)
		return r->status;
	ev.account = t->account;
	ev.subject = t->id;
	ev.u.plan.sku = t->sku;
	ev.u.plan.fee = t->fee;
	ev.u.plan.included = t->included;
	ev.u.plan.rates = t->rates;
	ev.u.plan.state = (int32_t)t->state;
	return plan_apply(api, q, r, &ev, 200);
}

/* ---- What an account has ---------------------------------------------------------------------- */

static json_t *subscription_json(const struct engine *e, uint64_t account)
{
	const struct subscription *s = engine_subscription_of(e, account);
	const struct tariff *t = s ? engine_tariff(e, s->plan) : NULL, *next = s ? engine_tariff(e, s->next) : NULL;
	const struct grant *g = s ? engine_grant(e, s->grant) : NULL;
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o}", "object", "subscription", "plan",
		render_text(t ? t->name : NULL), "next", render_text(next ? next->name : NULL), "type",
		t ? plan_type(e, t) : json_null(), "end_at", g ? render_minute(g->until) : json_null());
	int64_t used = g ? (g->spent < g->units ? g->spent : g->units) : 0, fee;
	int32_t lapses;

	fee = engine_plan_next_fee(e, account, &lapses);
	render_money(o, "fee", s ? s->fee : 0);
	render_money(o, "next_fee", fee);
	json_object_set_new(o, "next_reason", render_reason(lapses));
	render_money(o, "included", g ? g->units : 0);
	render_money(o, "used", used);
	render_money(o, "left", g ? g->units - used : 0);
	render_money(o, "rates_left", g ? g->max - g->units - (g->spent - used) : 0);
	return o;
}

static int get_subscription(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;

	return api_whose(q, r, &account) ? api_json(q, r, 200, subscription_json(market_engine(api->market), account))
					 : r->status;
}

/* What was shown to the customer is the most that it costs. */
static int put_subscription(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *name = body_text(q->body, "plan");
	struct event ev = { .kind = EVENT_SUBSCRIPTION };
	const struct tariff *t = NULL;
	int64_t most = INT64_MAX;
	struct fail why = { 0 };
	int rc;

	if (!api_whose(q, r, &ev.account) || !body_money(q, r, q->body, "max_dollars", &most))
		return r->status;
	if (name && !(t = plan_find(api, q, r, name)))
		return r->status;
	if (t && engine_plan_fee(e, ev.account, t) > most)
		return api_refuse(q, r, REASON_OVER_MAX_TOTAL, "max_dollars", "plan '%.80s' costs more by now",
			t->name);
	ev.subject = t ? t->id : 0;
	ev.token = api_spender(e, q);
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, "plan", &why) : api_json(q, r, 200, subscription_json(e, ev.account));
}

/* ---- Shapes ------------------------------------------------------------------------------------ */

#define PLAN_DOLLARS(name, flags, note) \
	{ \
		name, SCHEMA_REF, flags, "np.Dollars", 0, 0, note \
	}
#define PLAN_MICROS(name) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL \
	}
#define PLAN_MONEY(name, note) PLAN_DOLLARS(name "_dollars", FIELD_REQUIRED, note), PLAN_MICROS(name "_micros")

static const struct schema_field plan_request[] = {
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, NULL },
	{ "seller", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES,
		"id or name of the account that gets the fee, and pays what is included" },
	{ "type", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "whose node time it pays; null: of all types" },
	PLAN_DOLLARS("fee_dollars", FIELD_REQUIRED, "a month"),
	PLAN_DOLLARS("included_dollars", FIELD_NULL, "node time that it pays a month"),
	PLAN_DOLLARS("rates_dollars", FIELD_NULL, "what it pays a month of prices that the policy lowers, beyond that"),
	{ "state", SCHEMA_ENUM, FIELD_NULL, "open|closed", 0, 0, "closed: it takes no new subscriptions" },
	{ 0 },
};

static const struct schema_field plan_patch[] = {
	PLAN_DOLLARS("fee_dollars", FIELD_NULL, "of months that are paid later"),
	PLAN_DOLLARS("included_dollars", FIELD_NULL, NULL),
	PLAN_DOLLARS("rates_dollars", FIELD_NULL, NULL),
	{ "state", SCHEMA_ENUM, FIELD_NULL, "open|closed", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field plan_fields[] = {
	OBJECT_IS("plan"),
	ID_OF("plan"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "seller", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "seller_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "type", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: all types" },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "open|closed", 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	TIME("begin_at", FIELD_REQUIRED),
	PLAN_MONEY("fee", "a month"),
	PLAN_MONEY("included", "node time that it pays a month"),
	PLAN_MONEY("rates", "what it pays a month of prices that the policy lowers, beyond that"),
	PLAN_MONEY("now", "what the account would pay for the rest of this month"),
	{ 0 },
};

static const struct schema_field plan_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Plan", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field subscription_request[] = {
	{ "plan", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 1, NAME_BYTES,
		"id or name; null: none from the next month on" },
	PLAN_DOLLARS("max_dollars", FIELD_NULL, "refuse where the rest of this month costs more"),
	{ 0 },
};

static const struct schema_field subscription_fields[] = {
	OBJECT_IS("subscription"),
	{ "plan", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: none" },
	{ "next", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "that of the next month" },
	{ "type", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: all types" },
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	PLAN_MONEY("fee", "of the whole month"),
	PLAN_MONEY("next_fee", "what the next month costs; 0 where none follows"),
	{ "next_reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"why, as things are now, the plan lapses with this month and nothing is taken" },
	PLAN_MONEY("included", "of what was left of the month when it was paid"),
	PLAN_MONEY("used", NULL),
	PLAN_MONEY("left", NULL),
	PLAN_MONEY("rates_left", NULL),
	{ 0 },
};

const struct schema schema_np_plans[] = {
	OBJECT("np.PlanRequest", plan_request),
	OBJECT("np.PatchPlanRequest", plan_patch),
	OBJECT("np.Plan", plan_fields),
	OBJECT("np.PlanList", plan_list),
	OBJECT("np.SubscriptionRequest", subscription_request),
	OBJECT("np.Subscription", subscription_fields),
	{ 0 },
};

const struct route api_np_plan_routes[] = {
	{ METHOD_GET, "/np/v1/plans", list_plans, SCOPE_READ, 0, "List plans, and what each costs the account now",
		NULL, NULL, "np.PlanList", 200 },
	{ METHOD_POST, "/np/v1/plans", post_plan, SCOPE_ADMIN, ROUTE_CREATES,
		"Make a plan, which pays node time for a fee a month", NULL, "np.PlanRequest", "np.Plan", 201 },
	{ METHOD_PATCH, "/np/v1/plans/{plan}", patch_plan, SCOPE_ADMIN, 0,
		"Change a plan, for months that are paid later", NULL, "np.PatchPlanRequest", "np.Plan", 200 },
	{ METHOD_GET, "/np/v1/plan", get_subscription, SCOPE_READ, 0, "Get the account's plan", NULL, NULL,
		"np.Subscription", 200 },
	{ METHOD_PUT, "/np/v1/plan", put_subscription, SCOPE_TRADE, 0, "Subscribe to a plan, or cancel it", NULL,
		"np.SubscriptionRequest", "np.Subscription", 200 },
	{ 0 },
};
