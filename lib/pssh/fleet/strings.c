/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of texts that end with NULL. */
#include <stdlib.h>
#include <string.h>

#include "pssh/fleet/fleet.h"

int strings_add(char ***list, size_t *count, const char *text)
{
	char **more = text ? realloc(*list, (*count + 2) * sizeof *more) : NULL;
	char *copy;

	if (!more)
		return PSSH_ENOMEM;
	*list = more;
	copy = strdup(text);
	if (!copy)
		return PSSH_ENOMEM;
	more[(*count)++] = copy;
	more[*count] = NULL;
	return 0;
}

void strings_free(char ***list, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free((*list)[i]);
	free(*list);
	*list = NULL;
	*count = 0;
}
