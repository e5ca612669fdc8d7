/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

bool log_level_read(const char *word, enum log_level *out)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], word) == 0) {
			*out = (enum log_level)(LOG_ERROR + i);
			return true;
		}
	return false;
}

void log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!log->sink || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	utf8_clean(text); /* it may be what a server said, and a terminal may show it */
	log->sink(log->arg, level, text);
}
