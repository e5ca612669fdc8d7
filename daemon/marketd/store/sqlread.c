/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all that is not an order: journal, snapshots, answers, leases, postings, notices. */
#include "marketd/store/sqlite.h"

#include <stdio.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/store/journal.h"

#define LEASE_COLUMNS \
	"id, order_id, sell_order, host, sku, parent, buyer, seller, pool, start_minute, end_minute, price, " \
	"paid_end, settled, interruptible, sold_on, filled_at, closed"
#define POSTING_COLUMNS "account, seq, n, at, transfer, owner, asset, book, amount, balance, subject, chain"
#define NOTICE_COLUMNS "seq, n, at, account, kind, subject, other, amount, minute, code"

/* ---- Journal and snapshots --------------------------------------------------------------- */

int sqlite_events(struct store *base, uint64_t after, store_event_fn fn, void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char sql[] = "SELECT seq, at, kind, data FROM event WHERE seq > ? ORDER BY seq";
	sqlite3_stmt *st;
	uint64_t expected = after + 1;
	int got = sqlite_statement(s, READ_EVENTS, sql, &st, f), rc = SQLITE_DONE;

	if (got)
		return got;
	sqlite3_bind_int64(st, 1, (int64_t)after);
	while (!got && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct event ev;
		uint64_t seq = sqlite_id(st, 0);

		if (seq != expected)
			got = fail_set(f, REASON_INTERNAL,
				"'%s' has no event %llu (the next is %llu): restore a backup with "
				"'nanopod-marketd restore BACKUP'",
				s->path, (unsigned long long)expected, (unsigned long long)seq);
		else if (journal_get(sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3), &ev) ||
			ev.at != sqlite3_column_int64(st, 1) || (int64_t)ev.kind != sqlite3_column_int64(st, 2))
			got = fail_set(f, REASON_INTERNAL, "event %llu of '%s' cannot be read: restore a backup with "
				"'nanopod-marketd restore BACKUP'", (unsigned long long)seq, s->path);
		else
			got = fn(arg, seq, &ev);
		expected++;
	}
	return sqlite_ended(s, READ_EVENTS, st, rc, got, f);
}

static int load_parts(struct sqlite_store *s, struct buf *out, uint64_t seq, int64_t parts, struct fail *f)
{
	static const char sql[] = "SELECT part, data FROM snapshot_part WHERE seq = ? ORDER BY part";
	sqlite3_stmt *st;
	int got = sqlite_statement(s, READ_PARTS, sql, &st, f), rc = SQLITE_DONE;
	int64_t part = 0;

	if (got)
		return got;
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	while (!got && (rc = sqlite3_step(st)) == SQLITE_ROW && sqlite3_column_int64(st, 0) == part) {
		part++;
		if (buf_add(out, sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1)))
			got = fail_set(f, REASON_UNAVAILABLE, "out of memory for the snapshot in '%s'", s->path);
	}
	if (part != parts)
		buf_clear(out); /* incomplete: its digest will not match */
	return sqlite_ended(s, READ_PARTS, st, rc, got, f);
}

int sqlite_load_snapshot(struct store *base, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char sql[] = "SELECT seq, parts, size, hash, digest FROM snapshot ORDER BY seq DESC";
	sqlite3_stmt *st;
	uint8_t digest[CHAIN_BYTES];
	bool found = false;
	int got = sqlite_statement(s, READ_SNAPSHOTS, sql, &st, f), rc = SQLITE_DONE;

	if (got)
		return got;
	*seq = *hash = 0;
	while (!got && !found && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		buf_clear(out);
		got = load_parts(s, out, sqlite_id(st, 0), sqlite3_column_int64(st, 1), f);
		if (got)
			break;
		chain_digest(buf_text(out), out->len, digest);
		found = (int64_t)out->len == sqlite3_column_int64(st, 2) &&
			sqlite3_column_bytes(st, 4) == CHAIN_BYTES &&
			memcmp(digest, sqlite3_column_blob(st, 4), CHAIN_BYTES) == 0;
		if (found) {
			*seq = sqlite_id(st, 0);
			*hash = sqlite_id(st, 3);
		}
	}
	if (!found)
		buf_clear(out);
	return sqlite_ended(s, READ_SNAPSHOTS, st, rc, got, f);
}

