/* SPDX-License-Identifier: Apache-2.0 */
/* A child that asks drivers what really runs: of the nodes in journals, and of those in none. */
#ifndef AGENTD_SCAN_H
#define AGENTD_SCAN_H

#include "agentd/workers.h"

/* Begins it in j. tidy: afterwards what no node uses any more is taken away. */
int scan_begin(struct job *j, struct workers *c, bool tidy, struct fail *f);

/* What it saw becomes what is known of each node; what nobody ordered becomes a node of its own. */
void scan_take(struct workers *c, const struct job *j);

#endif
