/* SPDX-License-Identifier: Apache-2.0 */
/* When a line of a log was written, from how it begins: ISO 8601, syslog, Go's, klog's and logrus' ways. */
#ifndef CLI_LOGS_LOGTIME_H
#define CLI_LOGS_LOGTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Microseconds since the epoch. now_us: what time it is, for those that do not say the year; east: seconds
 * that the writer's clock is ahead of UTC, for those that do not say the zone. false: it begins otherwise.
 */
bool logtime_read(const char *line, size_t len, int64_t now_us, int east, int64_t *us);

/* The same; how many bytes the time takes at the line's beginning, 0 where there is none. */
size_t logtime_parse(const char *line, size_t len, int64_t now_us, int east, int64_t *us);

#endif
