/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/remote_wire.h"

#include <string.h>

#include "cli/frame/command.h"

static const char mark[] = "\036NP\t";
enum { MARK = sizeof mark - 1 };

void remote_wire_init(struct remote_wire *w, bool lines)
{
	*w = (struct remote_wire){ .lines = lines };
	buf_init(&w->line, WIRE_RECORD_BYTES);
}

static void remote_wire_forget(struct remote_wire *w)
{
	if (w->line.data)
		explicit_bzero(w->line.data, w->line.len);
	buf_clear(&w->line);
	w->taken = false;
	w->count = 0;
}

void remote_wire_release(struct remote_wire *w)
{
	if (w->line.data)
		explicit_bzero(w->line.data, w->line.cap);
	buf_release(&w->line);
}

static int remote_wire_digit(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
				       : -1;
}

/* Decodes in place. Refuses NUL; other control bytes come as numbers. */
static bool remote_wire_decode(char *s)
{
	char *to = s;

	while (*s) {
		int c = (unsigned char)*s++;

		if (c == '%') {
			int high = remote_wire_digit(*s), low = high < 0 ? -1 : remote_wire_digit(s[1]);

			if (low < 0 || !(high | low))
				return false;
			c = high << 4 | low;
			s += 2;
		} else if (c < ' ' || c == 0x7f) {
			return false;
		}
		*to++ = (char)c;
	}
	*to = '\0';
	return true;
}

static enum remote_wire_kind remote_wire_bad(struct remote_wire *w, const char *why)
{
	w->taken = true;
	w->count = 0;
	w->why = why;
	return REMOTE_WIRE_BAD;
}

static enum remote_wire_kind remote_wire_take_record(struct remote_wire *w)
{
	char *s = w->line.data + MARK, *end;

	if (memchr(w->line.data, '\0', w->line.len))
		return remote_wire_bad(w, "a record with a NUL byte");
	w->count = 0;
	do {
		end = strchr(s, '\t');
		if (end)
			*end = '\0';
		if (w->count == WIRE_WORDS)
			return remote_wire_bad(w, "a record with too many words");
		w->words[w->count++] = s;
		if (!remote_wire_decode(s))
			return remote_wire_bad(w, "a record with a wrong encoding");
		s = end ? end + 1 : NULL;
	} while (s);
	return *w->words[0] ? REMOTE_WIRE_RECORD : remote_wire_bad(w, "a record without a name");
}

static enum remote_wire_kind remote_wire_take_line(struct remote_wire *w)
{
	char *text;

	/* Hands out a line as a string: never NULL, without NUL bytes. */
	if (buf_reserve(&w->line, 1) != 0)
		command_nomem();
	text = w->line.data;
	text[w->line.len] = '\0';
	if (w->line.len && text[w->line.len - 1] == '\r')
		text[--w->line.len] = '\0';
	for (size_t i = 0; i < w->line.len; i++)
		if (!text[i])
			text[i] = '?';
	w->words[0] = text;
	w->count = 1;
	return REMOTE_WIRE_LINE;
}

static bool begins_record(const struct remote_wire *w)
{
	return !w->lines && w->line.len >= MARK && memcmp(w->line.data, mark, MARK) == 0;
}

static enum remote_wire_kind remote_wire_take(struct remote_wire *w)
{
	w->taken = true;
	return begins_record(w) ? remote_wire_take_record(w) : remote_wire_take_line(w);
}

/* How many more bytes the line may have; records may be longer than lines, and the first bytes tell which it is. */
static size_t remote_wire_room(const struct remote_wire *w)
{
	if (w->line.len < MARK)
		return MARK - w->line.len;
	return (begins_record(w) ? WIRE_RECORD_BYTES - 2 : WIRE_LINE_BYTES) - w->line.len;
}

enum remote_wire_kind remote_wire_next(struct remote_wire *w, const char **data, size_t *len)
{
	if (w->taken)
		remote_wire_forget(w);
	while (*len) {
		size_t n = remote_wire_room(w);
		const char *end;

		if (!n)
			return begins_record(w) ? remote_wire_bad(w, "a record without an end") : remote_wire_take(w);
		n = n < *len ? n : *len;
		end = memchr(*data, '\n', n);
		n = end ? (size_t)(end - *data) : n;
		if (n && buf_add(&w->line, *data, n) != 0)
			command_nomem();
		*data += n + (end != NULL);
		*len -= n + (end != NULL);
		if (end)
			return remote_wire_take(w);
	}
	return REMOTE_WIRE_MORE;
}

enum remote_wire_kind remote_wire_end(struct remote_wire *w)
{
	if (w->taken)
		remote_wire_forget(w);
	if (!w->line.len)
		return REMOTE_WIRE_MORE;
	if (begins_record(w))
		return remote_wire_bad(w, "a record without an end");
	return remote_wire_take(w);
}
