/* SPDX-License-Identifier: Apache-2.0 */
/* The people of an account, invitations to become one, and what each may spend. */
#include "marketd/engine/rules/account.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/trade.h"

static int people_check_roles(int32_t roles, struct fail *why)
{
	return roles && !(roles & ~ROLES_ALL) ? 0
					      : fail_set(why, REASON_INVALID, "a person needs at least one known role");
}

static int people_check_email(const char *email, struct fail *why)
{
	return !email || strlen(email) <= NAME_BYTES
		? 0
		: fail_set(why, REASON_INVALID, "an e-mail address has up to %d bytes", NAME_BYTES);
}

static void invitation_drop(struct engine *e, struct invitation *i)
{
	char key[TOKEN_KEY];

	world_unname(e, INVITATIONS, 0, token_key(i->hash, key));
	world_forget(e, INVITATIONS, i->id, i->account, i);
}

/* Who loses a role must not give it to himself by a code that he kept. */
static void invitation_drop_made_by(struct engine *e, uint64_t person)
{
	struct invitation *i, *next;

	for (i = rank_after(&e->all[INVITATIONS], 0); i; i = next) {
		next = rank_after(&e->all[INVITATIONS], i->id);
		if (i->maker == person)
			invitation_drop(e, i);
	}
}

/* ---- People ----------------------------------------------------------------------------- */

/* Whether the account would have no owner without this one. */
static bool people_last_owner(const struct engine *e, const struct person *x)
{
	const struct live_account *a = world_account(e, x->account);
	const struct person *other;

	if (!(x->roles & ROLE_OWNER))
		return false;
	for (size_t at = 0; (other = rank_next(&a->own[PEOPLE], &at));)
		if (other != x && (other->roles & ROLE_OWNER))
			return false;
	return true;
}

static int people_keep_owner(const struct engine *e, const struct person *x, struct fail *why)
{
	return people_last_owner(e, x)
		? fail_set(why, REASON_WRONG_STATE,
			  "'%s' is the last owner of the account; make another person owner first", x->name)
		: 0;
}

static int people_check_invitation(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct invitation *i = world_invitation(e, ev->u.person.invitation);

	if (!ev->u.person.invitation)
		return 0;
	if (!i || i->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such invitation, or it was used");
	return i->expires > ev->at ? 0 : fail_set(why, REASON_WRONG_STATE, "the invitation is over");
}

int person_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct invitation *i = world_invitation(e, ev->u.person.invitation);
	int32_t roles = ev->u.person.roles | (i ? i->roles : 0);
	int rc = check_account(e, ev, why);
	struct person *x;

	rc = rc ? rc : people_check_invitation(e, ev, why);
	rc = rc ? rc : check_name(ev->name, true, why);
	rc = rc ? rc : people_check_email(ev->u.person.email, why);
	rc = rc ? rc : people_check_roles(roles, why);
	if (rc)
		return rc;
	if (!ev->text || !*ev->text || strlen(ev->text) > NAME_BYTES)
		return fail_set(why, REASON_INVALID, "an identity has 1 to %d bytes", NAME_BYTES);
	if (world_named(e, PEOPLE, 0, ev->text))
		return fail_set(why, REASON_NAME_TAKEN, "this identity is a person already");
	x = must_zalloc(sizeof *x);
	*x = (struct person){ .id = world_id(e),
		.account = ev->account,
		.identity = must_copy(ev->text),
		.name = must_copy(ev->name),
		.email = must_copy(ev->u.person.email),
		.roles = roles,
		.created_at = ev->at };
	world_add(e, PEOPLE, x->id, x->account, x);
	world_name(e, PEOPLE, 0, x->identity, x);
	if (i)
		invitation_drop(e, i);
	emit_made(e, x->id);
	return 0;
}

static struct person *people_of(const struct engine *e, const struct event *ev)
{
	struct person *x = world_person(e, ev->subject);

	return x && x->account == ev->account ? x : NULL;
}

static void people_put(char **text, const char *to)
{
	if (!to)
		return;
	free(*text);
	*text = must_copy(to);
}

int person_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct person *x = people_of(e, ev);
	int32_t roles = ev->u.person.roles;
	int rc = check_account(e, ev, why);

	if (!rc && !x)
		return fail_set(why, REASON_NOT_FOUND, "no such person");
	rc = rc ? rc : check_name(ev->name, false, why);
	rc = rc ? rc : people_check_email(ev->u.person.email, why);
	if (!rc && roles)
		rc = people_check_roles(roles, why);
	if (!rc && roles && !(roles & ROLE_OWNER))
		rc = people_keep_owner(e, x, why);
	if (rc)
		return rc;
	people_put(&x->name, ev->name);
	people_put(&x->email, ev->u.person.email);
	if (roles && (x->roles & ~roles))
		invitation_drop_made_by(e, x->id);
	x->roles = roles ? roles : x->roles;
	return 0;
}

