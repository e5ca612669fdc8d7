/* SPDX-License-Identifier: Apache-2.0 */
/* The reading calls of engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/engine/engine.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/income.h"
#include "marketd/engine/money/tariff.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/drain.h"
#include "marketd/engine/rules/lease.h"
#include "marketd/engine/live/world.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/money/volume.h"

int64_t engine_minute(const struct engine *e)
{
	return e->minute;
}

int64_t engine_at(const struct engine *e)
{
	return e->at;
}

uint64_t engine_count(const struct engine *e)
{
	return e->count;
}

uint64_t engine_next_id(const struct engine *e)
{
	return e->next_id;
}

int32_t engine_rules(const struct engine *e)
{
	return e->rules;
}

const struct policy *engine_policy(const struct engine *e)
{
	return &e->policy;
}

/* engine_account(e, id) … engine_agent(e, id): each thing begins with its plain data. */
#define QUERY_BY_ID(kind, name, live) \
	const struct name *engine_##name(const struct engine *e, uint64_t id) \
	{ \
		return idmap_get(&e->ids[kind], id); \
	}
WORLD_THINGS(QUERY_BY_ID)

const struct account *engine_account_named(const struct engine *e, const char *name)
{
	return world_named(e, ACCOUNTS, 0, name);
}

const struct token *engine_token_hashed(const struct engine *e, const uint8_t hash[TOKEN_HASH])
{
	char key[TOKEN_KEY];

	return world_named(e, TOKENS, 0, token_key(hash, key));
}

const struct person *engine_person_known(const struct engine *e, const char *identity)
{
	return world_named(e, PEOPLE, 0, identity);
}

const struct payment *engine_payment_known(const struct engine *e, const char *reference)
{
	return world_named(e, PAYMENTS, 0, reference);
}

const struct invitation *engine_invitation_hashed(const struct engine *e, const uint8_t hash[TOKEN_HASH])
{
	char key[TOKEN_KEY];

	return world_named(e, INVITATIONS, 0, token_key(hash, key));
}

const struct sku *engine_sku_named(const struct engine *e, const char *alias)
{
	return world_named(e, SKUS, 0, alias);
}

const struct pool *engine_pool_named(const struct engine *e, uint64_t account, const char *name)
{
	return world_named(e, POOLS, account, name);
}

const struct instance *engine_instance_named(const struct engine *e, uint64_t account, const char *name)
{
	return world_named(e, INSTANCES, account, name);
}

const struct host *engine_host_named(const struct engine *e, uint64_t account, const char *name)
{
	const struct live_host *h = account ? world_named(e, HOSTS, account, name) : NULL;

	return h ? &h->pub : NULL;
}

const struct agent *engine_agent_named(const struct engine *e, uint64_t account, const char *name)
{
	return account ? world_named(e, AGENTS, account, name) : NULL;
}

const struct agent *engine_agent_keyed(const struct engine *e, const char *public_key)
{
	return world_named(e, AGENTS, 0, public_key);
}

/* The list of an account, or of all. */
static const struct rank *query_rank_of(const struct engine *e, enum kind k, uint64_t account)
{
	static const struct rank none;
	const struct live_account *a = world_account(e, account);

	return !account ? &e->all[k] : a ? &a->own[k] : &none;
}

#define QUERY_AFTER(kind, name) \
	const struct name *engine_##name##_after(const struct engine *e, uint64_t account, uint64_t after) \
	{ \
		return rank_after(query_rank_of(e, kind, account), after); \
	}
QUERY_AFTER(TOKENS, token)
QUERY_AFTER(HOSTS, host)
QUERY_AFTER(POOLS, pool)
QUERY_AFTER(ORDERS, order)
QUERY_AFTER(LEASES, lease)
QUERY_AFTER(INSTANCES, instance)
QUERY_AFTER(PROCUREMENTS, procurement)
QUERY_AFTER(AGENTS, agent)
QUERY_AFTER(GRANTS, grant)
QUERY_AFTER(PEOPLE, person)
QUERY_AFTER(INVITATIONS, invitation)
QUERY_AFTER(PAYMENTS, payment)
QUERY_AFTER(VOLUMES, volume)

const struct grant *engine_grant_given(const struct engine *e, uint64_t sponsor, uint64_t after)
{
	const struct live_account *a = world_account(e, sponsor);

	return a ? rank_after(&a->given, after) : NULL;
}

const struct volume *engine_volume_named(const struct engine *e, uint64_t account, const char *name)
{
	return world_named(e, VOLUMES, account, name);
}

const struct volume *engine_volume_of_agent(const struct engine *e, uint64_t agent, uint64_t after)
{
	const struct live_agent *a = world_agent(e, agent);

	return a ? rank_after(&a->volumes, after) : NULL;
}

int64_t engine_volume_let(const struct engine *e, uint64_t agent)
{
	const struct live_agent *a = world_agent(e, agent);

	return a ? volume_let(a) : 0;
}

