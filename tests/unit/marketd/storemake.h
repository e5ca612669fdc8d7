/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events with effects as an engine would give them, for tests of what only keeps them: accounts buy
 * from one seller's standing order, and the ledger of it is true. Same numbers, same events.
 */
#ifndef TESTS_STOREMAKE_H
#define TESTS_STOREMAKE_H

#include <stdlib.h>
#include <string.h>

#include "marketd/store/store.h"

#define MAKE_UNUSED __attribute__((unused))

enum { MAKE_ACCOUNTS = 64, MAKE_SKUS = 2, MAKE_FIRST_ID = 1000 };

struct make {
	uint64_t seq, id, transfer;
	int64_t at;
	uint64_t seed;
	int64_t available[MAKE_ACCOUNTS], escrow[MAKE_ACCOUNTS], capacity[MAKE_ACCOUNTS], issued;
	struct order sell;
	struct event ev;
	struct effects did;
	struct span rest[2];
};

static MAKE_UNUSED void make_begin(struct make *m)
{
	*m = (struct make){ .id = MAKE_FIRST_ID, .at = 1795162624, .seed = 88172645463325252u };
}

static MAKE_UNUSED void make_end(struct make *m)
{
	free(m->did.list);
	*m = (struct make){ 0 };
}

static uint64_t make_any(struct make *m, uint64_t below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (m->seed >> 11) % below;
}

static struct effect *make_effect(struct make *m, enum effect_kind kind)
{
	if (m->did.count == m->did.cap) {
		m->did.cap = m->did.cap ? 2 * m->did.cap : 32;
		m->did.list = realloc(m->did.list, m->did.cap * sizeof *m->did.list);
		if (!m->did.list)
			abort();
	}
	m->did.list[m->did.count] = (struct effect){ .kind = kind };
	return &m->did.list[m->did.count++];
}

static void make_posting(struct make *m, uint64_t owner, uint64_t account, uint64_t asset, enum book book,
	int64_t amount, int64_t *balance, uint64_t subject)
{
	*balance += amount;
	make_effect(m, EFFECT_POSTING)->u.posting = (struct posting){ .transfer = m->transfer,
		.owner = owner,
		.account = account,
		.asset = asset,
		.book = book,
		.amount = amount,
		.balance = *balance,
		.subject = subject };
}

static void make_notice(struct make *m, enum notice_kind kind, uint64_t account, uint64_t subject, int64_t amount)
{
	make_effect(m, EFFECT_NOTICE)->u.notice = (struct notice){ .kind = kind, .account = account, .subject = subject,
		.amount = amount };
}

/* The first one: the seller (account 1, pool 501) puts much on sale. */
static MAKE_UNUSED void make_offer(struct make *m)
{
	m->sell = (struct order){ .id = m->id++,
		.account = 1,
		.pool = 501,
		.sku = 301,
		.side = SIDE_SELL,
		.flags = ORDER_STANDING | ORDER_PARTIAL,
		.nodes = 1024,
		.start = 30000000,
		.end = 30100000,
		.price = 249000,
		.created_at = m->at,
		.status = ORDER_RESTING };
	m->ev = (struct event){ .kind = EVENT_ORDER, .at = m->at, .account = 1, .u.order = { .pool = 501, .sku = 301,
		.side = SIDE_SELL, .flags = m->sell.flags, .nodes = 1024, .start = m->sell.start, .end = m->sell.end,
		.price = m->sell.price } };
	m->seq++;
	m->did.count = 0;
	make_effect(m, EFFECT_MADE)->u.made = m->sell.id;
	make_effect(m, EFFECT_ORDER)->u.order = m->sell;
	m->transfer++;
	make_posting(m, 501, 1, 301, BOOK_CAPACITY, 1000000000000, &m->capacity[1], m->sell.id);
	make_posting(m, 501, 1, 301, BOOK_ISSUED, -1000000000000, &m->issued, m->sell.id);
}

