/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite store on a disk that fails: each write and each sync in turn fails once, and at each in
 * turn the power goes, with any part of what was not synced lost. After each of them every event
 * that was committed must be there, in a database whose check is content.
 */
#include <sqlite3.h>

#include "market/reason.h"
#include "marketd/store/sqlite.h"

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "storemake.h"

/* ---- A disk in front of the disk --------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_WRITE, FAULT_FULL, FAULT_SHORT, FAULT_SYNC, FAULT_POWER, FAULT_KINDS };

static const char *const fault_names[FAULT_KINDS] = { "nothing", "a write fails", "the disk is full",
	"a write is short", "a sync fails", "the power goes" };

/* A write (or, data NULL, a cut to size `at`) that no sync has followed yet. */
struct pending { sqlite3_int64 at; int len; uint8_t *data; };

struct image {
	char path[600];
	uint8_t *durable;
	size_t size;
	struct pending *pending;
	size_t count, cap;
};

enum { IMAGES = 4, BATCHES = 9, BATCH = 7, SECTOR = 512 };

static struct {
	enum fault fault;
	long at;                   /* which operation it befalls */
	long done;                 /* operations so far */
	long fails;                /* how many from there on, but for FAULT_POWER */
	bool dark;                 /* the power is gone */
	bool hit;
	struct image images[IMAGES];
	int count;
} disk;

static uint64_t seed = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

struct shim { sqlite3_file base; struct image *image; sqlite3_file *real; };

static sqlite3_vfs *real_vfs, shim_vfs;

static struct image *image_of(const char *path)
{
	struct image *i;
	FILE *file;

	for (int n = 0; n < disk.count; n++)
		if (strcmp(disk.images[n].path, path) == 0)
			return &disk.images[n];
	if (disk.count == IMAGES)
		abort();
	i = &disk.images[disk.count++];
	*i = (struct image){ 0 };
	snprintf(i->path, sizeof i->path, "%s", path);
	file = fopen(path, "rb");
	if (file) {
		fseek(file, 0, SEEK_END);
		i->size = (size_t)ftell(file);
		rewind(file);
		i->durable = malloc(i->size + 1);
		if (!i->durable || fread(i->durable, 1, i->size, file) != i->size)
			abort();
		fclose(file);
	}
	return i;
}

static void image_apply(struct image *i, sqlite3_int64 at, const uint8_t *data, size_t len)
{
	size_t end = (size_t)at + len;

	if (end > i->size || !i->durable) {
		uint8_t *more = realloc(i->durable, end + 1);

		if (!more)
			abort();
		if (end > i->size)
			memset(more + i->size, 0, end - i->size);
		i->durable = more;
		i->size = end > i->size ? end : i->size;
	}
	memcpy(i->durable + at, data, len);
}

static void image_settle(struct image *i, const struct pending *p)
{
	if (p->data)
		image_apply(i, p->at, p->data, (size_t)p->len);
	else if ((size_t)p->at < i->size)
		i->size = (size_t)p->at;
}

static void image_sync(struct image *i)
{
	for (size_t n = 0; n < i->count; n++) {
		image_settle(i, &i->pending[n]);
		free(i->pending[n].data);
	}
	i->count = 0;
}

static void image_note(struct image *i, sqlite3_int64 at, const void *data, int len)
{
	struct pending *p;

	if (i->count == i->cap) {
		i->cap = i->cap ? 2 * i->cap : 256;
		i->pending = realloc(i->pending, i->cap * sizeof *i->pending);
		if (!i->pending)
			abort();
	}
	p = &i->pending[i->count++];
	*p = (struct pending){ .at = at, .len = len };
	if (data) {
		p->data = malloc((size_t)len + 1);
		if (!p->data)
			abort();
		memcpy(p->data, data, (size_t)len);
	}
}

/* Power comes back: of what was not synced each write is there, gone, or torn between sectors. */
static void image_wreck(struct image *i)
{
	FILE *file;

	for (size_t n = 0; n < i->count; n++) {
		struct pending *p = &i->pending[n];
		uint64_t fate = any(4);

		if (fate == 0 || !p->data)
			image_settle(i, p);
		else if (fate == 1)
			for (int at = 0; at < p->len; at += SECTOR)
				if (any(2))
					image_apply(i, p->at + at, p->data + at,
						(size_t)(p->len - at < SECTOR ? p->len - at : SECTOR));
	}
	file = fopen(i->path, "wb");
	if (!file || fwrite(i->durable, 1, i->size, file) != i->size || fclose(file) != 0)
		abort();
}

static void disk_clear(void)
{
	for (int n = 0; n < disk.count; n++) {
		struct image *i = &disk.images[n];

		for (size_t k = 0; k < i->count; k++)
			free(i->pending[k].data);
		free(i->pending);
		free(i->durable);
	}
	memset(&disk, 0, sizeof disk);
}

