/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the power limits that the owner set in force, in a child: at the start, every few seconds (a driver that is
 * loaded again forgets them), and right before a node starts. No node starts until they are read back.
 */
#ifndef AGENTD_POWERCHECK_H
#define AGENTD_POWERCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/os/job.h"
#include "base/log.h"

enum { POWERCHECK_TEXT = 480 };

struct powercheck {
	struct loop *loop;
	int watch_kind;
	const struct log *log;
	const char *data, *sysfs_root;
	struct job job;
	bool asks;                     /* a node would start: the limits are to be read back at this moment */
	bool set;                      /* the owner set something */
	bool holds;                    /* the last check read all limits back */
	bool known;                    /* there was a check since something was set */
	bool news;                     /* holds changed since the last report */
	char message[POWERCHECK_TEXT]; /* why they do not hold, and what to do; "" */
	int64_t due_ms, checked_ms;
};

/* Returns when to call again at the latest (clock_ms). */
int64_t powercheck_turn(struct powercheck *c);

/* May a node start now? Where nothing is set: yes. */
bool powercheck_open(const struct powercheck *c);

void powercheck_release(struct powercheck *c);

/* What the agent on this folder last found, for `status`: "" where nothing is set or all is well. */
void powercheck_told(const char *data, char *room, size_t size);

#endif
