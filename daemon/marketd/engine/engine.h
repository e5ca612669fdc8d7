/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market as one deterministic function: no I/O, no clock, no random number, no float, no order
 * of pointers. engine_apply() either does all of an event or nothing. The rules are in
 * rules.md; tests/sim/reference/ is a second, slow reading of them.
 */
#ifndef MARKETD_ENGINE_ENGINE_H
#define MARKETD_ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/engine/answer.h"
#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"
#include "marketd/engine/state.h"

struct engine;

int engine_new(struct engine **out);
void engine_free(struct engine *e);

/*
 * 0: done, out has what it did (it is cleared first). A negative enum reason: nothing was changed,
 * why (may be NULL) has a sentence. Out of memory aborts: a market that forgot half is worse than none.
 */
int engine_apply(struct engine *e, const struct event *ev, struct effects *out, struct fail *why);

/* ---- Reading ---------------------------------------------------------------------------- */

int64_t engine_minute(const struct engine *e);      /* of the last tick */
int64_t engine_at(const struct engine *e);          /* of the last event */
uint64_t engine_count(const struct engine *e);      /* events applied: the seq of the last one */
uint64_t engine_next_id(const struct engine *e);
const struct policy *engine_policy(const struct engine *e);
int32_t engine_rules(const struct engine *e);       /* the edition of rules.md that counts */

const struct account *engine_account(const struct engine *e, uint64_t id);
const struct account *engine_account_named(const struct engine *e, const char *name);
const struct token *engine_token(const struct engine *e, uint64_t id);
const struct token *engine_token_hashed(const struct engine *e, const uint8_t hash[TOKEN_HASH]);
const struct sku *engine_sku(const struct engine *e, uint64_t id);
const struct sku *engine_sku_named(const struct engine *e, const char *alias);
const struct host *engine_host(const struct engine *e, uint64_t id);
const struct pool *engine_pool(const struct engine *e, uint64_t id);       /* deleted ones too */
const struct pool *engine_pool_named(const struct engine *e, uint64_t account, const char *name);
const struct order *engine_order(const struct engine *e, uint64_t id);     /* open ones only */
const struct lease *engine_lease(const struct engine *e, uint64_t id);     /* that are not over */
const struct instance *engine_instance(const struct engine *e, uint64_t id);
const struct instance *engine_instance_named(const struct engine *e, uint64_t account, const char *name);
const struct procurement *engine_procurement(const struct engine *e, uint64_t id);
const struct agent *engine_agent(const struct engine *e, uint64_t id);     /* retired ones too */
const struct host *engine_host_named(const struct engine *e, uint64_t account, const char *name);   /* not retired */
const struct agent *engine_agent_named(const struct engine *e, uint64_t account, const char *name); /* not retired */
const struct agent *engine_agent_keyed(const struct engine *e, const char *public_key);             /* not retired */

/*
 * The one with the next higher id after `after` (the _before calls: the next lower one, newest first;
 * start with UINT64_MAX), of this account, or of all where account is 0. NULL at the end. O(log n).
 */
