/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/keystream.h"

#include <openssl/conf.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { KEYSTREAM_AHEAD = 4096, KEYSTREAM_KEY = 16, KEYSTREAM_IV = 16 };

struct keystream {
	EVP_CIPHER_CTX *inner;
	size_t used; /* of ahead; KEYSTREAM_AHEAD: all */
	unsigned char ahead[KEYSTREAM_AHEAD];
};

/* OpenSSL's own cipher, and our provider: both live as long as the process. */
static EVP_CIPHER *keystream_cipher;
static OSSL_PROVIDER *keystream_loaded;

static void *keystream_new(void *provider)
{
	struct keystream *k = OPENSSL_zalloc(sizeof *k);

	(void)provider;
	if (!k)
		return NULL;
	k->used = KEYSTREAM_AHEAD;
	k->inner = EVP_CIPHER_CTX_new();
	if (k->inner)
		return k;
	OPENSSL_free(k);
	return NULL;
}

static void keystream_free(void *arg)
{
	struct keystream *k = arg;

	if (!k)
		return;
	EVP_CIPHER_CTX_free(k->inner);
	OPENSSL_clear_free(k, sizeof *k);
}

/* Encrypting and decrypting are the same. */
static int keystream_init(void *arg, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
	const OSSL_PARAM params[])
{
	struct keystream *k = arg;

	(void)params;
	if ((key && key_len != KEYSTREAM_KEY) || (iv && iv_len != KEYSTREAM_IV))
		return 0;
	k->used = KEYSTREAM_AHEAD;
	/* With its cipher named again a context forgets the key. */
	return EVP_EncryptInit_ex(k->inner, EVP_CIPHER_CTX_get0_cipher(k->inner) ? NULL : keystream_cipher, NULL, key,
		iv);
}

/* in and out are the same, or do not overlap. */
static void keystream_xor(unsigned char *out, const unsigned char *in, const unsigned char *with, size_t len)
{
	size_t i = 0;

	for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
		uint64_t a, b;

		memcpy(&a, in + i, sizeof a);
		memcpy(&b, with + i, sizeof b);
		a ^= b;
		memcpy(out + i, &a, sizeof a);
	}
	for (; i < len; i++)
		out[i] = in[i] ^ with[i];
}

static int keystream_refill(struct keystream *k)
{
	int len;

	memset(k->ahead, 0, sizeof k->ahead);
	if (!EVP_EncryptUpdate(k->inner, k->ahead, &len, k->ahead, sizeof k->ahead) || len != sizeof k->ahead)
		return 0;
	k->used = 0;
	return 1;
}

static int keystream_update(void *arg, unsigned char *out, size_t *out_len, size_t room, const unsigned char *in,
	size_t len)
{
	struct keystream *k = arg;
	size_t done = 0;

	if (room < len)
		return 0;
	while (done < len) {
		size_t n = len - done;

		if (k->used == KEYSTREAM_AHEAD && !keystream_refill(k))
			return 0;
		if (n > KEYSTREAM_AHEAD - k->used)
			n = KEYSTREAM_AHEAD - k->used;
		keystream_xor(out + done, in + done, k->ahead + k->used, n);
		k->used += n;
		done += n;
	}
	*out_len = len;
	return 1;
}

static int keystream_final(void *arg, unsigned char *out, size_t *out_len, size_t room)
{
	(void)arg, (void)out, (void)room;
	*out_len = 0;
	return 1;
}

static int keystream_set(OSSL_PARAM params[], const char *name, size_t value)
{
	OSSL_PARAM *p = OSSL_PARAM_locate(params, name);

	return !p || OSSL_PARAM_set_size_t(p, value);
}

static int keystream_lengths(OSSL_PARAM params[])
{
	return keystream_set(params, OSSL_CIPHER_PARAM_KEYLEN, KEYSTREAM_KEY) &&
		keystream_set(params, OSSL_CIPHER_PARAM_IVLEN, KEYSTREAM_IV);
}

