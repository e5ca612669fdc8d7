/* SPDX-License-Identifier: Apache-2.0 */
/* People, invitations, and what a sign-in brings. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "market/wire_part.h"

static const struct wire_field people[] = {
	FIELD(model_person, "id", TEXT, NEEDED, id),
	FIELD(model_person, "name", TEXT, NEEDED, name),
	FIELD(model_person, "email", TEXT, MAY, email),
	FIELD(model_person, "roles", TEXTS, MAY, roles),
	FIELD(model_person, "issuer", TEXT, MAY, issuer),
	FIELD(model_person, "subject", TEXT, MAY, subject),
	FIELD(model_person, "created_at", INT, MAY, created_at),
	FIELD(model_person, "cap_dollars", MONEY, MAY, cap),
	FIELD(model_person, "spent_dollars", MONEY, MAY, spent),
	{ 0 },
};

_Static_assert(offsetof(struct model_person, role_count) == offsetof(struct model_person, roles) + sizeof(void *),
	"a list's count stands behind it");

int wire_person(struct doc *d, long at, struct model_person *out, struct fail *f)
{
	struct model_person made = { .cap = MODEL_NONE };
	int rc = wire_read(d, at, "a person", people, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_person_in(struct doc *d, struct json_t *o, struct model_person *out, struct fail *f)
{
	return o ? wire_fields(d, o, people, "a person", out, f) : 0;
}

int wire_personhood(struct doc *d, long at, struct model_personhood *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_personhood, "account_name", TEXT, NEEDED, account),
		FIELD(model_personhood, "state", TEXT, NEEDED, state),
		FIELD(model_personhood, "score", TEXT, MAY, score),
		FIELD(model_personhood, "address", TEXT, MAY, address),
		FIELD(model_personhood, "person", TEXT, MAY, person),
		FIELD(model_personhood, "checked_at", TEXT, MAY, checked_at),
		FIELD(model_personhood, "problem", TEXT, MAY, problem),
		FIELD(model_personhood, "end_at", INT, MAY, end_at),
		{ 0 },
	};
	struct model_personhood made = { 0 };
	struct json_t *o = wire_object(d, at, "a personhood", f);
	int rc = o ? wire_fields(d, o, fields, "a personhood", &made, f) : -EPROTO;

	if (rc)
		return rc;
	made.passing = wire_shown(d, o, "passing");
	if (made.passing && strcmp(made.passing, "null") == 0)
		made.passing = NULL;
	*out = made;
	return 0;
}

int wire_invitation(struct doc *d, long at, struct model_invitation *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_invitation, "id", TEXT, NEEDED, id),
		FIELD(model_invitation, "name", TEXT, MAY, name),
		FIELD(model_invitation, "code", TEXT, MAY, code),
		FIELD(model_invitation, "roles", TEXTS, MAY, roles),
		FIELD(model_invitation, "expires_at", INT, MAY, expires_at),
		{ 0 },
	};
	struct model_invitation made = { 0 };
	int rc = wire_read(d, at, "an invitation", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_signed_in(struct doc *d, const char **token, struct fail *f)
{
	static const struct wire_field fields[] = { { "token", WIRE_TEXT, true, 0 }, { 0 } };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "a sign-in", f);

	return o ? wire_fields(d, wire_member(o, "token"), fields, "a token", token, f) : -EPROTO;
}
