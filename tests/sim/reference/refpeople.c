/* SPDX-License-Identifier: Apache-2.0 */
/* The people of the reference market's accounts, and who is invited. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum { ROLES_KNOWN = ROLE_OWNER | ROLE_BUYER | ROLE_PROVIDER | ROLE_VIEWER | ROLE_BILLING };

static bool short_text(const char *s)
{
	return !s || strlen(s) <= NAME_BYTES;
}

static bool known_roles(int32_t roles)
{
	return roles != 0 && (roles | ROLES_KNOWN) == ROLES_KNOWN;
}

static int owners(const struct reference *r, uint64_t account)
{
	int n = 0;

	for (size_t i = 0; i < r->people.n; i++) {
		const struct rperson *x = r->people.at[i];

		n += x->account == account && (x->roles & ROLE_OWNER);
	}
	return n;
}

static void uninvite(struct reference *r, struct rinvitation *i)
{
	free(i->name);
	ref_list_drop(&r->invited, i);
}

static void uninvite_all_of(struct reference *r, const struct rperson *x)
{
	for (size_t k = r->invited.n; k-- > 0;)
		if (((struct rinvitation *)r->invited.at[k])->by == x->id)
			uninvite(r, r->invited.at[k]);
}

static int join(struct reference *r, const struct event *ev)
{
	struct rinvitation *i = ref_list_find(&r->invited, ev->u.person.invitation);
	struct rperson *x;

	if (ev->u.person.invitation && (!i || i->account != ev->account))
		return REASON_NOT_FOUND;
	if (i && ev->at >= i->until)
		return REASON_WRONG_STATE;
	if (!ref_name_ok(ev->name) || !ref_name_ok(ev->text) || !short_text(ev->u.person.email) ||
		!known_roles(ev->u.person.roles | (i ? i->roles : 0)))
		return REASON_INVALID;
	for (size_t k = 0; k < r->people.n; k++)
		if (strcmp(((struct rperson *)r->people.at[k])->who, ev->text) == 0)
			return REASON_NAME_TAKEN;
	x = ref_more(NULL, 1, sizeof *x);
	*x = (struct rperson){ .id = r->next_id++,
		.account = ev->account,
		.who = ref_text(ev->text),
		.name = ref_text(ev->name),
		.email = ev->u.person.email ? ref_text(ev->u.person.email) : NULL,
		.roles = ev->u.person.roles | (i ? i->roles : 0) };
	ref_list_add(&r->people, x);
	if (i)
		uninvite(r, i);
	return 0;
}

static int change(struct reference *r, struct rperson *x, const struct event *ev)
{
	int32_t roles = ev->u.person.roles;

	if ((ev->name && !ref_name_ok(ev->name)) || !short_text(ev->u.person.email) || (roles && !known_roles(roles)))
		return REASON_INVALID;
	if (roles && !(roles & ROLE_OWNER) && (x->roles & ROLE_OWNER) && owners(r, x->account) == 1)
		return REASON_WRONG_STATE;
	if (ev->name) {
		free(x->name);
		x->name = ref_text(ev->name);
	}
	if (ev->u.person.email) {
		free(x->email);
		x->email = ref_text(ev->u.person.email);
	}
	if (roles && (roles | x->roles) != roles)
		uninvite_all_of(r, x);
	if (roles)
		x->roles = roles;
	return 0;
}

static void forget(struct rperson *x)
{
	free(x->who);
	free(x->name);
	free(x->email);
}

static int leave(struct reference *r, struct rperson *x)
{
	if ((x->roles & ROLE_OWNER) && owners(r, x->account) == 1)
		return REASON_WRONG_STATE;
	ref_caps_leave(r, x->id);
	for (size_t i = 0; i < r->tokens.n; i++)
		if (((struct rtoken *)r->tokens.at[i])->person == x->id)
			((struct rtoken *)r->tokens.at[i])->revoked = true;
	uninvite_all_of(r, x);
	forget(x);
	ref_list_drop(&r->people, x);
	return 0;
}

static int invite(struct reference *r, const struct event *ev)
{
	const struct rtoken *t = ref_list_find(&r->tokens, ev->token);
	struct rinvitation *i;
	size_t open = 0;

	if ((ev->name && !ref_name_ok(ev->name)) || !known_roles(ev->u.invitation.roles) ||
		ev->u.invitation.expires <= ev->at)
		return REASON_INVALID;
	for (size_t k = 0; k < r->invited.n; k++) {
		i = r->invited.at[k];
		if (memcmp(i->hash, ev->u.invitation.hash, TOKEN_HASH) == 0)
			return REASON_NAME_TAKEN;
		open += i->account == ev->account;
	}
	if (open >= 100)
		return REASON_LIMIT;
	i = ref_more(NULL, 1, sizeof *i);
	*i = (struct rinvitation){ .id = r->next_id++,
		.account = ev->account,
		.by = t && ref_list_find(&r->people, t->person) ? t->person : 0,
		.name = ev->name ? ref_text(ev->name) : NULL,
		.roles = ev->u.invitation.roles,
		.until = ev->u.invitation.expires };
	memcpy(i->hash, ev->u.invitation.hash, TOKEN_HASH);
	ref_list_add(&r->invited, i);
	return 0;
}

int ref_people(struct reference *r, const struct event *ev)
{
	struct rperson *x = ref_list_find(&r->people, ev->subject);
	struct rinvitation *i = ref_list_find(&r->invited, ev->subject);

	if (ev->kind == EVENT_PERSON)
		return join(r, ev);
	if (ev->kind == EVENT_INVITATION)
		return invite(r, ev);
	if (ev->kind == EVENT_INVITATION_END) {
		if (!i || i->account != ev->account)
			return REASON_NOT_FOUND;
		uninvite(r, i);
		return 0;
	}
	if (!x || x->account != ev->account)
		return REASON_NOT_FOUND;
	return ev->kind == EVENT_PERSON_CHANGE ? change(r, x, ev) : leave(r, x);
}

/* An invitation is over where its second lies in a minute that is. */
void ref_people_tick(struct reference *r)
{
	for (size_t k = r->invited.n; k-- > 0;) {
		struct rinvitation *i = r->invited.at[k];

		if (i->until <= 60 * r->minute)
			uninvite(r, i);
	}
}

void ref_people_dump(const struct reference *r, struct buf *out)
{
	for (size_t k = 0; k < r->people.n; k++) {
		const struct rperson *x = r->people.at[k];

		buf_addf(out, "person %" PRIu64 " %" PRIu64 " %d %s %s %s\n", x->id, x->account, x->roles, x->who,
			x->email ? x->email : "-", x->name);
	}
	for (size_t k = 0; k < r->tokens.n; k++) {
		const struct rtoken *t = r->tokens.at[k];

		if (t->person)
			buf_addf(out, "whose %" PRIu64 " %" PRIu64 "\n", t->id, t->person);
	}
	for (size_t k = 0; k < r->invited.n; k++) {
		const struct rinvitation *i = r->invited.at[k];

		buf_addf(out, "invitation %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRId64 " %s\n", i->id, i->account,
			i->by, i->roles, i->until, i->name ? i->name : "-");
	}
}

void ref_people_free(struct reference *r)
{
	for (size_t k = 0; k < r->people.n; k++)
		forget(r->people.at[k]);
	for (size_t k = 0; k < r->invited.n; k++)
		free(((struct rinvitation *)r->invited.at[k])->name);
}
