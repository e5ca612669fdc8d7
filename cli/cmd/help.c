/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod help: prints the pages of cli/frame/usage.c. */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/usage.h"

static const struct {
	const char *name;
	void (*show)(struct nanopod *np, FILE *out);
} topics[] = {
	{ "commands", usage_commands },
	{ "options", usage_options },
	{ "connection", usage_connection },
	{ "output", usage_output },
	{ "exit-codes", usage_statuses },
};

static int help_command(struct nanopod *np, const struct options *o)
{
	const char *topic = option_argc(o) ? option_argv(o)[0] : NULL;
	const struct command *cmd, *near;
	char hint[128];

	if (option_given(o, "json")) {
		usage_json(np, np->out);
		return STATUS_OK;
	}
	if (!topic) {
		usage_overview(np, np->out);
		return STATUS_OK;
	}
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
		if (strcmp(topic, topics[i].name) == 0) {
			topics[i].show(np, np->out);
			return STATUS_OK;
		}
	}
	cmd = command_find(np, topic);
	if (cmd) {
		usage_command(np, cmd, np->out);
		return STATUS_OK;
	}
	near = command_nearest(np, topic);
	if (near)
		snprintf(hint, sizeof hint, "did you mean 'nanopod help %s'?", near->name);
	else
		snprintf(hint, sizeof hint, "'nanopod help' lists the commands");
	return print_fail(np, STATUS_USAGE, hint, "cannot help with '%.60s': no such command", topic);
}

static const struct option options[] = {
	{ "json", 0, OPTION_FLAG, .help = "print every command, option, default, example and exit status as JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod help run", "one command, with examples" },
	{ "nanopod help exit-codes", "meaning of the exit statuses" },
	{ "nanopod help --json", "everything, for programs" },
	{ 0 },
};

const struct command cmd_help = {
	.name = "help",
	.args = "[COMMAND | TOPIC]",
	.summary = "show how to use nanopod",
	.examples = examples,
	.description = "Prints the same page as 'nanopod COMMAND --help'. It reads no file and contacts no host.",
	.positional = "COMMAND  whose page to show\nTOPIC    commands, options, connection, output or exit-codes",
	.options = options,
	.flags = COMMAND_NO_SETTINGS,
	.max_args = 1,
	.complete_first = COMPLETE_COMMAND,
	.first_values = "commands|options|connection|output|exit-codes",
	.run = help_command,
};
