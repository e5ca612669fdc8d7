/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite store: one connection does all writing and checkpointing (before 3.51.3 two could lose
 * pages), each commit syncs the log, and a later writer raises the epoch row, so that an earlier
 * writer's commit fails.
 */
#include "marketd/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "market/reason.h"

enum {
	CHECKPOINT_FRAMES =
		2048, /* 8 MiB of log between checkpoints: more is cheaper, less is a shorter wait behind one */
	QUICK_BYTES = 32 << 20, /* a file up to this size is checked when it is opened: a tenth of a second */
};

/* ---- Making a new one -------------------------------------------------------------------- */

static struct sqlite_store *new_store(void)
{
	struct sqlite_store *s = calloc(1, sizeof *s);

	if (s)
		buf_init(&s->bytes, 4 << 20);
	return s;
}

static int fill_new(const char *path, struct fail *f)
{
	struct sqlite_store *s = new_store();
	char sql[160];
	int rc;

	if (!s)
		return fail_set(f, REASON_UNAVAILABLE, "out of memory");
	rc = sqlite_connect(path, s, f);
	snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d; PRAGMA journal_mode=DELETE; BEGIN",
		SQLITE_STORE_APPLICATION, SQLITE_STORE_FORM);
	if (!rc)
		rc = sqlite_run(s, sql, f);
	for (size_t i = 0; !rc && sqlite_schema[i]; i++)
		rc = sqlite_run(s, sqlite_schema[i], f);
	for (size_t i = 0; !rc && sqlite_schema_logs[i]; i++)
		rc = sqlite_run(s, sqlite_schema_logs[i], f);
	for (size_t i = 0; !rc && sqlite_schema_order[i]; i++)
		rc = sqlite_run(s, sqlite_schema_order[i], f);
	/* The last statement turns the log on; closing folds it in, so that one file remains. */
	if (!rc)
		rc = sqlite_run(s, "COMMIT; PRAGMA journal_mode=WAL;", f);
	if (!rc)
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	sqlite_disconnect(s);
	return rc;
}

/* Makes it under another name until it is whole, so that a crash leaves no half database. */
static int make_new(const char *path, struct fail *f)
{
	char name[PATH_ROOM];
	int n = snprintf(name, sizeof name, "%s.new-%ld", path, (long)getpid()), fd, rc;

	if (n < 0 || (size_t)n >= sizeof name - 16)
		return fail_set(f, REASON_INVALID, "'%.60s…' is too long for a path; give another --data", path);
	unlink(name);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(f,
			errno == ENOENT           ? REASON_NOT_FOUND
				: errno == EACCES ? REASON_FORBIDDEN
						  : REASON_UNAVAILABLE,
			errno, "cannot make '%s' (its folder must exist and be writable: 'mkdir -p', 'chown')", path);
	close(fd);
	rc = fill_new(name, f);
	if (!rc && link(name, path) != 0 && errno != EEXIST) /* EEXIST: somebody else was faster; theirs will do */
		rc = fail_errno(f, REASON_UNAVAILABLE, errno, "cannot make '%s'", path);
	unlink(name);
	if (!rc && (n = sqlite_folder_sync(path)) != 0)
		rc = fail_errno(f, REASON_UNAVAILABLE, -n, "cannot make '%s'", path);
	return rc;
}

/* ---- Transactions ------------------------------------------------------------------------ */

static int sqlite_lost(struct sqlite_store *s, struct fail *f)
{
	s->lost = true;
	return fail_set(f, REASON_WRONG_STATE,
		"another nanopod-marketd has taken over '%s'; this one can no longer write; stop it", s->path);
}

