/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file: a head, RING_COLUMNS_MAX keys at most (a multiple of COLUMNS_ROOM, so that a new column seldom moves rows),
 * the rows of the day, the rows of the 90 days. A row begins with the number of its step, so an old one in its place is
 * known by that.
 */
#include "marketd/series/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "marketd/series/value16.h"

enum { COLUMNS_ROOM = 32 };

static const char ring_magic[8] = "npring1\n";

struct ring_head {
	char magic[8];
	uint32_t room, used; /* columns */
	int64_t open;        /* the newest 5 minutes that anything came from; earlier ones have their row */
};

struct ring {
	int fd;
	struct ring_head head;
	struct ring_key *keys;
};

/* ---- Where things lie ---- */

static size_t ring_row_size(const struct ring *r, bool coarse)
{
	return sizeof(uint32_t) + (size_t)r->head.room * sizeof(uint16_t) * (coarse ? 2 : 1);
}

static off_t ring_rows_at(const struct ring *r, bool coarse)
{
	off_t at = (off_t)(sizeof r->head + r->head.room * sizeof *r->keys);

	return coarse ? at + (off_t)(RING_ROWS * ring_row_size(r, false)) : at;
}

static off_t ring_row_at(const struct ring *r, bool coarse, int64_t step)
{
	return ring_rows_at(r, coarse) +
		(off_t)(step % (coarse ? RING_COARSE_ROWS : RING_ROWS)) * (off_t)ring_row_size(r, coarse);
}

