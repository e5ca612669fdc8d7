/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For how long each node has been where it is, and idle, and which jobs no node helps: kept on disk, so that a loop
 * that was killed, or that a timer runs again and again, knows it. Where a node was for long without a look is not
 * known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cmd/autoscale/autoscale.h"

enum { SEEN_FILE = 1 << 18, SEEN_GAP = 10 * 60 /* seconds between two looks */ };

static void seen_path(const struct autoscale *a, char room[AUTOSCALE_PATH + 32])
{
	snprintf(room, AUTOSCALE_PATH + 32, "%s/seen", a->room);
}

struct scale_seen *autoscale_seen(struct autoscale *a, const char *id)
{
	return scale_seen(a->seen, &a->seen_count, &a->w, id);
}

/* "ID PLACE HERE QUIET FAILED", times in milliseconds before the look; QUIET -1: it was used. */
static void seen_take(struct autoscale *a, const char *line, int64_t now)
{
	char id[64];
	unsigned place, failed;
	int64_t here, quiet;
	struct scale_seen *s;

	if (sscanf(line, "%63s %u %" SCNd64 " %" SCNd64 " %u", id, &place, &here, &quiet, &failed) != 5 ||
		place > SCALE_OVER || here < 0 || here > now || quiet > now || failed > 1000)
		return;
	s = autoscale_seen(a, id);
	s->place = place;
	s->here_ms = now - here;
	s->quiet_ms = quiet < 0 ? 0 : now - quiet;
	s->failed = failed;
}

void autoscale_seen_read(struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32], *rest, *line;
	int64_t at, gone;
	struct buf b;

	buf_init(&b, SEEN_FILE);
	seen_path(a, path);
	if (buf_read_file(&b, path) == 0 && b.len) {
		rest = b.data;
		line = strsep(&rest, "\n");
		gone = sscanf(line, "nanopod-autoscale 1 %" SCNd64, &at) == 1 ? (int64_t)time(NULL) - at : -1;
		while (gone >= 0 && (line = strsep(&rest, "\n")))
			if (!scale_refusals_read(&a->refused, line) && gone <= SEEN_GAP)
				seen_take(a, line, clock_ms() - gone * 1000);
	}
	buf_release(&b);
}

void autoscale_seen_write(const struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32];
	int64_t now = clock_ms();
	struct buf b;

	buf_init(&b, SEEN_FILE);
	seen_path(a, path);
	if (buf_addf(&b, "nanopod-autoscale 1 %" PRId64 "\n", (int64_t)time(NULL)))
		command_nomem();
	for (size_t i = 0; i < a->seen_count; i++) {
		const struct scale_seen *s = &a->seen[i];

		if (s->place != SCALE_OVER &&
			buf_addf(&b, "%s %d %" PRId64 " %" PRId64 " %u\n", s->id, (int)s->place, now - s->here_ms,
				s->quiet_ms ? now - s->quiet_ms : -1, s->failed))
			command_nomem();
	}
	if (scale_refusals_write(&a->refused, &b))
		command_nomem();
	(void)file_replace(path, b.data, b.len, 0600); /* else it counts anew */
	buf_release(&b);
}
