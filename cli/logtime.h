/* SPDX-License-Identifier: Apache-2.0 */
/* When a line of a log was written, from how it begins: ISO 8601, syslog, Go's and klog's ways. */
#ifndef CLI_LOGTIME_H
#define CLI_LOGTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Microseconds since the epoch. now_us: what time it is, for those that do not say the year; east: seconds
 * that the writer's clock is ahead of UTC, for those that do not say the zone. false: it begins otherwise.
 */
bool logtime_read(const char *line, size_t len, int64_t now_us, int east, int64_t *us);

#endif
