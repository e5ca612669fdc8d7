/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to an exit status. Apart from main(), so that a test can have drivers of its own. */
#ifndef AGENTD_COMMAND_LINE_H
#define AGENTD_COMMAND_LINE_H

#include "agentd/drivers.h"

int command_line(int argc, char **argv, drivers all);

#endif
