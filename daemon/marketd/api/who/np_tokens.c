/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: 32 random bytes, shown once. Only their SHA-256 goes into the market, so that nobody can sign in
 * with its files or journal.
 */
#include "marketd/api/np/np.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/str.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/render.h"

enum { SECRET_BYTES = 32, JOIN_LIFE = 86400 };

int np_secret(const char *prefix, char text[NP_SECRET])
{
	unsigned char bytes[SECRET_BYTES], base64[NP_SECRET];
	size_t at = strlen(prefix);
	int n;

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -1;
	n = EVP_EncodeBlock(base64, bytes, sizeof bytes);
	while (n > 0 && base64[n - 1] == '=')
		n--;
	for (int i = 0; i < n; i++)
		if (base64[i] == '+')
			base64[i] = '-';
		else if (base64[i] == '/')
			base64[i] = '_';
	if (at + (size_t)n >= NP_SECRET)
		return -1;
	memcpy(text, prefix, at);
	memcpy(text + at, base64, (size_t)n);
	text[at + (size_t)n] = '\0';
	explicit_bzero(bytes, sizeof bytes);
	explicit_bzero(base64, sizeof base64);
	return 0;
}

json_t *np_token_json(const struct engine *e, const struct token *t)
{
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "object", "token", "id",
		render_id(IDENT_TOKEN, t->id), "name", render_text(t->name), "account",
		render_id(IDENT_ACCOUNT, t->account), "scopes", np_scopes(t->scopes), "created_at",
		(json_int_t)t->created_at, "expires_at", t->expires ? json_integer(t->expires) : json_null(), "person",
		t->person ? render_id(IDENT_PERSON, t->person) : json_null());

	render_spending(e, o, &t->spending);
	return o;
}

bool np_tokens_session(const struct token *t)
{
	return t->name && str_starts(t->name, NP_SESSION_NAME);
}

/*
 * A new token does not outlive its maker's, so that stealing a short-lived one gains no more time. One of a person
 * may, but not by a browser's session, and not an operator's: it is in the list of the person's tokens, and ends with
 * the person.
 */
static int64_t no_longer(struct api *api, const struct request *q, const struct event *ev)
{
	const struct token *maker = engine_token(market_engine(api->market), q->token);
	int64_t expires = ev->u.token.expires;
	bool may = np_allowed(q) & SCOPE_ADMIN;

	if (maker && ev->u.token.person)
		may = !np_tokens_session(maker) && !(ev->u.token.scopes & SCOPE_ADMIN);
	if (!maker || !maker->expires || may || (expires && expires < maker->expires))
		return expires;
	return maker->expires;
}

json_t *np_token_make(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev)
{
	const struct person *x = engine_person(market_engine(api->market), q->person);

	if (ev->u.token.scopes & ~np_allowed(q)) {
		api_refuse(q, r, REASON_FORBIDDEN, "scopes", "a token cannot have scopes that its maker's token lacks");
		return NULL;
	}
	if (x && x->account != account && (ev->u.token.scopes & SCOPE_ADMIN)) {
		api_refuse(q, r, REASON_FORBIDDEN, "scopes",
			"an operator by a group makes tokens with the scope admin only in the own account, where they "
			"end with the sign-in");
		return NULL;
	}
	ev->u.token.person = x && x->account == account ? x->id : 0; /* and ends with the person */
	return np_token_issue(api, q, r, account, ev);
}

json_t *np_token_issue(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev)
{
	const struct engine *e = market_engine(api->market);
	const struct effects *did;
	char secret[NP_SECRET];
	struct fail why = { 0 };
	json_t *o;
	int rc;

	if (np_secret("npk_", secret) != 0) {
		api_refuse(q, r, REASON_INTERNAL, NULL, "the kernel gave no random bytes");
		return NULL;
	}
	ev->kind = EVENT_TOKEN;
	ev->account = account;
	ev->u.token.expires = no_longer(api, q, ev);
	SHA256((const unsigned char *)secret, strlen(secret), ev->u.token.hash);
	rc = api_apply(api, q, ev, &did, &why);
	if (rc) {
		explicit_bzero(secret, sizeof secret);
		api_failed(q, r, rc, NULL, &why);
		return NULL;
	}
	o = np_token_json(e, engine_token(e, effects_made(did)));
	json_object_set_new(o, "token", json_string(secret));
	explicit_bzero(secret, sizeof secret);
	return o;
}

int np_cap_apply(struct api *api, const struct request *q, uint64_t account, uint64_t whom, int64_t micros,
	struct fail *why)
{
	struct event ev = { .kind = EVENT_CAP, .account = account, .subject = whom, .u.cap.micros = micros };

	ev.text = body_text(q->body, "reason");
	return api_apply(api, q, &ev, NULL, why);
}

