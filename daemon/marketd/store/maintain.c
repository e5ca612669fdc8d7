/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/maintain.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/table.h"
#include "market/reason.h"
#include "marketd/store/market.h"

enum { STATUS_FAILURE = 1, STATUS_USAGE = 2, STATUS_CHECK = 11, DUMP_BYTES = 1 << 30 };

/* ---- The ledger's balances against the market's ------------------------------------------ */

/* Each book's last balance, by "owner book asset". */
struct balances {
	struct table of;
	uint64_t until; /* the event of the market's state: a running daemon may write more */
	struct fail *f;
};

static void balances_release(struct balances *b)
{
	const char *key;
	void *value;

	for (size_t at = 0; table_next(&b->of, &at, &key, &value);)
		free(value);
	table_release(&b->of);
}

static int balance_of_posting(void *arg, const struct posting_row *row)
{
	struct balances *b = arg;
	const struct posting *p = &row->posting;
	char key[96];
	int64_t *kept;

	if (row->seq > b->until)
		return 1;
	snprintf(key, sizeof key, "%" PRIu64 " %d %" PRIu64, p->owner, (int)p->book, p->asset);
	kept = table_get(&b->of, key);
	if (!kept) {
		kept = malloc(sizeof *kept);
		if (!kept || table_set(&b->of, key, kept)) {
			free(kept);
			return fail_set(b->f, REASON_UNAVAILABLE, "out of memory");
		}
	}
	*kept = p->balance;
	return 0;
}

static int read_balances(struct store *store, const struct engine *e, struct balances *b)
{
	int rc = store->calls->postings(store, 0, 0, 0, 0, balance_of_posting, b, b->f);

	/* (0, 0) itself is not in a page, and no event has number 0. */
	for (const struct account *a = engine_account_after(e, 0); a && rc >= 0; a = engine_account_after(e, a->id))
		rc = store->calls->postings(store, a->id, 0, 0, 0, balance_of_posting, b, b->f);
	return rc < 0 ? rc : 0;
}

/* A line "book OWNER BOOK ASSET BALANCE" of the market's text: the ledger must end with the same balance. */
static int compare_book(struct balances *b, char *line)
{
	char *last = strrchr(line, ' ');
	int64_t *kept, balance;

	if (!last || strncmp(line, "book ", 5) != 0)
		return 0;
	*last = '\0';
	balance = strtoll(last + 1, NULL, 10);
	kept = table_get(&b->of, line + 5);
	if (!kept || *kept != balance)
		return fail_set(b->f, REASON_INTERNAL,
			"book '%s' is %" PRId64 " in the market and %" PRId64 " in the ledger", line + 5, balance,
			kept ? *kept : 0);
	*kept = 0;
	return 0;
}

static int compare_balances(struct balances *b, const struct engine *e)
{
	struct buf text;
	const char *key;
	char *line, *next;
	void *value;
	int rc;

	buf_init(&text, DUMP_BYTES);
	rc = engine_dump(e, &text) ? fail_set(b->f, REASON_UNAVAILABLE, "out of memory") : 0;
	for (line = text.data; line && *line && !rc; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = compare_book(b, line);
	}
	buf_release(&text);
	for (size_t at = 0; !rc && table_next(&b->of, &at, &key, &value);)
		if (*(int64_t *)value)
			rc = fail_set(b->f, REASON_INTERNAL,
				"book '%s' is %" PRId64 " in the ledger and not in the market", key, *(int64_t *)value);
	return rc;
}

static int check_balances(struct store *store, const struct engine *e, struct fail *f)
{
	struct balances b = { .until = engine_count(e), .f = f };
	int rc;

	table_init(&b.of);
	rc = read_balances(store, e, &b);
	if (!rc)
		rc = compare_balances(&b, e);
	balances_release(&b);
	return rc;
}

/* ---- Check ------------------------------------------------------------------------------- */

