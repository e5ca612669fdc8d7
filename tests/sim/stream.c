/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <string.h>

enum {
	SETUP = 26,
	POOLS_MOST = 12,
	HOSTS_MOST = 12,
	ACCOUNTS_MOST = 6,
	SKUS_MOST = 3,
	INSTANCES_MOST = 10,
	TOKENS_MOST = 6,
	PROCUREMENTS_MOST = 5,
	ORDERS_MOST = 40
};

/* What every profile does now and then; how often the time goes on, something is done with hosts, and with the rest. */
#define COMMON(tick, host, state, people) \
	[DO_TICK] = tick, [DO_POLICY] = people, [DO_ACCOUNT] = people, [DO_ACCOUNT_STATE] = 2 * people, \
	[DO_CREDIT] = 5, [DO_TOKEN] = people, [DO_TOKEN_REVOKE] = people, [DO_SKU] = people, [DO_HOST] = host, \
	[DO_HOST_STATE] = state, [DO_HOST_RETIRE] = 1, [DO_POOL] = 2, [DO_POOL_CHANGE] = people, [DO_POOL_DELETE] = 2

static const struct profile profiles[] = {
	{ "mixed",
		{ COMMON(14, 3, 2, 1), [DO_BUY] = 14, [DO_BUY_LIKE] = 8, [DO_EXTEND] = 6, [DO_OFFER] = 8,
			[DO_RESELL] = 6, [DO_SELL_LIKE] = 4, [DO_CANCEL] = 4, [DO_RELEASE] = 4, [DO_INSTANCE] = 3,
			[DO_INSTANCE_CHANGE] = 2, [DO_INSTANCE_STOP] = 2, [DO_INSTANCE_DELETE] = 2, [DO_REPORT] = 3,
			[DO_PROCUREMENT] = 2, [DO_PROCUREMENT_CHANGE] = 3, [DO_PROCUREMENT_DELETE] = 1 },
		.price = 10, .window = 40, .interruptible = 20, .partial = 40, .standing = 50, .block = 20, .wrong = 12,
		.skip = 25 },
	{ "interrupted",
		{ COMMON(14, 3, 2, 1), [DO_BUY] = 24, [DO_BUY_LIKE] = 6, [DO_EXTEND] = 4, [DO_OFFER] = 10,
			[DO_RESELL] = 8, [DO_SELL_LIKE] = 2, [DO_CANCEL] = 2, [DO_RELEASE] = 4, [DO_INSTANCE] = 1,
			[DO_INSTANCE_STOP] = 1, [DO_INSTANCE_DELETE] = 1, [DO_REPORT] = 1 },
		.price = 7, .window = 40, .interruptible = 50, .partial = 50, .standing = 40, .block = 10, .wrong = 3,
		.skip = 10 },
	{ "chains",
		{ COMMON(14, 3, 2, 1), [DO_BUY] = 12, [DO_BUY_LIKE] = 14, [DO_EXTEND] = 2, [DO_OFFER] = 6,
			[DO_RESELL] = 22, [DO_SELL_LIKE] = 6, [DO_CANCEL] = 2, [DO_RELEASE] = 10, [DO_INSTANCE] = 1,
			[DO_INSTANCE_STOP] = 1, [DO_INSTANCE_DELETE] = 1, [DO_REPORT] = 1 },
		.price = 13, .window = 60, .interruptible = 20, .partial = 50, .standing = 30, .block = 15, .wrong = 3,
		.skip = 15 },
	{ "blocks",
		{ COMMON(14, 3, 2, 1), [DO_BUY] = 8, [DO_BUY_LIKE] = 20, [DO_EXTEND] = 2, [DO_OFFER] = 16,
			[DO_RESELL] = 12, [DO_SELL_LIKE] = 10, [DO_CANCEL] = 4, [DO_RELEASE] = 4 },
		.price = 5, .window = 25, .interruptible = 25, .partial = 15, .standing = 50, .block = 70, .wrong = 3,
		.skip = 15 },
	{ "resting",
		{ COMMON(24, 3, 2, 1), [DO_BUY] = 20, [DO_BUY_LIKE] = 4, [DO_EXTEND] = 2, [DO_OFFER] = 8,
			[DO_RESELL] = 6, [DO_SELL_LIKE] = 10, [DO_CANCEL] = 4, [DO_RELEASE] = 5 },
		.price = 11, .window = 30, .interruptible = 15, .partial = 60, .standing = 85, .block = 10, .wrong = 3,
		.skip = 15 },
	{ "procurers",
		{ COMMON(20, 3, 2, 1), [DO_BUY] = 10, [DO_BUY_LIKE] = 5, [DO_EXTEND] = 1, [DO_OFFER] = 10,
			[DO_RESELL] = 4, [DO_SELL_LIKE] = 3, [DO_CANCEL] = 4, [DO_RELEASE] = 3, [DO_INSTANCE] = 4,
			[DO_INSTANCE_STOP] = 2, [DO_INSTANCE_DELETE] = 2, [DO_REPORT] = 1, [DO_PROCUREMENT] = 6,
			[DO_PROCUREMENT_CHANGE] = 6, [DO_PROCUREMENT_DELETE] = 2 },
		.price = 10, .window = 30, .interruptible = 20, .partial = 50, .standing = 60, .block = 10, .wrong = 4,
		.skip = 10 },
	{ "machines",
		{ COMMON(20, 8, 8, 1), [DO_BUY] = 14, [DO_BUY_LIKE] = 6, [DO_EXTEND] = 6, [DO_OFFER] = 10,
			[DO_RESELL] = 3, [DO_RELEASE] = 3, [DO_CANCEL] = 3, [DO_INSTANCE] = 10,
			[DO_INSTANCE_CHANGE] = 4, [DO_INSTANCE_STOP] = 4, [DO_INSTANCE_DELETE] = 6, [DO_REPORT] = 8 },
		.price = 9, .window = 20, .interruptible = 15, .partial = 40, .standing = 40, .block = 10, .wrong = 4,
		.skip = 20 },
	{ "sums",
		{ COMMON(14, 3, 2, 1), [DO_BUY] = 20, [DO_BUY_LIKE] = 8, [DO_EXTEND] = 6, [DO_OFFER] = 12,
			[DO_RESELL] = 8, [DO_SELL_LIKE] = 4, [DO_CANCEL] = 4, [DO_RELEASE] = 6, [DO_PROCUREMENT] = 2,
			[DO_PROCUREMENT_CHANGE] = 2 },
		.price = 49999999999, .window = 300, .interruptible = 20, .partial = 40, .standing = 40, .block = 15,
		.wrong = 6, .skip = 40 },
	{ "errors",
		{ COMMON(8, 6, 4, 4), [DO_BUY] = 12, [DO_BUY_LIKE] = 4, [DO_EXTEND] = 4, [DO_OFFER] = 6,
			[DO_RESELL] = 3, [DO_CANCEL] = 3, [DO_RELEASE] = 8, [DO_INSTANCE] = 4, [DO_INSTANCE_CHANGE] = 4,
			[DO_INSTANCE_STOP] = 4, [DO_INSTANCE_DELETE] = 4, [DO_REPORT] = 4, [DO_PROCUREMENT] = 5,
			[DO_PROCUREMENT_CHANGE] = 4, [DO_PROCUREMENT_DELETE] = 2 },
		.price = 10, .window = 30, .interruptible = 20, .partial = 40, .standing = 50, .block = 20, .wrong = 55,
		.skip = 20 },
};

