/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For how long each node has been where it is, and idle, which jobs no node helps, and which were moved: kept on disk,
 * so that a loop that was killed, or that a timer runs again and again, knows it. What two looks in a row saw counts
 * for the time between them; that nothing used a node, only if that was not long.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cmd/autoscale/autoscale.h"

enum { SEEN_FILE = 1 << 18, SEEN_GAP = 2 * 3600 /* seconds between two looks */ };

static void seen_path(const struct autoscale *a, char room[AUTOSCALE_PATH + 32])
{
	snprintf(room, AUTOSCALE_PATH + 32, "%s/seen", a->room);
}

struct scale_seen *autoscale_seen(struct autoscale *a, const char *id)
{
	return scale_seen(a->seen, &a->seen_count, &a->w, id);
}

static void seen_take(struct autoscale *a, const char *line, int64_t now, bool fresh)
{
	struct scale_seen s;

	if (scale_seen_read(line, now, fresh, &s))
		*autoscale_seen(a, s.id) = s;
}

static bool seen_take_lost(struct autoscale *a, const char *line)
{
	return sscanf(line, "lost %u %" SCNd64, &a->lost.count, &a->lost.until) == 2;
}

void autoscale_seen_read(struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32], *rest, *line;
	int64_t at, gone;
	int rc;
	struct buf b;

	buf_init(&b, SEEN_FILE);
	seen_path(a, path);
	if (buf_read_file(&b, path) == 0 && b.len) {
		rest = b.data;
		line = strsep(&rest, "\n");
		rc = sscanf(line, "nanopod-autoscale 3 %" SCNd64 " %" SCNd64 " %" SCNd64, &at, &a->gaps[1],
			&a->gaps[2]);
		gone = rc >= 1 && at > 0 ? (int64_t)time(NULL) - at : -1;
		a->gaps[0] = gone > 0 ? gone : 0;
		while (gone >= 0 && (line = strsep(&rest, "\n")))
			if (!scale_refusals_read(&a->refused, "refused", line) &&
				!scale_refusals_read(&a->moved, "moved", line) && !seen_take_lost(a, line))
				seen_take(a, line, clock_ms() - gone * 1000, gone <= SEEN_GAP);
	}
	buf_release(&b);
}

void autoscale_seen_write(const struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32];
	bool once = option_given(a->o, "once");
	int64_t now = clock_ms();
	struct buf b;

	buf_init(&b, SEEN_FILE);
	seen_path(a, path);
	if (buf_addf(&b, "nanopod-autoscale 3 %" PRId64 " %" PRId64 " %" PRId64 "\nlost %u %" PRId64 "\n",
		    (int64_t)time(NULL), once ? a->gaps[0] : 0, once ? a->gaps[1] : 0, a->lost.count, a->lost.until))
		command_nomem();
	for (size_t i = 0; i < a->seen_count; i++)
		if (a->seen[i].place != SCALE_OVER && scale_seen_write(&a->seen[i], now, &b))
			command_nomem();
	if (scale_refusals_write(&a->refused, "refused", &b) || scale_refusals_write(&a->moved, "moved", &b))
		command_nomem();
	(void)file_replace(path, b.data, b.len, 0600); /* else it counts anew */
	buf_release(&b);
}

void autoscale_seen_extended(struct autoscale *a, int64_t end)
{
	for (size_t i = 0; i < a->w.count; i++)
		if (a->w.nodes[i].end == end && a->w.silent)
			autoscale_seen(a, a->w.nodes[i].id)->prolonged = true;
}
