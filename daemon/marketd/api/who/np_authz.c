/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may pass a gateway: nginx (auth_request) or APISIX (forward-auth) asks here before it lets a request through.
 * Any other answer than 200 is a refusal, so a market that is away lets nobody in.
 */
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/may/requestgate.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

#define AUTHZ_NO_PLAN "none"

static json_t *authz_text(const char *text)
{
	return text ? render_text(text) : NULL;
}

/* What a client wants of a backend, as its gateway tells. */
static json_t *authz_wants(const struct request *q)
{
	return json_pack("{s:s, s:o*, s:o*, s:o*}", "action", "gateway", "method", authz_text(q->original.method),
		"host", authz_text(q->original.host), "path", authz_text(q->original.path));
}

/* Who asks has an account whose token may do something, and is no agent. 0, or refused. */
static int authz_who(const struct request *q, struct reply *r, const struct account *a)
{
	if (q->local)
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"the operator's socket reads no token; let the gateway ask an address of --listen");
	if (!q->scopes)
		return api_refuse(q, r, q->refused ? q->refused : REASON_UNAUTHENTICATED, NULL, "%s",
			reason_row(q->refused ? q->refused : REASON_UNAUTHENTICATED)->text);
	if (!a || !(q->scopes & NP_ANY))
		return api_refuse(q, r, REASON_FORBIDDEN, NULL, "this token is for a machine, not for a gateway");
	if (a->state == ACCOUNT_SUSPENDED)
		return api_refuse(q, r, REASON_SUSPENDED, NULL,
			a->debt.step == DUNNING_SUSPENDED
				? "the account is suspended, as it owes money; 'nanopod balance' says how much"
				: "the account is suspended; ask the operator");
	return 0;
}

static int authz_answer(const struct request *q, struct reply *r, const struct account *a, const struct decision *d)
{
	const char *plan = *d->rule ? d->rule : AUTHZ_NO_PLAN;
	char id[IDENT_TEXT], rate[RATE_TEXT];

	rate_text(d->rate_ppm, rate);
	if (api_header(r, "X-Nanopod-Account", ident_text(IDENT_ACCOUNT, a->id, id)) != 0 ||
		api_header(r, "X-Nanopod-Plan", plan) != 0 || api_header(r, "X-Nanopod-Rate", rate) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the answer has no room for its headers");
	return api_json(q, r, 200,
		json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o}", "object", "authorization", "account_id", id,
			"account_name", render_text(a->name), "token_id", render_id(IDENT_TOKEN, q->token), "plan",
			plan, "rate", rate, "limits", decision_gates(d)));
}

static int get_authz(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, q->account);
	const char *told = api_query(q, "count");
	struct verdict v = { .grant = decide_grant(e, q->account) };
	struct fail why = { 0 };
	int status = authz_who(q, r, a), rc;

	if (status)
		return status;
	rc = decide_ask(api, q, a, authz_wants(q), &v, &why);
	decide_release(&v);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	if (v.decision.rate_ppm > 0 && a->available <= a->floor)
		return api_refuse(q, r, REASON_FUNDS, NULL,
			"the account has no money left; ask the operator for credit");
	if (!(told && strcmp(told, "false") == 0) &&
		gate_take(api, a->id, &v.decision, market_now(api->market), &r->retry_after, &why) != 0)
		return api_failed(q, r, REASON_RATE, NULL, &why);
	return authz_answer(q, r, a, &v.decision);
}

const struct route api_np_authz_routes[] = {
	{ METHOD_GET, "/np/v1/authz", get_authz, 0, ROUTE_OPEN,
		"Get whether a gateway may let a request with this token through: 200 with the headers "
		"X-Nanopod-Account, "
		"-Plan and -Rate, or 401, 402, 403 or 429; count=false: the gateway counts requests itself",
		"count:boolean", NULL, "np.Authorization", 200 },
	{ 0 },
};

static const struct schema_field np_authz_fields[] = {
	OBJECT_IS("authorization"),
	{ "account_id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 64, "also X-Nanopod-Account" },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "token_id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 64, NULL },
	{ "plan", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 63,
		"the policy's rule that decided, or none; also X-Nanopod-Plan" },
	{ "rate", SCHEMA_STRING, FIELD_REQUIRED, "^(0|1|0\\.[0-9]*[1-9])$", 1, 8,
		"what the account pays of the price; also X-Nanopod-Rate" },
	{ "limits", SCHEMA_REF, FIELD_REQUIRED, "np.PolicyLimits", 0, 0, "of requests and tokens alone" },
	{ 0 },
};

