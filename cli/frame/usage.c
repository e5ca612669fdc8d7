/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/usage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"

enum { PAGE_MAX = 4 << 20, LINE_COLUMNS = 100 };

static const char usage_line[] = "usage: nanopod COMMAND [options] [arguments]";

/* What people copy is broken on a terminal alone. */
static size_t usage_room(const struct nanopod *np, FILE *out)
{
	return (out == np->err ? np->tty_err : np->tty_out) ? print_columns(out) : SIZE_MAX;
}

static void usage_heading(struct nanopod *np, FILE *out, const char *text)
{
	fprintf(out, "\n%s", print_color(np, out, COLOR_BOLD));
	print_wrapped(out, text, 1, 0, usage_room(np, out));
	fprintf(out, ":%s\n", print_color(np, out, COLOR_NONE));
}

static unsigned columns_of(FILE *out)
{
	unsigned columns = print_columns(out);

	return columns > LINE_COLUMNS ? LINE_COLUMNS : columns;
}

/* The group that begins with the command; NULL: none does. */
static const struct command_group *group_at(const struct nanopod *np, const struct command *cmd)
{
	for (const struct command_group *g = np->groups; g && g->name; g++)
		if (g->first == cmd)
			return g;
	return NULL;
}

static size_t names_width(const struct nanopod *np)
{
	size_t width = 0;

	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & COMMAND_HIDDEN) && strlen((*cmd)->name) > width)
			width = strlen((*cmd)->name);
	return width;
}

static void put_summary(const struct command *cmd, size_t width, FILE *out)
{
	if (!(cmd->flags & COMMAND_HIDDEN))
		fprintf(out, "  %-*s  %s\n", (int)width, cmd->name, cmd->summary);
}

static void put_commands(struct nanopod *np, FILE *out, unsigned without)
{
	usage_heading(np, out, "Commands");
	for (const struct command *const *cmd = np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & without))
			put_summary(*cmd, names_width(np), out);
}

void usage_commands(struct nanopod *np, FILE *out)
{
	print_rest(np, out, usage_line, 0, strlen("usage: "));
	for (const struct command *const *cmd = np->commands; *cmd; cmd++) {
		if (group_at(np, *cmd))
			usage_heading(np, out, group_at(np, *cmd)->name);
		put_summary(*cmd, names_width(np), out);
	}
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
	print_rest(np, out, usage_line, 0, strlen("usage: "));
	put_commands(np, out, COMMAND_MORE);
	put_more(np, out);
	fputs("\n'nanopod help COMMAND' shows a command with examples, 'nanopod help' all.\n", out);
}

