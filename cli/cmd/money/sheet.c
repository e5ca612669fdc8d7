/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/money/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cmd/money/pdf.h"
#include "cli/frame/print.h"
#include "market/money.h"

/* Letter is less high and a little wider: printed in its size, it cuts off up to 50 points of an A4 page. */
enum {
	SHEET_LEFT = 560,
	SHEET_RIGHT = PDF_A4_WIDTH - 560,
	SHEET_TOP = PDF_A4_HEIGHT - 760,
	SHEET_BOTTOM = 900, /* of rows; below it is what is carried, and the foot */
	SHEET_FOOT = 560,
	SHEET_SIZE = 10,
	SHEET_STEP = 145, /* from line to line */
	SHEET_ROW = 20,   /* more between rows */
	SHEET_LABEL = 900,
	SHEET_GAP = 120,
	SHEET_BYTES = 256 << 20
};

struct sheet {
	const struct paper *paper;
	const struct sheet_column *columns;
	size_t count; /* of columns */
	int x[SHEET_COLUMNS + 1];
	char what[40];
	struct pdf *pdf;
	size_t page;
	int y;
	bool rows; /* the heads of the columns stand on this page */
	int64_t carry;
};

static void sheet_cell(struct sheet *s, size_t i, const char *text, bool bold)
{
	int x = s->x[i];

	if (s->columns[i].right)
		x = s->x[i + 1] - SHEET_GAP - pdf_width(text, strlen(text), SHEET_SIZE, bold);
	pdf_text(s->pdf, s->page, x, s->y, SHEET_SIZE, bold, text);
}

static void sheet_heads(struct sheet *s)
{
	s->rows = true;
	s->y -= SHEET_STEP;
	for (size_t i = 0; i < s->count; i++)
		sheet_cell(s, i, s->columns[i].title, true);
	pdf_line(s->pdf, s->page, SHEET_LEFT, s->y - 45, SHEET_RIGHT);
	s->y -= SHEET_STEP + 35;
}

/* "Carried forward", at the end of a page and at the beginning of the next. */
static void sheet_carried(struct sheet *s, const char *text, int64_t micros)
{
	char room[MONEY_TEXT];
	size_t at = 0;

	while (s->columns[at].width)
		at++;
	sheet_cell(s, at, text, true);
	sheet_cell(s, s->count - 1, money_text(micros, room), true);
	s->y -= SHEET_STEP + SHEET_ROW;
}

static void sheet_page(struct sheet *s)
{
	s->page = pdf_page(s->pdf);
	s->y = SHEET_TOP;
	s->rows = false;
}

static void sheet_break(struct sheet *s, int64_t carry)
{
	bool rows = s->rows;

	if (rows) {
		pdf_line(s->pdf, s->page, SHEET_LEFT, s->y + 105, SHEET_RIGHT);
		sheet_carried(s, "Carried forward", carry);
	}
	sheet_page(s);
	if (!rows)
		return;
	sheet_heads(s);
	sheet_carried(s, "Brought forward", carry);
}

struct sheet *sheet_new(const struct paper *paper, const char *what, const struct sheet_column *columns)
{
	struct sheet *s = calloc(1, sizeof *s);
	int rest = SHEET_RIGHT - SHEET_LEFT;
	char month[200];

	if (!s)
		command_nomem();
	s->paper = paper;
	s->columns = columns;
	for (; columns[s->count].title; s->count++)
		rest -= columns[s->count].width;
	s->x[0] = SHEET_LEFT;
	for (size_t i = 0; i < s->count; i++)
		s->x[i + 1] = s->x[i] + (columns[i].width ? columns[i].width : rest);
	s->x[s->count] += SHEET_GAP; /* nothing follows the last */
	snprintf(s->what, sizeof s->what, "%s", what);
	s->pdf = pdf_new();
	sheet_page(s);
	pdf_text(s->pdf, s->page, SHEET_LEFT, s->y - 60, 20, true, what);
	s->y -= 330;
	paper_month(paper, month, sizeof month);
	sheet_pair(s, "Number", paper->number);
	sheet_pair(s, "Market", paper_market(paper));
	sheet_pair(s, "Account", paper->account);
	sheet_pair(s, "Account id", paper->account_id);
	sheet_pair(s, "Month", month);
	return s;
}

void sheet_free(struct sheet *s)
{
	if (s)
		pdf_free(s->pdf);
	free(s);
}

/* Lines from `x` on, as wide as `width`; room for at least one is there. */
static void sheet_fill(struct sheet *s, int x, int width, bool bold, const char *text)
{
	size_t skip, len;

	do {
		char *line;

		len = pdf_wrap(text, width, SHEET_SIZE, bold, &skip);
		line = strndup(text, len);
		if (!line)
			command_nomem();
		if (s->y < SHEET_BOTTOM)
			sheet_break(s, s->carry);
		pdf_text(s->pdf, s->page, x, s->y, SHEET_SIZE, bold, line);
		s->y -= SHEET_STEP;
		free(line);
		text += skip;
	} while (*text);
}

