/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure: a code for the program and one sentence for a person. The caller hands it down, so
 * that no library keeps an error in a global and none prints.
 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <stdarg.h>

struct fail {
	int code;        /* 0, or a negative code of the room that failed */
	char text[512];  /* lower case, no full stop, subject in 'quotes' */
};

/* Sets both and returns code, so that callers write `return fail_set(f, …)`. f may be NULL. */
int fail_set(struct fail *f, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int fail_vset(struct fail *f, int code, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

/* The same with ": strerror(errno_value)" appended. */
int fail_errno(struct fail *f, int code, int errno_value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
