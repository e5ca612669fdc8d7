/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the works and their dependencies from the `needs` and `after` of steps, for each node. */
#ifndef CLI_PROVISION_MODEL_GRAPHEDGE_H
#define CLI_PROVISION_MODEL_GRAPHEDGE_H

#include "cli/provision/model/graph.h"

/* Fills at, count, needs and then. */
void graphedge_make(struct graph *g, const struct cluster *c);

/* "accounting=yes", "accounting!=no"; NULL: always. */
bool graphedge_when(const struct use *u, const char *when);

#endif
