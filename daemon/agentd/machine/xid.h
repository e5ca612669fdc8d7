/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's driver says in the kernel's log. An Xid that stops sales counts until its GPU was reset or the driver
 * was loaded again, a milder one for a day. A reboot empties the log.
 */
#ifndef AGENTD_MACHINE_XID_H
#define AGENTD_MACHINE_XID_H

#include "agentd/machine/health_report.h"

/* path: the kernel's messages. now_us: the time by the clock of that log; 0: of this machine's. */
void xid_read(const char *path, int64_t now_us, struct health_report *r);

/* The GPU was reset, as drivers before 550 do not say: notes it in the log itself, in order with what they say. */
void xid_note_reset(const char *root, const char *address);

#endif
