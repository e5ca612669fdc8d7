/* SPDX-License-Identifier: Apache-2.0 */
/* From the health of a machine and its GPUs to that of each host that it is sold as. */
#ifndef AGENTD_MACHINE_HOSTHEALTH_H
#define AGENTD_MACHINE_HOSTHEALTH_H

#include "agentd/machine/health_report.h"

/*
 * Does the host hold this GPU (PCI address, without a function: "0000:19:00")? This is the one place that decides.
 * Until each host has its own GPUs, every host of a machine may use any.
 */
bool host_holds_gpu(const char *host, const char *gpu);

/* The worst of what was found about the machine and the host's GPUs; *worst: that, NULL if all is well. */
enum health host_health(const struct health_report *r, const char *host, const struct health_finding **worst);

#endif
