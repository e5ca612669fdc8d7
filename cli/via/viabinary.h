/* SPDX-License-Identifier: Apache-2.0 */
/* This very program, with its libpssh, to send to gateways that lack it. */
#ifndef CLI_VIA_VIABINARY_H
#define CLI_VIA_VIABINARY_H

#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

struct viabinary {
	struct buf bytes; /* the program, then the library */
	size_t program;   /* how many of them are the program */
	char hex[65];     /* SHA-256 of all */
};

/* What a helper must be to understand us: the version of the program and of the frames. */
const char *viabinary_version(void);

int viabinary_load(struct viabinary *b, struct fail *f); /* 0 or a negative code */
void viabinary_release(struct viabinary *b);

/* The command that finds or receives the helper on a gateway, and runs it. 0 or -errno. */
int viabinary_command(const struct viabinary *b, struct buf *out);

#endif
