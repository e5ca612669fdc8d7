/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signing in on the market's page: the browser goes to the issuer's page and comes back with a code, which the market
 * redeems itself. The browser proves with the verifier that it is the one that went, and gets a cookie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/api/who/signin.h"
#include "marketd/oidc/codes.h"

enum { PAGE_URL = 4096, PAGE_WORD_MOST = 128 };

/* A random word of the browser's: base64url, with 128 bits at least. */
static bool signin_page_word(const struct request *q, struct reply *r, const char *name, const char **out)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *text = api_query(q, name);
	size_t len = text ? strspn(text, letters) : 0;

	if (!text || text[len] || len < 22 || len > PAGE_WORD_MOST) {
		api_refuse(q, r, REASON_INVALID, name, "'%s' must be 22 to 128 characters of base64url", name);
		return false;
	}
	*out = text;
	return true;
}

static int get_signin_page(struct api *api, const struct request *q, struct reply *r)
{
	struct code_asked a = { .redirect = api_query(q, "redirect_uri"), .scope = SIGNIN_SCOPE };
	struct fail why = { 0 };
	struct buf url;
	int rc;

	if (!signin_has_issuer(api, q, r) || !signin_page_word(q, r, "state", &a.state) ||
		!signin_page_word(q, r, "nonce", &a.nonce) || !signin_page_word(q, r, "code_challenge", &a.challenge))
		return r->status;
	if (!a.redirect || strlen(a.redirect) > 300)
		return api_refuse(q, r, REASON_INVALID, "redirect_uri",
			"'redirect_uri' must be the address of the page, up to 300 bytes");
	if (signin_ready(api, q, r))
		return r->status;
	buf_init(&url, PAGE_URL);
	rc = codes_page(api->codes, &a, &url, &why);
	rc = rc ? api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s; sign in with a token", why.text)
		: api_json(q, r, 200, json_pack("{s:s, s:s}", "object", "signin_page", "url", buf_text(&url)));
	buf_release(&url);
	return rc;
}

/* What the issuer signed for this code; NULL: the answer waits, or is a refusal. got: all that came. */
static json_t *signin_page_claims(struct api *api, const struct request *q, struct reply *r, struct code_renewed *got)
{
	struct code_given g = { .request = q->id,
		.address = q->address,
		.code = body_text(q->body, "code"),
		.verifier = body_text(q->body, "code_verifier"),
		.redirect = body_text(q->body, "redirect_uri"),
		.issuer = body_text(q->body, "iss") };
	struct fail why = { 0 };
	const char *token;
	json_t *claims = NULL;
	int rc;

	if (signin_ready(api, q, r))
		return NULL;
	rc = codes_redeem(api->codes, &g, api->now_ms, &token, &why);
	if (rc == -EAGAIN)
		signin_wait(q, r);
	else if (rc == 0)
		claims = signin_claims(api, q, r, token, body_text(q->body, "nonce"));
	else if (rc == -EACCES)
		api_refuse(q, r, REASON_UNAUTHENTICATED, "code", "%s", why.text);
	else
		api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s; who is signed in stays so", why.text);
	if (rc == -EPROTO && api->log)
		log_at(api->log, LOG_WARN, "nobody can sign in on the page: %s", why.text);
	if (claims)
		codes_got(api->codes, q->id, got);
	if (!r->wait)
		codes_forget(api->codes, q->id);
	return claims;
}

static int post_signin_page(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .name = NP_SESSION_NAME NP_SESSION_ISSUER };
	struct request as = *q;
	const struct person *x;
	struct code_renewed got = { 0 };
	json_t *claims, *made;
	uint64_t token = 0;

	if (!signin_has_issuer(api, q, r))
		return r->status;
	if (!q->page) /* else another page could sign its reader in as somebody else */
		return api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"only the market's own page signs in with a code; use 'nanopod login' at a terminal");
	if (q->failing)
		return api_refuse(q, r, REASON_RATE, NULL, "%s", reason_row(REASON_RATE)->text);
	claims = signin_page_claims(api, q, r, &got);
	if (!claims)
		return r->status;
	x = signin_person(api, &as, r, claims, NP_SESSION_LIFE, &ev);
	json_decref(claims);
	if (x)
		np_session_clear(api, &as, x->account);
	made = x ? np_token_issue(api, &as, r, x->account, &ev) : NULL;
	if (made && got.refresh && ident_parse(IDENT_TOKEN, json_string_value(json_object_get(made, "id")), &token))
		regroup_keep(api, token, x->id, &got);
	codes_renewed_release(&got);
	return made ? np_session_begin(api, &as, r, made) : r->status;
}

const struct route api_np_signin_page_routes[] = {
	{ METHOD_GET, "/np/v1/signin/page", get_signin_page, 0, ROUTE_OPEN,
		"Get the issuer's page for a browser that wants to sign in",
		"redirect_uri:string,state:string,nonce:string,code_challenge:string", NULL, "np.SigninPage", 200 },
	{ METHOD_POST, "/np/v1/signin/page", post_signin_page, 0, ROUTE_OPEN | ROUTE_SECRET,
		"Sign a browser in with the issuer's code: the answer sets a cookie", NULL, "np.SigninCode",
		"np.PageSession", 201 },
	{ 0 },
};

static const struct schema_field signin_page_fields[] = {
	OBJECT_IS("signin_page"),
	{ "url", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "where to go; a code comes back to redirect_uri" },
	{ 0 },
};

static const struct schema_field signin_code[] = {
	{ "code", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 4096, "as the issuer gave it" },
	{ "code_verifier", SCHEMA_STRING, FIELD_REQUIRED, "^[A-Za-z0-9._~-]+$", 43, 128,
		"of the code_challenge, its SHA-256" },
	{ "nonce", SCHEMA_STRING, FIELD_REQUIRED, NULL, 22, 128, "as the browser went with" },
	{ "redirect_uri", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 300, "as the browser went with" },
	{ "iss", SCHEMA_STRING, FIELD_NULL, NULL, 1, 300, "as the issuer gave it" },
	{ "invitation", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, "the code of an invitation" },
	{ "account", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "the name of an account that this makes" },
	{ 0 },
};

const struct schema schema_np_signin_page[] = {
	{ "np.SigninPage", SCHEMA_OBJECT, NULL, 0, 0, NULL, signin_page_fields, NULL },
	{ "np.SigninCode", SCHEMA_OBJECT, NULL, 0, 0, NULL, signin_code, NULL },
	{ 0 },
};
