/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first questions of a client: which market this is, whose token it has, the balance, the policy.
 * And the clock, which a test can set.
 */
#include "marketd/api/np/np.h"

#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/market_id.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"
#include "marketd/stripe/checkout.h"

/* X(bit, word) */
#define SCOPES(X) \
	X(READ, "read") \
	X(TRADE, "trade") X(NODES, "nodes") X(TOKENS, "tokens") X(HOST, "host") X(ADMIN, "admin") X(JOIN, "join")

json_t *np_scopes(int32_t scopes)
{
	json_t *list = json_array();

#define SCOPE_X(bit, word) if (scopes & SCOPE_##bit) json_array_append_new(list, json_string(word));
	SCOPES(SCOPE_X)
#undef SCOPE_X
	return list;
}

int32_t np_scopes_read(const json_t *list)
{
	int32_t scopes = 0;
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
#define SCOPE_X(bit, word) if (strcmp(json_string_value(item), word) == 0) scopes |= SCOPE_##bit;
		SCOPES(SCOPE_X)
#undef SCOPE_X
	}
	return scopes;
}

const char *np_account_state(const struct account *a)
{
	return a->state == ACCOUNT_SUSPENDED ? "suspended" : "open";
}

int32_t np_allowed(const struct request *q)
{
	const int32_t all = SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN |
		SCOPE_JOIN;

	if (q->local || (q->scopes & SCOPE_ADMIN))
		return all;
	return q->scopes & SCOPE_HOST ? q->scopes | SCOPE_JOIN : q->scopes; /* the owner of hosts lets machines join */
}

bool np_may(const struct request *q, struct reply *r, int32_t scope)
{
	if (np_allowed(q) & scope)
		return true;
	api_refuse(q, r, REASON_FORBIDDEN, NULL, "%s",
		scope == SCOPE_NODES ? "this makes or ends an instance; the token also needs the scope 'nodes'"
				     : "the token lacks the scope for this");
	return false;
}

bool np_spends_freely(const struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct token *t = engine_token(e, api_spender(e, q));
	const struct person *x = t ? engine_person(e, t->person) : NULL;

	if (!(t && t->spending.capped) && !(x && x->spending.capped))
		return true;
	api_refuse(q, r, REASON_FORBIDDEN, NULL,
		"the hours of volumes count against no cap, so a token or person with a cap makes none: an owner of "
		"the "
		"account can, or can lift the cap");
	return false;
}

bool np_uncapped(const struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct token *t = engine_token(e, api_spender(e, q));

	if (!t || !t->spending.capped)
		return true;
	api_refuse(q, r, REASON_FORBIDDEN, NULL,
		"a token with a cap makes no tokens and sets no caps, nor does it invite: use another token of an "
		"owner");
	return false;
}

bool np_minute(const struct request *q, struct reply *r, const char *field, int64_t seconds, int64_t *minute)
{
	if (seconds < 0 || seconds / 60 > MINUTE_MAX || seconds % 60) {
		api_refuse(q, r, REASON_INVALID, field,
			"'%s' must be Unix seconds on a whole minute (a multiple of 60)", field);
		return false;
	}
	*minute = seconds / 60;
	return true;
}

static json_t *policy_json(const struct engine *e)
{
	const struct policy *p = engine_policy(e);
	int notice = p->notice_minutes < 2 ? 2 : (int)p->notice_minutes;
	int drain = p->drain_notice_minutes ? (int)p->drain_notice_minutes : DRAIN_NOTICE;

	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "fee_bps", (int)p->fee_bps, "release_bps",
		(int)p->release_bps, "settle_minutes", (int)p->settle_minutes, "notice_minutes", notice,
		"drain_notice_minutes", drain < notice ? notice : drain, "volume_grace_minutes",
		p->volume_grace_minutes ? (int)p->volume_grace_minutes : VOLUME_GRACE);
}

static json_t *np_key(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static int get_market(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	char id[MARKET_TEXT];

	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:s, s:s, s:[s,s,s,s], s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:o}", "object",
			"market", "id", np_key(market_id(e, id)), "name", api->name ? api->name : "nanopod", "version",
			PACKAGE_VERSION, "apis", "v2", "np/v1", "v1", "v0", "now", (json_int_t)market_now(api->market),
			"minute", (json_int_t)engine_minute(e), "test_clock", (int)api->test_clock, "topups",
			(int)stripe_sells(api->stripe), "personhood", api->passport != NULL, "policy", policy_json(e),
			"tls_public_key", np_key(api->keys.now), "tls_next_public_key", np_key(api->keys.next)));
}

json_t *np_token_whose(const struct engine *e, const struct token *t, int32_t scopes)
{
	json_t *o;

	if (!t)
		return json_null();
	o = json_pack("{s:o, s:o, s:o, s:o}", "id", render_id(IDENT_TOKEN, t->id), "name", render_text(t->name),
		"scopes", np_scopes(scopes), "expires_at", t->expires ? json_integer(t->expires) : json_null());
	render_spending(e, o, &t->spending);
	return o;
}

