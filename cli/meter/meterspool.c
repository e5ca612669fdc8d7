/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/meter/meterspool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/turned.h"
#include "cli/frame/command.h"
#include "cli/meter/meterway.h"

enum { SPOOL_CHUNK = 128 << 10, SPOOL_TAIL = 4096, SPOOL_TRIES = 100 };

/* The gateway turns its file while it is read: what has a number then stays as it is, and `last` is appended to. */
struct spool_files {
	const char *path;
	uint64_t *numbers; /* of those before the last, in ascending order */
	size_t count;
	int last;
};

/* One of them. */
struct spool_file {
	char *path;
	int fd;
	uint64_t mark;
};

int meter_spool_open(struct meter_spool *s, const char *path, struct fail *f)
{
	*s = (struct meter_spool){ .path = realpath(path, NULL) };
	buf_init(&s->text, 2 * SPOOL_CHUNK); /* lines, and what joins them */
	return s->path ? 0 : fail_errno(f, -errno, errno, "cannot read '%s'", path);
}

void meter_spool_close(struct meter_spool *s)
{
	doc_free(s->doc);
	buf_release(&s->text);
	free(s->path);
	*s = (struct meter_spool){ .path = NULL };
}

/* ---- Its files ---------------------------------------------------------------------------- */

static bool spool_same(int fd, const char *path)
{
	struct stat x, y;

	return fstat(fd, &x) == 0 && stat(path, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void spool_files_release(struct spool_files *x)
{
	if (x->last >= 0)
		close(x->last);
	free(x->numbers);
	*x = (struct spool_files){ .last = -1 };
}

static char *spool_files_path(const struct spool_files *x, size_t i)
{
	char *path = i < x->count ? turned_path(x->path, x->numbers[i]) : strdup(x->path);

	if (!path)
		command_nomem();
	return path;
}

/* Looks again where the gateway turned between two looks. In the middle of that, one file has two names. */
static int spool_files_open(const struct meter_spool *s, struct spool_files *x, struct fail *f)
{
	int rc = -EAGAIN;

	for (int i = 0; i < SPOOL_TRIES && rc == -EAGAIN; i++) {
		*x = (struct spool_files){ .path = s->path, .last = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY) };
		rc = x->last < 0 ? -errno : turned_list(s->path, &x->numbers, &x->count);
		rc = rc ? rc : spool_same(x->last, s->path) ? 0 : -EAGAIN;
		if (rc)
			spool_files_release(x);
	}
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s'", s->path);
	if (x->count) {
		char *path = spool_files_path(x, x->count - 1);

		x->count -= spool_same(x->last, path);
		free(path);
	}
	return 0;
}

static void spool_file_close(struct spool_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct spool_file){ .fd = -1 };
}

/* Opens the one of that index instead of the one that is open. */
static int spool_file_open(struct spool_file *file, const struct spool_files *x, size_t i, struct fail *f)
{
	int rc;

	spool_file_close(file);
	file->path = spool_files_path(x, i);
	file->fd = i < x->count ? open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				: fcntl(x->last, F_DUPFD_CLOEXEC, 0);
	rc = file->fd < 0 ? -errno : turned_mark(file->fd, &file->mark);
	return rc ? fail_errno(f, rc, -rc, "cannot read '%s'", file->path) : 0;
}

/* ---- A place --------------------------------------------------------------------------------- */

/* A hash of up to SPOOL_TAIL bytes before `at`. */
static int spool_tail(const struct spool_file *file, off_t at, uint64_t *out)
{
	char text[SPOOL_TAIL];
	size_t want = at < SPOOL_TAIL ? (size_t)at : SPOOL_TAIL;
	ssize_t n = pread(file->fd, text, want, at - (off_t)want);

	if (n != (ssize_t)want)
		return n < 0 ? -errno : -ENODATA;
	*out = hash_more(HASH_BEGIN, text, want);
	return 0;
}

/* Opens the file that goes on after that place. */
static int spool_find(const struct spool_files *x, const char *after, struct spool_file *file, size_t *which, off_t *at,
	struct fail *f)
{
	uint64_t mark, tail, now;
	int64_t offset;
	char end;
	size_t i = x->count;
	int rc;

	if (sscanf(after, "%" SCNx64 "-%" SCNd64 "-%" SCNx64 "%c", &mark, &offset, &tail, &end) != 3 || offset < 0)
		return fail_set(f, -EINVAL, "'%s' is no place in '%s'", after, x->path);
	while ((rc = spool_file_open(file, x, i, f)) == 0 && file->mark != mark && i)
		i--;
	if (rc)
		return rc;
	if (file->mark != mark)
		return fail_set(f, -EINVAL,
			"'%s' was replaced: the file that was read last is not there; put it back, or begin again with "
			"a new --state FILE",
			x->path);
	rc = spool_tail(file, offset, &now);
	if (rc && rc != -ENODATA)
		return fail_errno(f, rc, -rc, "cannot read '%s'", file->path);
	if (rc || now != tail)
		return fail_set(f, -EINVAL,
			"'%s' was cut or changed before byte %" PRId64 ", up to which it was read; put it back, or "
			"begin again with a new --state FILE",
			file->path, offset);
	*which = i;
	*at = offset;
	return 0;
}

