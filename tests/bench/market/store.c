/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durable orders a second: through the store alone, through engine and store, and beside them raw
 * SQLite that writes the same rows in the same batches with a hand loop (no journal form, no hash
 * chain). Medians of several runs, taken in turn. --million: the same after 1,000 and 1,000,000 orders.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "market/reason.h"
#include "marketd/store/market.h"
#include "marketd/store/sqlite.h"

#include "../../unit/marketd/storemake.h"

enum { RUNS_MAX = 9, FOLDER_ROOM = 400, CHECKPOINT = 4096 };

static char path[FOLDER_ROOM];
static int runs = 5, scale = 4;
static struct fail f;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "store: %s\n", what);
	exit(1);
}

static void fresh(void)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char name[FOLDER_ROOM + 8];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static double median(double *v, int count)
{
	for (int i = 1; i < count; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
			double swap = v[k];

			v[k] = v[k - 1];
			v[k - 1] = swap;
		}
	return v[count / 2];
}

/* ---- The store --------------------------------------------------------------------------- */

static void store_batches(struct store *s, struct make *m, int orders, int batch)
{
	for (int done = 0; done < orders; done += batch)
		if (make_append(m, s, (unsigned)batch, &f) || s->calls->commit(s, &f))
			die(f.text);
}

static double time_store(int orders, int batch)
{
	struct store *s;
	struct make m;
	double start;

	fresh();
	make_begin(&m);
	if (store_sqlite_open(path, &s, &f) || s->calls->fence(s, &f))
		die(f.text);
	store_batches(s, &m, 64, 64);
	start = now();
	store_batches(s, &m, orders, batch);
	start = now() - start;
	s->calls->close(s);
	make_end(&m);
	return orders / start;
}

/* ---- Raw SQLite -------------------------------------------------------------------------- */

enum {
	RAW_EVENT,
	RAW_ORDER,
	RAW_UPDATE,
	RAW_LEASE,
	RAW_POSTING,
	RAW_NOTICE,
	RAW_CHAIN,
	RAW_BEGIN,
	RAW_COMMIT,
	RAW_COUNT
};

static const char *const raw_sql[RAW_COUNT] = {
	"INSERT INTO event VALUES (?, ?, ?, ?)",
	"INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	"UPDATE orders SET closed_at = ?, status = ?, reason = ?, hold = ?, filled_minutes = ?, filled_cost = ?, rest "
	"= ? WHERE id = ?",
	"INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	"INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	"INSERT INTO notice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	"INSERT OR REPLACE INTO chain VALUES (?, ?, ?, ?)",
	"BEGIN IMMEDIATE",
	"COMMIT",
};

struct raw { sqlite3 *db; sqlite3_stmt *st[RAW_COUNT]; int frames; bool touched[MAKE_ACCOUNTS]; };

static int raw_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
	(void)db;
	(void)name;
	((struct raw *)arg)->frames = frames;
	return SQLITE_OK;
}

static void raw_run(struct raw *r, int which, const int64_t *v, int count, const void *blob, int len)
{
	sqlite3_stmt *st = r->st[which];
	int at = 1;

	for (int i = 0; i < count; i++) {
		if (blob && which == RAW_UPDATE && at == 7)
			sqlite3_bind_blob(st, at++, blob, len, SQLITE_STATIC);
		sqlite3_bind_int64(st, at++, v[i]);
	}
	if (blob && which != RAW_UPDATE)
		sqlite3_bind_blob(st, at, blob, len, SQLITE_STATIC);
	if (sqlite3_step(st) != SQLITE_DONE)
		die(sqlite3_errmsg(r->db));
	sqlite3_reset(st);
}

