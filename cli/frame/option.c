/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/value.h"

enum { TABLES_MAX = 8 };

struct typed {
	const struct option *row;
	const char *text;
};

struct options {
	const struct option *tables[TABLES_MAX];
	struct typed *typed; /* one place for each letter of the words: more options cannot come */
	size_t count;
	char **args;
	char **whole; /* args with the "--" among them */
	int argc, split;
};

const struct option *option_find(const struct option *const *tables, const char *name, size_t len)
{
	for (; *tables; tables++)
		for (const struct option *row = *tables; row->name; row++)
			if (strlen(row->name) == len && memcmp(row->name, name, len) == 0)
				return row;
	return NULL;
}

const struct option *option_find_letter(const struct option *const *tables, char letter)
{
	for (; *tables; tables++)
		for (const struct option *row = *tables; row->name; row++)
			if (row->letter && row->letter == letter)
				return row;
	return NULL;
}

bool option_takes_argument(const struct option *row)
{
	return row->kind != OPTION_FLAG;
}

const char *option_arg_name(const struct option *row)
{
	static const char *const names[] = {
		[OPTION_INT] = "N", [OPTION_SIZE] = "SIZE", [OPTION_DURATION] = "DURATION", [OPTION_STRING] = "TEXT",
		[OPTION_LIST] = "TEXT", [OPTION_ENUM] = "WORD", [OPTION_OPTIONAL] = "TEXT",
	};

	if (row->kind == OPTION_FLAG)
		return NULL;
	return row->arg ? row->arg : row->values ? row->values : names[row->kind];
}

static bool option_is_none(const struct option *row, const char *text)
{
	return row->may_none && strcmp(text, "none") == 0;
}

static int read_int(const struct option *row, const char *text, long *out, struct fail *f)
{
	long max = row->min == 0 && row->max == 0 ? INT32_MAX : row->max;

	return value_int(text, row->min, max, out, f);
}

static int option_check(const struct option *row, const char *text, struct fail *f)
{
	long number;
	int64_t ms;
	uint64_t bytes;
	size_t at;

	if (option_is_none(row, text))
		return 0;
	switch (row->kind) {
	case OPTION_INT:
		return read_int(row, text, &number, f);
	case OPTION_DURATION:
		return value_duration(text, &ms, f);
	case OPTION_SIZE:
		return value_size(text, &bytes, f);
	case OPTION_ENUM:
		return value_enum(text, row->values, &at, f);
	case OPTION_OPTIONAL:
		return row->values && *text ? value_enum(text, row->values, &at, f) : 0;
	case OPTION_FLAG: case OPTION_STRING: case OPTION_LIST:
		break;
	}
	return 0;
}

static int option_take(struct options *o, const struct option *row, const char *text, struct fail *f)
{
	struct fail why = { 0 };

	if (option_check(row, text, &why))
		return fail_set(f, -EINVAL, "cannot use '--%s': %s", row->name, why.text);
	o->typed[o->count++] = (struct typed){ row, text };
	return 0;
}

static int unknown_long(const struct options *o, const char *word, size_t len, struct fail *f)
{
	size_t far, best = SIZE_MAX;
	const char *near = NULL;
	char typed[64];

	snprintf(typed, sizeof typed, "%.*s", (int)(len > 60 ? 60 : len), word);
	for (const struct option *const *table = o->tables; *table; table++) {
		for (const struct option *row = *table; row->name; row++) {
			if (value_near(typed, row->name, &far) && far < best) {
				best = far;
				near = row->name;
			}
		}
	}
	if (near)
		return fail_set(f, -EINVAL, "cannot understand '--%s': no such option (did you mean '--%s'?)", typed,
			near);
	return fail_set(f, -EINVAL, "cannot understand '--%s': no such option", typed);
}

/* The next word, where it may be the option's argument; else NULL. */
static const char *option_next_word(const struct option *row, int left, char **next)
{
	if (left == 0)
		return row->may_lack ? "" : NULL;
	if (row->may_lack && ((next[0][0] == '-' && next[0][1]) || (row->not_arg && row->not_arg(next[0]))))
		return "";
	return next[0];
}

/* Parses one "--word"; *used: how many words of argv it took. */
static int parse_long(struct options *o, int argc, char **argv, int *used, struct fail *f)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '='), *text;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *row = option_find(o->tables, name, len);

	*used = 1;
	if (!row)
		return unknown_long(o, name, len, f);
	if (equals && row->kind == OPTION_FLAG)
		return fail_set(f, -EINVAL, "--%s takes no argument", row->name);
	if (equals)
		return option_take(o, row, equals + 1, f);
	if (row->kind == OPTION_FLAG || row->kind == OPTION_OPTIONAL)
		return option_take(o, row, "", f);
	text = option_next_word(row, argc - 1, argv + 1);
	if (!text)
		return fail_set(f, -EINVAL, "--%s requires an argument (%s)", row->name, option_arg_name(row));
	*used = argc > 1 && text == argv[1] ? 2 : 1;
	return option_take(o, row, text, f);
}

