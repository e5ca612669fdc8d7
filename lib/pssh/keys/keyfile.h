/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in which keys lie in files: text in, a key that OpenSSL can sign with out. */
#ifndef PSSH_KEYS_KEYFILE_H
#define PSSH_KEYS_KEYFILE_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct keyfile {
	EVP_PKEY *pkey;     /* NULL while locked */
	uint8_t *blob;      /* the public part; NULL while not known */
	size_t blob_len;
	char *comment;      /* NULL: not known, or none */
	bool locked;
};

bool keyfile_is_private(const char *text, size_t len);

/*
 * openssh-key-v1, and what OpenSSL reads from PEM. passphrase NULL: an encrypted one comes out
 * locked. PSSH_EPASSPHRASE: it is not the right one. out is filled only on success.
 */
int keyfile_read(const char *text, size_t len, const char *name, const char *passphrase,
	struct keyfile *out, struct fail *f);
void keyfile_release(struct keyfile *kf);

#endif
