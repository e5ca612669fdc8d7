/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/uri.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static int uri_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Decodes [from, to) to *at and ends it with a NUL. Refuses an encoded '/' in a path, which would be a
 * second way to write another path, and control characters, which no name has.
 */
static int uri_decode(const char *from, const char *to, bool query, char **at)
{
	char *start = *at, *out = *at;

	while (from < to) {
		char c = *from++;

		if (c == '%') {
			if (to - from < 2 || uri_hex(from[0]) < 0 || uri_hex(from[1]) < 0)
				return -EINVAL;
			c = (char)(uri_hex(from[0]) * 16 + uri_hex(from[1]));
			from += 2;
			if (!query && c == '/')
				return -EINVAL;
		} else if (query && c == '+') {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return -EINVAL;
		*out++ = c;
	}
	if (!utf8_valid(start, (size_t)(out - start)))
		return -EINVAL;
	*out++ = '\0';
	*at = out;
	return 0;
}

static int parse_query(const char *text, struct uri *u, char **at)
{
	while (*text) {
		const char *end = text + strcspn(text, "&");
		const char *is = memchr(text, '=', (size_t)(end - text));

		if (end > text) {
			if (u->query_count == QUERY_MAX)
				return -E2BIG;
			u->query[u->query_count].name = *at;
			if (uri_decode(text, is ? is : end, true, at) != 0)
				return -EINVAL;
			u->query[u->query_count].value = *at;
			if (uri_decode(is ? is + 1 : end, end, true, at) != 0)
				return -EINVAL;
			u->query_count++;
		}
		text = *end ? end + 1 : end;
	}
	return 0;
}

int uri_parse(const char *raw, struct uri *out)
{
	size_t len = strlen(raw), path_len = strcspn(raw, "?");
	struct uri u = { 0 };
	char *at;
	int rc;

	if (len > URI_MAX || path_len > URI_PATH_MAX)
		return -E2BIG;
	if (raw[0] != '/' || strchr(raw, '#'))
		return -EINVAL;
	u.room = at = malloc(len + 2 + 2 * QUERY_MAX);
	if (!at)
		return -ENOMEM;
	u.path = at;
	rc = uri_decode(raw, raw + path_len, false, &at);
	if (rc == 0 && raw[path_len] == '?')
		rc = parse_query(raw + path_len + 1, &u, &at);
	if (rc != 0) {
		free(u.room);
		return rc;
	}
	*out = u;
	return 0;
}

void uri_release(struct uri *u)
{
	free(u->room);
	memset(u, 0, sizeof *u);
}