int sqlite_find_answer(struct store *base, uint64_t account, const char *key, struct answer *out, struct buf *body,
	struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char sql[] = "SELECT digest, at, status, body FROM answer WHERE account = ? AND name = ?";
	struct answer a = { .account = account, .key = key };
	sqlite3_stmt *st;
	int got = sqlite_statement(s, READ_ANSWER, sql, &st, f), rc;

	if (got)
		return got;
	sqlite3_bind_int64(st, 1, (int64_t)account);
	sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_bytes(st, 0) == (int)sizeof a.digest) {
		memcpy(a.digest, sqlite3_column_blob(st, 0), sizeof a.digest);
		a.at = sqlite3_column_int64(st, 1);
		a.status = sqlite_int(st, 2);
		a.body_len = (size_t)sqlite3_column_bytes(st, 3);
		buf_clear(body);
		if (buf_add(body, a.body_len ? sqlite3_column_blob(st, 3) : "", a.body_len))
			got = fail_set(f, REASON_UNAVAILABLE, "out of memory for an answer of %zu bytes", a.body_len);
		a.body = buf_text(body);
		if (!got) {
			*out = a;
			got = 1;
		}
	}
	return sqlite_ended(s, READ_ANSWER, st, rc, got, f);
}

/* ---- Leases, postings, notices ----------------------------------------------------------- */

static void sqlread_read_lease(sqlite3_stmt *st, struct lease *l)
{
	*l = (struct lease){
		.id = sqlite_id(st, 0),
		.order = sqlite_id(st, 1),
		.sell_order = sqlite_id(st, 2),
		.host = sqlite_id(st, 3),
		.sku = sqlite_id(st, 4),
		.parent = sqlite_id(st, 5),
		.buyer = sqlite_id(st, 6),
		.seller = sqlite_id(st, 7),
		.pool = sqlite_id(st, 8),
		.start = sqlite3_column_int64(st, 9),
		.end = sqlite3_column_int64(st, 10),
		.price = sqlite3_column_int64(st, 11),
		.paid_end = sqlite3_column_int64(st, 12),
		.settled = sqlite3_column_int64(st, 13),
		.interruptible = sqlite3_column_int64(st, 14) != 0,
		.sold_on = sqlite3_column_int64(st, 15) != 0,
		.filled_at = sqlite3_column_int64(st, 16),
	};
}

/* A lease that was filled since then has a higher id than every order made before. */
static int leases_since(struct sqlite_store *s, int64_t since, uint64_t *after, struct fail *f)
{
	uint64_t id;
	int rc;

	if (since <= 0)
		return 0;
	rc = sqlite_id_since(s, since, &id, f);
	if (!rc && id - 1 > *after)
		*after = id - 1;
	return rc;
}

int sqlite_leases(struct store *base, uint64_t order, uint64_t sku, int64_t filled_since, const struct store_page *page,
	store_lease_fn fn, void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char *const where[] = { "? = 0 AND ", "sku = ? AND ", "order_id = ? AND ", "sell_order = ? AND " };
	enum side side = SIDE_BUY;
	unsigned way, number;
	uint64_t after = page->after;
	sqlite3_stmt *st;
	size_t given = 0;
	char sql[512];
	int rc = SQLITE_DONE, got = leases_since(s, filled_since, &after, f);

	if (!got && order)
		got = sqlite_order_side(s, order, &side, f);
	way = order ? side == SIDE_SELL ? 3 : 2 : sku ? 1 : 0;
	number = READ_LEASES + 2 * way + page->descending;
	snprintf(sql, sizeof sql, "SELECT " LEASE_COLUMNS " FROM lease WHERE %sid > ? AND id < ? ORDER BY id%s",
		where[way], page->descending ? " DESC" : "");
	if (!got)
		got = sqlite_statement(s, number, sql, &st, f);
	if (got)
		return got;
	sqlite_numbers(st, (const int64_t[]){ (int64_t)(order ? order : sku), (int64_t)after,
		page->before ? (int64_t)page->before : INT64_MAX }, 3);
	while (!got && (!page->limit || given < page->limit) && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct lease l;

		sqlread_read_lease(st, &l);
		if ((sku && l.sku != sku) || l.filled_at < filled_since)
			continue;
		given++;
		got = fn(arg, &l, sqlite3_column_int64(st, 17) != 0);
	}
	return sqlite_ended(s, number, st, rc, got, f);
}

