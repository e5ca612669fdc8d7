/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/fit.h"

#include <stdint.h>

#include "cli/frame/rows.h"

enum {
	FIT_TEXT_LEAST = 20, /* a narrower column of sentences is hard to read */
	FIT_NAME_LEAST = 24,
	FIT_LEAST = 8,
};

/* What becomes narrower: sentences down to their widest word, or further; names; all but numbers. */
enum fit_step { FIT_WORDS, FIT_TEXTS, FIT_NAMES, FIT_LAST };

static size_t fit_sum(const struct fit *c, size_t count)
{
	size_t sum = 0, shown = 0;

	for (size_t i = 0; i < count; i++) {
		if (!c[i].dropped) {
			sum += c[i].width;
			shown++;
		}
	}
	return sum + (shown ? (shown - 1) * FIT_GAP : 0);
}

static size_t fit_over(const struct fit *c, size_t count, size_t cells)
{
	size_t sum = fit_sum(c, count);

	return sum > cells ? sum - cells : 0;
}

/* How narrow it may become in that step; its width: it stays as it is. */
static size_t fit_least(const struct fit *c, enum fit_step step, size_t cells)
{
	size_t least = SIZE_MAX;

	if (c->flags & COLUMN_UNDER)
		return c->width;
	if (step == FIT_LAST)
		least = c->flags & COLUMN_RIGHT ? SIZE_MAX : FIT_LEAST;
	else if (step == FIT_NAMES && c->flags & COLUMN_ID)
		least = cells / 2;
	else if (step == FIT_NAMES)
		least = c->flags & (COLUMN_TEXT | COLUMN_RIGHT | COLUMN_STATE) ? SIZE_MAX : FIT_NAME_LEAST;
	else if (c->flags & COLUMN_TEXT)
		least = step == FIT_WORDS && c->word > FIT_TEXT_LEAST ? c->word : FIT_TEXT_LEAST;
	least = least < c->heading ? c->heading : least;
	return least < c->width ? least : c->width;
}

/* Takes what is too much from the widest columns. */
static void fit_shrink(struct fit *c, size_t count, size_t cells, enum fit_step step)
{
	for (size_t over; (over = fit_over(c, count, cells)) > 0;) {
		struct fit *widest = NULL;
		size_t room;

		for (size_t i = 0; i < count; i++)
			if (!c[i].dropped && fit_least(&c[i], step, cells) < c[i].width &&
				(!widest || c[i].width > widest->width))
				widest = &c[i];
		if (!widest)
			return;
		room = widest->width - fit_least(widest, step, cells);
		widest->width -= room < over ? room : over;
	}
}

/* Drops the rightmost of the columns with any of these flags until the others have room. */
static void fit_drop(struct fit *c, size_t count, size_t cells, unsigned flags)
{
	for (size_t i = count; i-- > 0 && fit_over(c, count, cells);)
		if (!(c[i].flags & (COLUMN_ID | COLUMN_STATE)) && (!flags || c[i].flags & flags))
			c[i].dropped = true;
}

static void fit_all(struct fit *c, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		c[i].width = c[i].want;
		c[i].dropped = false;
	}
}

void fit_under(struct fit *c, size_t count, size_t cells)
{
	fit_all(c, count);
	fit_drop(c, count, cells, COLUMN_UNDER);
}

void fit_columns(struct fit *c, size_t count, size_t cells)
{
	size_t sum;

	fit_all(c, count);
	fit_shrink(c, count, cells, FIT_WORDS);
	fit_drop(c, count, cells, COLUMN_MINOR | COLUMN_UNDER);
	fit_shrink(c, count, cells, FIT_TEXTS);
	fit_shrink(c, count, cells, FIT_NAMES);
	fit_drop(c, count, cells, 0);
	fit_shrink(c, count, cells, FIT_LAST);
	sum = fit_sum(c, count);
	/* What a dropped column left goes to those that became narrower. */
	for (size_t i = 0; i < count && sum < cells; i++) {
		size_t more = c[i].want - c[i].width;

		if (c[i].dropped || !more)
			continue;
		more = more < cells - sum ? more : cells - sum;
		c[i].width += more;
		sum += more;
	}
}
