/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine and store together: what was committed is the market again after any end, from the
 * snapshot as from the first event; what the disk refuses never was.
 */
#include "marketd/store/market.h"

#include <errno.h>
#include <sqlite3.h>
#include <time.h>

#include "market/reason.h"
#include "marketd/store/maintain.h"

#include "../../lib/tap.h"
#include "../../lib/tool.h"

enum { T0 = 1795162620 };  /* a whole minute */

static struct fail f;

/* A store that refuses where a test says so, in front of the real one: the calls are a copy of its table. */
static struct store_calls bent;
static const struct store_calls *real;
static int refuse_commits, refuse_appends, refuse_fences;

static int bent_commit(struct store *s, struct fail *why)
{
	if (!refuse_commits)
		return real->commit(s, why);
	refuse_commits--;
	real->rollback(s);
	return fail_set(why, REASON_UNAVAILABLE, "the test says no");
}

static int bent_append(struct store *s, uint64_t seq, const struct event *ev, const struct effects *did,
	struct fail *why)
{
	if (!refuse_appends)
		return real->append(s, seq, ev, did, why);
	refuse_appends--;
	return fail_set(why, REASON_UNAVAILABLE, "the test says no");
}

static int bent_fence(struct store *s, struct fail *why)
{
	if (!refuse_fences)
		return real->fence(s, why);
	refuse_fences--;
	return fail_set(why, REASON_UNAVAILABLE, "the test says no");
}

static struct market *open_market(const char *path)
{
	struct store *s;
	struct market *m;

	if (store_open(path, &s, &f)) {
		diag("%s", f.text);
		exit(1);
	}
	real = s->calls;
	bent = *real;
	bent.commit = bent_commit;
	bent.append = bent_append;
	bent.fence = bent_fence;
	s->calls = &bent;
	if (market_open(s, &m, &f)) {
		diag("%s", f.text);
		exit(1);
	}
	return m;
}

/* As when the process is killed: nothing is written on the way out. */
static void kill_market(struct market *m)
{
	market_snapshot_every(m, 0);
	market_free(m);
}

static uint64_t apply(struct market *m, struct event ev)
{
	const struct effects *did = NULL;

	if (market_apply(m, &ev, &did, &f)) {
		diag("'%s': %s", event_name(ev.kind), f.text);
		return 0;
	}
	return effects_made(did);
}

struct world { uint64_t seller, buyer, sku, from, to; };

static struct world make_world(struct market *m)
{
	struct world w;

	market_time(m, T0, &f);
	apply(m, (struct event){ .kind = EVENT_POLICY, .u.policy = { 250, 5000, 60, 2 } });
	w.seller = apply(m, (struct event){ .kind = EVENT_ACCOUNT, .name = "foundry" });
	w.buyer = apply(m, (struct event){ .kind = EVENT_ACCOUNT, .name = "acme" });
	apply(m, (struct event){ .kind = EVENT_CREDIT, .account = w.buyer, .u.credit.micros = 1000000000000 });
	w.sku = apply(m, (struct event){ .kind = EVENT_SKU, .name = "h100", .text = "{}", .u.sku.gpus = 8 });
	w.from = apply(m,
		(struct event){ .kind = EVENT_POOL,
			.account = w.seller,
			.name = "hosts",
			.u.pool.kind = POOL_ORIGINATING });
	w.to = apply(m,
		(struct event){ .kind = EVENT_POOL, .account = w.buyer, .name = "r-1", .u.pool.kind = POOL_MARKET });
	for (int i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%d", i);
		apply(m, (struct event){ .kind = EVENT_HOST, .account = w.seller, .name = name,
			.u.host = { w.sku, w.from, T0 / 60, T0 / 60 + 100000 } });
	}
	apply(m,
		(struct event){ .kind = EVENT_ORDER,
			.account = w.seller,
			.u.order = { .pool = w.from,
				.sku = w.sku,
				.side = SIDE_SELL,
				.flags = ORDER_STANDING | ORDER_PARTIAL,
				.nodes = 8,
				.start = T0 / 60 + 1,
				.end = T0 / 60 + 90000,
				.price = 249000 } });
	return w;
}

/* Buys that fill, rest and are refused, time that goes on. */
static void trade(struct market *m, const struct world *w, int count)
{
	for (int i = 0; i < count; i++) {
		int64_t minute = market_now(m) / 60 + 1 + i % 7 * 60;
		struct event ev = { .kind = EVENT_ORDER,
			.account = w->buyer,
			.u.order = { .pool = w->to,
				.sku = w->sku,
				.side = SIDE_BUY,
				.flags = i % 5 == 4 ? ORDER_STANDING | ORDER_PARTIAL : 0,
				.nodes = 1 + i % 2,
				.start = minute,
				.end = minute + 30 + i % 50,
				.price = i % 3 == 2 ? 1000 : 260000 } };

		market_apply(m, &ev, NULL, &f);
		if (i % 4 == 3)
			market_time(m, market_now(m) + 61 * (i % 9), &f);
	}
}

