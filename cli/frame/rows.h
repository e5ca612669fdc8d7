/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints lists as table, wide, json, jsonl, csv or name, with -q and --fields, from one description of the
 * columns. Prints jsonl, csv and name row by row, the others at the end. On a terminal a table has the columns
 * that it has room for; elsewhere, with -o wide and with --fields it is as wide as its cells.
 */
#ifndef CLI_FRAME_ROWS_H
#define CLI_FRAME_ROWS_H

#include "cli/frame/print.h"

enum column_flags {
	COLUMN_ID = 1,      /* printed by -q and -o name; exactly one column has it */
	COLUMN_WIDE = 2,    /* only with -o wide or --fields, and in JSON and CSV */
	COLUMN_RIGHT = 4,   /* aligned right in tables */
	COLUMN_RAW = 8,     /* the cell is a JSON number, true, false, array or object */
	COLUMN_HIDDEN = 16, /* only where --fields names it and in JSON */
	COLUMN_MINOR = 32,  /* the first to go where the terminal is narrow; else the rightmost goes */
	COLUMN_TEXT = 64,   /* sentences: take more lines where the terminal is narrow */
	COLUMN_STATE = 128, /* coloured by its word; always shown */
	COLUMN_UNDER = 256, /* has lines of its own under the row where there is no room for it in full */
};

struct column {
	const char *name;  /* "host": key in JSON, upper case as the heading; { 0 } ends the list */
	unsigned flags;
	const char *help; /* shown by --fields= */
};

struct rows;

/*
 * NULL where the command ends here, with *status: --fields was empty, and the fields were listed; or it names
 * an unknown one, and an error was printed.
 */
struct rows *rows_new(struct nanopod *np, const struct options *o, const struct column *columns, int *status);

/*
 * Checks --fields before a command asks, spends or destroys anything. False where the command ends here, with
 * *status: --fields was empty and the fields were listed, or it was wrong and an error was printed.
 */
bool rows_check(struct nanopod *np, const struct options *o, const struct column *columns, int *status);

/* One cell per column, in their order. NULL: no value (null in JSON, empty in CSV, - in tables). */
void rows_add(struct rows *r, const char *const *cells);

/* Of a word that people may meet in a column of states, in any list. */
enum color rows_state_color(const char *state);

/* Is this a table for people without a row yet? */
bool rows_none(const struct rows *r);

/* Prints what is left and frees. STATUS_OK: command_run() checks for write errors. */
int rows_end(struct rows *r);

/* Frees after an error: prints no empty list, but closes one that was begun. NULL: does nothing. */
void rows_drop(struct rows *r);

#endif
