/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/movements.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"

enum { DAY = 86400, ALL_BOOKS = (1 << MONEY_BOOKS) - 1 };

const char *movement_name(enum movement_kind kind)
{
	static const char *const names[] = {
#define MOVEMENT_ROW(name, text) text,
		MOVEMENTS(MOVEMENT_ROW)
#undef MOVEMENT_ROW
	};

	return names[kind];
}

void movement_page_release(struct movement_page *p)
{
	free(p->list);
	p->list = NULL;
	p->count = p->cap = 0;
}

/* ---- Postings -------------------------------------------------------------------------- */

struct postings_read {
	struct posting_row *list;
	size_t count, limit;
};

static int take_posting(void *arg, const struct posting_row *row)
{
	struct postings_read *p = arg;

	if (p->count < p->limit)
		p->list[p->count++] = *row;
	return 0;
}

static int read_postings(struct api *api, uint64_t account, uint64_t seq, uint64_t n, struct postings_read *p,
	struct fail *f)
{
	struct store *s = market_store(api->market);

	p->count = 0;
	return s->calls->postings(s, account, seq, n, p->limit, take_posting, p, f);
}

int movements_before(struct api *api, uint64_t account, int64_t at, uint64_t *seq, struct fail *f)
{
	uint64_t low = 0, high = engine_count(market_engine(api->market)) + 1; /* what this turn did counts */
	struct posting_row row;
	struct postings_read one = { .list = &row, .limit = 1 };
	int rc = 0;

	while (!rc && low < high) {
		uint64_t middle = low + (high - low) / 2;

		rc = read_postings(api, account, middle, INT64_MAX, &one, f);
		if (!rc && one.count && row.at < at)
			low = row.seq;
		else
			high = middle;
	}
	*seq = low;
	return rc;
}

/* ---- What a lease was for -------------------------------------------------------------- */

static int movements_take_lease(void *arg, const struct lease *l, bool over)
{
	struct lease_found *x = arg;

	(void)over;
	x->found = l->id == x->id;
	if (x->found)
		x->lease = *l;
	return 1;
}

int movement_lease(struct api *api, uint64_t id, struct lease_found *x, struct fail *f)
{
	struct store *s = market_store(api->market);
	const struct lease *live = engine_lease(market_engine(api->market), id);
	const struct store_page page = { .after = id - 1, .limit = 1 };
	int rc = 0;

	if (x->id == id)
		return 0;
	*x = (struct lease_found){ .id = id };
	if (live) {
		x->lease = *live;
		x->found = true;
	} else if (id) {
		rc = s->calls->leases(s, 0, 0, 0, &page, movements_take_lease, x, f);
	}
	return rc < 0 ? rc : 0;
}

/* ---- Movements ------------------------------------------------------------------------- */

static bool same_movement(const struct movement *a, const struct movement *b)
{
	return a->account == b->account && a->at == b->at && a->kind == b->kind && a->seq == b->seq &&
		a->sku == b->sku && a->pool == b->pool && a->host == b->host && a->volume == b->volume;
}

/* False: the same money came and went so often that a sum has no room in 64 bits. Then it needs a row of its own. */
static bool movements_join(struct movement *x, const struct movement *m)
{
	struct movement sum = *x;

	if (__builtin_add_overflow(x->amount, m->amount, &sum.amount) ||
		__builtin_add_overflow(x->gross, m->gross, &sum.gross) ||
		__builtin_add_overflow(x->fee, m->fee, &sum.fee) ||
		__builtin_add_overflow(x->minutes, m->minutes, &sum.minutes))
		return false;
	sum.count++;
	*x = sum;
	return true;
}

/* Days are in order, so what is alike is near the end. */
static int add_movement(struct movement_page *p, const struct movement *m, struct fail *f)
{
	for (size_t i = p->count; i-- > 0 && p->list[i].account == m->account;) {
		struct movement *x = &p->list[i];

		if (x->at / DAY != m->at / DAY)
			break;
		if (!same_movement(x, m) || !movements_join(x, m))
			continue;
		return 0;
	}
	if (p->count == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct movement *list = reallocarray(p->list, cap, sizeof *list);

		if (!list)
			return fail_set(f, REASON_UNAVAILABLE, "the market is out of memory");
		p->list = list;
		p->cap = cap;
	}
	p->list[p->count] = *m;
	p->list[p->count++].count = 1;
	return 0;
}

