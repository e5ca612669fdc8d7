/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ASSETS_MOST = 8 };

void shadow_release(struct shadow *s)
{
	for (size_t i = 0; i < s->order_count; i++)
		free((void *)s->orders[i].rest);
	free(s->orders);
	free(s->leases);
	free(s->list);
	*s = (struct shadow){ 0 };
}

static void *more(void *old, size_t n, size_t size)
{
	void *p = realloc(old, n * size);

	if (!p)
		abort();
	return p;
}

static struct shadow_book *shadow_find(struct shadow *s, const struct posting *p)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].owner == p->owner && s->list[i].book == p->book && s->list[i].asset == p->asset)
			return &s->list[i];
	s->list = more(s->list, s->count + 1, sizeof *s->list);
	s->list[s->count] = (struct shadow_book){ p->owner, p->asset, p->book, 0 };
	return &s->list[s->count++];
}

int shadow_posting(struct shadow *s, const struct posting *p, struct fail *why)
{
	struct shadow_book *b = shadow_find(s, p);

	if (__builtin_add_overflow(b->balance, p->amount, &b->balance))
		return fail_set(why, -EINVAL, "transfer %" PRIu64 " passes what a balance can be", p->transfer);
	if (b->balance != p->balance)
		return fail_set(why, -EINVAL,
			"transfer %" PRIu64 " says balance %" PRId64 " of owner %" PRIu64 " book %d asset %" PRIu64
			", the sum is %" PRId64,
			p->transfer, p->balance, p->owner, p->book, p->asset, b->balance);
	if (p->amount == 0)
		return fail_set(why, -EINVAL, "transfer %" PRIu64 " has a posting of nothing", p->transfer);
	return 0;
}

struct sums {
	uint64_t asset[ASSETS_MOST];
	int64_t sum[ASSETS_MOST];
	size_t n;
};

static int sums_end(struct sums *t, uint64_t transfer, struct fail *why)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->sum[i])
			return fail_set(why, -EINVAL, "transfer %" PRIu64 " sums to %" PRId64 " in asset %" PRIu64,
				transfer, t->sum[i], t->asset[i]);
	t->n = 0;
	return 0;
}

static int sums_add(struct sums *t, const struct posting *p, struct fail *why)
{
	size_t i = 0;

	while (i < t->n && t->asset[i] != p->asset)
		i++;
	if (i == ASSETS_MOST)
		return fail_set(why, -EINVAL, "transfer %" PRIu64 " has too many assets", p->transfer);
	if (i == t->n) {
		t->asset[t->n] = p->asset;
		t->sum[t->n++] = 0;
	}
	t->sum[i] += p->amount;
	return 0;
}

/* ---- Rows ------------------------------------------------------------------------------- */

static bool order_over(const struct order *o)
{
	return o->status == ORDER_FILLED || o->status == ORDER_CANCELLED || o->status == ORDER_REJECTED;
}

static void shadow_order(struct shadow *s, const struct order *o)
{
	struct span *rest = NULL;
	size_t i = 0;

	while (i < s->order_count && s->orders[i].id != o->id)
		i++;
	if (i < s->order_count)
		free((void *)s->orders[i].rest);
	if (order_over(o)) {
		if (i < s->order_count)
			s->orders[i] = s->orders[--s->order_count];
		return;
	}
	if (i == s->order_count)
		s->orders = more(s->orders, ++s->order_count, sizeof *s->orders);
	if (o->rest_count) {
		rest = more(NULL, o->rest_count, sizeof *rest);
		memcpy(rest, o->rest, o->rest_count * sizeof *rest);
	}
	s->orders[i] = *o;
	s->orders[i].rest = rest;
}

static void shadow_lease(struct shadow *s, const struct lease *l, bool over)
{
	size_t i = 0;

	while (i < s->lease_count && s->leases[i].id != l->id)
		i++;
	if (over) {
		if (i < s->lease_count)
			s->leases[i] = s->leases[--s->lease_count];
		return;
	}
	if (i == s->lease_count)
		s->leases = more(s->leases, ++s->lease_count, sizeof *s->leases);
	s->leases[i] = *l;
}

static int shadow_transfer(struct shadow *s, struct sums *sums, const struct posting *p, struct fail *why)
{
	int rc = 0;

	if (p->transfer != s->transfer) {
		rc = sums_end(sums, s->transfer, why);
		if (rc == 0 && p->transfer != s->transfer + 1)
			rc = fail_set(why, -EINVAL, "transfer %" PRIu64 " comes after %" PRIu64, p->transfer,
				s->transfer);
		s->transfer = p->transfer;
	}
	if (rc == 0)
		rc = sums_add(sums, p, why);
	return rc ? rc : shadow_posting(s, p, why);
}

