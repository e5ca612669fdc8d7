/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Myers' O(ND) walk over lines. After LONGEST_WALK edits it calls the whole middle changed:
 * nobody reads a longer diff, and time and memory stay bounded.
 */
#include "cli/remote/diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WALK = 2000 };

struct line {
	const char *text;
	size_t len;
};

struct side {
	struct line *lines;
	size_t count;
};

struct walk {
	struct side a, b;
	size_t skip;        /* lines of the common beginning */
	size_t n, m;        /* lines between common beginning and end */
	bool *gone, *come;  /* of those: deleted from a, added in b */
};

static int diff_split(const char *text, size_t len, struct side *out)
{
	size_t count = 0, at = 0;

	for (const char *p = text, *end = text + len; p < end; count++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		p = nl ? nl + 1 : end;
	}
	out->lines = calloc(count + 1, sizeof *out->lines);
	if (!out->lines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) + 1 - at : len - at;

		out->lines[i] = (struct line){ text + at, n };
		at += n;
	}
	out->count = count;
	return 0;
}

static bool diff_equal(const struct line *x, const struct line *y)
{
	return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

static void diff_trim(struct walk *w)
{
	size_t end = 0, less = w->a.count < w->b.count ? w->a.count : w->b.count;

	while (w->skip < less && diff_equal(&w->a.lines[w->skip], &w->b.lines[w->skip]))
		w->skip++;
	while (end < less - w->skip && diff_equal(&w->a.lines[w->a.count - 1 - end], &w->b.lines[w->b.count - 1 - end]))
		end++;
	w->n = w->a.count - w->skip - end;
	w->m = w->b.count - w->skip - end;
}

/* Walks back over the saved frontiers and marks the lines that are not shared. */
static void diff_mark(struct walk *w, int **saved, int d)
{
	int x = (int)w->n, y = (int)w->m;

	for (; d > 0; d--) {
		const int *v = saved[d - 1] + d; /* v[k] for k in [-d+1, d-1], with room at both ends */
		int k = x - y;
		bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
		int px = down ? v[k + 1] : v[k - 1], py = px - (down ? k + 1 : k - 1);

		if (down)
			w->come[py] = true;
		else
			w->gone[px] = true;
		x = px;
		y = py;
	}
}

/* 1: marked; 0: too many edits; or -ENOMEM. */
static int diff_walk(struct walk *w)
{
	int n = (int)w->n, m = (int)w->m, rc = -ENOMEM, d = 0;
	int limit = n + m < LONGEST_WALK ? n + m : LONGEST_WALK;
	int **saved = calloc((size_t)limit + 2, sizeof *saved);
	int *v = calloc(2 * (size_t)limit + 4, sizeof *v);

	if (!saved || !v)
		goto out;
	v += limit + 1;
	for (; d <= limit; d++) {
		for (int k = -d; k <= d; k += 2) {
			int x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
			int y = x - k;

			while (x < n && y >= 0 && y < m &&
				diff_equal(&w->a.lines[w->skip + (size_t)x], &w->b.lines[w->skip + (size_t)y]))
				x++, y++;
			v[k] = x;
			if (x >= n && y >= m) {
				diff_mark(w, saved, d);
				rc = 1;
				goto done;
			}
		}
		saved[d] = calloc(2 * (size_t)d + 3, sizeof **saved);
		if (!saved[d])
			goto done;
		memcpy(saved[d] + 1, v - d, (2 * (size_t)d + 1) * sizeof *v);
	}
	rc = 0;
done:
	v -= limit + 1;
out:
	for (int i = 0; saved && i <= limit; i++)
		free(saved[i]);
	free(saved);
	free(v);
	return rc;
}

static int diff_tell(const struct walk *w, int (*each)(void *, enum diff_side, size_t, const char *, size_t), void *arg)
{
	size_t x = 0, y = 0, end = w->a.count;
	int rc = 0;

	while (rc == 0 && (x < end || y < w->b.count)) {
		bool mid_x = x >= w->skip && x < w->skip + w->n, mid_y = y >= w->skip && y < w->skip + w->m;

		if (mid_x && w->gone[x - w->skip]) {
			rc = each(arg, DIFF_OLD, x + 1, w->a.lines[x].text, w->a.lines[x].len);
			x++;
		} else if (mid_y && w->come[y - w->skip]) {
			rc = each(arg, DIFF_NEW, y + 1, w->b.lines[y].text, w->b.lines[y].len);
			y++;
		} else {
			rc = each(arg, DIFF_SAME, y + 1, w->b.lines[y].text, w->b.lines[y].len);
			x++, y++;
		}
	}
	return rc;
}

int diff_lines(const char *a, size_t alen, const char *b, size_t blen,
	int (*each)(void *arg, enum diff_side side, size_t number, const char *line, size_t len), void *arg)
{
	struct walk w = { 0 };
	int rc = -ENOMEM;

	if (diff_split(a, alen, &w.a) != 0 || diff_split(b, blen, &w.b) != 0)
		goto out;
	diff_trim(&w);
	w.gone = calloc(w.n + 1, sizeof *w.gone);
	w.come = calloc(w.m + 1, sizeof *w.come);
	if (!w.gone || !w.come)
		goto out;
	rc = w.n > 10000000 || w.m > 10000000 ? 0 : diff_walk(&w);
	if (rc == 0) {
		memset(w.gone, true, w.n);
		memset(w.come, true, w.m);
	}
	if (rc >= 0)
		rc = diff_tell(&w, each, arg);
out:
	free(w.a.lines);
	free(w.b.lines);
	free(w.gone);
	free(w.come);
	return rc;
}