void stream_init(struct stream *s, uint64_t seed, const struct reference *r)
{
	*s = (struct stream){ .rng.state = seed * 1000003,
		.late.state = ~seed * 1000033,
		.prices.state = ~seed * 1000037,
		.gifts.state = ~seed * 1000039,
		.people.state = ~seed * 1000039,
		.pays.state = ~seed * 1000081,
		.caps.state = ~seed * 1000099,
		.volumes.state = ~seed * 1000117,
		.tariffs.state = ~seed * 1000121,
		.payouts.state = ~seed * 1000133,
		.debts.state = ~seed * 1000151,
		.r = r };
	s->chatty = seed % 97 == 0;
	s->inviting = seed % 89 == 22; /* 1001, which every build meets */
	s->ending = seed % 3 == 1;
	s->turning = seed % 6 == 1;    /* of these */
	s->paying = seed % 83 == 11;   /* 1007, too */
	s->profile = &profiles[seed % (sizeof profiles / sizeof profiles[0])];
}

const char *stream_profile(const struct stream *s)
{
	return s->profile->name;
}

/* ---- Picking ---------------------------------------------------------------------------- */

/* One of few, so that names meet. */
const char *stream_name(struct stream *s, const char *kind)
{
	static const char *const names[] = { "ada", "bo", "cyd", "dot", "eve", "fay", "gus", "hal", "ida", "jo", "kit",
		"lou", "mia", "ned", "ola", "pat", "quin", "roy", "sue", "tom", "una", "vic", "wes", "xi", "two words",
		"\xc3\xa9t\xc3\xa9" };

	(void)kind;
	return names[rng_below(&s->rng, sizeof names / sizeof names[0])];
}

