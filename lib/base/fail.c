/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

int fail_vset(struct fail *f, int code, const char *fmt, va_list ap)
{
	if (f) {
		f->code = code;
		vsnprintf(f->text, sizeof f->text, fmt, ap);
	}
	return code;
}

int fail_set(struct fail *f, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_vset(f, code, fmt, ap);
	va_end(ap);
	return code;
}

int fail_errno(struct fail *f, int code, int errno_value, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	fail_vset(f, code, fmt, ap);
	va_end(ap);
	if (f) {
		n = strlen(f->text);
		snprintf(f->text + n, sizeof f->text - n, ": %s", strerror(errno_value));
	}
	return code;
}
