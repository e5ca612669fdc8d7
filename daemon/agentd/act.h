/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to an exit status. Apart from main(), so that a test can have drivers of its own. */
#ifndef AGENTD_ACT_H
#define AGENTD_ACT_H

#include "agentd/drivers.h"

int act(int argc, char **argv, drivers all);

#endif
