/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the reference market that are about people, hosts and instances. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum { SCOPES_KNOWN = SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN |
	SCOPE_JOIN };

bool ref_name_ok(const char *name)
{
	return name && *name && strlen(name) <= NAME_BYTES;
}

struct rpool *ref_pool(const struct reference *r, uint64_t account, uint64_t id)
{
	struct rpool *p = ref_list_find(&r->pools, id);

	return p && p->account == account ? p : NULL;
}

static struct rhost *ref_host(const struct reference *r, uint64_t account, uint64_t id)
{
	struct rhost *h = ref_list_find(&r->hosts, id);

	return h && h->account == account ? h : NULL;
}

static void rename_to(char **name, const char *to)
{
	free(*name);
	*name = ref_text(to);
}

/* ---- The market itself ------------------------------------------------------------------ */

static bool between(int64_t x, int64_t low, int64_t high)
{
	return low <= x && x <= high;
}

static int ev_rules(struct reference *r, const struct event *ev)
{
	if (ev->u.rules.edition <= r->rules || ev->u.rules.edition > 5)
		return REASON_INVALID;
	r->rules = ev->u.rules.edition;
	return 0;
}

static int ev_policy(struct reference *r, const struct event *ev)
{
	const struct policy *p = &ev->u.policy;

	if (!between(p->fee_bps, 0, 10000) || !between(p->release_bps, 0, 10000) ||
		!between(p->settle_minutes, 1, 525600) || !between(p->notice_minutes, 0, 1440) ||
		!between(p->drain_notice_minutes, 0, 43200) || !between(p->volume_grace_minutes, 0, 525600))
		return REASON_INVALID;
	r->policy = *p;
	return 0;
}

static int ev_sku(struct reference *r, const struct event *ev)
{
	struct rsku *s = ref_list_find(&r->skus, ev->subject);

	if (ev->subject && !s)
		return REASON_NOT_FOUND;
	if ((!s && !between(ev->u.sku.gpus, 0, 1024)) || ((!s || ev->name) && !ref_name_ok(ev->name)))
		return REASON_INVALID;
	for (size_t i = 0; ev->name && i < r->skus.n; i++) {
		const struct rsku *other = r->skus.at[i];

		if (other != s && strcmp(other->name, ev->name) == 0)
			return REASON_NAME_TAKEN;
	}
	if (s) {
		if (ev->name)
			rename_to(&s->name, ev->name);
		if (s->asks && !ev->u.sku.proof)
			ref_mark_add(&r->wanted, s->id);
		s->asks = ev->u.sku.proof;
		return 0;
	}
	s = ref_more(NULL, 1, sizeof *s);
	*s = (struct rsku){ r->next_id++, ref_text(ev->name), ev->u.sku.gpus, ev->u.sku.proof };
	ref_list_add(&r->skus, s);
	return 0;
}

/* ---- Accounts and tokens ---------------------------------------------------------------- */

/* Down to where its money may go, or has gone already. */
static wide may_owe(const struct reference *r, const struct raccount *a, int64_t floor)
{
	int64_t has = ref_available(r, a->id);

	return has < floor ? has : floor;
}

/* Whether all money and all that may be owed could be counted, with so much more of it. */
bool ref_too_much(const struct reference *r, const struct raccount *but, wide more)
{
	more -= ref_book_balance(r, 0, BOOK_ISSUED, 0);
	for (size_t i = 0; i < r->accounts.n; i++)
		if (r->accounts.at[i] != but)
			more -= may_owe(r, r->accounts.at[i], ((struct raccount *)r->accounts.at[i])->floor);
	return more > (wide)4000000000000000000;
}

static int ev_account(struct reference *r, const struct event *ev)
{
	struct raccount *a;
	uint64_t id = r->next_id;

	if (ev->u.account.beneficiary && !ref_list_find(&r->accounts, ev->u.account.beneficiary))
		return REASON_NOT_FOUND;
	if (!ref_name_ok(ev->name) || ev->u.account.floor > 0)
		return REASON_INVALID;
	for (size_t i = 0; i < r->accounts.n; i++)
		if (strcmp(((struct raccount *)r->accounts.at[i])->name, ev->name) == 0)
			return REASON_NAME_TAKEN;
	if (ref_too_much(r, NULL, -(wide)ev->u.account.floor))
		return REASON_OVERFLOW;
	a = ref_more(NULL, 1, sizeof *a);
	*a = (struct raccount){ id, ev->u.account.beneficiary ? ev->u.account.beneficiary : id, ref_text(ev->name),
		ACCOUNT_OPEN, ev->u.account.floor, NULL, 0, 0, 0, 0, false };
	r->next_id++;
	ref_list_add(&r->accounts, a);
	return 0;
}