void *stream_pick(struct stream *s, const struct list *l)
{
	return l->n ? l->at[rng_below(&s->rng, (int64_t)l->n)] : NULL;
}

struct rpool *stream_pool(struct stream *s, int kind)
{
	for (int i = 0; i < 8; i++) {
		struct rpool *p = stream_pick(s, &s->r->pools);

		if (p && p->kind == kind)
			return p;
	}
	return NULL;
}

/* A minute at which something begins or ends, or one soon. */
int64_t stream_minute(struct stream *s)
{
	int64_t now = s->r->minute;

	switch (rng_below(&s->rng, 8)) {
	case 0: return now - 1 + rng_below(&s->rng, 3);
	case 1: return now + 1;
	case 2: return now + 2 + rng_below(&s->rng, 4);
	case 3: {
		const struct rorder *o = stream_pick(s, &s->r->orders);

		if (o && o->start > now)
			return rng_percent(&s->rng, 70) || o->end == MINUTE_MAX ? o->start : o->end;
		break;
	}
	case 4:
	case 5: {
		const struct rlease *l = stream_pick(s, &s->r->leases);

		if (l && l->start > now)
			return l->start;
		if (l)
			return l->end + rng_below(&s->rng, 2);
		break;
	}
	default: break;
	}
	return now + 1 + rng_below(&s->rng, s->profile->window);
}

int64_t stream_price(struct stream *s)
{
	const struct rorder *o = stream_pick(s, &s->r->orders);

	if (o && rng_percent(&s->rng, 40))
		return o->price;
	return s->profile->price * rng_below(&s->rng, 8);
}

/* ---- What is not trade ------------------------------------------------------------------ */

static bool do_tick(struct stream *s, struct event *ev)
{
	int64_t skip = 1;

	ev->kind = EVENT_TICK;
	if (rng_percent(&s->rng, s->profile->skip))
		skip = rng_percent(&s->rng, 20) ? 10 + rng_below(&s->rng, 90) : 2 + rng_below(&s->rng, 5);
	ev->u.tick.minute = s->r->minute + skip;
	if (ev->at < ev->u.tick.minute * 60)
		ev->at = ev->u.tick.minute * 60;
	return true;
}

