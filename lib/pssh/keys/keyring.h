/* SPDX-License-Identifier: Apache-2.0 */
/* All the keys of a fleet, each read once, and the agents that its hosts use. */
#ifndef PSSH_KEYS_KEYRING_H
#define PSSH_KEYS_KEYRING_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/table.h"
#include "pssh/keys/agent.h"
#include "pssh/keys/key.h"

struct keyring_agent {
	struct agent *agent;
	bool listed;             /* those who waited for its list were told */
};

struct keyring {
	struct table keys;       /* path -> struct keyring_slot */
	struct table agents;     /* path -> struct keyring_agent */
	struct agent *agent;     /* of hosts for which nothing else is configured; NULL: none */
};

void keyring_init(struct keyring *kr);
void keyring_release(struct keyring *kr);

/* The key of that file, read now or before. Its failure is remembered too. */
int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f);

/* The agent at that socket, made now or before. */
int keyring_find_agent(struct keyring *kr, struct loop *loop, int kind, const char *path, struct agent **out,
	struct fail *f);

/* Whose watch or timer is due; NULL: nobody's. */
struct keyring_agent *keyring_agent_of(const struct keyring *kr, const struct loop_watch *w,
	const struct loop_timer *t);

#endif
