/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a child: one step for one node under the node's lock. */
#ifndef AGENTD_STEP_CHILD_H
#define AGENTD_STEP_CHILD_H

#include "agentd/drivers.h"
#include "agentd/reconcile.h"
#include "agentd/userdata.h"

/* A node as drivers see it; its pointers are into the node, the setup and the user data. */
struct step_child {
	const struct driver *driver;
	enum step step;
	struct node_spec spec;
	const char *host;
	unsigned gpus, parts; /* that it was promised; parts: one such part of a GPU, 4 is a quarter */
	const char *slice;    /* of this profile; "": none */
	char dir[1024], tenant[2 * WORK_ID];
	unsigned port;
	int64_t grace_ms;
};

/* 0 or -ENAMETOOLONG. */
int step_child_init(struct step_child *h, const struct node *n, const struct userdata *u,
	const struct driver_setup *setup);

/* For job_begin(): arg is the struct step_child. */
int step_child_do(void *arg, struct buf *out, struct fail *f);

/* Under the node's lock: wipes it. Its GPUs go to the next node once nothing of it is left. */
int step_child_destroy(const struct step_child *h, struct fail *f);

/* Does a server at address:port say "SSH-2.0-" within a second or two? */
int step_child_try_ssh(const char *address, unsigned port, struct fail *f);

#endif