static void maintain_say(const struct maintain *how, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void maintain_say(const struct maintain *how, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("nanopod-marketd: ", how->err);
	vfprintf(how->err, fmt, ap);
	fputc('\n', how->err);
	fflush(how->err);
	va_end(ap);
}

/* A snapshot that this program would not use is no fault, because the events are all there; it is reported. */
static int look_at_snapshot(const struct maintain *how, struct store *store, struct fail *f)
{
	struct engine *e = NULL;
	uint64_t seq = 0, hash = 0;
	struct fail why = { 0 };
	struct buf bytes;
	int rc;

	buf_init(&bytes, DUMP_BYTES);
	rc = store->calls->load_snapshot(store, &bytes, &seq, &hash, f);
	if (!rc && seq && engine_load(&e, bytes.data, bytes.len, &why))
		maintain_say(how, "the snapshot at event %" PRIu64 " is not used: %s", seq, why.text);
	else if (!rc && seq && (engine_hash(e) != hash || engine_count(e) != seq))
		maintain_say(how, "the snapshot at event %" PRIu64 " is not used: its state does not match its hash",
			seq);
	engine_free(e);
	buf_release(&bytes);
	return rc;
}

static int check_state(const struct maintain *how, struct store *store, struct fail *f)
{
	struct engine *whole = NULL, *quick = NULL;
	int rc = look_at_snapshot(how, store, f);

	if (!rc)
		rc = market_replay(store, false, 0, &whole, f);
	if (!rc)
		rc = market_replay(store, true, engine_count(whole), &quick, f);
	if (!rc && engine_count(quick) > engine_count(whole)) /* a snapshot a snapshot was made in between */
		rc = market_catch_up(store, whole, engine_count(quick), f);
	if (!rc && engine_hash(whole) != engine_hash(quick))
		rc = fail_set(f, REASON_INTERNAL,
			"the snapshot and the journal give different markets (%016" PRIx64 ", %016" PRIx64 ")",
			engine_hash(quick), engine_hash(whole));
	if (!rc) {
		maintain_say(how,
			"%" PRIu64 " events replayed from the first and from the snapshot: state %016" PRIx64
			" both times",
			engine_count(whole), engine_hash(whole));
		rc = engine_check(whole, f) ? REASON_INTERNAL : 0;
	}
	if (!rc) {
		maintain_say(how, "the market keeps its invariants");
		rc = check_balances(store, whole, f);
	}
	if (!rc)
		maintain_say(how, "every balance of the market matches the ledger");
	engine_free(whole);
	engine_free(quick);
	return rc;
}

/* Unlike the daemon, this does not create a missing database. */
static int open_there(const char *path, bool backup, struct store **out, struct fail *f)
{
	char log[PATH_MAX];
	struct stat st;

	snprintf(log, sizeof log, "%s-wal", path);
	if (!strstr(path, "://") && stat(path, &st) != 0 && errno == ENOENT && stat(log, &st) != 0)
		return fail_set(f, REASON_NOT_FOUND, "no database '%s'%s", path,
			backup ? "" : "; give the right --data");
	return store_open(path, out, f);
}

static int maintain_check_path(const struct maintain *how, const char *path, struct fail *f)
{
	struct store *store;
	int rc = open_there(path, path != how->data, &store, f);

	if (rc)
		return rc;
	maintain_say(how, "checking '%s'", path);
	rc = store->calls->check(store, f);
	if (!rc) {
		maintain_say(how, "the file, the journal, the ledger and its hash chains are whole");
		rc = check_state(how, store, f);
	}
	store->calls->close(store);
	return rc;
}

static int run_check(const struct maintain *how, struct fail *f)
{
	const char *path = how->path ? how->path : how->data;
	int rc = maintain_check_path(how, path, f);

	if (!rc)
		maintain_say(how, "'%s' is good", path);
	return rc;
}

/* ---- Backup and restore ------------------------------------------------------------------ */

static int copy_to(const struct maintain *how, const char *from, const char *to, struct fail *f)
{
	struct store *store;
	int rc = open_there(from, from != how->data, &store, f);

	if (rc)
		return rc;
	rc = store->calls->backup(store, to, f);
	store->calls->close(store);
	return rc;
}

static int need_path(const struct maintain *how, const char *verb, struct fail *f)
{
	if (!how->path || !*how->path)
		return fail_set(f, REASON_INVALID, "%s needs a file, e.g. 'nanopod-marketd %s FILE'", verb, verb);
	return 0;
}

static int run_backup(const struct maintain *how, struct fail *f)
{
	int rc = need_path(how, "backup", f);

	if (rc)
		return rc;
	maintain_say(how, "copying '%s' to '%s'", how->data, how->path);
	rc = copy_to(how, how->data, how->path, f);
	if (!rc)
		rc = maintain_check_path(how, how->path, f);
	if (!rc)
		maintain_say(how, "'%s' is a whole copy; 'nanopod-marketd restore %s' brings it back", how->path,
			how->path);
	return rc;
}

static int move_aside(const char *data, const char *suffix, struct fail *f)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof from, "%s%s", data, suffix);
	snprintf(to, sizeof to, "%s.before-restore%s", data, suffix);
	if (rename(from, to) != 0 && errno != ENOENT)
		return fail_errno(f, REASON_UNAVAILABLE, errno, "cannot rename '%s' to '%s'", from, to);
	return 0;
}