/* The postings of one transfer that are on an account's statement, and what the market's own say of it. */
struct transfer_seen {
	int64_t at;
	uint64_t seq, subject;
	int64_t money[MONEY_BOOKS];
	bool capacity;     /* node time left one of its pools */
	bool returned;     /* node time came back to one */
	int64_t fee, used; /* of the whole transfer */
	int64_t granted;   /* what left a sponsor's escrow with it */
	bool plan;         /* a plan of the account's paid that */
};

/* The postings of another account, or of the market, near one: those of the same transfer are among them. */
struct beside {
	struct posting_row rows[2 * ENTRIES_MAX];
	size_t count;
};

static int see_side(struct api *api, uint64_t account, const struct posting_row *first, struct beside *out,
	struct fail *f)
{
	struct postings_read near = { .list = out->rows, .limit = 2 * ENTRIES_MAX };
	uint64_t seq = first->seq, n = first->n;
	int rc = n >= ENTRIES_MAX ? read_postings(api, account, seq, n - ENTRIES_MAX, &near, f)
				  : read_postings(api, account, seq - 1, INT64_MAX, &near, f);

	out->count = rc ? 0 : near.count;
	return rc;
}

static bool same_transfer(const struct posting_row *a, const struct posting_row *b)
{
	return a->seq == b->seq && a->posting.transfer == b->posting.transfer;
}

/* The money that the market itself got from the transfer, and the minutes that it used up. */
static int see_market_side(struct api *api, const struct posting_row *first, struct transfer_seen *t, struct fail *f)
{
	struct beside near;
	int rc = see_side(api, 0, first, &near, f);

	for (size_t i = 0; !rc && i < near.count; i++) {
		const struct posting *x = &near.rows[i].posting;

		if (!same_transfer(&near.rows[i], first))
			continue;
		if (x->book == BOOK_FEES)
			t->fee += x->amount;
		else if (x->book == BOOK_USED)
			t->used += x->amount;
	}
	return rc;
}

/* Whether what this sponsor paid is of a plan: the account had one of the sponsor's in that minute. */
static bool movement_of_plan(const struct engine *e, uint64_t account, uint64_t sponsor, int64_t minute)
{
	const struct grant *g = engine_grant_after(e, account, 0);

	while (g && !(g->plan && g->sponsor == sponsor && g->created_at / 60 <= minute && minute < g->until))
		g = engine_grant_after(e, account, g->id);
	return g != NULL;
}

/* What sponsors of the account paid for good in the transfer. */
static int see_sponsors(struct api *api, uint64_t account, const struct posting_row *first, const struct lease *l,
	struct transfer_seen *t, struct fail *f)
{
	const struct engine *e = market_engine(api->market);
	const struct grant *g = engine_grant_after(e, account, 0), *same;
	struct beside near;
	int rc = 0;

	for (; !rc && g; g = engine_grant_after(e, account, g->id)) {
		same = engine_grant_after(e, account, 0);
		while (same != g && same->sponsor != g->sponsor)
			same = engine_grant_after(e, account, same->id);
		if (same != g) /* was seen */
			continue;
		rc = see_side(api, g->sponsor, first, &near, f);
		for (size_t i = 0; !rc && i < near.count; i++) {
			const struct posting *x = &near.rows[i].posting;

			if (same_transfer(&near.rows[i], first) && !x->asset &&
				(x->book == BOOK_ESCROW || (x->book == BOOK_AVAILABLE && g->sponsor != l->seller))) {
				t->granted -= x->amount;
				t->plan = t->plan || movement_of_plan(e, account, g->sponsor, l->filled_at / 60);
			}
		}
	}
	return rc;
}

static void see_posting(struct transfer_seen *t, const struct posting *x)
{
	if (x->asset == 0 && x->book <= BOOK_ESCROW)
		t->money[x->book] += x->amount;
	else if (x->book == BOOK_CAPACITY && x->amount < 0)
		t->capacity = true;
	else if ((x->book == BOOK_CAPACITY || x->book == BOOK_ISSUED) && x->asset)
		t->returned = true;
}

