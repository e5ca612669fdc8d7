/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the SQLite store share; each uses only those named before it. sqlite.c has the transactions. */
#ifndef MARKETD_STORE_SQLITE_H
#define MARKETD_STORE_SQLITE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "marketd/store/chain.h"
#include "marketd/store/store.h"

/* Statement numbers: writing ones from 0, reading ones from 32. */
enum { SQLITE_READS = 32 };

enum {
	SQLITE_STORE_FORM = 3,                 /* of the tables; store_sqlite_migrate() knows the way up */
	SQLITE_STORE_APPLICATION = 0x6e706d6b, /* "npmk" in the file's header */
	SQLITE_STORE_STATEMENTS = 96,
	SNAPSHOT_PART = 1 << 20,
	SNAPSHOT_MAX = 1 << 30,
	PATH_ROOM = 4096,
};

/* The end of one account's hash chain, as of what is staged. */
struct head {
	uint64_t account;          /* + 1: 0 is an empty slot */
	uint64_t seq, n;
	uint8_t chain[CHAIN_BYTES];
	bool dirty;                /* not in the table yet */
};

struct heads {
	struct head *slots;
	size_t count, cap;
	size_t *dirty, dirty_count, dirty_cap; /* slots */
};

struct sqlite_store {
	struct store base;
	sqlite3 *db;
	char *path;
	sqlite3_stmt *statements[SQLITE_STORE_STATEMENTS];
	int64_t epoch;             /* of our writer's lease; 0: none was taken */
	bool lost;                 /* another process took it */
	bool open;                 /* a transaction is */
	bool failed;               /* a write of this transaction failed: only rollback is left */
	struct fail why;           /* that failure */
	uint64_t seq;              /* last event on disk */
	uint64_t staged;           /* last event in the transaction */
	uint64_t order_max;        /* highest order that has a row */
	int wal_frames, wal_next;  /* frames in the log after the last commit; when to checkpoint */
	struct heads heads;
	struct span *spans;        /* what a row's order points to */
	size_t span_cap;
	struct buf bytes;          /* for what is encoded on the way in */
};

/* ---- sqlfile.c: the file, without SQLite --------------------------------------------- */

/* Looks at the file before SQLite does. 0: a market's database; 1: no file; else a negative code. */
int sqlite_look(const char *path, int *form, struct fail *f);
off_t sqlite_size(const char *path, const char *suffix);          /* -1: no such file */
int sqlite_folder_sync(const char *path);                         /* syncs the folder of the file; 0 or -errno */

/* ---- sqlconn.c: the connection and its statements ------------------------------------ */

int sqlite_connect(const char *path, struct sqlite_store *s, struct fail *f);
void sqlite_disconnect(struct sqlite_store *s);
void sqlite_heads_release(struct heads *h);
int sqlite_fail(struct sqlite_store *s, int rc, struct fail *f, const char *what); /* of SQLite's code */
int sqlite_broken(struct sqlite_store *s, int rc, struct fail *f, const char *what); /* a write failed */
int sqlite_run(struct sqlite_store *s, const char *sql, struct fail *f);
int sqlite_number(struct sqlite_store *s, const char *sql, int64_t *out, struct fail *f); /* of one row, one column */

/* A statement by its number, prepared once; a fresh one if that is in use. Give it back with sqlite_done. */
int sqlite_statement(struct sqlite_store *s, unsigned number, const char *sql, sqlite3_stmt **out, struct fail *f);
void sqlite_done(struct sqlite_store *s, unsigned number, sqlite3_stmt *st);
/* Ends a walk: rc is SQLite's last result, got the callback's. */
int sqlite_ended(struct sqlite_store *s, unsigned number, sqlite3_stmt *st, int rc, int got, struct fail *f);
void sqlite_numbers(sqlite3_stmt *st, const int64_t *v, int count);         /* binds them, from the first on */
uint64_t sqlite_id(sqlite3_stmt *st, int column);
int32_t sqlite_int(sqlite3_stmt *st, int column);

/* ---- sqlrows.c: the tables, and writing rows in a transaction that is open ------------ */

