/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the sessions and processes that a lease of the whole machine started. */
#ifndef AGENTD_HOST_HOST_END_H
#define AGENTD_HOST_HOST_END_H

#include "agentd/driver.h"

/* The time since boot, now, in the units of process start times: what starts later starts under the lease. */
int host_now(unsigned long long *ticks, struct fail *f);

/*
 * Sends one signal to the sessions that the sshd on this port has accepted since, and to all their descendants. This
 * includes the owner's own sessions of that time: sshd does not tell which key a session used. Returns how many
 * processes there were. An sshd that another program starts for each connection is not found here; its commands are
 * found by their mark.
 */
unsigned host_end_sessions(unsigned port, unsigned long long since, int sig);

#endif
