/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop remembers of each node, from one look to the next and, as lines, from one loop to the next. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/autoscale/scale.h"

enum { SEEN_SERVED = 1, SEEN_LOST = 2, SEEN_USED = 4, SEEN_PROLONGED = 8 };
enum { SEEN_TIMES = 5 };

/* Since when something is so; 0: it is not. */
static int64_t seen_begun(int64_t since, bool so, int64_t now)
{
	return !so ? 0 : since ? since : now;
}

int64_t scale_for(int64_t since, int64_t now)
{
	return since ? now - since : 0;
}

void scale_since(struct scale_seen *s, struct scale_node *n, int64_t now)
{
	bool looked = n->place == SCALE_SERVES || n->place == SCALE_UP;

	if (s->place != n->place || !s->here_ms) {
		s->here_ms = now;
		s->quiet_ms = 0;
		s->place = n->place;
	}
	s->quiet_ms = seen_begun(s->quiet_ms, looked && !n->busy && !*n->used, now);
	s->used = n->busy || (*n->used && !n->blind);
	s->prolonged = false;
	s->heard_ms = now;
	s->blind_ms = seen_begun(s->blind_ms, n->blind, now);
	if (n->place == SCALE_SERVES)
		s->failed = 0, s->joined_ms = 0;
	n->here_ms = now - s->here_ms;
	n->quiet_ms = scale_for(s->quiet_ms, now);
	n->blind_ms = scale_for(s->blind_ms, now);
	n->joined_ms = scale_for(s->joined_ms, now);
	n->failed = s->failed;
}

int64_t scale_gap(const int64_t gaps[SCALE_GAPS], int64_t every)
{
	int64_t less = gaps[0] < gaps[1] ? gaps[0] : gaps[1], more = gaps[0] < gaps[1] ? gaps[1] : gaps[0];
	int64_t middle = gaps[2] < less ? less : gaps[2] < more ? gaps[2] : more;

	return middle > every ? middle : every;
}

static int64_t seen_ago(int64_t since, int64_t now)
{
	return since ? now - since : -1;
}

int scale_seen_write(const struct scale_seen *s, int64_t now, struct buf *out)
{
	unsigned flags = (s->served ? SEEN_SERVED : 0) | (s->lost ? SEEN_LOST : 0) | (s->used ? SEEN_USED : 0) |
		(s->prolonged ? SEEN_PROLONGED : 0);

	return buf_addf(out, "%s %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %u %u\n", s->id,
		(int)s->place, now - s->here_ms, seen_ago(s->quiet_ms, now), seen_ago(s->blind_ms, now),
		seen_ago(s->joined_ms, now), seen_ago(s->heard_ms, now), s->failed, flags);
}

bool scale_seen_read(const char *line, int64_t now, bool fresh, struct scale_seen *out)
{
	unsigned place, failed, flags;
	int64_t t[SEEN_TIMES];

	*out = (struct scale_seen){ .id = "" };
	if (sscanf(line, "%63s %u %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %u %u", out->id, &place,
		    &t[0], &t[1], &t[2], &t[3], &t[4], &failed, &flags) != 9 ||
		place > SCALE_OVER || t[0] < 0 || failed > 1000)
		return false;
	for (size_t i = 0; i < SEEN_TIMES; i++) {
		if (t[i] > INT64_MAX / 4)
			return false;
		t[i] = t[i] < 0 ? 0 : t[i] == now ? 1 : now - t[i]; /* below 0: before this machine began */
	}
	out->place = place;
	out->here_ms = t[0];
	out->quiet_ms = fresh ? t[1] : 0;
	out->blind_ms = t[2];
	out->joined_ms = t[3];
	out->heard_ms = t[4];
	out->failed = failed;
	out->served = flags & SEEN_SERVED;
	out->lost = flags & SEEN_LOST;
	out->used = flags & SEEN_USED;
	out->prolonged = flags & SEEN_PROLONGED;
	return true;
}
