/* SPDX-License-Identifier: Apache-2.0 */
/* A child that asks the drivers what really runs: which nodes with journals, and which without. */
#ifndef AGENTD_SCAN_H
#define AGENTD_SCAN_H

#include "agentd/workers.h"

/* Starts it in j. tidy: it also removes what no node uses any more. */
int scan_begin(struct job *j, struct workers *c, bool tidy, struct fail *f);

/* Updates each node by what the child saw; a node that nobody ordered gets a journal. */
void scan_take(struct workers *c, const struct job *j);

#endif
