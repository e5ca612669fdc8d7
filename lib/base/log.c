/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void log_say(const struct log *log, enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!log->sink || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	log->sink(log->arg, level, text);
}
