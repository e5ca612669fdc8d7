/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the health of a machine and its GPUs to that of each host that it is sold as. An unhealthy host costs its seller
 * the lease, so only a fault of one of its own GPUs makes it so. What is wrong with the whole machine (a full disk, the
 * clock) a tenant may have caused: that stops new nodes, and refunds nobody.
 */
#ifndef AGENTD_DEVICE_HOSTHEALTH_H
#define AGENTD_DEVICE_HOSTHEALTH_H

#include <jansson.h>

#include "agentd/machine/health_report.h"

/* gpus: host_gpus_json(). gpu: a PCI address, with or without its function; "": any. */
bool host_holds_gpu(const json_t *gpus, const char *host, const char *gpu);

/* Which GPUs belong to which host. */
struct hosthealth_gpus {
	bool all;           /* each host has the whole machine */
	const json_t *list; /* else host_gpus_json(); NULL: nobody knows, so that no host is unhealthy */
};

/* The worst of what was found about the machine and the host's GPUs; *worst: that, NULL if all is well. */
enum health host_health(const struct health_report *r, const struct hosthealth_gpus *g, const char *host,
	const struct health_finding **worst);

#endif
