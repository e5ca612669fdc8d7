/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people: errors with what to type next, warnings, colours. Lists go through
 * cli/frame/rows.h, JSON through cli/frame/json.h; plain data goes to np->out by stdio, which
 * command_run() flushes and checks at the end.
 */
#ifndef CLI_FRAME_PRINT_H
#define CLI_FRAME_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/frame/command.h"

/*
 * `nanopod: <sentence>; <hint>` or, where np->errors_json, one object on stderr. hint may be
 * NULL. Returns status, so that a command ends with `return print_fail(np, STATUS_…, hint, …)`.
 */
int print_fail(struct nanopod *np, enum status status, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same with the option or setting it is about ("--fanout"); "field" in the object. */
int print_fail_field(struct nanopod *np, enum status status, const char *field, const char *hint,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The same for answers of the market, with its error code, its request id, and whether a retry may help. */
struct print_problem {
	enum status status;
	const char *code; /* NULL: the one of the status */
	bool retryable;
	const char *field, *hint, *request_id;
};
int print_problem(struct nanopod *np, const struct print_problem *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* `nanopod: warning: …` on stderr; with errors_json {"warning":{"message":…}}. */
void print_warn(struct nanopod *np, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* `nanopod: …` on stderr: a note, such as progress in words; prints nothing with errors_json. */
void print_note(struct nanopod *np, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

enum color {
	COLOR_NONE,
	COLOR_BOLD,
	COLOR_DIM,
	COLOR_RED,
	COLOR_GREEN,
	COLOR_YELLOW,
	COLOR_BLUE,
	COLOR_CYAN,
	COLOR_MAGENTA
};

/* The escape that starts a colour, or ends all (COLOR_NONE); "" where that stream has no colours. */
const char *print_color(const struct nanopod *np, const FILE *stream, enum color c);

/* Columns of the terminal behind the stream; 80 where it has none. */
unsigned print_columns(const FILE *stream);

/*
 * Writes text with control bytes (\x1b and the like) as ?, but keeps tab and newline: text from elsewhere
 * must not control the terminal.
 */
void print_safe(FILE *stream, const char *data, size_t len);

/* Cells that one line of text takes on a terminal. */
size_t print_width(const char *text);

/* print_safe for one line: tab and newline become blanks too. */
void print_safe_line(FILE *stream, const char *text);

/* Prints text whose first line stands at the cell `at` already; the others are indented. No newline at the end.
 * Returns the cell where the last line ends. */
size_t print_wrapped(FILE *stream, const char *text, size_t at, size_t indent, size_t columns);

/* One field of CSV, in quotes where it needs them (RFC 4180). */
void print_csv_cell(FILE *stream, const char *text);

/*
 * The rest of a line whose first cells, so many, are printed already. On a terminal it continues below, indented, but
 * not with -o wide. The newline too.
 */
void print_rest(const struct nanopod *np, FILE *stream, const char *text, size_t at, size_t indent);

/*
 * "LABEL  text", the label bold and filled up to the width; on a terminal the text continues below itself, but not
 * with -o wide. With -o csv "label,text". The newline too.
 */
void print_labelled(const struct nanopod *np, FILE *stream, const char *label, unsigned width, const char *text);

/* Fills text to the width, each paragraph indented; lines that begin with a blank stay as they are. */
void print_fill(FILE *stream, const char *text, unsigned indent, unsigned columns);

/* Fills one paragraph whose first line stands at the indent already, and indents the others. */
void print_hang(FILE *stream, const char *text, unsigned indent, unsigned columns);

const char *print_status_code(int status); /* "usage"; "failure" where the list has none */

/*
 * Flushes np->out. Returns status where everything was written; STATUS_PIPE, silently, where the reader closed
 * it; else STATUS_FAILURE after saying why.
 */
int print_finish(struct nanopod *np, int status);

#endif