static bool do_policy(struct stream *s, struct event *ev)
{
	static const int32_t bps[] = { 0, 1, 250, 3333, 10000 };

	ev->kind = EVENT_POLICY;
	ev->u.policy.fee_bps = bps[rng_below(&s->rng, 5)];
	ev->u.policy.release_bps = bps[rng_below(&s->rng, 5)];
	ev->u.policy.settle_minutes = 1 + (int32_t)rng_below(&s->rng, rng_percent(&s->rng, 50) ? 5 : 90);
	ev->u.policy.notice_minutes = (int32_t)rng_below(&s->rng, 6);
	return true;
}

static bool do_account(struct stream *s, struct event *ev)
{
	const struct raccount *a = stream_pick(s, &s->r->accounts);

	if (s->r->accounts.n >= ACCOUNTS_MOST && !rng_percent(&s->rng, 40))
		return false;
	ev->kind = EVENT_ACCOUNT;
	ev->name = stream_name(s, "account");
	if (a && rng_percent(&s->rng, 25))
		ev->u.account.beneficiary = a->id;
	if (rng_percent(&s->rng, 30))
		ev->u.account.floor = -s->profile->price * rng_below(&s->rng, 200);
	return true;
}

static bool do_account_state(struct stream *s, struct event *ev)
{
	const struct raccount *a = stream_pick(s, &s->r->accounts);

	for (int i = 0; i < 3 && a && a->state == ACCOUNT_OPEN;
		i++) /* rather those that are closed: few are for long */
		a = stream_pick(s, &s->r->accounts);
	if (!a)
		return false;
	ev->kind = EVENT_ACCOUNT_STATE;
	ev->account = ev->subject = a->id;
	ev->u.account_state.state = a->state == ACCOUNT_OPEN && rng_percent(&s->rng, 40) ? ACCOUNT_SUSPENDED
											 : ACCOUNT_OPEN;
	ev->u.account_state.floor = rng_percent(&s->rng, 50) ? a->floor : -s->profile->price * rng_below(&s->rng, 400);
	if (ref_available(s->r, a->id) < 0)
		ev->u.account_state.floor = 0;
	return true;
}

static bool do_credit(struct stream *s, struct event *ev)
{
	const struct raccount *a = stream_pick(s, &s->r->accounts);

	if (!a)
		return false;
	ev->kind = EVENT_CREDIT;
	ev->account = ev->subject = a->id;
	ev->u.credit.micros = s->profile->price * (1 + rng_below(&s->rng, 1500));
	if (rng_percent(&s->rng, 20))
		ev->u.credit.micros = -ev->u.credit.micros / 2;
	return true;
}

static bool do_token(struct stream *s, struct event *ev, bool revoke)
{
	const struct raccount *a = stream_pick(s, &s->r->accounts);
	const struct rtoken *t = stream_pick(s, &s->r->tokens);

	if (revoke ? !t : !a || s->r->tokens.n >= TOKENS_MOST)
		return false;
	if (revoke) {
		ev->kind = EVENT_TOKEN_REVOKE;
		ev->account = t->account;
		ev->subject = t->id;
		return true;
	}
	ev->kind = EVENT_TOKEN;
	ev->account = a->id;
	ev->name = rng_percent(&s->rng, 80) ? stream_name(s, "token") : NULL;
	ev->u.token.scopes = 1 + (int32_t)rng_below(&s->rng, 63);
	ev->u.token.expires = rng_percent(&s->rng, 50) ? 0 : ev->at + 1 + rng_below(&s->rng, 1000);
	ev->u.token.hash[0] = (uint8_t)(s->tokens >> 8);
	ev->u.token.hash[1] = (uint8_t)s->tokens++;
	return true;
}

static bool do_sku(struct stream *s, struct event *ev)
{
	const struct rsku *sku = stream_pick(s, &s->r->skus);

	ev->kind = EVENT_SKU;
	ev->name = stream_name(s, "sku");
	ev->u.sku.gpus = (int32_t)rng_below(&s->rng, 9);
	if (s->r->skus.n < SKUS_MOST)
		return true;
	ev->subject = sku->id;
	if (rng_percent(&s->rng, 30))
		ev->name = NULL;
	ev->text = "{}";
	return true;
}

