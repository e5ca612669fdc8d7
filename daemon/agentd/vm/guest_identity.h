/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a guest is, as the archive on its second disk: each thing a file of fixed name, so that nothing in
 * a script or a key can be taken for anything else. It is never part of an image that others share.
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
 * Into path, which keeps its inode where a guest reads it already; group may read it. The serial by which
 * the guest says that it has it goes to *serial. -EFBIG: the script is too long.
 */
int vmidentity_write(const struct vmidentity *d, const char *path, gid_t group, int64_t *serial, struct fail *f);

#endif