/* All of it: what lies behind the end of a file that has not grown so far is 0. 0 or -errno. */
static int ring_pull(const struct ring *r, void *data, size_t len, off_t at)
{
	for (size_t have = 0; have < len;) {
		ssize_t n = pread(r->fd, (char *)data + have, len - have, at + (off_t)have);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0) {
			memset((char *)data + have, 0, len - have);
			break;
		}
		have += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int ring_push(const struct ring *r, const void *data, size_t len, off_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(r->fd, (const char *)data + done, len - done, at + (off_t)done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* ---- Opening ---- */

static void ring_close(struct ring *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->keys);
	*r = (struct ring){ .fd = -1 };
}

/* Whether it is a head of ours; its keys are read, too. 1: yes; 0: no; -errno. */
static int ring_load(struct ring *r)
{
	int rc = ring_pull(r, &r->head, sizeof r->head, 0);

	if (rc)
		return rc;
	if (memcmp(r->head.magic, ring_magic, sizeof ring_magic) != 0 || !r->head.room ||
		r->head.room > RING_COLUMNS_MAX || r->head.room % COLUMNS_ROOM || r->head.used > r->head.room ||
		r->head.open < 0)
		return 0;
	r->keys = calloc(r->head.room, sizeof *r->keys);
	if (!r->keys)
		return -ENOMEM;
	rc = ring_pull(r, r->keys, r->head.room * sizeof *r->keys, sizeof r->head);
	return rc ? rc : 1;
}

/* An empty one, for so many columns. */
static int ring_begin(struct ring *r, size_t columns)
{
	size_t room = (columns + COLUMNS_ROOM - 1) / COLUMNS_ROOM * COLUMNS_ROOM;

	free(r->keys);
	r->head = (struct ring_head){ .room = (uint32_t)room };
	memcpy(r->head.magic, ring_magic, sizeof ring_magic);
	r->keys = calloc(room, sizeof *r->keys);
	if (!r->keys)
		return -ENOMEM;
	return ftruncate(r->fd, 0) < 0 ? -errno : 0;
}

static int ring_save_head(const struct ring *r)
{
	int rc = ring_push(r, r->keys, r->head.room * sizeof *r->keys, sizeof r->head);

	return rc ? rc : ring_push(r, &r->head, sizeof r->head, 0);
}

static int64_t ring_coarse(int64_t step)
{
	return step * RING_STEP / RING_COARSE_STEP;
}

/* Whether the band reaches back to the step: after a silence there are older rows in it. */
static bool ring_reaches(const struct ring *r, bool coarse, int64_t step)
{
	return coarse ? step > r->head.open - RING_COARSE_ROWS
		      : ring_coarse(step) > r->head.open - ring_coarse(RING_ROWS);
}

/* A row of the step, or one where nothing is known if its place has another's. */
static int ring_row(const struct ring *r, bool coarse, int64_t step, uint32_t *row)
{
	size_t size = ring_row_size(r, coarse);
	int rc = ring_pull(r, row, size, ring_row_at(r, coarse, step));

	if (rc == 0 && (*row != (uint32_t)step || !ring_reaches(r, coarse, step))) {
		memset(row, 0xff, size); /* VALUE16_UNKNOWN, twice */
		*row = (uint32_t)step;
	}
	return rc;
}

static uint16_t *ring_values(uint32_t *row)
{
	return (uint16_t *)(row + 1);
}

/* ---- The 90 days ---- */

/* Mean and largest of the day's rows from which one of 5 minutes is made. */
static int ring_sum_up(const struct ring *r, int64_t coarse_step, uint32_t *from, uint32_t *to)
{
	enum { ROWS = RING_COARSE_STEP / RING_STEP };
	uint16_t *means = ring_values(to), *largest = means + r->head.room;
	double *sums = calloc(r->head.used, sizeof *sums);
	unsigned *counts = calloc(r->head.used, sizeof *counts);
	int rc = sums && counts ? 0 : -ENOMEM;

	memset(to, 0xff, ring_row_size(r, true));
	*to = (uint32_t)coarse_step;
	for (int64_t i = 0; i < ROWS && !rc; i++) {
		rc = ring_row(r, false, coarse_step * ROWS + i, from);
		for (size_t c = 0; c < r->head.used && !rc; c++) {
			uint16_t code = ring_values(from)[c];

			if (code == VALUE16_UNKNOWN)
				continue;
			sums[c] += value16_read(code);
			counts[c]++;
			if (largest[c] == VALUE16_UNKNOWN || code > largest[c]) /* codes are ordered as values are */
				largest[c] = code;
		}
	}
	for (size_t c = 0; c < r->head.used && !rc; c++)
		means[c] = counts[c] ? value16_of(sums[c] / counts[c]) : VALUE16_UNKNOWN;
	free(sums);
	free(counts);
	return rc;
}

/* Writes the 5 minutes that were open, if the step of 10 seconds is in later ones. */
static int ring_close_before(struct ring *r, int64_t step)
{
	int64_t open = ring_coarse(step);
	uint32_t *from, *to;
	int rc;

	if (open <= r->head.open)
		return 0;
	from = malloc(ring_row_size(r, false));
	to = malloc(ring_row_size(r, true));
	rc = from && to ? ring_sum_up(r, r->head.open, from, to) : -ENOMEM;
	rc = rc ? rc : ring_push(r, to, ring_row_size(r, true), ring_row_at(r, true, r->head.open));
	free(from);
	free(to);
	if (rc)
		return rc;
	r->head.open = open;
	return ring_push(r, &r->head, sizeof r->head, 0);
}

/* ---- Columns ---- */

static bool ring_same(const struct ring_key *a, const struct ring_key *b)
{
	return a->id == b->id && a->metric == b->metric && a->index == b->index;
}

/* Who writes gives keys in the same order each time, so the search begins where the last one ended. */
static uint32_t ring_find(const struct ring *r, const struct ring_key *key, uint32_t begin)
{
	for (uint32_t i = 0; i < r->head.used; i++) {
		uint32_t at = (begin + i) % r->head.used;

		if (ring_same(&r->keys[at], key))
			return at;
	}
	return UINT32_MAX;
}

/* Marks the columns that know something in rows of the band which are not older than the newest step allows. */
static int ring_mark(const struct ring *r, bool coarse, int64_t newest, bool *known)
{
	int64_t rows = coarse ? RING_COARSE_ROWS : RING_ROWS;
	uint32_t *row = malloc(ring_row_size(r, coarse));
	int rc = row ? 0 : -ENOMEM;

	for (int64_t i = newest - rows + 1; i <= newest && !rc; i++) {
		rc = i < 0 ? 0 : ring_row(r, coarse, i, row);
		for (size_t c = 0; i >= 0 && c < r->head.used && !rc; c++)
			known[c] |= ring_values(row)[c] != VALUE16_UNKNOWN;
	}
	free(row);
	return rc;
}

/* Copies a band's rows; column c of `to` is from[c] of r. */
static int ring_move(const struct ring *r, const struct ring *to, bool coarse, int64_t newest, const uint32_t *from)
{
	int64_t rows = coarse ? RING_COARSE_ROWS : RING_ROWS;
	uint32_t *a = malloc(ring_row_size(r, coarse)), *b = malloc(ring_row_size(to, coarse));
	int rc = a && b ? 0 : -ENOMEM;

	for (int64_t i = newest < rows ? 0 : newest - rows + 1; i <= newest && !rc; i++) {
		bool something = false;

		rc = ring_row(r, coarse, i, a);
		memset(b, 0xff, rc ? 0 : ring_row_size(to, coarse));
		for (size_t c = 0; c < to->head.used && !rc; c++) {
			ring_values(b)[c] = ring_values(a)[from[c]];
			if (coarse)
				ring_values(b)[to->head.room + c] = ring_values(a)[r->head.room + from[c]];
			something |= ring_values(b)[c] != VALUE16_UNKNOWN;
		}
		if (rc || !something)
			continue;
		*b = (uint32_t)i;
		rc = ring_push(to, b, ring_row_size(to, coarse), ring_row_at(to, coarse, i));
	}
	free(a);
	free(b);
	return rc;
}

/* Keeps the columns that know something, in their order. */
static int ring_keep_columns(const struct ring *r, struct ring *to, int64_t newest, uint32_t *from)
{
	bool *known = calloc(r->head.room, sizeof *known);
	int rc = known ? ring_mark(r, false, newest, known) : -ENOMEM;

	rc = rc ? rc : ring_mark(r, true, ring_coarse(newest), known);
	for (uint32_t c = 0; c < r->head.used && !rc; c++)
		if (known[c]) {
			from[to->head.used] = c;
			to->keys[to->head.used++] = r->keys[c];
		}
	free(known);
	return rc;
}

/* Makes room for `more` columns: another file with the columns that know something takes this one's place. */
static int ring_grow(struct ring *r, const char *path, size_t more, int64_t newest)
{
	struct ring to = { .fd = -1 };
	size_t columns = r->head.used + more;
	uint32_t *from = calloc(r->head.room, sizeof *from);
	char *name = NULL;
	int rc = from ? 0 : -ENOMEM;

	if (!rc && asprintf(&name, "%s.new", path) < 0)
		rc = -ENOMEM;
	if (!rc) {
		to.fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		rc = to.fd < 0 ? -errno : ring_begin(&to, columns < RING_COLUMNS_MAX ? columns : RING_COLUMNS_MAX);
	}
	rc = rc ? rc : ring_keep_columns(r, &to, newest, from);
	to.head.open = r->head.open;
	rc = rc ? rc : ring_move(r, &to, false, newest, from);
	rc = rc ? rc : ring_move(r, &to, true, ring_coarse(newest), from);
	rc = rc ? rc : ring_save_head(&to);
	if (!rc && rename(name, path) < 0)
		rc = -errno;
	if (rc) {
		if (to.fd >= 0)
			unlink(name);
		ring_close(&to);
	} else {
		ring_close(r);
		*r = to;
	}
	free(from);
	free(name);
	return rc;
}

/* The column of each key in at[], UINT32_MAX: none. Returns how many have none. */
static size_t ring_find_all(const struct ring *r, const struct ring_key *keys, size_t count, uint32_t *at)
{
	size_t missing = 0;

	for (size_t i = 0; i < count; i++) {
		at[i] = ring_find(r, &keys[i], i ? at[i - 1] + 1 : 0);
		missing += at[i] == UINT32_MAX;
	}
	return missing;
}

/* The column of each key in at[]; makes those that are missing. */
static int ring_columns(struct ring *r, const char *path, const struct ring_key *keys, size_t count, int64_t step,
	uint32_t *at)
{
	size_t missing = ring_find_all(r, keys, count, at);

	if (!missing)
		return 0;
	if (r->head.used + missing > r->head.room) {
		int rc = ring_grow(r, path, missing, step);

		if (rc)
			return rc;
		missing = ring_find_all(r, keys, count, at);
	}
	if (r->head.used + missing > r->head.room)
		return -ENOSPC;
	for (size_t i = 0; i < count; i++)
		if (at[i] == UINT32_MAX && (at[i] = ring_find(r, &keys[i], 0)) == UINT32_MAX) {
			at[i] = r->head.used;
			r->keys[r->head.used++] = keys[i];
		}
	return ring_save_head(r);
}

/* ---- Writing and reading ---- */

static int ring_open(struct ring *r, const char *path, int flags, size_t columns, int64_t step)
{
	int rc;

	r->fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->fd < 0)
		return -errno;
	rc = ring_load(r);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!(flags & O_CREAT))
		return -ENOENT;
	rc = ring_begin(r, columns);
	r->head.open = ring_coarse(step);
	return rc;
}

