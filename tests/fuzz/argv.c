/* SPDX-License-Identifier: Apache-2.0 */
/* Any words as a command line: parsed and asked for, or refused with a sentence; and completed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/cmd/candidates.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"

enum { WORDS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct option own[] = {
	{ "size", 's', OPTION_SIZE, .fallback = "1M", .help = "size" },
	{ "wait", 'w', OPTION_DURATION, .fallback = "5m", .may_none = true, .help = "wait" },
	{ "count", 'c', OPTION_INT, .min = -5, .max = 5, .help = "count" },
	{ "word", 0, OPTION_STRING, .help = "word", .may_lack = true },
	{ 0 },
};

static int nothing(struct nanopod *np, const struct options *o)
{
	(void)np;
	(void)o;
	return STATUS_OK;
}

static const struct command mixed = {
	.name = "mixed", .args = "", .summary = "everything", .options = own, .formats = "table|json",
	.flags = COMMAND_ROWS | COMMAND_CONNECT, .max_args = -1, .complete_first = COMPLETE_GROUP,
	.complete_rest = COMPLETE_SETTING, .run = nothing,
};
static const struct command stopped = {
	.name = "stopped",
	.args = "",
	.summary = "ends at words",
	.options = own,
	.flags = COMMAND_STOP | COMMAND_CONNECT,
	.max_args = 2,
	.complete_first = COMPLETE_VALUES,
	.first_values = "a|b|c",
	.complete_rest = COMPLETE_PROGRAM,
	.run = nothing,
};
static const struct command *const commands[] = { &mixed, &stopped, NULL };

static void ask_all(const struct options *o)
{
	const struct option *row;
	const char *text;

	(void)option_bytes(o, "size");
	(void)option_ms(o, "wait");
	(void)option_int(o, "count");
	(void)option_text(o, "word");
	for (size_t i = 0; option_typed(o, i, &row, &text); i++)
		if (!text || option_count(o, row->name) == 0)
			abort();
	if (option_split(o) > option_argc(o) || option_argv(o)[option_argc(o)])
		abort();
}

static void check_parse(const struct command *cmd, int argc, char **argv)
{
	const struct option *tables[COMMAND_TABLES];
	struct options *o = NULL;
	struct fail f = { 0 };

	command_tables(cmd, tables);
	if (option_parse(tables, cmd->flags & COMMAND_STOP, argc, argv, &o, &f) == 0)
		ask_all(o);
	else if (o || !*f.text)
		abort();
	option_free(o);
}

static void found(void *arg, const char *word, const char *help)
{
	(void)help;
	if (!*word)
		abort();
	++*(size_t *)arg;
}

static void check_value(const char *text)
{
	uint64_t bytes;
	int64_t ms, again;
	char room[64];

	(void)value_size(text, &bytes, NULL);
	if (value_duration(text, &ms, NULL) == 0) {
		value_show_duration(ms, room, sizeof room);
		if (value_duration(room, &again, NULL) || again != ms)
			abort();
	}
}

/* A line is a word. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nanopod np = { .commands = commands, .out = stdout, .err = stderr };
	char *text = malloc(size + 1), *rest = text, *argv[WORDS_MAX + 1];
	size_t count = 0;
	int argc = 0;

	if (!text || settings_new(&np.settings))
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	while (argc < WORDS_MAX && (argv[argc] = strsep(&rest, "\n")))
		argc++;
	argv[argc] = NULL;
	check_parse(&mixed, argc, argv);
	check_parse(&stopped, argc, argv);
	if (settings_set(np.settings, SETTING_ID_SSH_CONFIG, LAYER_FLAG, "none", "test", NULL)
	    || settings_set(np.settings, SETTING_ID_KNOWN_HOSTS, LAYER_FLAG, "none", "test", NULL))
		abort();
	(void)candidates_find(&np, argv, argc, found, &count);
	for (int i = 0; i < argc; i++)
		check_value(argv[i]);
	settings_free(np.settings);
	free(text);
	return 0;
}
