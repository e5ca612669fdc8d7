/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/viagate.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/print.h"

enum { PIECE = 1 << 18, OUT_ENOUGH = 1 << 17, NOISE_MAX = 1 << 16, AHEAD_MAX = 256, SAID_MAX = 400 };

static void viagate_need(int rc)
{
	if (rc)
		command_nomem();
}

int viagate_start(struct viagate *g, const char *command)
{
	int rc;

	pssh_task_free(g->task);
	g->task = NULL;
	g->state = VIAGATE_STARTING;
	g->queue_at = g->queue_count = g->ahead = g->left = g->in_at = g->binary_at = 0;
	g->sending = g->full = false;
	*g->why = '\0';
	buf_release(&g->in);
	buf_release(&g->out);
	buf_release(&g->said);
	buf_init(&g->in, VIA_FRAME_MAX * 2);
	buf_init(&g->out, (size_t)1 << 28);
	buf_init(&g->said, SAID_MAX * 2);
	rc = pssh_exec(g->fleet, command, &g->task);
	if (rc)
		return rc;
	pssh_task_set_data(g->task, g);
	rc = pssh_task_open_input(g->task);
	rc = rc ? rc : pssh_task_set_output(g->task, PSSH_OUTPUT_CHUNKS, (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	rc = rc ? rc : pssh_task_add(g->task, g->host);
	return rc ? rc : pssh_task_start(g->task);
}

void viagate_release(struct viagate *g)
{
	pssh_task_free(g->task);
	buf_release(&g->in);
	buf_release(&g->out);
	buf_release(&g->said);
	viaagent_release(&g->agent);
	free(g->queue);
}

void viagate_queue(struct viagate *g, uint32_t host)
{
	if (g->queue_count == g->queue_cap) {
		size_t cap = g->queue_cap ? g->queue_cap * 2 : 256;
		uint32_t *more = realloc(g->queue, cap * sizeof *more);

		if (!more)
			command_nomem();
		g->queue = more;
		g->queue_cap = cap;
	}
	g->queue[g->queue_count++] = host;
}

/* Its task may go on: whatever it says is not heard any more. */
static void viagate_gone(struct viagate *g)
{
	if (g->state == VIAGATE_GONE)
		return;
	g->state = VIAGATE_GONE;
	viaagent_release(&g->agent);
	buf_release(&g->in);
	buf_release(&g->out);
	g->in_at = 0;
	g->mourned = false;
}

void viagate_break(struct viagate *g, const char *why)
{
	snprintf(g->why, sizeof g->why, "%s", why);
	pssh_task_stop(g->task);
	viagate_gone(g);
}

/* ---- What it says before frames --------------------------------------------------------- */

static void viagate_greeting(struct viagate *g, const char *line)
{
	char why[500];

	if (strcmp(line, "need") == 0) {
		g->sending = g->stirred = true;
	} else if (str_starts(line, "ready ")) {
		g->state = VIAGATE_READY;
		viagate_need(buf_add(&g->out, g->job->data, g->job->len));
		g->stirred = true;
	} else if (str_starts(line, "cannot ")) {
		snprintf(why, sizeof why, "%.300s; install nanopod %.40s there", line + 7, pssh_version());
		viagate_break(g, why);
	}
}

/* A shell there may print anything before us. */
static void viagate_lines(struct viagate *g)
{
	size_t start = strlen(VIA_GREETING);
	char *nl;

	while (g->state == VIAGATE_STARTING && g->in.len > g->in_at &&
		(nl = memchr(g->in.data + g->in_at, '\n', g->in.len - g->in_at)) != NULL) {
		char *line = g->in.data + g->in_at;

		*nl = '\0';
		g->in_at += (size_t)(nl - line) + 1;
		if (str_starts(line, VIA_GREETING))
			viagate_greeting(g, line + start);
	}
	if (g->state == VIAGATE_STARTING && g->in.len > NOISE_MAX)
		viagate_break(g, "it prints other things than the helper does");
}

/* ---- Events ----------------------------------------------------------------------------- */

/* Keeps the last line, for the case that it dies; what a working helper says is for the person. */
static void viagate_heard(struct viagate *g, const struct pssh_event *ev)
{
	const char *p = ev->data, *end = ev->data + ev->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		if (g->said.len + n > SAID_MAX)
			buf_clear(&g->said);
		if (n)
			viagate_need(buf_add(&g->said, p, n < SAID_MAX ? n : SAID_MAX));
		p += nl ? n + 1 : n;
		if (!nl || p == end)
			break;
		buf_clear(&g->said);
	}
}

static void viagate_ended(struct viagate *g, const struct pssh_event *ev)
{
	if (g->state == VIAGATE_GONE)
		return;
	if (ev->type == PSSH_EV_ERROR)
		snprintf(g->why, sizeof g->why, "%s", *ev->text ? ev->text : pssh_strerror(ev->status));
	else if (g->said.len)
		snprintf(g->why, sizeof g->why, "its helper ended: %s", buf_text(&g->said));
	else if (ev->type == PSSH_EV_SIGNAL)
		snprintf(g->why, sizeof g->why, "SIG%s ended its helper", ev->text);
	else
		snprintf(g->why, sizeof g->why, "its helper ended with status %d", ev->status);
	viagate_gone(g);
}

bool viagate_event(struct viagate *g, const struct pssh_event *ev)
{
	switch (ev->type) {
	case PSSH_EV_STDOUT:
		if (g->state == VIAGATE_GONE)
			return false;
		if (ev->dropped || buf_add(&g->in, ev->data, ev->len) != 0) {
			viagate_break(g, "it writes more than it may");
			return false;
		}
		if (g->state == VIAGATE_STARTING)
			viagate_lines(g);
		return g->state != VIAGATE_GONE;
	case PSSH_EV_STDERR:
		viagate_heard(g, ev);
		break;
	case PSSH_EV_WRITABLE:
		g->full = false;
		g->stirred = true;
		break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		viagate_ended(g, ev);
		break;
	default:
		break;
	}
	return false;
}

int viagate_frame(struct viagate *g, struct via_frame *out)
{
	size_t used;
	int rc;

	if (g->state != VIAGATE_READY && g->state != VIAGATE_ENDING)
		return 0;
	rc = viaframe_next(g->in.data + g->in_at, g->in.len - g->in_at, &used, out);
	if (rc == 1) {
		g->in_at += used;
		return 1;
	}
	if (rc < 0) {
		viagate_break(g, "what it writes is no result");
		return 0;
	}
	buf_drop(&g->in, g->in_at);
	g->in_at = 0;
	return 0;
}

/* ---- To the gateway --------------------------------------------------------------------- */

static bool viagate_write(struct viagate *g, const char *data, size_t len)
{
	int rc = g->full ? PSSH_EAGAIN : pssh_task_write(g->task, NULL, data, len);

	if (rc == PSSH_EAGAIN)
		g->full = true;
	return rc == 0;
}

static void viagate_send_binary(struct viagate *g)
{
	const struct buf *all = &g->binary->bytes;

	while (g->binary_at < all->len) {
		size_t left = all->len - g->binary_at, n = left < PIECE ? left : PIECE;

		if (!viagate_write(g, all->data + g->binary_at, n))
			return;
		g->binary_at += n;
	}
	g->sending = false;
}

bool viagate_takes(const struct viagate *g)
{
	return g->state == VIAGATE_READY && !g->full && g->out.len < OUT_ENOUGH && g->ahead < AHEAD_MAX &&
		g->queue_at < g->queue_count;
}

void viagate_push(struct viagate *g)
{
	if (g->state == VIAGATE_GONE || g->state == VIAGATE_ENDING)
		return;
	if (g->sending)
		viagate_send_binary(g);
	if (g->state != VIAGATE_READY)
		return;
	if (g->out.len && viagate_write(g, g->out.data, g->out.len))
		buf_clear(&g->out);
}

void viagate_finish(struct viagate *g)
{
	if (g->state == VIAGATE_READY) {
		if (g->out.len)
			viagate_write(g, g->out.data, g->out.len);
		buf_clear(&g->out);
		pssh_task_end_input(g->task, NULL);
		g->state = VIAGATE_ENDING;
	} else if (g->state == VIAGATE_STARTING) {
		viagate_break(g, "not needed any more");
	}
}
