/* SPDX-License-Identifier: Apache-2.0 */
/* Agents in a random market: machines that join, come again and leave, and hosts that are theirs. See stream.h. */
#include "stream.h"

#include <string.h>

enum { AGENTS_MOST = 8, KEYS = 10 };

static const char *const keys[KEYS] = {
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "//////////////////////////////////////////8=",
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ=", "0123456789+/0123456789+/0123456789+/0123456=",
	"one+++++++++++++++++++++++++++++++++++++++E=", "two+++++++++++++++++++++++++++++++++++++++I=",
	"three+++++++++++++++++++++++++++++++++++++M=", "four++++++++++++++++++++++++++++++++++++++c=",
	"five++++++++++++++++++++++++++++++++++++++g=", "six+++++++++++++++++++++++++++++++++++++++k=",
};

static const char machine_long[] = "................................................................"
				   "................................................................"
				   "................................................................"
				   "................................................................";

static struct ragent *pick_agent(struct stream *s)
{
	return s->r->agents.n ? s->r->agents.at[rng_below(&s->late, (int64_t)s->r->agents.n)] : NULL;
}

static bool do_join(struct stream *s, struct event *ev)
{
	static const char *const names[] = { "ann", "ben", "cat", "dan", "eli", "fox" };
	const struct raccount *a = s->r->accounts.n ? s->r->accounts.at[rng_below(&s->late, (int64_t)s->r->accounts.n)]
						    : NULL;

	if (!a || s->r->agents.n >= 5 * AGENTS_MOST)
		return false;
	ev->kind = EVENT_AGENT;
	ev->account = a->id;
	ev->name = names[rng_below(&s->late, 6)];
	ev->text = keys[rng_below(&s->late, KEYS)];
	ev->u.agent.machine = rng_percent(&s->late, 70) ? "a machine" : NULL;
	if (s->r->tokens.n && rng_percent(&s->late, 70))
		ev->token = ((struct rtoken *)s->r->tokens.at[rng_below(&s->late, (int64_t)s->r->tokens.n)])->id;
	return true;
}

static bool do_of_agent(struct stream *s, struct event *ev, enum event_kind kind)
{
	const struct ragent *g = pick_agent(s);

	for (int i = 0; i < 4 && g && g->retired; i++)
		g = pick_agent(s);
	if (!g)
		return false;
	ev->kind = kind;
	ev->account = g->account;
	ev->subject = g->id;
	if (kind == EVENT_AGENT_SESSION) {
		ev->u.agent_session.generation = g->generation + (uint64_t)rng_below(&s->late, 4);
		ev->u.agent_session.hash[0] = (uint8_t)ev->u.agent_session.generation;
	}
	if (kind == EVENT_AGENT_INVENTORY)
		ev->text = "{}";
	return true;
}

static bool do_of_agents(struct stream *s, struct event *ev)
{
	switch (rng_below(&s->late, 8)) {
	case 0:
	case 1:
	case 2: return do_join(s, ev);
	case 3:
	case 4: return do_of_agent(s, ev, EVENT_AGENT_SESSION);
	case 5: return do_of_agent(s, ev, EVENT_AGENT_INVENTORY);
	default: return do_of_agent(s, ev, EVENT_AGENT_RETIRE);
	}
}

/* An agent of the account, rather than any. */
static uint64_t agent_for(struct stream *s, uint64_t account)
{
	const struct ragent *g = pick_agent(s);

	for (int i = 0; i < 8 && g && (g->retired || g->account != account); i++)
		g = pick_agent(s);
	return g && (g->account == account || rng_percent(&s->late, 10)) ? g->id : 0;
}

/* Some host drains, from soon on, or sells again. */
static bool do_drain(struct stream *s, struct event *ev)
{
	const struct list *all = &s->r->hosts;
	const struct rhost *h = all->n ? all->at[rng_below(&s->late, (int64_t)all->n)] : NULL;
	bool over = h && h->drain && rng_percent(&s->late, 70);

	if (!h)
		return false;
	ev->kind = EVENT_HOST_DRAIN;
	ev->account = h->account;
	ev->subject = h->id;
	if (over)
		return true;
	ev->text = rng_percent(&s->late, 30) ? "new fans" : NULL;
	ev->u.host_drain.ends = rng_percent(&s->late, 60);
	ev->u.host_drain.from = s->r->minute + 1 + rng_below(&s->late, 60);
	ev->u.host_drain.by_operator = rng_percent(&s->late, 20);
	if (ev->u.host_drain.ends && rng_percent(&s->late, 60))
		ev->u.host_drain.from += rng_percent(&s->late, 50) ? ref_notice(s->r) : ref_drain_notice(s->r);
	return true;
}

