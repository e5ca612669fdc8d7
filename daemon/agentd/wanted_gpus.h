/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that the market's hosts are promised become theirs, before a node can ask for them. */
#ifndef AGENTD_WANTED_GPUS_H
#define AGENTD_WANTED_GPUS_H

#include <jansson.h>
#include <stdbool.h>

#include "agentd/driver.h"
#include "agentd/market/work.h"
#include "base/log.h"

enum { WANTED_GPUS_LACKS = 400 };

/* Does the driver give each host GPUs of its own? */
bool wanted_gpus_own(const struct driver *d);

/* lacks: why a host has not what it was promised; "": all have. True: it has become another one, which is logged. */
bool wanted_gpus_fix(const struct work *w, const struct driver_setup *s, const struct driver *d, const struct log *log,
	char lacks[static WANTED_GPUS_LACKS]);

/* Why this host has not; false: it has. gpus: host_gpus_json(). */
bool wanted_gpus_lack(const struct work_host *h, const struct driver_setup *s, const struct driver *d,
	const json_t *gpus, char *room, size_t size);

#endif
