/* SPDX-License-Identifier: Apache-2.0 */
/* Which works there are, and who waits for whom: what steps say of their needs, read for each node. */
#ifndef CLI_PROVISION_MODEL_GRAPHEDGE_H
#define CLI_PROVISION_MODEL_GRAPHEDGE_H

#include "cli/provision/model/graph.h"

/* Fills at, count, needs and then. */
void graphedge_make(struct graph *g, const struct cluster *c);

/* "accounting=yes", "accounting!=no"; NULL: always. */
bool graphedge_when(const struct use *u, const char *when);

#endif
