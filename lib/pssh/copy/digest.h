/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of the beginning of a local file, a slice at a time, so that it never blocks for long. */
#ifndef PSSH_COPY_DIGEST_H
#define PSSH_COPY_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX = 65 };

struct digest;

struct digest *digest_new(uint64_t size); /* of the first size bytes; NULL: out of memory */
void digest_free(struct digest *d);

/* Hashes a slice. 1: more is left, 0: complete, or -errno (-ENODATA: the file is too short). */
int digest_step(struct digest *d, int fd);
/* Call only after digest_step() returned 0. */
const char *digest_hex(const struct digest *d);

/* Finds the last SHA-256 in a command's output; hex is lower case. 0 or -ENOENT. */
int digest_find(const char *text, size_t len, char hex[DIGEST_HEX]);

#endif
