/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/jsonwalk.h"

#include <stdlib.h>
#include <string.h>

const char *jsonwalk_blank(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *jsonwalk_string_end(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : NULL;
}

const char *jsonwalk_end(const char *p)
{
	size_t depth = 0;

	p = jsonwalk_blank(p);
	if (!*p)
		return NULL;
	if (*p != '"' && *p != '{' && *p != '[')
		return p + strcspn(p, ",]} \t\r\n");
	do {
		if (*p == '"') {
			p = jsonwalk_string_end(p);
			if (!p)
				return NULL;
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		p++;
	} while (*p && depth);
	return depth ? NULL : p;
}

/* Reads the member at p, which is behind a bracket or a comma. */
static bool jsonwalk_member(const char *p, bool object, struct jsonwalk *w)
{
	const char *end;

	p = jsonwalk_blank(p);
	w->key = NULL;
	if (object) {
		end = *p == '"' ? jsonwalk_string_end(p) : NULL;
		if (!end)
			return false;
		w->key = p + 1;
		w->key_len = (size_t)(end - p) - 2;
		p = jsonwalk_blank(end);
		if (*p != ':')
			return false;
		p = jsonwalk_blank(p + 1);
	}
	end = *p == ']' || *p == '}' ? NULL : jsonwalk_end(p);
	if (!end)
		return false;
	w->value = p;
	w->len = (size_t)(end - p);
	w->next = jsonwalk_blank(end);
	return true;
}

bool jsonwalk_first(const char *p, struct jsonwalk *w)
{
	p = jsonwalk_blank(p);
	return (*p == '{' || *p == '[') && jsonwalk_member(p + 1, *p == '{', w);
}

bool jsonwalk_next(struct jsonwalk *w)
{
	return *w->next == ',' && jsonwalk_member(w->next + 1, w->key != NULL, w);
}

static bool jsonwalk_child(const char *value, const char *name, size_t len, struct jsonwalk *w)
{
	size_t at = 0;

	for (bool more = jsonwalk_first(value, w); more; more = jsonwalk_next(w), at++) {
		char *end;

		if (w->key ? w->key_len == len && memcmp(w->key, name, len) == 0
			   : len && strspn(name, "0123456789") >= len && strtoul(name, &end, 10) == at)
			return true;
	}
	return false;
}

const char *jsonwalk_find(const char *value, const char *path, size_t path_len, size_t *len)
{
	struct jsonwalk w = { .value = value };

	while (path_len) {
		const char *dot = memchr(path, '.', path_len);
		size_t part = dot ? (size_t)(dot - path) : path_len;

		if (!jsonwalk_child(w.value, path, part, &w))
			return NULL;
		if (strncmp(w.value, "null", 4) == 0)
			break;
		path += part + (dot != NULL);
		path_len -= part + (dot != NULL);
	}
	*len = w.len;
	return w.value;
}

static int jsonwalk_rune(unsigned long c, struct buf *out)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c >= 0xd800 && c < 0xe000) /* half of a pair */
		c = 0xfffd;
	for (size_t i = n; i-- > 1; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(n == 1 ? c : n == 2 ? 0xc0 | c : n == 3 ? 0xe0 | c : 0xf0 | c);
	return buf_add(out, s, n);
}

/* What follows "\\u". */
static unsigned long jsonwalk_hex(const char *digits)
{
	char hex[5] = "";

	memcpy(hex, digits, 4);
	return strtoul(hex, NULL, 16);
}

int jsonwalk_text(const char *value, size_t len, struct buf *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	int rc = 0;

	if (len == 4 && memcmp(value, "null", 4) == 0)
		return 0;
	if (*value != '"')
		return buf_add(out, value, len);
	for (size_t i = 1; !rc && i + 1 < len; i++) {
		const char *known;

		if (value[i] != '\\') {
			rc = buf_addc(out, value[i]);
			continue;
		}
		i++;
		known = strchr(from, value[i]);
		if (value[i] == 'u' && i + 5 < len) {
			unsigned long c = jsonwalk_hex(value + i + 1), low;

			i += 4;
			low = i + 7 < len && value[i + 1] == '\\' && value[i + 2] == 'u' ? jsonwalk_hex(value + i + 3)
											 : 0;
			if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i += 6;
			}
			rc = jsonwalk_rune(c, out);
		} else {
			rc = buf_addc(out, known ? to[known - from] : value[i]);
		}
	}
	return rc;
}
