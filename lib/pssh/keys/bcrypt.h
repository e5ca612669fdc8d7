/* SPDX-License-Identifier: Apache-2.0 */
/* bcrypt_pbkdf, by which OpenSSH makes a cipher's key out of a passphrase; OpenSSL has none. */
#ifndef PSSH_KEYS_BCRYPT_H
#define PSSH_KEYS_BCRYPT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * 0, PSSH_EINVAL (nothing to work on, more than 1 KiB asked for), PSSH_ENOMEM, or PSSH_ECANCEL: *stop
 * became true. stop NULL: it goes on to the end.
 */
int bcrypt_pbkdf(const void *pass, size_t pass_len, const uint8_t *salt, size_t salt_len, unsigned rounds,
	const atomic_bool *stop, uint8_t *out, size_t out_len);

#endif
