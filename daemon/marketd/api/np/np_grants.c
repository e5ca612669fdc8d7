/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants, with which one account pays a part of what another buys, and the facts of accounts that the policy asks for.
 * The operator makes them; each account reads its own.
 */
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { FACTS_MOST = 64, FACTS_OWN = 7, FACTS_OWN_BYTES = 1024 }; /* the market's own, go beside them */

/* ---- Grants ------------------------------------------------------------------------------ */

static json_t *grant_json(const struct engine *e, const struct grant *g)
{
	const struct account *a = engine_account(e, g->account), *s = engine_account(e, g->sponsor);
	bool over = g->ended || g->until <= engine_minute(e);
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:o}", "object", "grant", "id",
		render_id(IDENT_GRANT, g->id), "name", render_text(g->name), "account",
		render_id(IDENT_ACCOUNT, g->account), "account_name", render_text(a ? a->name : NULL), "sponsor",
		render_id(IDENT_ACCOUNT, g->sponsor), "sponsor_name", render_text(s ? s->name : NULL), "state",
		over                         ? "ended"
			: g->spent >= g->max ? "spent"
					     : "open",
		"created_at", (json_int_t)g->created_at, "end_at", render_minute(g->until));

	render_money(o, "max", g->max);
	render_money(o, "spent", g->spent);
	render_money(o, "left", g->max - g->spent);
	return o;
}

static int post_grant(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *to = body_text(q->body, "account"), *by = body_text(q->body, "sponsor");
	const struct account *a = np_find_account(e, to), *s = np_find_account(e, by);
	struct event ev = { .kind = EVENT_GRANT, .name = body_text(q->body, "name") };
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	if (!a || !s)
		return api_refuse(q, r, REASON_NOT_FOUND, a ? "sponsor" : "account", "no account '%.255s'",
			a ? by : to);
	if (!body_money(q, r, q->body, "max_dollars", &ev.u.grant.max) ||
		!body_minute(q, r, q->body, "end_at", &ev.u.grant.until))
		return r->status;
	ev.account = a->id;
	ev.u.grant.sponsor = s->id;
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, 201, grant_json(e, engine_grant(e, effects_made(did))));
}

