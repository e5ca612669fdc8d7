/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintains the SQLite store: checks all of it, copies it while it runs, migrates an older form. A check
 * names the first thing that is wrong and the command that repairs it.
 */
#include "marketd/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "market/reason.h"

enum { NAME_ROOM = 4096, BACKUP_TRIES = 100 };

#define RECOVER "; restore the newest good backup with 'nanopod-marketd restore --force BACKUP'"

/* ---- Check ------------------------------------------------------------------------------- */

int sqlite_check_file(struct sqlite_store *s, bool quick, struct fail *f)
{
	sqlite3_stmt *st;
	int got = 0,
	    rc = sqlite3_prepare_v2(s->db, quick ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)", -1, &st,
		    NULL);

	if (rc != SQLITE_OK)
		return sqlite_fail(s, rc, f, "check");
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		got = sqlite_fail(s, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, f, "check");
	else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
		got = fail_set(f, REASON_INTERNAL, "'%s' is damaged: %.200s" RECOVER, s->path,
			(const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return got;
}

struct order_of_events { int64_t at; uint64_t last; const char *path; struct fail *f; };

static int one_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct order_of_events *o = arg;

	if (ev->at < o->at)
		return fail_set(o->f, REASON_INTERNAL,
			"event %" PRIu64 " of '%s' is earlier than the one before it" RECOVER, seq, o->path);
	o->at = ev->at;
	o->last = seq;
	return 0;
}

static int check_events(struct sqlite_store *s, uint64_t *last, struct fail *f)
{
	struct order_of_events o = { INT64_MIN, 0, s->path, f };
	int rc = sqlite_events(&s->base, 0, one_event, &o, f);

	*last = o.last;
	return rc;
}

static int check_snapshots(struct sqlite_store *s, uint64_t last, struct fail *f)
{
	struct buf bytes;
	uint64_t seq, hash;
	int64_t newest = 0;
	int rc;

	buf_init(&bytes, SNAPSHOT_MAX);
	rc = sqlite_load_snapshot(&s->base, &bytes, &seq, &hash, f);
	buf_release(&bytes);
	if (!rc)
		rc = sqlite_number(s, "SELECT COALESCE(MAX(seq), 0) FROM snapshot", &newest, f);
	if (!rc && (uint64_t)newest != seq)
		return fail_set(f, REASON_INTERNAL, "the snapshot at event %" PRId64 " of '%s' is not whole" RECOVER,
			newest, s->path);
	if (!rc && seq > last)
		return fail_set(f, REASON_INTERNAL,
			"'%s' has a snapshot at event %" PRIu64 " but its last event is %" PRIu64 RECOVER, s->path, seq,
			last);
	return rc;
}

/* A query that must find nothing; its first column is the id that the sentence names. */
static int must_be_none(struct sqlite_store *s, const char *sql, const char *sentence, struct fail *f)
{
	sqlite3_stmt *st;
	int got = 0, rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sqlite_fail(s, rc, f, "check");
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		got = fail_set(f, REASON_INTERNAL, "'%s': %s %lld" RECOVER, s->path, sentence,
			(long long)sqlite3_column_int64(st, 0));
	else if (rc != SQLITE_DONE)
		got = sqlite_fail(s, rc, f, "check");
	sqlite3_finalize(st);
	return got;
}

static const struct { const char *sentence, *sql;
} rules[] = {
	{ "the postings of a transfer do not sum to zero: transfer",
		"SELECT transfer FROM posting GROUP BY transfer, asset HAVING SUM(amount) <> 0 LIMIT 1" },
	{ "the postings of a transfer belong to more than one event: transfer",
		"SELECT transfer FROM posting GROUP BY transfer HAVING MIN(seq) <> MAX(seq) LIMIT 1" },
	{ "a posting belongs to no event: event",
		"SELECT seq FROM posting WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.seq = posting.seq AND "
		"event.at = posting.at) LIMIT 1" },
	{ "a notice belongs to no event: event",
		"SELECT seq FROM notice WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.seq = notice.seq) LIMIT 1" },
	{ "a lease has no order: lease",
		"SELECT id FROM lease WHERE NOT EXISTS (SELECT 1 FROM orders WHERE orders.id = lease.order_id) LIMIT "
		"1" },
	{ "a lease that runs has no minutes: lease",
		"SELECT id FROM lease WHERE closed = 0 AND end_minute <= start_minute LIMIT 1" },
	{ "an order's status and its closing time contradict each other: order",
		"SELECT id FROM orders WHERE (closed_at = 0) <> (status IN (0, 2, 5)) LIMIT 1" },
	{ "an order that is closed holds money: order",
		"SELECT id FROM orders WHERE closed_at <> 0 AND hold <> 0 LIMIT 1" },
	{ "an order has leases of more minutes than it filled: order",
		"SELECT orders.id FROM orders JOIN lease ON lease.order_id = orders.id "
		"GROUP BY orders.id, orders.filled_minutes HAVING SUM(lease.end_minute - lease.start_minute) > "
		"orders.filled_minutes LIMIT 1" },
	{ "a console's lines do not match its row: instance",
		"SELECT instance FROM log_head WHERE (SELECT COUNT(*) FROM log_line WHERE log_line.instance = "
		"log_head.instance AND "
		"seq >= first AND seq < next) <> next - first OR (SELECT COALESCE(SUM(LENGTH(data) + 32), 0) FROM "
		"log_line "
		"WHERE log_line.instance = log_head.instance) <> bytes LIMIT 1" },
	{ "lines belong to no console: instance",
		"SELECT instance FROM log_line WHERE NOT EXISTS (SELECT 1 FROM log_head WHERE log_head.instance = "
		"log_line.instance) "
		"LIMIT 1" },
};