static int ev_account_state(struct reference *r, struct raccount *a, const struct event *ev)
{
	if (!between(ev->u.account_state.state, 0, 2) || ev->u.account_state.floor > 0)
		return REASON_INVALID;
	if (ref_available(r, a->id) < ev->u.account_state.floor && ev->u.account_state.floor > a->floor)
		return REASON_FUNDS;
	if (ref_too_much(r, a, -may_owe(r, a, ev->u.account_state.floor)))
		return REASON_OVERFLOW;
	ref_by_hand(r, a, ev->u.account_state.state);
	a->floor = ev->u.account_state.floor;
	return 0;
}

static int ev_token(struct reference *r, const struct event *ev)
{
	struct rtoken *t;
	const struct rperson *who = ref_list_find(&r->people, ev->u.token.person);

	if (ev->u.token.person && (!who || who->account != ev->account))
		return REASON_NOT_FOUND;
	if (ev->u.token.scopes == 0 || (ev->u.token.scopes & ~SCOPES_KNOWN) ||
		(ev->u.token.expires && ev->u.token.expires <= ev->at) || (ev->name && strlen(ev->name) > NAME_BYTES))
		return REASON_INVALID;
	for (size_t i = 0; i < r->tokens.n; i++)
		if (memcmp(((struct rtoken *)r->tokens.at[i])->hash, ev->u.token.hash, TOKEN_HASH) == 0)
			return REASON_NAME_TAKEN;
	t = ref_more(NULL, 1, sizeof *t);
	*t = (struct rtoken){ .id = r->next_id++,
		.account = ev->account,
		.name = ref_text(ev->name),
		.scopes = ev->u.token.scopes,
		.person = ev->u.token.person,
		.expires = ev->u.token.expires };
	memcpy(t->hash, ev->u.token.hash, TOKEN_HASH);
	ref_list_add(&r->tokens, t);
	return 0;
}

static int ev_token_revoke(struct reference *r, const struct event *ev)
{
	struct rtoken *t = ref_list_find(&r->tokens, ev->subject);

	if (!t || t->account != ev->account)
		return REASON_NOT_FOUND;
	if (t->revoked)
		return REASON_WRONG_STATE;
	t->revoked = true;
	return 0;
}

/* ---- Hosts ------------------------------------------------------------------------------ */

static int ev_host(struct reference *r, const struct raccount *a, const struct event *ev)
{
	const struct rpool *p = ref_pool(r, a->id, ev->u.host.pool);
	int64_t start = ev->u.host.start, end = ev->u.host.end;
	struct rhost *h;

	if (a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (!p)
		return REASON_NOT_FOUND;
	if (p->kind != POOL_ORIGINATING)
		return REASON_WRONG_STATE;
	if (!ref_list_find(&r->skus, ev->u.host.sku) || (ev->u.host.agent && !ref_agent_of(r, a->id, ev->u.host.agent)))
		return REASON_NOT_FOUND;
	if (!ref_name_ok(ev->name) || start >= end || end > MINUTE_MAX || end <= r->minute)
		return REASON_INVALID;
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *other = r->hosts.at[i];

		if (other->account == a->id && strcmp(other->name, ev->name) == 0)
			return REASON_NAME_TAKEN;
	}
	h = ref_more(NULL, 1, sizeof *h);
	*h = (struct rhost){ .id = r->next_id++,
		.account = a->id,
		.sku = ev->u.host.sku,
		.pool = p->id,
		.name = ref_text(ev->name),
		.start = start,
		.end = end,
		.agent = ev->u.host.agent };
	h->cell = ref_more(NULL, 1, sizeof *h->cell);
	h->cell[h->cells++] = (struct cell){ .start = start, .end = end, .pool = p->id };
	ref_cells_forget(h, r->minute);
	ref_list_add(&r->hosts, h);
	return 0;
}

static void host_settle(struct reference *r, const struct rhost *h, int64_t upto)
{
	for (size_t i = 0; i < r->leases.n; i++) {
		struct rlease *l = r->leases.at[i];

		if (l->host == h->id && l->start <= r->minute)
			ref_lease_settle(r, l, upto);
	}
}

/* Its buyers do not pay for the minutes since then, nor for this one: the market held their node up. */
static int host_gives_back(struct reference *r, struct rhost *h, int64_t since)
{
	host_settle(r, h, since < r->minute ? since : r->minute);
	h->down = true;
	host_settle(r, h, r->minute + 1);
	h->down = false;
	return 0;
}

