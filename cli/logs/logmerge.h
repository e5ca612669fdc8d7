/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of many logs in the order of their times. Of one source they never change places; a line
 * waits a moment for those of other sources that are older but came later.
 */
#ifndef CLI_LOGS_LOGMERGE_H
#define CLI_LOGS_LOGMERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logline {
	int64_t us;          /* when it was written */
	int64_t came_ms;     /* clock_ms() when it came here */
	uint64_t order;      /* of coming */
	size_t source;
	int priority;        /* syslog's 0 … 7; -1: not told */
	size_t len;
	char *text;          /* without its newline */
};

struct logmerge;

enum { LOGMERGE_BYTES = 64 << 20 }; /* held at most; beyond it the oldest leave early */

int logmerge_new(size_t sources, struct logmerge **out); /* 0 or -ENOMEM */
void logmerge_free(struct logmerge *m);

/* us 0: not told, it is as old as the one before it in its source, else as now. 0 or -ENOMEM. */
int logmerge_add(struct logmerge *m, size_t source, int64_t us, int64_t now_us, int64_t now_ms, int priority,
	const char *text, size_t len);

/* The next one that came at or before this (clock_ms); INT64_MAX: any. The caller frees ->text. */
bool logmerge_next(struct logmerge *m, int64_t came_before, struct logline *out);

size_t logmerge_count(const struct logmerge *m);
void logmerge_counts(const struct logmerge *m, size_t *counts);    /* of each source; it looks at all lines */
bool logmerge_overflowed(const struct logmerge *m); /* more was held than there is room for: order may suffer */

#endif
