/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signing in as a person: what the issuer of identities signed becomes a token of that person. The issuer says who
 * somebody is; which account that is, an invitation says, or the operator lets everybody make one.
 */
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/api/who/signin.h"
#include "marketd/oidc/issuer.h"

/* ---- Who it is -------------------------------------------------------------------------- */

int signin_wait(const struct request *q, struct reply *r)
{
	if (q->last_ask)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL,
			"the issuer of identities does not answer; who is signed in stays so, try again later");
	r->wait = r->away = true;
	r->wait_ms = ISSUER_WAIT_MS;
	return r->status = 200;
}

bool signin_has_issuer(const struct api *api, const struct request *q, struct reply *r)
{
	if (api->issuer)
		return true;
	api_refuse(q, r, REASON_NOT_FOUND, NULL,
		"this market has no issuer of identities; sign in with a token: 'nanopod login'");
	return false;
}

int signin_ready(struct api *api, const struct request *q, struct reply *r)
{
	struct fail why = { 0 };
	int rc = issuer_ready(api->issuer, api->now_ms, &why);

	if (rc == -EAGAIN)
		return signin_wait(q, r);
	return rc ? api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s; who is signed in stays so", why.text) : 0;
}

json_t *signin_claims(struct api *api, const struct request *q, struct reply *r, const char *token, const char *nonce)
{
	struct fail why = { 0 };
	json_t *claims = NULL;
	int rc = issuer_check(api->issuer, token, nonce, market_now(api->market), api->now_ms, &claims, &why);

	if (rc == -EAGAIN)
		signin_wait(q, r);
	else if (rc)
		api_refuse(q, r, REASON_UNAUTHENTICATED, nonce ? "code" : "id_token", "%s", why.text);
	return claims;
}

static const char *signin_word(const json_t *claims, const char *name)
{
	const char *text = json_string_value(json_object_get(claims, name));

	return text && *text && strlen(text) <= NAME_BYTES ? text : NULL;
}

/* Only a checked one: anybody can say any other. Issuers that say nothing of it have no others. */
static const char *signin_email(const json_t *claims)
{
	const json_t *verified = json_object_get(claims, "email_verified");

	return !verified || json_is_true(verified) ? signin_word(claims, "email") : NULL;
}

static const char *signin_name(const json_t *claims)
{
	const char *text = signin_word(claims, "name");

	text = text ? text : signin_word(claims, "preferred_username");
	text = text ? text : signin_email(claims);
	return text ? text : signin_word(claims, "sub");
}

/* The roles that "group=role,…" gives this group; NULL: all that it gives any. */
static int32_t signin_group_roles(const char *map, const char *group)
{
	int32_t roles = 0;

	for (const char *at = map; at && *at; at += strspn(at, ",")) {
		size_t len = strcspn(at, ","), equals = strcspn(at, "=");

		if (equals < len && (!group || (equals == strlen(group) && memcmp(at, group, equals) == 0)))
			roles |= role_read(at + equals + 1, len - equals - 1);
		at += len;
	}
	return roles;
}

/* The roles of all groups of the claim (0: none, or no such rule), and whether one makes an operator. */
static int32_t signin_roles(const struct signin_settings *set, const json_t *claims, bool *admin)
{
	const json_t *groups = set->groups ? json_object_get(claims, set->groups) : NULL, *group;
	int32_t roles = 0;
	size_t i;

	*admin = false;
	json_array_foreach(groups, i, group)
	{
		const char *name = json_string_value(group);

		roles |= name ? signin_group_roles(set->roles, name) : 0;
		*admin = *admin || (name && set->admin && strcmp(name, set->admin) == 0);
	}
	return roles;
}

/* ---- Which account ---------------------------------------------------------------------- */

struct joining {
	const char *name, *email, *identity;
	int32_t roles; /* by groups */
};

static int signin_join(struct api *api, struct request *as, struct reply *r, const struct joining *j, uint64_t account,
	int32_t roles, uint64_t invitation, const struct person **out)
{
	struct event ev = { .kind = EVENT_PERSON,
		.account = account,
		.name = j->name,
		.text = j->identity,
		.u.person = { .roles = roles, .invitation = invitation, .email = j->email } };
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	as->account = account;
	rc = api_apply(api, as, &ev, &did, &why);
	if (rc)
		return api_failed(as, r, rc, NULL, &why);
	*out = engine_person(market_engine(api->market), effects_made(did));
	return 0;
}

/* An account of their own, called as they like. */
static int signin_make_account(struct api *api, struct request *as, struct reply *r, const struct joining *j,
	const struct person **out)
{
	const char *name = body_text(as->body, "account");
	struct event ev = { .kind = EVENT_ACCOUNT, .name = name ? name : j->email ? j->email : j->name };
	const struct effects *did;
	struct fail why = { 0 };
	int rc = api_apply(api, as, &ev, &did, &why);

	if (rc)
		return api_failed(as, r, rc, "account", &why);
	return signin_join(api, as, r, j, effects_made(did), ROLE_OWNER, 0, out);
}

