/* SPDX-License-Identifier: Apache-2.0 */
/* A child that asks drivers what really runs: of the nodes in journals, and of those in none. */
#ifndef AGENTD_LOOKOUT_H
#define AGENTD_LOOKOUT_H

#include "agentd/crew.h"

/* Begins it in j. tidy: afterwards what no node uses any more is taken away. */
int lookout_begin(struct job *j, struct crew *c, bool tidy, struct fail *f);

/* What it saw becomes what is known of each node; what nobody ordered becomes a node of its own. */
void lookout_take(struct crew *c, const struct job *j);

#endif
