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
	bool listed;             /* the connections that waited for its list were stepped */
};

struct keyring {
	struct table keys;       /* path -> struct keyring_slot */
	struct table agents;     /* path -> struct keyring_agent */
	struct agent *agent;     /* for hosts without another one in the configuration; NULL: none */
};

void keyring_init(struct keyring *kr);
void keyring_release(struct keyring *kr);

/* The key of that file, read now or earlier. It remembers failures too. */
int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f);

/*
 * Which files are there under that name, the key's and those beside it: as they were when the key was
 * read, else as they are now; of a key that is in no file, its public part. Another text is another key.
 * 0, PSSH_ENOMEM, or PSSH_ENOENT: that is not known.
 */
int keyring_facts(struct keyring *kr, const char *path, const char **out);

/* Takes over a key that is in no file, to be found under that name. 0 or PSSH_ENOMEM. */
int keyring_add(struct keyring *kr, const char *name, struct key *key);

/* The agent at that socket, made now or earlier. */
int keyring_find_agent(struct keyring *kr, struct loop *loop, int kind, const char *path, struct agent **out,
	struct fail *f);

/* The agent whose watch or timer this is; NULL: none. */
struct keyring_agent *keyring_agent_of(const struct keyring *kr, const struct loop_watch *w,
	const struct loop_timer *t);

#endif