static bool stream_is_up(const struct stream *s, uint64_t host)
{
	const struct rhost *h = ref_list_find(&s->r->hosts, host);

	return h && !h->down;
}

void stream_agents(struct stream *s, struct event *ev)
{
	struct event other = { .at = ev->at };

	if (rng_percent(&s->late, s->r->rules > 1 || s->step > 30 ? 1 : 8)) {
		*ev = (struct event){ .kind = EVENT_RULES, .at = ev->at, .u.rules.edition = RULES_NEWEST };
		return;
	}

	if (ev->kind != EVENT_HOST && rng_percent(&s->late, s->step < 30 ? 25 : 6) && do_of_agents(s, &other)) {
		*ev = other;
		return;
	}
	if (s->step > 30 && rng_percent(&s->late, 2) && do_drain(s, &other)) {
		*ev = other;
		return;
	}
	switch (ev->kind) {
	case EVENT_POLICY:
		ev->u.policy.drain_notice_minutes = rng_percent(&s->late, 90) ? (int32_t)rng_below(&s->late, 60) : 0;
		break;
	case EVENT_HOST:
		if (rng_percent(&s->late, 80))
			ev->u.host.agent = agent_for(s, ev->account);
		break;
	case EVENT_HOST_STATE:
		ev->u.host_state.watch = rng_percent(&s->late, 60);
		if (ev->u.host_state.down && rng_percent(&s->late, 80))
			ev->u.host_state.since = s->r->minute - rng_below(&s->late, rng_percent(&s->late, 50) ? 4 : 60);
		if (ev->u.host_state.down && rng_percent(&s->late, 50))
			ev->text = "a fan stands still";
		if (ev->u.host_state.since < 0 || rng_percent(&s->late, 5))
			ev->u.host_state.since = ev->u.host_state.down ? s->r->minute + 2 : 0;
		if (ev->u.host_state.watch && !ev->u.host_state.down && stream_is_up(s, ev->subject))
			ev->u.host_state.since = s->r->minute - rng_below(&s->late, rng_percent(&s->late, 50) ? 4 : 60);
		if (ev->u.host_state.since < 0)
			ev->u.host_state.since = 0;
		break;
	case EVENT_INSTANCE_CHANGE:
		if (rng_percent(&s->late, 60))
			ev->u.instance_change.user_data = rng_percent(&s->late, 50) ? "a2V5" : "bm9uZQ==";
		break;
	case EVENT_TOKEN:
		if (rng_percent(&s->late, 50))
			ev->u.token.scopes = rng_percent(&s->late, 80) ? SCOPE_JOIN : ev->u.token.scopes | SCOPE_JOIN;
		break;
	default: break;
	}
}

static void spoil_join(struct stream *s, struct event *ev)
{
	static const char *const bad[] = { NULL, "", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAAAAAAAAAAA-AAAAAAAAAAAAAAAAAAAAAA=",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==" };

	if (rng_percent(&s->late, 20))
		ev->u.agent.machine = machine_long;
	else
		ev->text = bad[rng_below(&s->late, sizeof bad / sizeof bad[0])];
}

bool stream_agents_spoil(struct stream *s, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_POLICY:
		ev->u.policy.drain_notice_minutes = rng_percent(&s->late, 50) ? -1 : DRAIN_NOTICE_MAX + 1;
		return rng_percent(&s->late, 20);
	case EVENT_AGENT: spoil_join(s, ev); return true;
	case EVENT_AGENT_SESSION: ev->u.agent_session.generation = (uint64_t)rng_below(&s->late, 2); return true;
	case EVENT_AGENT_INVENTORY: ev->text = NULL; return true;
	case EVENT_AGENT_RETIRE: return true;
	case EVENT_HOST_DRAIN:
		switch (rng_below(&s->late, 5)) {
		case 0:
			ev->u.host_drain.from = -1;
			break;
		case 1:
			ev->u.host_drain.from = MINUTE_MAX;
			break;
		case 2:
			ev->text = machine_long;
			break;
		case 3:
			ev->u.host_drain.from = s->r->minute + 1;
			break;
		default:
			ev->u.host_drain.from = 0;
			break;
		}
		return true;
	case EVENT_RULES:
		ev->u.rules.edition = 1 + 3 * (int32_t)rng_below(&s->late, 2);
		return true;
	case EVENT_HOST_STATE:
		ev->u.host_state.since = ev->u.host_state.down || rng_percent(&s->late, 30) ? -1 : s->r->minute;
		return true;
	case EVENT_HOST:
		if (rng_percent(&s->late, 70))
			return false;
		ev->u.host.agent = 1 + (uint64_t)rng_below(&s->late, (int64_t)s->r->next_id);
		return true;
	default: return false;
	}
}
