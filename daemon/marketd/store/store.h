/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market keeps: a table of domain calls, so that SQLite today and PostgreSQL tomorrow do the
 * same. One batch is one transaction: events, what they did, and the answers kept under idempotency
 * keys. The market answers nothing before commit returned 0.
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

/* An answer kept under an idempotency key: a repeated request gets it again. */
struct answer {
	uint64_t account;
	const char *key;
	uint8_t digest[32];        /* of method, path and body */
	int64_t at;                /* Unix seconds */
	int status;
	const char *body;
	size_t body_len;
};

/* A page holds ids after (ascending) or before (descending) the given one, which is not in it. */
struct store_page {
	uint64_t after, before;    /* 0: from the first, or the last if descending */
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
	bool by_start; /* order by start instead of id; page.after/before still is an order's id */
};

/* Rows as they were when written. rest (of struct order) points into the row until the next call. */
typedef int (*store_order_fn)(void *arg, const struct order *o);   /* not 0: stops and is returned */
typedef int (*store_lease_fn)(void *arg, const struct lease *l, bool over);

struct posting_row {
	uint64_t seq, n;           /* of the event; within it */
	int64_t at;
	struct posting posting;
	uint8_t chain[32];         /* SHA-256(chain before it of this account, its canonical text): chain.h */
};
#define EVERYBODY UINT64_MAX /* instead of an account: all statements, in the order of the ledger */
typedef int (*store_posting_fn)(void *arg, const struct posting_row *row);

struct notice_row {
	uint64_t seq, n;
	int64_t at;
	struct notice notice;
};
typedef int (*store_notice_fn)(void *arg, const struct notice_row *row);

typedef int (*store_event_fn)(void *arg, uint64_t seq, const struct event *ev);

/* ---- Consoles: what nodes printed, line by line, numbered from 1 for each node */
enum {
	LOG_KEEP = 1 << 20,        /* bytes of one node: older lines go, their numbers are not used again */
	LOG_LINE = 32,             /* what a line counts besides its bytes */
};

struct log_line {
	uint64_t seq;
	int64_t at;                /* microseconds since the epoch, from the node's agent */
	const void *data;
	size_t len;
};

struct log_head {
	uint64_t instance;
	uint64_t first, next;      /* the oldest line kept; the number of the next one */
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

/* Every call returns 0, or a negative code with a sentence that says what to do. */
struct store_calls {
	const char *name;

	/* ---- Writing: one transaction, begun by the first call after a commit or rollback ---- */
	/* seq is the last one + 1. */
	int (*append)(struct store *s, uint64_t seq, const struct event *ev, const struct effects *did, struct fail *f);
	int (*keep_answer)(struct store *s, const struct answer *a, struct fail *f);
	int (*snapshot)(struct store *s, uint64_t seq, const void *bytes, size_t len, uint64_t hash, struct fail *f);
	int (*forget_answers)(struct store *s, int64_t before, size_t max, struct fail *f);
	/* Their seqs must follow each other and the last line kept (else REASON_INVALID, and nothing was done). */
	int (*log_append)(struct store *s, uint64_t instance, const struct log_line *lines, size_t count,
		struct fail *f);
	int (*log_drop)(struct store *s, uint64_t instance, struct fail *f);  /* the whole console, its numbers too */
	/* 0: on disk. REASON_UNAVAILABLE: rolled back instead; REASON_WRONG_STATE: another writer took over. */
	int (*commit)(struct store *s, struct fail *f);
	void (*rollback)(struct store *s);

	/* ---- Reading: what was committed, and what is staged in this turn (last_seq: committed only) ---- */
	/* A limit of 0 means no limit. n counts from 0 within an event, postings and notices each. */
	uint64_t (*last_seq)(struct store *s);
	/* The newest whole snapshot; *seq 0 if there is none. */
	int (*load_snapshot)(struct store *s, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f);
	int (*events)(struct store *s, uint64_t after, store_event_fn fn, void *arg, struct fail *f);
	/* 1: found (body malloc'd into out), 0: none. */
	int (*find_answer)(struct store *s, uint64_t account, const char *key, struct answer *out, struct buf *body,
		struct fail *f);
	int (*orders)(struct store *s, const struct order_filter *filter, const struct store_page *page,
		store_order_fn fn, void *arg, struct fail *f);
	/* order: the one that bought or sold; 0: any; sku 0: any. page may ask for newest first. Ended ones too. */
	int (*leases)(struct store *s, uint64_t order, uint64_t sku, int64_t filled_since,
		const struct store_page *page, store_lease_fn fn, void *arg, struct fail *f);
	/* Of one account's statement (0: the market's own) or EVERYBODY's, after (seq, n), oldest first. */
	int (*postings)(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
		store_posting_fn fn, void *arg, struct fail *f);
	/* account 0: everybody's. After (seq, n). */
	int (*notices)(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
		store_notice_fn fn, void *arg, struct fail *f);

	/* 1: found; 0: none. */
	int (*log_end)(struct store *s, uint64_t instance, struct log_head *out, struct fail *f);
	int (*logs)(struct store *s, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
		struct fail *f);
	/* The consoles of instances above that id, ascending. */
	int (*log_heads)(struct store *s, uint64_t after, size_t limit, store_log_head_fn fn, void *arg,
		struct fail *f);

	/* ---- Care ---- */
	/* Integrity of the file, sums and balances of the ledger, hash chains, continuity of seq. */
	int (*check)(struct store *s, struct fail *f);
	int (*backup)(struct store *s, const char *path, struct fail *f); /* a whole copy, while running */
	/*
	 * Takes the writer's lease: raises the epoch, so that others' commits fail. Only the holder can write.
	 * A second call renews the lease by a durable write; if another writer took it since, the call and all
	 * further writes fail with REASON_WRONG_STATE.
	 */
	int (*fence)(struct store *s, struct fail *f);
	void (*close)(struct store *s);
};

struct store {
	const struct store_calls *calls; /* an implementation's struct begins with this */
};

/* where: a path (SQLite), later postgresql://… Makes the database if there is none. */
int store_open(const char *where, struct store **out, struct fail *f);
int store_sqlite_open(const char *path, struct store **out, struct fail *f);
/* Migrates an older form of the database to this program's; returns both forms. */
int store_sqlite_migrate(const char *path, int *from, int *to, struct fail *f);

#endif