_Static_assert(LOG_LINE == 32, "the rule above names it");


_Static_assert(ORDER_PENDING == 0 && ORDER_PARTIALLY_FILLED == 2 && ORDER_RESTING == 5, "the rule above names them");

/* The last balance of each book of one account's statement. */
struct books {
	struct book_row { uint64_t owner, asset; int64_t balance; int32_t book; bool used; } *list;
	size_t count, cap;
};

static struct book_row *book_slot(const struct books *b, const struct posting *p)
{
	uint64_t mixed = (p->owner * 31 + p->asset) * 31 + (uint64_t)p->book;
	size_t at = (size_t)(mixed * 0x9e3779b97f4a7c15u >> 20) & (b->cap - 1);

	while (b->list[at].used && !(b->list[at].owner == p->owner && b->list[at].asset == p->asset &&
			b->list[at].book == (int32_t)p->book))
		at = (at + 1) & (b->cap - 1);
	return &b->list[at];
}

static int books_grow(struct books *b)
{
	struct books more = { .cap = b->cap ? 2 * b->cap : 64, .count = b->count };

	more.list = calloc(more.cap, sizeof *more.list);
	if (!more.list)
		return -ENOMEM;
	for (size_t i = 0; i < b->cap; i++)
		if (b->list[i].used) {
			struct posting key = { .owner = b->list[i].owner,
				.asset = b->list[i].asset,
				.book = (enum book)b->list[i].book };

			*book_slot(&more, &key) = b->list[i];
		}
	free(b->list);
	*b = more;
	return 0;
}

struct ledger_walk {
	struct sqlite_store *s;
	struct books books;
	uint64_t account, n, seq, accounts;
	bool begun;
	uint8_t chain[CHAIN_BYTES];
	struct fail *f;
};