static int list_grants(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();
	const struct grant *g;

	for (g = engine_grant_after(e, q->account, 0); g; g = engine_grant_after(e, q->account, g->id))
		json_array_append_new(data, grant_json(e, g));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int delete_grant(struct api *api, const struct request *q, struct reply *r)
{
	const struct grant *g = NULL;
	struct fail why = { 0 };
	uint64_t id = 0;
	int rc;

	if (ident_parse(IDENT_GRANT, q->parts[0], &id))
		g = engine_grant(market_engine(api->market), id);
	if (!g)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no grant '%s'", q->parts[0]);
	rc = api_apply_to(api, q, EVENT_GRANT_END, g->account, g->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* ---- Facts ------------------------------------------------------------------------------- */

static json_t *facts_json(const struct account *a)
{
	json_t *kept = a->facts ? json_loads(a->facts, 0, NULL) : NULL;

	return json_pack("{s:s, s:o, s:o, s:o}", "object", "account_facts", "account", render_id(IDENT_ACCOUNT, a->id),
		"account_name", render_text(a->name), "facts", kept ? kept : json_object());
}

/* A policy names them with points, and a header may show them. */
static bool fact_name_fits(const char *name)
{
	static const char *const own[] = { "id", "name", "state", "grant_active", "plan", "spent_month" };

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(name, own[i]) == 0)
			return false;
	return *name && strlen(name) <= 64 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* {"value": a text, a number, true, false or a list of texts, "end_at": Unix seconds or absent}, or null. */
static bool fact_fits(const json_t *fact)
{
	const json_t *value = json_object_get(fact, "value"), *end = json_object_get(fact, "end_at");
	size_t known = 1 + (end != NULL);

	if (json_is_null(fact))
		return true;
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!json_is_string(json_array_get(value, i)))
			return false;
	return json_object_size(fact) == known && (!end || json_is_null(end) || json_is_integer(end)) &&
		(json_is_string(value) || json_is_number(value) || json_is_boolean(value) || json_is_array(value));
}

int np_facts_change(struct api *api, const struct request *q, const struct account *a, const json_t *given,
	struct fail *why)
{
	struct event ev = { .kind = EVENT_ACCOUNT_FACTS, .account = a->id, .subject = a->id };
	json_t *kept = a->facts ? json_loads(a->facts, 0, NULL) : json_object(), *fact;
	const char *name;
	char *text = NULL;
	size_t count;
	int rc = 0;

	if (!kept)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	json_object_foreach((json_t *)given, name, fact) if (json_is_null(fact)) json_object_del(kept, name);
	else json_object_set(kept, name, fact);
	count = json_object_size(kept);
	if (count > FACTS_MOST + FACTS_OWN)
		rc = fail_set(why, REASON_LIMIT, "an account has up to %d facts", FACTS_MOST);
	else if (count && !(text = json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS)))
		rc = fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	json_decref(kept);
	ev.text = text;
	rc = rc ? rc : api_apply(api, q, &ev, NULL, why);
	free(text);
	if (!rc && json_object_get(given, NP_STRIPE_ACCOUNT))
		api->payees_changed = true;
	return rc;
}

/*
 * An address is only as good as the signature that proved it, so nobody writes one down. Nor takes it away alone: its
 * score would go on, and another account could prove it at once.
 */
static int facts_check(const struct request *q, struct reply *r, const struct account *a, const char *name,
	const json_t *fact)
{
	char id[IDENT_TEXT];

	if (!fact_name_fits(name))
		return api_refuse(q, r, REASON_INVALID, "facts",
			"a fact's name has 1 to 64 lower-case letters, digits and '_', and is not the market's own: "
			"'%.80s'",
			name);
	if (!fact_fits(fact))
		return api_refuse(q, r, REASON_INVALID, "facts",
			"a fact is {\"value\": a text, a number, true, false or a list of texts, \"end_at\": Unix "
			"seconds}, or null: '%.80s' is not",
			name);
	if (strcmp(name, "personhood_address") == 0 && !json_is_null(fact))
		return api_refuse(q, r, REASON_INVALID, "facts",
			"a signature alone proves an address: 'nanopod personhood prove' of the account does that");
	if (strcmp(name, "personhood_address") == 0)
		return api_refuse(q, r, REASON_INVALID, "facts",
			"the address goes with its score: 'nanopod personhood release --account %s', or DELETE "
			"/np/v1/personhood?account=%s",
			ident_text(IDENT_ACCOUNT, a->id, id), id);
	if (strcmp(name, "personhood_held") == 0 && !json_is_null(fact))
		return api_refuse(q, r, REASON_INVALID, "facts",
			"the market itself holds addresses that were let go; null lets them serve others");
	return 0;
}

/* What the market itself writes down has room beside these, so that an account can always let its address go. */
static int facts_room(const struct request *q, struct reply *r, const struct account *a, const json_t *given)
{
	json_t *kept = a->facts ? json_loads(a->facts, 0, NULL) : json_object(), *fact;
	bool more = false, fits;
	const char *name;
	void *next;

	json_object_foreach((json_t *)given, name, fact)
	{
		more = more || !json_is_null(fact);
		json_object_set(kept, name, fact);
	}
	json_object_foreach_safe(kept, next, name, fact)
	{
		if (json_is_null(fact) || strncmp(name, "personhood_", 11) == 0 || strcmp(name, NP_STRIPE_ACCOUNT) == 0)
			json_object_del(kept, name);
	}
	fits = json_object_size(kept) <= FACTS_MOST &&
		json_dumpb(kept, NULL, 0, JSON_COMPACT) <= FACTS_BYTES - FACTS_OWN_BYTES;
	json_decref(kept);
	return fits || !more
		? 0
		: api_refuse(q, r, REASON_LIMIT, "facts", "an account has up to %d facts, of %d bytes in all",
			  FACTS_MOST, FACTS_BYTES - FACTS_OWN_BYTES);
}

static int patch_facts(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = np_find_account(market_engine(api->market), q->parts[0]);
	const json_t *given = json_object_get(q->body, "facts"), *fact;
	struct fail why = { 0 };
	const char *name;
	int rc;

	if (!a)
		return api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%s'", q->parts[0]);
	json_object_foreach((json_t *)given, name, fact) if (facts_check(q, r, a, name, fact)) return r->status;
	if (facts_room(q, r, a, given))
		return r->status;
	rc = np_facts_change(api, q, a, given, &why);
	return rc ? api_failed(q, r, rc, "facts", &why) : api_json(q, r, 200, facts_json(a));
}

static int get_facts(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = np_find_account(market_engine(api->market), q->parts[0]);

	return a ? api_json(q, r, 200, facts_json(a))
		 : api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%s'", q->parts[0]);
}

static int get_own_facts(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	return api_json(q, r, 200, facts_json(engine_account(market_engine(api->market), account)));
}

/* ---- What the policy said ----------------------------------------------------------------- */

json_t *np_verdict(const struct verdict *v, bool input)
{
	json_t *o = v->input ? decision_json(&v->decision) : NULL;

	if (!o)
		return json_null();
	json_object_set_new(o, "grant", v->grant ? render_id(IDENT_GRANT, v->grant->id) : json_null());
	json_object_set_new(o, "grant_name", render_text(v->grant ? v->grant->name : NULL));
	json_object_set(o, "input", input ? v->input : json_null());
	return o;
}

/* ---- Shapes ------------------------------------------------------------------------------- */

#define DOLLARS(name, note) \
	{ \
		name, SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, note \
	}
#define MICROS(name) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL \
	}