const struct account *engine_account_after(const struct engine *e, uint64_t after);
const struct sku *engine_sku_after(const struct engine *e, uint64_t after);
const struct token *engine_token_after(const struct engine *e, uint64_t account, uint64_t after);
const struct host *engine_host_after(const struct engine *e, uint64_t account, uint64_t after);
const struct pool *engine_pool_after(const struct engine *e, uint64_t account, uint64_t after);
const struct pool *engine_pool_before(const struct engine *e, uint64_t account, uint64_t before);
const struct order *engine_order_after(const struct engine *e, uint64_t account, uint64_t after);
const struct lease *engine_lease_after(const struct engine *e, uint64_t account, uint64_t after); /* as buyer */
const struct instance *engine_instance_after(const struct engine *e, uint64_t account, uint64_t after);
const struct instance *engine_instance_before(const struct engine *e, uint64_t account, uint64_t before);
const struct procurement *engine_procurement_after(const struct engine *e, uint64_t account, uint64_t after);
const struct grant *engine_grant(const struct engine *e, uint64_t id);
const struct grant *engine_grant_after(const struct engine *e, uint64_t account, uint64_t after); /* ended ones too */
const struct grant *engine_grant_given(const struct engine *e, uint64_t sponsor, uint64_t after); /* not ended */
const struct announcement *engine_announcement(const struct engine *e, uint64_t id);
const struct announcement *engine_announcement_after(const struct engine *e, uint64_t after); /* not over; to anybody */
const struct person *engine_person(const struct engine *e, uint64_t id);
const struct person *engine_person_known(const struct engine *e, const char *identity); /* "ISSUER SUBJECT" */
const struct person *engine_person_after(const struct engine *e, uint64_t account, uint64_t after);
const struct invitation *engine_invitation(const struct engine *e, uint64_t id);
const struct invitation *engine_invitation_hashed(const struct engine *e, const uint8_t hash[TOKEN_HASH]);
const struct invitation *engine_invitation_after(const struct engine *e, uint64_t account, uint64_t after);
const struct tariff *engine_tariff(const struct engine *e, uint64_t id);
const struct tariff *engine_tariff_named(const struct engine *e, const char *name);
const struct tariff *engine_tariff_after(const struct engine *e, uint64_t account, uint64_t after);
const struct subscription *engine_subscription(const struct engine *e, uint64_t id);
const struct subscription *engine_subscription_of(const struct engine *e, uint64_t account); /* its plan; NULL */
bool engine_plan_raises(const struct engine *e, uint64_t account, const struct tariff *t);   /* at once, not later */
int64_t engine_plan_fee(const struct engine *e, uint64_t account, const struct tariff *t);   /* if it subscribes now */
/* What the account's plan costs next month, 0: none follows; why that would not be paid as things are now, or 0. */
int64_t engine_plan_next_fee(const struct engine *e, uint64_t account, int32_t *lapses);
const struct payment *engine_payment(const struct engine *e, uint64_t id);
const struct payment *engine_payment_known(const struct engine *e, const char *reference);
const struct payment *engine_payment_after(const struct engine *e, uint64_t account, uint64_t after);
const struct volume *engine_volume(const struct engine *e, uint64_t id);
const struct volume *engine_volume_named(const struct engine *e, uint64_t account, const char *name); /* not ending */
const struct volume *engine_volume_after(const struct engine *e, uint64_t account, uint64_t after);
const struct volume *engine_volume_of_agent(const struct engine *e, uint64_t agent, uint64_t after);
int64_t engine_volume_let(const struct engine *e, uint64_t agent); /* GiB of volumes that it keeps */
int64_t engine_volume_hour(int32_t gib, int64_t price);            /* what an hour costs, micro-dollars */
bool engine_agent_up(const struct engine *e, uint64_t agent);      /* a host of it is */
int engine_volume_check(const struct engine *e, const struct event *ev, struct fail *why); /* would it be refused? */
const struct payout *engine_payout(const struct engine *e, uint64_t id);
const struct payout *engine_payout_after(const struct engine *e, uint64_t account, uint64_t after);
int64_t engine_payout_room(const struct engine *e, uint64_t account, int32_t hold); /* what it may ask for now */
const struct agent *engine_agent_after(const struct engine *e, uint64_t account, uint64_t after); /* retired ones too */

/*
 * An agent's work: it keeps a node for the instance of each of its hosts until the instance's pool no
 * longer owns the host. The hosts come in order of id, without retired ones.
 */
const struct host *engine_host_of_agent(const struct engine *e, uint64_t agent, uint64_t after);
/* The instances of a pool in order of id, ended ones too. */
const struct instance *engine_instance_of_pool(const struct engine *e, uint64_t pool, uint64_t after);
/* The instance that is awaiting or running on the host; NULL. */
const struct instance *engine_host_instance(const struct engine *e, uint64_t host);
/* The next minute in which a lease begins, is settled or ends; MINUTE_MAX: none does. */
int64_t engine_next_lease(const struct engine *e);
const struct piece *engine_piece_at(const struct host *h, int64_t minute); /* NULL: it has none then */
/* Until when the pool owns the host from `minute` on without a gap; `minute` if it does not own it then. */
int64_t engine_owned_until(const struct engine *e, uint64_t host, uint64_t pool, int64_t minute);
/* The first minute from which on a HOST_DRAIN may end what is sold of the host; 0: no such host. */
int64_t engine_drain_earliest(const struct engine *e, uint64_t host, bool by_operator);

/*
 * Grows whenever that work may have changed: an instance came, went or changed, minutes of the host
 * got another owner, the host went down or up. It is the number of the event that did it, so it never
 * goes back, even across a snapshot. 0: no such host, or it has no agent. O(1).
 */
