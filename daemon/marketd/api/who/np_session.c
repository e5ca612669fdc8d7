/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a browser that shows the market's page: a short token of the account, made with one that its owner
 * has, and kept by the browser in a cookie that no script can read. As it is a token, it survives a restart of the
 * market, is in the list of tokens, and can be revoked there.
 */
#include "marketd/api/np/np.h"

#include <stdio.h>
#include <string.h>

#include "market/client.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/oidc/issuer.h"

enum { SESSION_CLEARED = 16 /* old ones revoked with each new one */ };

static bool session_revoke(struct api *api, const struct request *q, const struct token *t, struct fail *why)
{
	struct event ev = { .kind = EVENT_TOKEN_REVOKE, .account = t->account, .subject = t->id };

	return api_apply(api, q, &ev, NULL, why) == 0;
}

void np_session_clear(struct api *api, const struct request *q, uint64_t account)
{
	const struct engine *e = market_engine(api->market);
	int64_t now = market_now(api->market);
	struct fail why = { 0 };
	uint64_t last = 0;
	int cleared = 0;

	for (const struct token *t; cleared < SESSION_CLEARED && (t = engine_token_after(e, account, last));) {
		last = t->id;
		if (!t->revoked && t->expires && t->expires <= now && np_tokens_session(t))
			cleared += session_revoke(api, q, t, &why);
	}
}

/* Who signed in at the issuer may want to sign out there, too: on a machine of others the next one would be them. */
static json_t *session_sign_out(const struct api *api, const struct token *t)
{
	const char *end = api->issuer ? issuer_endpoint(api->issuer, "end_session_endpoint") : NULL;
	struct buf url;
	json_t *o = NULL;

	if (!end || !t || !t->name || strcmp(t->name, NP_SESSION_NAME NP_SESSION_ISSUER) != 0)
		return json_null();
	buf_init(&url, 4096);
	if (!buf_addf(&url, "%s%cclient_id=", end, strchr(end, '?') ? '&' : '?') &&
		!client_quote(&url, issuer_page_client(api->issuer)))
		o = json_string(buf_text(&url));
	buf_release(&url);
	return o ? o : json_null();
}

/* What the page has to know to show what concerns its reader, and nothing else. */
static json_t *session_json(struct api *api, const struct request *q)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = engine_account(e, q->account);
	const struct token *t = engine_token(e, q->token);

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:I, s:o}", "object", "page_session", "account_id",
		a ? render_id(IDENT_ACCOUNT, a->id) : json_null(), "account_name", render_text(a ? a->name : NULL),
		"state", a ? json_string(np_account_state(a)) : json_null(), "token", np_token_whose(e, t, q->scopes),
		"cookie", (int)(q->cookie && t), "machines",
		(int)(a && (engine_host_after(e, a->id, 0) || engine_agent_after(e, a->id, 0))), "now",
		(json_int_t)market_now(api->market), "sign_out", session_sign_out(api, t));
}

static int get_session(struct api *api, const struct request *q, struct reply *r)
{
	if (q->cookie && !q->token)
		r->session_life = -1;
	return api_json(q, r, 200, session_json(api, q));
}

int np_session_begin(struct api *api, const struct request *q, struct reply *r, json_t *made)
{
	struct request as = *q;
	const struct token *t;

	ident_parse(IDENT_TOKEN, json_string_value(json_object_get(made, "id")), &as.token);
	t = engine_token(market_engine(api->market), as.token);
	snprintf(r->session, sizeof r->session, "%s", json_string_value(json_object_get(made, "token")));
	json_decref(made);
	r->session_life = t->expires - market_now(api->market);
	as.account = t->account;
	as.cookie = true;
	as.scopes = auth_scopes(market_engine(api->market), t);
	return api_json(q, r, 201, session_json(api, &as));
}

static int post_session(struct api *api, const struct request *q, struct reply *r)
{
	const struct token *t = engine_token(market_engine(api->market), q->token);
	int64_t now = market_now(api->market);
	char name[sizeof NP_SESSION_NAME + IDENT_TEXT], id[IDENT_TEXT];
	struct event ev = { .name = name };
	json_t *made;

	if (api->private_book)
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"this market has no page; programs send their token with each request");
	if (!t || q->cookie)
		return api_refuse(q, r, REASON_INVALID, NULL,
			"a session begins with a token, as 'Authorization: Bearer npk_…'");
	ev.u.token.scopes = q->scopes;
	ev.u.token.expires = t->expires && t->expires < now + NP_SESSION_LIFE ? t->expires : now + NP_SESSION_LIFE;
	snprintf(name, sizeof name, "%s%s", NP_SESSION_NAME, ident_text(IDENT_TOKEN, t->id, id));
	np_session_clear(api, q, t->account);
	made = np_token_make(api, q, r, t->account, &ev);
	return made ? np_session_begin(api, q, r, made) : r->status;
}

static int delete_session(struct api *api, const struct request *q, struct reply *r)
{
	const struct token *t = engine_token(market_engine(api->market), q->token);
	struct fail why = { 0 };

	if (!q->cookie || !t)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL,
			"no session: this request has no cookie of the page; 'nanopod token revoke' ends a token");
	if (!session_revoke(api, q, t, &why))
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	r->session_life = -1;
	return api_nothing(r);
}

const struct route api_np_session_routes[] = {
	{ METHOD_GET, "/np/v1/session", get_session, 0, ROUTE_OPEN,
		"Get who is signed in on the market's page; nobody, for strangers", NULL, NULL, "np.PageSession", 200 },
	{ METHOD_POST, "/np/v1/session", post_session, NP_ANY, ROUTE_SECRET,
		"Sign a browser in with this token: its answer sets a cookie, a token of its own", NULL, NULL,
		"np.PageSession", 201 },
	{ METHOD_DELETE, "/np/v1/session", delete_session, NP_ANY, 0, "Sign a browser out", NULL, NULL, NULL, 204 },
	{ 0 },
};

static const struct schema_field np_session_fields[] = {
	OBJECT_IS("page_session"),
	{ "account_id", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: nobody is signed in" },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED | FIELD_NULL, "open|suspended", 0, 0, NULL },
	{ "token", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.WhoamiToken", 0, 0, "of the session" },
	{ "cookie", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "signed in by the page's cookie" },
	{ "machines", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "the account has machines or hosts on the market" },
	TIME("now", FIELD_REQUIRED),
	{ "sign_out", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"where the issuer ends its own session; null: this session did not begin there" },
	{ 0 },
};

const struct schema schema_np_session[] = {
	{ "np.PageSession", SCHEMA_OBJECT, NULL, 0, 0, NULL, np_session_fields, NULL },
	{ 0 },
};
