/* SPDX-License-Identifier: Apache-2.0 */
/* AES-128-CTR that works ahead: the same bytes as OpenSSL's own, however they are asked for. */
#include "cli/remote/keystream.h"

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/tap.h"

enum { ALL = 70000 };

static unsigned char plain[ALL], want[ALL], got[ALL];

static unsigned random_state = 20261124;

static unsigned next_random(unsigned below)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 8) % below;
}

static EVP_CIPHER_CTX *begin(const EVP_CIPHER *cipher, const unsigned char key[16], const unsigned char iv[16])
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (!ctx || !EVP_CipherInit(ctx, cipher, key, iv, 1))
		exit(99);
	return ctx;
}

/* What OpenSSL's own says. */
static void expect(const unsigned char key[16], const unsigned char iv[16])
{
	EVP_CIPHER *own = EVP_CIPHER_fetch(NULL, "AES-128-CTR", "provider=default");
	EVP_CIPHER_CTX *ctx = begin(own, key, iv);
	int len;

	ok(EVP_EncryptUpdate(ctx, want, &len, plain, ALL) && len == ALL, "OpenSSL's own");
	EVP_CIPHER_CTX_free(ctx);
	EVP_CIPHER_free(own);
}

/* As libssh2 calls it: EVP_Cipher into another buffer, so many bytes at once; 0: any number. */
static bool equals(EVP_CIPHER_CTX *ctx, unsigned step, bool in_place)
{
	memcpy(got, plain, sizeof got);
	for (unsigned at = 0, n; at < ALL; at += n) {
		unsigned char room[ALL], *to = in_place ? got + at : room;

		n = step ? step : 1 + next_random(next_random(2) ? 40 : 9000);
		if (n > ALL - at)
			n = ALL - at;
		if (EVP_Cipher(ctx, to, got + at, n) != (int)n)
			return false;
		if (!in_place)
			memcpy(got + at, room, n);
	}
	return memcmp(got, want, ALL) == 0;
}

static const char *provider_of(const char *name)
{
	EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
	const char *who = c ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(c)) : "none";

	EVP_CIPHER_free(c);
	return who;
}

int main(void)
{
	unsigned char key[16], iv[16];
	EVP_CIPHER_CTX *ctx;

	setenv("OPENSSL_CONF", "/dev/null", 1); /* the machine's may prefer other providers */
	for (int i = 0; i < ALL; i++)
		plain[i] = (unsigned char)next_random(256);
	for (int i = 0; i < 16; i++) {
		key[i] = (unsigned char)next_random(256);
		iv[i] = 0xff; /* the counter passes its end */
	}
	iv[15] = 0xfe;
	keystream_begin();
	keystream_begin();
	is_str(provider_of("AES-128-CTR"), "nanopod", "ours is taken");
	is_str(provider_of("AES-256-CTR"), "default", "OpenSSL's own for all else, also where it makes random numbers");
	is_str(provider_of("AES-128-GCM"), "default", "and for TLS");
	expect(key, iv);

	ctx = begin(EVP_aes_128_ctr(), key, iv);
	ok(EVP_CIPHER_CTX_get_block_size(ctx) == 1 && EVP_CIPHER_CTX_get_iv_length(ctx) == 16 &&
			EVP_CIPHER_CTX_get_key_length(ctx) == 16 && EVP_CIPHER_CTX_get_mode(ctx) == EVP_CIPH_CTR_MODE,
		"it says what it is");
	ok(equals(ctx, 16, false), "blocks of 16 bytes");
	ok(!equals(ctx, 16, false), "goes on where it was, and does not begin again");
	ok(EVP_CipherInit(ctx, NULL, NULL, iv, 0) && equals(ctx, 16, true), "in place, after a new start");
	ok(EVP_CipherInit(ctx, NULL, key, iv, 1) && equals(ctx, 0, false), "any number of bytes");
	ok(EVP_CipherInit(ctx, NULL, key, iv, 1) && equals(ctx, ALL, true), "all at once");
	key[3] ^= 1;
	expect(key, iv);
	ok(EVP_CipherInit(ctx, NULL, key, iv, 1) && equals(ctx, 0, true), "another key, as after a new key exchange");
	EVP_CIPHER_CTX_free(ctx);

	/* Contexts know nothing of each other. */
	ctx = begin(EVP_aes_128_ctr(), key, iv);
	EVP_CIPHER_CTX *other = begin(EVP_aes_128_ctr(), key, iv);
	ok(EVP_Cipher(other, got, plain, 48) == 48 && equals(ctx, 16, true), "two at once");
	EVP_CIPHER_CTX_free(ctx);
	EVP_CIPHER_CTX_free(other);
	return done();
}
