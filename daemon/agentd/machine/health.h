/* SPDX-License-Identifier: Apache-2.0 */
/* Is this machine fit to be sold? Cheap checks, often repeated: what is wrong, how bad it is, and how to fix it. */
#ifndef AGENTD_MACHINE_HEALTH_H
#define AGENTD_MACHINE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* X(name, word): from good to bad */
#define HEALTHS(X) \
	X(HEALTH_OK, "ok") \
	X(HEALTH_DEGRADED, "degraded")   /* works, but worse */ \
	X(HEALTH_DRAINING, "draining")   /* no new node should start here */ \
	X(HEALTH_UNHEALTHY, "unhealthy") /* nodes that run here are in danger */

enum health {
#define HEALTH_X(name, word) name,
	HEALTHS(HEALTH_X)
#undef HEALTH_X
};

enum { HEALTH_FINDINGS = 32, HEALTH_TEXT = 240 };

struct health_setup {
	const char *root;            /* as in inventory.h */
	const char *data;            /* agentd's folder: is its disk full; NULL: not checked */
	const char *kmsg;            /* file of kernel messages; NULL: /dev/kmsg if root is this machine; "": none */
	const char *nvml;            /* as in inventory.h */
	int64_t deadline_ms;         /* for NVML; 0: 10 s */
	bool clock_known;
	int64_t market_now,
		local_now; /* Unix seconds, at the same moment: by the market's answer and by this machine */
};

struct health_finding {
	enum health health;
	const char *check;           /* "disk", "clock", "xid", "nvml", "link", "temperature", "gpu", "ecc" */
	char text[HEALTH_TEXT];      /* what was found */
	char action[HEALTH_TEXT];    /* how to fix it; "" */
};

struct health_report {
	enum health health;          /* the worst of the findings */
	struct health_finding list[HEALTH_FINDINGS];
	size_t count;
};

const char *health_word(enum health h);

/* May block until the deadline: call it in a child. Allocates nothing that outlives it. */
void health_check(const struct health_setup *s, struct health_report *out);

/* The worst finding, as a sentence with its action; "" if there is none. */
void health_message(const struct health_report *r, char *room, size_t size);

/* {"health":"degraded","message":…,"findings":[…]}. 0, -ENOMEM, -EFBIG. */
int health_json(const struct health_report *r, struct buf *out);

#endif