/* Parses one "-abc", where the first letter with an argument takes the rest, or the next word. */
static int parse_short(struct options *o, int argc, char **argv, int *used, struct fail *f)
{
	*used = 1;
	for (const char *p = argv[0] + 1; *p; p++) {
		const struct option *row = option_find_letter(o->tables, *p);
		const char *text;
		int rc;

		if (!row)
			return fail_set(f, -EINVAL, "cannot understand '%.60s': no option '-%c'", argv[0],
				*p < ' ' ? '?' : *p);
		if (row->kind == OPTION_FLAG) {
			rc = option_take(o, row, "", f);
			if (rc)
				return rc;
			continue;
		}
		text = p[1] || row->kind == OPTION_OPTIONAL ? p + 1 : option_next_word(row, argc - 1, argv + 1);
		if (!text)
			return fail_set(f, -EINVAL, "-%c requires an argument (%s)", *p, option_arg_name(row));
		*used = argc > 1 && text == argv[1] ? 2 : 1;
		return option_take(o, row, text, f);
	}
	return 0;
}

/* "-", "" and "-5", where no option has that name, are words like others. */
static bool is_option(const struct options *o, const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return !(word[1] >= '0' && word[1] <= '9') || option_find_letter(o->tables, word[1]);
}

static int frame_option_parse(struct options *o, bool stop, int argc, char **argv, struct fail *f)
{
	int rc, used;

	for (int i = 0; i < argc; i += used) {
		used = 1;
		if (strcmp(argv[i], "--") == 0) {
			o->split = o->argc;
			for (i++; i < argc; i++)
				o->args[o->argc++] = argv[i];
			return 0;
		}
		if (!is_option(o, argv[i])) {
			o->args[o->argc++] = argv[i];
			if (!stop)
				continue;
			/* "nanopod run n1 -- cmd": the "--" between hosts and command is still ours */
			for (i++; i < argc; i++)
				if (o->split < 0 && strcmp(argv[i], "--") == 0)
					o->split = o->argc;
				else
					o->args[o->argc++] = argv[i];
			return 0;
		}
		rc = argv[i][1] == '-' ? parse_long(o, argc - i, argv + i, &used, f)
			: parse_short(o, argc - i, argv + i, &used, f);
		if (rc)
			return rc;
	}
	return 0;
}

static void option_put_split_back(struct options *o)
{
	static char parting[] = "--";
	int n = 0;

	for (int i = 0; i < o->argc; i++) {
		if (i == o->split && i > 0)
			o->whole[n++] = parting;
		o->whole[n++] = o->args[i];
	}
}

int option_parse(const struct option *const *tables, bool stop, int argc, char **argv,
	struct options **out, struct fail *f)
{
	struct options *o = calloc(1, sizeof *o);
	size_t letters = 1;
	int rc;

	for (int i = 0; i < argc; i++)
		letters += strlen(argv[i]);
	if (o) {
		o->typed = calloc(letters, sizeof *o->typed);
		o->args = calloc((size_t)argc + 1, sizeof *o->args);
		o->whole = calloc((size_t)argc + 2, sizeof *o->whole);
	}
	if (!o || !o->typed || !o->args || !o->whole) {
		option_free(o);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < TABLES_MAX - 1 && tables[i]; i++)
		o->tables[i] = tables[i];
	o->split = -1;
	rc = frame_option_parse(o, stop, argc, argv, f);
	if (rc) {
		option_free(o);
		return rc;
	}
	option_put_split_back(o);
	*out = o;
	return 0;
}

void option_free(struct options *o)
{
	if (!o)
		return;
	free(o->typed);
	free(o->args);
	free(o->whole);
	free(o);
}

int option_argc(const struct options *o)
{
	return o->argc;
}

char **option_argv(const struct options *o)
{
	return o->args;
}

char **option_words(const struct options *o, int from)
{
	return o->whole + from + (o->split > 0 && from >= o->split);
}

int option_split(const struct options *o)
{
	return o->split;
}

static const struct option *option_row_of(const struct options *o, const char *name)
{
	const struct option *row = option_find(o->tables, name, strlen(name));

	if (!row)
		abort();
	return row;
}

bool option_typed(const struct options *o, size_t i, const struct option **row, const char **text)
{
	if (i >= o->count)
		return false;
	*row = o->typed[i].row;
	*text = o->typed[i].text;
	return true;
}

const char *option_at(const struct options *o, const char *name, size_t i)
{
	const struct option *row = option_row_of(o, name);

	for (size_t k = 0; k < o->count; k++)
		if (o->typed[k].row == row && i-- == 0)
			return o->typed[k].text;
	return NULL;
}

size_t option_count(const struct options *o, const char *name)
{
	const struct option *row = option_row_of(o, name);
	size_t n = 0;

	for (size_t k = 0; k < o->count; k++)
		n += o->typed[k].row == row;
	return n;
}

bool option_given(const struct options *o, const char *name)
{
	return option_count(o, name) > 0;
}

const char *option_text(const struct options *o, const char *name)
{
	size_t n = option_count(o, name);

	return n ? option_at(o, name, n - 1) : option_row_of(o, name)->fallback;
}

long option_int(const struct options *o, const char *name)
{
	const char *text = option_text(o, name);
	const struct option *row = option_row_of(o, name);
	long v = 0;

	if (text && !option_is_none(row, text) && read_int(row, text, &v, NULL))
		abort();
	return v;
}

int64_t option_ms(const struct options *o, const char *name)
{
	const char *text = option_text(o, name);
	int64_t v = 0;

	if (text && !option_is_none(option_row_of(o, name), text) && value_duration(text, &v, NULL))
		abort();
	return v;
}

uint64_t option_bytes(const struct options *o, const char *name)
{
	const char *text = option_text(o, name);
	uint64_t v = 0;

	if (text && !option_is_none(option_row_of(o, name), text) && value_size(text, &v, NULL))
		abort();
	return v;
}