/* What the buyer of a lease paid for good, and what came back. */
static int add_paid(struct movement_page *p, struct movement m, const struct transfer_seen *t, struct fail *f)
{
	int64_t paid = -t->money[BOOK_ESCROW], back = t->money[BOOK_AVAILABLE];
	int rc = 0;

	if (t->granted) {
		m.kind = t->plan ? MOVEMENT_INCLUDED : MOVEMENT_GRANTED;
		m.gross = t->granted;
		m.minutes = paid ? 0 : t->used; /* else they are told with what the buyer paid */
		rc = add_movement(p, &m, f);
	}
	m.gross = m.minutes = 0;
	if (!rc && back) {
		m.kind = MOVEMENT_REFUND;
		m.gross = back;
		m.minutes = paid == back ? t->used : 0;
		rc = add_movement(p, &m, f);
	}
	if (rc || paid == back)
		return rc;
	m.kind = t->capacity && !t->used ? MOVEMENT_FORFEIT : MOVEMENT_USAGE;
	m.gross = paid - back;
	m.amount = -m.gross;
	m.minutes = t->used;
	return add_movement(p, &m, f);
}

/* A sponsor's part of what another bought. */
static int add_sponsored(struct movement_page *p, struct movement m, const struct transfer_seen *t, struct fail *f)
{
	m.kind = MOVEMENT_SPONSORED;
	m.amount = t->money[BOOK_ESCROW] + t->money[BOOK_AVAILABLE];
	m.gross = -m.amount;
	m.pool = 0;
	return m.amount ? add_movement(p, &m, f) : 0;
}

static int add_earned(struct movement_page *p, struct movement m, const struct transfer_seen *t, const struct lease *l,
	struct fail *f)
{
	m.kind = MOVEMENT_EARNING;
	m.amount = t->money[BOOK_AVAILABLE];
	m.fee = t->fee;
	m.gross = m.amount + m.fee;
	m.pool = 0;
	m.host = l && !l->parent ? l->host : 0; /* resold: the host's owner had these minutes before */
	if (!t->returned) /* else it is for time that nobody used */
		m.minutes = l && l->price > 0 ? m.gross / l->price : t->used;
	return add_movement(p, &m, f);
}

/* One of the market's own: only its fees are money that it gets. */
static int add_fee(struct api *api, struct movement_page *p, const struct posting_row *row, struct lease_found *last,
	struct fail *f)
{
	const struct posting *x = &row->posting;
	struct movement m = { .at = row->at - row->at % DAY,
		.kind = MOVEMENT_FEE,
		.amount = x->amount,
		.gross = x->amount,
		.fee = x->amount };
	int rc = x->book == BOOK_FEES ? movement_lease(api, x->subject, last, f) : 0;

	if (rc || x->book != BOOK_FEES)
		return rc;
	m.sku = last->found ? last->lease.sku : 0;
	m.host = last->found && !last->lease.parent ? last->lease.host : 0;
	return add_movement(p, &m, f);
}

/* What is asked for is held, and still the account's. */
static int add_payout(struct movement_page *p, struct movement m, const struct transfer_seen *t, struct fail *f)
{
	m.kind = MOVEMENT_PAYOUT;
	m.at = t->at;
	m.seq = t->seq;
	m.amount = t->money[BOOK_AVAILABLE] + t->money[BOOK_HELD];
	m.gross = m.amount > 0 ? m.amount : -m.amount;
	return m.amount ? add_movement(p, &m, f) : 0;
}

static int add_transfer(struct api *api, struct movement_page *p, const struct posting_row *rows, size_t count,
	struct lease_found *last, struct fail *f)
{
	struct transfer_seen t = { .at = rows->at, .seq = rows->seq, .subject = rows->posting.subject };
	struct movement m = { .account = p->account, .at = t.at - t.at % DAY };
	int rc = 0;

