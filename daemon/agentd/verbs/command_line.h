/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to an exit status. Separate from main(), so that a test can supply its own drivers. */
#ifndef AGENTD_VERBS_COMMAND_LINE_H
#define AGENTD_VERBS_COMMAND_LINE_H

#include "agentd/drivers.h"

int command_line(int argc, char **argv, drivers all);

#endif