static uint64_t hash(const struct market *m)
{
	return engine_hash(market_engine(m));
}

static void test_restart(void)
{
	struct market *m = open_market("restart.db");
	struct world w = make_world(m);
	struct engine *whole = NULL, *quick = NULL;
	struct buf bytes;
	uint64_t before, seq, kept_hash;

	ok(market_dirty(m) && market_ready(m), "something is staged");
	is_int(market_commit(m, &f), 0, "it is committed");
	ok(!market_dirty(m) && engine_account_named(market_engine(m), "acme") != NULL, "and known");
	before = hash(m);
	kill_market(m);
	m = open_market("restart.db");
	ok(hash(m) == before && market_now(m) == T0, "killed and opened: the same market, at the same time");

	market_snapshot_every(m, 50);
	for (int i = 0; i < 12; i++) {
		trade(m, &w, 15);
		if (market_commit(m, &f))
			diag("%s", f.text);
	}
	trade(m, &w, 7);
	is_int(market_commit(m, &f), 0, "some 200 events on, with snapshots every 50");
	before = hash(m);
	seq = engine_count(market_engine(m));
	kill_market(m);
	m = open_market("restart.db");
	ok(hash(m) == before && engine_count(market_engine(m)) == seq,
		"killed and opened: snapshot and tail give the same market");
	buf_init(&bytes, 1 << 26);
	is_int(real->load_snapshot(market_store(m), &bytes, &seq, &kept_hash, &f), 0, "there is a snapshot");
	ok(seq > 100 && seq < engine_count(market_engine(m)), "at %d of %d", (int)seq,
		(int)engine_count(market_engine(m)));
	ok(market_replay(market_store(m), false, 0, &whole, &f) == 0 && engine_hash(whole) == before,
		"all events from the first give it too");
	ok(market_replay(market_store(m), false, seq, &quick, &f) == 0 && engine_hash(quick) == kept_hash,
		"and up to the snapshot its hash");
	engine_free(whole);
	engine_free(quick);
	trade(m, &w, 3);
	market_commit(m, &f);
	before = hash(m);
	seq = engine_count(market_engine(m));
	market_free(m);
	m = open_market("restart.db");
	ok(hash(m) == before, "ended and opened: the same market");
	ok(real->load_snapshot(market_store(m), &bytes, &kept_hash, &before, &f) == 0 && kept_hash == seq,
		"from a snapshot of its end");
	buf_release(&bytes);
	is_int(real->check(market_store(m), &f), 0, "the store's check is content (%s)", f.text);
	is_int(engine_check(market_engine(m), &f), 0, "and the engine's (%s)", f.text);
	market_free(m);
}

/* ---- A disk that says no ----------------------------------------------------------------- */

static void wait_until_ready(struct market *m, int64_t now)
{
	struct timespec nap = { 0, 20000000 };

	for (int i = 0; i < 3000 && !market_ready(m); i++) {
		market_time(m, now, &f);
		if (!market_ready(m))
			nanosleep(&nap, NULL);
	}
}

