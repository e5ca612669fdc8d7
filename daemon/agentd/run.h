/* SPDX-License-Identifier: Apache-2.0 */
/* The agent at work: link, workers, self-check and reporter around one loop, until a signal ends it. */
#ifndef AGENTD_RUN_H
#define AGENTD_RUN_H

#include "agentd/drivers.h"
#include "agentd/flags.h"
#include "base/log.h"

/* Returns the exit status: 0 at SIGTERM, 5 if it was fenced and no node is left, 1 if it cannot run. */
int run(const struct flags *o, drivers all, const struct log *log);

#endif
