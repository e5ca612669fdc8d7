/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that the market's hosts are promised become theirs, before a node can ask for them. */
#ifndef AGENTD_WANTED_GPUS_H
#define AGENTD_WANTED_GPUS_H

#include "agentd/driver.h"
#include "agentd/market/work.h"
#include "base/log.h"

enum { WANTED_GPUS_LACKS = 200 };

/* lacks: why a host has not what it was promised; "": all have. It is logged when it becomes another one. */
void wanted_gpus_fix(const struct work *w, const struct driver_setup *s, const struct log *log,
	char lacks[static WANTED_GPUS_LACKS]);

#endif
