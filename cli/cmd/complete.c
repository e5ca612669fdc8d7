/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod complete: what the shells' scripts ask. A line is a word, and after a tab what it is
 * for; a last line ":files", ":dirs" or ":programs" says what the shell adds by itself.
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

/* The files that a --config or --profile further on would choose are the ones that count. */
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

	/* Broken settings are told by the command itself; here half of them is better than none. */
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
	.summary = "list what may stand in the place of the last word",
	.flags = COMMAND_HIDDEN | COMMAND_NO_SETTINGS,
	.max_args = -1,
	.run = complete_command,
};