/* Counts an operation; what befalls it. */
static enum fault operation(bool sync)
{
	disk.done++;
	if (disk.dark)
		return FAULT_POWER;
	if (disk.fault == FAULT_NONE || disk.done < disk.at || (disk.hit && disk.fails <= 0) ||
		(disk.fault != FAULT_POWER && sync != (disk.fault == FAULT_SYNC)))
		return FAULT_NONE;
	disk.hit = true;
	disk.fails--;
	disk.dark = disk.fault == FAULT_POWER;
	return disk.fault;
}

#define REAL(file) (((struct shim *)(file))->real)

static int shim_close(sqlite3_file *file)
{
	return REAL(file)->pMethods ? REAL(file)->pMethods->xClose(REAL(file)) : SQLITE_OK;
}

static int shim_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
	return disk.dark ? SQLITE_IOERR_READ : REAL(file)->pMethods->xRead(REAL(file), to, len, at);
}

static int shim_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
	struct image *i = ((struct shim *)file)->image;

	switch (i ? operation(false) : FAULT_NONE) {
	case FAULT_WRITE:
	case FAULT_POWER:
		return SQLITE_IOERR_WRITE;
	case FAULT_FULL:
		return SQLITE_FULL;
	case FAULT_SHORT:
		REAL(file)->pMethods->xWrite(REAL(file), data, len / 2, at);
		image_note(i, at, data, len / 2);
		return SQLITE_FULL;
	default:
		if (i)
			image_note(i, at, data, len);
		return REAL(file)->pMethods->xWrite(REAL(file), data, len, at);
	}
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct image *i = ((struct shim *)file)->image;

	if (i && operation(false) != FAULT_NONE)
		return SQLITE_IOERR_TRUNCATE;
	if (i)
		image_note(i, size, NULL, 0);
	return REAL(file)->pMethods->xTruncate(REAL(file), size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
	struct image *i = ((struct shim *)file)->image;

	if (i && operation(true) != FAULT_NONE)
		return SQLITE_IOERR_FSYNC;
	if (i)
		image_sync(i);
	(void)flags;
	return SQLITE_OK;          /* durable is what the image says: the real disk need not spin */
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size) { return REAL(f)->pMethods->xFileSize(REAL(f), size); }
static int shim_lock(sqlite3_file *f, int kind) { return REAL(f)->pMethods->xLock(REAL(f), kind); }
static int shim_unlock(sqlite3_file *f, int kind) { return REAL(f)->pMethods->xUnlock(REAL(f), kind); }
static int shim_reserved(sqlite3_file *f, int *out) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out); }
static int shim_control(sqlite3_file *f, int op, void *arg)
{
	return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}
static int shim_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int shim_traits(sqlite3_file *f) { (void)f; return 0; }
static void shim_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int shim_unmap(sqlite3_file *f, int drop) { return REAL(f)->pMethods->xShmUnmap(REAL(f), drop); }

static int shim_map(sqlite3_file *f, int region, int size, int extend, void volatile **out)
{
	return REAL(f)->pMethods->xShmMap(REAL(f), region, size, extend, out);
}

static int shim_shmlock(sqlite3_file *f, int offset, int n, int flags)
{
	return REAL(f)->pMethods->xShmLock(REAL(f), offset, n, flags);
}

static const sqlite3_io_methods shim_methods = {
	.iVersion = 2,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_reserved,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_traits,
	.xShmMap = shim_map,
	.xShmLock = shim_shmlock,
	.xShmBarrier = shim_barrier,
	.xShmUnmap = shim_unmap,
};

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out)
{
	struct shim *s = (struct shim *)file;
	int rc;

	(void)vfs;
	*s = (struct shim){ .real = (sqlite3_file *)(s + 1) };
	rc = real_vfs->xOpen(real_vfs, name, s->real, flags, out);
	if (rc == SQLITE_OK && name && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		s->image = image_of(name);
	s->base.pMethods = rc == SQLITE_OK ? &shim_methods : NULL;
	return rc;
}

static void shim_register(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	shim_vfs = *real_vfs;
	shim_vfs.zName = "shim";
	shim_vfs.szOsFile = (int)sizeof(struct shim) + real_vfs->szOsFile;
	shim_vfs.xOpen = shim_open;
	sqlite3_vfs_register(&shim_vfs, 1);
}

/* ---- Writing on it ----------------------------------------------------------------------- */

static struct fail f;

static void copy_file(const char *from, const char *to)
{
	struct buf b;

	buf_init(&b, 1 << 24);
	if (buf_read_file(&b, from) || !tool_write(to, b.data, b.len, 0600))
		abort();
	buf_release(&b);
}

static void resume(struct make *m, uint64_t seq)
{
	make_end(m);
	make_begin(m);
	while (m->seq < seq)
		make_next(m);
}

/* One batch; *acked moves on only where the commit said so. 0, or what it said. */
static int batch(struct store *s, struct make *m, uint64_t *acked)
{
	int rc = make_append(m, s, BATCH, &f);

	if (!rc && m->seq % 3 == 0)
		rc = s->calls->snapshot(s, m->seq, "snapshot", 8, m->seq, &f);
	if (!rc)
		rc = s->calls->commit(s, &f);
	if (rc)
		s->calls->rollback(s);
	else
		*acked = m->seq;
	((struct sqlite_store *)s)->wal_next = 24; /* so that checkpoints are met too */
	return rc;
}

static int see_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct make *m = arg;

	make_next(m);
	return seq == m->seq && ev->account == m->ev.account && ev->u.order.start == m->ev.u.order.start ? 0 : 99;
}