#define RAW(r, which, blob, len, ...) \
	raw_run((r), (which), (const int64_t[]){ __VA_ARGS__ }, \
		(int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (blob), (len))

static void raw_effect(struct raw *r, const struct make *m, const struct effect *e, int *postings, int *notices)
{
	static const uint8_t chain[32] = { 1 };
	const struct order *o = &e->u.order;
	const struct lease *l = &e->u.lease.lease;
	const struct posting *p = &e->u.posting;
	const struct notice *n = &e->u.notice;
	int64_t seq = (int64_t)m->seq, at = m->ev.at;

	if (e->kind == EFFECT_ORDER && o->side == SIDE_SELL && m->seq > 1) {
		RAW(r, RAW_UPDATE, "", 0, o->closed_at, o->status, o->reason, o->hold, o->filled_minutes,
			o->filled_cost, (int64_t)o->id);
	} else if (e->kind == EFFECT_ORDER) {
		RAW(r, RAW_ORDER, "", 0, (int64_t)o->id, (int64_t)o->account, (int64_t)o->token, (int64_t)o->pool,
			(int64_t)o->sku, (int64_t)o->host, (int64_t)o->procurement, o->side, o->flags, o->nodes,
			o->start, o->end, o->price, o->max_total, o->created_at, o->closed_at, o->status, o->reason,
			o->hold, o->filled_minutes, o->filled_cost);
	} else if (e->kind == EFFECT_LEASE) {
		RAW(r, RAW_LEASE, NULL, 0, (int64_t)l->id, (int64_t)l->order, (int64_t)l->sell_order, (int64_t)l->host,
			(int64_t)l->sku, (int64_t)l->parent, (int64_t)l->buyer, (int64_t)l->seller, (int64_t)l->pool,
			l->start, l->end, l->price, l->paid_end, l->settled, l->interruptible, l->sold_on, l->filled_at,
			0);
	} else if (e->kind == EFFECT_POSTING) {
		RAW(r, RAW_POSTING, chain, 32, (int64_t)p->account, seq, (*postings)++, at, (int64_t)p->transfer,
			(int64_t)p->owner, (int64_t)p->asset, p->book, p->amount, p->balance, (int64_t)p->subject);
		r->touched[p->account] = true;
	} else if (e->kind == EFFECT_NOTICE) {
		RAW(r, RAW_NOTICE, NULL, 0, seq, (*notices)++, at, (int64_t)n->account, n->kind, (int64_t)n->subject,
			(int64_t)n->other, n->amount, n->minute, n->code);
	}
}

static void raw_batches(struct raw *r, struct make *m, int orders, int batch)
{
	static const uint8_t event[52] = { 1 }; /* as long as an order is in the journal */

	for (int done = 0; done < orders; done += batch) {
		raw_run(r, RAW_BEGIN, NULL, 0, NULL, 0);
		for (int i = 0; i < batch; i++) {
			int postings = 0, notices = 0;

			make_next(m);
			RAW(r, RAW_EVENT, event, sizeof event, (int64_t)m->seq, m->ev.at, m->ev.kind);
			for (size_t k = 0; k < m->did.count; k++)
				raw_effect(r, m, &m->did.list[k], &postings, &notices);
		}
		for (int a = 0; a < MAKE_ACCOUNTS; a++)
			if (r->touched[a])
				RAW(r, RAW_CHAIN, event, 32, a, (int64_t)m->seq, 0);
		memset(r->touched, 0, sizeof r->touched);
		raw_run(r, RAW_COMMIT, NULL, 0, NULL, 0);
		if (r->frames >= CHECKPOINT)
			sqlite3_wal_checkpoint_v2(r->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	}
}

static double time_raw(int orders, int batch)
{
	struct raw r = { 0 };
	struct make m;
	double start;

	fresh();
	make_begin(&m);
	if (sqlite3_open(path, &r.db) != SQLITE_OK ||
		sqlite3_exec(r.db,
			"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
			"PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=0",
			NULL, NULL, NULL) != SQLITE_OK)
		die("sqlite");
	for (int i = 0; sqlite_schema[i]; i++)
		if (sqlite3_exec(r.db, sqlite_schema[i], NULL, NULL, NULL) != SQLITE_OK)
			die(sqlite3_errmsg(r.db));
	sqlite3_wal_hook(r.db, raw_wal, &r);
	for (int i = 0; i < RAW_COUNT; i++)
		if (sqlite3_prepare_v3(r.db, raw_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &r.st[i], NULL) != SQLITE_OK)
			die(sqlite3_errmsg(r.db));
	raw_batches(&r, &m, 64, 64);
	start = now();
	raw_batches(&r, &m, orders, batch);
	start = now() - start;
	for (int i = 0; i < RAW_COUNT; i++)
		sqlite3_finalize(r.st[i]);
	sqlite3_close(r.db);
	make_end(&m);
	return orders / start;
}

/* ---- Engine and store -------------------------------------------------------------------- */

enum { HOSTS = 64, T0 = 1795162620, HOST_MINUTES = 2000000, SLOT = 60 };

static uint64_t apply(struct market *m, struct event ev)
{
	const struct effects *did;

	if (market_apply(m, &ev, &did, &f))
		die(f.text);
	return effects_made(did);
}

struct place { uint64_t seller, sku, from, buyers[32], pools[32]; };

static void furnish(struct market *m, struct place *p)
{
	char name[32];

	market_time(m, T0, &f);
	p->seller = apply(m, (struct event){ .kind = EVENT_ACCOUNT, .name = "foundry" });
	p->sku = apply(m, (struct event){ .kind = EVENT_SKU, .name = "h100", .text = "{}", .u.sku.gpus = 8 });
	p->from = apply(m,
		(struct event){ .kind = EVENT_POOL,
			.account = p->seller,
			.name = "hosts",
			.u.pool.kind = POOL_ORIGINATING });
	for (int i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof name, "n%d", i);
		apply(m, (struct event){ .kind = EVENT_HOST, .account = p->seller, .name = name,
			.u.host = { p->sku, p->from, T0 / 60, T0 / 60 + HOST_MINUTES } });
	}
	apply(m, (struct event){ .kind = EVENT_ORDER, .account = p->seller, .u.order = { .pool = p->from, .sku = p->sku,
		.side = SIDE_SELL, .flags = ORDER_STANDING | ORDER_PARTIAL, .nodes = HOSTS, .start = T0 / 60 + 1,
		.end = T0 / 60 + HOST_MINUTES, .price = 249000 } });
	for (int i = 0; i < 32; i++) {
		snprintf(name, sizeof name, "b%d", i);
		p->buyers[i] = apply(m, (struct event){ .kind = EVENT_ACCOUNT, .name = name });
		apply(m,
			(struct event){ .kind = EVENT_CREDIT,
				.account = p->buyers[i],
				.u.credit.micros = (int64_t)1 << 50 });
		p->pools[i] = apply(m, (struct event){ .kind = EVENT_POOL, .account = p->buyers[i], .name = name });
	}
	if (market_commit(m, &f))
		die(f.text);
}

/* Each buys one host for an hour, and gets it. */
static double time_market(int orders, int batch)
{
	struct store *s;
	struct market *m;
	struct place p;
	double start;

	fresh();
	if (store_sqlite_open(path, &s, &f) || market_open(s, &m, &f))
		die(f.text);
	market_snapshot_every(m, 0);
	furnish(m, &p);
	start = now();
	for (int i = 0; i < orders; i++) {
		int64_t at = T0 / 60 + 1 + (int64_t)(i % (HOST_MINUTES / SLOT - 1)) * SLOT;

		apply(m,
			(struct event){ .kind = EVENT_ORDER,
				.account = p.buyers[i % 32],
				.u.order = { .pool = p.pools[i % 32],
					.sku = p.sku,
					.side = SIDE_BUY,
					.nodes = 1,
					.start = at,
					.end = at + SLOT,
					.price = 250000 } });
		if ((i + 1) % batch == 0 && market_commit(m, &f))
			die(f.text);
	}
	if (market_commit(m, &f))
		die(f.text);
	start = now() - start;
	market_free(m);
	return orders / start;
}

/* ---- Reports ----------------------------------------------------------------------------- */

static int compare(void)
{
	static const int batches[] = { 1, 16, 64, 256, 1024 };
	static double (*const ways[])(int orders, int batch) = { time_raw, time_store, time_market };
	int bad = 0;

	printf("%-8s %14s %14s %8s %16s   durable orders/s, medians of %d\n", "batch", "raw SQLite", "store", "ratio",
		"engine + store", runs);
	for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
		int batch = batches[b], orders = batch == 1 ? 500 * scale : batch == 16 ? 1600 * scale : 5120 * scale;
		double v[3][RUNS_MAX], middle[3];

		orders -= orders % batch;
		for (int run = 0; run < runs; run++)
			for (int w = 0; w < 3; w++)
				v[w][run] = ways[w](orders, batch);
		for (int w = 0; w < 3; w++)
			middle[w] = median(v[w], runs);
		printf("%-8d %14.0f %14.0f %8.2f %16.0f\n", batch, middle[0], middle[1], middle[1] / middle[0],
			middle[2]);
		fflush(stdout);
		bad += middle[1] < 0.7 * middle[0];
	}
	return bad;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Processor and clock seconds of an order. Earlier writes reach the disk first: these orders do not pay for them. */
static void flat_at(struct store *s, struct make *m, int batch, const char *when, double *busy, double *wall)
{
	double v[RUNS_MAX], w[RUNS_MAX];
	int orders = 5120 * scale;

	sync();
	for (int run = 0; run < runs; run++) {
		double start = now(), start_cpu = cpu();

		store_batches(s, m, orders, batch);
		v[run] = (now() - start) / orders;
		w[run] = (cpu() - start_cpu) / orders;
	}
	*wall = median(v, runs);
	*busy = median(w, runs);
	printf("after %-10s %8.1f us of CPU an order, %8.1f us of wall, in batches of %d\n", when, *busy * 1e6,
		*wall * 1e6, batch);
	fflush(stdout);
}

static int flatness(void)
{
	struct store *s;
	struct make m;
	double busy[2], wall[2];

	fresh();
	make_begin(&m);
	if (store_sqlite_open(path, &s, &f) || s->calls->fence(s, &f))
		die(f.text);
	store_batches(s, &m, 1000, 1000);
	flat_at(s, &m, 64, "1,000", &busy[0], &wall[0]);
	while (m.seq < 1000000)
		store_batches(s, &m, 8192, 8192);
	flat_at(s, &m, 64, "1,000,000", &busy[1], &wall[1]);
	printf("ratio %.2f of CPU, %.2f of wall (to be 1.5 at most)\n", busy[1] / busy[0], wall[1] / wall[0]);
	s->calls->close(s);
	make_end(&m);
	return busy[1] > 1.5 * busy[0] || wall[1] > 1.5 * wall[0];
}

int main(int argc, char **argv)
{
	const char *folder = ".";
	bool million = false;
	int bad;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			runs = 3, scale = 1;
		else if (strcmp(argv[i], "--million") == 0)
			million = true;
		else
			folder = argv[i];
	}
	snprintf(path, sizeof path, "%.300s/bench-store-%ld.db", folder, (long)getpid());
	bad = million ? flatness() : compare();
	fresh();
	return bad != 0;
}
