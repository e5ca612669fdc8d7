/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a buyer sent along with a node: a '#!' script, or the little of cloud-config that is known
 * here (ssh_authorized_keys, runcmd). What is left out is named, never dropped in silence.
 */
#ifndef AGENTD_USERDATA_H
#define AGENTD_USERDATA_H

#include <stddef.h>

#include "base/buf.h"

enum { USERDATA_KEYS = 64 };

struct userdata {
	struct buf keys;       /* authorized_keys: checked, one a line */
	struct buf script;     /* run once at the first boot; empty: none */
	struct buf notes;      /* for the buyer, one a line */
	unsigned key_count, refused;
};

/* Never fails: what cannot be used is said in notes. */
void userdata_read(const void *data, size_t len, struct userdata *out);
void userdata_release(struct userdata *u);

#endif
