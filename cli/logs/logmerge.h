/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges lines of many logs in the order of their times. Lines of one source keep their order; a line waits a
 * moment for older ones of other sources that arrive later.
 */
#ifndef CLI_LOGS_LOGMERGE_H
#define CLI_LOGS_LOGMERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logline {
	int64_t us;          /* when it was written */
	int64_t came_ms;     /* clock_ms() when it arrived */
	uint64_t order;      /* order of arrival */
	size_t source;
	int priority; /* syslog's 0 … 7; -1: not known */
	size_t len;
	char *text;          /* without its newline */
};

struct logmerge;

enum { LOGMERGE_BYTES = 64 << 20 }; /* ceiling of held lines; beyond it the oldest leave early */

int logmerge_new(size_t sources, struct logmerge **out); /* 0 or -ENOMEM */
void logmerge_free(struct logmerge *m);

/* Adds a line. us 0: no time, so it takes that of the line before it in its source, else now. 0 or -ENOMEM. */
int logmerge_add(struct logmerge *m, size_t source, int64_t us, int64_t now_us, int64_t now_ms, int priority,
	const char *text, size_t len);

/* Takes the next line that arrived at or before this (clock_ms); INT64_MAX: any. The caller frees ->text. */
bool logmerge_next(struct logmerge *m, int64_t came_before, struct logline *out);

size_t logmerge_count(const struct logmerge *m);
void logmerge_counts(const struct logmerge *m, size_t *counts); /* per source; looks at all lines */
bool logmerge_overflowed(const struct logmerge *m);             /* lines left early: the order may be wrong */

#endif