int64_t engine_volume_hour(int32_t gib, int64_t price)
{
	return volume_hour(gib, price);
}

bool engine_agent_up(const struct engine *e, uint64_t agent)
{
	const struct live_agent *a = world_agent(e, agent);

	return a && volume_machine_up(e, a);
}

int engine_volume_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	return volume_check(e, ev, why);
}

QUERY_AFTER(TARIFFS, tariff)

const struct tariff *engine_tariff_named(const struct engine *e, const char *name)
{
	return world_named(e, TARIFFS, 0, name);
}

const struct subscription *engine_subscription_of(const struct engine *e, uint64_t account)
{
	return subscription_of(e, account);
}

bool engine_plan_raises(const struct engine *e, uint64_t account, const struct tariff *t)
{
	return subscription_begins_now(e, account, t);
}

int64_t engine_plan_fee(const struct engine *e, uint64_t account, const struct tariff *t)
{
	return subscription_fee(e, account, t);
}

int64_t engine_plan_next_fee(const struct engine *e, uint64_t account, int32_t *lapses)
{
	const struct subscription *s = subscription_of(e, account);

	*lapses = 0;
	return s ? subscription_next_fee(e, s, lapses) : 0;
}

QUERY_AFTER(PAYOUTS, payout)

int64_t engine_payout_room(const struct engine *e, uint64_t account, int32_t hold)
{
	const struct live_account *a = world_account(e, account);

	return a ? income_room(e, &a->pub, hold) : 0;
}

const struct announcement *engine_announcement_after(const struct engine *e, uint64_t after)
{
	return rank_after(&e->all[ANNOUNCEMENTS], after);
}

const struct account *engine_account_after(const struct engine *e, uint64_t after)
{
	return rank_after(&e->all[ACCOUNTS], after);
}

const struct sku *engine_sku_after(const struct engine *e, uint64_t after)
{
	return rank_after(&e->all[SKUS], after);
}

const struct pool *engine_pool_before(const struct engine *e, uint64_t account, uint64_t before)
{
	return rank_before(query_rank_of(e, POOLS, account), before);
}

const struct instance *engine_instance_before(const struct engine *e, uint64_t account, uint64_t before)
{
	return rank_before(query_rank_of(e, INSTANCES, account), before);
}

const struct host *engine_host_of_agent(const struct engine *e, uint64_t agent, uint64_t after)
{
	const struct live_agent *a = world_agent(e, agent);

	return a ? rank_after(&a->hosts, after) : NULL;
}

const struct instance *engine_instance_of_pool(const struct engine *e, uint64_t pool, uint64_t after)
{
	const struct live_pool *p = world_pool(e, pool);

	return p ? rank_after(&p->instances, after) : NULL;
}

const struct instance *engine_host_instance(const struct engine *e, uint64_t host)
{
	const struct live_host *h = world_host(e, host);

	return h ? world_instance(e, h->instance) : NULL;
}

int64_t engine_next_lease(const struct engine *e)
{
	const struct due *d = due_first(&e->leases_due);

	return d ? d->minute : MINUTE_MAX;
}

const struct piece *engine_piece_at(const struct host *h, int64_t minute)
{
	for (size_t i = 0; i < h->piece_count && h->pieces[i].start <= minute; i++)
		if (h->pieces[i].end > minute)
			return &h->pieces[i];
	return NULL;
}

int64_t engine_owned_until(const struct engine *e, uint64_t host, uint64_t pool, int64_t minute)
{
	const struct live_host *h = world_host(e, host);

	for (size_t i = h ? calendar_find(h, minute) : 0; h && i < h->pub.piece_count; i++) {
		const struct piece *p = &h->pub.pieces[i];

		if (p->pool != pool || p->start > minute)
			break;
		minute = p->end;
	}
	return minute;
}

int64_t engine_drain_earliest(const struct engine *e, uint64_t host, bool by_operator)
{
	const struct live_host *h = world_host(e, host);

	return h ? drain_earliest(e, h, by_operator) : 0;
}

uint64_t engine_host_version(const struct engine *e, uint64_t host)
{
	const struct live_host *h = world_host(e, host);

	return h && h->agent ? h->version : 0;
}

uint64_t engine_agent_version(const struct engine *e, uint64_t agent)
{
	const struct live_agent *a = world_agent(e, agent);

	return a ? a->version : 0;
}

bool engine_pool_host(const struct engine *e, uint64_t pool, int64_t minute, uint64_t *at)
{
	const struct live_pool *p = world_pool(e, pool);

	for (size_t i = p ? world_holding(p, *at + 1) : 0; p && i < p->holding_count; i++)
		if (calendar_owned(p->holdings[i].live, pool, minute)) {
			*at = p->holdings[i].host;
			return true;
		}
	return false;
}