static bool do_host(struct stream *s, struct event *ev)
{
	const struct rpool *p = stream_pool(s, POOL_ORIGINATING);
	const struct rsku *sku = stream_pick(s, &s->r->skus);

	if (!p || !sku || s->r->hosts.n >= HOSTS_MOST)
		return false;
	ev->kind = EVENT_HOST;
	ev->account = p->account;
	ev->name = stream_name(s, "host");
	ev->u.host.pool = p->id;
	ev->u.host.sku = sku->id;
	ev->u.host.start = rng_percent(&s->rng, 50) ? s->r->minute : stream_minute(s);
	ev->u.host.end = MINUTE_MAX;
	if (rng_percent(&s->rng, 40))
		ev->u.host.end = s->r->minute + 20 + rng_below(&s->rng, 6 * s->profile->window);
	return true;
}

static bool do_of_host(struct stream *s, struct event *ev, bool retire)
{
	const struct rhost *h = stream_pick(s, &s->r->hosts);

	if (!h)
		return false;
	ev->kind = retire ? EVENT_HOST_RETIRE : EVENT_HOST_STATE;
	ev->account = h->account;
	ev->subject = h->id;
	ev->u.host_state.down = rng_percent(&s->rng, 80) ? !h->down : h->down;
	if (!retire && !h->down && !rng_percent(&s->rng, 60)) /* more are up than down */
		return false;
	return true;
}

static bool do_pool(struct stream *s, struct event *ev)
{
	const struct raccount *a = stream_pick(s, &s->r->accounts);

	if (!a || s->r->pools.n >= POOLS_MOST)
		return false;
	ev->kind = EVENT_POOL;
	ev->account = a->id;
	ev->name = stream_name(s, "pool");
	ev->u.pool.kind = rng_percent(&s->rng, 35) ? POOL_ORIGINATING : POOL_MARKET;
	return true;
}

static bool do_of_pool(struct stream *s, struct event *ev, enum event_kind kind)
{
	const struct rpool *p = stream_pick(s, &s->r->pools);

	if (!p)
		return false;
	ev->kind = kind;
	ev->account = p->account;
	ev->subject = p->id;
	if (kind == EVENT_POOL_CHANGE && rng_percent(&s->rng, 80))
		ev->name = stream_name(s, "pool");
	return true;
}

static bool do_instance(struct stream *s, struct event *ev)
{
	const struct rpool *p = stream_pool(s, rng_percent(&s->rng, 85) ? POOL_MARKET : POOL_ORIGINATING);
	const struct rsku *sku = stream_pick(s, &s->r->skus);

	for (int i = 0; i < 8 && rng_percent(&s->rng, 90); i++) { /* rather where there is a machine now */
		const struct rhost *h = stream_pick(s, &s->r->hosts);
		const struct cell *c = h ? ref_cell_at(h, s->r->minute) : NULL;

		if (c && c->lease) {
			p = ref_list_find(&s->r->pools, c->pool);
			sku = ref_list_find(&s->r->skus, h->sku);
			break;
		}
	}
	if (!p || !sku || s->r->instances.n >= INSTANCES_MOST)
		return false;
	ev->kind = EVENT_INSTANCE;
	ev->account = p->account;
	ev->name = stream_name(s, "instance");
	ev->u.instance.pool = p->id;
	ev->u.instance.sku = sku->id;
	ev->u.instance.image = 1;
	ev->u.instance.priority = (int32_t)rng_below(&s->rng, 4);
	return true;
}

