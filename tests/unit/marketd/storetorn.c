/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite store where its file is not what it should be: another thing, of another form, cut off,
 * torn, tampered with, on a disk that is full or read-only. A clear sentence each time, never a
 * crash, and nothing changed by looking.
 */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "market/reason.h"
#include "marketd/store/sqlite.h"

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "storemake.h"

enum { EVENTS = 300, TORN = 150 };

static struct fail f;
static uint64_t seed = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

static struct buf content(const char *path)
{
	struct buf b;
	struct stat st;

	buf_init(&b, 1 << 26);
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || buf_read_file(&b, path))
		b.len = 0;
	return b;
}

static bool exists(const char *path, const char *suffix)
{
	char name[600];
	struct stat st;

	snprintf(name, sizeof name, "%s%s", path, suffix);
	return lstat(name, &st) == 0;
}

static void remove_all(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char name[600];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static void write_market(const char *path, unsigned events)
{
	struct store *s;
	struct make m;

	make_begin(&m);
	if (store_sqlite_open(path, &s, &f) || s->calls->fence(s, &f))
		abort();
	for (unsigned i = 0; i < events; i += 10)
		if (make_append(&m, s, 10, &f) || s->calls->snapshot(s, m.seq, "snapshot", 8, 1, &f) ||
			s->calls->commit(s, &f))
			abort();
	s->calls->close(s);
	make_end(&m);
}

static int see_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct make *m = arg;

	make_next(m);
	return seq == m->seq && ev->account == m->ev.account && ev->at == m->ev.at &&
			ev->u.order.start == m->ev.u.order.start
		? 0
		: 99;
}

/* How many events are there, as they were made; -1 where one differs or cannot be read. */
static long events_in(struct store *s)
{
	struct make m;
	long seq;

	make_begin(&m);
	seq = s->calls->events(s, 0, see_event, &m, &f) ? -1 : (long)m.seq;
	make_end(&m);
	return seq;
}

/* ---- What is no market ------------------------------------------------------------------- */

static void refused(const char *path, int code, const char *part, const char *what)
{
	struct buf before = content(path), after;
	struct store *s = NULL;
	int rc = store_sqlite_open(path, &s, &f);

	after = content(path);
	ok(rc == code && strstr(f.text, path) && strstr(f.text, part), "%s: %s", what, rc ? f.text : "it opens");
	ok(before.len == after.len && (!before.len || memcmp(before.data, after.data, before.len) == 0) &&
			!exists(path, "-wal") && !exists(path, "-shm") && !exists(path, "-journal"),
		"nothing is changed by that");
	if (!rc)
		s->calls->close(s);
	buf_release(&before);
	buf_release(&after);
}

static void put_number(const char *path, const char *pragma)
{
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, pragma, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
}

