/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an owner who sets a cap is promised, and nothing of how it is kept: nobody spends in a month more than their cap
 * at the time of spending, whatever is bought, extended, sold, released. From events and effects alone.
 */
#ifndef TESTS_SIM_CAPS_H
#define TESTS_SIM_CAPS_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct caps {
	struct cap_row {
		/* of a person or token: */
		bool capped, spends;
		int64_t cap, spent;
		uint64_t person; /* of a token */
		/* of an order: */
		uint64_t token;
		int64_t cost, month;
		uint64_t order; /* of a lease */
	} * by_id;
	size_t count;
	int32_t rules;
	int64_t minute, month;
	long met; /* times that somebody with a cap spent */
};

/* An event that was done. NULL, or what is wrong. */
const char *caps_look(struct caps *c, const struct event *ev, const struct effects *did);
void caps_release(struct caps *c);

#endif