	for (size_t i = 0; !rc && !p->account && i < count; i++)
		rc = add_fee(api, p, &rows[i], last, f);
	if (rc || !p->account)
		return rc;
	for (size_t i = 0; i < count; i++)
		see_posting(&t, &rows[i].posting);
	if (engine_grant_after(market_engine(api->market), p->account, 0) && t.capacity) {
		rc = movement_lease(api, t.subject, last, f);
		if (!rc && last->found)
			rc = see_sponsors(api, p->account, rows, &last->lease, &t, f);
	}
	if (!rc && engine_payout(market_engine(api->market), t.subject))
		return add_payout(p, m, &t, f);
	if (rc || (!t.money[BOOK_AVAILABLE] && !t.money[BOOK_ESCROW] && t.granted <= 0))
		return rc;
	if (t.subject == 0) {
		m.at = t.at;
		m.seq = t.seq;
		m.amount = t.money[BOOK_AVAILABLE];
		m.kind = m.amount > 0 ? MOVEMENT_CREDIT : MOVEMENT_DEBIT;
		m.gross = m.amount > 0 ? m.amount : -m.amount;
		return add_movement(p, &m, f);
	}
	if (engine_grant(market_engine(api->market), t.subject)) { /* no other money moves for a grant itself */
		m.amount = t.money[BOOK_AVAILABLE];
		m.kind = m.amount < 0 ? MOVEMENT_PLAN : MOVEMENT_PLAN_SOLD;
		m.gross = m.amount < 0 ? -m.amount : m.amount;
		return add_movement(p, &m, f);
	}
	if (t.money[BOOK_HELD] || t.money[BOOK_ESCROW] > 0)
		return 0; /* held for an order, or paid ahead for a lease: it still is the account's */
	rc = see_market_side(api, rows, &t, f);
	rc = rc ? rc : movement_lease(api, t.subject, last, f);
	if (rc)
		return rc;
	m.sku = last->found ? last->lease.sku : 0;
	m.pool = last->found ? last->lease.pool : 0;
	if (!last->found && t.money[BOOK_ESCROW] == 0 && t.money[BOOK_AVAILABLE] < 0) {
		m.kind = MOVEMENT_STORAGE;
		m.volume = t.subject;
		m.amount = t.money[BOOK_AVAILABLE];
		m.gross = -m.amount;
		return add_movement(p, &m, f);
	}
	if (t.money[BOOK_ESCROW] < 0 && last->found && last->lease.buyer != p->account)
		return add_sponsored(p, m, &t, f);
	return t.money[BOOK_ESCROW] < 0 || t.granted > 0 ? add_paid(p, m, &t, f)
							 : add_earned(p, m, &t, last->found ? &last->lease : NULL, f);
}

/* ---- Balances -------------------------------------------------------------------------- */

static void see_balance(struct movement_page *p, const struct posting_row *row)
{
	const struct posting *x = &row->posting;
	unsigned bit = 1u << x->book;

	if (x->asset || x->book > BOOK_ESCROW)
		return;
	if (!(p->met & bit)) {
		p->met |= bit;
		p->opened |= bit;
		p->before[x->book] = x->balance - x->amount;
		p->closed |= bit;
		p->after[x->book] = p->before[x->book];
	}
	if (row->at < p->to) {
		p->closed |= bit;
		p->after[x->book] = x->balance;
	}
}

/* Books without a posting since `from` have what they had. */
static void balances_of_now(struct api *api, struct movement_page *p)
{
	const struct account *a = engine_account(market_engine(api->market), p->account);
	const int64_t now[MONEY_BOOKS] = { a ? a->available : 0, a ? a->held : 0, a ? a->escrow : 0 };

	for (int i = 0; i < MONEY_BOOKS; i++)
		if (!(p->met & 1u << i)) {
			p->before[i] = p->after[i] = now[i];
			p->opened |= 1u << i;
			p->closed |= 1u << i;
		}
	p->met = ALL_BOOKS;
}

/* ---- A page ---------------------------------------------------------------------------- */

size_t movement_transfer(const struct posting_row *rows, size_t at, size_t count)
{
	size_t end = at + 1;

	while (end < count && rows[end].posting.transfer == rows[at].posting.transfer && rows[end].seq == rows[at].seq)
		end++;
	return end - at;
}