static int check_epoch(struct sqlite_store *s, struct fail *f)
{
	static const char sql[] = "SELECT value FROM meta WHERE name = 'epoch'";
	sqlite3_stmt *st;
	int64_t epoch = -1;
	int rc = sqlite_statement(s, SQLITE_STORE_STATEMENTS - 1, sql, &st, f);

	if (rc)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		epoch = sqlite3_column_int64(st, 0);
	sqlite_done(s, SQLITE_STORE_STATEMENTS - 1, st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(s, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, f, "read");
	return epoch == s->epoch ? 0 : sqlite_lost(s, f);
}

static void roll_back(struct sqlite_store *s)
{
	if (s->db && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	if (s->open || s->failed)
		sqlite_heads_release(&s->heads);
	s->open = s->failed = false;
	s->staged = s->seq;
}

/* Nothing was written. The failure may pass, whatever it is, unless another writer took over. */
static int sqlite_refused(struct sqlite_store *s, struct fail *f)
{
	int code = s->lost ? REASON_WRONG_STATE : REASON_UNAVAILABLE;

	roll_back(s);
	if (f)
		f->code = code;
	return code;
}

static int sqlite_begin(struct sqlite_store *s, struct fail *f)
{
	int rc;

	if (s->failed)
		return fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
	if (s->open)
		return 0;
	if (s->lost)
		return sqlite_lost(s, f);
	if (!s->epoch)
		return fail_set(f, REASON_UNAVAILABLE, "'%s' is open for reading only", s->path);
	rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return sqlite_broken(s, rc, f, "write to");
	s->open = true;
	/* From here on nobody can raise the epoch before this transaction ends. */
	return check_epoch(s, f) ? sqlite_refused(s, f) : 0;
}

static int sqlite_append(struct store *base, uint64_t seq, const struct event *ev, const struct effects *did,
	struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc = sqlite_begin(s, f);

	return rc ? rc : sqlite_put_event(s, seq, ev, did, f);
}

static int sqlite_keep_answer(struct store *base, const struct answer *a, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc = sqlite_begin(s, f);

	return rc ? rc : sqlite_put_answer(s, a, f);
}

static int sqlite_forget_answers(struct store *base, int64_t before, size_t max, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc = sqlite_begin(s, f);

	return rc ? rc : sqlite_drop_answers(s, before, max, f);
}

static int sqlite_log_append(struct store *base, uint64_t instance, const struct log_line *lines, size_t count,
	struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc = sqlite_begin(s, f);

	return rc ? rc : sqlite_put_log(s, instance, lines, count, f);
}

static int sqlite_log_drop(struct store *base, uint64_t instance, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc = sqlite_begin(s, f);

	return rc ? rc : sqlite_drop_log(s, instance, f);
}

static int sqlite_snapshot(struct store *base, uint64_t seq, const void *data, size_t len, uint64_t hash,
	struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc;

	if (len > SNAPSHOT_MAX)
		return fail_set(f, REASON_UNAVAILABLE, "a snapshot of %zu bytes is too large for '%s'", len, s->path);
	rc = sqlite_begin(s, f);
	return rc ? rc : sqlite_put_snapshot(s, seq, data, len, hash, f);
}

static void sqlite_checkpoint(struct sqlite_store *s)
{
	int left = 0, done = 0;

	/* If this fails, the log still has everything, and a later commit tries again. */
	if (sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_PASSIVE, &left, &done) == SQLITE_OK &&
		done == left)
		s->wal_next = CHECKPOINT_FRAMES;
	else
		s->wal_next = s->wal_frames + CHECKPOINT_FRAMES;
}

static int sqlite_commit(struct store *base, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int rc;

	if (s->failed) {
		fail_set(f, REASON_UNAVAILABLE, "%s", s->why.text);
		return sqlite_refused(s, f);
	}
	if (!s->open)
		return 0;
	if (sqlite_heads_flush(s, f))
		return sqlite_refused(s, f);
	rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		sqlite_fail(s, rc, f, "write to");
		return sqlite_refused(s, f);
	}
	s->open = false;
	s->seq = s->staged;
	if (s->wal_frames >= s->wal_next)
		sqlite_checkpoint(s);
	return 0;
}

static void sqlite_rollback(struct store *base)
{
	roll_back((struct sqlite_store *)base);
}

static uint64_t sqlite_last_seq(struct store *base)
{
	return ((struct sqlite_store *)base)->seq;
}

/* Reads what this store caches of the tables. */
static int sqlite_recall(struct sqlite_store *s, struct fail *f)
{
	int64_t seq = 0, order = 0;
	int rc = sqlite_number(s, "SELECT COALESCE(MAX(seq), 0) FROM event", &seq, f);

	if (!rc)
		rc = sqlite_number(s, "SELECT COALESCE(MAX(id), 0) FROM orders", &order, f);
	if (rc)
		return rc;
	s->seq = s->staged = (uint64_t)seq;
	s->order_max = (uint64_t)order;
	return 0;
}