static void test_refused_commit(void)
{
	struct market *m = open_market("refused.db");
	struct world w = make_world(m);
	struct answer a = { .account = 1, .key = "k", .at = T0, .status = 201, .body = "{}", .body_len = 2 };
	struct event ev = { .kind = EVENT_POOL, .account = w.buyer, .name = "never" };
	struct engine *then = NULL;
	struct buf body;
	uint64_t before, seq;

	buf_init(&body, 1 << 16);
	market_commit(m, &f);
	trade(m, &w, 20);
	market_commit(m, &f);
	before = hash(m);
	seq = engine_count(market_engine(m));
	trade(m, &w, 20);
	ok(apply(m, ev) != 0 && market_keep_answer(m, &a, &f) == 0, "a pool, orders and an answer are staged");
	ok(hash(m) != before, "and the market knows of them");
	refuse_commits = 1;
	is_int(market_commit(m, &f), REASON_UNAVAILABLE, "the disk refuses: %s", f.text);
	ok(!market_ready(m), "the market is not ready");
	is_int(market_apply(m, &ev, NULL, &f), REASON_UNAVAILABLE, "and takes nothing: %s", f.text);
	is_int(market_commit(m, &f), REASON_UNAVAILABLE, "nor commits");
	ok(market_engine(m) && !engine_pool_named(market_engine(m), w.buyer, "never"), "what was staged is forgotten");
	refuse_fences = 1;
	is_int(market_time(m, market_now(m), &f), REASON_UNAVAILABLE, "the disk still does not write");
	ok(!market_ready(m), "so it is not ready");
	wait_until_ready(m, market_now(m));
	ok(market_ready(m) && engine_count(market_engine(m)) == seq + 1 &&
			market_replay(market_store(m), false, seq, &then, &f) == 0 && engine_hash(then) == before,
		"when it does, the market is as it was before, and the clock ticks on");
	engine_free(then);
	is_int(real->find_answer(market_store(m), 1, "k", &a, &body, &f), 0, "and the answer never was");
	ok(apply(m, ev) != 0 && market_commit(m, &f) == 0, "it goes on");

	before = hash(m);
	trade(m, &w, 5);
	refuse_appends = 1;
	is_int(market_apply(m, &(struct event){ .kind = EVENT_POOL, .account = w.buyer, .name = "never2" }, NULL, &f),
		REASON_UNAVAILABLE, "an event cannot be staged");
	ok(!market_ready(m) && market_dirty(m), "so the turn is lost");
	is_int(market_time(m, market_now(m) + 60, &f), REASON_UNAVAILABLE, "until its commit");
	is_int(market_commit(m, &f), REASON_UNAVAILABLE, "which says so");
	wait_until_ready(m, market_now(m));
	is_int(engine_minute(market_engine(m)), market_now(m) / 60, "time went on meanwhile");
	ok(market_commit(m, &f) == 0 && !engine_pool_named(market_engine(m), w.buyer, "never2"),
		"and nothing of that turn is there");
	is_int(real->check(market_store(m), &f), 0, "the store's check is content (%s)", f.text);
	market_free(m);
	buf_release(&body);
}

static void test_two_writers(void)
{
	struct market *first = open_market("two.db"), *second;
	struct world w = make_world(first);
	uint64_t before;

	market_commit(first, &f);
	trade(first, &w, 10);
	market_commit(first, &f);
	second = open_market("two.db");
	ok(hash(second) == hash(first), "a second market reads what the first wrote, and takes over");
	before = hash(second);
	trade(first, &w, 4);
	ok(market_commit(first, &f) != 0 && market_lost(first) && !market_ready(first), "the first is told: %s",
		f.text);
	ok(market_time(first, market_now(first) + 60, &f) != 0 && !market_ready(first), "and stays out");
	trade(second, &w, 4);
	ok(market_commit(second, &f) == 0 && hash(second) != before && !market_lost(second), "the second goes on");
	market_free(first);
	trade(second, &w, 4);
	is_int(market_commit(second, &f), 0, "also when the first is gone");
	is_int(real->check(market_store(second), &f), 0, "all is whole (%s)", f.text);
	market_free(second);
}

static void test_clock(void)
{
	struct market *m = open_market("clock.db");
	uint64_t events;

	make_world(m);
	is_int(engine_minute(market_engine(m)), T0 / 60, "the first time is the market's minute");
	events = engine_count(market_engine(m));
	market_time(m, T0 + 59, &f);
	ok(engine_count(market_engine(m)) == events && market_now(m) == T0 + 59, "no tick within a minute");
	market_time(m, T0 + 60, &f);
	ok(engine_count(market_engine(m)) == events + 1 && engine_minute(market_engine(m)) == T0 / 60 + 1,
		"one with the next");
	is_int(market_time(m, T0 - 5000, &f), 0, "a clock that goes back is no failure");
	ok(market_now(m) == T0 + 60 && engine_count(market_engine(m)) == events + 1, "it stands still");
	market_time(m, T0 + 600, &f);
	ok(engine_minute(market_engine(m)) == T0 / 60 + 10 && engine_count(market_engine(m)) == events + 2,
		"minutes that were slept through");
	market_commit(m, &f);
	kill_market(m);
	m = open_market("clock.db");
	is_int(market_now(m), T0 + 600, "time is kept");
	events = engine_count(market_engine(m));
	is_int(market_time(m, T0 + 600 + 3 * 86400, &f), 0, "three days are slept through");
	ok(engine_minute(market_engine(m)) == T0 / 60 + 10 + 3 * 1440 && engine_count(market_engine(m)) > events + 1,
		"they come in steps");
	kill_market(m);
	m = open_market("clock.db");
	ok(market_now(m) > T0 + 600 && market_now(m) <= T0 + 600 + 3 * 86400 &&
			engine_minute(market_engine(m)) > T0 / 60 + 10,
		"each of which is on disk before the next");
	market_free(m);
}