static bool do_of_instance(struct stream *s, struct event *ev, enum event_kind kind)
{
	const struct rinstance *in = stream_pick(s, &s->r->instances);

	for (int i = 0; i < 6 && in && kind == EVENT_REPORT && !in->host; i++)
		in = stream_pick(s, &s->r->instances);
	for (int i = 0; i < 6 && in && kind == EVENT_INSTANCE_DELETE && ref_instance_lives(in); i++)
		in = stream_pick(s, &s->r->instances);
	if (!in)
		return false;
	ev->kind = kind;
	ev->account = in->account;
	ev->subject = in->id;
	if (kind == EVENT_REPORT)
		ev->u.report.status = rng_percent(&s->rng, 70) ? INSTANCE_RUNNING : INSTANCE_FAILED;
	if (kind != EVENT_INSTANCE_CHANGE)
		return true;
	ev->name = rng_percent(&s->rng, 50) ? stream_name(s, "instance") : NULL;
	ev->u.instance_change.priority = (int32_t)rng_below(&s->rng, 5) - 1;
	return true;
}

static bool do_procurement(struct stream *s, struct event *ev)
{
	const struct rpool *p = stream_pool(s, POOL_MARKET);
	const struct rsku *sku = stream_pick(s, &s->r->skus);

	if (!p || !sku || s->r->procurements.n >= PROCUREMENTS_MOST)
		return false;
	ev->kind = EVENT_PROCUREMENT;
	ev->account = p->account;
	ev->name = stream_name(s, "procurement");
	ev->u.procurement.pool = p->id;
	ev->u.procurement.sku = sku->id;
	ev->u.procurement.target = (int32_t)rng_below(&s->rng, 5) - 1;
	ev->u.procurement.window = (int32_t)(1 + rng_below(&s->rng, s->profile->window));
	if (rng_percent(&s->rng, 2))
		ev->u.procurement.window = 129600;
	ev->u.procurement.min_sell = s->profile->price * rng_below(&s->rng, 4);
	ev->u.procurement.max_buy = ev->u.procurement.min_sell + s->profile->price * rng_below(&s->rng, 6);
	if (rng_percent(&s->rng, 3))
		ev->u.procurement.max_buy = 1000000000000;
	ev->u.procurement.enabled = rng_percent(&s->rng, 85);
	return true;
}

static bool do_of_procurement(struct stream *s, struct event *ev, bool change)
{
	const struct rprocurement *p = stream_pick(s, &s->r->procurements);
	const struct rsku *sku = stream_pick(s, &s->r->skus);

	if (!p)
		return false;
	ev->kind = change ? EVENT_PROCUREMENT_CHANGE : EVENT_PROCUREMENT_DELETE;
	ev->account = p->account;
	ev->subject = p->id;
	if (!change)
		return true;
	ev->name = rng_percent(&s->rng, 30) ? stream_name(s, "procurement") : NULL;
	ev->u.procurement_change.sku = rng_percent(&s->rng, 25) ? sku->id : 0;
	ev->u.procurement_change.target = rng_percent(&s->rng, 60) ? (int32_t)rng_below(&s->rng, 5) : -1;
	ev->u.procurement_change.window = rng_percent(&s->rng, 30)
		? (int32_t)(1 + rng_below(&s->rng, s->profile->window))
		: -1;
	ev->u.procurement_change.min_sell = rng_percent(&s->rng, 30) ? s->profile->price * rng_below(&s->rng, 5) : -1;
	ev->u.procurement_change.max_buy = rng_percent(&s->rng, 30) ? s->profile->price * rng_below(&s->rng, 9) : -1;
	ev->u.procurement_change.enabled = (int32_t)rng_below(&s->rng, 3) - 1;
	return true;
}

