/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The people of an account and invitations to become one. Who gives or takes a role needs the scopes that it has, so
 * nobody makes himself or others more than he is.
 */

#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

#define INVITE_PREFIX "npi_"

enum { INVITATION_LIFE = 7 * 86400, INVITATION_LIFE_MAX = 90 * 86400 };

static int32_t people_roles_read(const json_t *list)
{
	int32_t roles = 0;
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) roles |= role_read(json_string_value(item), json_string_length(item));
	return roles;
}

/* May the caller give or take these roles? */
static bool people_may(const struct request *q, struct reply *r, int32_t roles)
{
	if (!(auth_role_scopes(roles) & ~np_allowed(q)))
		return true;
	api_refuse(q, r, REASON_FORBIDDEN, "roles",
		"who gives or takes a role needs a token with the scopes that it has");
	return false;
}

/* A name may be anything, so one that looks like an e-mail address finds nobody. */
static bool people_called(const struct person *x, const char *text)
{
	return strchr(text, '@') ? x->email && strcasecmp(x->email, text) == 0 : strcmp(x->name, text) == 0;
}

/* By id, e-mail or name, where only one has that. NULL: refused. */
const struct person *np_people_find(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct person *x, *found = NULL;
	const char *text = q->parts[0];
	uint64_t id = 0;
	int count = 0;

	if (ident_parse(IDENT_PERSON, text, &id) && (x = engine_person(e, id)) &&
		(!q->account || x->account == q->account))
		return x;
	for (x = engine_person_after(e, q->account, 0); x; x = engine_person_after(e, q->account, x->id))
		if (people_called(x, text)) {
			found = x;
			count++;
		}
	if (count == 1)
		return found;
	api_refuse(q, r, count ? REASON_INVALID : REASON_NOT_FOUND, "person",
		count ? "several people are called '%s'; give an id" : "no person '%s'", text);
	return NULL;
}

