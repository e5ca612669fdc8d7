/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/names/hostrange.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "pssh/pssh_types.h"

enum { DIGITS_MAX = 18, RANGES_MAX = 1000000 };

#define SPACE " \t\r\n\f\v"

struct parser {
	const char **at;
	struct fail *f;
};

static int parse_fail(struct parser *in, int code, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int parse_fail(struct parser *in, int code, const char *at, const char *fmt, ...)
{
	va_list ap;

	*in->at = at;
	va_start(ap, fmt);
	fail_vset(in->f, code, fmt, ap);
	va_end(ap);
	return code;
}

/* Reads digits into *value. Returns how many, or -1 if too many. */
static int hostrange_number(const char **s, uint64_t *value)
{
	const char *begin = *s;

	*value = 0;
	for (; isdigit((unsigned char)**s); ++*s) {
		if (*s - begin >= DIGITS_MAX)
			return -1;
		*value = *value * 10 + (uint64_t)(**s - '0');
	}
	return (int)(*s - begin);
}

/* "3", "01-64", "0-8/2" */
static int take_range(struct parser *in, const char **s, struct hostrange_span *r)
{
	const char *at = *s;
	int low = hostrange_number(s, &r->lo), high = low, steps = 1;

	if (low == 0)
		return parse_fail(in, PSSH_ESYNTAX, *s, "a number expected");
	r->hi = r->lo;
	r->step = 1;
	r->width = low > 1 && *at == '0' ? low : 0;
	if (low > 0 && (*s)[strspn(*s, SPACE)] == '-') {
		const char *end;

		*s += strspn(*s, SPACE) + 1;
		*s += strspn(*s, SPACE);
		end = *s;

		high = hostrange_number(s, &r->hi);
		if (high == 0)
			return parse_fail(in, PSSH_ESYNTAX, *s, "a number expected after '-'");
		if (high > 0 && high != low && (high < r->width || (high > 1 && *end == '0')))
			return parse_fail(in, PSSH_ESYNTAX, at, "the ends of '%.*s' are padded differently",
				(int)(*s - at), at);
	}
	if (low > 0 && high > 0 && (*s)[strspn(*s, SPACE)] == '/') {
		*s += strspn(*s, SPACE) + 1;
		*s += strspn(*s, SPACE);
		steps = hostrange_number(s, &r->step);
		if (steps == 0 || r->step == 0)
			return parse_fail(in, PSSH_ESYNTAX, *s, "a step of 1 or more expected after '/'");
	}
	if (low < 0 || high < 0 || steps < 0)
		return parse_fail(in, PSSH_ESYNTAX, at, "a number of more than %d digits", DIGITS_MAX);
	if (r->hi < r->lo)
		return parse_fail(in, PSSH_ESYNTAX, at, "the range '%.*s' runs backwards", (int)(*s - at), at);
	return 0;
}

static int push_range(struct parser *in, struct hostrange *p, const struct hostrange_span *r, const char *at)
{
	if (p->used == RANGES_MAX)
		return parse_fail(in, PSSH_EINVAL, at, "too many ranges in one name");
	if (p->used == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct hostrange_span *more = realloc(p->ranges, cap * sizeof *more);

		if (!more)
			return parse_fail(in, PSSH_ENOMEM, at, "out of memory");
		p->ranges = more;
		p->cap = cap;
	}
	p->ranges[p->used++] = *r;
	return 0;
}

/* Reads what stands between brackets. */
static int take_bracket(struct parser *in, const char *s, const char *end, struct hostrange *p)
{
	struct hostrange_part *part = &p->parts[p->count];
	int rc = 0;

	if (p->count + 1 >= (int)(sizeof p->parts / sizeof *p->parts))
		return parse_fail(in, PSSH_ESYNTAX, s, "too many brackets in one name");
	*part = (struct hostrange_part){ .text = s, .first = p->used };
	for (;;) {
		struct hostrange_span r;

		s += strspn(s, SPACE);
		rc = take_range(in, &s, &r);
		if (!rc)
			rc = push_range(in, p, &r, s);
		if (rc)
			return rc;
		s += strspn(s, SPACE);
		if (s >= end)
			break;
		if (*s != ',')
			return parse_fail(in, PSSH_ESYNTAX, s, "'%c' in a range; '[1-3,7]' is the form", *s);
		s++;
	}
	part->count = p->used - part->first;
	p->count++;
	return 0;
}

static void push_literal(struct hostrange *p, const char *from, const char *to)
{
	if (to > from)
		p->parts[p->count++] = (struct hostrange_part){ .text = from, .len = (size_t)(to - from) };
}

/* An IPv6 address stands in brackets too, and is no range. */
static bool hostrange_is_address(const char *open, const char *close)
{
	return memchr(open, ':', (size_t)(close - open)) != NULL;
}

/* Where the name itself begins, for which the rules are strict: after "ssh://" and "user@". Groups have any name. */
static const char *hostrange_strict_from(const char *s, const char *end)
{
	const char *at = memrchr(s, '@', (size_t)(end - s));

	if (at == s)
		return end;
	if (at)
		return at + 1;
	return end - s > 6 && memcmp(s, "ssh://", 6) == 0 ? s + 6 : s;
}

/* Refuses what a name cannot have. pdsh's words "/regex/" must not pass for names: they leave hosts out. */
static int check_byte(struct parser *in, const char *s, bool strict)
{
	if ((unsigned char)*s < ' ' || *s == 127)
		return parse_fail(in, PSSH_ESYNTAX, s, "a control character in a name");
	if (strict && *s == '/')
		return parse_fail(in, PSSH_ESYNTAX, s, "a name cannot have '/'");
	if (strchr("*?{}()<>|;&^`\"'", *s) || (strict && strchr("$~#\\", *s)))
		return parse_fail(in, PSSH_ESYNTAX, s, "a name cannot have '%c'", *s);
	return 0;
}

static int take_all(struct parser *in, const char *s, const char *end, struct hostrange *p)
{
	const char *from = s, *strict = hostrange_strict_from(s, end);
	bool uri = end - s > 6 && memcmp(s, "ssh://", 6) == 0;
	int rc = 0;

	while (!rc && s < end) {
		const char *close;

		rc = check_byte(in, s, s >= strict && !(uri && *s == '/' && s + 1 == end));
		if (!rc && *s == ']')
			rc = parse_fail(in, PSSH_ESYNTAX, s, "a name cannot have ']'");
		if (rc)
			return rc;
		if (*s != '[') {
			s++;
			continue;
		}
		close = memchr(s, ']', (size_t)(end - s));
		if (!close)
			return parse_fail(in, PSSH_ESYNTAX, s, "']' is missing");
		for (const char *c = s + 1; !rc && c < close && hostrange_is_address(s, close); c++)
			rc = check_byte(in, c, true);
		if (!rc && !hostrange_is_address(s, close)) {
			if (p->count + 2 > (int)(sizeof p->parts / sizeof *p->parts))
				return parse_fail(in, PSSH_ESYNTAX, s, "too many brackets in one name");
			push_literal(p, from, s);
			rc = take_bracket(in, s + 1, close, p);
			from = close + 1;
		}
		s = close + 1;
	}
	if (!rc)
		push_literal(p, from, end);
	return rc;
}

/* The length that the part's names have at most. */
static size_t part_length(const struct hostrange *r, const struct hostrange_part *part)
{
	size_t most = part->len;

	for (size_t i = 0; i < part->count; i++) {
		size_t digits = 1;

		for (uint64_t v = r->ranges[part->first + i].hi; v > 9; v /= 10)
			digits++;
		if (digits < (size_t)r->ranges[part->first + i].width)
			digits = (size_t)r->ranges[part->first + i].width;
		if (digits > most)
			most = digits;
	}
	return most;
}

int hostrange_parse(const char *s, const char *end, struct hostrange *out, const char **at, struct fail *f)
{
	struct parser in = { .at = at, .f = f };
	struct hostrange r = { 0 };
	size_t len = 0;
	int rc = take_all(&in, s, end, &r);

	for (int i = 0; !rc && i < r.count; i++)
		len += part_length(&r, &r.parts[i]);
	if (!rc && len > HOSTRANGE_NAME_MAX)
		rc = parse_fail(&in, PSSH_ESYNTAX, s, "a name of more than %d bytes", HOSTRANGE_NAME_MAX);
	if (rc) {
		hostrange_release(&r);
		return rc;
	}
	*out = r;
	return 0;
}

void hostrange_release(struct hostrange *r)
{
	free(r->ranges);
	*r = (struct hostrange){ 0 };
}

uint64_t hostrange_size(const struct hostrange *r, uint64_t most)
{
	uint64_t all = 1;

	for (int i = 0; i < r->count; i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < r->parts[i].count && sum <= most; k++) {
			const struct hostrange_span *span = &r->ranges[r->parts[i].first + k];

			sum += (span->hi - span->lo) / span->step + 1;
		}
		if (!r->parts[i].count)
			continue;
		if (sum > most || all > most / sum)
			return most + 1;
		all *= sum;
	}
	return all;
}

