/* SPDX-License-Identifier: Apache-2.0 */
/* The further streams of a copy: runs of the same task, each on a connection of its own to the same host. */
#include "pssh/fleet/fleet.h"

static int streamrun_new(struct run *first, struct pssh_host *h)
{
	struct run *r = run_new(first->task, h);

	if (!r)
		return PSSH_ENOMEM;
	r->first = first;
	r->task->left--; /* the first one stands for the host */
	list_remove(&r->in_task);
	list_append(&first->streams, &r->in_task);
	fleet_need(h);
	return 0;
}

/* Whatever goes wrong here costs only speed. */
static void streamrun_start(struct run *r)
{
	struct pssh_host *s;
	int rc = 0;

	if (!streamhost_may(r->host)) {
		log_at(&r->host->fleet->shared.log, LOG_INFO,
			"'%s': the copy uses one connection, as another might have to be signed in by hand",
			r->host->spec);
		return;
	}
	for (unsigned i = 1; i < r->task->streams && !rc; i++) {
		rc = streamhost_find(r->host, i, &s);
		rc = rc ? rc : streamrun_new(r, s);
	}
}

void streamrun_turn(struct run *r)
{
	struct list *pos, *tmp;

	if (r->first) {
		if (xfer_stream_woke(r->xfer))
			host_poke(r->first->host);
		return;
	}
	if (!r->streamed && xfer_wants_streams(r->xfer)) {
		r->streamed = true;
		streamrun_start(r);
	}
	list_each (pos, tmp, &r->streams) {
		struct run *s = list_entry(pos, struct run, in_task);

		if (s->xfer && xfer_stream_has_work(s->xfer))
			host_poke(s->host);
	}
}
