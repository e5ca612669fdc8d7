/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the reference market that are about agents, and what its operator says. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

bool ref_agent_of(const struct reference *r, uint64_t account, uint64_t id)
{
	const struct ragent *g = ref_list_find(&r->agents, id);

	return g && g->account == account && !g->retired;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* 43 digits are 258 bits: the last two must be nothing. */
static bool key_ok(const char *key)
{
	if (!key || strlen(key) != 44 || key[43] != '=')
		return false;
	for (int i = 0; i < 43; i++)
		if (base64_digit(key[i]) < 0)
			return false;
	return (base64_digit(key[42]) & 3) == 0;
}

static bool taken(const struct reference *r, const struct event *ev)
{
	for (size_t i = 0; i < r->agents.n; i++) {
		const struct ragent *g = r->agents.at[i];

		if (!g->retired &&
			((g->account == ev->account && strcmp(g->name, ev->name) == 0) ||
				strcmp(g->key, ev->text) == 0))
			return true;
	}
	return false;
}

static int agent_join(struct reference *r, const struct raccount *a, const struct event *ev)
{
	struct rtoken *t = ref_list_find(&r->tokens, ev->token);
	struct ragent *g;

	if (t && !(t->scopes & SCOPE_JOIN))
		t = NULL;
	if (a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (t && t->revoked)
		return REASON_WRONG_STATE;
	if (!ref_name_ok(ev->name) || !key_ok(ev->text) ||
		(ev->u.agent.machine && strlen(ev->u.agent.machine) > NAME_BYTES))
		return REASON_INVALID;
	if (taken(r, ev))
		return REASON_NAME_TAKEN;
	if (t)
		t->revoked = true;
	g = ref_more(NULL, 1, sizeof *g);
	*g = (struct ragent){ .id = r->next_id++,
		.account = a->id,
		.name = ref_text(ev->name),
		.key = ref_text(ev->text) };
	ref_list_add(&r->agents, g);
	return 0;
}

static bool has_hosts(const struct reference *r, uint64_t agent)
{
	for (size_t i = 0; i < r->hosts.n; i++)
		if (((struct rhost *)r->hosts.at[i])->agent == agent)
			return true;
	return false;
}

int ref_agent(struct reference *r, const struct raccount *a, const struct event *ev)
{
	struct ragent *g = ref_list_find(&r->agents, ev->subject);

	if (ev->kind == EVENT_AGENT)
		return agent_join(r, a, ev);
	if (!ref_agent_of(r, a->id, ev->subject))
		return REASON_NOT_FOUND;
	if (ev->kind == EVENT_AGENT_INVENTORY)
		return ev->text ? 0 : REASON_INVALID;
	if (ev->kind == EVENT_AGENT_RETIRE) {
		if (has_hosts(r, g->id))
			return REASON_HAS_DEPENDENTS;
		g->retired = true;
		ref_volumes_lost(r, g->id);
		return 0;
	}
	if (ev->u.agent_session.generation <= g->generation)
		return REASON_FENCED;
	g->generation = ev->u.agent_session.generation;
	return 0;
}

/* ---- What the operator says ------------------------------------------------------------- */

int ref_announce(struct reference *r, const struct event *ev)
{
	int64_t from = ev->u.announce.from, until = ev->u.announce.until;
	struct rword *w;

	if (ev->account && !ref_list_find(&r->accounts, ev->account))
		return REASON_NOT_FOUND;
	if (until == 0)
		until = MINUTE_MAX;
	if (!ev->text || !*ev->text || strlen(ev->text) > 300 || ev->u.announce.severity < 0 ||
		ev->u.announce.severity > 2 || from < 0 || until < 1 || until > MINUTE_MAX || until <= from ||
		until <= r->minute)
		return REASON_INVALID;
	if (r->words.n >= 100)
		return REASON_LIMIT;
	w = ref_more(NULL, 1, sizeof *w);
	*w = (struct rword){ .id = r->next_id++,
		.account = ev->account,
		.severity = ev->u.announce.severity,
		.from = from < r->minute ? r->minute : from,
		.until = until,
		.text = ref_text(ev->text) };
	ref_list_add(&r->words, w);
	return 0;
}

int ref_announce_end(struct reference *r, const struct event *ev)
{
	struct rword *w = ref_list_find(&r->words, ev->subject);

	if (!w || w->account != ev->account)
		return REASON_NOT_FOUND;
	free(w->text);
	ref_list_drop(&r->words, w);
	return 0;
}
