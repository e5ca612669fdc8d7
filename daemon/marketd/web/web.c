/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/web/web.h"

#include <string.h>
#include <strings.h>

const struct web_file *web_find(const char *path)
{
	for (const struct web_file *f = web_files; f->path; f++)
		if (strcmp(f->path, path) == 0)
			return f;
	return NULL;
}

bool web_lasts(const struct web_file *f)
{
	return strncmp(f->path, WEB_ASSETS, strlen(WEB_ASSETS)) == 0;
}

/* ---- Lists in headers -------------------------------------------------------------------- */

/* The next word of "a;q=0.5, b": without blanks and what follows ';'. false at the end. */
static bool web_word(const char **at, const char **word, size_t *len, const char **rest)
{
	*at += strspn(*at, ", \t");
	if (!**at)
		return false;
	*word = *at;
	*len = strcspn(*at, ";, \t");
	*rest = *at + *len;
	*at += strcspn(*at, ",");
	return true;
}

static bool web_word_is(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && strncasecmp(word, text, len) == 0;
}

/* ";q=0" or ";q=0.000": not wanted. */
static bool web_refused(const char *rest, const char *end)
{
	const char *q = rest;

	while (q < end && (*q == ' ' || *q == '\t' || *q == ';'))
		q++;
	if (end - q < 3 || (*q != 'q' && *q != 'Q') || q[1] != '=' || q[2] != '0')
		return false;
	for (q += 3; q < end && *q != ';'; q++)
		if (*q >= '1' && *q <= '9')
			return false;
	return true;
}

bool web_takes_page(const char *accept)
{
	const char *word, *rest;
	bool json = false;
	size_t len;

	if (!accept)
		return true;
	while (web_word(&accept, &word, &len, &rest)) {
		if (web_word_is(word, len, "text/html") || web_word_is(word, len, "text/*") ||
			web_word_is(word, len, "*/*"))
			return true;
		json = true;
	}
	return !json;
}

bool web_takes_gzip(const char *accept_encoding)
{
	const char *at = accept_encoding ? accept_encoding : "", *word, *rest;
	bool any = false;
	size_t len;

	while (web_word(&at, &word, &len, &rest)) {
		if (web_word_is(word, len, "gzip") || web_word_is(word, len, "x-gzip"))
			return !web_refused(rest, at);
		if (web_word_is(word, len, "*"))
			any = !web_refused(rest, at);
	}
	return any;
}

bool web_same(const char *if_none_match, const struct web_file *f)
{
	const char *at = if_none_match ? if_none_match : "", *word, *rest;
	size_t len;

	while (web_word(&at, &word, &len, &rest)) {
		if (len > 2 && strncmp(word, "W/", 2) == 0) {
			word += 2;
			len -= 2;
		}
		if (web_word_is(word, len, "*") || web_word_is(word, len, f->etag) ||
			web_word_is(word, len, f->packed_etag))
			return true;
	}
	return false;
}
