/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/console_read.h"

#include <inttypes.h>

enum { PAGE = 1000 };

/* Hands out one page, oldest first, whatever order it came in. */
static int take_page(struct market_link *m, bool newest_first, console_read_fn fn, void *arg, uint64_t *seq)
{
	long count = (long)doc_count(m->doc);
	struct model_log l;
	int rc = 0;

	for (long i = 0; !rc && i < count; i++) {
		rc = wire_log(m->doc, newest_first ? count - 1 - i : i, &l, &m->fail);
		if (!rc && l.seq <= *seq && *seq)
			continue;
		rc = rc ? rc : fn(arg, &l);
		if (!rc)
			*seq = l.seq;
	}
	return rc;
}

int console_read(struct market_link *m, const char *instance, uint64_t after, long last, console_read_fn fn, void *arg)
{
	uint64_t seq = after;
	int rc;

	if (last == 0)
		return 0;
	if (!after && last > 0) {
		rc = market_get(m, "/v2/instances/%s/logs?sort_by=-seqnum&limit=%ld", instance,
			last > 2500 ? 2500 : last);
		return rc ? rc : take_page(m, true, fn, arg, &seq);
	}
	for (;;) {
		if (seq)
			rc = market_get(m, "/v2/instances/%s/logs?sort_by=seqnum&limit=%d&seqnum_after=%" PRIu64,
				instance, PAGE, seq);
		else
			rc = market_get(m, "/v2/instances/%s/logs?sort_by=seqnum&limit=%d", instance, PAGE);
		if (rc)
			return rc;
		if (!doc_count(m->doc))
			return 0;
		bool whole = doc_count(m->doc) < PAGE;
		uint64_t was = seq;

		rc = take_page(m, false, fn, arg, &seq);
		if (rc || whole || seq == was)
			return rc;
	}
}

bool console_read_lines(const struct market_link *m)
{
	return m->answer.ours;
}
