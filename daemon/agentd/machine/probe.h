/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short active check before and after each lease, a longer one when idle: do disk and memory keep what is written?
 * What it finds has the check "probe".
 */
#ifndef AGENTD_MACHINE_PROBE_H
#define AGENTD_MACHINE_PROBE_H

#include "agentd/machine/health_report.h"

/* Takes a fraction of a second, or some seconds. folder: agentd's. Call it in a child. */
void probe_run(const char *folder, bool lengthy, struct health_report *r);

/* Did it find anything? NULL: it passed. */
const struct health_finding *probe_failed(const struct health_report *r);

/* Writes so many bytes to a file, reads them back and compares. 0, -EIO where they differ, or -errno. */
int probe_disk(int fd, size_t bytes);

#endif