static int ev_host_state(struct reference *r, const struct event *ev)
{
	struct rhost *h = ref_host(r, ev->account, ev->subject);
	int64_t upto = ev->u.host_state.since;
	bool backs = ev->u.host_state.watch && !ev->u.host_state.down && upto > 0;

	if (!h)
		return REASON_NOT_FOUND;
	if (!h->down && backs)
		return ev->text && strlen(ev->text) > WHY_BYTES ? REASON_INVALID : host_gives_back(r, h, upto);
	if (h->down == ev->u.host_state.down && !(h->watched && !ev->u.host_state.watch))
		return REASON_WRONG_STATE;
	if (h->down && !h->watched && ev->u.host_state.watch)
		return REASON_WRONG_STATE;
	if (upto < 0 || (upto > 0 && !ev->u.host_state.down))
		return REASON_INVALID;
	if (ev->text && strlen(ev->text) > WHY_BYTES)
		return REASON_INVALID;
	h->watched = ev->u.host_state.watch && ev->u.host_state.down;
	if (h->down == ev->u.host_state.down)
		return 0;
	if (upto == 0 || upto > r->minute)
		upto = r->minute;
	host_settle(r, h, upto);
	h->down = ev->u.host_state.down;
	h->broke = ev->at / 60;
	if (!h->down)
		ref_mark_add(&r->wanted, h->sku);
	return 0;
}

static int ev_host_verified(struct reference *r, const struct event *ev)
{
	struct rhost *h = ref_host(r, ev->account, ev->subject);
	bool passed = ev->u.host_verified.result == PROOF_PASSED;
	bool outgrown = ev->u.host_verified.result == PROOF_OUTGROWN;
	int64_t until = ev->u.host_verified.until, upto = ev->u.host_verified.since;
	const char *because = ev->u.host_verified.why;

	if (!h)
		return REASON_NOT_FOUND;
	if (!passed && !outgrown && (ev->u.host_verified.result != PROOF_FAILED || until != 0))
		return REASON_INVALID;
	if ((passed && !between(until, r->minute + 1, MINUTE_MAX)) || (outgrown && !between(until, 1, MINUTE_MAX)))
		return REASON_INVALID;
	if (upto < 0 || ((passed || outgrown) && upto > 0))
		return REASON_INVALID;
	if (because && strlen(because) > WHY_BYTES)
		return REASON_INVALID;
	if (upto == 0 || upto > r->minute)
		upto = r->minute;
	host_settle(r, h, upto);
	h->proof = ev->u.host_verified.result;
	h->valid = until;
	if (passed)
		ref_mark_add(&r->wanted, h->sku);
	return 0;
}

/* All that is on sale of a host from a minute on, by its owner or by anybody, is not any more. */
static void take_off_from(struct reference *r, struct rhost *h, int64_t from, bool anybody)
{
	ref_cells_cut(h, from);
	for (size_t i = 0; i < h->cells; i++) {
		const struct rorder *o = ref_list_find(&r->orders, h->cell[i].order);

		if (o && h->cell[i].start >= from && (anybody || o->pool == h->pool))
			h->cell[i].order = 0;
	}
	ref_cells_join(h);
	for (size_t i = r->orders.n; i-- > 0;) {
		struct rorder *o = r->orders.at[i];

		if (o->side == SIDE_SELL && !ref_order_on_sale(r, o))
			ref_order_close(r, o, o->minutes ? ORDER_FILLED : ORDER_CANCELLED, 0);
	}
}

/* Some lease of the host from that minute on, and of those that are of one time the one sold last. */
static struct rlease *leased_from(struct reference *r, const struct rhost *h, int64_t from)
{
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].end > from && h->cell[i].lease)
			return ref_list_find(&r->leases, h->cell[i].lease);
	return NULL;
}

/* Whether some buyer of the host would lose a minute too soon after hearing of it. */
static bool too_sudden(const struct reference *r, const struct rhost *h, int64_t from, bool by_operator)
{
	bool broken = h->down && h->watched && r->minute >= h->broke + ref_drain_notice(r);
	bool free = by_operator || broken;

	for (size_t i = 0; i < r->leases.n; i++) {
		const struct rlease *l = r->leases.at[i];
		int64_t minutes = free || l->interruptible ? ref_notice(r) : ref_drain_notice(r);
		int64_t first = l->start > from ? l->start : from;

		if (l->host == h->id && first < l->end && first < r->minute + 1 + minutes)
			return true;
	}
	return false;
}

