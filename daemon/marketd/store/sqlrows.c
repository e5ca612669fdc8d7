/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, and writing their rows. The statements use the SQL that SQLite, PostgreSQL and CockroachDB
 * share; the few macros below hold what differs. Keys and indexes put new rows at the right end of a
 * tree, or of one account's part of it, so that a row costs the same after a million others.
 */
#include "marketd/store/sqlite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/store/journal.h"

#define INT " INTEGER NOT NULL"        /* PostgreSQL: BIGINT */
#define TEXT " TEXT NOT NULL"
#define BYTES " BLOB NOT NULL"         /* PostgreSQL: BYTEA */
#define HEAP ") STRICT"                /* rows in order of coming */
#define CLUSTERED ") STRICT, WITHOUT ROWID" /* rows in order of the primary key */

const char *const sqlite_schema[] = {
	"CREATE TABLE meta (name" TEXT ", value" INT ", PRIMARY KEY (name)" CLUSTERED,
	"INSERT INTO meta (name, value) VALUES ('epoch', 1)",
	"CREATE TABLE event (seq" INT ", at" INT ", kind" INT ", data" BYTES ", PRIMARY KEY (seq)" HEAP,
	"CREATE TABLE snapshot (seq" INT ", parts" INT ", size" INT ", hash" INT ", digest" BYTES
	", PRIMARY KEY (seq)" HEAP,
	"CREATE TABLE snapshot_part (seq" INT " REFERENCES snapshot (seq), part" INT ", data" BYTES
	", PRIMARY KEY (seq, part)" HEAP,
	"CREATE TABLE orders (id" INT ", account" INT ", token" INT ", pool" INT ", sku" INT ", host" INT
	", procurement" INT ", side" INT ", flags" INT ", nodes" INT ", start_minute" INT ", end_minute" INT
	", price" INT ", max_total" INT ", created_at" INT ", closed_at" INT ", status" INT ", reason" INT ", hold" INT
	", filled_minutes" INT ", filled_cost" INT ", rest" BYTES ", PRIMARY KEY (id)" HEAP,
	"CREATE INDEX orders_account ON orders (account, id)",
	"CREATE INDEX orders_start ON orders (account, start_minute, id)",
	"CREATE INDEX orders_pool ON orders (pool, id)",
	"CREATE INDEX orders_procurement ON orders (procurement, id) WHERE procurement > 0",
	"CREATE TABLE lease (id" INT ", order_id" INT ", sell_order" INT ", host" INT ", sku" INT ", parent" INT
	", buyer" INT ", seller" INT ", pool" INT ", start_minute" INT ", end_minute" INT ", price" INT ", paid_end" INT
	", settled" INT ", interruptible" INT ", sold_on" INT ", filled_at" INT ", closed" INT
	", PRIMARY KEY (id)" HEAP,
	"CREATE INDEX lease_order ON lease (order_id, id)",
	"CREATE INDEX lease_sell ON lease (sell_order, id)",
	"CREATE INDEX lease_sku ON lease (sku, id)",
	"CREATE TABLE posting (account" INT ", seq" INT ", n" INT ", at" INT ", transfer" INT ", owner" INT
	", asset" INT ", book" INT ", amount" INT ", balance" INT ", subject" INT ", chain" BYTES
	", PRIMARY KEY (account, seq, n)" CLUSTERED,
	"CREATE TABLE chain (account" INT ", seq" INT ", n" INT ", chain" BYTES ", PRIMARY KEY (account)" CLUSTERED,
	"CREATE TABLE notice (seq" INT ", n" INT ", at" INT ", account" INT ", kind" INT ", subject" INT ", other" INT
	", amount" INT ", minute" INT ", code" INT ", PRIMARY KEY (seq, n)" CLUSTERED,
	"CREATE INDEX notice_account ON notice (account, seq, n)",
	"CREATE TABLE answer (account" INT ", name" TEXT ", digest" BYTES ", at" INT ", status" INT ", body" BYTES
	", PRIMARY KEY (account, name)" HEAP,
	"CREATE INDEX answer_at ON answer (at)",
	NULL,
};

