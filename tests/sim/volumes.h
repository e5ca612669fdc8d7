/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an account may expect of a volume, from what the market says alone: who paid for an hour has the volume in that
 * hour, nobody pays for one that is gone, and no machine keeps more than its owner lets.
 */
#ifndef TESTS_SIM_VOLUMES_H
#define TESTS_SIM_VOLUMES_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct volume_row {
	bool there, asked, owes; /* asked: to delete it; owes: and it was told until when that may be */
	uint64_t account, agent;
	int32_t gib;
	int64_t paid, until;
};

struct volumes {
	struct volume_row *by_id;
	int64_t *lets; /* by agent: GiB */
	size_t count;
	int64_t minute;
	long paid, ended; /* how often an hour was paid; was one deleted because it was not */
};

/* NULL, or what is wrong with what an event did. */
const char *volumes_look(struct volumes *v, const struct event *ev, const struct effects *did);
void volumes_release(struct volumes *v);

#endif
