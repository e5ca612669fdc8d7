/* SPDX-License-Identifier: Apache-2.0 */
/* Is this machine fit to be sold? Cheap checks, often repeated: what is wrong, how bad it is, and how to fix it. */
#ifndef AGENTD_MACHINE_HEALTH_H
#define AGENTD_MACHINE_HEALTH_H

#include "agentd/machine/health_report.h"

struct health_setup {
	const char *root;            /* as in inventory.h */
	const char *data;            /* agentd's folder: is its disk full; NULL: not checked */
	const char *kmsg;            /* file of kernel messages; NULL: /dev/kmsg if root is this machine; "": none */
	int64_t kmsg_now_us;         /* now, by the clock of those messages; 0: by this machine's */
	const char *nvml;            /* as in inventory.h */
	int64_t deadline_ms;         /* for NVML; 0: 10 s */
	bool clock_known;
	int64_t market_now,
		local_now; /* Unix seconds, at the same moment: by the market's answer and by this machine */
};

/* May block until the deadline: call it in a child. Allocates nothing that outlives it. */
void health_check(const struct health_setup *s, struct health_report *out);

/* After a look that could not ask NVIDIA's library ("" above): what that said before still holds. */
void health_keep(const struct health_report *before, struct health_report *r);

#endif
