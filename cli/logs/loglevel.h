/* SPDX-License-Identifier: Apache-2.0 */
/* How bad a line of a log is, from how it is written: Slurm's, klog's, logrus' and the common ways. */
#ifndef CLI_LOGS_LOGLEVEL_H
#define CLI_LOGS_LOGLEVEL_H

#include <stddef.h>

/*
 * Syslog's 0 … 7, or -1: it does not say. start: how many bytes its time takes (logtime_parse), 0 where it has none.
 */
int loglevel_read(const char *line, size_t len, size_t start);

#endif
