/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a request that met a full queue is answered in hardly more than the shortest time, the way was not full, and
 * more would be under way. Where it takes long, the data waits at the other end, and sshd copies all that waits there
 * whenever more comes: 50 busy hosts that are asked for 8 MiB each need five times as long as with 2 MiB.
 */
#include "base/clock.h"
#include "pssh/copy/pace.h"

void pace_asked(struct pace *p, const void *request, unsigned outstanding)
{
	if (p->timed)
		return;
	p->timed = request;
	p->full = 4 * outstanding >= p->ahead; /* streams share what is ahead */
	p->asked_us = clock_us();
}

void pace_answered(struct pace *p, const void *request, bool data)
{
	int64_t took;

	if (request != p->timed)
		return;
	p->timed = NULL;
	took = clock_us() - p->asked_us + 1;
	p->trip_us = p->trip_us && p->trip_us < took ? p->trip_us : took;
	if (!data || !p->full)
		return;
	if (took <= 2 * p->trip_us && p->ahead < PACE_MOST)
		p->ahead *= 2;
	else if (took > 4 * p->trip_us && p->ahead > PACE_LEAST)
		p->ahead /= 2;
}
