/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of the reference market: each is looked at in every minute. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static wide hour_of(int64_t gib, int64_t price)
{
	wide month = (wide)gib * price;

	return month / 730 + (month % 730 != 0);
}

static int64_t kept_by(const struct reference *r, uint64_t agent)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->volumes.n; i++) {
		const struct rvolume *v = r->volumes.at[i];

		sum += v->agent == agent ? v->gib : 0;
	}
	return sum;
}

static bool can_pay(const struct reference *r, uint64_t account, wide cost)
{
	const struct raccount *a = ref_list_find(&r->accounts, account);

	return cost <= (wide)ref_available(r, account) - a->floor;
}

static void charge(struct reference *r, const struct rvolume *v, int64_t cost)
{
	const struct ragent *g = ref_list_find(&r->agents, v->agent);

	if (!cost)
		return;
	ref_post(r, v->account, BOOK_AVAILABLE, 0, -cost);
	ref_post_income(r, g->account, cost);
	ref_transfer_done(r);
	ref_earn_volume(r, v->account, g->account, cost);
}

static bool machine_up(const struct reference *r, uint64_t agent)
{
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];

		if (h->agent == agent && !h->down && (r->rules < 5 || h->end > r->minute))
			return true;
	}
	return false;
}

static int volume_let_out(struct reference *r, struct ragent *g, const struct event *ev)
{
	if (!g || g->retired || g->account != ev->account)
		return REASON_NOT_FOUND;
	if (ev->u.volume.gib < 0 || ev->u.volume.gib > 1048576 || ev->u.volume.price < 0 ||
		ev->u.volume.price > 1000000000000)
		return REASON_INVALID;
	if (kept_by(r, g->id) > ev->u.volume.gib)
		return REASON_HAS_DEPENDENTS;
	g->lets = ev->u.volume.gib;
	g->asks = ev->u.volume.price;
	return 0;
}

static struct rvolume *named_so(const struct reference *r, const struct event *ev)
{
	for (size_t i = 0; i < r->volumes.n; i++) {
		struct rvolume *v = r->volumes.at[i];

		if (v->account == ev->account && v->state != VOLUME_DELETING && strcmp(v->name, ev->name) == 0)
			return v;
	}
	return NULL;
}

