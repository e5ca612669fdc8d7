/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/cursor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"

enum { LETTERS = 13 };

static const struct {
	const char *prefix;
	size_t words;
} kinds[] = {
#define CURSOR_ROW(name, prefix, words) { prefix, words },
	CURSORS(CURSOR_ROW)
#undef CURSOR_ROW
};

const char *cursor_prefix(enum cursor_kind kind)
{
	return kinds[kind].prefix;
}

const char *cursor_text(enum cursor_kind kind, const uint64_t *words, char room[CURSOR_TEXT])
{
	size_t len = (size_t)snprintf(room, CURSOR_TEXT, "%s_", kinds[kind].prefix);

	for (size_t i = 0; i < kinds[kind].words; i++) {
		char text[IDENT_TEXT];

		ident_text(IDENT_CONTRACT, words[i], text);
		memcpy(room + len, strchr(text, '_') + 1, LETTERS);
		len += LETTERS;
	}
	room[len] = '\0';
	return room;
}

int cursor_parse(enum cursor_kind kind, const char *text, uint64_t words[CURSOR_WORDS])
{
	size_t prefix = strlen(kinds[kind].prefix), n = kinds[kind].words;
	uint64_t found[CURSOR_WORDS] = { 0 };

	if (strncmp(text, kinds[kind].prefix, prefix) != 0 || text[prefix] != '_' ||
	    strlen(text + prefix + 1) != n * LETTERS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		char word[IDENT_TEXT];

		snprintf(word, sizeof word, "cont_%.*s", (int)LETTERS, text + prefix + 1 + i * LETTERS);
		if (!ident_parse(IDENT_CONTRACT, word, &found[i]))
			return -EINVAL;
	}
	memcpy(words, found, sizeof found);
	return 0;
}