static int signin_first(struct api *api, struct request *as, struct reply *r, const struct joining *j,
	const struct person **out)
{
	const char *code = body_text(as->body, "invitation");
	const struct invitation *i = code ? np_invitation_of(market_engine(api->market), code) : NULL;

	if (code && !i)
		return api_refuse(as, r, REASON_NOT_FOUND, "invitation",
			"no such invitation: it was used, is over, or was ended; ask for a new one");
	if (i)
		return signin_join(api, as, r, j, i->account, j->roles, i->id, out);
	if (api->signin->accounts)
		return signin_make_account(api, as, r, j, out);
	return api_refuse(as, r, REASON_FORBIDDEN, NULL,
		"'%.100s' is no person of an account here; ask an owner for an invitation, then %s",
		j->email ? j->email : j->name, as->page ? "open its link" : "'nanopod login --invite CODE'");
}

/* What the issuer calls this person now, and these roles. */
static int signin_change(struct api *api, struct request *as, const struct joining *j, const struct person *x,
	int32_t roles, struct fail *why)
{
	bool name = strcmp(x->name, j->name) != 0, email = j->email && (!x->email || strcmp(x->email, j->email) != 0);
	struct event ev = { .kind = EVENT_PERSON_CHANGE,
		.account = x->account,
		.subject = x->id,
		.name = name ? j->name : NULL,
		.u.person = { .roles = roles != x->roles ? roles : 0, .email = email ? j->email : NULL } };

	return roles != x->roles || name || email ? api_apply(api, as, &ev, NULL, why) : 0;
}

/* Roles that groups can give follow the groups; others stay as an owner gave them. */
static int signin_follow(struct api *api, struct request *as, const struct joining *j, const struct person *x,
	struct fail *why)
{
	int32_t roles = (x->roles & ~signin_group_roles(api->signin->roles, NULL)) | j->roles;
	int rc = signin_change(api, as, j, x, roles ? roles : ROLE_VIEWER, why);

	/* The last owner stays one, whatever the groups say. */
	return rc == REASON_WRONG_STATE ? signin_change(api, as, j, x, roles | ROLE_OWNER, why) : rc;
}

static int signin_refresh(struct api *api, struct request *as, struct reply *r, const struct joining *j,
	const struct person *x)
{
	const struct account *a = engine_account(market_engine(api->market), x->account);
	struct fail why = { 0 };
	int rc;

	if (body_text(as->body, "invitation"))
		return api_refuse(as, r, REASON_WRONG_STATE, "invitation",
			"you are a person of account '%s' already, so the invitation stays unused; sign in without it: "
			"'nanopod login'",
			a->name);
	as->account = x->account;
	rc = signin_follow(api, as, j, x, &why);
	return rc ? api_failed(as, r, rc, NULL, &why) : 0;
}

/* What a person's tokens may who was an operator, and is none any more. */
static void signin_end_admin(struct api *api, const struct request *as, const struct person *x)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_TOKEN_REVOKE, .account = x->account };
	struct fail why = { 0 };
	const struct token *t;

	while ((t = engine_token_after(e, x->account, ev.subject))) {
		ev.subject = t->id;
		if (!t->revoked && t->person == x->id && (t->scopes & SCOPE_ADMIN))
			api_apply(api, as, &ev, NULL, &why);
	}
}

/* Of an operator it lives no longer than a page's session: at a terminal groups are looked at only at the sign-in. */
static void signin_token(struct api *api, const struct person *x, bool admin, int64_t life, struct event *ev)
{
	ev->u.token.scopes = auth_role_scopes(ROLES_ALL) | (admin ? SCOPE_ADMIN : 0);
	ev->u.token.person = x->id;
	ev->u.token.expires = market_now(api->market) + (admin && life > NP_SESSION_LIFE ? NP_SESSION_LIFE : life);
}

static void signin_identity(const struct api *api, const json_t *claims, char out[NAME_BYTES + 1])
{
	snprintf(out, NAME_BYTES + 1, "%s %s", issuer_settings(api->issuer)->url,
		json_string_value(json_object_get(claims, "sub")));
}

const struct person *signin_person(struct api *api, struct request *as, struct reply *r, const json_t *claims,
	int64_t life, struct event *ev)
{
	char identity[NAME_BYTES + 1];
	struct joining j = { .name = signin_name(claims), .email = signin_email(claims), .identity = identity };
	const struct person *x;
	bool admin;
	int status;

	j.roles = signin_roles(api->signin, claims, &admin);

	signin_identity(api, claims, identity);
	as->token = as->person = 0;
	as->scopes = 0;
	x = engine_person_known(market_engine(api->market), identity);
	status = x ? signin_refresh(api, as, r, &j, x) : signin_first(api, as, r, &j, &x);
	if (status)
		return NULL;
	as->person = x->id;
	if (!admin)
		signin_end_admin(api, as, x);
	signin_token(api, x, admin, life, ev);
	return x;
}

