/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `nanopod top` as lines for a terminal of a given size. It neither asks the terminal nor prints. */
#ifndef CLI_TOP_TOPPAGE_H
#define CLI_TOP_TOPPAGE_H

#include "cli/screen/page.h"
#include "cli/top/toprow.h"

struct toppage {
	const struct toplook *look;
	struct topwish wish;  /* now: not counted, as look has it */
	const char *every;    /* "5s" */
	const char *taken;    /* the time of the look, for people */
	const char *away;     /* why the market does not answer; NULL: it does */
	int64_t away_seconds; /* since the last answer */
	bool paused, help;
	bool typing; /* the filter */
	size_t top;  /* the first row that is shown */
};

/* So many lines exactly. Returns how many rows have room; *count: how many there are. The caller releases *out. */
size_t toppage_make(const struct toppage *p, size_t columns, size_t height, struct page *out, size_t *count);

/* ---- Numbers as people read them; "-" where they are not known ---------------------------- */

enum { TOP_TEXT = 64 };

const char *top_bytes(double n, char room[TOP_TEXT]);                           /* "71G" */
const char *top_part(double used, double total, char room[TOP_TEXT]);           /* "568/640G" */
const char *top_ratio(double r, char room[TOP_TEXT]);                           /* "87%" */
const char *top_number(double n, char room[TOP_TEXT]);                          /* "612" */
const char *top_cores(double n, char room[TOP_TEXT]);                           /* "3.5" */
const char *top_left(const struct toprow *r, int64_t now, char room[TOP_TEXT]); /* "5h12m", with "!" if early */
const char *top_age(int64_t seconds, char room[TOP_TEXT]);                      /* "3m" */

#endif
