/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SSH's keys, agent and files share: integers and strings as RFC 4251 writes them, base64,
 * and fingerprints.
 */
#ifndef PSSH_WIRE_H
#define PSSH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Reads from memory it does not own. After the first thing that is not there all else is empty. */
struct wire {
	const uint8_t *at;
	size_t left;
	bool bad;
};

void wire_init(struct wire *w, const void *data, size_t len);
uint8_t wire_u8(struct wire *w);
uint32_t wire_u32(struct wire *w);
uint64_t wire_u64(struct wire *w);
const uint8_t *wire_bytes(struct wire *w, size_t len);    /* NULL where not there */
const uint8_t *wire_string(struct wire *w, size_t *len);  /* never NULL, len 0 where not there */
bool wire_is(struct wire *w, const char *text);           /* reads a string; is it this? */
bool wire_text(struct wire *w, char *out, size_t size);   /* reads a string without NULs that fits */

/* Append; 0, -ENOMEM or -EFBIG. */
int wire_add_u32(struct buf *b, uint32_t v);
int wire_add_string(struct buf *b, const void *data, size_t len);
int wire_add_text(struct buf *b, const char *text);
int wire_add_mpint(struct buf *b, const uint8_t *number, size_t len); /* unsigned, big endian */

/* The type that a key blob begins with; false where it is not one. */
bool wire_blob_type(const void *blob, size_t len, char *out, size_t size);

enum { WIRE_TYPE_MAX = 64, WIRE_FINGERPRINT = 64 };

/* "SHA256:…" as ssh-keygen -l shows it; out has WIRE_FINGERPRINT bytes. */
void wire_fingerprint(const void *blob, size_t len, char *out);

/* Strict: no blanks, right padding. *out is malloc'd. 0, -EINVAL or -ENOMEM. */
int wire_base64(const char *text, size_t len, uint8_t **out, size_t *out_len);
int wire_add_base64(struct buf *b, const void *data, size_t len);

#endif