int signin_again(struct api *api, uint64_t person, const json_t *claims, struct fail *why)
{
	const struct person *x = engine_person(market_engine(api->market), person);
	char identity[NAME_BYTES + 1];
	struct joining j = { .name = signin_name(claims), .email = signin_email(claims), .identity = identity };
	struct request own = api_own(api, x ? x->account : 0);
	bool admin;
	int rc;

	j.roles = signin_roles(api->signin, claims, &admin);
	signin_identity(api, claims, identity);
	if (!x || engine_person_known(market_engine(api->market), identity) != x)
		return fail_set(why, REASON_FORBIDDEN, "the issuer names another person");
	if (j.name == signin_word(claims, "sub")) /* its name is not said again */
		j.name = x->name;
	quota_reduces(api->quotas); /* its account's quotas keep nobody in a role */
	rc = signin_follow(api, &own, &j, x, why);
	if (!admin)
		signin_end_admin(api, &own, x);
	return rc;
}

/* ---- Routes ----------------------------------------------------------------------------- */

static int get_signin(struct api *api, const struct request *q, struct reply *r)
{
	const struct issuer_settings *set = api->issuer ? issuer_settings(api->issuer) : NULL;

	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:o, s:s, s:b}", "object", "signin", "issuer", render_text(set ? set->url : NULL),
			"client_id", render_text(set ? set->client : NULL), "scope", SIGNIN_SCOPE, "accounts",
			(int)(set && api->signin->accounts)));
}

static int post_signin(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .name = "sign-in" };
	struct request as = *q;
	const struct account *a;
	const struct person *x;
	json_t *claims, *token;

	if (!signin_has_issuer(api, q, r) || signin_ready(api, q, r))
		return r->status;
	claims = signin_claims(api, q, r, body_text(q->body, "id_token"), NULL);
	if (!claims)
		return r->status;
	x = signin_person(api, &as, r, claims, api->signin->life, &ev);
	json_decref(claims);
	if (!x)
		return r->status;
	token = np_token_issue(api, &as, r, x->account, &ev);
	if (!token)
		return r->status;
	a = engine_account(market_engine(api->market), x->account);
	return api_json(q, r, 201,
		json_pack("{s:s, s:o, s:o, s:o, s:o}", "object", "signed_in", "account_id",
			render_id(IDENT_ACCOUNT, x->account), "account_name", render_text(a->name), "person",
			render_person(market_engine(api->market), x), "token", token));
}

/* Whoever has a token may end it, and the sessions of browsers that it began. */
static int delete_signin(struct api *api, const struct request *q, struct reply *r)
{
	const struct token *t = engine_token(market_engine(api->market), q->token);
	struct event ev = { .kind = EVENT_TOKEN_REVOKE, .subject = q->token };
	struct fail why = { 0 };
	int rc;

	if (!t || !t->person)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL,
			"this request has no token of a person; 'nanopod token revoke' ends others");
	ev.account = t->account;
	rc = api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	np_tokens_end_sessions(api, q, ev.account, ev.subject);
	return api_nothing(r);
}

const struct route api_np_signin_routes[] = {
	{ METHOD_GET, "/np/v1/signin", get_signin, 0, ROUTE_OPEN, "Get where people sign in", NULL, NULL, "np.Signin",
		200 },
	{ METHOD_POST, "/np/v1/signin", post_signin, 0, ROUTE_OPEN | ROUTE_SECRET,
		"Sign in with what the issuer signed: its answer has a token of the person", NULL, "np.SigninRequest",
		"np.SignedIn", 201 },
	{ METHOD_DELETE, "/np/v1/signin", delete_signin, NP_ANY, 0,
		"Sign out: end the token of this request, a person's", NULL, NULL, NULL, 204 },
	{ 0 },
};

static const struct schema_field signin_fields[] = {
	OBJECT_IS("signin"),
	{ "issuer", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: there are tokens alone" },
	{ "client_id", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "of this market at the issuer" },
	{ "scope", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "what to ask the issuer for" },
	{ "accounts", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0,
		"a first sign-in without an invitation makes an account" },
	{ 0 },
};

static const struct schema_field signin_request[] = {
	{ "id_token", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 16384,
		"as the issuer signed it, within the last minutes" },
	{ "invitation", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, "the code of an invitation" },
	{ "account", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "the name of an account that this makes" },
	{ 0 },
};

static const struct schema_field signed_in[] = {
	OBJECT_IS("signed_in"),
	{ "account_id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "person", SCHEMA_REF, FIELD_REQUIRED, "np.Person", 0, 0, NULL },
	{ "token", SCHEMA_REF, FIELD_REQUIRED, "np.NewToken", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_signin[] = {
	{ "np.Signin", SCHEMA_OBJECT, NULL, 0, 0, NULL, signin_fields, NULL },
	{ "np.SigninRequest", SCHEMA_OBJECT, NULL, 0, 0, NULL, signin_request, NULL },
	{ "np.SignedIn", SCHEMA_OBJECT, NULL, 0, 0, NULL, signed_in, NULL },
	{ 0 },
};
