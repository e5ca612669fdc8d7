/* SPDX-License-Identifier: Apache-2.0 */
/* Log levels, and a sink that the program hands in: without one a library is silent. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR = 1, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

struct log {
	void (*sink)(void *arg, enum log_level level, const char *text);
	void *arg;
	enum log_level level; /* messages above it are not even formatted */
};

/* "error", "warn", "info", "debug". false: none of them. */
bool log_level_read(const char *word, enum log_level *out);

/* One line: the sink gets '?' for what must not reach a terminal. */
void log_say(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Costs nothing without a listener: the arguments are not even evaluated. */
#define log_at(log, lvl, ...) \
	do { \
		if ((log)->sink && (lvl) <= (log)->level) \
			log_say((log), (lvl), __VA_ARGS__); \
	} while (0)

#endif
