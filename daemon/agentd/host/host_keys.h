/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's own sshd, as it is set up, and the block in its authorized_keys that belongs to one lease. All
 * else in that file is its owner's and stays, byte by byte.
 */
#ifndef AGENTD_HOST_HOST_KEYS_H
#define AGENTD_HOST_HOST_KEYS_H

#include <limits.h>
#include <stdbool.h>

#include "agentd/driver.h"

struct host_sshd {
	char keys[PATH_MAX];       /* authorized_keys of this user */
	char hostkey[PATH_MAX];    /* the public half, ed25519 */
	unsigned port;
};

/*
 * As `sshd -T` tells for this user. NANOPOD_SSHD_CONFIG in the environment is another file of settings: for tests,
 * and for machines whose sshd has its settings elsewhere. -ENOTSUP: not installed, no such key, no such file of keys.
 */
int host_sshd(struct host_sshd *out, struct fail *f);

/* The block of n has n->keys, or (allow false) there is none. As it was already: nothing is written. */
int host_keys(const struct host_sshd *h, const struct node_spec *n, const char *command, bool allow, struct fail *f);

/* Is there a block of n? Whose blocks are there? Marks are "PREFIX-ID". */
bool host_keys_has(const struct host_sshd *h, const struct node_spec *n);
int host_keys_each(const struct host_sshd *h, const struct driver_setup *s, void (*found)(void *arg, const char *id),
	void *arg, struct fail *f);

#endif
