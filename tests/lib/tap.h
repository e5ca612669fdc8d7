/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TAP for C tests in one header: no library to link, nothing to set up. Include it as
 * "../lib/tap.h", call ok() and its kin, end main() with `return done();`. The plan is printed
 * last, so a test that dies half-way has no plan, and the driver counts that as an error.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAP_UNUSED __attribute__((unused))

static unsigned tap_count, tap_failed;

/* For those who like to say at the top that the number of checks is not known beforehand. */
#define plan_none ((void)setvbuf(stdout, NULL, _IOLBF, 0))

/* A line that is shown but not counted. */
static TAP_UNUSED __attribute__((format(printf, 1, 2))) void diag(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static TAP_UNUSED __attribute__((format(printf, 4, 0))) bool tap_line(bool pass, const char *file, int line,
	const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof text, fmt, ap);
	for (char *p = text; *p; p++)
		if (*p == '\n' || *p == '#')  /* both mean something to the reader of TAP */
			*p = ' ';
	printf("%sok %u - %s\n", pass ? "" : "not ", ++tap_count, text);
	if (!pass) {
		tap_failed++;
		diag("failed at %s:%d", file, line);
	}
	fflush(stdout);
	return pass;
}

static TAP_UNUSED __attribute__((format(printf, 4, 5))) bool tap_ok(bool pass, const char *file, int line,
	const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(pass, file, line, fmt, ap);
	va_end(ap);
	return pass;
}

static TAP_UNUSED __attribute__((format(printf, 5, 6))) bool tap_str(const char *a, const char *b,
	const char *file, int line, const char *fmt, ...)
{
	bool pass = a == b || (a && b && strcmp(a, b) == 0);
	va_list ap;

	va_start(ap, fmt);
	tap_line(pass, file, line, fmt, ap);
	va_end(ap);
	if (!pass)
		diag("got '%s', expected '%s'", a ? a : "(null)", b ? b : "(null)");
	return pass;
}

static TAP_UNUSED __attribute__((format(printf, 5, 6))) bool tap_int(intmax_t a, intmax_t b,
	const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(a == b, file, line, fmt, ap);
	va_end(ap);
	if (a != b)
		diag("got %" PRIdMAX ", expected %" PRIdMAX, a, b);
	return a == b;
}

static TAP_UNUSED __attribute__((format(printf, 6, 7))) bool tap_has(const char *text, const char *part, bool want,
	const char *file, int line, const char *fmt, ...)
{
	bool pass = text && (strstr(text, part) != NULL) == want;
	va_list ap;

	va_start(ap, fmt);
	tap_line(pass, file, line, fmt, ap);
	va_end(ap);
	if (!pass)
		diag("'%s' %s '%s'", text ? text : "(null)", want ? "lacks" : "has", part);
	return pass;
}

/* All take a printf text last, and give whether the check passed. */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) tap_int((intmax_t)(got), (intmax_t)(want), __FILE__, __LINE__, __VA_ARGS__)
#define has_str(text, part, ...) tap_has((text), (part), true, __FILE__, __LINE__, __VA_ARGS__)
#define lacks_str(text, part, ...) tap_has((text), (part), false, __FILE__, __LINE__, __VA_ARGS__)

/* For "fast enough": processor time, which a busy machine does not make longer. */
static TAP_UNUSED int tap_cpu_ms(void)
{
	return (int)(clock() / (CLOCKS_PER_SEC / 1000));
}

/* One check that cannot be made here. */
static TAP_UNUSED __attribute__((format(printf, 1, 2))) void skip(const char *fmt, ...)
{
	va_list ap;

	printf("ok %u # SKIP ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* The whole test cannot be made here. Call it first. */
static TAP_UNUSED __attribute__((format(printf, 1, 2), noreturn)) void skip_all(const char *fmt, ...)
{
	va_list ap;

	fputs("1..0 # SKIP ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(0);
}

static TAP_UNUSED int done(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : fflush(stdout) != 0;
}

#endif
