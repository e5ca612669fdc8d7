/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/notetext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"

enum { TEXT_MAX = 16384 };

void notetext_drop(char **s)
{
	free(*s);
	*s = NULL;
}

static void notetext_join(char **to, const char *between, const char *text)
{
	size_t had = *to ? strlen(*to) : 0;
	char *whole;

	if (had + strlen(between) + strnlen(text, TEXT_MAX) > (size_t)TEXT_MAX * 4)
		return;
	if (asprintf(&whole, "%s%s%.*s", had ? *to : "", had ? between : "", TEXT_MAX, text) < 0)
		command_nomem();
	free(*to);
	*to = whole;
}

void notetext_put(char **to, const char *text, bool more)
{
	if (!more)
		notetext_drop(to);
	notetext_join(to, "\n", text);
}

void notetext_add(char **to, const char *text)
{
	notetext_join(to, "; ", text);
}
