/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/may/decide.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "market/when.h"
#include "marketd/api/render.h"
#include "marketd/policy/opa.h"

/* ---- What is known of an account --------------------------------------------------------- */

json_t *decide_facts(const struct account *a, int64_t now)
{
	json_t *kept = a->facts ? json_loads(a->facts, 0, NULL) : NULL, *out, *fact;
	const char *name;

	if (a->facts && !kept)
		return NULL;
	out = json_object();
	json_object_foreach(kept, name, fact)
	{
		const json_t *until = json_object_get(fact, "end_at");

		if (!json_is_integer(until) || json_integer_value(until) > now)
			json_object_set(out, name, json_object_get(fact, "value"));
	}
	json_decref(kept);
	return out;
}

/* Months of plans are chosen by decide_month(). */
static bool grant_pays(const struct engine *e, const struct grant *g)
{
	return !g->ended && !g->plan && g->until > engine_minute(e) && g->spent < g->max;
}

const struct grant *decide_grant(const struct engine *e, uint64_t account)
{
	const struct grant *g = engine_grant_after(e, account, 0);

	while (g && !grant_pays(e, g))
		g = engine_grant_after(e, account, g->id);
	return g;
}

const struct grant *decide_month(const struct engine *e, uint64_t account, uint64_t sku)
{
	const struct subscription *s = engine_subscription_of(e, account);
	const struct grant *g = s ? engine_grant(e, s->grant) : NULL;
	const struct tariff *t = s ? engine_tariff(e, s->plan) : NULL;

	return g && g->spent < g->max && (!t->sku || !sku || t->sku == sku) ? g : NULL;
}

/* What the account's tokens spent in this month of its own money, and what its plan paid. */
static json_t *decide_spent(const struct engine *e, uint64_t account)
{
	const struct subscription *s = engine_subscription_of(e, account);
	const struct grant *g = s ? engine_grant(e, s->grant) : NULL;
	int64_t sum = g ? g->spent : 0;
	char room[MONEY_TEXT];

	for (const struct token *t = engine_token_after(e, account, 0); t; t = engine_token_after(e, account, t->id))
		if (money_add(sum, engine_spent(e, &t->spending), &sum))
			sum = INT64_MAX;
	return json_string(money_wire(sum, room));
}

static json_t *decide_plan(const struct engine *e, uint64_t account)
{
	const struct subscription *s = engine_subscription_of(e, account);

	return render_text(s ? engine_tariff(e, s->plan)->name : NULL);
}

/* What the market knows itself goes over what the operator wrote down under the same name. */
static json_t *decide_account(const struct engine *e, const struct account *a, const struct grant *g, int64_t now)
{
	json_t *o = decide_facts(a, now);

	json_object_set_new(o, "id", render_id(IDENT_ACCOUNT, a->id));
	json_object_set_new(o, "name", render_text(a->name));
	json_object_set_new(o, "state", json_string(a->state == ACCOUNT_SUSPENDED ? "suspended" : "open"));
	json_object_set_new(o, "grant_active", json_boolean(g && !g->plan));
	json_object_set_new(o, "plan", decide_plan(e, a->id));
	json_object_set_new(o, "spent_month", decide_spent(e, a->id));
	return o;
}

/* ---- What it wants ----------------------------------------------------------------------- */

/* One form for orders and procurements. */
struct wanted {
	const char *action, *tier;
	uint64_t sku;
	int64_t start;                 /* a minute; 0: of a procurement, which goes on */
	int64_t nodes, minutes, price; /* price: micro-dollars per node-minute, the limit */
};

static void wanted_procurement(const struct engine *e, const struct event *ev, struct wanted *w)
{
	const struct procurement *p = ev->kind == EVENT_PROCUREMENT_CHANGE ? engine_procurement(e, ev->subject) : NULL;
	bool change = ev->kind == EVENT_PROCUREMENT_CHANGE;
	int32_t target = change ? ev->u.procurement_change.target : ev->u.procurement.target;
	int32_t window = change ? ev->u.procurement_change.window : ev->u.procurement.window;
	int64_t price = change ? ev->u.procurement_change.max_buy : ev->u.procurement.max_buy;
	uint64_t sku = change ? ev->u.procurement_change.sku : ev->u.procurement.sku;

	*w = (struct wanted){ .action = "procure",
		.tier = "reserved",
		.sku = p && !sku ? p->sku : sku,
		.nodes = p && target < 0 ? p->target : target,
		.minutes = p && window < 0 ? p->window : window,
		.price = p && price < 0 ? p->max_buy : price };
	if (w->nodes < 0) /* as many as the nodes that live: however many these will be */
		w->nodes = NODES_MAX;
}

