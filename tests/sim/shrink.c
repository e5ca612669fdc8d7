/* SPDX-License-Identifier: Apache-2.0 */
/* A stream on which the two differ, made as short as it can be made in a minute. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/tap.h"
#include "world.h"

enum { SECONDS_MOST = 60 };

struct log {
	struct event *at;
	size_t n;
};

/* After how many events the two differ; 0: not at all. The world is left as it is then. */
static size_t log_differs(const struct log *l, struct world *w)
{
	struct fail why = { .code = 0 };

	world_init(w);
	for (size_t i = 0; i < l->n; i++) {
		if (!world_apply(w, &l->at[i], NULL) || !world_compare(w))
			return i + 1;
		if (engine_check(w->eng, &why) != 0) {
			snprintf(w->wrong, sizeof w->wrong, "engine_check: %s", why.text);
			return i + 1;
		}
	}
	return 0;
}

/* Whether it still differs without [from, from + n). */
static bool log_without(struct log *l, size_t from, size_t n)
{
	struct log less = { .at = malloc((l->n + 1) * sizeof *l->at) };
	struct world w;
	size_t count;

	if (!less.at)
		abort();
	for (size_t i = 0; i < l->n; i++)
		if (i < from || i >= from + n)
			less.at[less.n++] = l->at[i];
	count = log_differs(&less, &w);
	world_release(&w);
	if (count == 0) {
		free(less.at);
		return false;
	}
	less.n = count;
	free(l->at);
	*l = less;
	return true;
}

static void log_shrink(struct log *l)
{
	time_t end = time(NULL) + SECONDS_MOST;

	for (size_t part = l->n / 2; part > 0; part = part > 1 ? part / 2 : 0) {
		bool any = true;

		while (any && time(NULL) < end) {
			any = false;
			for (size_t from = l->n; from > 0 && time(NULL) < end; ) {
				from = from > part ? from - part : 0;
				if (from < l->n && log_without(l, from, part))
					any = true;
			}
			any = any && part == 1;
		}
	}
}

static void tell_lines(struct buf *b)
{
	char *text = b->data;

	for (size_t lines = 0; text && *text && lines < 400; lines++) {
		size_t len = strcspn(text, "\n");

		diag("%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void shrink_and_tell(const struct world *failed)
{
	struct log l = { .at = malloc((failed->count + 1) * sizeof *l.at), .n = failed->count };
	struct world w;
	struct buf out;

	if (!l.at)
		abort();
	memcpy(l.at, failed->log, failed->count * sizeof *l.at);
	diag("seed %" PRIu64 ", event %zu: %s", failed->seed, failed->count, failed->wrong);
	l.n = log_differs(&l, &w);
	world_release(&w);
	if (l.n == 0) {
		diag("the same events one after the other do not show it: it takes saving, loading or asking before");
		free(l.at);
		return;
	}
	log_shrink(&l);
	l.n = log_differs(&l, &w);
	buf_init(&out, WORLD_TEXT);
	for (size_t i = 0; i < l.n; i++) {
		show_event(&l.at[i], &out);
		buf_addc(&out, '\n');
	}
	diag("%zu events are enough: %s", l.n, w.wrong);
	tell_lines(&out);
	buf_clear(&out);
	show_diff(buf_text(&w.mine), buf_text(&w.theirs), &out);
	tell_lines(&out);
	buf_clear(&out);
	diag("the state of the reference:");
	buf_clear(&w.theirs);
	reference_dump(w.ref, &w.theirs);
	tell_lines(&w.theirs);
	buf_release(&out);
	world_release(&w);
	free(l.at);
}
