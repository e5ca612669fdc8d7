/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, counts and expands one name with ranges, such as "r[1-4]n[01-16]:22". */
#ifndef PSSH_NAMES_HOSTRANGE_H
#define PSSH_NAMES_HOSTRANGE_H

#include <stddef.h>
#include <stdint.h>

struct fail;

enum { HOSTRANGE_BRACKETS = 8, HOSTRANGE_NAME_MAX = 1024 };

struct hostrange_span {
	uint64_t lo, hi, step;
	int width;                        /* 0: not padded */
};

/* A name's text: a literal, or a bracket with ranges. */
struct hostrange_part {
	const char *text;
	size_t len;
	size_t first, count;              /* which ranges; count 0: a literal */
};

struct hostrange {
	struct hostrange_part parts[2 * HOSTRANGE_BRACKETS + 1];
	int count;
	struct hostrange_span *ranges;
	size_t used, cap;
};

/*
 * Reads s to end; the result points into that text. On failure there is nothing to release, *at is the
 * place of the error, and f says why.
 */
int hostrange_parse(const char *s, const char *end, struct hostrange *out, const char **at, struct fail *f);
void hostrange_release(struct hostrange *r);

/* How many names it stands for; most + 1 for more than most. */
uint64_t hostrange_size(const struct hostrange *r, uint64_t most);

/* Calls fn for each name, the last bracket varying fastest. Stops when fn returns non-zero, and returns that. */
int hostrange_expand(const struct hostrange *r, int (*fn)(void *arg, const char *name), void *arg);

#endif