static const struct schema_field grant_request[] = {
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "id or name: whose buys it pays for" },
	{ "sponsor", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "id or name: whose money pays" },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, NULL },
	{ "max_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "what it pays in all, at most" },
	TIME("end_at", FIELD_NULL),
	{ 0 },
};

static const struct schema_field grant_fields[] = {
	OBJECT_IS("grant"),
	ID_OF("grant"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "whose buys it pays for" },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "sponsor", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "whose money pays" },
	{ "sponsor_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "open|spent|ended", 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	DOLLARS("max_dollars", NULL),
	MICROS("max_micros"),
	DOLLARS("spent_dollars", "without what came back"),
	MICROS("spent_micros"),
	DOLLARS("left_dollars", NULL),
	MICROS("left_micros"),
	{ 0 },
};

static const struct schema_field grant_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Grant", 0, 0, "ended ones, too" },
	{ 0 },
};

static const struct schema_field fact_fields[] = {
	{ "value", SCHEMA_ANY, FIELD_REQUIRED, NULL, 0, 0, "a text, a number, true or false, or a list of texts" },
	TIME("end_at", FIELD_NULL),
	{ 0 },
};

static const struct schema_field facts_request[] = {
	{ "facts", SCHEMA_MAP, FIELD_REQUIRED, "any", 0, 0, "np.Fact by name; null removes one" },
	{ 0 },
};

static const struct schema_field facts_fields[] = {
	OBJECT_IS("account_facts"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "facts", SCHEMA_MAP, FIELD_REQUIRED, "np.Fact", 0, 0, "by name, for the policy: account.NAME" },
	{ 0 },
};

static const struct schema_field verdict_fields[] = {
	{ "allow", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "rate", SCHEMA_ANY, FIELD_REQUIRED, NULL, 0, 0, "which part of the price the buyer pays, 0 to 1" },
	{ "limits", SCHEMA_ANY, 0, NULL, 0, 0, "nodes, hours, price: the most that it allows" },
	{ "rule", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "which rule decided" },
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "grant", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "which grant pays the rest" },
	{ "grant_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "input", SCHEMA_ANY, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "what it was asked with; with ?explain" },
	{ 0 },
};

const struct schema schema_np_grant[] = {
	OBJECT("np.GrantRequest", grant_request),
	OBJECT("np.Grant", grant_fields),
	OBJECT("np.GrantList", grant_list),
	{ "np.Fact", SCHEMA_OBJECT, NULL, 0, 0, NULL, fact_fields, NULL },
	OBJECT("np.FactsRequest", facts_request),
	OBJECT("np.Facts", facts_fields),
	OBJECT("np.Verdict", verdict_fields),
	{ 0 },
};

const struct route api_np_grant_routes[] = {
	{ METHOD_POST, "/np/v1/grants", post_grant, SCOPE_ADMIN, ROUTE_CREATES,
		"Make a grant, which pays a part of what an account buys where the policy says so", NULL,
		"np.GrantRequest", "np.Grant", 201 },
	{ METHOD_GET, "/np/v1/grants", list_grants, SCOPE_READ, 0, "List grants", NULL, NULL, "np.GrantList", 200 },
	{ METHOD_DELETE, "/np/v1/grants/{id}", delete_grant, SCOPE_ADMIN, 0, "End a grant", NULL, NULL, NULL, 204 },
	{ METHOD_GET, "/np/v1/facts", get_own_facts, SCOPE_READ, 0, "Get what the policy knows of the account", NULL,
		NULL, "np.Facts", 200 },
	{ METHOD_GET, "/np/v1/accounts/{account}/facts", get_facts, SCOPE_ADMIN, 0,
		"Get what the policy knows of an account", NULL, NULL, "np.Facts", 200 },
	{ METHOD_PATCH, "/np/v1/accounts/{account}/facts", patch_facts, SCOPE_ADMIN, 0,
		"Set what the policy knows of an account", NULL, "np.FactsRequest", "np.Facts", 200 },
	{ 0 },
};
