/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of Ethereum, written with their checksum (EIP-55), and who signed a text (EIP-191, personal_sign). */
#ifndef MARKETD_PASSPORT_ETHADDRESS_H
#define MARKETD_PASSPORT_ETHADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum {
	ETH_ADDRESS = 20,
	ETH_ADDRESS_TEXT = 2 + 2 * ETH_ADDRESS + 1,
	ETH_SIGNATURE = 65, /* r, s and v */
	ETH_SIGNED_MAX = 64 * 1024,
};

/* "0x…" of 40 digits. Where its letters are of both cases, they are a checksum and have to be right. */
bool eth_address_read(const char *text, uint8_t out[ETH_ADDRESS]);
const char *eth_address_text(const uint8_t address[ETH_ADDRESS], char room[ETH_ADDRESS_TEXT]);

/* "0x…" or the digits alone. */
bool eth_signature_read(const char *text, uint8_t out[ETH_SIGNATURE]);

/*
 * Whose key made the signature of this text. Of the two signatures that hold, only the one with the lower s counts; v
 * is 27, 28, 0 or 1. 0, or -EINVAL and why not; -ENOMEM.
 */
int eth_signer(const char *text, size_t len, const uint8_t signature[ETH_SIGNATURE], uint8_t out[ETH_ADDRESS],
	struct fail *why);

#endif
