/* SPDX-License-Identifier: Apache-2.0 */
/* The file formats of keys: reads text and returns a key that OpenSSL can sign with. */
#ifndef PSSH_KEYS_KEYFILE_H
#define PSSH_KEYS_KEYFILE_H

#include <openssl/types.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct keyfile {
	EVP_PKEY *pkey;     /* NULL while locked */
	uint8_t *blob;      /* the public part; NULL while not known */
	size_t blob_len;
	char *comment;      /* NULL: unknown or none */
	bool locked;
};

bool keyfile_is_private(const char *text, size_t len);

/*
 * Reads openssh-key-v1, and the PEM formats that OpenSSL reads. passphrase NULL: an encrypted key
 * stays locked. PSSH_EPASSPHRASE: wrong passphrase; PSSH_ECANCEL: *stop became true (NULL: it goes on to
 * the end). Fills out only on success.
 */
int keyfile_read(const char *text, size_t len, const char *name, const char *passphrase, const atomic_bool *stop,
	struct keyfile *out, struct fail *f);
void keyfile_release(struct keyfile *kf);

#endif