/* Whether the policy has a say: who sells, cancels or turns a procurement off needs no permission. */
static bool wanted_of(const struct engine *e, const struct event *ev, struct wanted *w)
{
	if (ev->kind == EVENT_ORDER && ev->u.order.side == SIDE_BUY) {
		*w = (struct wanted){ .action = ev->u.order.flags & ORDER_EXTEND ? "extend" : "buy",
			.tier = ev->u.order.flags & ORDER_INTERRUPTIBLE ? "spot" : "reserved",
			.sku = ev->u.order.sku,
			.start = ev->u.order.start,
			.nodes = ev->u.order.nodes,
			.minutes = ev->u.order.end - ev->u.order.start,
			.price = ev->u.order.price };
		return true;
	}
	if ((ev->kind != EVENT_PROCUREMENT || !ev->u.procurement.enabled) &&
		(ev->kind != EVENT_PROCUREMENT_CHANGE || ev->u.procurement_change.enabled == 0))
		return false;
	wanted_procurement(e, ev, w);
	return true;
}

static json_t *wanted_json(const struct engine *e, const struct wanted *w)
{
	const struct sku *s = engine_sku(e, w->sku);
	char room[MONEY_TEXT], hours[32], start[WHEN_TEXT];
	int64_t total = 0;

	if (money_cost(w->price, w->nodes, w->minutes, &total))
		total = INT64_MAX;
	snprintf(hours, sizeof hours, "%.10g", (double)w->minutes / 60.0);
	return json_pack("{s:s, s:s, s:o, s:I, s:s, s:s*, s:o, s:s}", "action", w->action, "tier", w->tier, "sku",
		render_text(s ? s->alias : NULL), "nodes", (json_int_t)w->nodes, "hours", hours, "start",
		w->start > 0 ? when_iso(w->start * 60, start) : NULL, "price", render_price(w->price), "total",
		money_wire(total, room));
}

static json_t *grant_input(const struct grant *g)
{
	char room[MONEY_TEXT];

	return g ? json_pack("{s:o, s:o, s:s}", "id", render_id(IDENT_GRANT, g->id), "name", render_text(g->name),
			   "left", money_wire(g->max - g->spent, room))
		 : json_null();
}

/* ---- What is answered -------------------------------------------------------------------- */

static int decide_limits(const struct wanted *w, const struct decision *d, struct fail *why)
{
	char price[MONEY_TEXT];

	if (d->nodes && w->nodes > d->nodes)
		return fail_set(why, REASON_POLICY, "policy '%s' allows up to %d nodes", d->rule, (int)d->nodes);
	if (d->minutes && w->minutes > d->minutes)
		return fail_set(why, REASON_POLICY, "policy '%s' allows up to %" PRId64 " h %" PRId64 " min", d->rule,
			d->minutes / 60, d->minutes % 60);
	if (d->price && w->price > d->price && strcmp(w->action, "procure") == 0)
		return fail_set(why, REASON_POLICY, "policy '%s' allows a limit of up to %s dollars per node-hour",
			d->rule, price_wire(d->price, price));
	return 0;
}

/* Which grant the request names; "none": it wants to pay all of it. false: no such grant. */
static bool decide_named(const struct engine *e, const struct request *q, uint64_t account, const struct grant *month,
	const struct grant **g)
{
	const char *text = json_string_value(json_object_get(q->body, "np_grant"));
	uint64_t id = 0;

	*g = NULL;
	if (!text)
		*g = month && month->spent < month->units ? month : decide_grant(e, account);
	if (!text && !*g)
		*g = month; /* it may pay a part where the policy lowers the price */
	if (text && month &&
		(strcmp(month->name, text) == 0 || (ident_parse(IDENT_GRANT, text, &id) && id == month->id)))
		*g = month;
	if (*g || !text || strcmp(text, "none") == 0)
		return true;
	for (const struct grant *x = engine_grant_after(e, account, 0); x; x = engine_grant_after(e, account, x->id))
		if (grant_pays(e, x) &&
			(strcmp(x->name, text) == 0 || (ident_parse(IDENT_GRANT, text, &id) && id == x->id)))
			*g = x;
	return *g != NULL;
}

/* An order pays no more than the policy allows, whatever limit was typed. */
static void decide_caps(struct event *ev, struct verdict *v)
{
	v->capped = ev->kind == EVENT_ORDER && v->decision.price && ev->u.order.price > v->decision.price;
	if (v->capped)
		ev->u.order.price = v->decision.price;
}

/* A grant pays for what fills at once: what rests pays in full. */
static void decide_pays(struct event *ev, struct verdict *v)
{
	int32_t part = RATE_FULL - v->decision.rate_ppm;

	if (ev->kind != EVENT_ORDER || (ev->u.order.flags & ORDER_STANDING) ||
		(!part && !(v->grant && v->grant->plan && v->grant->spent < v->grant->units)))
		v->grant = NULL;
	if (ev->kind != EVENT_ORDER)
		return;
	ev->u.order.grant = v->grant ? v->grant->id : 0;
	ev->u.order.granted = v->grant ? part : 0;
}

