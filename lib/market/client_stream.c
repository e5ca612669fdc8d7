/* SPDX-License-Identifier: Apache-2.0 */
/* Lines as they come. The reader sets the pace: the market waits while lines are not taken. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "market/client_part.h"

void client_stream_close(struct client *c)
{
	struct transfer *t = &c->stream;

	if (t->easy) {
		client_end(c, t);
		c->curl.easy_cleanup(t->easy);
	}
	buf_release(&t->lines);
	*t = (struct transfer){ 0 };
}

/* The status is known from the first byte, or at the end of an empty answer. */
static int wait_for_begin(struct client *c, struct fail *f)
{
	struct transfer *t = &c->stream;
	int64_t until = clock_ms() + c->whole_ms, patience;
	long status = 0;
	int rc = 0;

	while (!rc && !t->done && !t->begun && (patience = client_patience(c, t))) {
		rc = client_turn(c, t, patience < 0 || patience > 1000 ? 1000 : patience, f);
		c->curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
		if (status >= 200 && status < 300 && t->answer->headers.len > 4 &&
		    memcmp(t->answer->headers.data + t->answer->headers.len - 4, "\r\n\r\n", 4) == 0)
			break;
		if (!rc && clock_ms() > until)
			rc = fail_set(f, CLIENT_LOST, "'%.200s' does not answer", c->url);
	}
	return rc;
}

int client_stream_open(struct client *c, const struct client_call *q, struct client_answer *a, struct fail *f)
{
	struct transfer *t = &c->stream;
	int rc = client_check_path(q->path, f);

	client_stream_close(c);
	client_clear(a);
	a->tries = 1;
	rc = rc ? rc : client_ready(c, f);
	if (rc)
		return rc;
	*t = (struct transfer){ .answer = a, .stream = true, .easy = c->curl.easy_init() };
	buf_init(&t->lines, LINE_MAX_BYTES + STREAM_FULL);
	rc = t->easy ? client_begin(c, t, q, f) : fail_set(f, CLIENT_NO_HTTP, "out of memory");
	client_patience_begin(c, q);
	rc = rc ? rc : wait_for_begin(c, f);
	client_patience_end(c);
	if (!rc && t->done && !t->begun)
		rc = client_verdict(c, t, q, f);
	else if (!rc)
		a->sent = CLIENT_ANSWERED;
	if (rc)
		client_stream_close(c);
	else if (!a->status)
		a->status = 200;
	return rc;
}

/* Only now drops the line handed out last. */
static bool client_stream_take_line(struct transfer *t, const char **line, size_t *len)
{
	char *start, *end;

	buf_drop(&t->lines, t->taken);
	t->taken = 0;
	if (!t->lines.len)
		return false;
	start = t->lines.data;
	end = memchr(start, '\n', t->lines.len);
	if (!end && t->done && t->result == CURLE_OK) /* a last line without a newline */
		end = start + t->lines.len;
	if (!end)
		return false;
	*end = '\0';
	t->taken = (size_t)(end - start) + 1 > t->lines.len ? t->lines.len : (size_t)(end - start) + 1;
	if (end > start && end[-1] == '\r')
		*--end = '\0';
	*line = start;
	*len = (size_t)(end - start);
	return true;
}

int client_stream_line(struct client *c, const char **line, size_t *len, int64_t timeout_ms, struct fail *f)
{
	struct transfer *t = &c->stream;
	int64_t until = clock_ms() + timeout_ms, left;
	int rc;

	if (!t->easy)
		return fail_set(f, CLIENT_LOST, "the stream is not open");
	for (;;) {
		if (client_stream_take_line(t, line, len))
			return 1;
		if (t->done)
			break;
		if (t->too_large || t->lines.len > LINE_MAX_BYTES)
			return fail_set(f, CLIENT_BAD_ANSWER, "a line of the answer is longer than %d MiB",
				LINE_MAX_BYTES >> 20);
		if (t->paused && t->lines.len <= STREAM_FULL) {
			t->paused = false;
			c->curl.easy_pause(t->easy, CURLPAUSE_CONT);
			continue;
		}
		left = timeout_ms < 0 ? 60000 : until - clock_ms();
		if (left <= 0)
			return -EAGAIN;
		rc = client_turn(c, t, left, f);
		if (rc)
			return rc;
	}
	if (t->result == CURLE_OK && t->lines.len == 0)
		return 0;
	return fail_set(f, CLIENT_LOST, "the connection to '%.200s' was lost", c->url);
}
