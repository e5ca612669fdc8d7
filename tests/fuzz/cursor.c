/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors that come back from clients: what is taken must be written again as it was. */
#include "marketd/api/cursor.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), room[CURSOR_TEXT];
	uint64_t words[CURSOR_WORDS];
	unsigned taken = 0;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	for (int kind = 0; kind < CURSOR_KINDS; kind++)
		if (cursor_parse((enum cursor_kind)kind, text, words) == 0) {
			taken++;
			if (strcmp(cursor_text((enum cursor_kind)kind, words, room), text) != 0)
				__builtin_trap();
		}
	if (taken > 1)
		__builtin_trap();
	free(text);
	return 0;
}
