/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/passport/ethaddress.h"

#include <ctype.h>
#include <errno.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/keccak.h"
#include "base/str.h"

static int eth_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly n bytes, and nothing after them. */
static bool eth_bytes(const char *text, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int high = eth_digit(text[2 * i]), low = high < 0 ? -1 : eth_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return text[2 * n] == '\0';
}

bool eth_address_read(const char *text, uint8_t out[ETH_ADDRESS])
{
	char right[ETH_ADDRESS_TEXT];
	bool upper = false, lower = false;
	uint8_t made[ETH_ADDRESS];

	if (!str_starts(text, "0x") || !eth_bytes(text + 2, made, ETH_ADDRESS))
		return false;
	for (const char *p = text + 2; *p; p++) {
		upper = upper || isupper((unsigned char)*p);
		lower = lower || islower((unsigned char)*p);
	}
	if (upper && lower && strcmp(text, eth_address_text(made, right)) != 0)
		return false;
	memcpy(out, made, ETH_ADDRESS);
	return true;
}

const char *eth_address_text(const uint8_t address[ETH_ADDRESS], char room[ETH_ADDRESS_TEXT])
{
	uint8_t sum[KECCAK_BYTES];
	char *digits = room + 2;

	room[0] = '0';
	room[1] = 'x';
	for (size_t i = 0; i < ETH_ADDRESS; i++)
		snprintf(digits + 2 * i, 3, "%02x", address[i]);
	keccak_256(digits, (size_t)2 * ETH_ADDRESS, sum);
	for (size_t i = 0; i < (size_t)2 * ETH_ADDRESS; i++)
		if (sum[i / 2] & (i % 2 ? 0x08 : 0x80))
			digits[i] = (char)toupper((unsigned char)digits[i]);
	return room;
}

bool eth_signature_read(const char *text, uint8_t out[ETH_SIGNATURE])
{
	return eth_bytes(str_starts(text, "0x") ? text + 2 : text, out, ETH_SIGNATURE);
}

/* What a wallet signs: never a transaction, as none begins so. */
static int eth_hash(const char *text, size_t len, uint8_t out[KECCAK_BYTES])
{
	struct buf b;
	int rc;

	buf_init(&b, ETH_SIGNED_MAX + 64);
	rc = buf_addf(&b,
		"\x19"
		"Ethereum Signed Message:\n%zu",
		len);
	rc = rc ? rc : buf_add(&b, text, len);
	if (!rc)
		keccak_256(buf_text(&b), b.len, out);
	buf_release(&b);
	return rc;
}

static int eth_recover(const uint8_t hash[KECCAK_BYTES], const uint8_t signature[ETH_SIGNATURE], int v,
	uint8_t point[65], struct fail *why)
{
	secp256k1_context *c = secp256k1_context_create(SECP256K1_CONTEXT_VERIFY);
	secp256k1_ecdsa_recoverable_signature given;
	secp256k1_ecdsa_signature plain;
	secp256k1_pubkey key;
	size_t len = 65;
	int rc = 0;

	if (!c)
		return fail_set(why, -ENOMEM, "out of memory");
	if (!secp256k1_ecdsa_recoverable_signature_parse_compact(c, &given, signature, v) ||
		!secp256k1_ecdsa_recoverable_signature_convert(c, &plain, &given) ||
		!secp256k1_ecdsa_recover(c, &key, &given, hash))
		rc = fail_set(why, -EINVAL, "the signature is none of any key");
	else if (secp256k1_ecdsa_signature_normalize(c, NULL, &plain))
		rc = fail_set(why, -EINVAL, "the signature's s is in the upper half: no wallet signs so");
	else
		secp256k1_ec_pubkey_serialize(c, point, &len, &key, SECP256K1_EC_UNCOMPRESSED);
	secp256k1_context_destroy(c);
	return rc;
}

int eth_signer(const char *text, size_t len, const uint8_t signature[ETH_SIGNATURE], uint8_t out[ETH_ADDRESS],
	struct fail *why)
{
	uint8_t hash[KECCAK_BYTES], point[65];
	int v = signature[64] >= 27 ? signature[64] - 27 : signature[64], rc;

	if (v != 0 && v != 1)
		return fail_set(why, -EINVAL, "the signature ends with %d; it is 27, 28, 0 or 1", signature[64]);
	if (eth_hash(text, len, hash))
		return fail_set(why, -EINVAL, "the text is too long");
	rc = eth_recover(hash, signature, v, point, why);
	if (rc)
		return rc;
	keccak_256(point + 1, sizeof point - 1, hash);
	memcpy(out, hash + KECCAK_BYTES - ETH_ADDRESS, ETH_ADDRESS);
	return 0;
}
