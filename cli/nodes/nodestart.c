/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodestart.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "cli/frame/progress.h"

enum { HALF_DAY_MS = 12 * 3600 * 1000 };

const char *nodestart_left(int64_t ms, char room[NODESTART_TEXT])
{
	if (ms < 60000)
		snprintf(room, NODESTART_TEXT, "%d s", (int)(ms / 1000));
	else
		progress_time(ms, room, NODESTART_TEXT);
	return room;
}

const char *nodestart_at(int64_t start, int64_t ms, char room[NODESTART_TEXT])
{
	time_t at = (time_t)start;
	struct tm tm;

	room[0] = '\0';
	if (localtime_r(&at, &tm))
		strftime(room, NODESTART_TEXT, ms < HALF_DAY_MS ? "starts at %H:%M" : "starts on %a %d %b at %H:%M",
			&tm);
	return room;
}

int64_t node_starts_in(const struct node *n)
{
	int64_t left = n->start ? n->start_ms - clock_ms() : 0;

	return n->status == MODEL_INSTANCE_AWAITING && left > 0 ? left : 0;
}

const char *node_why(const struct node *n, char room[NODESTART_TEXT])
{
	char at[NODESTART_TEXT], left[NODESTART_TEXT];
	int64_t ms = node_starts_in(n);

	if (n->message && *n->message)
		return n->message;
	if (n->status != MODEL_INSTANCE_AWAITING)
		return NULL;
	if (ms) {
		snprintf(room, NODESTART_TEXT, "%.100s (in %.100s)", nodestart_at(n->start, ms, at),
			nodestart_left(ms, left));
		return room;
	}
	/* One that has a host has an end. */
	return n->end      ? "its host has not started it yet"
		: n->start ? "it has no host yet"
			   : "its time has not begun, or its host has not started it yet";
}
