/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person and a token may spend in a calendar month. Who may make tokens, an owner, sets it; what a
 * browser buys that signed in with a token counts for that (api_spender).
 */
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

/* The request's cap; null is none. */
static bool caps_read(const struct request *q, struct reply *r, int64_t *micros)
{
	*micros = -1;
	return body_money(q, r, q->body, "cap_dollars", micros);
}

static int put_person_cap(struct api *api, const struct request *q, struct reply *r)
{
	const struct person *x = np_people_find(api, q, r);
	struct fail why = { 0 };
	int64_t micros;
	int rc;

	if (!x || !np_uncapped(api, q, r) || !caps_read(q, r, &micros))
		return r->status;
	rc = np_cap_apply(api, q, x->account, x->id, micros, &why);
	return rc ? api_failed(q, r, rc, "cap_dollars", &why)
		  : api_json(q, r, 200, render_person(market_engine(api->market), x));
}

/* By id, or by name where one token alone has it. NULL: refused. */
static const struct token *caps_token(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct token *t, *found = NULL;
	uint64_t id;
	int count = 0;

	if (ident_parse(IDENT_TOKEN, q->parts[0], &id) && (t = engine_token(e, id)) && !t->revoked &&
		(!q->account || t->account == q->account))
		return t;
	for (t = engine_token_after(e, q->account, 0); t; t = engine_token_after(e, q->account, t->id))
		if (!t->revoked && t->name && strcmp(t->name, q->parts[0]) == 0) {
			found = t;
			count++;
		}
	if (count == 1)
		return found;
	api_refuse(q, r, count ? REASON_INVALID : REASON_NOT_FOUND, "id",
		count ? "several tokens are called '%s'; give an id" : "no token '%s'", q->parts[0]);
	return NULL;
}

static int put_token_cap(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct token *t = caps_token(api, q, r);
	uint64_t by = t ? auth_counts_for(e, t) : 0;
	struct fail why = { 0 };
	char id[IDENT_TEXT];
	int64_t micros;
	int rc;

	if (t && by != t->id)
		return api_refuse(q, r, REASON_WRONG_STATE, "id",
			"what this browser buys counts for the token that signed it in; set the cap of that: "
			"nanopod token cap %s AMOUNT/month",
			ident_text(IDENT_TOKEN, by, id));
	if (!t || !np_uncapped(api, q, r) || !caps_read(q, r, &micros))
		return r->status;
	rc = np_cap_apply(api, q, t->account, t->id, micros, &why);
	return rc ? api_failed(q, r, rc, "cap_dollars", &why) : api_json(q, r, 200, np_token_json(e, t));
}

const struct route api_np_cap_routes[] = {
	{ METHOD_PUT, "/np/v1/people/{person}/cap", put_person_cap, SCOPE_TOKENS, 0,
		"Set what a person, by id, e-mail or name, may spend in a calendar month (UTC)", NULL,
		"np.PutCapRequest", "np.Person", 200 },
	{ METHOD_PUT, "/np/v1/tokens/{id}/cap", put_token_cap, SCOPE_TOKENS, 0,
		"Set what a token, by id or name, may spend in a calendar month (UTC)", NULL, "np.PutCapRequest",
		"np.Token", 200 },
	{ 0 },
};

static const struct schema_field put_cap[] = {
	{ "cap_dollars", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Dollars", 0, 0, "a month; null: no cap" },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 1, WHY_BYTES, "why; in the audit log" },
	{ 0 },
};

const struct schema schema_np_caps[] = {
	OBJECT("np.PutCapRequest", put_cap),
	{ 0 },
};
