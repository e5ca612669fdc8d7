/* SPDX-License-Identifier: Apache-2.0 */
/* Public keys and certificates: reads a line of text, and makes what libssh2 can use. */
#ifndef PSSH_KEYS_PUBKEY_H
#define PSSH_KEYS_PUBKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define PUBKEY_CERT_SUFFIX "-cert-v01@openssh.com"

bool pubkey_is_cert(const char *type);

/* See key_blob_for_auth(). */
int pubkey_for_auth(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len, struct fail *f);

/* 0 if it is a user certificate of this key, valid now, that this libssh2 can use. */
int pubkey_cert_check(const uint8_t *cert, size_t cert_len, const uint8_t *blob, size_t blob_len,
	const char *path, struct fail *f);

/* "type base64 comment" in the first line that is neither empty nor a comment; comment may be NULL. */
int pubkey_parse(const char *text, size_t len, const char *name,
	uint8_t **blob, size_t *blob_len, char **comment, struct fail *f);

#endif
