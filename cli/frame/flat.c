/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/flat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { DEEPEST = 64 };

struct scan {
	const char *p, *end;
	int depth;
};

static void flat_blank(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
		s->p++;
}

static bool flat_take(struct scan *s, char c)
{
	flat_blank(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static int flat_hex4(struct scan *s, unsigned long *out)
{
	unsigned long v = 0;

	if (s->end - s->p < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		char c = *s->p++;
		int d = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (d < 0)
			return -EINVAL;
		v = v * 16 + (unsigned long)d;
	}
	*out = v;
	return 0;
}

static int add_utf8(struct buf *b, unsigned long v)
{
	char s[4];
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;

	if (v == 0)
		return -EINVAL; /* a C string cannot hold it */
	for (size_t i = n; i-- > 1; v >>= 6)
		s[i] = (char)(0x80 | (v & 0x3f));
	s[0] = (char)(n == 1 ? v : (0xf00u >> n & 0xff) | v);
	return buf_add(b, s, n);
}

static int flat_escaped(struct scan *s, struct buf *b)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned long v, low;
	const char *at;

	if (s->p >= s->end)
		return -EINVAL;
	if (*s->p != 'u') {
		at = *s->p ? strchr(from, *s->p) : NULL;
		s->p++;
		return at ? buf_addc(b, to[at - from]) : -EINVAL;
	}
	s->p++;
	if (flat_hex4(s, &v) != 0)
		return -EINVAL;
	if (v >= 0xd800 && v < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
		s->p += 2;
		if (flat_hex4(s, &low) != 0 || low < 0xdc00 || low > 0xdfff)
			return -EINVAL;
		v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
	}
	return add_utf8(b, v >= 0xd800 && v < 0xe000 ? 0xfffd : v);
}

/* Text between quotes; out NULL: skips it. */
static int flat_string(struct scan *s, char **out)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, SIZE_MAX / 2);
	if (!flat_take(s, '"'))
		return -EINVAL;
	while (!rc && s->p < s->end && *s->p != '"') {
		const char *from = s->p;

		if (out && *s->p == '\\') {
			s->p++;
			rc = flat_escaped(s, &b);
			continue;
		}
		while (s->p < s->end && *s->p != '"' && *s->p != '\\')
			s->p++;
		if (out)
			rc = buf_add(&b, from, (size_t)(s->p - from));
		else if (s->p < s->end && *s->p == '\\')
			s->p += s->end - s->p > 1 ? 2 : 1;
	}
	if (!rc && s->p >= s->end)
		rc = -EINVAL;
	s->p++;
	if (!rc && out && !(*out = buf_steal(&b)))
		rc = -ENOMEM;
	buf_release(&b);
	return rc == -EFBIG ? -ENOMEM : rc;
}

static int flat_word(struct scan *s, char **out)
{
	static const char chars[] = "+-.0123456789abcdefghijklmnopqrstuvwxyzE";
	const char *from = s->p;

	while (s->p < s->end && *s->p && strchr(chars, *s->p))
		s->p++;
	if (s->p == from)
		return -EINVAL;
	if (!out || (*from >= 'a' && *from <= 'z'))
		return 0;
	*out = strndup(from, (size_t)(s->p - from));
	return *out ? 0 : -ENOMEM;
}

static int flat_nested(struct scan *s, char open);

static int flat_value(struct scan *s, char **out)
{
	flat_blank(s);
	if (s->p >= s->end)
		return -EINVAL;
	if (*s->p == '"')
		return flat_string(s, out);
	if (*s->p == '{' || *s->p == '[')
		return flat_nested(s, *s->p++);
	return flat_word(s, out);
}

static int flat_nested(struct scan *s, char open)
{
	char close = open == '{' ? '}' : ']';
	int rc = 0;

	if (++s->depth > DEEPEST)
		return -EINVAL;
	if (!flat_take(s, close)) {
		do {
			if (open == '{' && (flat_string(s, NULL) != 0 || !flat_take(s, ':')))
				return -EINVAL;
			rc = flat_value(s, NULL);
		} while (!rc && flat_take(s, ','));
		if (!rc && !flat_take(s, close))
			rc = -EINVAL;
	}
	s->depth--;
	return rc;
}

static int flat_member(struct flat *f, struct scan *s)
{
	char *key = NULL, *text = NULL;
	int rc = flat_string(s, &key);

	if (!rc && !flat_take(s, ':'))
		rc = -EINVAL;
	/* Hosts' output may be long, and no caller needs it. */
	if (!rc)
		rc = flat_value(s, strcmp(key, "data") == 0 || strcmp(key, "base64") == 0 ? NULL : &text);
	if (!rc && text) {
		free(table_get(&f->values, key));
		rc = table_set(&f->values, key, text);
		if (!rc)
			text = NULL;
		else
			table_remove(&f->values, key);
	}
	free(text);
	free(key);
	return rc;
}

int flat_parse(struct flat *f, const char *text, size_t len)
{
	struct scan s = { .p = text, .end = text + len };
	int rc = 0;

	table_init(&f->values);
	if (!flat_take(&s, '{'))
		return -EINVAL;
	if (!flat_take(&s, '}')) {
		do {
			rc = flat_member(f, &s);
		} while (!rc && flat_take(&s, ','));
		if (!rc && !flat_take(&s, '}'))
			rc = -EINVAL;
	}
	flat_blank(&s);
	if (!rc && s.p != s.end)
		rc = -EINVAL;
	if (rc)
		flat_release(f);
	return rc;
}

void flat_release(struct flat *f)
{
	size_t at = 0;
	void *value;

	while (table_next(&f->values, &at, NULL, &value))
		free(value);
	table_release(&f->values);
}

const char *flat_text(const struct flat *f, const char *key)
{
	return table_get(&f->values, key);
}
