/* SPDX-License-Identifier: Apache-2.0 */
/* The minutes of hosts and the leases over them, for the reference market. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

struct cell *ref_cell_at(const struct rhost *h, int64_t minute)
{
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].start <= minute && minute < h->cell[i].end)
			return &h->cell[i];
	return NULL;
}

/* Afterwards no cell lies on both sides of that minute. */
void ref_cells_cut(struct rhost *h, int64_t minute)
{
	struct cell *c = ref_cell_at(h, minute);
	size_t i;

	if (!c || c->start == minute)
		return;
	i = (size_t)(c - h->cell);
	h->cell = ref_more(h->cell, h->cells + 1, sizeof *h->cell);
	memmove(h->cell + i + 1, h->cell + i, (h->cells - i) * sizeof *h->cell);
	h->cells++;
	h->cell[i].end = minute;
	h->cell[i + 1].start = minute;
}

void ref_cells_join(struct rhost *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->cells; i++) {
		struct cell *last = n ? &h->cell[n - 1] : NULL, *c = &h->cell[i];

		if (last && last->end == c->start && last->pool == c->pool && last->lease == c->lease &&
			last->order == c->order && last->lost == c->lost)
			last->end = c->end;
		else
			h->cell[n++] = *c;
	}
	h->cells = n;
}

void ref_cells_forget(struct rhost *h, int64_t before)
{
	size_t n = 0;

	for (size_t i = 0; i < h->cells; i++) {
		if (h->cell[i].end <= before)
			continue;
		if (h->cell[i].start < before)
			h->cell[i].start = before;
		h->cell[n++] = h->cell[i];
	}
	h->cells = n;
}

bool ref_owns(const struct rhost *h, int64_t minute, uint64_t pool)
{
	const struct cell *c = ref_cell_at(h, minute);

	return c && c->pool == pool;
}

bool ref_order_on_sale(const struct reference *r, const struct rorder *o)
{
	for (size_t i = 0; i < r->hosts.n; i++) {
		const struct rhost *h = r->hosts.at[i];

		for (size_t j = 0; j < h->cells; j++)
			if (h->cell[j].order == o->id && h->cell[j].end > r->minute)
				return true;
	}
	return false;
}

void ref_order_take_off(struct reference *r, uint64_t order)
{
	for (size_t i = 0; i < r->hosts.n; i++) {
		struct rhost *h = r->hosts.at[i];

		for (size_t j = 0; j < h->cells; j++)
			if (h->cell[j].order == order)
				h->cell[j].order = 0;
		ref_cells_join(h);
	}
}

int64_t ref_notice(const struct reference *r)
{
	return r->policy.notice_minutes < 2 ? 2 : r->policy.notice_minutes;
}