void sqlite_read_posting(sqlite3_stmt *st, struct posting_row *row)
{
	*row = (struct posting_row){
		.seq = sqlite_id(st, 1),
		.n = sqlite_id(st, 2),
		.at = sqlite3_column_int64(st, 3),
		.posting = { .account = sqlite_id(st, 0),
			.transfer = sqlite_id(st, 4),
			.owner = sqlite_id(st, 5),
			.asset = sqlite_id(st, 6),
			.book = (enum book)sqlite_int(st, 7),
			.amount = sqlite3_column_int64(st, 8),
			.balance = sqlite3_column_int64(st, 9),
			.subject = sqlite_id(st, 10) },
	};
	if (sqlite3_column_bytes(st, 11) == CHAIN_BYTES)
		memcpy(row->chain, sqlite3_column_blob(st, 11), CHAIN_BYTES);
}

int sqlite_postings(struct store *base, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_posting_fn fn, void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char one[] = "SELECT " POSTING_COLUMNS " FROM posting WHERE account = ? AND (seq, n) > (?, ?) "
				  "ORDER BY seq, n";
	static const char all[] = "SELECT " POSTING_COLUMNS " FROM posting INDEXED BY posting_order WHERE ? = 0 AND "
				  "(seq, n) > (?, ?) ORDER BY seq, n";
	bool everybody = account == EVERYBODY;
	unsigned number = everybody ? READ_POSTINGS_ALL : READ_POSTINGS;
	sqlite3_stmt *st;
	int rc = SQLITE_DONE, got = sqlite_statement(s, number, everybody ? all : one, &st, f);

	if (got)
		return got;
	sqlite_numbers(st, (const int64_t[]){ everybody ? 0 : (int64_t)account, (int64_t)after_seq, (int64_t)after_n },
		3);
	for (size_t given = 0; !got && (!limit || given < limit) && (rc = sqlite3_step(st)) == SQLITE_ROW; given++) {
		struct posting_row row;

		sqlite_read_posting(st, &row);
		got = fn(arg, &row);
	}
	return sqlite_ended(s, number, st, rc, got, f);
}

int sqlite_notices(struct store *base, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_notice_fn fn, void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	static const char one[] = "SELECT " NOTICE_COLUMNS
				  " FROM notice WHERE account = ? AND (seq, n) > (?, ?) ORDER BY seq, n";
	static const char all[] = "SELECT " NOTICE_COLUMNS
				  " FROM notice WHERE ? = 0 AND (seq, n) > (?, ?) ORDER BY seq, n";
	unsigned number = account ? READ_NOTICES : READ_NOTICES_ALL;
	sqlite3_stmt *st;
	int rc = SQLITE_DONE, got = sqlite_statement(s, number, account ? one : all, &st, f);

	if (got)
		return got;
	sqlite_numbers(st, (const int64_t[]){ (int64_t)account, (int64_t)after_seq, (int64_t)after_n }, 3);
	for (size_t given = 0; !got && (!limit || given < limit) && (rc = sqlite3_step(st)) == SQLITE_ROW; given++) {
		struct notice_row row = {
			.seq = sqlite_id(st, 0),
			.n = sqlite_id(st, 1),
			.at = sqlite3_column_int64(st, 2),
			.notice = { .account = sqlite_id(st, 3),
				.kind = (enum notice_kind)sqlite_int(st, 4),
				.subject = sqlite_id(st, 5),
				.other = sqlite_id(st, 6),
				.amount = sqlite3_column_int64(st, 7),
				.minute = sqlite3_column_int64(st, 8),
				.code = sqlite_int(st, 9) },
		};

		got = fn(arg, &row);
	}
	return sqlite_ended(s, number, st, rc, got, f);
}