int shadow_take(struct shadow *s, const struct effects *did, struct fail *why)
{
	struct sums sums = { .n = 0 };
	int rc = 0;

	for (size_t i = 0; i < did->count && rc == 0; i++) {
		const struct effect *e = &did->list[i];

		if (e->kind == EFFECT_POSTING)
			rc = shadow_transfer(s, &sums, &e->u.posting, why);
		else if (e->kind == EFFECT_ORDER)
			shadow_order(s, &e->u.order);
		else if (e->kind == EFFECT_LEASE)
			shadow_lease(s, &e->u.lease.lease, e->u.lease.over);
	}
	return rc ? rc : sums_end(&sums, s->transfer, why);
}

void shadow_closed(const struct effects *did, struct buf *out)
{
	uint64_t last = 0;

	for (;;) {
		const struct order *next = NULL;

		for (size_t i = 0; i < did->count; i++) {
			const struct order *o = &did->list[i].u.order;

			if (did->list[i].kind == EFFECT_ORDER && order_over(o) && o->id > last &&
				(!next || o->id <= next->id))
				next = o;
		}
		if (!next)
			return;
		last = next->id;
		buf_addf(out, "closed %" PRIu64 " %d %d %" PRId64 " %" PRId64 "\n", next->id, next->status,
			next->reason, next->filled_minutes, next->filled_cost);
	}
}

static bool rest_same(const struct order *a, const struct order *b)
{
	for (size_t i = 0; i < a->rest_count && i < b->rest_count; i++)
		if (a->rest[i].start != b->rest[i].start || a->rest[i].end != b->rest[i].end ||
			a->rest[i].nodes != b->rest[i].nodes)
			return false;
	return a->rest_count == b->rest_count;
}

static bool order_same(const struct order *a, const struct order *b)
{
	return a->account == b->account && a->token == b->token && a->pool == b->pool && a->sku == b->sku &&
		a->host == b->host && a->procurement == b->procurement && a->side == b->side && a->flags == b->flags &&
		a->nodes == b->nodes && a->start == b->start && a->end == b->end && a->price == b->price &&
		a->max_total == b->max_total && a->created_at == b->created_at && a->closed_at == b->closed_at &&
		a->status == b->status && a->reason == b->reason && a->hold == b->hold &&
		a->filled_minutes == b->filled_minutes && a->filled_cost == b->filled_cost && rest_same(a, b);
}

static bool lease_same(const struct lease *a, const struct lease *b)
{
	return a->order == b->order && a->sell_order == b->sell_order && a->host == b->host && a->sku == b->sku &&
		a->parent == b->parent && a->buyer == b->buyer && a->seller == b->seller && a->pool == b->pool &&
		a->start == b->start && a->end == b->end && a->price == b->price && a->paid_end == b->paid_end &&
		a->settled == b->settled && a->interruptible == b->interruptible && a->sold_on == b->sold_on &&
		a->filled_at == b->filled_at;
}

static int rows_compare(const struct shadow *s, const struct engine *e, struct fail *why)
{
	size_t orders = 0, leases = 0;

	for (const struct order *o = engine_order_after(e, 0, 0); o; o = engine_order_after(e, 0, o->id))
		orders++;
	for (const struct lease *l = engine_lease_after(e, 0, 0); l; l = engine_lease_after(e, 0, l->id))
		leases++;
	if (orders != s->order_count || leases != s->lease_count)
		return fail_set(why, -EINVAL, "%zu orders and %zu leases, and rows of %zu and %zu", orders, leases,
			s->order_count, s->lease_count);
	for (size_t i = 0; i < s->order_count; i++) {
		const struct order *o = engine_order(e, s->orders[i].id);

		if (!o || !order_same(o, &s->orders[i]))
			return fail_set(why, -EINVAL, "order %" PRIu64 " is not what its last row says",
				s->orders[i].id);
	}
	for (size_t i = 0; i < s->lease_count; i++) {
		const struct lease *l = engine_lease(e, s->leases[i].id);

		if (!l || !lease_same(l, &s->leases[i]))
			return fail_set(why, -EINVAL, "lease %" PRIu64 " is not what its last row says",
				s->leases[i].id);
	}
	return 0;
}

static int64_t shadow_balance(const struct shadow *s, uint64_t owner, enum book book)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].owner == owner && s->list[i].book == book && s->list[i].asset == 0)
			return s->list[i].balance;
	return 0;
}

int shadow_compare(const struct shadow *s, const struct engine *e, struct fail *why)
{
	int64_t sum = 0;

	for (const struct account *a = engine_account_after(e, 0); a; a = engine_account_after(e, a->id))
		if (a->available != shadow_balance(s, a->id, BOOK_AVAILABLE) ||
			a->held != shadow_balance(s, a->id, BOOK_HELD) ||
			a->escrow != shadow_balance(s, a->id, BOOK_ESCROW))
			return fail_set(why, -EINVAL, "account %" PRIu64 " has other balances than its postings give",
				a->id);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].asset == 0)
			sum += s->list[i].balance;
	return sum ? fail_set(why, -EINVAL, "all money sums to %" PRId64, sum) : rows_compare(s, e, why);
}
