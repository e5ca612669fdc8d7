/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/inputfeed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/remote/fanout.h"

enum { PIECE = 65536 };

static void feed_remember(struct fanout_input *in, const char *data, size_t len)
{
	if (!in->lost && buf_add(&in->replay, data, len) != 0) {
		in->lost = true;
		buf_release(&in->replay);
	}
	in->replay_at = in->replay.len;
}

/* True where all of it was taken. */
static bool feed_give(struct fanout *f, const char *data, size_t len)
{
	int rc = pssh_task_write(f->task, NULL, data, len);

	if (rc == PSSH_EAGAIN) {
		f->input.full = true;
		/* Hosts that have not started hold back the others' input, so start all of them. */
		pssh_set_window(f->connect->fleet, (unsigned)settings_int(f->np->settings, SETTING_ID_FANOUT), 0);
		return false;
	}
	return true;
}

/* True where all of it, from *at, was taken. */
static bool feed_text(struct fanout *f, const char *text, size_t len, size_t *at)
{
	while (!f->input.full && *at < len) {
		size_t left = len - *at, n = left < PIECE ? left : PIECE;

		if (!feed_give(f, text + *at, n))
			return false;
		*at += n;
	}
	return *at == len;
}

/* The text, then what earlier hosts got, then what was read since. */
static void feed_head(struct fanout *f)
{
	struct fanout_input *in = &f->input;

	if (!feed_text(f, in->head, in->head_len, &in->head_at) ||
		!feed_text(f, in->replay.data, in->replay.len, &in->replay_at))
		return;
	if (!in->full && in->kept_at < in->kept_len &&
		feed_give(f, in->kept + in->kept_at, in->kept_len - in->kept_at)) {
		in->kept_at = in->kept_len;
		feed_remember(in, in->kept, in->kept_len);
	}
}

bool feed_wanted(const struct fanout *f)
{
	const struct fanout_input *in = &f->input;

	return in->open && !in->ended && !in->full && f->running && in->fd >= 0 && in->kept_at == in->kept_len;
}

void feed_read(struct fanout *f)
{
	struct fanout_input *in = &f->input;
	ssize_t n;

	if (!in->kept)
		in->kept = malloc(PIECE);
	if (!in->kept)
		command_nomem();
	n = read(in->fd, in->kept, PIECE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		print_warn(f->np, "cannot read standard input: %s", strerror(errno));
	if (n <= 0) {
		in->fd = -1;
		return;
	}
	in->kept_at = 0;
	in->kept_len = (size_t)n;
	feed_head(f);
}

void feed_step(struct fanout *f)
{
	struct fanout_input *in = &f->input;

	if (!in->open || in->ended || !f->running)
		return;
	feed_head(f);
	if (in->fd < 0 && !in->full && in->head_at == in->head_len && in->replay_at == in->replay.len &&
		in->kept_at == in->kept_len) {
		pssh_task_end_input(f->task, NULL);
		in->ended = true;
	}
}

void feed_again(struct fanout_input *in)
{
	in->head_at = in->replay_at = 0;
	in->ended = false;
}