struct expansion {
	const struct hostrange *r;
	int (*fn)(void *arg, const char *name);
	void *arg;
	char name[HOSTRANGE_NAME_MAX + 4];
};

/* Makes all names that begin with the first len bytes of x->name and continue with the parts from `i`. */
static int names_hostrange_expand(struct expansion *x, int i, size_t len)
{
	const struct hostrange_part *part = &x->r->parts[i];
	int rc = 0;

	if (i == x->r->count) {
		x->name[len] = '\0';
		return x->fn(x->arg, x->name);
	}
	if (!part->count) {
		memcpy(x->name + len, part->text, part->len);
		return names_hostrange_expand(x, i + 1, len + part->len);
	}
	for (size_t k = 0; !rc && k < part->count; k++) {
		const struct hostrange_span *span = &x->r->ranges[part->first + k];

		for (uint64_t v = span->lo; !rc && v <= span->hi; v += span->step) {
			int n = snprintf(x->name + len, DIGITS_MAX + 2, "%0*llu", span->width, (unsigned long long)v);

			rc = names_hostrange_expand(x, i + 1, len + (size_t)n);
		}
	}
	return rc;
}

int hostrange_expand(const struct hostrange *r, int (*fn)(void *arg, const char *name), void *arg)
{
	struct expansion x = { .r = r, .fn = fn, .arg = arg };

	return names_hostrange_expand(&x, 0, 0);
}