int ring_put(const char *path, int64_t time, const struct ring_key *keys, const double *values, size_t count,
	struct fail *f)
{
	struct ring r = { .fd = -1 };
	uint32_t *at = calloc(count ? count : 1, sizeof *at), *row = NULL;
	int64_t step = time / RING_STEP;
	int rc = !at ? -ENOMEM : time < 0 || count > RING_COLUMNS_MAX ? -EINVAL : 0;

	rc = rc ? rc : ring_open(&r, path, O_RDWR | O_CREAT, count ? count : 1, step);
	if (!rc && !ring_reaches(&r, false, step)) { /* its place has a newer one */
		ring_close(&r);
		free(at);
		return 0;
	}
	rc = rc ? rc : ring_columns(&r, path, keys, count, step, at);
	rc = rc ? rc : ring_close_before(&r, step);
	row = rc ? NULL : malloc(ring_row_size(&r, false));
	if (!rc)
		rc = row ? ring_row(&r, false, step, row) : -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++)
		if (!isnan(values[i]))
			ring_values(row)[at[i]] = value16_of(values[i]);
	rc = rc ? rc : ring_push(&r, row, ring_row_size(&r, false), ring_row_at(&r, false, step));
	ring_close(&r);
	free(row);
	free(at);
	return rc ? fail_errno(f, rc, -rc, "cannot write samples to '%s'", path) : 0;
}

