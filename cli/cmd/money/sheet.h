/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A paper of an account on pages to print: A4, and legible where it is printed on Letter. Each page repeats the heads
 * of the columns, and carries on the sum of the page before.
 */
#ifndef CLI_CMD_MONEY_SHEET_H
#define CLI_CMD_MONEY_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cmd/money/paper.h"
#include "cli/frame/option.h"

enum { SHEET_COLUMNS = 4 };

struct sheet_column {
	const char *title; /* NULL ends them */
	int width;         /* tenths of a point; 0: what the others leave, for text, which is wrapped */
	bool right;
};

struct sheet;

struct sheet *sheet_new(const struct paper *paper, const char *what, const struct sheet_column *columns);
void sheet_free(struct sheet *s);

void sheet_pair(struct sheet *s, const char *label, const char *text); /* before the first row, or after the last */
/* One text for each column. carry: what the last column carries to the next page, when this row is the last of one. */
void sheet_row(struct sheet *s, const char *const *texts, int64_t carry, bool bold);
void sheet_note(struct sheet *s, const char *text);

/* --pdf [FILE]: as every paper has it. */
#define SHEET_OPTION \
	{ \
		"pdf", 0, OPTION_STRING, \
			.arg = "FILE", .may_lack = true, .not_arg = sheet_month, .complete = COMPLETE_FILE, \
			.help = "A4 pages to print or to file; without FILE, or as -, to standard output" \
	}

bool sheet_month(
	const char *word); /* it is the paper's MONTH: "--pdf 2026-10" has no FILE, "--pdf ./2026-10" has one */

/* Whether --pdf can be done: not onto a terminal, and not beside another form. 0, or a status. */
int sheet_check(const struct paper *p, const struct options *o, const char *verb);
/* Into FILE, or to standard output. A status. */
int sheet_write(struct sheet *s, const struct options *o);

#endif
