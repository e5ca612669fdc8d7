/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/wrap.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

static const char ellipsis[] = "\xe2\x80\xa6";

bool wrap_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

const char *wrap_dots(void)
{
	return wrap_utf8() ? ellipsis : "...";
}

size_t wrap_is_dots(const char *text)
{
	size_t len = sizeof ellipsis - 1;

	return *text == *ellipsis && strncmp(text, ellipsis, len) == 0 && !wrap_utf8() ? len : 0;
}

size_t wrap_cut(const char *text, size_t *cells)
{
	size_t left = strlen(text), len = 0, width = 0;

	while (left > len) {
		size_t n = utf8_len(text + len, left - len), wide = wrap_is_dots(text + len) ? 3 : 0;

		n = n ? n : 1;
		wide = wide ? wide : utf8_width(text + len, n);
		if (width + wide > *cells)
			break;
		width += wide;
		len += n;
	}
	*cells = width;
	return len;
}

/* The word at text; one that begins a quotation takes the rest of it along, where that fits a line. */
static size_t wrap_word(const char *text, size_t cells)
{
	size_t word = strcspn(text, " "), quoted;
	const char *end = *text == '\'' ? strchr(text + 1, '\'') : NULL;

	if (!end || (size_t)(end - text) < word)
		return word;
	quoted = (size_t)(end - text) + 1;
	quoted += strcspn(text + quoted, " ");
	return utf8_width(text, quoted) <= cells ? quoted : word;
}

size_t wrap_line(const char *text, size_t cells, size_t *skip)
{
	size_t len = 0;

	while (text[len]) {
		size_t blanks = strspn(text + len, " "), next = len + blanks + wrap_word(text + len + blanks, cells);

		if (len && utf8_width(text, next) > cells)
			break;
		len = next;
	}
	*skip = len + strspn(text + len, " ");
	return len;
}
