/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market keeps: a table of domain calls, so that SQLite today and PostgreSQL tomorrow do
 * the same. One batch is one transaction: events, what they did, and the answers that may be asked
 * for again. Nothing is answered before commit returned 0.
 */
#ifndef MARKETD_STORE_STORE_H
#define MARKETD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct store;

/* An answer that is kept under an idempotency key: asked again, it is given again. */
struct answer {
	uint64_t account;
	const char *key;
	uint8_t digest[32];        /* of method, path and body */
	int64_t at;                /* Unix seconds */
	int status;
	const char *body;
	size_t body_len;
};

/* Pages go by id: after (ascending) or before (descending) that id, which itself is not in it. */
struct store_page {
	uint64_t after, before;    /* 0: from the end that descending says */
	bool descending;
	size_t limit;
};

struct order_filter {
	uint64_t account;          /* 0: all */
	uint64_t pool, procurement;
	bool no_procurements;      /* omit orders that a procurement placed */
	int side;                  /* -1: both */
	uint32_t statuses;         /* bits of enum order_status; 0: all */
	int64_t created_after, created_before; /* Unix seconds, 0: none; both inclusive */
	const uint64_t *ids;       /* only these */
	size_t id_count;
	bool by_start; /* order by start instead of id; page.after/before then is an order's id all the same */
};

/* Rows as they were when written. rest (of struct order) points into the row until the next call. */
typedef int (*store_order_fn)(void *arg, const struct order *o);   /* not 0 stops, and is returned */
typedef int (*store_lease_fn)(void *arg, const struct lease *l, bool over);

struct posting_row {
	uint64_t seq, n;           /* of the event; within it */
	int64_t at;
	struct posting posting;
	uint8_t chain[32];         /* SHA-256(chain before it of this account, its canonical text): chain.h */
};
typedef int (*store_posting_fn)(void *arg, const struct posting_row *row);

struct notice_row {
	uint64_t seq, n;
	int64_t at;
	struct notice notice;
};
typedef int (*store_notice_fn)(void *arg, const struct notice_row *row);

typedef int (*store_event_fn)(void *arg, uint64_t seq, const struct event *ev);

/* ---- Consoles: what nodes said, line by line, each node's numbered from 1 */
enum {
	LOG_KEEP = 1 << 20,        /* bytes of one node: older lines go, their numbers are not given again */
	LOG_LINE = 32,             /* what a line costs of them beside its bytes */
};

struct log_line {
	uint64_t seq;
	int64_t at;                /* microseconds since the epoch, by the node's agent */
	const void *data;
	size_t len;
};

struct log_head {
	uint64_t instance;
	uint64_t first, next;      /* the oldest line that is kept; the number of the one to come */
	int64_t bytes;             /* that are kept */
};

struct log_filter {
	uint64_t after, before;    /* seqs, both inclusive; 0: none */
	int64_t after_at, before_at; /* microseconds, both inclusive; 0: none */
	bool descending;
	size_t limit;
};
typedef int (*store_log_fn)(void *arg, const struct log_line *l);
typedef int (*store_log_head_fn)(void *arg, const struct log_head *h);

/* Every call: 0, or a negative code with a sentence that says what to do. */
struct store_calls {
	const char *name;

	/* ---- Writing: one transaction, begun by the first call after a commit or rollback ---- */
	/* seq is the last one + 1. */
	int (*append)(struct store *s, uint64_t seq, const struct event *ev, const struct effects *did, struct fail *f);
	int (*keep_answer)(struct store *s, const struct answer *a, struct fail *f);
	int (*snapshot)(struct store *s, uint64_t seq, const void *bytes, size_t len, uint64_t hash, struct fail *f);
	int (*forget_answers)(struct store *s, int64_t before, size_t max, struct fail *f);
	/* Their seqs follow one another and the last one that is there (REASON_INVALID, and nothing was done). */
	int (*log_append)(struct store *s, uint64_t instance, const struct log_line *lines, size_t count,
		struct fail *f);
	int (*log_drop)(struct store *s, uint64_t instance, struct fail *f);  /* all of it, its numbers too */
	/* On disk. Fails with REASON_UNAVAILABLE (and has rolled back) where it is not; REASON_WRONG_STATE: another writer took over. */
	int (*commit)(struct store *s, struct fail *f);
	void (*rollback)(struct store *s);

	/* ---- Reading: what was committed, and what is staged in this turn (last_seq: committed only) ---- */
	/* A limit of 0 is none. n counts from 0 within an event, postings and notices each. */
	uint64_t (*last_seq)(struct store *s);
	/* The newest snapshot that is whole; *seq 0 where there is none. */
	int (*load_snapshot)(struct store *s, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f);
	int (*events)(struct store *s, uint64_t after, store_event_fn fn, void *arg, struct fail *f);
	/* 1: found (body malloc'd into out), 0: none. */
	int (*find_answer)(struct store *s, uint64_t account, const char *key, struct answer *out, struct buf *body,
		struct fail *f);
	int (*orders)(struct store *s, const struct order_filter *filter, const struct store_page *page,
		store_order_fn fn, void *arg, struct fail *f);
	/* order: that bought or that sold; 0: any; sku 0: any. Newest first where page says so. Includes those that are over. */
	int (*leases)(struct store *s, uint64_t order, uint64_t sku, int64_t filled_since,
		const struct store_page *page, store_lease_fn fn, void *arg, struct fail *f);
	/* Of one account's statement (0: the market's own), after (seq, n), oldest first. */
	int (*postings)(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
		store_posting_fn fn, void *arg, struct fail *f);
	/* account 0: everybody's. After (seq, n). */
	int (*notices)(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
		store_notice_fn fn, void *arg, struct fail *f);

	/* 1: there is one; 0: none. */
	int (*log_end)(struct store *s, uint64_t instance, struct log_head *out, struct fail *f);
	int (*logs)(struct store *s, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
		struct fail *f);
	/* Those of instances above that, ascending. */
	int (*log_heads)(struct store *s, uint64_t after, size_t limit, store_log_head_fn fn, void *arg,
		struct fail *f);

	/* ---- Care ---- */
	/* Integrity of the file, sums and balances of the ledger, hash chains, continuity of seq. */
	int (*check)(struct store *s, struct fail *f);
	int (*backup)(struct store *s, const char *path, struct fail *f); /* a whole copy, while running */
	/*
	 * Takes the writer's lease: raises the epoch, and others' commits fail. Who has not taken it cannot
	 * write. Called again it is renewed by a durable write, unless another one took it since: then it
	 * fails, as all further writing, with REASON_WRONG_STATE.
	 */
	int (*fence)(struct store *s, struct fail *f);
	void (*close)(struct store *s);
};

struct store {
	const struct store_calls *calls; /* an implementation's struct begins with this */
};

/* where: a path (SQLite), later postgresql://… Makes the database where there is none. */
int store_open(const char *where, struct store **out, struct fail *f);
int store_sqlite_open(const char *path, struct store **out, struct fail *f);
/* Brings an older form of the database up to this program's; says from where to where. */
int store_sqlite_migrate(const char *path, int *from, int *to, struct fail *f);

#endif
