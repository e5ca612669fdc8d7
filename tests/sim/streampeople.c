/* SPDX-License-Identifier: Apache-2.0 */
/* Random people of accounts, their tokens and invitations, and what nobody may ask of those. See stream.h. */
#include <string.h>

#include "stream.h"

static const char *const whos[] = { "https://id.example ann", "https://id.example bob", "https://id.example cem",
	"https://id.example dia", "https://other.example ann", "https://other.example eva" };

static const void *people_pick(struct stream *s, const struct list *l)
{
	return l->n ? l->at[rng_below(&s->people, (int64_t)l->n)] : NULL;
}

/* Mostly owners come and go: the last one is what matters. */
static int32_t people_roles(struct stream *s)
{
	return rng_percent(&s->people, 50) ? ROLE_OWNER : 1 + (int32_t)rng_below(&s->people, ROLES_ALL);
}

static void people_join(struct stream *s, struct event *ev)
{
	const struct rinvitation *i = rng_percent(&s->people, 50) ? people_pick(s, &s->r->invited) : NULL;

	ev->kind = EVENT_PERSON;
	ev->name = rng_percent(&s->people, 50) ? "Ann" : "Bob O'Brien";
	ev->text = whos[rng_below(&s->people, sizeof whos / sizeof *whos)];
	ev->u.person.email = rng_percent(&s->people, 50) ? "ann@example.org" : NULL;
	ev->u.person.roles = people_roles(s);
	if (!i)
		return;
	ev->u.person.invitation = i->id;
	ev->account = rng_percent(&s->people, 90) ? i->account : ev->account;
	if (rng_percent(&s->people, 50))
		ev->u.person.roles = 0;
	if (rng_percent(&s->people, 10)) /* too late, before a tick forgets it */
		ev->at = i->until > ev->at ? i->until : ev->at;
}

/* A token that a person had or has; NULL. */
static const struct rtoken *people_token(struct stream *s)
{
	const struct rtoken *t = NULL;

	for (int k = 0; k < 8 && !(t && t->person); k++)
		t = people_pick(s, &s->r->tokens);
	return t;
}

static void people_invite(struct stream *s, struct event *ev)
{
	const struct rtoken *t = people_token(s);

	ev->kind = EVENT_INVITATION;
	ev->name = rng_percent(&s->people, 50) ? "Ann" : NULL;
	ev->u.invitation.roles = people_roles(s);
	ev->u.invitation.expires = ev->at + 1 + rng_below(&s->people, s->inviting ? 1000000 : 300);
	ev->u.invitation.hash[0] = (uint8_t)(s->invitations >> 8);
	ev->u.invitation.hash[1] = (uint8_t)s->invitations++;
	ev->token = t && rng_percent(&s->people, 80) ? t->id : 0;
}

static void people_of_one(struct stream *s, struct event *ev, const struct rperson *x)
{
	ev->account = x->account;
	ev->subject = x->id;
	ev->kind = rng_percent(&s->people, 50) ? EVENT_PERSON_CHANGE : EVENT_PERSON_REMOVE;
	if (ev->kind == EVENT_PERSON_REMOVE)
		return;
	ev->u.person.roles = rng_percent(&s->people, 70) ? people_roles(s) : 0;
	ev->name = rng_percent(&s->people, 30) ? "Ann-Marie" : NULL;
	ev->u.person.email = rng_percent(&s->people, 30) ? "am@example.org" : NULL;
}

static void do_people(struct stream *s, struct event *ev)
{
	const struct raccount *a = people_pick(s, &s->r->accounts);
	const struct rperson *x = people_pick(s, &s->r->people);
	const struct rinvitation *i = people_pick(s, &s->r->invited);

	if (s->inviting && a)
		a = s->r->accounts.at[0]; /* has too many the soonest */
	*ev = (struct event){ .at = ev->at, .account = a ? a->id : 0 };
	if (s->inviting ? rng_percent(&s->people, 95) : rng_percent(&s->people, 25))
		people_invite(s, ev);
	else if (x && rng_percent(&s->people, 40))
		people_of_one(s, ev, x);
	else if (i && rng_percent(&s->people, 35))
		*ev = (struct event){ .kind = EVENT_INVITATION_END,
			.at = ev->at,
			.account = i->account,
			.subject = i->id };
	else
		people_join(s, ev);
}

void stream_people(struct stream *s, struct event *ev)
{
	const struct rperson *x = people_pick(s, &s->r->people);

	if (ev->kind == EVENT_RULES || s->step <= 26)
		return;
	if (ev->kind == EVENT_TOKEN && x && rng_percent(&s->people, 70)) {
		ev->u.token.person = x->id;
		ev->account = rng_percent(&s->people, 90) ? x->account : ev->account;
	} else if (rng_percent(&s->people, s->inviting ? 60 : 4)) {
		do_people(s, ev);
	}
}

static char people_long[NAME_BYTES + 2];

bool stream_people_spoil(struct stream *s, struct event *ev)
{
	bool invites = ev->kind == EVENT_INVITATION, changes = ev->kind == EVENT_PERSON_CHANGE;
	int32_t *roles = invites ? &ev->u.invitation.roles : &ev->u.person.roles;

	memset(people_long, 'p', sizeof people_long - 1);
	if (ev->kind == EVENT_PERSON_REMOVE || ev->kind == EVENT_INVITATION_END) {
		if (rng_percent(&s->people, 50))
			ev->subject = s->r->next_id;
		else
			ev->at = s->r->at - 1;
		return true;
	}
	if (ev->kind != EVENT_PERSON && !changes && !invites)
		return false;
	switch (rng_below(&s->people, 6)) {
	case 0:
		*roles = rng_percent(&s->people, 50) ? -1 : ROLES_ALL + 1;
		break;
	case 1:
		ev->name = rng_percent(&s->people, 50) ? "" : people_long;
		break;
	case 2:
		ev->account = s->r->next_id;
		break;
	case 3:
		if (invites)
			ev->u.invitation.expires = ev->at;
		else
			ev->u.person.email = people_long;
		break;
	case 4:
		if (invites)
			ev->u.invitation.hash[0] = ev->u.invitation.hash[1] = 0;
		else if (changes)
			ev->subject = s->r->next_id;
		else
			ev->u.person.invitation = s->r->next_id;
		break;
	default:
		if (ev->kind == EVENT_PERSON)
			ev->text = rng_percent(&s->people, 50) ? people_long : NULL;
		else
			*roles = 1 << 10;
		break;
	}
	return true;
}
