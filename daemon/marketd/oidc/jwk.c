/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/oidc/jwk.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 64, RSA_LEAST = 2048 / 8, RSA_MOST = 8192 / 8, POINT = 32, ED25519 = 32 };

enum jwk_alg jwk_alg_read(const char *name)
{
	return !name                         ? JWK_NONE
		: strcmp(name, "RS256") == 0 ? JWK_RS256
		: strcmp(name, "ES256") == 0 ? JWK_ES256
		: strcmp(name, "EdDSA") == 0 ? JWK_EDDSA
					     : JWK_NONE;
}

static int jwk_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

unsigned char *jwk_base64url(const char *text, size_t len, size_t *out_len)
{
	unsigned char *out = len % 4 == 1 ? NULL : malloc(len / 4 * 3 + 3);
	unsigned bits = 0;
	int held = 0;
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		int digit = jwk_digit(text[i]);

		if (digit < 0) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (unsigned)digit;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[n++] = (unsigned char)(bits >> held);
		}
		bits &= (1u << held) - 1;
	}
	if (out && bits) { /* what is past the last byte is nothing */
		free(out);
		return NULL;
	}
	*out_len = n;
	return out;
}

/* ---- Which key -------------------------------------------------------------------------- */

static bool jwk_says(const json_t *key, const char *name, const char *word)
{
	const char *is = json_string_value(json_object_get(key, name));

	return is && strcmp(is, word) == 0;
}

/* The key's type decides which signatures it may make; what it says of itself may only forbid. */
static bool jwk_fits(const json_t *key, enum jwk_alg alg)
{
	static const char *const names[] = { "none", "RS256", "ES256", "EdDSA" };
	const json_t *ops = json_object_get(key, "key_ops"), *op;
	bool verifies = !ops;
	size_t i;

	json_array_foreach(ops, i, op)
		verifies = verifies || (json_is_string(op) && strcmp(json_string_value(op), "verify") == 0);
	if (!verifies || (json_object_get(key, "use") && !jwk_says(key, "use", "sig")) ||
		(json_object_get(key, "alg") && !jwk_says(key, "alg", names[alg])))
		return false;
	return alg == JWK_RS256    ? jwk_says(key, "kty", "RSA")
		: alg == JWK_ES256 ? jwk_says(key, "kty", "EC") && jwk_says(key, "crv", "P-256")
		: alg == JWK_EDDSA ? jwk_says(key, "kty", "OKP") && jwk_says(key, "crv", "Ed25519")
				   : false;
}

const json_t *jwk_find(const json_t *keys, const char *kid, enum jwk_alg alg)
{
	const json_t *list = json_object_get(keys, "keys"), *key, *found = NULL;
	size_t i;

	if (json_array_size(list) > KEYS_MAX)
		return NULL;
	json_array_foreach(list, i, key)
	{
		if (!jwk_fits(key, alg) || (kid && !jwk_says(key, "kid", kid)))
			continue;
		if (found)
			return NULL; /* which of them is meant is anybody's guess */
		found = key;
	}
	return found;
}

/* ---- Its signature ---------------------------------------------------------------------- */

static unsigned char *jwk_bytes(const json_t *key, const char *name, size_t *len)
{
	const json_t *text = json_object_get(key, name);

	return json_is_string(text) ? jwk_base64url(json_string_value(text), json_string_length(text), len) : NULL;
}

static EVP_PKEY *jwk_make(const char *type, OSSL_PARAM_BLD *build)
{
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY *key = NULL;

	if (c && params && EVP_PKEY_fromdata_init(c) == 1 &&
		EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	OSSL_PARAM_free(params);
	EVP_PKEY_CTX_free(c);
	return key;
}

static EVP_PKEY *jwk_rsa(const json_t *jwk, OSSL_PARAM_BLD *build)
{
	size_t n_len = 0, e_len = 0;
	unsigned char *n = jwk_bytes(jwk, "n", &n_len), *e = jwk_bytes(jwk, "e", &e_len);
	BIGNUM *big_n = NULL, *big_e = NULL;
	EVP_PKEY *key = NULL;

	if (n && e && n_len >= RSA_LEAST && n_len <= RSA_MOST && e_len >= 1 && e_len <= 8 && (e[e_len - 1] & 1)) {
		big_n = BN_bin2bn(n, (int)n_len, NULL);
		big_e = BN_bin2bn(e, (int)e_len, NULL);
	}
	if (big_n && big_e && BN_num_bits(big_n) >= 8 * RSA_LEAST && !BN_is_one(big_e) &&
		OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, big_n) &&
		OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, big_e))
		key = jwk_make("RSA", build);
	BN_free(big_n);
	BN_free(big_e);
	free(n);
	free(e);
	return key;
}

static EVP_PKEY *jwk_ec(const json_t *jwk, OSSL_PARAM_BLD *build)
{
	size_t x_len = 0, y_len = 0;
	unsigned char *x = jwk_bytes(jwk, "x", &x_len), *y = jwk_bytes(jwk, "y", &y_len), point[1 + 2 * POINT];
	EVP_PKEY *key = NULL;

	if (x && y && x_len == POINT && y_len == POINT) {
		point[0] = POINT_CONVERSION_UNCOMPRESSED;
		memcpy(point + 1, x, POINT);
		memcpy(point + 1 + POINT, y, POINT);
		if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
			OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
			key = jwk_make("EC", build);
	}
	free(x);
	free(y);
	return key;
}

static EVP_PKEY *jwk_key(const json_t *jwk, enum jwk_alg alg)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	EVP_PKEY *key = NULL;
	unsigned char *x;
	size_t len = 0;

	if (build && alg == JWK_RS256)
		key = jwk_rsa(jwk, build);
	if (build && alg == JWK_ES256)
		key = jwk_ec(jwk, build);
	if (build && alg == JWK_EDDSA) {
		x = jwk_bytes(jwk, "x", &len);
		if (x && len == ED25519)
			key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, len);
		free(x);
	}
	OSSL_PARAM_BLD_free(build);
	return key;
}

/* Two numbers side by side, as OpenSSL wants them. Length; 0: they are not that. */
static int jwk_ecdsa(const unsigned char *raw, size_t len, unsigned char **der)
{
	ECDSA_SIG *sig = len == 2 * POINT ? ECDSA_SIG_new() : NULL;
	BIGNUM *r = sig ? BN_bin2bn(raw, POINT, NULL) : NULL, *s = sig ? BN_bin2bn(raw + POINT, POINT, NULL) : NULL;
	int n = 0;

	if (r && s && ECDSA_SIG_set0(sig, r, s)) {
		n = i2d_ECDSA_SIG(sig, der);
	} else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(sig);
	return n > 0 ? n : 0;
}

bool jwk_verify(const json_t *jwk, enum jwk_alg alg, const void *text, size_t len, const unsigned char *signature,
	size_t signature_len)
{
	EVP_PKEY *key = jwk_key(jwk, alg);
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	unsigned char *der = NULL;
	bool good = key && c;

	if (alg == JWK_ES256) {
		signature_len = (size_t)jwk_ecdsa(signature, signature_len, &der);
		signature = der;
		good = good && der;
	}
	good = good && EVP_DigestVerifyInit(c, NULL, alg == JWK_EDDSA ? NULL : EVP_sha256(), NULL, key) == 1 &&
		EVP_DigestVerify(c, signature, signature_len, text, len) == 1;
	OPENSSL_free(der);
	EVP_MD_CTX_free(c);
	EVP_PKEY_free(key);
	return good;
}
