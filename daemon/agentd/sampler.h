/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures this machine, its GPUs and its nodes every ten seconds, in a child, for the market's curves. What cannot be
 * sent waits for an hour; nothing else depends on it.
 */
#ifndef AGENTD_SAMPLER_H
#define AGENTD_SAMPLER_H

#include "agentd/os/job.h"
#include "agentd/selfcheck.h"
#include "agentd/workers.h"

enum { SAMPLER_STEP = 10, SAMPLER_KEPT = 360, SAMPLER_AT_ONCE = 60 };

struct gauges;

struct sampler {
	int watch_kind;
	struct workers *workers;
	const struct selfcheck *check; /* its inventory: a machine without GPUs is not asked for them */
	const char *sysfs_root;
	const char *metrics; /* file for Prometheus' node_exporter; NULL: none */
	struct job job;
	int64_t due_ms, at;        /* at: by the market's clock, of the running job */
	struct gauges *before;     /* the last look, for rates */
	char *kept[SAMPLER_KEPT];  /* samples as JSON, oldest first */
	size_t count, sent;        /* sent: those that are under way */
	int64_t send_ms, every_ms; /* when to send; between two requests */
	bool refused;              /* the market is older than samples */
	int untold;                /* errno of the last write of `metrics`, as logged */
};

/* Returns when to call again at the latest (clock_ms). */
int64_t sampler_turn(struct sampler *s);

/* The body of a request with those that are due; NULL: none. The market's answer follows. */
char *sampler_take(struct sampler *s);
/* taken: the market has them, or will never take them. */
void sampler_sent(struct sampler *s, bool taken);

void sampler_release(struct sampler *s);

#endif