/* First takes the lease from a daemon that still writes, so that it gives no answer that the restore forgets. */
static int set_aside(const struct maintain *how, struct fail *f)
{
	struct store *store;
	struct stat st;
	int rc = 0;

	if (stat(how->data, &st) != 0 && errno == ENOENT)
		return move_aside(how->data, "-wal", f);
	if (store_open(how->data, &store, NULL) == 0) {
		rc = store->calls->fence(store, f);
		store->calls->close(store);
	}
	if (!rc)
		rc = move_aside(how->data, "", f);
	if (!rc)
		rc = move_aside(how->data, "-wal", f);
	if (!rc)
		rc = move_aside(how->data, "-shm", f);
	if (!rc)
		maintain_say(how, "the old database is now '%s.before-restore'", how->data);
	return rc;
}

/* As the daemon makes it: nobody else may look into it. */
static int maintain_make_folder(const char *database, struct fail *f)
{
	const char *end = strrchr(database, '/');
	char folder[PATH_MAX];

	if (!end || end == database)
		return 0;
	snprintf(folder, sizeof folder, "%.*s", (int)(end - database), database);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return fail_errno(f, REASON_UNAVAILABLE, errno, "cannot make the folder '%s'", folder);
	return 0;
}

static int run_restore(const struct maintain *how, struct fail *f)
{
	struct stat st;
	bool there = stat(how->data, &st) == 0;
	int rc = need_path(how, "restore", f);

	if (!rc && there && !how->force)
		rc = fail_set(f, REASON_WRONG_STATE,
			"'%s' exists; stop the nanopod-marketd that uses it, then 'nanopod-marketd restore "
			"--force %s' sets it aside",
			how->data, how->path);
	if (!rc && strlen(how->data) > PATH_MAX - 64)
		rc = fail_set(f, REASON_INVALID, "'%.60s…' is too long for a path", how->data);
	if (!rc)
		rc = maintain_check_path(how, how->path, f);
	if (!rc)
		rc = maintain_make_folder(how->data, f);
	if (!rc)
		rc = set_aside(how, f);
	if (!rc)
		rc = copy_to(how, how->path, how->data, f);
	if (!rc)
		maintain_say(how, "'%s' is restored from '%s'", how->data, how->path);
	return rc;
}

static int run_migrate(const struct maintain *how, struct fail *f)
{
	int from, to, rc = store_sqlite_migrate(how->data, &from, &to, f);

	if (!rc && from == to)
		maintain_say(how, "'%s' already has form %d", how->data, to);
	else if (!rc)
		maintain_say(how, "'%s' was migrated from form %d to form %d", how->data, from, to);
	return rc;
}

/* ---- Verbs ------------------------------------------------------------------------------- */

static const struct { const char *name; int (*run)(const struct maintain *how, struct fail *f); } verbs[] = {
	{ "check", run_check },
	{ "backup", run_backup },
	{ "restore", run_restore },
	{ "migrate", run_migrate },
};

int maintain_run(const char *verb, const struct maintain *how)
{
	struct fail f = { 0 };
	int rc = REASON_INVALID;

	fail_set(&f, rc, "unknown command '%s'; use check, backup, restore or migrate", verb);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, verb) == 0)
			rc = verbs[i].run(how, &f);
	if (!rc)
		return 0;
	maintain_say(how, "%s", f.text);
	if (rc == REASON_INTERNAL && !strstr(f.text, "nanopod-marketd restore"))
		maintain_say(how, "restore the newest good backup with 'nanopod-marketd restore --force BACKUP'");
	return rc == REASON_INTERNAL ? STATUS_CHECK : rc == REASON_INVALID ? STATUS_USAGE : reason_row(rc)->status ?
		reason_row(rc)->status : STATUS_FAILURE;
}