/* Every posting in the order of the ledger, whoever's it is: an outbox that holds nothing twice. */
const char *const sqlite_schema_order[] = {
	"CREATE INDEX posting_order ON posting (seq, n)",
	NULL,
};

/* X(name, SQL) */
#define WRITES(X) \
	X(EVENT, "INSERT INTO event (seq, at, kind, data) VALUES (?, ?, ?, ?)") \
	X(ORDER, \
		"INSERT INTO orders (id, account, token, pool, sku, host, procurement, side, flags, nodes, " \
		"start_minute, " \
		"end_minute, price, max_total, created_at, closed_at, status, reason, hold, filled_minutes, " \
		"filled_cost, rest) " \
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
	X(ORDER_STAYS, \
		"UPDATE orders SET closed_at = ?, status = ?, reason = ?, hold = ?, filled_minutes = ?, " \
		"filled_cost = ?, price = ?, rest = ? WHERE id = ? AND start_minute = ?") \
	X(ORDER_MOVES, \
		"UPDATE orders SET closed_at = ?, status = ?, reason = ?, hold = ?, filled_minutes = ?, " \
		"filled_cost = ?, price = ?, rest = ?, start_minute = ? WHERE id = ?") \
	X(LEASE, \
		"INSERT INTO lease (id, order_id, sell_order, host, sku, parent, buyer, seller, pool, start_minute, " \
		"end_minute, price, paid_end, settled, interruptible, sold_on, filled_at, closed) " \
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET " \
		"sell_order = excluded.sell_order, parent = excluded.parent, seller = excluded.seller, pool = " \
		"excluded.pool, " \
		"start_minute = excluded.start_minute, end_minute = excluded.end_minute, paid_end = " \
		"excluded.paid_end, " \
		"settled = excluded.settled, sold_on = excluded.sold_on, closed = excluded.closed") \
	X(POSTING, \
		"INSERT INTO posting (account, seq, n, at, transfer, owner, asset, book, amount, balance, subject, " \
		"chain) " \
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
	X(NOTICE, \
		"INSERT INTO notice (seq, n, at, account, kind, subject, other, amount, minute, code) " \
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
	X(HEAD_GET, "SELECT seq, n, chain FROM chain WHERE account = ?") \
	X(HEAD_PUT, \
		"INSERT INTO chain (account, seq, n, chain) VALUES (?, ?, ?, ?) ON CONFLICT (account) DO UPDATE SET " \
		"seq = excluded.seq, n = excluded.n, chain = excluded.chain") \
	X(ANSWER, \
		"INSERT INTO answer (account, name, digest, at, status, body) VALUES (?, ?, ?, ?, ?, ?) " \
		"ON CONFLICT (account, name) DO UPDATE SET digest = excluded.digest, at = excluded.at, " \
		"status = excluded.status, body = excluded.body") \
	X(OLDEST, "SELECT account, name FROM answer WHERE at < ? ORDER BY at LIMIT 1") \
	X(FORGET, "DELETE FROM answer WHERE account = ? AND name = ?") \
	X(SNAPSHOT, \
		"INSERT INTO snapshot (seq, parts, size, hash, digest) VALUES (?, ?, ?, ?, ?) ON CONFLICT (seq) DO " \
		"UPDATE " \
		"SET parts = excluded.parts, size = excluded.size, hash = excluded.hash, digest = excluded.digest") \
	X(PART, "INSERT INTO snapshot_part (seq, part, data) VALUES (?, ?, ?)") \
	X(PARTS_DROP, \
		"DELETE FROM snapshot_part WHERE seq = ? OR " \
		"seq NOT IN (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT 2)") \
	X(SNAPSHOTS_DROP, "DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT 2)")

enum write {
#define X(name, sql) WRITE_##name,
	WRITES(X)
#undef X
	WRITE_COUNT
};

_Static_assert((int)WRITE_COUNT <= (int)SQLITE_READS, "the numbers above are of reading statements");

static const char *const texts[] = {
#define X(name, sql) sql,
	WRITES(X)
#undef X
};

/* ---- Statements -------------------------------------------------------------------------- */

static sqlite3_stmt *sqlrows_use(struct sqlite_store *s, enum write w, struct fail *f)
{
	sqlite3_stmt *st;

	assert(s->open && !s->failed && w < WRITE_COUNT);
	if (!sqlite_statement(s, w, texts[w], &st, &s->why))
		return st;
	s->failed = true;
	s->why.code = REASON_UNAVAILABLE;
	fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
	return NULL;
}

/* Runs it to its end. Not 0: the transaction has failed. */
static int sqlrows_finish(struct sqlite_store *s, enum write w, sqlite3_stmt *st, struct fail *f)
{
	int rc = sqlite3_step(st);

	if (rc != SQLITE_DONE)
		rc = sqlite_broken(s, rc, f, "write to");
	else
		rc = 0;
	sqlite_done(s, w, st);
	return rc;
}

static void sqlrows_numbers(sqlite3_stmt *st, int first, const int64_t *v, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(st, first + i, v[i]);
}

#define NUMBERS(st, first, ...) \
	sqlrows_numbers(st, first, (const int64_t[]){ __VA_ARGS__ }, \
		(int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)))

/* Binds bytes; empty ones are not NULL either. They must stay until the statement has run. */
static void sqlrows_bytes(sqlite3_stmt *st, int at, const void *data, size_t len)
{
	sqlite3_bind_blob64(st, at, data && len ? data : "", len, SQLITE_STATIC);
}

/* ---- Chains ------------------------------------------------------------------------------ */

static struct head *sqlrows_slot_of(struct head *slots, size_t cap, uint64_t account)
{
	size_t at = (size_t)((account + 1) * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);

	while (slots[at].account && slots[at].account != account + 1)
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

static bool heads_grow(struct heads *h)
{
	size_t cap = h->cap ? 2 * h->cap : 256;
	struct head *slots = calloc(cap, sizeof *slots);
	size_t *dirty = realloc(h->dirty, cap * sizeof *dirty);

	if (dirty)
		h->dirty = dirty;
	if (!slots || !dirty) {
		free(slots);
		return false;
	}
	h->dirty_count = 0;
	for (size_t i = 0; i < h->cap; i++) {
		struct head *to;

		if (!h->slots[i].account)
			continue;
		to = sqlrows_slot_of(slots, cap, h->slots[i].account - 1);
		*to = h->slots[i];
		if (to->dirty)
			dirty[h->dirty_count++] = (size_t)(to - slots);
	}
	free(h->slots);
	h->slots = slots;
	h->cap = cap;
	return true;
}

static int head_read(struct sqlite_store *s, struct head *to, uint64_t account, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, WRITE_HEAD_GET, f);
	struct head got = { .account = account + 1 };
	int rc;

	if (!st)
		return REASON_UNAVAILABLE;
	sqlite3_bind_int64(st, 1, (int64_t)account);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_bytes(st, 2) == CHAIN_BYTES) {
		got.seq = (uint64_t)sqlite3_column_int64(st, 0);
		got.n = (uint64_t)sqlite3_column_int64(st, 1);
		memcpy(got.chain, sqlite3_column_blob(st, 2), CHAIN_BYTES);
	} else if (rc != SQLITE_DONE) {
		rc = sqlite_broken(s, rc == SQLITE_ROW ? SQLITE_CORRUPT : rc, f, "read");
		sqlite_done(s, WRITE_HEAD_GET, st);
		return rc;
	}
	sqlite_done(s, WRITE_HEAD_GET, st);
	*to = got;
	s->heads.count++;
	return 0;
}

/* NULL: the transaction has failed. */
static struct head *head_of(struct sqlite_store *s, uint64_t account, struct fail *f)
{
	struct heads *h = &s->heads;
	struct head *to;

	if (2 * (h->count + 1) > h->cap && !heads_grow(h)) {
		sqlite_broken(s, SQLITE_NOMEM, f, "write to");
		return NULL;
	}
	to = sqlrows_slot_of(h->slots, h->cap, account);
	if (!to->account && head_read(s, to, account, f))
		return NULL;
	if (!to->dirty)
		h->dirty[h->dirty_count++] = (size_t)(to - h->slots);
	to->dirty = true;
	return to;
}

int sqlite_heads_flush(struct sqlite_store *s, struct fail *f)
{
	struct heads *h = &s->heads;
	int rc = 0;

	for (; h->dirty_count && !rc; h->dirty_count--) {
		struct head *head = &h->slots[h->dirty[h->dirty_count - 1]];
		sqlite3_stmt *st = sqlrows_use(s, WRITE_HEAD_PUT, f);

		if (!st)
			return REASON_UNAVAILABLE;
		NUMBERS(st, 1, (int64_t)head->account - 1, (int64_t)head->seq, (int64_t)head->n);
		sqlrows_bytes(st, 4, head->chain, CHAIN_BYTES);
		rc = sqlrows_finish(s, WRITE_HEAD_PUT, st, f);
		head->dirty = false;
	}
	return rc;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static void sqlrows_little_endian(uint8_t *to, uint64_t v, int count)
{
	for (int i = 0; i < count; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

/* Twenty bytes a span: start, end, nodes. */
static int sqlrows_put_rest(struct sqlite_store *s, const struct order *o)
{
	buf_clear(&s->bytes);
	for (size_t i = 0; i < o->rest_count; i++) {
		uint8_t room[20];

		sqlrows_little_endian(room, (uint64_t)o->rest[i].start, 8);
		sqlrows_little_endian(room + 8, (uint64_t)o->rest[i].end, 8);
		sqlrows_little_endian(room + 16, (uint64_t)(uint32_t)o->rest[i].nodes, 4);
		if (buf_add(&s->bytes, room, sizeof room))
			return -1;
	}
	return 0;
}

static int insert_order(struct sqlite_store *s, const struct order *o, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, WRITE_ORDER, f);

	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, (int64_t)o->id, (int64_t)o->account, (int64_t)o->token, (int64_t)o->pool, (int64_t)o->sku,
		(int64_t)o->host, (int64_t)o->procurement, o->side, o->flags, o->nodes, o->start, o->end, o->price,
		o->max_total, o->created_at, o->closed_at, o->status, o->reason, o->hold, o->filled_minutes,
		o->filled_cost);
	sqlrows_bytes(st, 22, s->bytes.data, s->bytes.len);
	return sqlrows_finish(s, WRITE_ORDER, st, f);
}

static int update_order(struct sqlite_store *s, enum write w, const struct order *o, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, w, f);

	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, o->closed_at, o->status, o->reason, o->hold, o->filled_minutes, o->filled_cost, o->price);
	sqlrows_bytes(st, 8, s->bytes.data, s->bytes.len);
	if (w == WRITE_ORDER_STAYS)
		NUMBERS(st, 9, (int64_t)o->id, o->start);
	else
		NUMBERS(st, 9, o->start, (int64_t)o->id);
	return sqlrows_finish(s, w, st, f);
}

