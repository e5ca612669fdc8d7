/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's driver says in the kernel's log. An Xid that stops sales counts until its GPU was reset or the driver
 * was loaded again, a milder one for a day. A reboot empties the log.
 */
#ifndef AGENTD_MACHINE_XID_H
#define AGENTD_MACHINE_XID_H

#include "agentd/machine/health_report.h"

/* Where it is: kmsg, or /dev/kmsg of this machine; "": a tree below another root has none. */
const char *xid_log(const char *root, const char *kmsg);

/* path: the kernel's messages. now_us: the time by the clock of that log; 0: of this machine's. */
void xid_read(const char *path, int64_t now_us, struct health_report *r);

/* The last Xid of a GPU, whatever its cause. */
struct xid_last {
	char gpu[HEALTH_GPU]; /* its address, as the driver writes it: "0000:19:00" */
	int number;
};

/* Of each GPU that has had any within the last hour. Their number, or -errno. */
int xid_within_hour(const char *path, int64_t now_us, struct xid_last *list, size_t room);

/* The GPU was reset, as drivers before 550 do not say: notes it in the log itself, in order with what they say. */
void xid_note_reset(const char *root, const char *address);

#endif
