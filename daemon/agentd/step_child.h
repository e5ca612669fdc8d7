/* SPDX-License-Identifier: Apache-2.0 */
/* What a child of the crew does: one step for one node under the node's lock, or a look at all of them. */
#ifndef AGENTD_STEP_CHILD_H
#define AGENTD_STEP_CHILD_H

#include "agentd/drivers.h"
#include "agentd/reconcile.h"
#include "agentd/userdata.h"

/* A node for a driver: what it points to is the node's, the setup's and the user data's. */
struct step_child {
	const struct driver *driver;
	enum step step;
	struct node_spec spec;
	char dir[1024];
	unsigned port;
	int64_t grace_ms;
};

/* 0 or -ENAMETOOLONG. */
int step_child_init(struct step_child *h, const struct node *n, const struct userdata *u, const struct driver_setup *setup);

/* For job_begin(): arg is the handwork. */
int step_child_do(void *arg, struct buf *out, struct fail *f);

/* "SSH-2.0-" at address:port within a second or two? */
int step_child_knock(const char *address, unsigned port, struct fail *f);

#endif