/*
 * Renews a lease that this store holds. This write overwrites what a failed commit may have left in the
 * log past its valid end: once it is on disk, those rows can never come back.
 */
static int sqlite_fence(struct store *base, struct fail *f)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int64_t epoch = 0;
	int rc;

	roll_back(s);
	if (s->lost)
		return sqlite_lost(s, f);
	rc = sqlite_run(s, "BEGIN IMMEDIATE", f);
	if (rc)
		return sqlite_refused(s, f);
	s->open = true;
	rc = s->epoch ? check_epoch(s, f) : 0;
	if (!rc)
		rc = sqlite_run(s, "UPDATE meta SET value = value + 1 WHERE name = 'epoch'", f);
	if (!rc)
		rc = sqlite_number(s, "SELECT value FROM meta WHERE name = 'epoch'", &epoch, f);
	if (!rc)
		rc = sqlite_recall(s, f);
	if (!rc)
		rc = sqlite_run(s, "COMMIT", f);
	if (rc)
		return sqlite_refused(s, f);
	s->open = false;
	s->epoch = epoch;
	sqlite_heads_release(&s->heads);
	return 0;
}

static void sqlite_close(struct store *base)
{
	struct sqlite_store *s = (struct sqlite_store *)base;

	roll_back(s);
	if (s->epoch && !s->lost && sqlite_begin(s, NULL) == 0) { /* the lease is still ours: nobody else checkpoints */
		roll_back(s);
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	}
	sqlite_disconnect(s);
}

static const struct store_calls calls = {
	.name = "sqlite",
	.append = sqlite_append,
	.keep_answer = sqlite_keep_answer,
	.snapshot = sqlite_snapshot,
	.forget_answers = sqlite_forget_answers,
	.log_append = sqlite_log_append,
	.log_drop = sqlite_log_drop,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.last_seq = sqlite_last_seq,
	.load_snapshot = sqlite_load_snapshot,
	.events = sqlite_events,
	.find_answer = sqlite_find_answer,
	.orders = sqlite_orders,
	.leases = sqlite_leases,
	.postings = sqlite_postings,
	.notices = sqlite_notices,
	.log_end = sqlite_log_end,
	.logs = sqlite_logs,
	.log_heads = sqlite_log_heads,
	.check = sqlite_check,
	.backup = sqlite_backup,
	.fence = sqlite_fence,
	.close = sqlite_close,
};

static int check_form(const char *path, int form, struct fail *f)
{
	if (form > SQLITE_STORE_FORM)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' has form %d and this program knows form %d: a newer nanopod-marketd "
			"wrote it; install that one ('nanopod-marketd migrate' only goes up)",
			path, form, SQLITE_STORE_FORM);
	if (form < SQLITE_STORE_FORM)
		return fail_set(f, REASON_WRONG_STATE,
			"'%s' has form %d and this program needs form %d; migrate it with "
			"'nanopod-marketd migrate'",
			path, form, SQLITE_STORE_FORM);
	return 0;
}

int store_sqlite_open(const char *path, struct store **out, struct fail *f)
{
	struct sqlite_store *s;
	int form = 0, rc = sqlite_look(path, &form, f);

	if (rc == 1) {
		rc = make_new(path, f);
		if (!rc)
			rc = sqlite_look(path, &form, f);
	}
	if (!rc)
		rc = check_form(path, form, f);
	if (rc)
		return rc;
	s = new_store();
	if (!s)
		return fail_set(f, REASON_UNAVAILABLE, "out of memory");
	s->base.calls = &calls;
	s->wal_next = CHECKPOINT_FRAMES;
	rc = sqlite_connect(path, s, f);
	if (!rc && sqlite3_db_readonly(s->db, "main") == 1)
		rc = sqlite_fail(s, SQLITE_READONLY, f, "write to");
	if (!rc && sqlite_size(path, "") <= QUICK_BYTES)
		rc = sqlite_check_file(s, true, f);
	if (!rc)
		rc = sqlite_recall(s, f);
	if (rc) {
		sqlite_disconnect(s);
		return rc;
	}
	*out = &s->base;
	return 0;
}