/* A new token gets its cap before anybody has the token; without it, it ends. */
static int np_tokens_cap(struct api *api, const struct request *q, struct reply *r, uint64_t account, int64_t micros,
	json_t *o)
{
	struct fail why = { 0 };
	uint64_t id = 0;
	int rc;

	ident_parse(IDENT_TOKEN, json_string_value(json_object_get(o, "id")), &id);
	rc = np_cap_apply(api, q, account, id, micros, &why);
	if (rc) {
		api_apply_to(api, q, EVENT_TOKEN_REVOKE, account, id, &(struct fail){ 0 });
		json_decref(o);
		return api_failed(q, r, rc, "cap_dollars", &why);
	}
	render_spending(market_engine(api->market), o, &engine_token(market_engine(api->market), id)->spending);
	return api_json(q, r, 201, o);
}

int np_make_token(struct api *api, const struct request *q, struct reply *r, uint64_t account)
{
	int64_t life = body_int(q->body, "expires_in_seconds", 0);
	struct event ev = { .name = body_text(q->body, "name") };
	int64_t cap = -1;
	json_t *o;

	ev.u.token.scopes = np_scopes_read(json_object_get(q->body, "scopes"));
	if ((ev.u.token.scopes & SCOPE_JOIN) && ev.u.token.scopes != SCOPE_JOIN)
		return api_refuse(q, r, REASON_INVALID, "scopes",
			"a token with the scope join can have no other scope");
	if (ev.u.token.scopes != SCOPE_JOIN && (!np_may(q, r, SCOPE_TOKENS) || !np_uncapped(api, q, r)))
		return r->status;
	if (ev.u.token.scopes == SCOPE_JOIN && !life)
		life = JOIN_LIFE;
	ev.u.token.expires = life ? market_now(api->market) + life : 0;
	if (!body_money(q, r, q->body, "cap_dollars", &cap))
		return r->status;
	o = np_token_make(api, q, r, account, &ev);
	if (o && cap >= 0)
		return np_tokens_cap(api, q, r, account, cap, o);
	return o ? api_json(q, r, 201, o) : r->status;
}

static int np_tokens_post_token(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	return np_make_token(api, q, r, account);
}

/* The operator without an account gets everybody's. */
static int np_tokens_list_tokens(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	const struct token *t;
	int64_t limit, n = 0;
	uint64_t last = 0;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (after && !ident_parse(IDENT_TOKEN, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a token");
	data = json_array();
	for (t = engine_token_after(e, q->account, last); t; t = engine_token_after(e, q->account, t->id)) {
		if (t->revoked)
			continue;
		if (n++ == limit)
			break;
		json_array_append_new(data, np_token_json(e, t));
		last = t->id;
	}
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_TOKEN, last) : NULL, t != NULL));
}

void np_tokens_end_sessions(struct api *api, const struct request *q, uint64_t account, uint64_t token)
{
	const struct engine *e = market_engine(api->market);
	char name[sizeof NP_SESSION_NAME + IDENT_TEXT], id[IDENT_TEXT];
	struct event ev = { .kind = EVENT_TOKEN_REVOKE, .account = account };
	struct fail why = { 0 };
	const struct token *t;

	snprintf(name, sizeof name, "%s%s", NP_SESSION_NAME, ident_text(IDENT_TOKEN, token, id));
	while ((t = engine_token_after(e, account, ev.subject))) {
		ev.subject = t->id;
		if (!t->revoked && t->name && strcmp(t->name, name) == 0)
			api_apply(api, q, &ev, NULL, &why);
	}
}

int np_revoke_token(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_TOKEN_REVOKE };
	struct fail why = { 0 };
	const struct token *t;
	int rc;

	if (!ident_parse(IDENT_TOKEN, q->parts[0], &ev.subject))
		ev.subject = 0;
	t = engine_token(e, ev.subject);
	ev.account = q->account;
	if (!ev.account && (np_allowed(q) & SCOPE_ADMIN) && t)
		ev.account = t->account;
	if (!t || t->account != ev.account || t->revoked)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no token '%s'", q->parts[0]);
	rc = api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	np_tokens_end_sessions(api, q, ev.account, ev.subject);
	return api_nothing(r);
}

const struct route api_np_token_routes[] = {
	{ METHOD_POST, "/np/v1/tokens", np_tokens_post_token, SCOPE_TOKENS | SCOPE_HOST, ROUTE_CREATES | ROUTE_SECRET,
		"Make a token; only this answer shows it", NULL, "np.CreateTokenRequest", "np.NewToken", 201 },
	{ METHOD_GET, "/np/v1/tokens", np_tokens_list_tokens, SCOPE_TOKENS, 0, "List tokens that are not revoked",
		"limit:integer,starting_after:string", NULL, "np.TokenList", 200 },
	{ METHOD_DELETE, "/np/v1/tokens/{id}", np_revoke_token, SCOPE_TOKENS, 0, "Revoke a token", NULL, NULL, NULL,
		204 },
	{ 0 },
};
