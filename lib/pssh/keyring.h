/* SPDX-License-Identifier: Apache-2.0 */
/* All the keys of a fleet, each read once, and its agent. */
#ifndef PSSH_KEYRING_H
#define PSSH_KEYRING_H

#include "base/fail.h"
#include "base/table.h"
#include "pssh/agent.h"
#include "pssh/key.h"

struct keyring {
	struct table keys;       /* path -> struct keyring_slot */
	struct agent *agent;     /* NULL: none */
};

void keyring_init(struct keyring *kr);
void keyring_release(struct keyring *kr);

/* The key of that file, read now or before. Its failure is remembered too. */
int keyring_get(struct keyring *kr, const char *path, struct key **out, struct fail *f);

#endif
