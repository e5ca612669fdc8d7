/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/sse.h"

#include <errno.h>
#include <string.h>

enum { SSE_ROOM = 2 * SSE_EVENT_MAX };

void sse_init(struct sse *s)
{
	*s = (struct sse){ 0 };
	buf_init(&s->in, SSE_ROOM);
	buf_init(&s->data, SSE_EVENT_MAX);
}

void sse_release(struct sse *s)
{
	buf_release(&s->in);
	buf_release(&s->data);
}

int sse_add(struct sse *s, const char *data, size_t len)
{
	if (s->at) {
		buf_drop(&s->in, s->at);
		s->scan -= s->at;
		s->at = 0;
	}
	return buf_add(&s->in, data, len);
}

/* Lines of one payload are joined by a blank: in JSON that means the same. 0 or negative. */
static int sse_line(struct sse *s, const char *line, size_t len)
{
	size_t skip = sizeof "data:" - 1;
	int rc = 0;

	if (len < skip || memcmp(line, "data:", skip) != 0)
		return 0; /* a comment, or a field that this API lacks */
	if (len > skip && line[skip] == ' ')
		skip++;
	if (s->data.len)
		rc = buf_addc(&s->data, ' ');
	rc = rc ? rc : buf_add(&s->data, line + skip, len - skip);
	for (size_t i = s->data.len - (rc ? 0 : len - skip); i < s->data.len; i++)
		if (s->data.data[i] == '\r')
			s->data.data[i] = ' ';
	return rc;
}

int sse_next(struct sse *s)
{
	int rc = 0;

	if (s->whole)
		buf_clear(&s->data);
	s->whole = 0;
	for (;;) {
		const char *text = buf_text(&s->in);
		const char *end = s->scan < s->in.len ? memchr(text + s->scan, '\n', s->in.len - s->scan) : NULL;
		size_t from = s->at, len;

		if (!end) {
			s->scan = s->in.len;
			return s->in.len - s->at > SSE_EVENT_MAX ? -EFBIG : 0;
		}
		len = (size_t)(end - text) - from;
		s->at = s->scan = from + len + 1;
		if (len && text[from + len - 1] == '\r')
			len--;
		if (len)
			rc = sse_line(s, text + from, len);
		else if (s->data.len)
			return s->whole = 1;
		if (rc)
			return rc;
	}
}
