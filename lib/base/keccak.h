/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keccak-256 as Ethereum has it, with the padding of before SHA-3 became a standard. OpenSSL has it from 3.2 on, and
 * Debian 12 has 3.0: so this one is ours, held to published vectors by tests/unit/keccak.c.
 */
#ifndef BASE_KECCAK_H
#define BASE_KECCAK_H

#include <stddef.h>
#include <stdint.h>

enum { KECCAK_BYTES = 32 };

void keccak_256(const void *data, size_t len, uint8_t out[KECCAK_BYTES]);

#endif