void sheet_pair(struct sheet *s, const char *label, const char *text)
{
	if (s->rows)
		s->y -= SHEET_STEP;
	s->rows = false;
	if (s->y < SHEET_BOTTOM)
		sheet_break(s, s->carry);
	pdf_text(s->pdf, s->page, SHEET_LEFT, s->y, SHEET_SIZE, true, label);
	sheet_fill(s, SHEET_LEFT + SHEET_LABEL, SHEET_RIGHT - SHEET_LEFT - SHEET_LABEL, false, text);
}

void sheet_row(struct sheet *s, const char *const *texts, int64_t carry, bool bold)
{
	int lines = 0;

	if (!s->rows)
		sheet_heads(s);
	for (size_t i = 0, skip; i < s->count; i++)
		for (const char *t = s->columns[i].width ? "" : texts[i]; *t; t += skip, lines++)
			pdf_wrap(t, s->x[i + 1] - s->x[i] - SHEET_GAP, SHEET_SIZE, bold, &skip);
	if (s->y - (lines > 8 ? 1 : lines - 1) * SHEET_STEP < SHEET_BOTTOM)
		sheet_break(s, s->carry);
	s->carry = carry;
	if (bold)
		pdf_line(s->pdf, s->page, SHEET_LEFT, s->y + 105, SHEET_RIGHT);
	for (size_t i = 0; i < s->count; i++)
		if (s->columns[i].width)
			sheet_cell(s, i, texts[i], bold);
	for (size_t i = 0; i < s->count; i++)
		if (!s->columns[i].width)
			sheet_fill(s, s->x[i], s->x[i + 1] - s->x[i] - SHEET_GAP, bold, texts[i]);
	s->y -= SHEET_ROW;
}

void sheet_note(struct sheet *s, const char *text)
{
	s->rows = false;
	s->y -= SHEET_STEP;
	sheet_fill(s, SHEET_LEFT, SHEET_RIGHT - SHEET_LEFT, false, text);
}

/* ---- --pdf -------------------------------------------------------------------------------------- */

bool sheet_month(const char *word)
{
	struct fail none = { 0 };
	struct period month;

	return period_read_month(word, &month, &none) == 0;
}

/* NULL: standard output. */
static const char *sheet_file(const struct options *o)
{
	const char *path = option_text(o, "pdf");

	return *path && strcmp(path, "-") != 0 ? path : NULL;
}

int sheet_check(const struct paper *p, const struct options *o, const char *verb)
{
	static const char *const others[] = { "output", "fields", "quiet" };
	char hint[200], month[PERIOD_TEXT];

	if (!option_given(o, "pdf"))
		return 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (option_given(o, others[i]))
			return print_fail(p->np, STATUS_USAGE, NULL, "cannot use --pdf with --%s", others[i]);
	if (sheet_file(o) || !p->np->tty_out)
		return 0;
	period_month(p->month.from, month);
	snprintf(hint, sizeof hint, "'nanopod %s %s --pdf %s-%s.pdf' writes a file", verb, month, verb, month);
	return print_fail(p->np, STATUS_USAGE, hint, "cannot print a PDF to a terminal");
}

static void sheet_foot(struct sheet *s)
{
	size_t pages = pdf_pages(s->pdf);
	char text[STATEMENT_NUMBER + 40];

	for (size_t i = 0; i < pages; i++) {
		pdf_line(s->pdf, i, SHEET_LEFT, SHEET_FOOT + 140, SHEET_RIGHT);
		snprintf(text, sizeof text, "%s %s", s->what, s->paper->number);
		pdf_text(s->pdf, i, SHEET_LEFT, SHEET_FOOT, 8, false, text);
		snprintf(text, sizeof text, "Page %zu of %zu", i + 1, pages);
		pdf_text(s->pdf, i, SHEET_RIGHT - pdf_width(text, strlen(text), 8, false), SHEET_FOOT, 8, false, text);
	}
}

int sheet_write(struct sheet *s, const struct options *o)
{
	const char *path = sheet_file(o);
	char title[STATEMENT_NUMBER + 40];
	struct buf out;
	int rc = 0;

	buf_init(&out, SHEET_BYTES);
	sheet_foot(s);
	snprintf(title, sizeof title, "%s %s", s->what, s->paper->number);
	pdf_end(s->pdf, title, &out);
	if (path)
		rc = file_put(path, out.data, out.len, 0666);
	else
		(void)!fwrite(out.data, 1, out.len, s->paper->np->out); /* whoever flushes it says why it failed */
	buf_release(&out);
	return rc ? print_fail(s->paper->np, STATUS_FAILURE, NULL, "cannot write '%s': %s", path, strerror(-rc))
		  : STATUS_OK;
}
