/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod help: prints the pages of cli/frame/usage.c. */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/usage.h"

/* Tools whose place nanopod takes, where it is called by their name. */
static void help_dropins(struct nanopod *np, FILE *out)
{
	fputs("Called by the name of one of these, nanopod does what that tool does: with its options, its output and\n"
	      "its exit status. 'ln -s \"$(command -v nanopod)\" ~/bin/pdsh' gives it such a name.\n\n",
		out);
	for (const struct command *const *cmd = np->commands; *cmd; cmd++) {
		const char *alias = (*cmd)->aliases ? (*cmd)->aliases[0] : NULL;

		if ((*cmd)->flags & COMMAND_DROPIN)
			fprintf(out, "  %-7s %s%s%s%s\n", (*cmd)->name, (*cmd)->summary, alias ? " (also " : "",
				alias ? alias : "", alias ? ")" : "");
	}
	fputs("\n'nanopod help pdsh' lists the options, and nanopod-dropins(7) says what differs.\n", out);
}

static const struct {
	const char *name;
	void (*show)(struct nanopod *np, FILE *out);
} topics[] = {
	{ "commands", usage_commands },
	{ "options", usage_options },
	{ "connection", usage_connection },
	{ "output", usage_output },
	{ "exit-codes", usage_statuses },
	{ "drop-ins", help_dropins },
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
	.positional =
		"COMMAND  whose page to show\nTOPIC    commands, options, connection, output, exit-codes or drop-ins",
	.options = options,
	.flags = COMMAND_NO_SETTINGS | COMMAND_MORE,
	.max_args = 1,
	.complete_first = COMPLETE_COMMAND,
	.first_values = "commands|options|connection|output|exit-codes",
	.run = help_command,
};