/* Whose token asks; null: it is the account's own. */
static json_t *decide_person(const struct engine *e, const struct request *q)
{
	const struct token *t = engine_token(e, q->token);
	const struct person *p = t ? engine_person(e, t->person) : NULL;

	return p ? json_pack("{s:o, s:o}", "id", render_id(IDENT_PERSON, p->id), "roles", render_roles(p->roles))
		 : json_null();
}

int decide_ask(struct api *api, const struct request *q, const struct account *a, json_t *request, struct verdict *v,
	struct fail *why)
{
	int64_t now = market_now(api->market);
	char when[WHEN_TEXT];

	v->decision = (struct decision){ .allow = true, .rate_ppm = RATE_FULL };
	if (!api->policy && !api->opa) {
		json_decref(request);
		return 0;
	}
	v->input = json_pack("{s:o, s:o, s:o, s:o, s:s}", "account",
		decide_account(market_engine(api->market), a, v->grant, now), "person",
		decide_person(market_engine(api->market), q), "request", request, "grant", grant_input(v->grant),
		"time", when_iso(now, when));
	if (!v->input)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	if (!api->opa) {
		rules_decide(api->policy, v->input, &v->decision);
	} else if (!opa_ask(api->opa, v->input, api->now_ms, &v->decision)) {
		api->asking = true;
		return fail_set(why, REASON_UNAVAILABLE,
			"the market's policy server has not answered yet; nothing was done");
	}
	if (v->decision.allow)
		return 0;
	return fail_set(why, REASON_POLICY, "%s (policy '%s')",
		*v->decision.reason ? v->decision.reason : reason_row(REASON_POLICY)->text, v->decision.rule);
}

/* The answer where this grant (NULL: none) would pay, and the order as that has it. */
static int decide_by(struct api *api, const struct request *q, const struct grant *g, struct event *ev,
	struct verdict *v, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	struct wanted w;
	int rc;

	*v = (struct verdict){ .grant = g };
	wanted_of(e, ev, &w);
	rc = decide_ask(api, q, engine_account(e, ev->account), wanted_json(e, &w), v, why);
	if (rc)
		return rc;
	decide_caps(ev, v);
	decide_pays(ev, v);
	return decide_limits(&w, &v->decision, why);
}

static bool decide_short(const struct engine *e, const struct event *ev)
{
	struct quote quote;

	return ev->kind == EVENT_ORDER && ev->u.order.grant && engine_quote(e, ev, &quote, NULL) == REASON_FUNDS;
}

/*
 * The oldest grant has too little for its part: the next one pays that has enough, by what the policy says of that one.
 * Where there is none, the oldest stays, which the refusal names. 0, or why there is no answer yet.
 */
static int decide_next(struct api *api, const struct request *q, const struct event *asked, struct event *ev,
	struct verdict *v, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	const struct grant *g = v->grant;

	for (uint64_t after = g->plan ? 0 : g->id; (g = engine_grant_after(e, ev->account, after)); after = g->id) {
		struct event other = *asked;
		struct fail denied = { 0 };
		struct verdict by = { 0 };
		int rc = grant_pays(e, g) ? decide_by(api, q, g, &other, &by, &denied) : REASON_POLICY;

		if (rc == 0 && by.grant && !decide_short(e, &other)) {
			decide_release(v);
			*v = by;
			*ev = other;
			return 0;
		}
		decide_release(&by);
		if (api->asking)
			return fail_set(why, rc, "%s", denied.text);
	}
	return 0;
}

int decide(struct api *api, const struct request *q, struct event *ev, struct verdict *v, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	const struct grant *g = NULL, *month = NULL;
	struct event asked;
	struct wanted w;
	int rc;

	ev->token = api_spender(e, q);
	asked = *ev;
	*v = (struct verdict){ .decision = { .allow = true, .rate_ppm = RATE_FULL } };
	if (!engine_account(e, ev->account) || !wanted_of(e, ev, &w))
		return 0;
	if (ev->kind == EVENT_ORDER)
		month = decide_month(e, ev->account, w.sku);
	if (!month && !api->policy && !api->opa)
		return 0;
	if (!decide_named(e, q, ev->account, month, &g))
		return fail_set(why, REASON_NOT_FOUND,
			"the account has no such grant that is active; 'nanopod grants' lists them");
	rc = decide_by(api, q, g, ev, v, why);
	if (rc || json_object_get(q->body, "np_grant") || !decide_short(e, ev))
		return rc;
	return decide_next(api, q, &asked, ev, v, why);
}

void decide_release(struct verdict *v)
{
	json_decref(v->input);
	v->input = NULL;
}

int decide_apply(struct api *api, const struct request *q, struct event *ev, struct fail *why)
{
	struct verdict v;
	int rc = decide(api, q, ev, &v, why);

	decide_release(&v);
	return rc;
}