/* If the start did not move, its index stays untouched; that is most updates. */
static int put_order(struct sqlite_store *s, const struct order *o, struct fail *f)
{
	int rc = 0;

	if (sqlrows_put_rest(s, o))
		return sqlite_broken(s, SQLITE_NOMEM, f, "write to");
	if (o->id <= s->order_max) {
		rc = update_order(s, WRITE_ORDER_STAYS, o, f);
		if (rc || sqlite3_changes(s->db))
			return rc;
		rc = update_order(s, WRITE_ORDER_MOVES, o, f);
		if (rc || sqlite3_changes(s->db))
			return rc;
	}
	rc = insert_order(s, o, f);
	if (!rc && o->id > s->order_max)
		s->order_max = o->id;
	return rc;
}

static int put_lease(struct sqlite_store *s, const struct lease *l, bool over, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, WRITE_LEASE, f);

	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, (int64_t)l->id, (int64_t)l->order, (int64_t)l->sell_order, (int64_t)l->host, (int64_t)l->sku,
		(int64_t)l->parent, (int64_t)l->buyer, (int64_t)l->seller, (int64_t)l->pool, l->start, l->end, l->price,
		l->paid_end, l->settled, l->interruptible, l->sold_on, l->filled_at, over);
	return sqlrows_finish(s, WRITE_LEASE, st, f);
}

