/* SPDX-License-Identifier: Apache-2.0 */
/* Ends what a lease of the whole machine began. */
#ifndef AGENTD_HOST_HOST_END_H
#define AGENTD_HOST_HOST_END_H

#include "agentd/driver.h"

/* The machine's clock of processes, now: what began later began under the lease. */
int host_now(unsigned long long *ticks, struct fail *f);

/*
 * One signal to the sessions that the sshd on this port has taken since, and all below them. The owner's own
 * sessions of that time are among them: sshd does not tell by which key one came. How many processes there were.
 * An sshd that is begun for each connection by somebody else is not found here; its commands are, by their mark.
 */
unsigned host_end_sessions(unsigned port, unsigned long long since, int sig);

#endif