struct ring_sum {
	double sum, largest;
	unsigned count;
};

/* Rows as they are read: many at a time. */
struct ring_reader {
	const struct ring *r;
	bool coarse;
	int64_t most;         /* no more rows are read at once */
	int64_t first, count; /* places of the band that are in rows */
	char *rows;
};

enum { READ_BYTES = 256 * 1024 };

/* The values of a step; NULL: nothing is known. *rc: -errno. */
static const uint16_t *ring_seek(struct ring_reader *b, int64_t step, int *rc)
{
	size_t size = ring_row_size(b->r, b->coarse);
	int64_t band = b->coarse ? RING_COARSE_ROWS : RING_ROWS, most = READ_BYTES / (int64_t)size + 1;
	int64_t place = step % band;
	uint32_t *row;

	most = b->most < most ? b->most : most;
	if (!ring_reaches(b->r, b->coarse, step))
		return NULL;
	if (place < b->first || place >= b->first + b->count) {
		b->first = place;
		b->count = band - place < most ? band - place : most;
		*rc = ring_pull(b->r, b->rows, (size_t)b->count * size,
			ring_rows_at(b->r, b->coarse) + (off_t)(place * (int64_t)size));
		if (*rc) {
			b->count = 0;
			return NULL;
		}
	}
	row = (uint32_t *)(void *)(b->rows + (place - b->first) * (int64_t)size);
	return *row == (uint32_t)step ? ring_values(row) : NULL;
}

static void ring_sum_add(struct ring_sum *s, double mean, double most)
{
	if (isnan(mean))
		return;
	s->sum += mean;
	if (!s->count++ || most > s->largest)
		s->largest = most;
}

/* Adds what rows [from, from + rows) of the band know of each column. */
static int ring_add_rows(struct ring_reader *b, int64_t from, int64_t rows, const uint32_t *columns, size_t count,
	struct ring_sum *sums)
{
	size_t more = b->coarse ? b->r->head.room : 0;
	int rc = 0;

	for (int64_t i = from; i < from + rows && !rc; i++) {
		const uint16_t *values = ring_seek(b, i, &rc);

		for (size_t c = 0; values && c < count; c++)
			if (columns[c] != UINT32_MAX)
				ring_sum_add(&sums[c], value16_read(values[columns[c]]),
					value16_read(values[columns[c] + more]));
	}
	return rc;
}

