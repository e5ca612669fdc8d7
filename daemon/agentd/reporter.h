/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market is told, one thing at a time, most urgent first: nodes that came up or were given up, how this
 * machine is, what it measured, consoles. There is no queue but for samples: what is not told yet is read off the
 * nodes, so nothing is lost.
 */
#ifndef AGENTD_REPORTER_H
#define AGENTD_REPORTER_H

#include "agentd/selfcheck.h"
#include "agentd/console.h"
#include "agentd/powercheck.h"
#include "agentd/sampler.h"
#include "agentd/sharecheck.h"
#include "agentd/market/volume_ends.h"
#include "agentd/workers.h"
#include "agentd/market/link.h"

struct reporter {
	const struct log *log;
	struct workers *workers;
	struct selfcheck *check;
	struct powercheck *power; /* NULL: nothing is known of power */
	struct sharecheck *shares;
	struct sampler *samples;
	struct volumes *volumes;
	struct link *link;
	const char *address;         /* what buyers dial */
	/* Under way. */
	char id[WORK_ID];
	enum life life;
	struct console_at after;
	int64_t bytes;
	bool plain_status; /* the market knows machines, not hosts, in a status */
	bool plain_report; /* nor what GPUs a node has */
	/* Due. */
	int64_t status_due_ms, look_due_ms;
	size_t turn;                 /* index of the node whose console is next */
};

/* Sends the next report if the link can take one. Returns when to call again at the latest (clock_ms). */
int64_t reporter_turn(struct reporter *p);
void reporter_sent(struct reporter *p, const struct link_event *e);
/* A new session: report everything to the market again. */
void reporter_opened(struct reporter *p);
/* Saves how far consoles were read, where that is not in a journal yet. */
void reporter_end(struct reporter *p);

#endif
