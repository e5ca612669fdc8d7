/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithms that a server offers, from the plain beginning of what it sends (RFC 4253, 4.2 and 7.1).
 * libssh2 only says that there is none in common.
 */
#ifndef PSSH_SESSION_KEXINIT_H
#define PSSH_SESSION_KEXINIT_H

#include <stdbool.h>
#include <stddef.h>

#include "pssh/pssh_types.h"

enum { KEXINIT_MAX = 16384 };

struct kexinit {
	/* Comma-separated and printable: what the server reads [0] and sends [1]; equal for the first two kinds. */
	char *lists[PSSH_ALGS][2];
};

/* Reads banner and first packet. 0, PSSH_EPROTO (it is not that, or not all of it) or PSSH_ENOMEM. */
int kexinit_parse(const void *data, size_t len, struct kexinit *out);
/* Whether it is that. For libssh2 after 1.11.1 garbage is a key exchange that failed. */
bool kexinit_there(const void *data, size_t len);
void kexinit_release(struct kexinit *k);

#endif
