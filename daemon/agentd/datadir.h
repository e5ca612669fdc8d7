/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of an agent, closed to others, held by one process at a time; and what drivers are told of it. */
#ifndef AGENTD_DATADIR_H
#define AGENTD_DATADIR_H

#include <stdbool.h>

#include "agentd/driver.h"
#include "agentd/flags.h"
#include "agentd/market/identity.h"

/* Made with mode 0700 where it is not there and make is set; refused where others may look into it. */
int datadir_open(const char *data, bool make, struct fail *f);

/* data/lock is held until *fd is closed. -EBUSY: another process has it; the sentence names it. */
int datadir_lock(const char *data, int *fd, struct fail *f);

/* Whether an agent (or a verb) holds it now, and its pid or 0. */
bool datadir_held(const char *data, long *pid);

struct datadir_setup {
	struct driver_setup setup;
	char prefix[IDENTITY_PREFIX];
};

/* i NULL: this machine has joined nothing (probes of drivers). Points into o and p. */
void datadir_setup(struct datadir_setup *p, const struct flags *o, const struct identity *i);

#endif