static int put_posting(struct sqlite_store *s, struct posting_row *row, struct fail *f)
{
	const struct posting *p = &row->posting;
	struct head *head = head_of(s, p->account, f);
	sqlite3_stmt *st;

	if (!head)
		return REASON_UNAVAILABLE;
	chain_next(head->chain, row);
	head->seq = row->seq;
	head->n = row->n;
	st = sqlrows_use(s, WRITE_POSTING, f);
	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, (int64_t)p->account, (int64_t)row->seq, (int64_t)row->n, row->at, (int64_t)p->transfer,
		(int64_t)p->owner, (int64_t)p->asset, p->book, p->amount, p->balance, (int64_t)p->subject);
	sqlrows_bytes(st, 12, head->chain, CHAIN_BYTES);
	return sqlrows_finish(s, WRITE_POSTING, st, f);
}

static int put_notice(struct sqlite_store *s, const struct notice_row *row, struct fail *f)
{
	const struct notice *n = &row->notice;
	sqlite3_stmt *st = sqlrows_use(s, WRITE_NOTICE, f);

	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, (int64_t)row->seq, (int64_t)row->n, row->at, (int64_t)n->account, n->kind, (int64_t)n->subject,
		(int64_t)n->other, n->amount, n->minute, n->code);
	return sqlrows_finish(s, WRITE_NOTICE, st, f);
}

