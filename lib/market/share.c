/* SPDX-License-Identifier: Apache-2.0 */
#include "market/share.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Digits without a leading 0, at most four. */
static size_t share_digits(const char *p)
{
	size_t n = 0;

	while (n < 5 && isdigit((unsigned char)p[n]))
		n++;
	return n < 5 && *p != '0' ? n : 0;
}

/* "+me", "-me", "+me.all" */
static size_t share_attribute(const char *p)
{
	size_t n = 1;

	if (*p != '+' && *p != '-')
		return 0;
	while (islower((unsigned char)p[n]) || (p[n] == '.' && n > 1 && p[n - 1] != '.'))
		n++;
	return n > 1 && p[n - 1] != '.' ? n : 0;
}

bool share_is_profile(const char *name)
{
	const char *p = name;
	size_t n = share_digits(p);

	if (!n || strncmp(p + n, "g.", 2) != 0)
		return false;
	p += n + 2;
	n = share_digits(p);
	if (!n || strncmp(p + n, "gb", 2) != 0)
		return false;
	for (p += n + 2; (n = share_attribute(p)) != 0;)
		p += n;
	return *p == '\0' && (size_t)(p - name) < SHARE_SLICE;
}

bool share_is_slice(const char *text)
{
	return text && str_starts(text, SHARE_MIG);
}

bool share_read(const char *text, struct share *out)
{
	struct share s = { 0 };
	long parts = 0;

	if (share_is_slice(text)) {
		text += strlen(SHARE_MIG);
		if (!share_is_profile(text))
			return false;
		snprintf(s.slice, sizeof s.slice, "%s", text);
	} else if (!text || strncmp(text, "1/", 2) != 0 || str_to_long(text + 2, 2, SHARE_PARTS, &parts) != 0) {
		return false;
	}
	s.parts = (unsigned)parts;
	*out = s;
	return true;
}