static const struct schema_field policy_person_fields[] = {
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "roles", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field policy_request_fields[] = {
	{ "action", SCHEMA_ENUM, FIELD_REQUIRED, "buy|extend|procure|gateway", 0, 0, NULL },
	{ "tier", SCHEMA_ENUM, 0, "reserved|spot", 0, 0, NULL },
	{ "sku", SCHEMA_STRING, 0, NULL, 0, 0, "the alias of the type" },
	{ "nodes", SCHEMA_INTEGER, 0, NULL, 0, 0, NULL },
	{ "hours", SCHEMA_STRING, 0, NULL, 0, 0, "a decimal" },
	{ "start", SCHEMA_STRING, 0, NULL, 0, 0, "RFC 3339; none of a procurement, which goes on" },
	{ "price", SCHEMA_STRING, 0, NULL, 0, 0, "the limit in dollars per node-hour, a decimal" },
	{ "total", SCHEMA_STRING, 0, NULL, 0, 0, "of all of it at that limit, in dollars, a decimal" },
	{ "method", SCHEMA_STRING, 0, NULL, 0, 0, "gateway: of the client's request" },
	{ "host", SCHEMA_STRING, 0, NULL, 0, 0, "gateway: that the client asked" },
	{ "path", SCHEMA_STRING, 0, NULL, 0, 0, "gateway: with the query" },
	{ 0 },
};

static const struct schema_field policy_grant_fields[] = {
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "left", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "dollars, a decimal" },
	{ 0 },
};

static const struct schema_field policy_input_fields[] = {
	{ "account", SCHEMA_MAP, FIELD_REQUIRED, "any", 0, 0,
		"id, name and state; groups, a list; reputation_score and personhood_score, decimals as texts; "
		"grant_active; plan, its name; spent_month, dollars; other facts by their names" },
	{ "person", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.PolicyPerson", 0, 0, NULL },
	{ "request", SCHEMA_REF, FIELD_REQUIRED, "np.PolicyRequest", 0, 0, NULL },
	{ "grant", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.PolicyGrant", 0, 0, NULL },
	{ "time", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "RFC 3339" },
	{ 0 },
};

static const struct schema_field policy_limits_fields[] = {
	{ "nodes", SCHEMA_INTEGER, 0, NULL, 1, INT32_MAX, NULL },
	{ "hours", SCHEMA_STRING, 0, NULL, 0, 0, "a decimal; a number will do" },
	{ "price", SCHEMA_STRING, 0, NULL, 0, 0, "dollars per node-hour, a decimal; a number will do" },
	{ "requests_minute", SCHEMA_INTEGER, 0, NULL, 1, INT64_MAX, "gateway: of the account, as the others" },
	{ "requests_day", SCHEMA_INTEGER, 0, NULL, 1, INT64_MAX, "a day of UTC" },
	{ "tokens_minute", SCHEMA_INTEGER, 0, NULL, 1, INT64_MAX, "that models use; gateway serve alone counts them" },
	{ "tokens_day", SCHEMA_INTEGER, 0, NULL, 1, INT64_MAX, NULL },
	{ 0 },
};

static const struct schema_field policy_decision_fields[] = {
	{ "allow", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "rate", SCHEMA_STRING, 0, NULL, 0, 0,
		"what the buyer pays of the price, a decimal from 0 to 1; a number will do; none: 1" },
	{ "limits", SCHEMA_REF, 0, "np.PolicyLimits", 0, 0, "of one request" },
	{ "rule", SCHEMA_STRING, 0, NULL, 0, 63, "which decided" },
	{ "reason", SCHEMA_STRING, 0, NULL, 0, 255, "for the buyer" },
	{ 0 },
};

#define AUTHZ_OBJECT(name, fields, text) \
	{ \
		name, SCHEMA_OBJECT, NULL, 0, 0, NULL, fields, text \
	}

const struct schema schema_np_authz[] = {
	AUTHZ_OBJECT("np.Authorization", np_authz_fields, NULL),
	AUTHZ_OBJECT("np.PolicyInput", policy_input_fields, "what a policy is asked with: nanopod-policy(5)"),
	AUTHZ_OBJECT("np.PolicyPerson", policy_person_fields, NULL),
	AUTHZ_OBJECT("np.PolicyRequest", policy_request_fields, NULL),
	AUTHZ_OBJECT("np.PolicyGrant", policy_grant_fields, NULL),
	AUTHZ_OBJECT("np.PolicyDecision", policy_decision_fields, "what a policy answers"),
	AUTHZ_OBJECT("np.PolicyLimits", policy_limits_fields, NULL),
	{ 0 },
};
