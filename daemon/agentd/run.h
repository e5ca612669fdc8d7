/* SPDX-License-Identifier: Apache-2.0 */
/* The agent at work: link, crew, chores and pump around one loop, until it is told to end. */
#ifndef AGENTD_RUN_H
#define AGENTD_RUN_H

#include "agentd/drivers.h"
#include "agentd/flags.h"
#include "base/log.h"

/* An exit status: 0 at SIGTERM, 5 where it was fenced and nothing is left, 1 where it cannot run. */
int run(const struct flags *o, drivers all, const struct log *log);

#endif