/* With everything that signs in as this person, or could again. */
int person_remove(struct engine *e, const struct event *ev, struct fail *why)
{
	struct person *x = people_of(e, ev);
	int rc = check_account(e, ev, why);
	struct live_account *a;
	struct token *t;

	if (!rc && !x)
		return fail_set(why, REASON_NOT_FOUND, "no such person");
	rc = rc ? rc : people_keep_owner(e, x, why);
	if (rc)
		return rc;
	a = world_account(e, x->account);
	for (size_t at = 0; (t = rank_next(&a->own[TOKENS], &at));) {
		if (t->person != x->id)
			continue;
		cap_inherit(t, x);
		if (!t->revoked)
			token_end(e, t);
	}
	invitation_drop_made_by(e, x->id);
	world_unname(e, PEOPLE, 0, x->identity);
	world_forget(e, PEOPLE, x->id, x->account, x);
	return 0;
}

/* ---- Invitations ------------------------------------------------------------------------ */

int invitation_make(struct engine *e, const struct event *ev, struct fail *why)
{
	const struct token *t = world_token(e, ev->token);
	const struct person *maker = t ? world_person(e, t->person) : NULL;
	int rc = check_account(e, ev, why);
	struct invitation *i;
	char key[TOKEN_KEY];

	rc = rc ? rc : check_name(ev->name, false, why);
	rc = rc ? rc : people_check_roles(ev->u.invitation.roles, why);
	if (rc)
		return rc;
	if (ev->u.invitation.expires <= ev->at)
		return fail_set(why, REASON_INVALID, "the invitation would be over already");
	if (world_named(e, INVITATIONS, 0, token_key(ev->u.invitation.hash, key)))
		return fail_set(why, REASON_NAME_TAKEN, "that invitation already exists");
	if (rank_live(&world_account(e, ev->account)->own[INVITATIONS]) >= INVITATIONS_MAX)
		return fail_set(why, REASON_LIMIT, "%d invitations are open; end one of them first", INVITATIONS_MAX);
	i = must_zalloc(sizeof *i);
	*i = (struct invitation){ .id = world_id(e),
		.account = ev->account,
		.maker = maker ? maker->id : 0,
		.name = must_copy(ev->name),
		.roles = ev->u.invitation.roles,
		.expires = ev->u.invitation.expires,
		.created_at = ev->at };
	memcpy(i->hash, ev->u.invitation.hash, TOKEN_HASH);
	world_add(e, INVITATIONS, i->id, i->account, i);
	world_name(e, INVITATIONS, 0, key, i);
	emit_made(e, i->id);
	return 0;
}

int invitation_end(struct engine *e, const struct event *ev, struct fail *why)
{
	struct invitation *i = world_invitation(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!i || i->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such invitation, or it was used");
	invitation_drop(e, i);
	return 0;
}

void invitation_forget(struct engine *e)
{
	struct invitation *i, *next;

	for (i = rank_after(&e->all[INVITATIONS], 0); i; i = next) {
		next = rank_after(&e->all[INVITATIONS], i->id);
		if (i->expires <= e->minute * 60)
			invitation_drop(e, i);
	}
}

/* ---- Caps -------------------------------------------------------------------------------- */

/* What the resting buys hold that count for it comes back. */
static void cap_stop_buying(struct engine *e, struct live_account *a, const struct spending *s)
{
	struct live_order *o;

	for (uint64_t after = 0; (o = rank_after(&a->own[ORDERS], after));) {
		after = o->pub.id;
		if (o->pub.side == SIDE_BUY && o->pub.month && cap_is_of(e, o->pub.token, s))
			trade_close(e, o, ORDER_CANCELLED, REASON_OVER_CAP);
	}
}

int cap_set(struct engine *e, const struct event *ev, struct fail *why)
{
	struct token *t = world_token(e, ev->subject);
	struct person *x = world_person(e, ev->subject);
	int64_t micros = ev->u.cap.micros;
	struct spending *s = t ? &t->spending : x ? &x->spending : NULL;
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!s || (t ? t->account : x->account) != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such person or token");
	if (t && t->revoked)
		return fail_set(why, REASON_WRONG_STATE, "the token is revoked");
	if (micros < -1 || micros > MONEY_MAX)
		return fail_set(why, REASON_INVALID, "a cap is not below 0, and can be counted");
	s->capped = micros >= 0;
	s->cap = s->capped ? micros : 0;
	if (s->capped && (!s->cap || cap_spent(e, s) > s->cap))
		cap_stop_buying(e, world_account(e, ev->account), s);
	return 0;
}
