/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of this machine that nobody listens on, for `nanopod local`: two people's must not collide. */
#ifndef CLI_LOCAL_LOCALPORTS_H
#define CLI_LOCAL_LOCALPORTS_H

#include "base/fail.h"

/* So many in a row on 127.0.0.1, below those that the kernel gives out by itself. The first, or a negative code. */
int localports_find(int count, struct fail *f);

/* Is it free now? */
int localports_free(int port);

#endif