static int put_journal(struct sqlite_store *s, uint64_t seq, const struct event *ev, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, WRITE_EVENT, f);

	if (!st)
		return REASON_UNAVAILABLE;
	buf_clear(&s->bytes);
	if (journal_put(&s->bytes, ev))
		return sqlite_broken(s, SQLITE_TOOBIG, f, "write an event to");
	NUMBERS(st, 1, (int64_t)seq, ev->at, ev->kind);
	sqlrows_bytes(st, 4, s->bytes.data, s->bytes.len);
	return sqlrows_finish(s, WRITE_EVENT, st, f);
}

static int put_effects(struct sqlite_store *s, uint64_t seq, int64_t at, const struct effects *did, struct fail *f)
{
	struct posting_row posting = { .seq = seq, .at = at };
	struct notice_row notice = { .seq = seq, .at = at };
	int rc = 0;

	for (size_t i = 0; i < did->count && !rc; i++) {
		const struct effect *e = &did->list[i];

		switch (e->kind) {
		case EFFECT_MADE:
			break; /* the journal restores it with the state */
		case EFFECT_ORDER:
			rc = put_order(s, &e->u.order, f);
			break;
		case EFFECT_LEASE:
			rc = put_lease(s, &e->u.lease.lease, e->u.lease.over, f);
			break;
		case EFFECT_POSTING:
			posting.posting = e->u.posting;
			rc = put_posting(s, &posting, f);
			posting.n++;
			break;
		case EFFECT_NOTICE:
			notice.notice = e->u.notice;
			rc = put_notice(s, &notice, f);
			notice.n++;
			break;
		}
	}
	return rc;
}

int sqlite_put_event(struct sqlite_store *s, uint64_t seq, const struct event *ev, const struct effects *did,
	struct fail *f)
{
	int rc;

	if (seq != s->staged + 1) {
		s->failed = true;
		return fail_set(&s->why, REASON_UNAVAILABLE, "event %llu cannot follow event %llu in '%s'",
			       (unsigned long long)seq, (unsigned long long)s->staged, s->path),
		       fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
	}
	rc = put_journal(s, seq, ev, f);
	if (!rc)
		rc = put_effects(s, seq, ev->at, did, f);
	if (!rc)
		s->staged = seq;
	return rc;
}

/* ---- Answers and snapshots --------------------------------------------------------------- */

