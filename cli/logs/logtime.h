/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the time at the start of a log line: ISO 8601, syslog, Go's, klog's and logrus' formats. */
#ifndef CLI_LOGS_LOGTIME_H
#define CLI_LOGS_LOGTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Microseconds since the epoch. now_us: what time it is, for times without a year; east: seconds that
 * the writer's clock is ahead of UTC, for times without a zone. false: the line has no time.
 */
bool logtime_read(const char *line, size_t len, int64_t now_us, int east, int64_t *us);

/* The same. How many bytes the time takes at the start of the line; 0: none. */
size_t logtime_parse(const char *line, size_t len, int64_t now_us, int east, int64_t *us);

#endif
