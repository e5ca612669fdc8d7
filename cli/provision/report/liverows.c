/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/liverows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/terminal.h"

enum { EVERY_MS = 200, FIRST_MS = 300, ROWS_MAX = 16, ROWS_LEFT = 4, LINE_BYTES = 512, NAME_WIDTH = 24 };

struct liverow {
	char node[128], what[128], said[200];
	int64_t began;
	bool runs;
};

struct liverows {
	struct nanopod *np;
	struct liverow *rows; /* of all nodes that ever ran a step, in order of their first: rows keep their places */
	size_t count, cap, shown;
	size_t done, failed;
	const char *phase;
	int64_t began, drawn;
	bool on;
};

struct liverows *liverows_new(struct nanopod *np)
{
	struct liverows *l = calloc(1, sizeof *l);
	const char *term = getenv("TERM");

	if (!l)
		command_nomem();
	l->np = np;
	l->on = np->tty_err && !np->errors_json && term && strcmp(term, "dumb") != 0;
	l->began = clock_ms();
	l->drawn = l->began + FIRST_MS - EVERY_MS;
	return l;
}

void liverows_free(struct liverows *l)
{
	if (!l)
		return;
	liverows_hide(l);
	free(l->rows);
	free(l);
}

static struct liverow *liverows_find(struct liverows *l, const char *node)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->rows[i].node, node) == 0)
			return &l->rows[i];
	return NULL;
}

/* Cuts a long text; printing replaces control bytes. */
static void liverows_put(char *room, size_t size, const char *text)
{
	snprintf(room, size, "%.*s", (int)size - 1, text);
}

void liverows_begin(struct liverows *l, const char *node, const char *stack, const char *step)
{
	struct liverow *row = liverows_find(l, node);

	if (!row) {
		if (l->count == l->cap) {
			l->cap = l->cap ? l->cap * 2 : 16;
			l->rows = reallocarray(l->rows, l->cap, sizeof *l->rows);
			if (!l->rows)
				command_nomem();
		}
		row = &l->rows[l->count++];
	}
	*row = (struct liverow){ .began = clock_ms(), .runs = true };
	liverows_put(row->node, sizeof row->node, node);
	snprintf(row->what, sizeof row->what, "%s/%s", stack, step);
	liverows_draw(l);
}

void liverows_say(struct liverows *l, const char *node, const char *text)
{
	struct liverow *row = liverows_find(l, node);

	if (row)
		liverows_put(row->said, sizeof row->said, text);
	liverows_draw(l);
}

void liverows_end(struct liverows *l, const char *node)
{
	struct liverow *row = liverows_find(l, node);

	if (row)
		row->runs = false;
	liverows_draw(l);
}

static size_t liverows_running(const struct liverows *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += l->rows[i].runs;
	return n;
}

/* The i-th running row; NULL past the end. */
static const struct liverow *running_at(const struct liverows *l, size_t i)
{
	for (size_t k = 0; k < l->count; k++)
		if (l->rows[k].runs && i-- == 0)
			return &l->rows[k];
	return NULL;
}

void liverows_phase(struct liverows *l, const char *phase)
{
	l->phase = phase;
	l->began = clock_ms();
	l->done = l->failed = 0;
	liverows_draw(l);
}

void liverows_count(struct liverows *l, size_t done, size_t failed)
{
	l->done = done;
	l->failed = failed;
}

bool liverows_on(const struct liverows *l)
{
	return l->on;
}

void liverows_text(const struct liverows *l, size_t row, int64_t now, unsigned columns, char *room, size_t size)
{
	const struct liverow *r = running_at(l, row);
	int width = 0;
	char time[32];

	for (size_t i = 0; i < l->count; i++)
		if ((int)strlen(l->rows[i].node) > width)
			width = (int)strlen(l->rows[i].node);
	width = width > NAME_WIDTH ? NAME_WIDTH : width;
	if (r)
		snprintf(room, size, "  %-*.*s  %-24s %7s  %s", width, NAME_WIDTH, r->node, r->what,
			progress_time(now - r->began, time, sizeof time), r->said);
	else if (!liverows_running(l) && !l->done && !l->failed)
		snprintf(room, size, "%s, %s", l->phase ? l->phase : "",
			progress_time(now - l->began, time, sizeof time));
	else
		snprintf(room, size, "%s: %zu running, %zu steps done, %zu failed, %s", l->phase ? l->phase : "",
			liverows_running(l), l->done, l->failed, progress_time(now - l->began, time, sizeof time));
	if (columns > 1 && strlen(room) >= columns)
		room[columns - 1] = '\0';
}

void liverows_hide(struct liverows *l)
{
	if (!l->shown)
		return;
	/* Leaves the cursor at the end of the last line. */
	fputs("\r", l->np->err);
	if (l->shown > 1)
		fprintf(l->np->err, "\033[%zuA", l->shown - 1);
	fputs("\033[J", l->np->err);
	fflush(l->np->err);
	l->shown = 0;
}

void liverows_draw(struct liverows *l)
{
	int64_t now = clock_ms();
	unsigned columns = 80, rows = 24;
	char line[LINE_BYTES];
	size_t most, shown;

	if (!l->on || !l->phase || now - l->drawn < EVERY_MS)
		return;
	l->drawn = now;
	(void)terminal_size(STDERR_FILENO, &columns, &rows);
	most = rows > ROWS_LEFT * 2 ? rows - ROWS_LEFT : ROWS_LEFT;
	most = most > ROWS_MAX ? ROWS_MAX : most;
	shown = liverows_running(l) < most ? liverows_running(l) : most;
	liverows_hide(l);
	fputs(print_color(l->np, l->np->err, COLOR_DIM), l->np->err);
	for (size_t i = 0; i < shown; i++) {
		liverows_text(l, i, now, columns, line, sizeof line);
		print_safe_line(l->np->err, line);
		fputc('\n', l->np->err);
	}
	liverows_text(l, (size_t)-1, now, columns, line, sizeof line);
	print_safe_line(l->np->err, line);
	fputs(print_color(l->np, l->np->err, COLOR_NONE), l->np->err);
	fflush(l->np->err);
	l->shown = shown + 1;
}