/* *over: the account has nothing more that is asked for. full: more postings may follow those that were read. */
static int movements_of(struct api *api, struct movement_page *p, const struct postings_read *read, bool full,
	bool *over, struct fail *f)
{
	struct lease_found last = { 0 };
	size_t at = 0, len;
	int rc = 0;

	*over = !full;
	for (; !rc && at < read->count; at += len) {
		const struct posting_row *rows = read->list + at;

		len = movement_transfer(read->list, at, read->count);
		if (full && at && at + len == read->count)
			break; /* the rest of this transfer is on the next page */
		if (rows->at >= p->to && (!p->balances || !p->account || p->met == ALL_BOOKS)) {
			*over = true;
			break;
		}
		for (size_t i = 0; p->account && i < len; i++)
			see_balance(p, &rows[i]);
		if (rows->at < p->to)
			rc = add_transfer(api, p, rows, len, &last, f);
		p->seq = rows[len - 1].seq;
		p->n = rows[len - 1].n;
	}
	return rc;
}

static bool next_account(struct api *api, struct movement_page *p)
{
	const struct account *a = p->all ? engine_account_after(market_engine(api->market), p->account) : NULL;

	if (!a)
		return false;
	p->account = a->id;
	p->seq = p->n = 0;
	p->met = 0;
	return true;
}

int movements_read(struct api *api, struct movement_page *p, struct fail *f)
{
	struct postings_read read = { .limit = p->limit };
	size_t left = p->limit;
	bool over = false;
	int rc = 0;

	read.list = calloc(p->limit, sizeof *read.list);
	if (!read.list)
		return fail_set(f, REASON_UNAVAILABLE, "the market is out of memory");
	p->more = true;
	while (!rc && p->more && left > 2 * (size_t)ENTRIES_MAX) {
		size_t cost;

		read.limit = left;
		if (!p->seq) {
			rc = movements_before(api, p->account, p->from, &p->seq, f);
			p->n = INT64_MAX;
		}
		rc = rc ? rc : read_postings(api, p->account, p->seq, p->n, &read, f);
		rc = rc ? rc : movements_of(api, p, &read, read.count == read.limit, &over, f);
		if (!rc && over && p->balances && p->account)
			balances_of_now(api, p);
		if (!rc && over)
			p->more = next_account(api, p);
		cost = read.count + ENTRIES_MAX; /* an account costs something even without a posting */
		left -= cost < left ? cost : left;
	}
	free(read.list);
	return rc;
}

/* ---- Reasons --------------------------------------------------------------------------- */

static int take_why(void *arg, uint64_t seq, const struct event *ev)
{
	char *room = arg;

	(void)seq;
	if (ev->text && (ev->kind == EVENT_CREDIT || ev->kind == EVENT_ACCOUNT_STATE))
		snprintf(room, MOVEMENT_WHY, "%s", ev->text);
	else if (ev->kind == EVENT_PAYOUT)
		snprintf(room, MOVEMENT_WHY, "%s", ev->name ? ev->name : ev->text ? ev->text : "");
	else if (ev->kind == EVENT_PAYMENT)
		snprintf(room, MOVEMENT_WHY, "Stripe %.120s%s%.120s", ev->name, ev->text ? " " : "",
			ev->text ? ev->text : "");
	return 1;
}

const char *movement_why(struct api *api, uint64_t seq, char room[MOVEMENT_WHY])
{
	struct store *s = market_store(api->market);

	*room = '\0';
	s->calls->events(s, seq - 1, take_why, room, NULL);
	return room;
}

static int take_refunded(void *arg, uint64_t seq, const struct event *ev)
{
	uint64_t *pool = arg;

	(void)seq;
	if (ev->kind == EVENT_CREDIT && ev->name && !ident_parse(IDENT_POOL, ev->name, pool))
		*pool = 0;
	return 1;
}

uint64_t movement_refunds(struct api *api, uint64_t seq)
{
	struct store *s = market_store(api->market);
	uint64_t pool = 0;

	s->calls->events(s, seq - 1, take_refunded, &pool, NULL);
	return pool;
}