static int volume_new(struct reference *r, const struct raccount *a, const struct ragent *g, const struct event *ev)
{
	struct rvolume *v;

	if (a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (!g || g->retired)
		return REASON_NOT_FOUND;
	if (!ref_name_ok(ev->name) || ev->u.volume.gib < 1 || ev->u.volume.gib > 1048576 || ev->u.volume.price < 0 ||
		ev->u.volume.price > 1000000000000)
		return REASON_INVALID;
	if (named_so(r, ev))
		return REASON_NAME_TAKEN;
	if (ev->u.volume.price < g->asks)
		return REASON_PRICE_TOO_LOW;
	if (!machine_up(r, g->id) || kept_by(r, g->id) + ev->u.volume.gib > g->lets)
		return REASON_NO_CAPACITY;
	if (!can_pay(r, a->id, hour_of(ev->u.volume.gib, g->asks)))
		return REASON_FUNDS;
	v = ref_more(NULL, 1, sizeof *v);
	*v = (struct rvolume){ .id = r->next_id++,
		.account = a->id,
		.agent = g->id,
		.name = ref_text(ev->name),
		.gib = ev->u.volume.gib,
		.price = g->asks,
		.paid = r->minute + 60,
		.state = VOLUME_PAID };
	ref_list_add(&r->volumes, v);
	charge(r, v, (int64_t)hour_of(v->gib, v->price));
	return 0;
}

static int volume_grow(struct reference *r, struct rvolume *v, const struct event *ev)
{
	const struct ragent *g = ref_list_find(&r->agents, v->agent);
	wide more = hour_of(ev->u.volume.gib, g->asks) - hour_of(v->gib, v->price);

	if (v->state == VOLUME_UNPAID)
		return REASON_WRONG_STATE;
	if (ev->u.volume.gib <= v->gib || ev->u.volume.gib > 1048576 || ev->u.volume.price < 0 ||
		ev->u.volume.price > 1000000000000)
		return REASON_INVALID;
	if (ev->u.volume.price < g->asks)
		return REASON_PRICE_TOO_LOW;
	if (!machine_up(r, g->id) || kept_by(r, g->id) - v->gib + ev->u.volume.gib > g->lets)
		return REASON_NO_CAPACITY;
	if (more < 0)
		more = 0;
	if (!can_pay(r, v->account, more))
		return REASON_FUNDS;
	v->gib = ev->u.volume.gib;
	v->price = g->asks;
	charge(r, v, (int64_t)more);
	return 0;
}

static void drop(struct reference *r, struct rvolume *v)
{
	free(v->name);
	ref_list_drop(&r->volumes, v);
}

/* Since edition 5 whoever owes pays whole hours, the oldest first, until there is too little for another. */
static void delete_it(struct reference *r, struct rvolume *v)
{
	wide hour = hour_of(v->gib, v->price), sum = 0;

	while (r->rules >= 5 && v->state == VOLUME_UNPAID && hour && v->paid <= r->minute &&
		can_pay(r, v->account, sum + hour)) {
		sum += hour;
		v->paid += 60;
	}
	charge(r, v, (int64_t)sum);
	v->state = VOLUME_DELETING;
	v->ends = 0;
}

int ref_volume(struct reference *r, const struct event *ev)
{
	const struct raccount *a = ref_list_find(&r->accounts, ev->account);
	struct rvolume *v = ref_list_find(&r->volumes, ev->subject);
	struct ragent *g = ref_list_find(&r->agents, ev->subject);

	if (!a)
		return REASON_NOT_FOUND;
	if (ev->kind == EVENT_VOLUME_OFFER)
		return volume_let_out(r, g, ev);
	if (ev->kind == EVENT_VOLUME)
		return volume_new(r, a, g, ev);
	g = v ? ref_list_find(&r->agents, v->agent) : NULL;
	if (ev->kind == EVENT_VOLUME_GONE) {
		if (!v || g->account != a->id)
			return REASON_NOT_FOUND;
		if (v->state != VOLUME_DELETING)
			return REASON_WRONG_STATE;
		drop(r, v);
		return 0;
	}
	if (ev->u.volume.gib && a->state == ACCOUNT_SUSPENDED)
		return REASON_SUSPENDED;
	if (!v || v->account != a->id)
		return REASON_NOT_FOUND;
	if (v->state == VOLUME_DELETING)
		return REASON_WRONG_STATE;
	if (ev->u.volume.gib)
		return volume_grow(r, v, ev);
	delete_it(r, v);
	return 0;
}

void ref_volumes_lost(struct reference *r, uint64_t agent)
{
	for (size_t i = r->volumes.n; i-- > 0;)
		if (((struct rvolume *)r->volumes.at[i])->agent == agent)
			drop(r, r->volumes.at[i]);
}

static void one_due(struct reference *r, struct rvolume *v)
{
	int64_t hours = 1;
	wide cost;

	if (v->state == VOLUME_UNPAID && r->minute == v->ends && r->rules < 5) {
		delete_it(r, v);
		return;
	}
	if (v->state == VOLUME_DELETING || v->paid > r->minute)
		return;
	if (!machine_up(r, v->agent)) {
		v->paid += v->state == VOLUME_PAID ? 60 : 1;
		v->ends += v->state == VOLUME_UNPAID && r->rules >= 5;
		return;
	}
	while (v->paid + 60 * hours <= r->minute)
		hours++;
	cost = hours * hour_of(v->gib, v->price);
	if (cost == 0 || can_pay(r, v->account, cost)) {
		v->state = VOLUME_PAID;
		v->ends = 0;
		v->paid += 60 * hours;
		charge(r, v, (int64_t)cost);
	} else if (v->state == VOLUME_PAID) {
		int32_t grace = r->policy.volume_grace_minutes;

		v->state = VOLUME_UNPAID;
		v->ends = r->minute + (grace ? grace : 10080);
	} else if (v->ends <= r->minute) {
		delete_it(r, v);
	}
}

void ref_volumes_tick(struct reference *r)
{
	for (size_t i = 0; i < r->volumes.n; i++)
		one_due(r, r->volumes.at[i]);
}

void ref_volumes_dump(const struct reference *r, struct buf *out)
{
	for (size_t i = 0; i < r->agents.n; i++) {
		const struct ragent *g = r->agents.at[i];

		if (!g->retired && (g->lets || g->asks))
			buf_addf(out, "lets %" PRIu64 " %" PRId64 " %" PRId64 "\n", g->id, g->lets, g->asks);
	}
	for (size_t i = 0; i < r->volumes.n; i++) {
		const struct rvolume *v = r->volumes.at[i];

		buf_addf(out,
			"volume %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %d %" PRId64 " %" PRId64
			" %s\n",
			v->id, v->account, v->agent, v->gib, v->price, v->state, v->paid, v->ends, v->name);
	}
}

void ref_volumes_free(struct reference *r)
{
	for (size_t i = 0; i < r->volumes.n; i++)
		free(((struct rvolume *)r->volumes.at[i])->name);
}
