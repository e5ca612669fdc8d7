/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host name written as |1|salt|HMAC-SHA1|. A lookup must try its name against every such line, so
 * reading the line does the salt's part of the work once.
 */
#ifndef PSSH_KNOWN_HOSTHASH_H
#define PSSH_KNOWN_HOSTHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct hosthash {
	uint32_t inner[5], outer[5];  /* SHA-1 states after the salt's block */
	uint32_t want[5];
};

enum { HOSTHASH_BLOCKS = 24 };

struct hosthash_name {
	uint8_t blocks[HOSTHASH_BLOCKS][64];  /* the name, padded as SHA-1 pads it */
	size_t count;
};

bool hosthash_parse(const char *text, size_t len, struct hosthash *out);

/* false: the name is too long for a host. */
bool hosthash_name(const char *name, struct hosthash_name *out);
bool hosthash_is(const struct hosthash *h, const struct hosthash_name *name);

/* Appends the name, hashed with a new salt. 0 or a PSSH code. */
int hosthash_add(struct buf *b, const char *name);

#endif
