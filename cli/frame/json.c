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
		else if (s[i] < 0x20 || s[i] == 0x7f)
			json_keep(j, buf_addf(j->out, "\\u%04x", s[i]));
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