static int get_whoami(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, q->account);
	const struct person *x = engine_person(e, q->person);
	const struct token *t = engine_token(e, q->token);

	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "object", "whoami", "account_id",
			a ? render_id(IDENT_ACCOUNT, a->id) : json_null(), "account_name",
			render_text(a ? a->name : NULL), "state", a ? json_string(np_account_state(a)) : json_null(),
			"token", np_token_whose(e, t, q->scopes), "local", (int)q->local, "person",
			x ? render_person(e, x) : json_null(), "debt", np_debt(api, a)));
}

json_t *np_balance(const struct engine *e, const struct account *a)
{
	json_t *o = json_pack("{s:s}", "object", "balance");

	render_money(o, "available", a->available);
	render_money(o, "held", a->held);
	render_money(o, "held_payouts", a->asked.micros);
	render_money(o, "escrow", a->escrow);
	render_money(o, "unsettled", engine_unsettled(e, a->id));
	render_money(o, "floor", a->floor);
	return o;
}

static int np_get_balance(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *o;
	uint64_t id;
	int64_t burn;

	if (!api_whose(q, r, &id))
		return r->status;
	o = np_balance(e, engine_account(e, id));
	if (money_mul(engine_burn(e, id), 60, &burn) != 0)
		burn = INT64_MAX;
	json_object_set_new(o, "burn_dollars_per_hour", json_string(money_wire(burn, (char[MONEY_TEXT]){ 0 })));
	json_object_set_new(o, "burn_micros_per_hour", json_integer(burn));
	json_object_set_new(o, "debt", np_debt(api, engine_account(e, id)));
	return api_json(q, r, 200, o);
}

static int get_policy(struct api *api, const struct request *q, struct reply *r)
{
	json_t *o = policy_json(market_engine(api->market));

	json_object_set_new(o, "object", json_string("policy"));
	return api_json(q, r, 200, o);
}

static int np_put_policy(struct api *api, const struct request *q, struct reply *r)
{
	const struct policy *now = engine_policy(market_engine(api->market));
	struct event ev = { .kind = EVENT_POLICY,
		.u.policy = {
			.fee_bps = (int32_t)body_int(q->body, "fee_bps", now->fee_bps),
			.release_bps = (int32_t)body_int(q->body, "release_bps", now->release_bps),
			.settle_minutes = (int32_t)body_int(q->body, "settle_minutes", now->settle_minutes),
			.notice_minutes = (int32_t)body_int(q->body, "notice_minutes", now->notice_minutes),
			.drain_notice_minutes = (int32_t)body_int(q->body, "drain_notice_minutes",
				now->drain_notice_minutes),
			.volume_grace_minutes = (int32_t)body_int(q->body, "volume_grace_minutes",
				now->volume_grace_minutes),
		} };
	struct fail why = { 0 };
	int rc = api_apply(api, q, &ev, NULL, &why);

	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	return get_policy(api, q, r);
}

enum { CLOCK_STEP_MAX = 400 * 24 * 3600 };

/* The test clock only goes forward, like the real one. */
static int set_clock(struct api *api, const struct request *q, struct reply *r)
{
	int64_t at = body_int(q->body, "at", 0), now = market_now(api->market);
	struct fail why = { 0 };
	int rc;

	if (!api->test_clock)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL,
			"this market uses the real time; it was not started with --test-clock");
	if (at < now)
		return api_refuse(q, r, REASON_PAST, "at", "the clock is at %lld and cannot go back", (long long)now);
	if (now > 0 && at - now > CLOCK_STEP_MAX)
		return api_refuse(q, r, REASON_INVALID, "at", "a step may be up to 400 days");
	rc = api->watch ? watch_time(api->watch, api->market, api->now_ms, at, &why)
			: market_time(api->market, at, &why);
	if (rc)
		return api_failed(q, r, rc, "at", &why);
	return api_json(q, r, 200,
		json_pack("{s:s, s:I, s:I}", "object", "clock", "now", (json_int_t)market_now(api->market), "minute",
			(json_int_t)engine_minute(market_engine(api->market))));
}

const struct route api_np_routes[] = {
	{ METHOD_GET, "/np/v1", get_market, 0, ROUTE_OPEN, "Get the market", NULL, NULL, "np.Market", 200 },
	{ METHOD_GET, "/np/v1/whoami", get_whoami, NP_ANY, 0, "Get the owner of the token", NULL, NULL, "np.Whoami",
		200 },
	{ METHOD_GET, "/np/v1/balance", np_get_balance, SCOPE_READ, 0,
		"Get the balance, and what running leases cost per hour", NULL, NULL, "np.Balance", 200 },
	{ METHOD_GET, "/np/v1/policy", get_policy, NP_ANY, 0, "Get the market's policy: fee, release, settling, notice",
		NULL, NULL, "np.Policy", 200 },
	{ METHOD_PUT, "/np/v1/policy", np_put_policy, SCOPE_ADMIN, 0, "Change the market's policy", NULL,
		"np.PutPolicyRequest", "np.Policy", 200 },
	{ METHOD_POST, "/np/v1/admin/clock", set_clock, SCOPE_ADMIN, 0, "Set the test clock (only with --test-clock)",
		NULL, "np.ClockRequest", "np.Clock", 200 },
	{ 0 },
};
