/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line at the bottom of a terminal. It goes to standard error, only where that is a terminal, and
 * must be hidden before anything else is printed.
 */
#ifndef CLI_FRAME_PROGRESS_H
#define CLI_FRAME_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nanopod;

struct progress {
	struct nanopod *np;
	bool on, shown;
	int64_t began, drawn;     /* clock_ms() */
	size_t total, running, done, failed;
	bool bytes; /* a copy: shows moved of size */
	uint64_t moved, size;
	int64_t rate_at; /* the rate of the last seconds */
	uint64_t rate_moved, rate;
	size_t done_then; /* done when it last changed, and the milliseconds passed then */
	int64_t done_passed;
	const char *phase;        /* instead of numbers: "cancelling"; NULL */
};

void progress_begin(struct progress *p, struct nanopod *np, size_t total);
void progress_hide(struct progress *p);   /* before other output to the terminal */
void progress_draw(struct progress *p);   /* draws when it is due */
int progress_timeout(const struct progress *p); /* ms until it is due; -1: never */

/* "1.5 MiB"; "2.5 s", "0:42", "1:02:03": into room, which it returns. */
const char *progress_bytes(uint64_t n, char *room, size_t size);
const char *progress_time(int64_t ms, char *room, size_t size);

/*
 * A line like "day-1: booting, 0:46" in place of the last one: where the terminal is narrow the text loses its end, the
 * tail never.
 */
void progress_line(const struct nanopod *np, const char *text, const char *tail);

/* Shortened in place to less than the columns, so that the cursor stays in the line: by parts after ", ", or within. */
void progress_fit(char *text, size_t columns);
/* What progress_line() shows, for tests. */
void progress_join(const char *text, const char *tail, size_t columns, char *room, size_t size);

/* The text of the line without drawing it, for tests. */
void progress_text(struct progress *p, int64_t now, char *room, size_t size);

#endif
