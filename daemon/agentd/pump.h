/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market is told, one thing at a time, most urgent first: nodes that came up or were given
 * up, how this machine is, consoles. There is no queue: what is not told yet is read off the nodes, so nothing is lost.
 */
#ifndef AGENTD_PUMP_H
#define AGENTD_PUMP_H

#include "agentd/chore.h"
#include "agentd/console.h"
#include "agentd/crew.h"
#include "agentd/market/link.h"

struct pump {
	const struct log *log;
	struct crew *crew;
	struct chore *chore;
	struct link *link;
	const char *address;         /* what buyers dial */
	/* Under way. */
	char id[WORK_ID];
	enum life life;
	struct console_at after;
	int64_t bytes;
	/* Due. */
	int64_t status_due_ms, look_due_ms;
	size_t turn;                 /* whose console is next */
};

/* Tells the next thing where the link can take one. When to come back at the latest (clock_ms). */
int64_t pump_turn(struct pump *p);
void pump_sent(struct pump *p, const struct link_event *e);
/* A new session: the market is told everything anew. */
void pump_opened(struct pump *p);
/* What is read and not in a journal yet. */
void pump_end(struct pump *p);

#endif
