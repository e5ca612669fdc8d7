/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest's identity, as the archive on its second disk: each thing in a file of fixed name, so that no script or key
 * can be mistaken for anything else. It is never part of an image that others share.
 */
#ifndef AGENTD_VM_GUEST_IDENTITY_H
#define AGENTD_VM_GUEST_IDENTITY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

struct vmidentity {
	const char *name;
	const char *address;       /* "10.88.0.7/16 10.88.0.1 52:54:…": address, gateway, MAC */
	const char *resolv;        /* contents of resolv.conf */
	const char *machine_id;    /* 32 hexadecimal digits */
	const char *keys;          /* authorized_keys */
	const char *script;        /* NULL: none */
	const char *hostkey;       /* folder with hostkey and hostkey.pub; NULL: none (a guest that will be frozen) */
};

/*
 * Writes it into path, which keeps its inode because a guest may have it open; group may read it. *serial gets the
 * number by which the guest confirms it. -EFBIG: the script is too long.
 */
int vmidentity_write(const struct vmidentity *d, const char *path, gid_t group, int64_t *serial, struct fail *f);

#endif
