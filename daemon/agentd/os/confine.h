/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes away from this process what a client of the network has no need of: root, capabilities, groups, most system
 * calls, and much memory. Nothing gives them back, to it or to a program that it would start.
 */
#ifndef AGENTD_OS_CONFINE_H
#define AGENTD_OS_CONFINE_H

#include "base/fail.h"

/* The package makes this user, who owns nothing. */
#define CONFINE_USER "nanopod-agentd"

/*
 * root becomes CONFINE_USER, or 'nobody' where there is no such user. Another user stays who he is, and so does a root
 * who is one to the kernel. 0 or -errno: then only a part may be gone, and the process should end.
 */
int confine(struct fail *f);

#endif