/* A node keeps its host for as long as the pool owns it without a gap: that is one window. starts: NULL, or room. */
static size_t query_windows(const struct live_host *h, uint64_t pool, int64_t minute, int64_t *starts)
{
	size_t n = 0;
	bool was = false;

	for (size_t i = calendar_find(h, minute); i < h->pub.piece_count; i++) {
		if (h->pub.pieces[i].pool == pool && !was) {
			if (starts)
				starts[n] = h->pub.pieces[i].start;
			n++;
		}
		was = h->pub.pieces[i].pool == pool;
	}
	return n;
}

/* A node keeps its host without a gap, so the window that it runs in is none that others get. */
static bool query_taken(const struct engine *e, const struct live_host *h, uint64_t pool)
{
	const struct instance *x = world_instance(e, h->instance);

	return x && x->pool == pool && calendar_owned(h, pool, e->minute);
}

size_t engine_pool_room(const struct engine *e, uint64_t pool, uint64_t sku)
{
	const struct live_pool *p = world_pool(e, pool);
	size_t n = 0;

	for (size_t i = 0; p && i < p->holding_count; i++) {
		const struct live_host *h = p->holdings[i].live;

		if (h->pub.sku == sku)
			n += query_windows(h, pool, e->minute, NULL) - query_taken(e, h, pool);
	}
	return n;
}

size_t engine_windows_from(const struct engine *e, uint64_t pool, uint64_t host, int64_t minute)
{
	const struct live_host *h = world_host(e, host);

	if (!h)
		return 0;
	return query_windows(h, pool, minute, NULL) -
		(calendar_owned(h, pool, minute - 1) && calendar_owned(h, pool, minute));
}

static int query_earlier(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

size_t engine_waiting_before(const struct engine *e, const struct instance *i)
{
	return world_waiting_before(world_pool(e, i->pool), i);
}

int engine_pool_windows(const struct engine *e, uint64_t pool, uint64_t sku, int64_t **out, size_t *count)
{
	const struct live_pool *p = world_pool(e, pool);
	size_t most = 0, n = 0;
	int64_t *starts;

	for (size_t i = 0; p && i < p->holding_count; i++)
		most += p->holdings[i].live->pub.sku == sku ? p->holdings[i].live->pub.piece_count : 0;
	starts = calloc(most + 1, sizeof *starts);
	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; p && i < p->holding_count; i++) {
		const struct live_host *h = p->holdings[i].live;
		size_t windows = h->pub.sku == sku ? query_windows(h, pool, e->minute, starts + n) : 0;

		if (windows && query_taken(e, h, pool)) /* it is the first */
			memmove(starts + n, starts + n + 1, --windows * sizeof *starts);
		n += windows;
	}
	qsort(starts, n, sizeof *starts, query_earlier);
	*out = starts;
	*count = n;
	return 0;
}

int64_t engine_unsettled(const struct engine *e, uint64_t account)
{
	struct live_account *a = world_account(e, account);
	struct list *pos, *tmp;
	int64_t sum = 0;

	if (!a)
		return 0;
	list_each(pos, tmp, &a->sold) {
		const struct live_lease *l = list_entry(pos, struct live_lease, sold);
		int64_t to = e->minute < l->pub.paid_end ? e->minute : l->pub.paid_end, amount;

		if (l->host->pub.down || lease_unproven(e, &l->pub) || to <= l->pub.settled)
			continue;
		amount = sure_mul(l->pub.price, to - l->pub.settled);
		sum = sure_add(sum, amount - ledger_fee(amount, e->policy.fee_bps));
	}
	return sum;
}

struct kept engine_kept(const struct engine *e, uint64_t account)
{
	const struct live_account *a = world_account(e, account);

	if (!a)
		return (struct kept){ 0 };
	return (struct kept){
		.tokens = rank_live(&a->own[TOKENS]) - a->gone[TOKENS],
		.hosts = rank_live(&a->own[HOSTS]),
		.pools = rank_live(&a->own[POOLS]) - a->gone[POOLS],
		.orders = rank_live(&a->own[ORDERS]),
		.leases = rank_live(&a->own[LEASES]),
		.instances = rank_live(&a->own[INSTANCES]),
		.procurements = rank_live(&a->own[PROCUREMENTS]),
		.agents = rank_live(&a->own[AGENTS]),
		.volumes = rank_live(&a->own[VOLUMES]),
	};
}

int64_t engine_fees(const struct engine *e)
{
	return e->fees;
}

int64_t engine_burn(const struct engine *e, uint64_t account)
{
	const struct live_account *a = world_account(e, account);
	const struct live_lease *l;
	int64_t sum = 0;

	for (size_t at = 0; a && (l = rank_next(&a->own[LEASES], &at));)
		if (l->pub.start <= e->minute && e->minute < l->pub.paid_end)
			sum = sure_add(sum, l->pub.price);
	return sum;
}

int64_t engine_spent(const struct engine *e, const struct spending *s)
{
	return cap_spent(e, s);
}

int64_t engine_this_month(const struct engine *e)
{
	return cap_month_start(cap_month(e->minute));
}

int64_t engine_next_month(const struct engine *e)
{
	return cap_month_start(cap_month(e->minute) + 1);
}
