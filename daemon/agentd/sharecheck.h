/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps nodes that share a GPU within the memory that they bought, in a child, every few seconds while there are such
 * nodes: who holds more is told so on its console, and a little later its largest process ends. Where it cannot look
 * several times in a row, that is a problem of the machine.
 */
#ifndef AGENTD_SHARECHECK_H
#define AGENTD_SHARECHECK_H

#include "agentd/device/gpu_holders.h"
#include "agentd/workers.h"

enum { SHARECHECK_MOST = 1024, SHARECHECK_TEXT = 200, SHARECHECK_MESSAGE = 280 };

struct sharecheck {
	int watch_kind;
	const struct workers *workers; /* its loop, log and nodes, too */
	struct job job;
	struct gpu_excess list[SHARECHECK_MOST]; /* as of the last look */
	size_t count;
	char why[SHARECHECK_TEXT];        /* the last look failed; "" */
	unsigned fails;                   /* in a row */
	char message[SHARECHECK_MESSAGE]; /* what the machine's owner should know; "": nothing */
	bool news;                        /* of that, to tell */
	int64_t due_ms;
};

/* Returns when to call again at the latest (clock_ms). */
int64_t sharecheck_turn(struct sharecheck *c);

void sharecheck_release(struct sharecheck *c);

#endif
