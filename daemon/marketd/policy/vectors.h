/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod-marketd policy check | test`: reads rules, and asks them what their author wants to be true. */
#ifndef MARKETD_POLICY_VECTORS_H
#define MARKETD_POLICY_VECTORS_H

#include <stdbool.h>
#include <stdio.h>

struct vectors {
	const char *verb;   /* "check" or "test" */
	const char *path;   /* the file; test: with vectors */
	const char *policy; /* test: other rules; NULL: those of the file */
	bool json;          /* test: a line of JSON each */
	FILE *out, *err;
};

/* An exit status: 0, or 1 where a vector fails or a file is wrong. */
int vectors_run(const struct vectors *v);

#endif
