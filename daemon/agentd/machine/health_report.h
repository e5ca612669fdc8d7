/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a machine: a list of findings, as data, as a sentence and as JSON. */
#ifndef AGENTD_MACHINE_HEALTH_REPORT_H
#define AGENTD_MACHINE_HEALTH_REPORT_H

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

enum { HEALTH_FINDINGS = 32, HEALTH_TEXT = 240, HEALTH_GPU = 24 };

struct health_finding {
	enum health health;
	const char *check;        /* "disk", "clock", "xid", "nvml", "link", "temperature", "gpu", "ecc", "bus" */
	char gpu[HEALTH_GPU];     /* PCI address without a function: about this one alone; "": the machine */
	char text[HEALTH_TEXT];   /* what was found */
	char action[HEALTH_TEXT]; /* how to fix it; "" */
};

struct health_report {
	enum health health; /* the worst of the findings */
	struct health_finding list[HEALTH_FINDINGS];
	size_t count;
};

const char *health_word(enum health h);

/* When the list is full, a worse finding replaces a milder one. gpu: a PCI address; "": the whole machine. */
void health_found(struct health_report *r, enum health h, const char *check, const char *gpu, const char *action,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The worst finding, as a sentence with its action; "" if there is none. */
void health_message(const struct health_report *r, char *room, size_t size);

/* {"health":"degraded","message":…,"findings":[…]}. 0, -ENOMEM, -EFBIG. */
int health_json(const struct health_report *r, struct buf *out);

#endif
