/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/exec.h"

#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"

int exec_new(struct link *l, const struct exec_want *want, struct input *input, struct exec **out)
{
	struct exec *e = calloc(1, sizeof *e);

	if (!e)
		return PSSH_ENOMEM;
	e->chan = chan_new(l);
	if (!e->chan) {
		free(e);
		return PSSH_ENOMEM;
	}
	e->want = want;
	e->input = input;
	e->taken = input->base;
	output_init(&e->out[0]);
	output_init(&e->out[1]);
	*out = e;
	return 0;
}

void exec_free(struct exec *e)
{
	if (!e)
		return;
	chan_close(e->chan);
	output_release(&e->out[0]);
	output_release(&e->out[1]);
	free(e->signal);
	free(e);
}

bool exec_running(const struct exec *e)
{
	return e->state > EXEC_START && e->state < EXEC_REST;
}

void exec_resize(struct exec *e, unsigned columns, unsigned rows)
{
	e->columns = columns;
	e->rows = rows;
	e->resize = true;
}

/* 0 once all are set; most servers accept few names, and like ssh, it goes on without the others. */
static int exec_set_env(struct exec *e, char *const *env)
{
	int rc = 0;

	for (; env && env[e->env_at] && (!rc || rc == PSSH_EREFUSED); e->env_at += rc == PSSH_EAGAIN ? 0 : 2)
		rc = chan_env(e->chan, env[e->env_at], env[e->env_at + 1]);
	if (rc && rc != PSSH_EREFUSED)
		return rc;
	e->env_at = 0;
	return 0;
}

/* Writes waiting input to the process. 0, PSSH_EAGAIN or PSSH_ECLOSED; closed input is no failure. */
static int exec_feed(struct exec *e)
{
	struct input *in = e->input;
	ssize_t n;

	if (e->eof_sent)
		return 0;
	while (e->taken < input_end(in)) {
		size_t at = (size_t)(e->taken - in->base);

		n = chan_write(e->chan, in->data.data + at, in->data.len - at);
		if (n == PSSH_EAGAIN)
			return PSSH_EAGAIN;
		if (n == PSSH_ECLOSED)
			return (int)n;
		if (n < 0) { /* the process closed its input; like ssh, go on without */
			e->taken = input_end(in);
			e->eof_sent = true;
			return 0;
		}
		e->taken += (uint64_t)n;
	}
	if (in->ended || !in->open) {
		n = chan_send_eof(e->chan);
		if (n == PSSH_EAGAIN || n == PSSH_ECLOSED)
			return (int)n;
		e->eof_sent = true;
	}
	return 0;
}

/* Like ssh, it goes on without. */
static int exec_forward(struct exec *e, struct fail *f)
{
	int rc = e->forward ? chan_forward(e->chan, f) : 0;

	e->not_forwarded = rc == PSSH_EREFUSED;
	return e->not_forwarded ? 0 : rc;
}

/* Does the steps before the command runs. 0: moved to the next state. */
static int exec_prepare(struct exec *e, struct fail *f)
{
	int rc = 0;

	switch (e->state) {
	case EXEC_OPEN:
		rc = chan_open_session(e->chan, CHAN_WINDOW, f);
		break;
	case EXEC_FORWARD:
		rc = exec_forward(e, f);
		break;
	case EXEC_HOST_ENV:
		rc = exec_set_env(e, e->host_env);
		break;
	case EXEC_ENV:
		rc = exec_set_env(e, e->want->env);
		break;
	case EXEC_PTY:
		rc = e->want->term ? chan_pty(e->chan, e->want->term, e->want->columns, e->want->rows, f) : 0;
		break;
	default:
		rc = chan_start(e->chan, e->want->command ? "exec" : "shell", e->want->command, f);
		/* Who reads to the end of its input need not wait a round trip for that. */
		if (rc == PSSH_EAGAIN && e->taken == input_end(e->input))
			exec_feed(e);
		break;
	}
	if (rc == 0)
		e->state++;
	else if (rc != PSSH_EAGAIN && f && !f->code)
		fail_set(f, rc, "%s", link_error(e->chan->link));
	return rc;
}