static bool stream_do(struct stream *s, enum action a, struct event *ev)
{
	switch (a) {
	case DO_TICK: return do_tick(s, ev);
	case DO_POLICY: return do_policy(s, ev);
	case DO_ACCOUNT: return do_account(s, ev);
	case DO_ACCOUNT_STATE: return do_account_state(s, ev);
	case DO_CREDIT: return do_credit(s, ev);
	case DO_TOKEN: return do_token(s, ev, false);
	case DO_TOKEN_REVOKE: return do_token(s, ev, true);
	case DO_SKU: return do_sku(s, ev);
	case DO_HOST: return do_host(s, ev);
	case DO_HOST_STATE: return do_of_host(s, ev, false);
	case DO_HOST_RETIRE: return do_of_host(s, ev, true);
	case DO_POOL: return do_pool(s, ev);
	case DO_POOL_CHANGE: return do_of_pool(s, ev, EVENT_POOL_CHANGE);
	case DO_POOL_DELETE: return do_of_pool(s, ev, EVENT_POOL_DELETE);
	case DO_INSTANCE: return do_instance(s, ev);
	case DO_INSTANCE_CHANGE: return do_of_instance(s, ev, EVENT_INSTANCE_CHANGE);
	case DO_INSTANCE_STOP: return do_of_instance(s, ev, EVENT_INSTANCE_STOP);
	case DO_INSTANCE_DELETE: return do_of_instance(s, ev, EVENT_INSTANCE_DELETE);
	case DO_REPORT: return do_of_instance(s, ev, EVENT_REPORT);
	case DO_PROCUREMENT: return do_procurement(s, ev);
	case DO_PROCUREMENT_CHANGE: return do_of_procurement(s, ev, true);
	case DO_PROCUREMENT_DELETE: return do_of_procurement(s, ev, false);
	default:
		/* Orders beyond what a small world needs would only make it slow. */
		if (s->r->orders.n >= ORDERS_MOST && a != DO_CANCEL && a != DO_RELEASE)
			a = DO_CANCEL;
		return stream_trade(s, a, ev);
	}
}

/* A world begins with people, machines and money, and only then with everything at once. */
static enum action stream_action(struct stream *s)
{
	static const enum action setup[SETUP] = { DO_TICK, DO_SKU, DO_SKU, DO_ACCOUNT, DO_ACCOUNT, DO_ACCOUNT,
		DO_ACCOUNT, DO_POOL, DO_POOL, DO_POOL, DO_POOL, DO_POOL, DO_POOL, DO_CREDIT, DO_CREDIT, DO_CREDIT,
		DO_CREDIT, DO_HOST, DO_HOST, DO_HOST, DO_HOST, DO_HOST, DO_OFFER, DO_OFFER, DO_OFFER, DO_POLICY };
	int total = 0, at;

	if (s->step < SETUP)
		return setup[s->step];
	for (int a = 0; a < ACTIONS; a++)
		total += s->profile->weight[a];
	at = (int)rng_below(&s->rng, total);
	for (int a = 0; a < ACTIONS; a++) {
		at -= s->profile->weight[a];
		if (at < 0)
			return (enum action)a;
	}
	return DO_TICK;
}

void stream_next(struct stream *s, struct event *ev)
{
	bool made = false;

	for (int i = 0; i < 5 && !made; i++) {
		memset(ev, 0, sizeof *ev);
		ev->at = s->r->at + rng_below(&s->rng, 3);
		made = stream_do(s, stream_action(s), ev);
	}
	if (!made) {
		memset(ev, 0, sizeof *ev);
		ev->at = s->r->at;
		do_tick(s, ev);
	}
	s->at = s->r->at;
	if (!s->plain && s->step > 8) /* there are accounts */
		stream_agents(s, ev);
	if (!s->plain)
		stream_proofs(s, ev);
	if (!s->plain && !s->steady)
		stream_prices(s, ev);
	if (!s->plain && !s->steady)
		stream_grants(s, ev);
	if (!s->plain && !s->steady)
		stream_people(s, ev);
	if (!s->plain && !s->steady)
		stream_pays(s, ev);
	if (!s->plain && !s->steady)
		stream_caps(s, ev);
	if (!s->plain && !s->steady) {
		stream_volumes(s, ev);
		stream_tariffs(s, ev);
		stream_payouts(s, ev);
		stream_dunning(s, ev);
	}
	if (s->step >= SETUP && rng_percent(&s->rng, s->profile->wrong))
		stream_spoil(s, ev);
	s->step++;
}