int sqlite_put_answer(struct sqlite_store *s, const struct answer *a, struct fail *f)
{
	sqlite3_stmt *st = sqlrows_use(s, WRITE_ANSWER, f);

	if (!st)
		return REASON_UNAVAILABLE;
	sqlite3_bind_int64(st, 1, (int64_t)a->account);
	sqlite3_bind_text(st, 2, a->key, -1, SQLITE_STATIC);
	sqlrows_bytes(st, 3, a->digest, sizeof a->digest);
	NUMBERS(st, 4, a->at, a->status);
	sqlrows_bytes(st, 6, a->body, a->body_len);
	return sqlrows_finish(s, WRITE_ANSWER, st, f);
}

/* Forgets the oldest answer if it is older than that. 1: done, 0: none; costs the same however many there are. */
static int forget_oldest(struct sqlite_store *s, int64_t before, struct fail *f)
{
	sqlite3_stmt *oldest = sqlrows_use(s, WRITE_OLDEST, f), *st;
	int rc;

	if (!oldest)
		return REASON_UNAVAILABLE;
	sqlite3_bind_int64(oldest, 1, before);
	rc = sqlite3_step(oldest);
	st = rc == SQLITE_ROW ? sqlrows_use(s, WRITE_FORGET, f) : NULL;
	if (st) {
		sqlite3_bind_int64(st, 1, sqlite3_column_int64(oldest, 0));
		sqlite3_bind_text(st, 2, (const char *)sqlite3_column_text(oldest, 1), -1, SQLITE_TRANSIENT);
	}
	sqlite_done(s, WRITE_OLDEST, oldest);
	if (st)
		return sqlrows_finish(s, WRITE_FORGET, st, f) ? REASON_UNAVAILABLE : 1;
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? REASON_UNAVAILABLE : sqlite_broken(s, rc, f, "read");
}

int sqlite_drop_answers(struct sqlite_store *s, int64_t before, size_t max, struct fail *f)
{
	int rc = 1;

	for (; rc == 1 && max; max--)
		rc = forget_oldest(s, before, f);
	return rc < 0 ? rc : 0;
}

static int put_parts(struct sqlite_store *s, uint64_t seq, const uint8_t *data, size_t len, struct fail *f)
{
	int rc = 0;

	for (size_t at = 0, part = 0; at < len && !rc; at += SNAPSHOT_PART, part++) {
		sqlite3_stmt *st = sqlrows_use(s, WRITE_PART, f);

		if (!st)
			return REASON_UNAVAILABLE;
		NUMBERS(st, 1, (int64_t)seq, (int64_t)part);
		sqlrows_bytes(st, 3, data + at, len - at < SNAPSHOT_PART ? len - at : SNAPSHOT_PART);
		rc = sqlrows_finish(s, WRITE_PART, st, f);
	}
	return rc;
}

int sqlite_put_snapshot(struct sqlite_store *s, uint64_t seq, const void *data, size_t len, uint64_t hash,
	struct fail *f)
{
	uint8_t digest[CHAIN_BYTES];
	sqlite3_stmt *st;
	int rc;

	chain_digest(data, len, digest);
	st = sqlrows_use(s, WRITE_SNAPSHOT, f);
	if (!st)
		return REASON_UNAVAILABLE;
	NUMBERS(st, 1, (int64_t)seq, (int64_t)((len + SNAPSHOT_PART - 1) / SNAPSHOT_PART), (int64_t)len, (int64_t)hash);
	sqlrows_bytes(st, 5, digest, sizeof digest);
	rc = sqlrows_finish(s, WRITE_SNAPSHOT, st, f);
	if (!rc) { /* drops one of the same seq, and all but the last two */
		st = sqlrows_use(s, WRITE_PARTS_DROP, f);
		if (!st)
			return REASON_UNAVAILABLE;
		sqlite3_bind_int64(st, 1, (int64_t)seq);
		rc = sqlrows_finish(s, WRITE_PARTS_DROP, st, f);
	}
	if (!rc) {
		st = sqlrows_use(s, WRITE_SNAPSHOTS_DROP, f);
		rc = st ? sqlrows_finish(s, WRITE_SNAPSHOTS_DROP, st, f) : REASON_UNAVAILABLE;
	}
	return rc ? rc : put_parts(s, seq, data, len, f);
}
