/* SPDX-License-Identifier: Apache-2.0 */
/* What agents' machines, GPUs and nodes measured: a folder with a ring file for each agent, beside the database. */
#ifndef MARKETD_SERIES_SERIES_H
#define MARKETD_SERIES_SERIES_H

#include "marketd/series/ring.h"

struct series;

/* Makes the folder where it is missing. 0 or -errno. */
int series_open(struct series **out, const char *folder, struct fail *f);
void series_close(struct series *s);

/* As ring_put, ring_read and ring_keys, of an agent. s may be NULL: nothing is kept. */
int series_put(struct series *s, uint64_t agent, int64_t time, const struct ring_key *keys, const double *values,
	size_t count, struct fail *f);
int series_read(struct series *s, uint64_t agent, const struct ring_key *keys, size_t count,
	const struct ring_span *span, double *mean, double *largest, struct fail *f);
int series_keys(struct series *s, uint64_t agent, struct ring_key **keys, size_t *count, struct fail *f);

/* Removes files to which nothing was written for longer than they remember. */
void series_sweep(struct series *s, int64_t now);

#endif
