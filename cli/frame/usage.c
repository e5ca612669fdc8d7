/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/usage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"

enum { PAGE_MAX = 4 << 20, LINE_COLUMNS = 100 };

static void usage_heading(struct nanopod *np, FILE *out, const char *text)
{
	fprintf(out, "\n%s%s:%s\n", print_color(np, out, COLOR_BOLD), text, print_color(np, out, COLOR_NONE));
}

static unsigned columns_of(FILE *out)
{
	unsigned columns = print_columns(out);

	return columns > LINE_COLUMNS ? LINE_COLUMNS : columns;
}

static void put_commands(struct nanopod *np, FILE *out, unsigned without)
{
	size_t width = 0;

	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & COMMAND_HIDDEN) && strlen((*cmd)->name) > width)
			width = strlen((*cmd)->name);
	usage_heading(np, out, "Commands");
	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & (COMMAND_HIDDEN | without)))
			fprintf(out, "  %-*s  %s\n", (int)width, (*cmd)->name, (*cmd)->summary);
}

static void put_more(struct nanopod *np, FILE *out)
{
	struct buf names;

	buf_init(&names, PAGE_MAX);
	buf_adds(&names, "More:");
	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (((*cmd)->flags & (COMMAND_HIDDEN | COMMAND_MORE)) == COMMAND_MORE)
			buf_addf(&names, " %s", (*cmd)->name);
	putc('\n', out);
	print_fill(out, buf_text(&names), 0, columns_of(out));
	buf_release(&names);
}

void usage_short(struct nanopod *np, FILE *out)
{
	fputs("usage: nanopod COMMAND [options] [arguments]\n", out);
	put_commands(np, out, COMMAND_MORE);
	put_more(np, out);
	fputs("\n'nanopod help COMMAND' shows a command with examples, 'nanopod help' all commands.\n", out);
}

static void put_examples(struct nanopod *np, const struct command *cmd, FILE *out)
{
	if (!cmd->examples || !cmd->examples->line)
		return;
	usage_heading(np, out, "Examples");
	for (const struct example *e = cmd->examples; e->line; e++)
		fprintf(out, "  %s%s%s\n      %s\n", print_color(np, out, COLOR_CYAN), e->line,
			print_color(np, out, COLOR_NONE), e->what);
}

/* "  -f, --fanout N" */
static void option_label(const struct option *row, bool letter, struct buf *label)
{
	const char *arg = option_arg_name(row);

	buf_clear(label);
	if (letter)
		buf_addf(label, "  -%c, --%s", row->letter, row->name);
	else
		buf_addf(label, "      --%s", row->name);
	if (arg && row->kind == OPTION_OPTIONAL)
		buf_addf(label, "[=%s]", arg);
	else if (arg)
		buf_addf(label, " %s", arg);
}

/* ": table, wide or json" */
static void add_values(struct buf *text, const char *values)
{
	const char *before = ": ";

	while (*values) {
		size_t len = strcspn(values, "|");

		buf_addf(text, "%s%.*s", before, (int)len, values);
		values += len + (values[len] == '|');
		before = strchr(values, '|') ? ", " : " or ";
	}
}

