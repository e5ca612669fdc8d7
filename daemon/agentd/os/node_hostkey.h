/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SSH host key of a node: dir/hostkey (OpenSSH's format, ed25519, 0600) and dir/hostkey.pub. Made
 * once by ssh-keygen; whatever a killed call left is finished or begun again, and a key once whole never changes.
 */
#ifndef AGENTD_OS_NODE_HOSTKEY_H
#define AGENTD_OS_NODE_HOSTKEY_H

#include "base/fail.h"

/* Made already: 0. dir is there. Needs ssh-keygen (-ENOENT). */
int hostkey_make(const char *dir, struct fail *f);

#endif
