/* SPDX-License-Identifier: Apache-2.0 */
/* This machine as a parent: sends the file from an offset to the part file of a host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/tree/treepart.h"

/* The host says how much it has, so that nothing is sent twice and no hole is left. */
int feed_begin(struct tree_host *h)
{
	struct pssh *fleet = h->tree->f->connect->fleet;
	struct buf command;
	int rc;

	h->feed_until = h->tree->size;
	for (size_t i = 0; !h->tree->nodes[h->index].direct && i < h->tree->count; i++)
		if ((int)i != h->index && h->tree->nodes[i].parent == TREE_SOURCE && !h->tree->nodes[i].direct &&
			!h->tree->nodes[i].stuck)
			h->feed_until = h->tree->nodes[h->index].have + 2 * tree_lag(h->tree->size);
	if (h->feed_until > h->tree->size)
		h->feed_until = h->tree->size;
	buf_init(&command, 4096);
	rc = buf_addf(&command, "exec sh -c 'cd %s && stat -L -c %%s data && exec cat >>data'", h->dir) ? PSSH_ENOMEM
													: 0;
	rc = rc ? rc : pssh_exec(fleet, command.data, &h->feed);
	buf_release(&command);
	h->feed_open = h->feed_over = false;
	rc = rc ? rc : pssh_task_open_input(h->feed);
	rc = rc ? rc : pssh_task_add(h->feed, h->o->host);
	if (!rc)
		pssh_task_set_data(h->feed, h);
	return rc ? rc : pssh_task_start(h->feed);
}

static void feed_pump(struct tree_host *h)
{
	struct tree *t = h->tree;

	while (h->feed_open && !h->feed_over) {
		uint64_t left = h->feed_until > h->feed_at ? h->feed_until - h->feed_at : 0;
		size_t want = left < TREE_BLOCK ? (size_t)left : TREE_BLOCK;
		ssize_t n = want ? pread(t->fd, t->block, want, (off_t)h->feed_at) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (want && n <= 0) {
			tree_fail(h, PSSH_ELOCAL, "cannot read '%s': %s", t->order->from,
				n ? strerror(errno) : "it became shorter while it was copied");
			n = 0;
		}
		if (n == 0) {
			feed_stop(h);
			return;
		}
		if (pssh_task_write(h->feed, NULL, t->block, (size_t)n) != 0)
			return;
		h->feed_at += (uint64_t)n;
		t->sent += (uint64_t)n;
	}
}

void feed_stop(struct tree_host *h)
{
	if (h->feed && !h->feed_over)
		pssh_task_end_input(h->feed, NULL);
	h->feed_over = true;
}

static void feed_start_at(struct tree_host *h, const struct pssh_event *ev)
{
	char digits[32] = "";

	if (h->feed_open || ev->len >= sizeof digits)
		return;
	tree_line(digits, sizeof digits, ev->data, ev->len);
	h->feed_at = strtoull(digits, NULL, 10);
	h->feed_open = h->feed_at <= h->tree->size;
	feed_pump(h);
}

void feed_event(struct tree *t, const struct pssh_event *ev)
{
	struct tree_host *h = pssh_task_data(ev->task);

	if (!h || h->feed != ev->task)
		return;
	if (ev->type == PSSH_EV_STDOUT) {
		feed_start_at(h, ev);
	} else if (ev->type == PSSH_EV_WRITABLE) {
		feed_pump(h);
	} else if (ev->type == PSSH_EV_STDERR) {
		tree_line(h->why, sizeof h->why, ev->data, ev->len);
	} else if (ev->type == PSSH_EV_EXIT && ev->status != 0 && !h->ended) {
		tree_fail(h, PSSH_EREMOTE, "cannot write '%s' on the host: %s", t->order->to,
			*h->why ? h->why : "cat failed");
	} else if (ev->type == PSSH_EV_EXIT && h->feed_open) {
		tree_at(h, h->feed_at); /* sooner than the host says it: a trial is not begun again */
	} else if (ev->type == PSSH_EV_DONE) {
		pssh_task_free(h->feed);
		h->feed = NULL;
		t->nodes[h->index].busy = false;
		if (t->nodes[h->index].parent == TREE_SOURCE)
			t->nodes[h->index].parent = TREE_NONE;
		t->dirty = true;
	}
}
