/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/xfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pssh/pssh_types.h"

enum { PROGRESS_MS = 100, SUM_CEILING = 4096, TURN = 64 };

struct xfer {
	struct copy *copy;
	struct copy_stream *stream; /* NULL: the copy's first channel */
	struct link *link;
	struct chan *chan;
	enum { XFER_OPEN, XFER_START, XFER_RUN } state;
	int64_t told;            /* when progress was last reported */
	bool told_end;
	char note[600];          /* a line about one file */
	struct exec *sum;        /* the checksum command that runs, or NULL */
	struct exec_want sum_want;
	struct input no_input;
	struct buf sum_out;
};

int xfer_new(struct link *l, struct copy *copy, struct xfer **out)
{
	struct xfer *x = calloc(1, sizeof *x);

	if (!x)
		return PSSH_ENOMEM;
	x->chan = chan_new(l);
	if (!x->chan) {
		free(x);
		return PSSH_ENOMEM;
	}
	x->link = l;
	x->copy = copy;
	input_init(&x->no_input);
	buf_init(&x->sum_out, SUM_CEILING);
	*out = x;
	return 0;
}

int xfer_join(struct link *l, struct xfer *first, struct xfer **out)
{
	struct copy_stream *s;
	int rc = copy_stream_new(first->copy, &s);

	if (rc)
		return rc;
	rc = xfer_new(l, first->copy, out);
	if (rc)
		copy_stream_end(s);
	else
		(*out)->stream = s;
	return rc;
}

void xfer_leave(struct xfer *x)
{
	copy_leave(x->copy);
}

void xfer_free(struct xfer *x)
{
	if (!x)
		return;
	exec_free(x->sum);
	buf_release(&x->sum_out);
	chan_close(x->chan);
	if (x->stream)
		copy_stream_end(x->stream);
	else
		copy_free(x->copy);
	free(x);
}

const char *xfer_note(const struct xfer *x)
{
	return x->note;
}

void xfer_cancel(struct xfer *x)
{
	copy_cancel(x->copy);
}

void xfer_progress(const struct xfer *x, struct copy_progress *out)
{
	copy_progress(x->copy, out);
}

bool xfer_wants_streams(const struct xfer *x)
{
	return copy_wants_streams(x->copy);
}

bool xfer_stream_has_work(const struct xfer *x)
{
	return x->state == XFER_RUN && copy_stream_has_work(x->stream);
}

bool xfer_stream_woke(struct xfer *x)
{
	return copy_stream_woke(x->copy);
}

static void xfer_output(struct xfer *x, const char **data, size_t *len)
{
	if (x->stream)
		copy_stream_output(x->stream, data, len);
	else
		copy_output(x->copy, data, len);
}

/* 1: sent something; 0: nothing; or a code. */
static int send_some(struct xfer *x)
{
	const char *data;
	size_t len;
	int moved = 0;

	for (int i = 0; i < TURN; i++) {
		ssize_t n;

		xfer_output(x, &data, &len);
		if (!len)
			break;
		n = chan_write(x->chan, data, len);
		if (n < 0)
			return n == PSSH_EAGAIN ? moved : (int)n;
		if (x->stream)
			copy_stream_sent(x->stream, (size_t)n);
		else
			copy_sent(x->copy, (size_t)n);
		moved = 1;
	}
	return moved;
}

static int xfer_read_some(struct xfer *x, struct exec_room *room, struct fail *f)
{
	ssize_t n = chan_read(x->chan, 1, room->data, room->size);
	int rc;

	n = chan_read(x->chan, 0, room->data, room->size);
	if (n == PSSH_EAGAIN)
		return 0;
	if (n == 0)
		return chan_eof(x->chan) ? fail_set(f, PSSH_ECLOSED, "the server ended the file transfer") : 0;
	if (n < 0)
		return fail_set(f, (int)n, "the connection was lost during the copy: %s", link_reason(x->link, (int)n));
	rc = x->stream ? copy_stream_input(x->stream, room->data, (size_t)n, f)
		       : copy_input(x->copy, room->data, (size_t)n, f);
	return rc ? rc : 1;
}

