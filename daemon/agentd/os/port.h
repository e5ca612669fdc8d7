/* SPDX-License-Identifier: Apache-2.0 */
/* TCP ports of this machine, at which buyers reach the SSH of nodes. */
#ifndef AGENTD_OS_PORT_H
#define AGENTD_OS_PORT_H

#include "base/fail.h"

/* A socket that listens at this IP address, closed by exec. */
int port_listen(const char *address, unsigned port, int *fd, struct fail *f);

/* 0 if a process could listen there now. */
int port_free(const char *address, unsigned port, struct fail *f);

#endif