/* At the end of an account's statement its chain must be what the table of ends says. */
static int end_account(struct ledger_walk *w)
{
	static const char sql[] = "SELECT chain FROM chain WHERE account = ? AND seq = ? AND n = ?";
	sqlite3_stmt *st;
	bool good;
	int rc = sqlite3_prepare_v2(w->s->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sqlite_fail(w->s, rc, w->f, "check");
	sqlite_numbers(st, (const int64_t[]){ (int64_t)w->account, (int64_t)w->seq, (int64_t)w->n }, 3);
	rc = sqlite3_step(st);
	good = rc == SQLITE_ROW && sqlite3_column_bytes(st, 0) == CHAIN_BYTES &&
		memcmp(sqlite3_column_blob(st, 0), w->chain, CHAIN_BYTES) == 0;
	sqlite3_finalize(st);
	w->accounts++;
	if (w->books.list)
		memset(w->books.list, 0, w->books.cap * sizeof *w->books.list);
	w->books.count = 0;
	return good ? 0
		    : fail_set(w->f, REASON_INTERNAL,
			      "the ledger of account %" PRIu64 " in '%s' does not end where its hash "
			      "chain ends: postings after event %" PRIu64 " are missing or changed" RECOVER,
			      w->account, w->s->path, w->seq);
}

static int one_posting(struct ledger_walk *w, const struct posting_row *row)
{
	const struct posting *p = &row->posting;
	struct book_row *b;
	int64_t expected;

	chain_next(w->chain, row);
	if (memcmp(w->chain, row->chain, CHAIN_BYTES) != 0)
		return fail_set(w->f, REASON_INTERNAL,
			"the ledger of account %" PRIu64 " in '%s' was changed: its hash chain breaks at "
			"event %" PRIu64 ", posting %" PRIu64 RECOVER,
			p->account, w->s->path, row->seq, row->n);
	if (2 * (w->books.count + 1) > w->books.cap && books_grow(&w->books))
		return fail_set(w->f, REASON_UNAVAILABLE, "out of memory");
	b = book_slot(&w->books, p);
	if (!b->used) {
		*b = (struct book_row){ .owner = p->owner, .asset = p->asset, .book = (int32_t)p->book, .used = true };
		w->books.count++;
	}
	if (__builtin_add_overflow(b->balance, p->amount, &expected) || expected != p->balance)
		return fail_set(w->f, REASON_INTERNAL,
			"a balance of account %" PRIu64 " in '%s' does not continue at event %" PRIu64
			", posting %" PRIu64 RECOVER,
			p->account, w->s->path, row->seq, row->n);
	b->balance = p->balance;
	return 0;
}

static int next_posting(struct ledger_walk *w, const struct posting_row *row)
{
	int rc = 0;

	if (w->begun && row->posting.account != w->account)
		rc = end_account(w);
	if (!w->begun || row->posting.account != w->account)
		memset(w->chain, 0, sizeof w->chain);
	w->begun = true;
	w->account = row->posting.account;
	if (!rc)
		rc = one_posting(w, row);
	w->seq = row->seq;
	w->n = row->n;
	return rc;
}

static int check_ledger(struct sqlite_store *s, struct fail *f)
{
	static const char sql[] =
		"SELECT account, seq, n, at, transfer, owner, asset, book, amount, balance, subject, chain "
		"FROM posting ORDER BY account, seq, n";
	struct ledger_walk w = { .s = s, .f = f };
	sqlite3_stmt *st;
	int64_t ends = 0;
	int got = 0, rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sqlite_fail(s, rc, f, "check");
	while (!got && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct posting_row row;

		sqlite_read_posting(st, &row);
		got = next_posting(&w, &row);
	}
	if (!got && rc != SQLITE_DONE)
		got = sqlite_fail(s, rc, f, "check");
	sqlite3_finalize(st);
	if (!got && w.begun)
		got = end_account(&w);
	if (!got)
		got = sqlite_number(s, "SELECT COUNT(*) FROM chain", &ends, f);
	if (!got && (uint64_t)ends != w.accounts)
		got = fail_set(f, REASON_INTERNAL,
			"'%s' has lost whole ledgers: %" PRIu64 " are left of %" PRId64 RECOVER, s->path, w.accounts,
			ends);
	free(w.books.list);
	return got;
}

static int check_all(struct sqlite_store *s, struct fail *f)
{
	uint64_t last = 0;
	int rc = sqlite_check_file(s, false, f);

	if (!rc)
		rc = check_events(s, &last, f);
	if (!rc)
		rc = check_snapshots(s, last, f);
	for (size_t i = 0; !rc && i < sizeof rules / sizeof *rules; i++)
		rc = must_be_none(s, rules[i].sql, rules[i].sentence, f);
	return rc ? rc : check_ledger(s, f);
}

/* In one transaction, so that it sees one moment of a store that is still written. */
int sqlite_check(struct store *base, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	bool own = sqlite3_get_autocommit(s->db);
	int rc = own ? sqlite_run(s, "BEGIN", f) : 0;

	if (rc)
		return rc;
	rc = check_all(s, f);
	if (own)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* ---- Backup ------------------------------------------------------------------------------ */

static int copy_pages(struct sqlite_store *s, sqlite3 *to, struct fail *f)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", s->db, "main");
	int rc = b ? SQLITE_OK : sqlite3_errcode(to);

	for (int tries = 0; b && tries < BACKUP_TRIES; tries++) {
		rc = sqlite3_backup_step(b, -1);
		if (rc != SQLITE_BUSY && rc != SQLITE_LOCKED)
			break;
		sqlite3_sleep(50);
	}
	if (b)
		sqlite3_backup_finish(b);
	return rc == SQLITE_DONE ? 0
				 : fail_set(f, REASON_UNAVAILABLE, "cannot copy '%s': %s", s->path, sqlite3_errstr(rc));
}

static int write_copy(struct sqlite_store *s, const char *name, struct fail *f)
{
	sqlite3 *to = NULL;
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		return fail_errno(f,
			errno == ENOENT           ? REASON_NOT_FOUND
				: errno == EACCES ? REASON_FORBIDDEN
						  : REASON_UNAVAILABLE,
			errno, "cannot write '%s'", name);
	rc = sqlite3_open_v2(name, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	rc = rc == SQLITE_OK ? copy_pages(s, to, f)
			     : fail_set(f, REASON_UNAVAILABLE, "cannot write '%s': %s", name, sqlite3_errstr(rc));
	if (sqlite3_close(to) != SQLITE_OK && !rc)
		rc = fail_set(f, REASON_UNAVAILABLE, "cannot write '%s'", name);
	if (fsync(fd) != 0 && !rc)
		rc = fail_errno(f, REASON_UNAVAILABLE, errno, "cannot write '%s'", name);
	if (close(fd) != 0 && !rc)
		rc = fail_errno(f, REASON_UNAVAILABLE, errno, "cannot write '%s'", name);
	return rc;
}

static bool sqlcare_there(const char *path, const char *suffix)
{
	char name[NAME_ROOM];
	struct stat st;

	snprintf(name, sizeof name, "%s%s", path, suffix);
	return stat(name, &st) == 0;
}

static int check_target(const char *path, struct fail *f)
{
	int form, rc;

	if (strlen(path) > NAME_ROOM - 64)
		return fail_set(f, REASON_INVALID, "'%.60s…' is too long for a path", path);
	if (sqlcare_there(path, "-wal") || sqlcare_there(path, "-journal"))
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' is in use as a database (its log '%s-wal' exists); name another file", path, path);
	if (!sqlcare_there(path, ""))
		return 0;
	rc = sqlite_look(path, &form, NULL);
	return rc
		? fail_set(f, REASON_WRONG_STATE, "'%s' exists and is not a market's database; name another file", path)
		: 0;
}

static void sqlcare_drop(const char *name)
{
	static const char *const suffixes[] = { "", "-journal", "-wal", "-shm" };
	char path[NAME_ROOM + 16];

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(path, sizeof path, "%s%s", name, suffixes[i]);
		unlink(path);
	}
}

int sqlite_backup(struct store *base, const char *path, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	char name[NAME_ROOM];
	int rc = check_target(path, f);

	if (rc)
		return rc;
	if (s->open)
		return fail_set(f, REASON_WRONG_STATE, "'%s' cannot be copied within a transaction", s->path);
	snprintf(name, sizeof name, "%s%s.part-%ld", path[0] == '/' ? "" : "./", path, (long)getpid());
	sqlcare_drop(name);
	rc = write_copy(s, name, f);
	if (!rc && rename(name, path) != 0)
		rc = fail_errno(f, REASON_UNAVAILABLE, errno, "cannot rename '%s' to '%s'", name, path);
	sqlcare_drop(name);
	if (!rc && (rc = sqlite_folder_sync(path)) != 0)
		rc = fail_errno(f, REASON_UNAVAILABLE, -rc, "cannot write the folder of '%s'", path);
	return rc;
}

/* ---- Migration --------------------------------------------------------------------------- */

/* What makes form n + 1 out of form n, at index n; each list ends with NULL. Form 1 is the first. */
static const char *const *const steps[SQLITE_STORE_FORM] = { NULL, sqlite_schema_logs, sqlite_schema_order };

static int step_up(struct sqlite_store *s, int form, struct fail *f)
{
	char sql[64];
	int rc = 0;

	for (const char *const *step = steps[form]; *step && !rc; step++)
		rc = sqlite_run(s, *step, f);
	snprintf(sql, sizeof sql, "PRAGMA user_version=%d", form + 1);
	return rc ? rc : sqlite_run(s, sql, f);
}

static int sqlcare_climb(const char *path, int form, struct fail *f)
{
	struct sqlite_store *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return fail_set(f, REASON_UNAVAILABLE, "out of memory");
	rc = sqlite_connect(path, s, f);
	if (!rc)
		rc = sqlite_run(s, "BEGIN IMMEDIATE", f);
	for (; !rc && form < SQLITE_STORE_FORM; form++)
		rc = step_up(s, form, f);
	/* An older program that has it open must stop: its writes fail from here on. */
	if (!rc)
		rc = sqlite_run(s, "UPDATE meta SET value = value + 1 WHERE name = 'epoch'; COMMIT", f);
	if (!rc) /* reads the form from the file itself */
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	sqlite_disconnect(s); /* drops what is not committed */
	return rc;
}

int store_sqlite_migrate(const char *path, int *from, int *to, struct fail *f)
{
	int form = 0, rc = sqlite_look(path, &form, f);

	if (rc == 1)
		return fail_set(f, REASON_NOT_FOUND, "no database '%s'; 'nanopod-marketd' makes one when it starts",
			path);
	if (rc)
		return rc;
	if (form > SQLITE_STORE_FORM)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' has form %d and this program knows form %d: a newer nanopod-marketd wrote "
			"it; install that one",
			path, form, SQLITE_STORE_FORM);
	for (int i = form; i < SQLITE_STORE_FORM; i++)
		if (i < 1 || !steps[i])
			return fail_set(f, REASON_WRONG_STATE,
				"'%s' has form %d, which cannot be migrated to form %d" RECOVER, path, form,
				SQLITE_STORE_FORM);
	if (form < SQLITE_STORE_FORM)
		rc = sqlcare_climb(path, form, f);
	if (rc)
		return rc;
	*from = form;
	*to = SQLITE_STORE_FORM;
	return 0;
}
