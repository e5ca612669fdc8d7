/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user data that a buyer sent with a node: a '#!' script, or the part of cloud-config that we support
 * (ssh_authorized_keys, runcmd). Whatever is left out is named in a note, never dropped silently.
 */
#ifndef AGENTD_USERDATA_H
#define AGENTD_USERDATA_H

#include <stddef.h>

#include "base/buf.h"

enum { USERDATA_KEYS = 64 };

struct userdata {
	struct buf keys;       /* authorized_keys: checked, one a line */
	struct buf script;     /* run once at the first boot; empty: none */
	struct buf notes;      /* for the buyer, one per line */
	unsigned key_count, refused;
};

/* Never fails: notes name what cannot be used. */
void userdata_read(const void *data, size_t len, struct userdata *out);
void userdata_release(struct userdata *u);

#endif