static int list_people(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();

	for (const struct person *x = engine_person_after(e, q->account, 0); x;
		x = engine_person_after(e, q->account, x->id))
		json_array_append_new(data, render_person(e, x));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int patch_person(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct person *x = np_people_find(api, q, r);
	struct event ev = { .kind = EVENT_PERSON_CHANGE };
	struct fail why = { 0 };
	int rc;

	if (!x)
		return r->status;
	ev.account = x->account;
	ev.subject = x->id;
	ev.u.person.roles = people_roles_read(json_object_get(q->body, "roles"));
	if (!people_may(q, r, ev.u.person.roles | x->roles))
		return r->status;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_json(q, r, 200, render_person(e, x));
}

static int delete_person(struct api *api, const struct request *q, struct reply *r)
{
	const struct person *x = np_people_find(api, q, r);
	struct fail why = { 0 };
	int rc;

	if (!x || !people_may(q, r, x->roles))
		return r->status;
	rc = api_apply_to(api, q, EVENT_PERSON_REMOVE, x->account, x->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* ---- Invitations ------------------------------------------------------------------------ */

static json_t *invitation_json(const struct invitation *i)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "object", "invitation", "id",
		render_id(IDENT_INVITATION, i->id), "account", render_id(IDENT_ACCOUNT, i->account), "name",
		render_text(i->name), "roles", render_roles(i->roles), "created_at", (json_int_t)i->created_at,
		"expires_at", (json_int_t)i->expires);
}

const struct invitation *np_invitation_of(const struct engine *e, const char *code)
{
	uint8_t hash[TOKEN_HASH];

	SHA256((const unsigned char *)code, strlen(code), hash);
	return engine_invitation_hashed(e, hash);
}

static int post_invitation(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_INVITATION, .name = body_text(q->body, "name") };
	const struct effects *did;
	char code[NP_SECRET];
	struct fail why = { 0 };
	json_t *o;
	int rc;

	if (!api_whose(q, r, &ev.account))
		return r->status;
	ev.u.invitation.roles = people_roles_read(json_object_get(q->body, "roles"));
	ev.u.invitation.expires = market_now(api->market) + body_int(q->body, "expires_in_seconds", INVITATION_LIFE);
	if (!people_may(q, r, ev.u.invitation.roles) || !np_uncapped(api, q, r))
		return r->status;
	if (np_secret(INVITE_PREFIX, code) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the kernel gave no random bytes");
	SHA256((const unsigned char *)code, strlen(code), ev.u.invitation.hash);
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	o = invitation_json(engine_invitation(e, effects_made(did)));
	json_object_set_new(o, "code", json_string(code));
	explicit_bzero(code, sizeof code);
	return api_json(q, r, 201, o);
}

static int list_invitations(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();

	for (const struct invitation *i = engine_invitation_after(e, q->account, 0); i;
		i = engine_invitation_after(e, q->account, i->id))
		json_array_append_new(data, invitation_json(i));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int delete_invitation(struct api *api, const struct request *q, struct reply *r)
{
	const struct invitation *i = NULL;
	struct fail why = { 0 };
	uint64_t id = 0;
	int rc;

	if (ident_parse(IDENT_INVITATION, q->parts[0], &id))
		i = engine_invitation(market_engine(api->market), id);
	if (!i || (q->account && i->account != q->account))
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no invitation '%s', or it was used", q->parts[0]);
	rc = api_apply_to(api, q, EVENT_INVITATION_END, i->account, i->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

const struct route api_np_people_routes[] = {
	{ METHOD_GET, "/np/v1/people", list_people, SCOPE_READ, 0, "List the people of the account", NULL, NULL,
		"np.PersonList", 200 },
	{ METHOD_PATCH, "/np/v1/people/{person}", patch_person, SCOPE_TOKENS, 0,
		"Give a person, by id, e-mail or name, other roles", NULL, "np.PatchPersonRequest", "np.Person", 200 },
	{ METHOD_DELETE, "/np/v1/people/{person}", delete_person, SCOPE_TOKENS, 0,
		"Remove a person, and revoke all tokens of that person", NULL, NULL, NULL, 204 },
	{ METHOD_POST, "/np/v1/invitations", post_invitation, SCOPE_TOKENS, ROUTE_CREATES | ROUTE_SECRET,
		"Invite somebody to the account; only this answer shows the code", NULL, "np.CreateInvitationRequest",
		"np.NewInvitation", 201 },
	{ METHOD_GET, "/np/v1/invitations", list_invitations, SCOPE_TOKENS, 0, "List open invitations", NULL, NULL,
		"np.InvitationList", 200 },
	{ METHOD_DELETE, "/np/v1/invitations/{id}", delete_invitation, SCOPE_TOKENS, 0, "End an invitation", NULL, NULL,
		NULL, 204 },
	{ 0 },
};

/* ---- Shapes ----------------------------------------------------------------------------- */

#define OBJECT(name, fields) \
	{ \
		name, SCHEMA_OBJECT, NULL, 0, 0, NULL, fields, NULL \
	}
#define ROLES(what) \
	{ \
		"roles", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Role", 1, 5, what \
	}

static const struct schema_field people_person[] = {
	OBJECT_IS("person"),
	ID_OF("pers"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "as the issuer says" },
	{ "email", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "the same; null: unknown" },
	ROLES(NULL),
	{ "issuer", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "who knows this person" },
	{ "subject", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "as whom" },
	TIME("created_at", FIELD_REQUIRED),
	SPENDING,
	{ 0 },
};

static const struct schema_field people_list[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Person", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field people_patch[] = {
	ROLES("all of them: others end"),
	{ 0 },
};

static const struct schema_field people_invite[] = {
	ROLES(NULL),
	{ "name", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "for whom" },
	{ "expires_in_seconds", SCHEMA_INTEGER, FIELD_NULL, NULL, 60, INVITATION_LIFE_MAX, "absent: a week" },
	{ 0 },
};

static const struct schema_field people_invitation[] = {
	OBJECT_IS("invitation"),
	ID_OF("invt"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "for whom" },
	ROLES(NULL),
	TIME("created_at", FIELD_REQUIRED),
	TIME("expires_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field people_new_invitation[] = {
	{ "code", SCHEMA_STRING, FIELD_REQUIRED, "^npi_[A-Za-z0-9_-]+$", 0, 64,
		"for 'nanopod login --invite'; shown only here" },
	{ 0 },
};

static const struct schema_field people_invitations[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Invitation", 0, 0, "neither used nor over" },
	{ 0 },
};

const struct schema schema_np_people[] = {
	{ "np.Role", SCHEMA_ENUM, "owner|buyer|provider|viewer|billing", 0, 0, NULL, NULL, NULL },
	OBJECT("np.Person", people_person),
	OBJECT("np.PersonList", people_list),
	OBJECT("np.PatchPersonRequest", people_patch),
	OBJECT("np.CreateInvitationRequest", people_invite),
	OBJECT("np.Invitation", people_invitation),
	{ "np.NewInvitation", SCHEMA_OBJECT, NULL, 0, 0, "np.Invitation", people_new_invitation, NULL },
	OBJECT("np.InvitationList", people_invitations),
	{ 0 },
};
