/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consoles: the lines of nodes, and a row per node with the range of its lines. New lines go in at the
 * right end of a node's part of the tree; once a node has too many, the oldest leave at its left end.
 */
#include "marketd/store/sqlite.h"

#include "market/reason.h"

#define INT " INTEGER NOT NULL"
#define BYTES " BLOB NOT NULL"
#define CLUSTERED ") STRICT, WITHOUT ROWID"

enum { LOG_LEFT = LOG_KEEP - LOG_KEEP / 8 }; /* a console that is too long is cut to this at once */

const char *const sqlite_schema_logs[] = {
	"CREATE TABLE log_head (instance" INT ", first" INT ", next" INT ", bytes" INT
	", PRIMARY KEY (instance)" CLUSTERED,
	"CREATE TABLE log_line (instance" INT ", seq" INT ", at" INT ", data" BYTES
	", PRIMARY KEY (instance, seq)" CLUSTERED,
	NULL,
};

/* X(name, SQL) */
#define STATEMENTS(X) \
	X(HEAD, "SELECT instance, first, next, bytes FROM log_head WHERE instance = ?") \
	X(HEADS, "SELECT instance, first, next, bytes FROM log_head WHERE instance > ? ORDER BY instance LIMIT ?") \
	X(UP, \
		"SELECT seq, at, data FROM log_line WHERE instance = ? AND seq >= ? AND seq <= ? AND at >= ? AND at " \
		"<= ? " \
		"ORDER BY seq LIMIT ?") \
	X(DOWN, \
		"SELECT seq, at, data FROM log_line WHERE instance = ? AND seq >= ? AND seq <= ? AND at >= ? AND at " \
		"<= ? " \
		"ORDER BY seq DESC LIMIT ?") \
	X(OLDEST, "SELECT seq, LENGTH(data) FROM log_line WHERE instance = ? ORDER BY seq") \
	X(LINE_PUT, "INSERT INTO log_line (instance, seq, at, data) VALUES (?, ?, ?, ?)") \
	X(PUT, \
		"INSERT INTO log_head (instance, first, next, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (instance) DO " \
		"UPDATE SET " \
		"first = excluded.first, next = excluded.next, bytes = excluded.bytes") \
	X(CUT, "DELETE FROM log_line WHERE instance = ? AND seq < ?") \
	X(GONE, "DELETE FROM log_head WHERE instance = ?")

enum log_statement {
	LOG_FIRST = READ_LOGS - 1,
#define X(name, sql) LOG_##name,
	STATEMENTS(X)
#undef X
	LOG_STATEMENTS
};

_Static_assert((int)LOG_STATEMENTS <= (int)READ_COUNT, "their numbers end there");

static const char *const texts[] = {
#define X(name, sql) sql,
	STATEMENTS(X)
#undef X
};

static int sqllog_statement(struct sqlite_store *s, enum log_statement n, sqlite3_stmt **out, struct fail *f)
{
	return sqlite_statement(s, n, texts[n - READ_LOGS], out, f);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static void sqllog_read_head(sqlite3_stmt *st, struct log_head *h)
{
	*h = (struct log_head){ .instance = sqlite_id(st, 0), .first = sqlite_id(st, 1), .next = sqlite_id(st, 2),
		.bytes = sqlite3_column_int64(st, 3) };
}

int sqlite_log_end(struct store *base, uint64_t instance, struct log_head *out, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	sqlite3_stmt *st;
	int rc, got = sqllog_statement(s, LOG_HEAD, &st, f);

	if (got)
		return got;
	sqlite3_bind_int64(st, 1, (int64_t)instance);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		sqllog_read_head(st, out);
		got = 1;
	}
	return sqlite_ended(s, LOG_HEAD, st, rc, got, f);
}

int sqlite_log_heads(struct store *base, uint64_t after, size_t limit, store_log_head_fn fn, void *arg, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	sqlite3_stmt *st;
	int rc = SQLITE_DONE, got = sqllog_statement(s, LOG_HEADS, &st, f);

	if (got)
		return got;
	sqlite_numbers(st, (const int64_t[]){ (int64_t)after, limit ? (int64_t)limit : -1 }, 2);
	while (!got && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct log_head h;

		sqllog_read_head(st, &h);
		got = fn(arg, &h);
	}
	return sqlite_ended(s, LOG_HEADS, st, rc, got, f);
}

