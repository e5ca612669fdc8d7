/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of things as table, wide, json, jsonl, csv or name, with -q and --fields: one description
 * of the columns serves all. jsonl, csv and name come out row by row; the others at the end.
 */
#ifndef CLI_FRAME_ROWS_H
#define CLI_FRAME_ROWS_H

#include "cli/frame/command.h"

enum column_flags {
	COLUMN_ID = 1,      /* what -q and -o name print; exactly one has it */
	COLUMN_WIDE = 2,    /* only with -o wide or --fields, and in JSON and CSV */
	COLUMN_RIGHT = 4,   /* flush right in tables */
	COLUMN_RAW = 8,     /* the cell is a JSON number, true, false, array or object */
	COLUMN_HIDDEN = 16, /* only where --fields names it, and in JSON */
};

struct column {
	const char *name;  /* "host": key in JSON, upper case as the heading; { 0 } ends the list */
	unsigned flags;
	const char *help;  /* for the list of fields */
};

struct rows;

/*
 * NULL where the command is over already: --fields was empty and the fields are listed, or it
 * names an unknown one and that was said; *status is then what to return.
 */
struct rows *rows_new(struct nanopod *np, const struct options *o, const struct column *columns, int *status);

/*
 * For commands that spend or destroy before they have rows: false where --fields is empty (they are
 * listed) or wrong (that was said); *status is then what to return, and nothing was done yet.
 */
bool rows_check(struct nanopod *np, const struct options *o, const struct column *columns, int *status);

/* One cell a column, in the columns' order; NULL: nothing (null in JSON, empty in CSV, - in tables). */
void rows_add(struct rows *r, const char *const *cells);

/* The same, and the row coloured in tables on a terminal. */
void rows_add_color(struct rows *r, const char *const *cells, int color);

/* Prints what is left and frees. STATUS_OK; write errors show when the command's output is checked. */
int rows_end(struct rows *r);

/* Frees, where something went wrong: no empty list is printed; one that was begun is closed. NULL too. */
void rows_drop(struct rows *r);

#endif