static int ev_host_drain(struct reference *r, const struct event *ev)
{
	struct rhost *h = ref_host(r, ev->account, ev->subject);
	int64_t from = ev->u.host_drain.from;
	bool ends = ev->u.host_drain.ends;
	struct rlease *l;

	if (!h)
		return REASON_NOT_FOUND;
	if (from == 0 && h->drain == 0)
		return REASON_WRONG_STATE;
	if (from < 0 || from >= MINUTE_MAX || (from == 0 && ends) || (ev->text && strlen(ev->text) > WHY_BYTES))
		return REASON_INVALID;
	if (from > 0 && from < r->minute + 1)
		from = r->minute + 1;
	if (ends && too_sudden(r, h, from, ev->u.host_drain.by_operator))
		return REASON_PAST;
	h->drain = from;
	h->drain_ends = ends;
	if (from > 0)
		take_off_from(r, h, from, ends);
	ref_cells_cut(h, from);
	for (size_t i = 0; i < h->cells; i++)
		if (ends && h->cell[i].start >= from && h->cell[i].lease)
			h->cell[i].lost = h->cell[i].pool;
	ref_cells_join(h);
	while (ends && (l = leased_from(r, h, from)))
		ref_lease_shorten(r, l, from);
	return 0;
}

/* Nothing that its owner has on sale of it is cheaper. */
static int ev_host_floor(struct reference *r, const struct event *ev)
{
	struct rhost *h = ref_host(r, ev->account, ev->subject);

	if (!h)
		return REASON_NOT_FOUND;
	if (!between(ev->u.host_floor.price, 0, INT64_C(1000000000000)))
		return REASON_INVALID;
	for (size_t i = 0; i < h->cells; i++) {
		const struct rorder *o = ref_list_find(&r->orders, h->cell[i].order);

		if (o && o->pool == h->pool && h->cell[i].end > r->minute && o->price < ev->u.host_floor.price)
			return REASON_BELOW_FLOOR;
	}
	h->floor = ev->u.host_floor.price;
	return 0;
}

static int ev_host_retire(struct reference *r, const struct event *ev)
{
	struct rhost *h = ref_host(r, ev->account, ev->subject);

	if (!h)
		return REASON_NOT_FOUND;
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].order || h->cell[i].lease || h->cell[i].lost)
			return REASON_HAS_DEPENDENTS;
	free(h->name);
	free(h->cell);
	ref_list_drop(&r->hosts, h);
	return 0;
}

/* ---- Instances -------------------------------------------------------------------------- */

static bool instance_named(const struct reference *r, uint64_t account, const char *name, const struct rinstance *but)
{
	for (size_t i = 0; i < r->instances.n; i++) {
		const struct rinstance *in = r->instances.at[i];

		if (in != but && in->account == account && ref_instance_lives(in) && strcmp(in->name, name) == 0)
			return true;
	}
	return false;
}

static int ev_instance(struct reference *r, const struct raccount *a, const struct event *ev)
{
	struct rinstance *in;

	if (a->state == ACCOUNT_SUSPENDED && a->dunned != 3)
		return REASON_SUSPENDED;
	if (!ref_pool(r, a->id, ev->u.instance.pool) || !ref_list_find(&r->skus, ev->u.instance.sku))
		return REASON_NOT_FOUND;
	if (!ref_name_ok(ev->name) || !between(ev->u.instance.priority, PRIORITY_YIELD, PRIORITY_CRITICAL))
		return REASON_INVALID;
	if (instance_named(r, a->id, ev->name, NULL))
		return REASON_NAME_TAKEN;
	in = ref_more(NULL, 1, sizeof *in);
	*in = (struct rinstance){ .id = r->next_id++,
		.account = a->id,
		.pool = ev->u.instance.pool,
		.sku = ev->u.instance.sku,
		.name = ref_text(ev->name),
		.priority = ev->u.instance.priority,
		.status = INSTANCE_AWAITING };
	ref_list_add(&r->instances, in);
	return 0;
}

static int ev_instance_change(struct reference *r, struct rinstance *in, const struct event *ev)
{
	if ((ev->name && !ref_name_ok(ev->name)) || !between(ev->u.instance_change.priority, -1, PRIORITY_CRITICAL))
		return REASON_INVALID;
	if (ev->name && instance_named(r, in->account, ev->name, in))
		return REASON_NAME_TAKEN;
	if (ev->name)
		rename_to(&in->name, ev->name);
	if (ev->u.instance_change.priority >= 0)
		in->priority = ev->u.instance_change.priority;
	return 0;
}

static int instance_end(struct rinstance *in, int status)
{
	in->status = status;
	in->host = 0;
	return 0;
}