/* ---- A page ------------------------------------------------------------------------------------ */

/* Whole lines from there on, on disk: what a crash could take back is not read. 0 or -errno. */
static int spool_read_lines(const struct spool_file *file, off_t at, char *chunk, size_t *len)
{
	ssize_t n;

	if (fdatasync(file->fd) != 0)
		return -errno;
	n = pread(file->fd, chunk, SPOOL_CHUNK, at);
	if (n < 0)
		return -errno;
	*len = (size_t)n;
	while (*len && chunk[*len - 1] != '\n')
		--*len;
	return n == SPOOL_CHUNK && !*len ? -EFBIG : 0;
}

static bool spool_is_event(const char *line, size_t len)
{
	struct model_usage u;
	struct doc *d = NULL;
	struct fail f;
	bool is = doc_parse(line, len, &d, &f) == 0 && len && wire_usage(d, WIRE_WHOLE, &u, &f) == 0 && u.model;

	doc_free(d);
	return is;
}

/* Up to `limit` of these lines as a document; *used: their bytes. */
static int spool_take(struct meter_spool *s, const struct spool_file *file, off_t at, const char *text, size_t len,
	size_t limit, size_t *used, struct fail *f)
{
	int rc;

	buf_clear(&s->text);
	rc = buf_adds(&s->text, "{\"data\":[");
	*used = 0;
	for (size_t i = 0; !rc && i < limit && *used < len; i++) {
		const char *line = text + *used, *end = memchr(line, '\n', len - *used);
		size_t n = (size_t)(end - line);

		if (!spool_is_event(line, n))
			return fail_set(f, -EPROTO,
				"the line at byte %" PRId64 " of '%s' is no event of a gateway; correct it, or remove "
				"it",
				(int64_t)at + (int64_t)*used, file->path);
		rc = i ? buf_addc(&s->text, ',') : 0;
		rc = rc ? rc : buf_add(&s->text, line, n);
		*used += n + 1;
	}
	rc = rc ? rc : buf_adds(&s->text, "]}");
	return rc ? fail_errno(f, rc, -rc, "cannot read '%s'", file->path) : 0;
}

static int spool_parse(struct meter_spool *s, struct model_usage **list, size_t *count, struct fail *f)
{
	int rc;

	doc_free(s->doc);
	s->doc = NULL;
	rc = doc_parse(buf_text(&s->text), s->text.len, &s->doc, f);
	return rc ? rc : meter_events(s->doc, list, count, f);
}

/* The next lines behind the place: in its file, or, where that has no more, in the next one that has some. */
static int spool_lines(const struct spool_files *x, const char *after, struct spool_file *file, off_t *at, char *chunk,
	size_t *len, struct fail *f)
{
	size_t i = 0;
	int rc = *after ? spool_find(x, after, file, &i, at, f) : spool_file_open(file, x, 0, f);

	while (!rc) {
		rc = spool_read_lines(file, *at, chunk, len);
		if (rc)
			return fail_errno(f, rc, -rc, "cannot read '%s'", file->path);
		if (*len || i == x->count)
			return 0;
		*at = 0;
		rc = spool_file_open(file, x, ++i, f);
	}
	return rc;
}

/* *used 0: there is nothing behind the place. */
static int spool_page(struct meter_spool *s, const struct spool_files *x, const char *after, size_t limit,
	struct spool_file *file, size_t *used, char cursor[METER_CURSOR], struct fail *f)
{
	char chunk[SPOOL_CHUNK];
	size_t len = 0;
	uint64_t tail = 0;
	off_t at = 0;
	int rc = spool_lines(x, after, file, &at, chunk, &len, f);

	rc = rc ? rc : spool_take(s, file, at, chunk, len, limit, used, f);
	if (rc || !*used)
		return rc;
	if (!file->mark) /* its first line came after it was opened */
		rc = turned_mark(file->fd, &file->mark);
	rc = rc ? rc : spool_tail(file, at + (off_t)*used, &tail);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s'", file->path);
	snprintf(cursor, METER_CURSOR, "%016" PRIx64 "-%" PRId64 "-%016" PRIx64, file->mark,
		(int64_t)at + (int64_t)*used, tail);
	return 0;
}

int meter_spool_page(struct meter_spool *s, const char *after, size_t limit, struct model_usage **list, size_t *count,
	char cursor[METER_CURSOR], bool *more, struct fail *f)
{
	struct spool_file file = { .fd = -1 };
	struct spool_files x;
	size_t used = 0;
	int rc = spool_files_open(s, &x, f);

	if (rc)
		return rc;
	snprintf(cursor, METER_CURSOR, "%s", after);
	rc = spool_page(s, &x, after, limit, &file, &used, cursor, f);
	rc = rc ? rc : spool_parse(s, list, count, f);
	*more = used > 0;
	spool_file_close(&file);
	spool_files_release(&x);
	return rc;
}
