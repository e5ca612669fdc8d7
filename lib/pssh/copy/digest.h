/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of the beginning of a local file, a slice at a time, so that nobody waits for it. */
#ifndef PSSH_COPY_DIGEST_H
#define PSSH_COPY_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX = 65 };

struct digest;

struct digest *digest_new(uint64_t size); /* of so many bytes; NULL: out of memory */
void digest_free(struct digest *d);

/* 1: more is to be done, 0: it is complete, or -errno (-ENODATA: the file is too short). */
int digest_step(struct digest *d, int fd);
/* Only after digest_step() said 0. */
const char *digest_hex(const struct digest *d);

/* The last SHA-256 in hexadecimal, small letters, within a command's output. 0 or -ENOENT. */
int digest_find(const char *text, size_t len, char hex[DIGEST_HEX]);

#endif
