/* SPDX-License-Identifier: Apache-2.0 */
/* How fast and steady the way to the market is: by requests of the agent's session, bounded in bytes and time. */
#ifndef AGENTD_MARKET_UPLINK_SPEED_H
#define AGENTD_MARKET_UPLINK_SPEED_H

#include "agentd/market/identity.h"

struct uplink_series {
	int64_t median, least, most;
	int runs; /* 0: not measured */
};

struct uplink_speed {
	struct uplink_series latency, jitter; /* microseconds of an empty request; differences of two in a row */
	int sent, lost;                       /* empty requests, and those without an answer */
	struct uplink_series down, up;        /* kilobits a second, without the round trip */
};

/*
 * At most 16 MiB and 5 s each way. 0; -ENOTSUP: the market offers no such test; or as client_send: *out has what was
 * measured until then.
 */
int uplink_speed(const struct identity *i, const char *token, struct uplink_speed *out, struct fail *f);

/* Sorts the values. */
struct uplink_series uplink_series_of(int64_t *values, int count);

#endif
