/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kept.h"
#include "base/turned.h"

enum { SPOOL_WAITING = 16 << 20, SPOOL_AGAIN = 1 << 20 };

/* ---- Reading -------------------------------------------------------------------------------- */

/* The events from there on; *good: the end of the last whole line. 0 or -errno. */
static int spool_read(struct spool *s, int file, off_t from, off_t *good)
{
	int fd = dup(file), rc = 0;
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!in || fseeko(in, from, SEEK_SET) != 0)
		rc = -errno;
	*good = from;
	while (rc == 0 && (n = getline(&line, &room, in)) > 0 && line[n - 1] == '\n') {
		json_t *event = json_loadb(line, (size_t)n, 0, NULL);

		*good += n;
		rc = event ? s->counter.take(s->counter.arg, event) : 0; /* a line that a person broke hides no other */
		json_decref(event);
	}
	free(line);
	if (in && ferror(in) && rc == 0)
		rc = -EIO;
	if (in)
		fclose(in);
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* A file that was full. mark 0, or what its first line must be. -ESTALE: it is another, or shorter than that. */
static int spool_read_full(struct spool *s, uint64_t number, uint64_t mark, off_t from)
{
	char *path = turned_path(s->path, number);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1, rc = fd >= 0 ? 0 : path ? -errno : -ENOMEM;
	uint64_t is = 0;
	off_t end;

	rc = rc ? rc : turned_mark(fd, &is);
	if (!rc && mark && (mark != is || lseek(fd, 0, SEEK_END) < from))
		rc = -ESTALE;
	rc = rc ? rc : spool_read(s, fd, from, &end);
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* How far sums go: to this place of the file that had, or will have, this number. */
struct spool_place {
	uint64_t number, mark;
	off_t offset;
};

static char *spool_sums_path(const struct spool *s)
{
	char *path;

	return asprintf(&path, "%s.sums", s->path) < 0 ? NULL : path;
}

/* Sums that cannot be read are none: the events say the same, in more time. */
static json_t *spool_sums_read(const struct spool *s, struct spool_place *at)
{
	char *path = spool_sums_path(s);
	json_t *whole = path ? json_load_file(path, 0, NULL) : NULL, *sums = json_object_get(whole, "sums");
	const char *mark = json_string_value(json_object_get(whole, "mark"));

	free(path);
	at->number = (uint64_t)json_integer_value(json_object_get(whole, "number"));
	at->offset = json_integer_value(json_object_get(whole, "offset"));
	at->mark = mark ? strtoull(mark, NULL, 16) : 0;
	json_incref(sums);
	json_decref(whole);
	if (at->number && at->mark && at->offset > 0)
		return sums;
	json_decref(sums);
	return NULL;
}

/* What is behind that place, in this file and those with these numbers. -ESTALE: the place is not there any more. */
static int spool_read_behind(struct spool *s, const struct spool_place *at, const uint64_t *numbers, size_t count)
{
	uint64_t mark = 0;
	off_t from = 0;
	int rc = turned_mark(s->fd, &mark);

	s->number = count && numbers[count - 1] > at->number ? numbers[count - 1] + 1 : at->number + 1;
	if (!rc && at->mark && mark == at->mark) {
		s->number = at->number;
		from = at->offset;
		if (lseek(s->fd, 0, SEEK_END) < from)
			rc = -ESTALE;
	}
	for (size_t i = 0; !rc && i < count; i++)
		if (numbers[i] >= at->number && !(from && numbers[i] == at->number))
			rc = spool_read_full(s, numbers[i], numbers[i] == at->number ? at->mark : 0,
				numbers[i] == at->number ? at->offset : 0);
	return rc ? rc : spool_read(s, s->fd, from, &s->good);
}

/* A crash in the middle of spool_turn() left one file with two names. 0 or -errno. */
static int spool_finish_turn(const struct spool *s, const uint64_t *numbers, size_t *count)
{
	char *path = *count ? turned_path(s->path, numbers[*count - 1]) : NULL;
	struct stat a, b;
	int rc = 0;

	if (*count && !path)
		return -ENOMEM;
	if (path && stat(path, &a) == 0 && fstat(s->fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		rc = unlink(path) == 0 ? 0 : -errno;
		--*count;
	}
	free(path);
	return rc;
}

static int spool_read_all(struct spool *s)
{
	struct spool_place at = { 0 };
	json_t *sums = spool_sums_read(s, &at);
	uint64_t *numbers = NULL;
	size_t count = 0;
	int rc = turned_list(s->path, &numbers, &count);

	rc = rc ? rc : spool_finish_turn(s, numbers, &count);
	if (!sums)
		at = (struct spool_place){ 0 };
	rc = rc ? rc : s->counter.begin(s->counter.arg, sums);
	rc = rc ? rc : spool_read_behind(s, &at, numbers, count);
	if (rc == -ESTALE) {
		at = (struct spool_place){ 0 };
		rc = s->counter.begin(s->counter.arg, NULL);
		rc = rc ? rc : spool_read_behind(s, &at, numbers, count);
	}
	json_decref(sums);
	free(numbers);
	return rc;
}

/* ---- Opening and closing -------------------------------------------------------------------- */

int spool_open(struct spool *s, const char *path, const struct spool_counter *counter, off_t most, struct fail *f)
{
	int rc;

	*s = (struct spool){ .fd = -1, .lock = -1, .path = path, .counter = *counter, .most = most };
	buf_init(&s->lines, SPOOL_WAITING);
	rc = kept_lock(path, "another gateway writes", &s->lock, f);
	if (rc)
		return rc;
	s->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	rc = spool_read_all(s);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s'", path);
	if (ftruncate(s->fd, s->good) != 0 || fsync(s->fd) != 0 || file_sync_folder(path) != 0)
		return fail_errno(f, -EIO, errno, "cannot write '%s'", path);
	s->open = true;
	return 0;
}

/* All its events are on disk. 0 or -errno. */
static int spool_sums_write(const struct spool *s)
{
	json_t *sums = s->counter.sums(s->counter.arg), *whole;
	char *path = spool_sums_path(s), mark[20], *text;
	uint64_t first = 0;
	int rc = turned_mark(s->fd, &first);

	snprintf(mark, sizeof mark, "%016" PRIx64, first);
	whole = sums ? json_pack("{s:I, s:s, s:I, s:o}", "number", (json_int_t)s->number, "mark", mark, "offset",
			       (json_int_t)s->good, "sums", sums)
		     : NULL;
	text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
	if (!rc && (!text || !path))
		rc = -ENOMEM;
	rc = rc ? rc : file_replace(path, text, strlen(text), 0600);
	json_decref(whole);
	free(text);
	free(path);
	return rc;
}

void spool_close(struct spool *s)
{
	if (s->open && s->good && !s->sick && !s->lines.len)
		spool_sums_write(s); /* if this fails, the next start reads more */
	if (s->fd >= 0)
		close(s->fd);
	if (s->lock >= 0)
		close(s->lock);
	buf_release(&s->lines);
}

/* ---- Writing ---------------------------------------------------------------------------------- */

int spool_add(struct spool *s, const json_t *event)
{
	char *line = json_dumps(event, JSON_COMPACT);
	size_t len = s->lines.len;
	int rc = line ? buf_adds(&s->lines, line) : -ENOMEM;

	rc = rc ? rc : buf_addc(&s->lines, '\n');
	if (rc)
		buf_cut(&s->lines, len);
	free(line);
	return rc;
}

int spool_sync(struct spool *s, struct fail *f)
{
	int rc = 0;

	if (!s->lines.len)
		return 0;
	if (s->unnamed)
		rc = file_sync_folder(s->path);
	s->unnamed = rc != 0;
	if (!rc && s->sick && ftruncate(s->fd, s->good) != 0) /* what the last try left of a line */
		rc = -errno;
	rc = rc ? rc : file_write(s->fd, s->lines.data, s->lines.len);
	if (rc == 0 && fdatasync(s->fd) != 0)
		rc = -errno;
	s->sick = rc != 0;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", s->path);
	s->good += (off_t)s->lines.len;
	buf_clear(&s->lines);
	return 0;
}

/* The full file keeps its name until the new one takes it over: at no instant is there none. */
static int spool_begin(struct spool *s, const char *full, const char *begun)
{
	int fd = open(begun, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600), rc = fd < 0 ? -errno : 0;

	if (!rc && link(s->path, full) != 0)
		rc = -errno;
	else if (!rc && rename(begun, s->path) != 0) {
		rc = -errno;
		unlink(full);
	}
	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	close(s->fd);
	s->fd = fd;
	s->number++;
	s->good = s->again = 0;
	s->unnamed = true;
	return 0;
}

int spool_turn(struct spool *s, struct fail *f)
{
	char *full, *begun = NULL;
	int rc;

	if (s->sick || s->lines.len || s->good < s->most || s->good < s->again)
		return 0;
	full = turned_path(s->path, s->number);
	rc = !full || asprintf(&begun, "%s.new", s->path) < 0 ? -ENOMEM : spool_sums_write(s);
	rc = rc ? rc : spool_begin(s, full, begun);
	if (rc) {
		fail_errno(f, rc, -rc, "cannot begin a new file after '%s'", s->path);
		s->again = s->good + SPOOL_AGAIN;
	}
	free(full);
	free(begun);
	return rc;
}
