/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

struct json json_to(struct buf *out)
{
	return (struct json){ .out = out };
}

static void json_keep(struct json *j, int rc)
{
	if (rc && !j->error)
		j->error = rc;
}

static void json_put(struct json *j, const char *s)
{
	if (!j->error)
		json_keep(j, buf_adds(j->out, s));
}

static const char *escape_of(unsigned char c)
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '\n': return "\\n";
	case '\r': return "\\r";
	case '\t': return "\\t";
	default: return NULL;
	}
}

/* Controls, with those of 8 bits that some terminals obey, and what YAML takes for the end of a line; -1: none. */
static int json_control(const unsigned char *s, size_t n)
{
	if (n == 1 && (s[0] < 0x20 || s[0] == 0x7f))
		return s[0];
	if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return s[1];
	return n == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] & 0xfe) == 0xa8 ? 0x2000 | (s[2] & 0x3f) : -1;
}

static void json_quoted(struct json *j, const void *data, size_t len)
{
	const unsigned char *s = data;

	json_put(j, "\"");
	for (size_t i = 0, n; i < len && !j->error; i += n ? n : 1) {
		const char *escape = escape_of(s[i]);

		n = utf8_len((const char *)s + i, len - i);
		if (escape)
			json_keep(j, buf_adds(j->out, escape));
		else if (n == 0)
			json_keep(j, buf_adds(j->out, "\xef\xbf\xbd"));
		else if (json_control(s + i, n) >= 0)
			json_keep(j, buf_addf(j->out, "\\u%04x", (unsigned)json_control(s + i, n)));
		else
			json_keep(j, buf_add(j->out, s + i, n));
	}
	json_put(j, "\"");
}

/* Writes the comma before a value, and in an object its key. */
static void json_begin(struct json *j, const char *key)
{
	uint64_t bit = (uint64_t)1 << j->depth;

	if (j->depth && j->filled & bit)
		json_put(j, ",");
	j->filled |= bit;
	if (key) {
		json_quoted(j, key, strlen(key));
		json_put(j, ":");
	}
}

static void open_level(struct json *j, const char *key, bool array)
{
	json_begin(j, key);
	if (j->depth >= 63) {
		json_keep(j, -EOVERFLOW);
		return;
	}
	j->depth++;
	j->filled &= ~((uint64_t)1 << j->depth);
	j->arrays &= ~((uint64_t)1 << j->depth);
	j->arrays |= (uint64_t)array << j->depth;
	json_put(j, array ? "[" : "{");
}

void json_begin_object(struct json *j, const char *key)
{
	open_level(j, key, false);
}

void json_begin_array(struct json *j, const char *key)
{
	open_level(j, key, true);
}

void json_end(struct json *j)
{
	if (j->depth == 0)
		return;
	json_put(j, j->arrays >> j->depth & 1 ? "]" : "}");
	j->depth--;
}

void json_bytes(struct json *j, const char *key, const void *data, size_t len)
{
	json_begin(j, key);
	json_quoted(j, data, len);
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (text)
		json_bytes(j, key, text, strlen(text));
	else
		json_nothing(j, key);
}

void json_int(struct json *j, const char *key, int64_t n)
{
	json_begin(j, key);
	if (!j->error)
		json_keep(j, buf_addf(j->out, "%" PRId64, n));
}

void json_raw(struct json *j, const char *key, const char *number)
{
	json_begin(j, key);
	json_put(j, number);
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_raw(j, key, v ? "true" : "false");
}

void json_nothing(struct json *j, const char *key)
{
	json_raw(j, key, "null");
}
