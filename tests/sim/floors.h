/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's owner is promised, and nothing of how it is kept: nobody buys a minute of the host from its owner for
 * less than the floor that was in force when it was sold. From events and effects alone.
 */
#ifndef TESTS_SIM_FLOORS_H
#define TESTS_SIM_FLOORS_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct floors {
	struct host_floor {
		uint64_t host;
		int64_t price;
	} * list;
	size_t count;
	long sold, dear; /* minutes of hosts with a floor: sold; sold for just that or little more */
};

/* An event that was done. NULL, or what was sold too cheap. */
const char *floors_look(struct floors *f, const struct event *ev, const struct effects *did);
void floors_release(struct floors *f);

#endif
