/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's driver says in the kernel's log. An Xid is an event with a time: it counts for a day, until the GPU was
 * reset or until the driver was loaded again. A reboot empties the log.
 */
#ifndef AGENTD_MACHINE_XID_H
#define AGENTD_MACHINE_XID_H

#include "agentd/machine/health_report.h"

/* path: the kernel's messages. now_us: the time by the clock of that log; 0: of this machine's. */
void xid_read(const char *path, int64_t now_us, struct health_report *r);

#endif
