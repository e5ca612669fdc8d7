/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encodings that keys, agent and files share: integers and strings of RFC 4251, base64, and
 * fingerprints.
 */
#ifndef PSSH_KEYS_SSHWIRE_H
#define PSSH_KEYS_SSHWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Reads from memory that it does not own. After the first read past the end, all reads return nothing. */
struct sshwire {
	const uint8_t *at;
	size_t left;
	bool bad;
};

void sshwire_init(struct sshwire *w, const void *data, size_t len);
uint8_t sshwire_u8(struct sshwire *w);
uint32_t sshwire_u32(struct sshwire *w);
uint64_t sshwire_u64(struct sshwire *w);
const uint8_t *sshwire_bytes(struct sshwire *w, size_t len);    /* NULL past the end */
const uint8_t *sshwire_string(struct sshwire *w, size_t *len);  /* never NULL; len 0 past the end */
bool sshwire_is(struct sshwire *w, const char *text);           /* reads a string; is it this? */
bool sshwire_text(struct sshwire *w, char *out, size_t size);   /* reads a string without NULs that fits */

/* Append; 0, -ENOMEM or -EFBIG. */
int sshwire_add_u32(struct buf *b, uint32_t v);
int sshwire_add_string(struct buf *b, const void *data, size_t len);
int sshwire_add_text(struct buf *b, const char *text);
int sshwire_add_mpint(struct buf *b, const uint8_t *number, size_t len); /* unsigned, big endian */

/* "type base64", as in .pub files and known hosts. 0, -EINVAL, -ENOMEM or -EFBIG. */
int sshwire_add_key(struct buf *b, const void *blob, size_t len);

/* The type that a key blob begins with; false if it is no key blob. */
bool sshwire_blob_type(const void *blob, size_t len, char *out, size_t size);

enum { WIRE_TYPE_MAX = 64, WIRE_FINGERPRINT = 64 };

/* "SHA256:…" as ssh-keygen -l shows it; out has WIRE_FINGERPRINT bytes. */
void sshwire_fingerprint(const void *blob, size_t len, char *out);

/* Decodes base64 strictly: no blanks, correct padding. *out is malloc'd. 0, -EINVAL or -ENOMEM. */
int sshwire_base64(const char *text, size_t len, uint8_t **out, size_t *out_len);

#endif
