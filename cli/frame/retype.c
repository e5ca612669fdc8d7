/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/retype.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { TYPED_MAX = 256 };

static void retype_add(struct buf *out, const char *text)
{
	if (buf_adds(out, text))
		command_nomem();
}

bool retype_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:@+,=/%";

	return *text && !text[strspn(text, plain)];
}

/* Quotes only words that need it: nobody wants to type "'-d' '24h'". */
static void retype_add_word(struct buf *out, const char *text)
{
	if (retype_plain(text))
		retype_add(out, text);
	else if (str_quote_sh(out, text))
		command_nomem();
}

static void add_option(struct buf *out, const struct option *row, const char *text)
{
	char name[3] = { '-', row->letter, '\0' };

	retype_add(out, " ");
	if (row->letter) {
		retype_add(out, name);
	} else {
		retype_add(out, "--");
		retype_add(out, row->name);
	}
	if (!option_takes_argument(row) || (row->kind == OPTION_OPTIONAL && !*text))
		return;
	retype_add(out, row->kind == OPTION_OPTIONAL ? "=" : " ");
	retype_add_word(out, text);
}

static const struct retype_change *change_of(const struct retype_change *changes, const char *name)
{
	for (; changes && changes->name; changes++)
		if (strcmp(changes->name, name) == 0)
			return changes;
	return NULL;
}

void retype_word(struct buf *out, const char *text)
{
	retype_add(out, " ");
	retype_add_word(out, text);
}

void retype_words(const struct command *cmd, const struct options *o, char *const *words,
	const struct retype_change *changes, struct buf *out)
{
	const struct option *tables[COMMAND_TABLES], *row;
	const char *text;

	retype_add(out, "nanopod ");
	retype_add(out, cmd->name);
	for (char *const *word = words ? words : option_argv(o); *word; word++) {
		retype_word(out, *word);
	}
	for (size_t i = 0; option_typed(o, i, &row, &text); i++)
		if (!change_of(changes, row->name))
			add_option(out, row, text);
	command_tables(cmd, tables);
	for (; changes && changes->name; changes++) {
		row = changes->text ? option_find(tables, changes->name, strlen(changes->name)) : NULL;
		if (row)
			add_option(out, row, changes->text);
	}
}

void retype(const struct command *cmd, const struct options *o, const struct retype_change *changes, struct buf *out)
{
	retype_words(cmd, o, NULL, changes, out);
}

bool retype_can(const struct command *cmd, const struct retype_change *changes)
{
	const struct option *tables[COMMAND_TABLES];

	command_tables(cmd, tables);
	for (; changes->name; changes++)
		if (changes->text && !option_find(tables, changes->name, strlen(changes->name)))
			return false;
	return true;
}

static bool changes_nothing(const char *name)
{
	static const char *const names[] = { "yes", "new", "wait", "no-wait", "dry-run", "explain", "output", "quiet",
		"fields", "verbose", "color", "no-color", "config", "profile", "url", "help" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void retype_same(const struct options *o, struct buf *out)
{
	char *lines[TYPED_MAX];
	const struct option *row;
	const char *text;
	size_t count = 0;

	for (size_t i = 0; count < TYPED_MAX && option_typed(o, i, &row, &text); i++) {
		/* Where an option is not a list only its last value counts. */
		if (changes_nothing(row->name) ||
			(row->kind != OPTION_LIST && text != option_text(o, row->name) && option_takes_argument(row)))
			continue;
		if (asprintf(&lines[count], "--%s=%s\n", row->name, text) < 0)
			command_nomem();
		count++;
	}
	qsort(lines, count, sizeof *lines, by_text);
	for (size_t i = 0; i < count; i++) {
		retype_add(out, lines[i]);
		free(lines[i]);
	}
	for (char **word = option_argv(o); *word; word++) {
		retype_add(out, *word);
		retype_add(out, "\n");
	}
}