static void sum_end(struct xfer *x, int status)
{
	exec_free(x->sum);
	x->sum = NULL;
	copy_checksum_result(x->copy, status, buf_text(&x->sum_out), x->sum_out.len);
	buf_clear(&x->sum_out);
}

/* Steps the checksum command. 1: it moved on. */
static int step_sum(struct xfer *x, struct exec_room *room)
{
	struct fail f = { 0 };
	int rc;

	if (!x->sum) {
		const char *command = copy_checksum_command(x->copy);

		if (!command)
			return 0;
		x->sum_want = (struct exec_want){ .command = command, .output = { .mode = PSSH_OUTPUT_CHUNKS } };
		if (exec_new(x->link, &x->sum_want, &x->no_input, &x->sum) != 0) {
			copy_checksum_result(x->copy, -1, "", 0);
			return 1;
		}
	}
	rc = exec_step(x->sum, room, &f);
	if (rc == PSSH_EAGAIN)
		return 0;
	if (rc == EXEC_OUTPUT && x->sum->emit_stream == 0)
		buf_add(&x->sum_out, x->sum->emit, x->sum->emit_len);
	if (rc == EXEC_DONE)
		sum_end(x, x->sum->signal ? -1 : x->sum->status);
	else if (rc < 0)
		sum_end(x, -1);
	return 1;
}

static int xfer_begin(struct xfer *x, struct fail *f)
{
	int rc;

	if (x->state == XFER_OPEN) {
		rc = chan_open_session(x->chan, CHAN_WINDOW_FILES, f);
		if (rc)
			return rc;
		x->state = XFER_START;
	}
	rc = chan_start(x->chan, "subsystem", "sftp", f);
	if (rc == PSSH_EREFUSED)
		return fail_set(f, rc, "the server offers no file transfer (sftp)");
	if (rc)
		return rc;
	x->state = XFER_RUN;
	return XFER_BEGUN;
}

static bool time_to_tell(struct xfer *x, bool end)
{
	int64_t now = clock_ms();

	if (end ? x->told_end : now - x->told < PROGRESS_MS)
		return false;
	x->told = now;
	x->told_end = end;
	return true;
}

/* PSSH_EAGAIN or a code: the first channel tells when the copy is over. */
static int xfer_step_stream(struct xfer *x, struct exec_room *room, struct fail *f)
{
	int sent, got;

	do {
		sent = send_some(x);
		got = sent < 0 ? fail_set(f, sent, "%s", link_reason(x->link, sent)) : xfer_read_some(x, room, f);
	} while (got >= 0 && (sent || got));
	return got < 0 ? got : PSSH_EAGAIN;
}

int xfer_step(struct xfer *x, struct exec_room *room, struct fail *f)
{
	int sent, got, summed;
	struct fail note = { 0 };

	if (x->state != XFER_RUN)
		return xfer_begin(x, f);
	if (x->stream)
		return xfer_step_stream(x, room, f);
	do {
		if (copy_note(x->copy, &note)) {
			snprintf(x->note, sizeof x->note, "%s\n", note.text);
			return XFER_NOTE;
		}
		if (copy_finished(x->copy))
			return time_to_tell(x, true) ? XFER_PROGRESS : copy_result(x->copy, f);
		sent = send_some(x);
		got = sent < 0
			? fail_set(f, sent, "the connection was lost during the copy: %s", link_reason(x->link, sent))
			: xfer_read_some(x, room, f);
		if (got < 0) {
			copy_lost(x->copy, got, f->text);
			return got;
		}
		summed = step_sum(x, room);
		if ((sent || got) && time_to_tell(x, false))
			return XFER_PROGRESS;
	} while (sent || got || summed || copy_finished(x->copy));
	return copy_busy(x->copy) ? XFER_BUSY : PSSH_EAGAIN;
}
