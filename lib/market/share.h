/* SPDX-License-Identifier: Apache-2.0 */
/* The part of one GPU that a type promises: "1/4" beside others, or "mig:1g.10gb", a slice with hardware of its own. */
#ifndef MARKET_SHARE_H
#define MARKET_SHARE_H

#include <stdbool.h>

enum { SHARE_PARTS = 16, SHARE_SLICE = 32 };

#define SHARE_MIG "mig:"

struct share {
	unsigned parts;          /* 4 is a quarter; 0: it is a slice */
	char slice[SHARE_SLICE]; /* NVIDIA's name of its profile: "1g.10gb", "1g.10gb+me"; "": none */
};

/* false: it is neither. NULL is neither, too. */
bool share_read(const char *text, struct share *out);

/* Is it the name of a profile: "1g.10gb", "1g.24gb+me.all"? */
bool share_is_profile(const char *name);

/* Does the text say a slice? For plans and tables, which show the text as it is. */
bool share_is_slice(const char *text);

#endif