extern const char *const sqlite_schema[];                         /* ends with NULL */
extern const char *const sqlite_schema_order[];                   /* the ledger's own order; ends with NULL */
int sqlite_put_event(struct sqlite_store *s, uint64_t seq, const struct event *ev, const struct effects *did,
	struct fail *f);
int sqlite_put_answer(struct sqlite_store *s, const struct answer *a, struct fail *f);
int sqlite_drop_answers(struct sqlite_store *s, int64_t before, size_t max, struct fail *f);
int sqlite_put_snapshot(struct sqlite_store *s, uint64_t seq, const void *bytes, size_t len, uint64_t hash,
	struct fail *f);
int sqlite_heads_flush(struct sqlite_store *s, struct fail *f);

/* ---- Reading rows ------------------------------------------------------------------------- */

/* One statement a way through a table: numbers from SQLITE_READS on. */
enum sqlite_read {
	READ_EVENTS = SQLITE_READS,
	READ_SNAPSHOTS,
	READ_PARTS,
	READ_ANSWER,
	READ_POSTINGS,
	READ_POSTINGS_ALL,
	READ_NOTICES,
	READ_NOTICES_ALL,
	READ_ORDER,
	READ_ORDER_NEXT,
	READ_ORDERS, /* and seven more: by id or start, account or pool …: see sqlorders.c */
	READ_LEASES = READ_ORDERS + 10,
	READ_LOGS = READ_LEASES + 8, /* and writing them: see sqllog.c */
	READ_COUNT = READ_LOGS + 12,
};

_Static_assert((int)READ_COUNT < (int)SQLITE_STORE_STATEMENTS, "the last number is check_epoch's");

/* ---- sqlorders.c --------------------------------------------------------------------- */

int sqlite_orders(struct store *base, const struct order_filter *filter, const struct store_page *page,
	store_order_fn fn, void *arg, struct fail *f);
int sqlite_order_side(struct sqlite_store *s, uint64_t id, enum side *side,
	struct fail *f); /* untouched if there is none */
/* The lowest id from which on all orders were made at `at` or later. */
int sqlite_id_since(struct sqlite_store *s, int64_t at, uint64_t *out, struct fail *f);

/* ---- sqlread.c: what is not an order ------------------------------------------------- */

int sqlite_load_snapshot(struct store *base, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f);
int sqlite_events(struct store *base, uint64_t after, store_event_fn fn, void *arg, struct fail *f);
int sqlite_find_answer(struct store *base, uint64_t account, const char *key, struct answer *out, struct buf *body,
	struct fail *f);
int sqlite_leases(struct store *base, uint64_t order, uint64_t sku, int64_t filled_since, const struct store_page *page,
	store_lease_fn fn, void *arg, struct fail *f);
int sqlite_postings(struct store *base, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_posting_fn fn, void *arg, struct fail *f);
int sqlite_notices(struct store *base, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_notice_fn fn, void *arg, struct fail *f);
void sqlite_read_posting(sqlite3_stmt *st, struct posting_row *row); /* columns in the table's order, from the first */

/* ---- sqllog.c: consoles -------------------------------------------------------------- */

extern const char *const sqlite_schema_logs[];                    /* ends with NULL */
int sqlite_put_log(struct sqlite_store *s, uint64_t instance, const struct log_line *lines, size_t count,
	struct fail *f);
int sqlite_drop_log(struct sqlite_store *s, uint64_t instance, struct fail *f);
int sqlite_log_end(struct store *base, uint64_t instance, struct log_head *out, struct fail *f);
int sqlite_logs(struct store *base, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
	struct fail *f);
int sqlite_log_heads(struct store *base, uint64_t after, size_t limit, store_log_head_fn fn, void *arg, struct fail *f);

/* ---- sqlmaintain.c ---------------------------------------------------------------------- */

int sqlite_check_file(struct sqlite_store *s, bool quick,
	struct fail *f); /* checks the file alone; quick: without its indexes */
int sqlite_check(struct store *base, struct fail *f);
int sqlite_backup(struct store *base, const char *path, struct fail *f);

#endif
