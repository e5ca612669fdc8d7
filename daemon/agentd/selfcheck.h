/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the machine itself now and then, in a child: its inventory, and its health. */
#ifndef AGENTD_SELFCHECK_H
#define AGENTD_SELFCHECK_H

#include "agentd/drivers.h"
#include "agentd/machine/health.h"
#include "agentd/os/job.h"
#include "agentd/market/wallclock.h"

enum probe { PROBE_NONE, PROBE_SHORT, PROBE_LONG };

struct selfcheck {
	struct loop *loop;
	int watch_kind;
	const char *data, *sysfs_root, *kmsg;
	const struct driver *driver;
	struct driver_terms terms; /* of new nodes */
	const struct wallclock *clock;
	bool known; /* a look at the health has ended */
	struct job job;
	bool inventories;            /* the running job reads the inventory, not the health */
	char *inventory;             /* JSON; NULL: not read yet */
	bool inventory_new;          /* changed since the last report */
	int64_t health_ms;           /* between looks at the health */
	int64_t inventory_due_ms, health_due_ms;
	struct health_report report;
	char message[HEALTH_TEXT * 2];
	bool health_new;
	enum probe probe, probing; /* wanted; what the running job does */
	bool probe_again;          /* wanted since the running job began */
	bool idle;                 /* nothing is sold: time for a long one, once a week */
	int64_t week_due_ms;
};

/* Returns when to call again at the latest (clock_ms). */
int64_t selfcheck_turn(struct selfcheck *c);
/* A lease begins or has ended here: probe disk and memory at once. */
void selfcheck_probe(struct selfcheck *c);
void selfcheck_release(struct selfcheck *c);

#endif
