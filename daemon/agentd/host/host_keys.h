/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the machine's own sshd, and the block in its authorized_keys that belongs to one lease.
 * Everything else in that file is the owner's and stays, byte by byte.
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
 * Read from `sshd -T` for this user. NANOPOD_SSHD_CONFIG in the environment names another settings file: for tests,
 * and for machines that keep sshd's settings elsewhere. -ENOTSUP: no sshd, or it has no such key or file of keys.
 */
int host_sshd(struct host_sshd *out, struct fail *f);

/* Writes the block of n with n->keys or, with allow false, removes it. Already as wanted: writes nothing. */
int host_keys(const struct host_sshd *h, const struct node_spec *n, const char *command, bool allow, struct fail *f);

/* Is there a block of n? And: which leases have blocks? Marks are "PREFIX-ID". */
bool host_keys_has(const struct host_sshd *h, const struct node_spec *n);
int host_keys_each(const struct host_sshd *h, const struct driver_setup *s, void (*found)(void *arg, const char *id),
	void *arg, struct fail *f);

#endif
