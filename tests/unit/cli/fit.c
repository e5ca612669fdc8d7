/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and lines that fit a terminal, in cells rather than bytes. */
#include "cli/frame/fit.h"

#include <stdlib.h>

#include "../../lib/tap.h"
#include "base/utf8.h"
#include "cli/frame/rows.h"
#include "cli/frame/wrap.h"

enum { NAME, STATE, TEXT, MINOR, NUMBER, COUNT };

static void fit_table(struct fit c[COUNT], size_t cells)
{
	const struct fit all[COUNT] = {
		[NAME] = { .flags = COLUMN_ID, .heading = 4, .want = 20 },
		[STATE] = { .flags = COLUMN_STATE, .heading = 5, .want = 8 },
		[TEXT] = { .flags = COLUMN_TEXT, .heading = 3, .want = 60, .word = 12 },
		[MINOR] = { .flags = COLUMN_MINOR, .heading = 5, .want = 10 },
		[NUMBER] = { .flags = COLUMN_RIGHT, .heading = 5, .want = 6 },
	};

	memcpy(c, all, sizeof all);
	fit_columns(c, COUNT, cells);
}

static void check_columns(void)
{
	struct fit c[COUNT];

	fit_table(c, 112);
	is_int((long)c[TEXT].width, 60, "all have room: as wide as they want");
	fit_table(c, 100);
	is_int((long)c[TEXT].width, 48, "sentences become narrower first");
	ok(!c[MINOR].dropped, "and nothing goes");
	fit_table(c, 66);
	ok(c[MINOR].dropped && !c[NUMBER].dropped, "the minor column goes first, though others stand right of it");
	is_int((long)c[TEXT].width, 26, "what it leaves goes to the sentences");
	fit_table(c, 56);
	ok(c[NUMBER].dropped && !c[TEXT].dropped, "then the rightmost");
	fit_table(c, 30);
	ok(c[TEXT].dropped && !c[NAME].dropped && !c[STATE].dropped, "name and state stay");
	fit_table(c, 24);
	is_int((long)c[NAME].width, 14, "cut where there is no other way");
}

static void is_line(const char *text, size_t cells, size_t want, const char *what)
{
	size_t skip;

	is_int((long)wrap_line(text, cells, &skip), (long)want, "%s", what);
}

static void check_lines(void)
{
	size_t skip, cells;

	is_line("one two three", 20, 13, "what fits stays");
	is_line("one two three", 8, 7, "a line ends between words");
	wrap_line("one two three", 8, &skip);
	is_int((long)skip, 8, "and the blank goes with it");
	is_line("incomprehensible", 5, 16, "a word is never broken");
	is_line("type 'nanopod ls -a' now", 12, 4, "a command stays whole where a line has room for it");
	is_line("'nanopod ls -a -o wide'", 12, 11, "and else breaks as all does");
	is_line("don't break 'em up", 11, 11, "a word in the middle is no quotation");
	cells = 3;
	is_int((long)wrap_cut("\xe6\x97\xa5\xe6\x9c\xac", &cells), 3, "a wide character that has no room is left out");
	is_int((long)cells, 2, "of two cells each");
	cells = 2;
	is_int((long)wrap_cut("e\xcc\x81x!", &cells), 4, "a combining one takes none");
	is_int((long)utf8_width("a\xe2\x83\x97", 4), 1, "wherever it stands");
}

static void check_locale(void)
{
	size_t cells = 4;

	setenv("LC_ALL", "C", 1);
	ok(strcmp(wrap_dots(), "...") == 0 && wrap_is_dots("\xe2\x80\xa6") == 3, "locale C: three dots");
	is_int((long)wrap_cut("ab\xe2\x80\xa6", &cells), 2, "which take three cells");
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	ok(strcmp(wrap_dots(), "\xe2\x80\xa6") == 0 && wrap_is_dots("\xe2\x80\xa6") == 0, "UTF-8: one");
	setenv("LC_ALL", "", 1);
	setenv("LC_CTYPE", "", 1);
	setenv("LANG", "en_US.utf8", 1);
	ok(wrap_utf8(), "an empty variable is none");
}

int main(void)
{
	check_columns();
	check_lines();
	check_locale();
	return done();
}
