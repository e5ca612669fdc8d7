/* SPDX-License-Identifier: Apache-2.0 */
/* Options of nanopod-marketd whose text has parts. */
#include "marketd/options.h"

#include <string.h>

#include "base/str.h"
#include "marketd/api/render.h"

/* Every word of "group=role,…" names a role. */
bool options_roles_valid(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, ","), equals = strcspn(text, "=");

		if (equals == 0 || equals >= len || !role_read(text + equals + 1, len - equals - 1))
			return false;
		text += len + (text[len] == ',');
	}
	return true;
}

/* It stands in texts that people sign, so it has no more than a host and a path. */
bool options_url_valid(const char *text)
{
	size_t head = strncmp(text, "https://", 8) == 0 ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
	bool fits = head && text[head] && text[head] != '/' && strlen(text) <= 200 && !strpbrk(text, "?#@\"<>\\");

	for (; *text; text++)
		fits = fits && *text > ' ' && *text <= '~';
	return fits;
}

/* Days, each more than the one before: "7,14,30". */
bool options_dunning_read(const char *text, int32_t days[3])
{
	enum { DAYS_MOST = 3650 };
	long last = 0;

	for (int i = 0; i < 3; i++) {
		size_t len = strcspn(text, ",");
		char one[8];

		if (len >= sizeof one || (i < 2) != (text[len] == ','))
			return false;
		memcpy(one, text, len);
		one[len] = '\0';
		if (str_to_long(one, last + 1, DAYS_MOST, &last) != 0)
			return false;
		days[i] = (int32_t)last;
		text += len + 1;
	}
	return true;
}