/* As a row of the 90 days would be, of the 5 minutes that have none yet. */
static int ring_add_open(struct ring_reader *day, const uint32_t *columns, size_t count, struct ring_sum *sums,
	struct ring_sum *room)
{
	enum { ROWS = RING_COARSE_STEP / RING_STEP };
	int rc;

	memset(room, 0, count * sizeof *room);
	rc = ring_add_rows(day, day->r->head.open * ROWS, ROWS, columns, count, room);
	for (size_t c = 0; c < count && !rc; c++)
		if (room[c].count)
			ring_sum_add(&sums[c], room[c].sum / room[c].count, room[c].largest);
	return rc;
}

static int ring_read_spans(struct ring_reader *day, struct ring_reader *coarse, const struct ring_span *span,
	const uint32_t *columns, size_t count, struct ring_sum *sums, double *mean, double *largest)
{
	bool far = span->step >= RING_COARSE_STEP;
	int64_t unit = far ? RING_COARSE_STEP : RING_STEP, rows = span->step / unit;
	int rc = 0;

	for (size_t i = 0; i < span->count && !rc; i++) {
		int64_t from = span->from / unit + (int64_t)i * rows, open = day->r->head.open;

		memset(sums, 0, count * sizeof *sums);
		rc = ring_add_rows(far ? coarse : day, from, rows, columns, count, sums);
		if (far && !rc && open >= from && open < from + rows)
			rc = ring_add_open(day, columns, count, sums, sums + count);
		for (size_t c = 0; c < count && !rc; c++)
			if (sums[c].count) {
				mean[c * span->count + i] = sums[c].sum / sums[c].count;
				largest[c * span->count + i] = sums[c].largest;
			}
	}
	return rc;
}

static int ring_read_open(const struct ring *r, const struct ring_key *keys, size_t count, const struct ring_span *span,
	double *mean, double *largest)
{
	bool far = span->step >= RING_COARSE_STEP;
	int64_t rows = (int64_t)span->count * (span->step / (far ? RING_COARSE_STEP : RING_STEP));
	struct ring_reader day = { .r = r, .most = far ? RING_COARSE_STEP / RING_STEP : rows };
	struct ring_reader coarse = { .r = r, .coarse = true, .most = rows };
	uint32_t *columns = calloc(count, sizeof *columns);
	struct ring_sum *sums = calloc(2 * count, sizeof *sums);
	int rc;

	day.rows = malloc(READ_BYTES + ring_row_size(r, false));
	coarse.rows = malloc(READ_BYTES + ring_row_size(r, true));
	rc = columns && sums && day.rows && coarse.rows ? 0 : -ENOMEM;
	if (!rc && ring_find_all(r, keys, count, columns) < count)
		rc = ring_read_spans(&day, &coarse, span, columns, count, sums, mean, largest);
	free(columns);
	free(sums);
	free(day.rows);
	free(coarse.rows);
	return rc;
}

int ring_read(const char *path, const struct ring_key *keys, size_t count, const struct ring_span *span, double *mean,
	double *largest, struct fail *f)
{
	struct ring r = { .fd = -1 };
	int64_t unit = span->step < RING_COARSE_STEP ? RING_STEP : RING_COARSE_STEP;
	int rc;

	for (size_t i = 0; i < span->count * count; i++)
		mean[i] = largest[i] = NAN;
	if (span->from < 0 || span->step <= 0 || span->from % unit || span->step % unit)
		return fail_set(f, -EINVAL, "samples have steps of %d s, and of %d s and more", RING_STEP,
			RING_COARSE_STEP);
	rc = ring_open(&r, path, O_RDONLY, 0, 0);
	if (!rc && r.head.used && count)
		rc = ring_read_open(&r, keys, count, span, mean, largest);
	ring_close(&r);
	return rc && rc != -ENOENT ? fail_errno(f, rc, -rc, "cannot read samples from '%s'", path) : 0;
}

int ring_keys(const char *path, struct ring_key **keys, size_t *count, struct fail *f)
{
	struct ring r = { .fd = -1 };
	int rc = ring_open(&r, path, O_RDONLY, 0, 0);

	*keys = NULL;
	*count = 0;
	if (!rc) {
		*keys = r.keys;
		*count = r.head.used;
		r.keys = NULL;
	}
	ring_close(&r);
	return rc && rc != -ENOENT ? fail_errno(f, rc, -rc, "cannot read samples from '%s'", path) : 0;
}
