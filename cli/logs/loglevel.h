/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the severity of a log line from its text: Slurm's, klog's, logrus' and common formats. */
#ifndef CLI_LOGS_LOGLEVEL_H
#define CLI_LOGS_LOGLEVEL_H

#include <stddef.h>

/*
 * Syslog's 0 … 7, or -1: not known. start: how many bytes its time takes (logtime_parse), 0 where it has none.
 */
int loglevel_read(const char *line, size_t len, size_t start);

#endif
