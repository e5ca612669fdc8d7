/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one machine measured, in a file whose size depends on the number of its columns alone: a row every 10 seconds
 * for a day, and the mean and the largest of every 5 minutes for 90 days. New rows take the place of the oldest.
 * Nothing waits for the disk: a crash of the machine loses samples, and a file that cannot be read begins anew.
 */
#ifndef MARKETD_SERIES_RING_H
#define MARKETD_SERIES_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { RING_STEP = 10, RING_ROWS = 8640, RING_COARSE_STEP = 300, RING_COARSE_ROWS = 25920, RING_COLUMNS_MAX = 4096 };

/* What a column has. Each metric's meaning is its reader's; here it is a number. */
struct ring_key {
	uint64_t id;     /* of what is measured */
	uint32_t metric; /* not 0 */
	uint32_t index;  /* which of several parts */
};

/*
 * Writes what was measured at `time` (seconds). A key that is new makes a column; a second row of the same 10 seconds
 * replaces what it has a value for. A late row counts in the day, and in the 90 days if no later 5 minutes came
 * before. What is a day older than the newest is dropped; the newest must not lie ahead of time. 0 or -errno.
 */
int ring_put(const char *path, int64_t time, const struct ring_key *keys, const double *values, size_t count,
	struct fail *f);

struct ring_span {
	int64_t from; /* a multiple of step */
	int64_t step; /* a multiple of RING_STEP; from RING_COARSE_STEP on one of that */
	size_t count;
};

/*
 * Means and largest values of spans of `step` seconds, key by key (mean[k * span->count + i]); NAN where nothing is
 * known. Steps from RING_COARSE_STEP on are read from the 90 days, others from the day. 0 (also where there is no file
 * yet) or -errno.
 */
int ring_read(const char *path, const struct ring_key *keys, size_t count, const struct ring_span *span, double *mean,
	double *largest, struct fail *f);

/* What there are columns of; the caller frees it. 0 (also where there is no file yet) or -errno. */
int ring_keys(const char *path, struct ring_key **keys, size_t *count, struct fail *f);

#endif