static int exec_emit(struct exec *e, int stream, const char *data, size_t len)
{
	e->emit_stream = stream;
	e->emit = data;
	e->emit_len = len;
	e->emit_dropped = e->out[stream].dropped;
	return EXEC_OUTPUT;
}

static int exec_listen(struct exec *e, struct exec_room *room, struct fail *f)
{
	int quiet = 0, rc;

	/* Reading one stream receives for both, so the first may have bytes after the second was read. */
	while (quiet < 2 || (quiet == 2 && chan_waiting(e->chan))) {
		int s = e->stream;
		const char *data;
		size_t len;
		ssize_t n = chan_read(e->chan, s, room->data, room->size);

		if (n < 0 && n != PSSH_EAGAIN)
			return fail_set(f, (int)n, "the connection was lost while the command ran: %s",
				link_reason(e->chan->link, (int)n));
		if (n <= 0) {
			e->stream = !s;
			quiet++;
			continue;
		}
		quiet = 0;
		rc = output_feed(&e->out[s], &e->want->output, room->data, (size_t)n, &room->join, &data, &len, f);
		if (rc)
			return rc;
		if (len)
			return exec_emit(e, s, data, len);
		/* Return even when gathering, so that other runs get a turn; the end reports what was dropped. */
		if (e->want->output.mode == PSSH_OUTPUT_GATHER) {
			rc = exec_emit(e, s, "", 0);
			e->emit_dropped = 0;
			return rc;
		}
	}
	return chan_eof(e->chan) ? EXEC_DONE : PSSH_EAGAIN;
}

static int exec_run(struct exec *e, struct exec_room *room, struct fail *f)
{
	int rc;

	if (e->resize) {
		rc = chan_resize(e->chan, e->columns, e->rows);
		if (rc == PSSH_EAGAIN)
			return rc;
		e->resize = false;
	}
	rc = exec_feed(e);
	if (rc && rc != PSSH_EAGAIN)
		return fail_set(f, rc, "the connection was lost while the command ran: %s",
			link_reason(e->chan->link, rc));
	rc = exec_listen(e, room, f);
	if (rc == EXEC_DONE) {
		e->state = EXEC_CLOSE;
		return EXEC_DONE;
	}
	return rc;
}

static int close_it(struct exec *e, struct fail *f)
{
	int rc = chan_wait_closed(e->chan);

	if (rc == PSSH_EAGAIN)
		return rc;
	e->status = chan_exit(e->chan, &e->signal);
	if (rc)
		return fail_set(f, rc, "the connection was lost before the command's exit status came: %s",
			link_reason(e->chan->link, rc));
	if (e->status < 0 && !e->signal)
		return fail_set(f, PSSH_ECLOSED, "the server closed the channel without an exit status");
	e->state = EXEC_REST;
	return 0;
}

static int exec_rest(struct exec *e, struct fail *f)
{
	for (int s = 0; s < 2; s++) {
		const char *data;
		size_t len;
		int rc;

		if (e->out[s].ended)
			continue;
		rc = output_end(&e->out[s], &data, &len, f);
		if (rc)
			return rc;
		if (len || e->out[s].dropped)
			return exec_emit(e, s, data, len);
	}
	e->state = EXEC_ENDED;
	return EXEC_DONE;
}

int exec_step(struct exec *e, struct exec_room *room, struct fail *f)
{
	for (;;) {
		int rc;

		if (e->state <= EXEC_START) {
			rc = exec_prepare(e, f);
			if (rc == 0 && e->state == EXEC_RUN)
				return EXEC_BEGUN;
		} else if (e->state == EXEC_RUN) {
			rc = exec_run(e, room, f);
		} else if (e->state == EXEC_CLOSE) {
			rc = close_it(e, f);
		} else {
			return e->state == EXEC_ENDED ? EXEC_DONE : exec_rest(e, f);
		}
		if (rc)
			return rc;
	}
}