/* What the engine tells of a buy: its postings, its lease, its orders, its notices. */
static MAKE_UNUSED void make_buy_effects(struct make *m, const struct order *o, const struct lease *l)
{
	int64_t minutes = o->filled_minutes;
	uint64_t buyer = o->account, pool = o->pool;
	struct effect *e;

	make_effect(m, EFFECT_MADE)->u.made = o->id;
	make_posting(m, buyer, buyer, 0, BOOK_AVAILABLE, -o->filled_cost, &m->available[buyer], l->id);
	make_posting(m, buyer, buyer, 0, BOOK_ESCROW, o->filled_cost, &m->escrow[buyer], l->id);
	make_posting(m, 501, 1, 301, BOOK_CAPACITY, -minutes, &m->capacity[1], l->id);
	make_posting(m, pool, buyer, 301, BOOK_CAPACITY, minutes, &m->capacity[buyer], l->id);
	e = make_effect(m, EFFECT_LEASE);
	e->u.lease.lease = *l;
	e->u.lease.is_new = true;
	make_effect(m, EFFECT_ORDER)->u.order = *o;
	make_effect(m, EFFECT_ORDER)->u.order = m->sell;
	make_notice(m, NOTICE_ORDER_PLACED, buyer, o->id, 0);
	make_notice(m, NOTICE_ORDER_FILLED, buyer, o->id, o->filled_cost);
	make_notice(m, NOTICE_ORDER_CLOSED, buyer, o->id, 0);
	make_notice(m, NOTICE_SOLD, 1, m->sell.id, o->filled_cost);
}

/* A buy that fills at once: two orders' rows, a lease, four postings, four notices. */
static MAKE_UNUSED void make_buy(struct make *m)
{
	uint64_t buyer = 2 + make_any(m, MAKE_ACCOUNTS - 2), pool = 500 + buyer;
	int64_t minutes = 60 * (1 + (int64_t)make_any(m, 48)),
		start = 30000000 + (int64_t)(m->seq / 4) + (int64_t)make_any(m, 500);
	struct order o = { .id = m->id++,
		.account = buyer,
		.token = 900 + buyer,
		.pool = pool,
		.sku = 301,
		.side = SIDE_BUY,
		.flags = ORDER_PARTIAL,
		.nodes = 1,
		.start = start,
		.end = start + minutes,
		.price = 250000,
		.created_at = m->at,
		.closed_at = m->at,
		.status = ORDER_FILLED,
		.filled_minutes = minutes,
		.filled_cost = minutes * 249000 };
	struct lease l = { .id = m->id++,
		.order = o.id,
		.sell_order = m->sell.id,
		.host = 701,
		.sku = 301,
		.buyer = buyer,
		.seller = 1,
		.pool = pool,
		.start = start,
		.end = o.end,
		.price = 249000,
		.paid_end = o.end,
		.settled = start,
		.filled_at = m->at };

	m->ev = (struct event){ .kind = EVENT_ORDER,
		.at = m->at,
		.account = buyer,
		.token = o.token,
		.u.order = { .pool = pool,
			.sku = 301,
			.side = SIDE_BUY,
			.flags = o.flags,
			.nodes = 1,
			.start = o.start,
			.end = o.end,
			.price = o.price } };
	m->seq++;
	m->transfer++;
	m->did.count = 0;
	m->sell.filled_minutes += minutes;
	m->sell.filled_cost += o.filled_cost;
	m->sell.status = ORDER_PARTIALLY_FILLED;
	make_buy_effects(m, &o, &l);
	m->at += (int64_t)make_any(m, 3);
}

static MAKE_UNUSED void make_next(struct make *m)
{
	if (m->seq == 0)
		make_offer(m);
	else
		make_buy(m);
}

/* Two lines of a console, which go on where the store says. */
static MAKE_UNUSED int make_console(const struct make *m, struct store *s, struct fail *f)
{
	static const char text[300] = "what a node says when it starts";
	struct log_head h = { .next = 1 };
	struct log_line lines[2];
	int rc = s->calls->log_end(s, 9001 + m->seq % 2, &h, f);

	for (size_t i = 0; i < 2; i++)
		lines[i] = (struct log_line){ .seq = h.next + i, .at = m->at * 1000000 + (int64_t)i, .data = text,
			.len = (size_t)(m->seq * 37 + i * 100) % sizeof text };
	return rc < 0 ? rc : s->calls->log_append(s, 9001 + m->seq % 2, lines, 2, f);
}

/* Makes and stages so many; the store's commit is the caller's. */
static MAKE_UNUSED int make_append(struct make *m, struct store *s, unsigned count, struct fail *f)
{
	int rc = 0;

	while (count-- && !rc) {
		make_next(m);
		rc = s->calls->append(s, m->seq, &m->ev, &m->did, f);
	}
	return rc ? rc : make_console(m, s, f);
}

#endif