uint64_t engine_host_version(const struct engine *e, uint64_t host);
uint64_t engine_agent_version(const struct engine *e, uint64_t agent); /* of its hosts, and of their list */

/*
 * The schedule of a pool for one SKU (0: all together) from minute `from` on, as steps without gaps or
 * empty ends. engine_availability() does the same for what is for sale of a SKU, at every price;
 * unverified: also of hosts without the proof that the SKU asks for.
 * Appends to *out, which grows by realloc and is the caller's. 0 or -ENOMEM.
 */
int engine_schedule(const struct engine *e, uint64_t pool, uint64_t sku, int64_t from, struct spans *out);
int engine_availability(const struct engine *e, uint64_t sku, bool unverified, int64_t from, int64_t to,
	struct spans *out);

/* Walks the hosts that a pool owns in a minute, ascending by id; *at starts as 0. False at the end. */
bool engine_pool_host(const struct engine *e, uint64_t pool, int64_t minute, uint64_t *at);

/* How many more nodes of the SKU the pool's time has room for, now or later: windows of its hosts without a node. */
size_t engine_pool_room(const struct engine *e, uint64_t pool, uint64_t sku);
/* How many of a host's windows begin in that minute or later. */
size_t engine_windows_from(const struct engine *e, uint64_t pool, uint64_t host, int64_t minute);
/* How many nodes get one of those windows before this one, which waits for one. */
size_t engine_waiting_before(const struct engine *e, const struct instance *i);
/* When each of those windows begins, the earliest first; *starts is the caller's. 0 or -ENOMEM. */
int engine_pool_windows(const struct engine *e, uint64_t pool, uint64_t sku, int64_t **starts, size_t *count);

/* The public book: the levels of one SKU for a window, best first, without names; spans: what a level could fill. */
int engine_depth(const struct engine *e, uint64_t sku, enum side side, bool unverified, int64_t start, int64_t end,
	size_t max, struct level **out, size_t *count); /* free with levels_free */
void levels_free(struct level *l, size_t count);

/* What an account has earned as the seller of running leases and the market has not posted yet. */
int64_t engine_unsettled(const struct engine *e, uint64_t account);

/*
 * How many things the market has in memory of an account: what was retired or ended too, as far as it is kept, but no
 * deleted pools and no revoked tokens. O(1).
 */
struct kept {
	size_t tokens, hosts, pools, orders, leases, instances, procurements, agents, volumes;
};
struct kept engine_kept(const struct engine *e, uint64_t account);

/* What was spent in this month (UTC), and the minutes in which it began and the next begins. */
int64_t engine_spent(const struct engine *e, const struct spending *s);
int64_t engine_this_month(const struct engine *e);
int64_t engine_next_month(const struct engine *e);

int64_t engine_fees(const struct engine *e); /* all that the market has taken */

/* What an account's running leases cost per minute now: its `burn`. */
int64_t engine_burn(const struct engine *e, uint64_t account);

/* ---- Asking beforehand ------------------------------------------------------------------ */

/* What an EVENT_ORDER would do now; changes nothing. 0 or a negative enum reason as engine_apply gives. */
int engine_quote(const struct engine *e, const struct event *order, struct quote *out, struct fail *why);

/* What an EVENT_ORDER_PRICE would be refused for now; 0: for nothing. */
int engine_price_check(const struct engine *e, const struct event *ev, struct fail *why);
int engine_floor_check(const struct engine *e, const struct event *ev, struct fail *why); /* an EVENT_HOST_FLOOR */

/* Why an order does not fill, and which orders would: each alternative fills if it is posted now. */
void engine_diagnose(const struct engine *e, const struct event *order, struct diagnosis *out);

/* What RELEASE would give back now. */
int engine_release_quote(const struct engine *e, const struct event *release, struct release_quote *out,
	struct fail *why);

/* ---- Keeping and proving ---------------------------------------------------------------- */

/* The whole state as bytes and back. The same state gives the same bytes. Bytes that hold no state: -EINVAL. */
int engine_save(const struct engine *e, struct buf *out);
int engine_load(struct engine **out, const void *bytes, size_t len, struct fail *why);

/* The text of rules.md, section "State", by which people and tests compare two engines. */
int engine_dump(const struct engine *e, struct buf *out);
uint64_t engine_hash(const struct engine *e); /* FNV-1a 64 of that text */

/* Checks every invariant over the whole state, slowly. 0, or -EINVAL with a sentence. */
int engine_check(const struct engine *e, struct fail *why);

#endif