static void put_examples(struct nanopod *np, const struct command *cmd, FILE *out)
{
	if (!cmd->examples || !cmd->examples->line)
		return;
	usage_heading(np, out, "Examples");
	for (const struct example *e = cmd->examples; e->line; e++) {
		fprintf(out, "  %s", print_color(np, out, COLOR_CYAN));
		print_wrapped(out, e->line, 2, 4, usage_room(np, out));
		fprintf(out, "%s\n      ", print_color(np, out, COLOR_NONE));
		print_rest(np, out, e->what, 6, 6);
	}
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
	enum { HELP_COLUMN = 28, HELP_BELOW = 10, COLUMNS_BESIDE = 60 };
	bool beside = columns_of(out) >= COLUMNS_BESIDE;
	int indent = beside ? HELP_COLUMN : HELP_BELOW;
	struct buf label, text;

	buf_init(&label, 256);
	buf_init(&text, 4096);
	option_label(row, row->letter && option_find_letter(tables, row->letter) == row, &label);
	buf_adds(&text, row->help ? row->help : "");
	if (row->values && row->kind != OPTION_ENUM && row->arg)
		add_values(&text, command_values(cmd, row));
	if (row->fallback)
		buf_addf(&text, " (default %s)", row->fallback);
	fprintf(out, "%-*s", beside ? HELP_COLUMN : 0, buf_text(&label));
	if (!beside || label.len + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", indent, "");
	print_hang(out, buf_text(&text), (unsigned)indent, columns_of(out));
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

/* The names alone: they are the same in a dozen commands. */
static void put_connection(struct nanopod *np, FILE *out)
{
	struct buf names;

	buf_init(&names, PAGE_MAX);
	for (const struct option *row = command_connection(); row->name; row++)
		buf_addf(&names, "%s--%s", names.len ? " " : "", row->name);
	usage_heading(np, out, "Connection ('nanopod help connection' explains these)");
	print_fill(out, buf_text(&names), 2, columns_of(out));
	buf_release(&names);
}

static void put_options(struct nanopod *np, const struct command *cmd, FILE *out)
{
	const struct option *tables[COMMAND_TABLES];

	command_tables(cmd, tables);
	for (const struct option *const *table = tables; *table; table++) {
		if (*table == command_connection())
			put_connection(np, out);
		for (const struct option *row = *table; row->name && *table != command_connection(); row++)
			if (is_new_section(tables, row))
				usage_put_section(np, cmd, tables, section_of(row), out);
	}
}

/* "HOSTS  names or ranges" lines, as tables have them. */
static void put_positional(struct nanopod *np, const char *text, FILE *out)
{
	usage_heading(np, out, "Arguments");
	while (*text) {
		size_t len = strcspn(text, "\n"), indent = 2;
		char *line = strndup(text, len), *gap;

		if (!line)
			command_nomem();
		gap = strstr(line, "  ");
		if (gap)
			indent += (size_t)(gap - line) + strspn(gap, " ");
		fputs("  ", out);
		print_rest(np, out, line, 2, indent);
		free(line);
		text += len + (text[len] == '\n');
	}
}

void usage_command(struct nanopod *np, const struct command *cmd, FILE *out)
{
	char *line = command_usage(cmd);

	fputs("usage: ", out);
	print_rest(np, out, line, 7, 7);
	free(line);
	if (asprintf(&line, "%c%s.", toupper((unsigned char)cmd->summary[0]), cmd->summary + 1) < 0)
		command_nomem();
	putc('\n', out);
	print_rest(np, out, line, 0, 0);
	free(line);
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

/* "reservations (ls)" and the others of the group that begins at *cmd, which moves behind them. */
static void group_names(const struct nanopod *np, const struct command *const **cmd, struct buf *names)
{
	const struct command *const *first = *cmd;

	buf_clear(names);
	for (; **cmd && (*cmd == first || !group_at(np, **cmd)); (*cmd)++) {
		if ((**cmd)->flags & COMMAND_HIDDEN)
			continue;
		buf_addf(names, "%s%s", names->len ? " " : "", (**cmd)->name);
		for (const char *const *alias = (**cmd)->aliases; alias && *alias; alias++)
			buf_addf(names, " (%s)", *alias);
	}
}

static void put_pair(struct nanopod *np, const char *line, const char *what, FILE *out)
{
	enum { LINE = 34 };
	bool fits = LINE + 4 + strlen(what) <= columns_of(out);

	fprintf(out, "  %s%-*s%s", print_color(np, out, COLOR_CYAN), fits ? LINE : 0, line,
		print_color(np, out, COLOR_NONE));
	fputs(fits ? "  " : "\n      ", out);
	print_rest(np, out, what, fits ? LINE + 4 : 6, 6);
}

void usage_overview(struct nanopod *np, FILE *out)
{
	const struct command *const *cmd = np->commands;
	struct buf names;

	buf_init(&names, PAGE_MAX);
	print_rest(np, out, usage_line, 0, strlen("usage: "));
	putc('\n', out);
	while (*cmd) {
		const struct command_group *g = group_at(np, *cmd);

		group_names(np, &cmd, &names);
		fprintf(out, "%s%-10s%s", print_color(np, out, COLOR_BOLD), g ? g->name : "",
			print_color(np, out, COLOR_NONE));
		print_hang(out, buf_text(&names), 10, columns_of(out));
	}
	buf_release(&names);
	usage_heading(np, out, "Examples");
	put_pair(np, "nanopod local start", "try everything here, with play money", out);
	put_pair(np, "nanopod buy -t h100 -d 24h -p 2.10", "buy a node for a day", out);
	put_pair(np, "nanopod run -r first -- nvidia-smi", "run a command on its nodes", out);
	put_pair(np, "nanopod provision -r first slurm", "make a cluster of them", out);
	usage_heading(np, out, "More");
	put_pair(np, "nanopod help COMMAND", "one command, with examples", out);
	put_pair(np, "nanopod help commands", "what each command does", out);
	put_pair(np, "nanopod help options", "options and settings for all of them", out);
	put_pair(np, "nanopod help connection", "options of all that use SSH", out);
	put_pair(np, "nanopod help output", "formats: table, json, yaml, templates", out);
	put_pair(np, "nanopod help exit-codes", "exit statuses; --json: all, for programs", out);
}

void usage_options(struct nanopod *np, FILE *out)
{
	fputs("Options for every command, before its name or after it.\n", out);
	put_options(np, NULL, out);
	usage_heading(np, out, "Settings");
	print_fill(out,
		"Settings come from flags, NANOPOD_* variables, ./.nanopod.yaml, ~/.config/nanopod/config.yaml and "
		"/etc/nanopod/config.yaml, the first that has a value; 'nanopod config --origin' shows them.\n\n"
		"A program 'nanopod-foo' on PATH is 'nanopod foo'.",
		2, columns_of(out));
}

void usage_output(struct nanopod *np, FILE *out)
{
	static const char *const formats[][2] = {
		{ "table", "columns for people, as many as the terminal has room for" },
		{ "wide", "all columns, however wide" },
		{ "json, jsonl", "everything: one array, or an object a line as it comes" },
		{ "yaml", "the same as YAML" },
		{ "csv", "all columns, with a line of headings" },
		{ "name", "names alone, one a line, as -q" },
		{ "text", "output as it is, of commands that make no list" },
	};

	fputs("What -o and NANOPOD_OUTPUT choose; a command's page names those it has.\n", out);
	usage_heading(np, out, "Formats");
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		fprintf(out, "  %-13s%s\n", formats[i][0], formats[i][1]);
	usage_heading(np, out, "Fields");
	fputs("  --fields a,b            those columns, in that order\n"
	      "  --fields=               lists the fields of a command\n"
	      "  --template '{a} {b.c}'  a line for each result: fields of its JSON in braces,\n"
	      "                          {b.c} or {b.0} inside of one; \\t \\n {{ }}\n",
		out);
	usage_heading(np, out, "Examples");
	fputs("  nanopod nodes --template '{node} {status}'\n"
	      "  nanopod orders --all -o csv --fields order,total\n"
	      "  nanopod show first -o yaml\n",
		out);
}

void usage_connection(struct nanopod *np, FILE *out)
{
	const struct option *const tables[] = { command_connection(), NULL };

	fputs("Options of the commands that connect to hosts.\n", out);
	usage_put_section(np, NULL, tables, "Connection", out);
	usage_heading(np, out, "More");
	print_fill(out,
		"A command may use a letter for an option of its own; the long names are the same everywhere. Each is "
		"also a "
		"setting: 'nanopod config set user root', or NANOPOD_USER=root.",
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
