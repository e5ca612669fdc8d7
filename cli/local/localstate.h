/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod local` remembers: where its parts are, which ports it took, what is set up already.
 * One command at a time works on it.
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
	void (*waits)(
		void *arg); /* NULL, or called before another one that works on it is waited for; set before open */
	void *waits_arg;
};

/* make: the folders, where they are not there. 0; 1: there is nothing, and make was not asked for; or a negative code. */
int localstate_open(struct localstate *s, bool make, struct fail *f);
void localstate_close(struct localstate *s);

const char *localstate_get(const struct localstate *s, const char *name); /* NULL */
long localstate_number(const struct localstate *s, const char *name);     /* 0 */

/* On disk when it returns. value NULL: forgotten. */
int localstate_set(struct localstate *s, const char *name, const char *value, struct fail *f);
int localstate_set_number(struct localstate *s, const char *name, long value, struct fail *f);

/* Removes all of it but the images. Nothing of it may run. */
int localstate_wipe(struct localstate *s, struct fail *f);

#endif