/* Opened on a disk that works: all that was acknowledged is there, nothing is there that was not made, all is true. */
static bool is_whole(const char *path, uint64_t acked, uint64_t made, const char *what, long at)
{
	struct store *s;
	struct make m;
	bool good;

	if (store_sqlite_open(path, &s, &f)) {
		diag("%s at %ld: %s", what, at, f.text);
		return false;
	}
	make_begin(&m);
	good = s->calls->last_seq(s) >= acked && s->calls->last_seq(s) <= made &&
		s->calls->events(s, 0, see_event, &m, &f) == 0 && m.seq == s->calls->last_seq(s);
	if (!good)
		diag("%s at %ld: %d events of %d acknowledged, %d made", what, at, (int)s->calls->last_seq(s),
			(int)acked, (int)made);
	else if (s->calls->check(s, &f)) {
		diag("%s at %ld: %s", what, at, f.text);
		good = false;
	}
	make_end(&m);
	s->calls->close(s);
	return good;
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

/* All batches, over one fault that goes by. Returns how many operations there were; 0 where something was wrong. */
static long run_fault(const char *base, enum fault fault, long at, long fails)
{
	char path[500];
	struct store *s = NULL;
	struct make m;
	uint64_t acked = 0, made = 0;
	bool good = true;
	long operations;

	snprintf(path, sizeof path, "%s-work", base);
	remove_all(path);
	copy_file(base, path);
	disk_clear();
	make_begin(&m);
	if (store_sqlite_open(path, &s, &f) || s->calls->fence(s, &f))
		return 0;
	disk.done = 0;
	disk.fault = fault;
	disk.at = at;
	disk.fails = fails;
	for (int tries = 0; acked < BATCHES * BATCH && tries < 100 && good; tries++) {
		int rc = batch(s, &m, &acked);

		made = m.seq > made ? m.seq : made;
		if (!rc)
			continue;
		if (disk.dark)
			break;
		good = rc == REASON_UNAVAILABLE && f.text[0];
		s->calls->fence(s, &f);
		good = good && s->calls->last_seq(s) == acked;
		resume(&m, acked);
	}
	operations = disk.done;
	s->calls->close(s);
	if (disk.dark) {
		for (int n = 0; n < disk.count; n++)
			image_wreck(&disk.images[n]);
		snprintf(path, sizeof path, "%s-work-shm", base);
		unlink(path);
		snprintf(path, sizeof path, "%s-work", base);
	} else {
		good = good && acked == BATCHES * BATCH;
	}
	if (!good)
		diag("%s at %ld: %d events acknowledged; %s", fault_names[fault], at, (int)acked, f.text);
	disk_clear();
	good = is_whole(path, acked, made, fault_names[fault], at) && good;
	make_end(&m);
	return good ? operations : 0;
}

int main(void)
{
	char base[400];
	struct store *s;
	long all;

	plan_none;
	if (!tool_begin())
		return 1;
	shim_register();
	snprintf(base, sizeof base, "%s/market.db", tool_dir);
	if (store_sqlite_open(base, &s, &f)) {
		diag("%s", f.text);
		return 1;
	}
	s->calls->close(s);
	all = run_fault(base, FAULT_NONE, 0, 0);
	ok(all > 100, "without a fault: %ld writes and syncs", all);
	for (int fault = 1; fault < FAULT_KINDS; fault++) {
		long good = 0, step = fault == FAULT_POWER || fault == FAULT_SYNC ? 1 : 3, runs = 0;

		for (long at = 1; at <= all; at += step, runs++)
			good += run_fault(base, (enum fault)fault, at, fault == FAULT_FULL ? 5 : 1) > 0;
		is_int(good, runs, "%s, at %ld places: all that was acknowledged is there", fault_names[fault], runs);
	}
	disk_clear();
	tool_end();
	return done();
}
