/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SSH host key of a node: dir/hostkey (OpenSSH's format, ed25519, 0600) and dir/hostkey.pub. ssh-keygen makes it
 * once. A call finishes or repeats what a killed one left; a complete key never changes.
 */
#ifndef AGENTD_OS_NODE_HOSTKEY_H
#define AGENTD_OS_NODE_HOSTKEY_H

#include "base/fail.h"

/* 0 also where the key exists already. dir must exist. Needs ssh-keygen (-ENOENT). */
int hostkey_make(const char *dir, struct fail *f);

#endif
