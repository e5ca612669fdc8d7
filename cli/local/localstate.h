/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod local` remembers: paths, ports, and what is set up already. A lock lets one command at a time use
 * it.
 */
#ifndef CLI_LOCAL_LOCALSTATE_H
#define CLI_LOCAL_LOCALSTATE_H

#include <stdbool.h>

#include "base/fail.h"

struct localstate {
	char *dir;       /* absolute, for this user alone */
	char *socket;    /* the market's, for its operator */
	char *market, *agent, *images; /* folders */
	char *market_log, *agent_log, *market_pid, *agent_pid;
	char *token, *config, *key;    /* files */
	char **names, **values;        /* what was kept */
	unsigned count;
	int lock;
	void (*waits)(void *arg); /* called before waiting for another command; NULL: nothing. Set it before open */
	void *waits_arg;
};

/* make: creates missing folders. 0; 1: nothing exists, and make is false; or a negative code. */
int localstate_open(struct localstate *s, bool make, struct fail *f);
void localstate_close(struct localstate *s);

const char *localstate_get(const struct localstate *s, const char *name); /* NULL */
long localstate_number(const struct localstate *s, const char *name);     /* 0 */

/* Written to disk before it returns. value NULL: removed. */
int localstate_set(struct localstate *s, const char *name, const char *value, struct fail *f);
int localstate_set_number(struct localstate *s, const char *name, long value, struct fail *f);

/* Removes everything but the images. No daemon may run. */
int localstate_wipe(struct localstate *s, struct fail *f);

#endif