static int keystream_get(OSSL_PARAM params[])
{
	OSSL_PARAM *mode = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_MODE);

	return keystream_lengths(params) && keystream_set(params, OSSL_CIPHER_PARAM_BLOCK_SIZE, 1) &&
		(!mode || OSSL_PARAM_set_uint(mode, EVP_CIPH_CTR_MODE));
}

static int keystream_get_of(void *arg, OSSL_PARAM params[])
{
	(void)arg;
	return keystream_lengths(params);
}

/* ---- The provider ----------------------------------------------------------------------------- */

#define CALL(f) ((void (*)(void))(f))

static const OSSL_DISPATCH keystream_calls[] = {
	{ OSSL_FUNC_CIPHER_NEWCTX, CALL(keystream_new) },
	{ OSSL_FUNC_CIPHER_FREECTX, CALL(keystream_free) },
	{ OSSL_FUNC_CIPHER_ENCRYPT_INIT, CALL(keystream_init) },
	{ OSSL_FUNC_CIPHER_DECRYPT_INIT, CALL(keystream_init) },
	{ OSSL_FUNC_CIPHER_UPDATE, CALL(keystream_update) },
	{ OSSL_FUNC_CIPHER_CIPHER, CALL(keystream_update) },
	{ OSSL_FUNC_CIPHER_FINAL, CALL(keystream_final) },
	{ OSSL_FUNC_CIPHER_GET_PARAMS, CALL(keystream_get) },
	{ OSSL_FUNC_CIPHER_GET_CTX_PARAMS, CALL(keystream_get_of) },
	{ 0, NULL },
};

/* Not AES-256-CTR: OpenSSL's own random numbers are made with it. */
static const OSSL_ALGORITHM keystream_ciphers[] = {
	{ "AES-128-CTR", "provider=nanopod", keystream_calls, "AES-128-CTR ahead of small calls" },
	{ NULL, NULL, NULL, NULL },
};

static const OSSL_ALGORITHM *keystream_query(void *provider, int operation, int *no_cache)
{
	(void)provider;
	*no_cache = 0;
	return operation == OSSL_OP_CIPHER ? keystream_ciphers : NULL;
}

static const OSSL_DISPATCH keystream_provider[] = {
	{ OSSL_FUNC_PROVIDER_QUERY_OPERATION, CALL(keystream_query) },
	{ 0, NULL },
};

static int keystream_provide(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
	void **provider)
{
	(void)handle, (void)in;
	*out = keystream_provider;
	*provider = &keystream_cipher;
	return 1;
}

/* Does openssl.cnf say which providers are preferred? Ours would take the place of that. */
static bool keystream_unwanted(void)
{
	char *file = CONF_get1_default_config_file();
	CONF *conf = NCONF_new(NULL);
	const char *init = NULL, *algorithms = NULL, *properties = NULL;

	if (file && conf && NCONF_load(conf, file, NULL) > 0)
		init = NCONF_get_string(conf, NULL, "openssl_conf");
	if (init)
		algorithms = NCONF_get_string(conf, init, "alg_section");
	if (algorithms)
		properties = NCONF_get_string(conf, algorithms, "default_properties");
	NCONF_free(conf);
	OPENSSL_free(file);
	return properties || EVP_default_properties_is_fips_enabled(NULL);
}

void keystream_begin(void)
{
	static bool begun;

	if (begun || keystream_loaded)
		return;
	begun = true;
	ERR_set_mark();
	if (keystream_unwanted()) {
		ERR_pop_to_mark();
		return;
	}
	keystream_cipher = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
	if (keystream_cipher && OSSL_PROVIDER_add_builtin(NULL, "nanopod", keystream_provide))
		keystream_loaded = OSSL_PROVIDER_try_load(NULL, "nanopod", 1);
	if (keystream_loaded)
		EVP_set_default_properties(NULL, "?provider=nanopod");
	ERR_pop_to_mark();
}