static void test_answers(void)
{
	struct market *m = open_market("answers.db");
	struct answer a = { .account = 1,
		.key = "old",
		.at = T0 - 31 * 86400,
		.status = 201,
		.body = "{}",
		.body_len = 2 };
	struct buf body;

	buf_init(&body, 1 << 16);
	market_time(m, T0 - 31 * 86400, &f);
	market_keep_answer(m, &a, &f);
	a.key = "new";
	a.at = T0;
	market_keep_answer(m, &a, &f);
	is_int(market_commit(m, &f), 0, "two answers are kept");
	is_int(real->find_answer(market_store(m), 1, "old", &a, &body, &f), 1, "and found");
	market_time(m, T0, &f);
	market_commit(m, &f);
	is_int(real->find_answer(market_store(m), 1, "old", &a, &body, &f), 0, "after 31 days one is forgotten");
	is_int(real->find_answer(market_store(m), 1, "new", &a, &body, &f), 1, "and a newer one not");
	market_free(m);
	buf_release(&body);
}

/* ---- Broken things are not opened; care says what is wrong -------------------------------- */

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		diag("'%s': %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static char said[4096];

static int care(const char *verb, const char *data, const char *path, bool force)
{
	struct maintain how = { .data = data, .path = path, .force = force, .err = tmpfile() };
	int status = maintain_run(verb, &how);

	rewind(how.err);
	said[fread(said, 1, sizeof said - 1, how.err)] = '\0';
	fclose(how.err);
	return status;
}

static void test_care(void)
{
	struct market *m = open_market("care.db");
	struct world w = make_world(m);
	uint64_t before;
	struct store *s;
	struct stat st;

	market_snapshot_every(m, 30);
	for (int i = 0; i < 5; i++) {
		trade(m, &w, 20);
		market_commit(m, &f);
	}
	before = hash(m);
	is_int(care("check", "care.db", NULL, false), 0, "check, while the market runs: %s", said);
	has_str(said, "both times", "replays twice");
	has_str(said, "every balance of the market matches the ledger", "and compares balances");
	is_int(care("backup", "care.db", "copy.db", false), 0, "backup, while it runs: %s", said);
	trade(m, &w, 9);
	is_int(market_commit(m, &f), 0, "which goes on");
	market_free(m);
	is_int(care("restore", "care.db", "copy.db", false), 5, "restore does not overwrite: %s", said);
	is_int(care("restore", "care.db", "copy.db", true), 0, "but with force: %s", said);
	m = open_market("care.db");
	ok(hash(m) == before, "the market is as it was at the backup");
	market_free(m);
	m = open_market("care.db.before-restore");
	ok(hash(m) != before, "and what was there is put aside");
	market_free(m);
	is_int(care("restore", "fresh.db", "copy.db", false), 0, "restore to where nothing is: %s", said);
	lacks_str(said, "before-restore", "puts nothing aside");
	is_int(care("migrate", "fresh.db", NULL, false), 0, "migrate: %s", said);

	is_int(care("check", "none.db", NULL, false), 3, "check of none: %s", said);
	ok(stat("none.db", &st) != 0 && errno == ENOENT, "makes none");
	is_int(care("backup", "care.db", NULL, false), 2, "backup to nowhere: %s", said);
	is_int(care("backup", "care.db", "/nowhere/x", false), 3, "backup to a folder that is not there: %s", said);
	is_int(care("polish", "care.db", NULL, false), 2, "an unknown word: %s", said);

	/* The journal says more money than the ledger, with a form that can be read: only the replay can know. */
	run_sql("copy.db", "UPDATE event SET data = (SELECT data FROM event WHERE kind = 5), kind = 5 WHERE seq = "
		"(SELECT MAX(seq) FROM event WHERE kind = 15 AND at = (SELECT at FROM event WHERE kind = 5))");
	is_int(care("check", "copy.db", NULL, false), 11, "a journal that was changed: %s", said);
	is_int(care("restore", "fresh.db", "copy.db", true), 11, "is not restored: %s", said);
	run_sql("fresh.db", "UPDATE snapshot SET hash = hash + 1");
	is_int(care("check", "fresh.db", NULL, false), 0, "a snapshot whose hash is another is no fault: %s", said);
	has_str(said, "is not used", "but is said");
	m = open_market("fresh.db");
	ok(hash(m) == before, "the events are");
	market_free(m);
	run_sql("fresh.db", "UPDATE event SET data = (SELECT data FROM event WHERE seq = 4) WHERE seq = 5; "
		"DELETE FROM snapshot_part; DELETE FROM snapshot");
	if (store_open("fresh.db", &s, &f) == 0) {
		ok(market_open(s, &m, &f) == REASON_INTERNAL && strstr(f.text, "cannot be replayed") &&
				strstr(f.text, "restore"),
			"an event that does not fit: %s", f.text);
		s->calls->close(s);
	}
}

int main(void)
{
	plan_none;
	if (!tool_begin())
		return 1;
	test_restart();
	test_refused_commit();
	test_two_writers();
	test_clock();
	test_answers();
	test_care();
	tool_end();
	return done();
}