static int ev_report(struct rinstance *in, const struct event *ev)
{
	int status = ev->u.report.status;

	if (!in->host || !ref_instance_lives(in))
		return REASON_WRONG_STATE;
	if (status == INSTANCE_FAILED)
		return instance_end(in, status);
	if (status != INSTANCE_RUNNING)
		return REASON_INVALID;
	in->status = status;
	return 0;
}

static int ev_of_instance(struct reference *r, const struct event *ev)
{
	struct rinstance *in = ref_list_find(&r->instances, ev->subject);

	if (!in || in->account != ev->account)
		return REASON_NOT_FOUND;
	if (ev->kind == EVENT_INSTANCE_CHANGE)
		return ev_instance_change(r, in, ev);
	if (ev->kind == EVENT_REPORT)
		return ev_report(in, ev);
	if (ref_instance_lives(in) != (ev->kind == EVENT_INSTANCE_STOP))
		return REASON_WRONG_STATE;
	if (ev->kind == EVENT_INSTANCE_STOP)
		return instance_end(in, INSTANCE_TERMINATED);
	free(in->name);
	ref_list_drop(&r->instances, in);
	return 0;
}

/* Time is over for some of it. */
static int ev_tick(struct reference *r, const struct event *ev)
{
	int rc = ref_time_tick(r, ev->u.tick.minute, ev->at);

	if (rc == 0)
		ref_people_tick(r);
	for (size_t i = r->words.n; rc == 0 && i-- > 0;) {
		struct rword *w = r->words.at[i];

		if (w->until > r->minute)
			continue;
		free(w->text);
		ref_list_drop(&r->words, w);
	}
	return rc;
}

int ref_event(struct reference *r, const struct event *ev)
{
	struct raccount *a = ref_list_find(&r->accounts, ev->account);

	switch (ev->kind) {
	case EVENT_TICK:
		return ev_tick(r, ev);
	case EVENT_ANNOUNCE:
		return ref_announce(r, ev);
	case EVENT_ANNOUNCE_END:
		return ref_announce_end(r, ev);
	case EVENT_GRANT:
	case EVENT_GRANT_END:
	case EVENT_ACCOUNT_FACTS:
		return ref_grant(r, ev);
	case EVENT_PAYMENT:
		return ref_payment(r, ev);
	case EVENT_CAP:
		return ref_cap(r, ev);
	case EVENT_PLAN:
		return ref_tariff(r, ev);
	case EVENT_SUBSCRIPTION:
		return ref_subscription(r, ev);
	case EVENT_DUNNING:
		return ref_dunning(r, ev);
	case EVENT_PAYOUT:
		return ref_payout(r, ev);
	case EVENT_POLICY: return ev_policy(r, ev);
	case EVENT_RULES: return ev_rules(r, ev);
	case EVENT_SKU: return ev_sku(r, ev);
	case EVENT_ACCOUNT: return ev_account(r, ev);
	default: break;
	}
	if (!a)
		return REASON_NOT_FOUND;
	switch (ev->kind) {
	case EVENT_ACCOUNT_STATE: return ev_account_state(r, a, ev);
	case EVENT_CREDIT:
		return ref_credit(r, a, ev);
	case EVENT_TOKEN: return ev_token(r, ev);
	case EVENT_PERSON:
	case EVENT_PERSON_CHANGE:
	case EVENT_PERSON_REMOVE:
	case EVENT_INVITATION:
	case EVENT_INVITATION_END:
		return ref_people(r, ev);
	case EVENT_TOKEN_REVOKE: return ev_token_revoke(r, ev);
	case EVENT_HOST: return ev_host(r, a, ev);
	case EVENT_HOST_STATE: return ev_host_state(r, ev);
	case EVENT_HOST_VERIFIED:
		return ev_host_verified(r, ev);
	case EVENT_HOST_DRAIN:
		return ev_host_drain(r, ev);
	case EVENT_HOST_FLOOR:
		return ev_host_floor(r, ev);
	case EVENT_HOST_RETIRE: return ev_host_retire(r, ev);
	case EVENT_INSTANCE: return ev_instance(r, a, ev);
	case EVENT_INSTANCE_CHANGE:
	case EVENT_INSTANCE_STOP:
	case EVENT_INSTANCE_DELETE:
	case EVENT_REPORT: return ev_of_instance(r, ev);
	case EVENT_AGENT:
	case EVENT_AGENT_SESSION:
	case EVENT_AGENT_INVENTORY:
	case EVENT_AGENT_RETIRE: return ref_agent(r, a, ev);
	default: return ref_thing(r, ev);
	}
}