int64_t ref_drain_notice(const struct reference *r)
{
	int64_t told = r->policy.drain_notice_minutes, usual = ref_notice(r);

	if (told == 0)
		told = 24 * 60;
	return told < usual ? usual : told;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The part from `at` on, which is a lease of its own afterwards; all of it where `at` is its start. */
struct rlease *ref_lease_split(struct reference *r, struct rlease *l, int64_t at)
{
	struct rlease *parent = ref_list_find(&r->leases, l->parent), *tail;
	struct rhost *h = ref_list_find(&r->hosts, l->host);

	if (at <= l->start || at >= l->end)
		return l;
	if (parent)
		parent = ref_lease_split(r, parent, at);
	tail = ref_more(NULL, 1, sizeof *tail);
	*tail = *l;
	tail->id = r->next_id++;
	tail->parent = parent ? parent->id : 0;
	tail->start = tail->settled = at;
	l->end = at;
	l->paid_end = least(l->paid_end, at);
	ref_list_add(&r->leases, tail);
	ref_cells_cut(h, at);
	for (size_t i = 0; i < h->cells; i++)
		if (h->cell[i].lease == l->id && h->cell[i].start >= at)
			h->cell[i].lease = tail->id;
	return tail;
}

/* It passed what was asked of it then, be it that more is asked for now. */
static bool shown(const struct rhost *h)
{
	return h->proof == PROOF_PASSED || h->proof == PROOF_OUTGROWN;
}

/* Its buyer asked for a host with proof, and there was none that was valid when he came or later. */
static bool unproven(const struct rhost *h, const struct rlease *l)
{
	if (!l->asked)
		return false;
	return !shown(h) || l->came >= h->valid;
}

void ref_lease_settle(struct reference *r, struct rlease *l, int64_t upto)
{
	const struct rhost *h = ref_list_find(&r->hosts, l->host);
	int64_t paid = most(0, least(upto, l->paid_end) - l->settled);
	int64_t passed = most(0, least(upto, l->end) - l->settled), money;
	bool nothing = h->down || unproven(h, l);

	ref_back(r, l, paid, nothing ? 10000 : 0, &money);
	if (!nothing) {
		ref_post_income(r, l->seller, money);
		ref_earn(r, l, paid, 0, money);
	}
	if (!l->sold_on) {
		ref_post_capacity(r, l->pool, l->sku, -passed);
		ref_post(r, 0, BOOK_USED, l->sku, passed);
	}
	ref_transfer_done(r);
	l->settled += passed;
}

/*
 * The minutes of a lease from `from` on go back to where they came from: to the seller's pool, with the
 * seller's own lease where there is one, on sale by the order that sold them where that is wanted.
 */
static void lease_give_back(struct reference *r, struct rlease *l, int64_t from, uint64_t order)
{
	struct rhost *h = ref_list_find(&r->hosts, l->host);
	struct rlease *parent = ref_list_find(&r->leases, l->parent);
	const struct rorder *sell = ref_list_find(&r->orders, order);
	uint64_t pool;

	if (parent) {
		parent = ref_lease_split(r, parent, from);
		parent->sold_on = false;
	}
	pool = parent ? parent->pool : h->pool;
	if (sell && pool == h->pool && sell->price < h->floor)
		order = 0;
	ref_cells_cut(h, from);
	ref_cells_cut(h, l->end);
	ref_cells_cut(h, h->drain);
	for (size_t i = 0; i < h->cells; i++) {
		struct cell *c = &h->cell[i];

		if (c->lease != l->id || c->start < from)
			continue;
		c->pool = pool;
		c->lease = parent ? parent->id : 0;
		c->order = pool == h->pool && h->drain && c->start >= h->drain ? 0 : order;
	}
	ref_cells_join(h);
	ref_post_capacity(r, l->pool, l->sku, -(l->end - from));
	ref_post_capacity(r, pool, l->sku, l->end - from);
}

void ref_lease_interrupt(struct reference *r, struct rlease *l, int64_t at)
{
	const struct rorder *sell = ref_list_find(&r->orders, l->sell_order);
	int64_t from = most(at, l->start), none;

	lease_give_back(r, l, from, sell ? sell->id : 0);
	ref_back(r, l, l->paid_end - from + (l->start < at ? 1 : 0), 10000, &none);
	ref_transfer_done(r);
	ref_mark_add(&r->wanted, l->sku);
	if (at <= l->start) {
		ref_list_drop(&r->leases, l);
		return;
	}
	l->end = at;
	l->paid_end = at - 1;
}

/* The host's owner ends it at `from`: the buyer gets back all that the rest costs. */
void ref_lease_shorten(struct reference *r, struct rlease *l, int64_t from)
{
	int64_t none;

	l = ref_lease_split(r, l, from);
	lease_give_back(r, l, l->start, 0);
	ref_back(r, l, l->paid_end - l->start, 10000, &none);
	ref_transfer_done(r);
	ref_list_drop(&r->leases, l);
}

/* The buyer gives back what is from `from` on: the part of it, or all, is over. */
void ref_lease_release(struct reference *r, struct rlease *l, int64_t from)
{
	const struct rhost *h = ref_list_find(&r->hosts, l->host);
	bool late = l->asked && l->came > r->minute && (!shown(h) || h->valid <= r->minute), again;
	bool all = l->interruptible || late || unproven(h, l);
	const struct rorder *sell;
	int64_t lost;

	l = ref_lease_split(r, l, from);
	sell = ref_list_find(&r->orders, l->sell_order);
	again = sell && (sell->flags & ORDER_PARTIAL);
	lease_give_back(r, l, l->start, again ? sell->id : 0);
	ref_back(r, l, l->paid_end - l->start, all ? 10000 : r->policy.release_bps, &lost);
	ref_post_income(r, l->seller, lost);
	ref_earn(r, l, l->paid_end - l->start, all ? 10000 : r->policy.release_bps, lost);
	ref_transfer_done(r);
	ref_list_drop(&r->leases, l);
}
