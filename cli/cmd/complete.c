/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod complete: answers the shells' completion scripts. A line is a word and, after a tab, its meaning; a last
 * line ":files", ":dirs" or ":programs" tells what the shell adds itself.
 */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/cmd/candidates.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"

static void complete_found(void *arg, const char *word, const char *help)
{
	struct nanopod *np = arg;

	print_safe_line(np->out, word);
	if (help) {
		putc('\t', np->out);
		print_safe_line(np->out, help);
	}
	putc('\n', np->out);
}

/* Reads the settings that a later --config or --profile of the line chooses. */
static const char *word_after(char **words, int count, const char *option)
{
	for (int i = 0; i + 2 < count; i++)
		if (strcmp(words[i], option) == 0)
			return words[i + 1];
	return NULL;
}

static int complete_command(struct nanopod *np, const struct options *o)
{
	static const char *const rests[] = {
		[CANDIDATES_FILES] = ":files", [CANDIDATES_DIRS] = ":dirs", [CANDIDATES_PROGRAMS] = ":programs",
	};
	char **words = option_argv(o);
	int count = option_argc(o);
	enum candidates_rest rest;

	/* The command itself tells what is wrong with settings; here half of them is better than none. */
	(void)settings_load(np->settings, word_after(words, count, "--config"), word_after(words, count, "--profile"),
		NULL);
	rest = candidates_find(np, words, count, complete_found, np);
	if (rest != CANDIDATES_NOTHING)
		fprintf(np->out, "%s\n", rests[rest]);
	return STATUS_OK;
}

const struct command cmd_complete = {
	.name = "complete",
	.args = "-- WORD...",
	.summary = "list candidates for the last word",
	.flags = COMMAND_HIDDEN | COMMAND_NO_SETTINGS,
	.max_args = -1,
	.run = complete_command,
};
