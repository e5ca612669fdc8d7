/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market is told, one thing at a time, most urgent first: nodes that came up or were given
 * up, how this machine is, consoles. There is no queue: what is not told yet is read off the nodes, so nothing is lost.
 */
#ifndef AGENTD_REPORTER_H
#define AGENTD_REPORTER_H

#include "agentd/selfcheck.h"
#include "agentd/console.h"
#include "agentd/workers.h"
#include "agentd/market/link.h"

struct reporter {
	const struct log *log;
	struct workers *crew;
	struct selfcheck *chore;
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
int64_t reporter_turn(struct reporter *p);
void reporter_sent(struct reporter *p, const struct link_event *e);
/* A new session: the market is told everything anew. */
void reporter_opened(struct reporter *p);
/* What is read and not in a journal yet. */
void reporter_end(struct reporter *p);

#endif