static void test_strangers(void)
{
	char random[65536];
	int from = -1, to = -1;

	for (size_t i = 0; i < sizeof random; i++)
		random[i] = (char)any(256);
	tool_run("mkdir", "folder");
	refused("folder", REASON_WRONG_STATE, "is a directory; name a file in it, as in 'folder/market.db'",
		"a directory");
	tool_run("mkfifo", "pipe");
	refused("pipe", REASON_WRONG_STATE, "not a regular file", "a pipe");
	tool_write("empty", "", 0, 0600);
	refused("empty", REASON_WRONG_STATE, "restore --force BACKUP", "an empty file");
	tool_write("short", "SQLite format 3", 16, 0600);
	refused("short", REASON_WRONG_STATE, "truncated to 16 bytes", "a file of 16 bytes");
	tool_write("random", random, sizeof random, 0600);
	refused("random", REASON_WRONG_STATE, "encrypted", "an encrypted file");
	put_number("other", "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
	refused("other", REASON_WRONG_STATE, "another program's", "another program's database");
	refused("no/folder/market.db", REASON_NOT_FOUND, "mkdir -p", "a folder that is not there");
	write_market("newer", 10);
	put_number("newer", "PRAGMA user_version=99");
	refused("newer", REASON_WRONG_STATE, "nanopod-marketd migrate", "a newer form");
	ok(store_sqlite_migrate("newer", &from, &to, &f) == REASON_WRONG_STATE && from == -1,
		"which migrate leaves: %s", f.text);
	write_market("older", 10);
	put_number("older", "PRAGMA user_version=0");
	refused("older", REASON_WRONG_STATE, "nanopod-marketd migrate", "an older form");
	ok(store_sqlite_migrate("older", &from, &to, &f) == REASON_WRONG_STATE && from == -1,
		"from which no way leads: %s", f.text);
	write_market("fine", 10);
	ok(store_sqlite_migrate("fine", &from, &to, &f) == 0 && from == to && to == SQLITE_STORE_FORM,
		"migrate of a good one does nothing");
	is_int(store_sqlite_migrate("nothing", &from, &to, &f), REASON_NOT_FOUND, "migrate of none: %s", f.text);
	ok(!exists("nothing", ""), "makes none");
	tool_write("gone-wal", random, 4096, 0600);
	ok(store_sqlite_open("gone", &(struct store *){ NULL }, &f) == REASON_WRONG_STATE && !exists("gone", ""),
		"a log without its database: %s", f.text);
}

/* ---- Older forms -------------------------------------------------------------------------- */

/* A database as the first release made it: no consoles. */
static void test_migrate(void)
{
	static const struct log_line line = { .seq = 1, .at = 1, .data = "hello", .len = 5 };
	int from = -1, to = -1;
	struct store *s = NULL;
	struct make m;

	write_market("first", 10);
	put_number("first",
		"DROP INDEX posting_order; DROP TABLE log_line; DROP TABLE log_head; PRAGMA user_version=1");
	refused("first", REASON_WRONG_STATE, "nanopod-marketd migrate", "the first form");
	ok(store_sqlite_migrate("first", &from, &to, &f) == 0 && from == 1 && to == SQLITE_STORE_FORM,
		"is brought up: %d to %d", from, to);
	ok(!exists("first", "-wal"), "and is one file then");
	is_int(store_sqlite_open("first", &s, &f), 0, "it opens (%s)", f.text);
	if (!s)
		return;
	is_int(events_in(s), 10, "with all that was in it");
	is_int(s->calls->check(s, &f), 0, "which is good (%s)", f.text);
	is_int(s->calls->fence(s, &f), 0, "it can be written");
	make_begin(&m);
	while (m.seq < 10)
		make_next(&m);
	ok(make_append(&m, s, 5, &f) == 0 && s->calls->log_append(s, 7, &line, 1, &f) == 0 &&
			s->calls->commit(s, &f) == 0,
		"events and consoles");
	is_int(s->calls->check(s, &f), 0, "and is good (%s)", f.text);
	s->calls->close(s);
	make_end(&m);
	ok(store_sqlite_migrate("first", &from, &to, &f) == 0 && from == to, "there is nothing more to do");
}

/* ---- Torn -------------------------------------------------------------------------------- */

/* 1: all is there and good, 0: it was said what is wrong, -1: neither. */
static int judge(const char *path, long least, long most)
{
	struct store *s;
	long events;
	int rc = store_sqlite_open(path, &s, &f);

	if (rc)
		return strstr(f.text, path) && strstr(f.text, "nanopod-marketd ") ? 0 : -1;
	rc = s->calls->check(s, &f);
	if (rc) {
		s->calls->close(s);
		return strstr(f.text, path) && strstr(f.text, "nanopod-marketd restore") ? 0 : -1;
	}
	events = events_in(s);
	s->calls->close(s);
	return events >= least && events <= most ? 1 : -1;
}

/* Some pages of a good file are bent, or its end is missing: found, or without meaning. */
static void test_torn(void)
{
	struct buf good;
	int found = 0, harmless = 0, neither = 0;

	write_market("torn.db", EVENTS);
	good = content("torn.db");
	for (int i = 0; i < TORN; i++) {
		struct buf bent = content("torn.db");
		size_t len = bent.len, at = any(len);
		int verdict;

		if (i % 3 == 0)
			len = at;
		else
			for (size_t n = i % 3 == 1 ? 1 : any(8192); n && at < len; n--)
				bent.data[at++] ^= (char)(1 + any(255));
		remove_all("bent.db");
		tool_write("bent.db", bent.data, len, 0600);
		verdict = judge("bent.db", EVENTS, EVENTS);
		if (verdict < 0)
			diag("neither: %s", f.text);
		found += verdict == 0;
		harmless += verdict == 1;
		neither += verdict < 0;
		buf_release(&bent);
	}
	ok(neither == 0 && found > TORN / 2, "%d bent or cut copies: %d found and said, %d bent where nothing is", TORN,
		found, harmless);
	buf_release(&good);
}

/* As a crash leaves it: a database and its log. What is left of the log is a beginning of what was written. */
static void test_torn_log(void)
{
	struct store *s;
	struct make m;
	struct buf db, log;
	int good = 0, said = 0;

	make_begin(&m);
	if (store_sqlite_open("log.db", &s, &f) || s->calls->fence(s, &f))
		abort();
	for (int i = 0; i < 20; i++)
		if (make_append(&m, s, 10, &f) || s->calls->commit(s, &f))
			abort();
	db = content("log.db");
	log = content("log.db-wal");
	s->calls->close(s);
	for (int i = 0; i < 60; i++) {
		struct buf bent;
		size_t len = log.len, at = any(len);
		int verdict;

		buf_init(&bent, 1 << 26);
		buf_add(&bent, log.data, log.len);
		if (i % 2)
			len = at;
		else if (i)
			bent.data[at] ^= 0x55;
		remove_all("bent.db");
		tool_write("bent.db", db.data, db.len, 0600);
		tool_write("bent.db-wal", bent.data, len, 0600);
		verdict = judge("bent.db", i ? 0 : 200, 200);
		if (verdict < 0)
			diag("%d: %s", i, f.text);
		good += verdict == 1;
		said += verdict == 0;
		buf_release(&bent);
	}
	ok(good + said == 60 && good > 30,
		"a log that is cut or bent: %d times a beginning of the market, %d times refused", good, said);
	buf_release(&db);
	buf_release(&log);
	make_end(&m);
}

/* ---- Tampered with ----------------------------------------------------------------------- */

static const struct { const char *what, *sql, *part;
} tampering[] = {
	{ "an amount", "UPDATE posting SET amount = amount + 1 WHERE seq = 50 AND n = 0", "sum to zero" },
	{ "two amounts that sum to zero", "UPDATE posting SET amount = amount + 2 * n - 1 WHERE seq = 50 AND n < 2",
		"hash chain breaks at event 50" },
	{ "a balance", "UPDATE posting SET balance = balance + 1 WHERE seq = 50 AND n = 0",
		"hash chain breaks at event 50" },
	{ "a time", "UPDATE posting SET at = at + 1 WHERE seq = 50", "a posting belongs to no event: event 50" },
	{ "a transfer taken out", "DELETE FROM posting WHERE seq = 50", "hash chain breaks" },
	{ "the last transfer taken out", "DELETE FROM posting WHERE seq = 300", "are missing or changed" },
	{ "a whole ledger", "DELETE FROM posting WHERE account > 1", "sum to zero" },
	{ "all ledgers", "DELETE FROM posting", "has lost whole ledgers" },
	{ "a link of a chain", "UPDATE posting SET chain = zeroblob(32) WHERE seq = 60 AND n = 2",
		"hash chain breaks at event 60" },
	{ "an end of a chain", "UPDATE chain SET chain = zeroblob(32) WHERE account = 1", "account 1" },
	{ "an event in the middle", "DELETE FROM event WHERE seq = 100", "has no event 100" },
	{ "the last event", "DELETE FROM event WHERE seq = 300", "last event is 299" },
	{ "an event's bytes", "UPDATE event SET data = zeroblob(20) WHERE seq = 100", "event 100" },
	{ "an event's time", "UPDATE event SET at = at - 100 WHERE seq = 100", "event 100" },
	{ "an event from nowhere",
		"INSERT INTO event (seq, at, kind, data) SELECT 301, at - 50, kind, data FROM event WHERE seq = 300",
		"event 301" },
	{ "a snapshot's part", "UPDATE snapshot_part SET data = x'00' WHERE seq = 300", "snapshot at event 300" },
	{ "a snapshot's parts", "DELETE FROM snapshot_part WHERE seq = 300", "snapshot at event 300" },
	{ "an order", "DELETE FROM orders WHERE id = 1001", "a lease has no order: lease 1002" },
	{ "an order's fill", "UPDATE orders SET filled_minutes = filled_minutes - 1 WHERE id = 1001",
		"more minutes than it filled: order 1001" },
	{ "an order's status", "UPDATE orders SET status = 5 WHERE id = 1001", "contradict each other: order 1001" },
	{ "an order's hold", "UPDATE orders SET hold = 7 WHERE id = 1001", "holds money: order 1001" },
	{ "a lease's end", "UPDATE lease SET end_minute = start_minute WHERE id = 1002", "no minutes: lease 1002" },
	{ "a notice from nowhere", "UPDATE notice SET seq = 5000 WHERE seq = 20 AND n = 1", "event 5000" },
};

static void test_tampered(void)
{
	struct buf good;

	write_market("true.db", EVENTS);
	good = content("true.db");
	for (size_t i = 0; i < sizeof tampering / sizeof *tampering; i++) {
		struct store *s;
		int rc;

		remove_all("tampered.db");
		tool_write("tampered.db", good.data, good.len, 0600);
		put_number("tampered.db", tampering[i].sql);
		rc = store_sqlite_open("tampered.db", &s, &f);
		if (!rc) {
			rc = s->calls->check(s, &f);
			s->calls->close(s);
		}
		ok(rc == REASON_INTERNAL && strstr(f.text, tampering[i].part) && strstr(f.text, "restore"), "%s: %s",
			tampering[i].what, rc ? f.text : "not found");
	}
	remove_all("tampered.db");
	tool_write("tampered.db", good.data, good.len, 0600);
	is_int(judge("tampered.db", EVENTS, EVENTS), 1, "and what nobody touched is good");
	buf_release(&good);
}

/* ---- A disk that is full, or read-only --------------------------------------------------- */

static bool fill_disk(const char *name)
{
	static char block[4096];
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
	size_t size = sizeof block;

	while (fd >= 0 && size) {
		ssize_t n = write(fd, block, size);

		if (n <= 0)
			size /= 2;
	}
	return fd >= 0 && close(fd) == 0;
}

/* Commits until the disk takes no more. How many events are acknowledged. */
static uint64_t write_until_full(struct store *s, struct make *m, int *rc)
{
	uint64_t acked = m->seq;

	*rc = 0;
	for (int i = 0; i < 2000 && !*rc; i++) {
		*rc = make_append(m, s, 20, &f);
		if (!*rc)
			*rc = s->calls->commit(s, &f);
		if (*rc)
			s->calls->rollback(s);
		else
			acked = m->seq;
	}
	return acked;
}

static void resume(struct make *m, uint64_t seq)
{
	make_end(m);
	make_begin(m);
	while (m->seq < seq)
		make_next(m);
}

static void test_full(const char *path, const char *filler)
{
	struct store *s;
	struct make m;
	uint64_t acked;
	int rc;

	make_begin(&m);
	if (store_sqlite_open(path, &s, &f) || s->calls->fence(s, &f)) {
		ok(false, "%s", f.text);
		return;
	}
	ok(make_append(&m, s, 20, &f) == 0 && s->calls->commit(s, &f) == 0, "there is room for some");
	fill_disk(filler);
	acked = write_until_full(s, &m, &rc);
	ok(rc == REASON_UNAVAILABLE && strstr(f.text, "the disk is full"), "then there is none: %s", f.text);
	is_int(events_in(s), acked, "what was committed can be read");
	unlink(filler);
	is_int(s->calls->fence(s, &f), 0, "with room again the writer goes on");
	resume(&m, s->calls->last_seq(s));
	is_int(m.seq, acked, "from where it was");
	ok(make_append(&m, s, 20, &f) == 0 && s->calls->commit(s, &f) == 0, "commits");
	is_int(s->calls->check(s, &f), 0, "and is whole (%s)", f.text);
	fill_disk(filler);
	ok(s->calls->backup(s, "disk/copy.db", &f) == REASON_UNAVAILABLE && !exists("disk/copy.db", ""),
		"no copy fits: %s", f.text);
	s->calls->close(s);
	ok(store_sqlite_open("disk/new.db", &s, &f) == REASON_UNAVAILABLE && !exists("disk/new.db", ""),
		"nor a new one: %s", f.text);
	unlink(filler);
	is_int(judge(path, (long)m.seq, (long)m.seq), 1, "all is there after that");
	make_end(&m);
}

static void test_read_only(const char *path)
{
	struct store *s;

	if (mount(NULL, "disk", NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0) {
		skip("'disk' cannot be mounted read-only: %s", strerror(errno));
		return;
	}
	ok(store_sqlite_open(path, &s, &f) == REASON_UNAVAILABLE && strstr(f.text, path) && strstr(f.text, "read-only"),
		"a read-only disk: %s", f.text);
	ok(store_sqlite_open("disk/none.db", &s, &f) == REASON_UNAVAILABLE && strstr(f.text, "disk/none.db"),
		"nor a new one: %s", f.text);
}

/* Where no disk can be mounted: a ceiling on the size of files. */
static void test_ceiling(void)
{
	struct rlimit limit = { 300 * 1024, RLIM_INFINITY };
	struct store *s;
	struct make m;
	uint64_t acked;
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	make_begin(&m);
	if (store_sqlite_open("ceiling.db", &s, &f) || s->calls->fence(s, &f) || setrlimit(RLIMIT_FSIZE, &limit) != 0) {
		ok(false, "%s", f.text);
		return;
	}
	acked = write_until_full(s, &m, &rc);
	ok(rc == REASON_UNAVAILABLE && strstr(f.text, "ceiling.db"), "a file that may not grow: %s", f.text);
	is_int(events_in(s), acked, "what was committed can be read");
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	is_int(s->calls->fence(s, &f), 0, "when it may again, the writer goes on");
	resume(&m, s->calls->last_seq(s));
	ok(m.seq == acked && make_append(&m, s, 20, &f) == 0 && s->calls->commit(s, &f) == 0, "from where it was");
	is_int(s->calls->check(s, &f), 0, "and is whole (%s)", f.text);
	s->calls->close(s);
	make_end(&m);
}

int main(void)
{
	plan_none;
	if (!tool_begin())
		return 1;
	test_strangers();
	test_migrate();
	test_torn();
	test_torn_log();
	test_tampered();
	test_ceiling();
	tool_run("mkdir", "disk");
	/* In a mount namespace of this process alone; it goes with it. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			mount("nanopod", "disk", "tmpfs", 0, "size=2m") != 0) {
		skip("no disk can be mounted here: %s", strerror(errno));
	} else {
		test_full("disk/market.db", "disk/filler");
		test_read_only("disk/market.db");
		umount2("disk", MNT_DETACH);
	}
	tool_end();
	return done();
}
