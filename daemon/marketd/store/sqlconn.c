/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to SQLite and its statements; turns its codes into sentences. */
#include "marketd/store/sqlite.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

enum { BUSY_MS = 2000 };

#define CHECK_COMMAND "'nanopod-marketd check' says what is wrong, 'nanopod-marketd restore BACKUP' restores a backup"

/* ---- Failures ---------------------------------------------------------------------------- */

int sqlite_fail(struct sqlite_store *s, int rc, struct fail *f, const char *what)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return fail_set(f, REASON_UNAVAILABLE,
			"cannot %s '%s': the disk is full; free some space (no answered request is lost)", what,
			s->path);
	case SQLITE_READONLY:
		return fail_set(f, REASON_UNAVAILABLE,
			"cannot %s '%s': it or its file system is read-only; make both writable for this user", what,
			s->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return fail_set(f, REASON_UNAVAILABLE,
			"cannot %s '%s': another process holds it; find it with 'fuser %s' and stop it", what, s->path,
			s->path);
	case SQLITE_CORRUPT:
		return fail_set(f, REASON_INTERNAL, "cannot %s '%s': it is damaged (%s); " CHECK_COMMAND, what, s->path,
			sqlite3_errmsg(s->db));
	case SQLITE_NOTADB:
		return fail_set(f, REASON_WRONG_STATE, "cannot %s '%s': it is not a database, or an encrypted one; "
			"give another --data or restore a backup with 'nanopod-marketd restore BACKUP'", what, s->path);
	case SQLITE_NOMEM:
		return fail_set(f, REASON_UNAVAILABLE, "cannot %s '%s': out of memory", what, s->path);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return fail_set(f, REASON_UNAVAILABLE,
			"cannot %s '%s': %s%s%s; look at the disk with 'dmesg' and 'df %s'", what, s->path,
			sqlite3_errstr(rc), sqlite3_system_errno(s->db) ? ": " : "",
			sqlite3_system_errno(s->db) ? strerror(sqlite3_system_errno(s->db)) : "", s->path);
	case SQLITE_CONSTRAINT:
		return fail_set(f, REASON_INTERNAL, "cannot %s '%s': %s; " CHECK_COMMAND, what, s->path,
			sqlite3_errmsg(s->db));
	default:
		return fail_set(f, REASON_INTERNAL, "cannot %s '%s': %s (%d)", what, s->path, sqlite3_errmsg(s->db),
			rc);
	}
}

int sqlite_broken(struct sqlite_store *s, int rc, struct fail *f, const char *what)
{
	sqlite_fail(s, rc, &s->why, what);
	s->why.code = REASON_UNAVAILABLE;
	s->failed = true;
	return fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
}

/* ---- Statements -------------------------------------------------------------------------- */

int sqlite_run(struct sqlite_store *s, const char *sql, struct fail *f)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sqlite_fail(s, rc, f, "use");
}

int sqlite_number(struct sqlite_store *s, const char *sql, int64_t *out, struct fail *f)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			*out = sqlite3_column_int64(st, 0);
		sqlite3_finalize(st);
	}
	return rc == SQLITE_ROW ? 0 : sqlite_fail(s, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, f, "read");
}

int sqlite_statement(struct sqlite_store *s, unsigned number, const char *sql, sqlite3_stmt **out, struct fail *f)
{
	sqlite3_stmt **kept = &s->statements[number], *st;
	int rc;

	assert(number < SQLITE_STORE_STATEMENTS);
	if (*kept && !sqlite3_stmt_busy(*kept)) {
		*out = *kept;
		return 0;
	}
	rc = sqlite3_prepare_v3(s->db, sql, -1, *kept ? 0 : SQLITE_PREPARE_PERSISTENT, &st, NULL);
	if (rc != SQLITE_OK)
		return sqlite_fail(s, rc, f, "use");
	if (!*kept)
		*kept = st;
	*out = st;
	return 0;
}

void sqlite_done(struct sqlite_store *s, unsigned number, sqlite3_stmt *st)
{
	if (st == s->statements[number])
		sqlite3_reset(st);
	else
		sqlite3_finalize(st);
}

void sqlite_numbers(sqlite3_stmt *st, const int64_t *v, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(st, 1 + i, v[i]);
}

int sqlite_ended(struct sqlite_store *s, unsigned number, sqlite3_stmt *st, int rc, int got, struct fail *f)
{
	if (!got && rc != SQLITE_DONE && rc != SQLITE_ROW)
		got = sqlite_fail(s, rc, f, "read");
	sqlite_done(s, number, st);
	return got;
}

uint64_t sqlite_id(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

int32_t sqlite_int(sqlite3_stmt *st, int column)
{
	return (int32_t)sqlite3_column_int64(st, column);
}

/* ---- Connecting -------------------------------------------------------------------------- */

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
	struct sqlite_store *s = arg;

	(void)db;
	(void)name;
	s->wal_frames = frames;
	return SQLITE_OK;
}

static int sqlconn_configure(struct sqlite_store *s, struct fail *f)
{
	static const char *const pragmas =
		"PRAGMA mmap_size=0; PRAGMA cache_size=-65536; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
		"PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF; PRAGMA journal_size_limit=67108864;";

	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* a reader leaves the file as it is */
	sqlite3_wal_autocheckpoint(s->db, 0);
	sqlite3_wal_hook(s->db, on_wal, s);
	return sqlite_run(s, pragmas, f);
}

int sqlite_connect(const char *path, struct sqlite_store *s, struct fail *f)
{
	char name[PATH_ROOM];
	/* A path, so that SQLite gives no name a special meaning (":memory:"). */
	int n = snprintf(name, sizeof name, "%s%s", path[0] == '/' ? "" : "./", path), rc;

	if (n < 0 || (size_t)n >= sizeof name - 16)
		return fail_set(f, REASON_INVALID, "the path '%.60s…' is too long; give another --data", path);
	s->path = strdup(path);
	if (!s->path)
		return fail_set(f, REASON_UNAVAILABLE, "out of memory");
	rc = sqlite3_open_v2(name, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc != SQLITE_OK)
		return sqlite_fail(s, rc, f, "open");
	return sqlconn_configure(s, f);
}

void sqlite_heads_release(struct heads *h)
{
	free(h->slots);
	free(h->dirty);
	*h = (struct heads){ 0 };
}

void sqlite_disconnect(struct sqlite_store *s)
{
	for (size_t i = 0; i < SQLITE_STORE_STATEMENTS; i++)
		sqlite3_finalize(s->statements[i]);
	sqlite3_close(s->db);
	sqlite_heads_release(&s->heads);
	buf_release(&s->bytes);
	free(s->spans);
	free(s->path);
	free(s);
}