int sqlite_logs(struct store *base, uint64_t instance, const struct log_filter *w, store_log_fn fn, void *arg,
	struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	enum log_statement n = w->descending ? LOG_DOWN : LOG_UP;
	sqlite3_stmt *st;
	int rc = SQLITE_DONE, got = sqllog_statement(s, n, &st, f);

	if (got)
		return got;
	sqlite_numbers(st,
		(const int64_t[]){ (int64_t)instance, (int64_t)w->after, w->before ? (int64_t)w->before : INT64_MAX,
			w->after_at ? w->after_at : INT64_MIN, w->before_at ? w->before_at : INT64_MAX,
			w->limit ? (int64_t)w->limit : -1 },
		6);
	while (!got && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct log_line l = { .seq = sqlite_id(st, 0),
			.at = sqlite3_column_int64(st, 1),
			.data = sqlite3_column_blob(st, 2),
			.len = (size_t)sqlite3_column_bytes(st, 2) };

		if (!l.data)
			l.data = "";
		got = fn(arg, &l);
	}
	return sqlite_ended(s, n, st, rc, got, f);
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* A statement of the open transaction; a failure ends that. */
static int write_with(struct sqlite_store *s, enum log_statement n, const int64_t *numbers, int count,
	const struct log_line *line, struct fail *f)
{
	sqlite3_stmt *st;
	int rc;

	if (sqllog_statement(s, n, &st, &s->why)) {
		s->failed = true;
		s->why.code = REASON_UNAVAILABLE;
		return fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
	}
	sqlite_numbers(st, numbers, count);
	if (line)
		sqlite3_bind_blob64(st, count + 1, line->len ? line->data : "", line->len, SQLITE_STATIC);
	rc = sqlite3_step(st);
	sqlite_done(s, n, st);
	return rc == SQLITE_DONE ? 0 : sqlite_broken(s, rc, f, "write to");
}

/* Drops the oldest lines of a console that is too long. */
static int sqllog_cut(struct sqlite_store *s, struct log_head *h, struct fail *f)
{
	sqlite3_stmt *st;
	int rc = SQLITE_ROW;

	if (h->bytes <= LOG_KEEP)
		return 0;
	if (sqllog_statement(s, LOG_OLDEST, &st, &s->why)) {
		s->failed = true;
		return fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
	}
	sqlite3_bind_int64(st, 1, (int64_t)h->instance);
	while (h->bytes > LOG_LEFT && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		h->bytes -= LOG_LINE + sqlite3_column_int64(st, 1);
		h->first = sqlite_id(st, 0) + 1;
	}
	sqlite_done(s, LOG_OLDEST, st);
	if (rc != SQLITE_ROW)
		return sqlite_broken(s, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, f, "read");
	return write_with(s, LOG_CUT, (const int64_t[]){ (int64_t)h->instance, (int64_t)h->first }, 2, NULL, f);
}

int sqlite_put_log(struct sqlite_store *s, uint64_t instance, const struct log_line *lines, size_t count,
	struct fail *f)
{
	struct log_head h = { .instance = instance, .first = 1, .next = 1 };
	int rc = sqlite_log_end(&s->base, instance, &h, f);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		if (lines[i].seq != h.next + i)
			return fail_set(f, REASON_INVALID, "the next line of the console is %llu",
				(unsigned long long)h.next);
	rc = 0;
	for (size_t i = 0; i < count && !rc; i++) {
		rc = write_with(s, LOG_LINE_PUT,
			(const int64_t[]){ (int64_t)instance, (int64_t)lines[i].seq, lines[i].at }, 3, &lines[i], f);
		h.bytes += LOG_LINE + (int64_t)lines[i].len;
		h.next++;
	}
	if (!rc)
		rc = sqllog_cut(s, &h, f);
	return rc ? rc
		  : write_with(s, LOG_PUT,
			    (const int64_t[]){ (int64_t)instance, (int64_t)h.first, (int64_t)h.next, h.bytes }, 4, NULL,
			    f);
}

int sqlite_drop_log(struct sqlite_store *s, uint64_t instance, struct fail *f)
{
	int rc = write_with(s, LOG_CUT, (const int64_t[]){ (int64_t)instance, INT64_MAX }, 2, NULL, f);

	return rc ? rc : write_with(s, LOG_GONE, (const int64_t[]){ (int64_t)instance }, 1, NULL, f);
}