static void put_option(const struct command *cmd, const struct option *const *tables, const struct option *row,
	FILE *out)
{
	enum { HELP_COLUMN = 28 };
	struct buf label, text;

	buf_init(&label, 256);
	buf_init(&text, 4096);
	option_label(row, row->letter && option_find_letter(tables, row->letter) == row, &label);
	buf_adds(&text, row->help ? row->help : "");
	if (row->values && row->kind != OPTION_ENUM && row->arg)
		add_values(&text, command_values(cmd, row));
	if (row->fallback)
		buf_addf(&text, " (default %s)", row->fallback);
	fprintf(out, "%-*s", HELP_COLUMN, buf_text(&label));
	if (label.len + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	print_hang(out, buf_text(&text), HELP_COLUMN, columns_of(out));
	buf_release(&label);
	buf_release(&text);
}

static const char *section_of(const struct option *row)
{
	return row->section ? row->section : "Options";
}

/* All options of one section, whichever table has them. */
static void usage_put_section(struct nanopod *np, const struct command *cmd, const struct option *const *tables,
	const char *section, FILE *out)
{
	usage_heading(np, out, section);
	for (const struct option *const *table = tables; *table; table++)
		for (const struct option *row = *table; row->name; row++)
			if (strcmp(section_of(row), section) == 0 &&
				option_find(tables, row->name, strlen(row->name)) == row)
				put_option(cmd, tables, row, out);
}

static bool is_new_section(const struct option *const *tables, const struct option *first)
{
	for (const struct option *const *table = tables; *table; table++) {
		for (const struct option *row = *table; row->name; row++) {
			if (row == first)
				return true;
			if (strcmp(section_of(row), section_of(first)) == 0)
				return false;
		}
	}
	return true;
}

static void put_options(struct nanopod *np, const struct command *cmd, FILE *out)
{
	const struct option *tables[COMMAND_TABLES];

	command_tables(cmd, tables);
	for (const struct option *const *table = tables; *table; table++)
		for (const struct option *row = *table; row->name; row++)
			if (is_new_section(tables, row))
				usage_put_section(np, cmd, tables, section_of(row), out);
}

/* "HOSTS  names or ranges" lines, as tables have them. */
static void put_positional(struct nanopod *np, const char *text, FILE *out)
{
	usage_heading(np, out, "Arguments");
	while (*text) {
		size_t len = strcspn(text, "\n");

		fprintf(out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void usage_command(struct nanopod *np, const struct command *cmd, FILE *out)
{
	char *line = command_usage(cmd);

	fprintf(out, "usage: %s\n\n", line);
	free(line);
	fprintf(out, "%c%s.\n", toupper((unsigned char)cmd->summary[0]), cmd->summary + 1);
	put_examples(np, cmd, out);
	if (cmd->aliases && *cmd->aliases) {
		usage_heading(np, out, "Also called");
		for (const char *const *alias = cmd->aliases; *alias; alias++)
			fprintf(out, "  nanopod %s\n", *alias);
	}
	if (cmd->positional)
		put_positional(np, cmd->positional, out);
	put_options(np, cmd, out);
	if (cmd->description) {
		usage_heading(np, out, "More");
		print_fill(out, cmd->description, 2, columns_of(out));
	}
}

void usage_overview(struct nanopod *np, FILE *out)
{
	fputs("usage: nanopod COMMAND [options] [arguments]\n", out);
	usage_heading(np, out, "Examples");
	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & COMMAND_HIDDEN) && (*cmd)->examples && (*cmd)->examples->line)
			fprintf(out, "  %s%s%s\n      %s\n", print_color(np, out, COLOR_CYAN), (*cmd)->examples->line,
				print_color(np, out, COLOR_NONE), (*cmd)->examples->what);
	put_commands(np, out, 0);
	put_options(np, NULL, out);
	usage_heading(np, out, "More");
	print_fill(out,
		"'nanopod help COMMAND' shows one command, 'nanopod help exit-codes' explains the exit statuses, "
		"'nanopod help --json' all of it for programs.\n\n"
		"Settings come from flags, NANOPOD_* variables, ./.nanopod.yaml, ~/.config/nanopod/config.yaml and "
		"/etc/nanopod/config.yaml, the first that has a value; 'nanopod config --origin' shows them.\n\n"
		"A program 'nanopod-foo' on PATH is 'nanopod foo'.",
		2, columns_of(out));
}

void usage_statuses(struct nanopod *np, FILE *out)
{
	(void)np;
#define STATUS_LINE(name, status, code, retryable, text) fprintf(out, "%3d  %-12s  %s\n", status, code, text);
	STATUSES(STATUS_LINE)
#undef STATUS_LINE
}

/* ---- JSON ------------------------------------------------------------------------------ */

static const char *const kinds[] = {
	[OPTION_FLAG] = "flag", [OPTION_INT] = "int", [OPTION_SIZE] = "size", [OPTION_DURATION] = "duration",
	[OPTION_STRING] = "string", [OPTION_LIST] = "list", [OPTION_ENUM] = "enum", [OPTION_OPTIONAL] = "optional",
};

static void json_words(struct json *j, const char *key, const char *values)
{
	json_begin_array(j, key);
	while (values && *values) {
		size_t len = strcspn(values, "|");

		json_bytes(j, NULL, values, len);
		values += len + (values[len] == '|');
	}
	json_end(j);
}

static void json_option(struct json *j, const struct command *cmd, const struct option *const *tables,
	const struct option *row)
{
	char letter[2] = { row->letter, '\0' };

	json_begin_object(j, NULL);
	json_text(j, "name", row->name);
	json_text(j, "letter", row->letter && option_find_letter(tables, row->letter) == row ? letter : NULL);
	json_text(j, "kind", kinds[row->kind]);
	json_text(j, "argument", option_arg_name(row));
	json_text(j, "default", row->fallback);
	if (row->values)
		json_words(j, "values", command_values(cmd, row));
	json_text(j, "setting", row->setting);
	json_text(j, "help", row->help);
	json_end(j);
}

static void json_options(struct json *j, const struct command *cmd)
{
	const struct option *tables[COMMAND_TABLES];

	command_tables(cmd, tables);
	json_begin_array(j, "options");
	for (const struct option *const *table = tables; *table; table++)
		for (const struct option *row = *table; row->name; row++)
			if (option_find(tables, row->name, strlen(row->name)) == row)
				json_option(j, cmd, tables, row);
	json_end(j);
}

static void json_command(struct json *j, const struct command *cmd)
{
	char *line = command_usage(cmd);

	json_begin_object(j, NULL);
	json_text(j, "name", cmd->name);
	json_begin_array(j, "aliases");
	for (const char *const *alias = cmd->aliases; alias && *alias; alias++)
		json_text(j, NULL, *alias);
	json_end(j);
	json_text(j, "usage", line);
	json_text(j, "summary", cmd->summary);
	json_text(j, "description", cmd->description);
	json_begin_array(j, "examples");
	for (const struct example *e = cmd->examples; e && e->line; e++) {
		json_begin_object(j, NULL);
		json_text(j, "line", e->line);
		json_text(j, "what", e->what);
		json_end(j);
	}
	json_end(j);
	json_words(j, "formats", cmd->formats);
	json_options(j, cmd);
	json_end(j);
	free(line);
}

void usage_json(struct nanopod *np, FILE *out)
{
	struct buf page;
	struct json j;

	buf_init(&page, PAGE_MAX);
	j = json_to(&page);
	json_begin_object(&j, NULL);
	json_text(&j, "usage", "nanopod COMMAND [options] [arguments]");
	json_options(&j, NULL);
	json_begin_array(&j, "commands");
	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & COMMAND_HIDDEN))
			json_command(&j, *cmd);
	json_end(&j);
	json_begin_array(&j, "exit_statuses");
#define STATUS_JSON(name, status, code, retryable, text) \
	json_begin_object(&j, NULL); \
	json_int(&j, "status", status); \
	json_text(&j, "code", code); \
	json_bool(&j, "retryable", retryable); \
	json_text(&j, "text", text); \
	json_end(&j);
	STATUSES(STATUS_JSON)
#undef STATUS_JSON
	json_end(&j);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(out, "%s\n", buf_text(&page));
	buf_release(&page);
}
