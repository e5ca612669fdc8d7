/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of an agent, closed to others, used by one process at a time; and what drivers need to know of it. */
#ifndef AGENTD_DATADIR_H
#define AGENTD_DATADIR_H

#include <stdbool.h>

#include "agentd/driver.h"
#include "agentd/flags.h"
#include "agentd/market/identity.h"

/* make: makes it with mode 0700 if missing. Refuses a folder that others may enter. */
int datadir_open(const char *data, bool make, struct fail *f);

/* Holds data/lock until *fd is closed. -EBUSY: another process has it; the sentence names it. */
int datadir_lock(const char *data, int *fd, struct fail *f);

/* Does an agent (or a verb) hold it now? And its pid or 0. */
bool datadir_held(const char *data, long *pid);

struct datadir_setup {
	struct driver_setup setup;
	char prefix[IDENTITY_PREFIX];
};

/* i NULL: this machine has not joined (probes of drivers). Points into o and p. */
void datadir_setup(struct datadir_setup *p, const struct flags *o, const struct identity *i);

#endif
