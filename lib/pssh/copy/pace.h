/* SPDX-License-Identifier: Apache-2.0 */
/* How much an SFTP connection asks for ahead, by the time that answers take. */
#ifndef PSSH_COPY_PACE_H
#define PSSH_COPY_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* In requests for data. CHAN_WINDOW_FILES has room for the most. */
enum { PACE_LEAST = 64, PACE_MOST = 256 };

struct pace {
	unsigned ahead;
	bool full;                 /* of the request that is timed: it met about as many as may be outstanding */
	const void *timed;         /* one request at a time, or NULL; asked_us: when it was made */
	int64_t asked_us, trip_us; /* trip_us: the shortest that one took; 0: not known yet */
};

static inline void pace_init(struct pace *p)
{
	*p = (struct pace){ .ahead = PACE_LEAST };
}

void pace_asked(struct pace *p, const void *request, unsigned outstanding);
void pace_answered(struct pace *p, const void *request, bool data);

#endif
