/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of an issuer: those that it signed, and all that somebody else may make of them. */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "../../lib/tap.h"
#include "base/buf.h"
#include "marketd/oidc/jwk.h"
#include "marketd/oidc/jwt.h"

#define NOW 1800000000
#define ISSUER "https://id.example.org/realms/r"

static EVP_PKEY *rsa, *other, *ec, *ed;
static json_t *keys;
static const struct jwt_expected want = { .issuer = ISSUER, .audience = "nanopod", .now = NOW, .age = 600 };

/* ---- Making them -------------------------------------------------------------------------- */

static void put64(struct buf *b, const void *bytes, size_t len)
{
	size_t from = b->len;

	if (buf_add_base64(b, bytes, len))
		abort();
	for (char *p = b->data + from; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	while (b->len > from && b->data[b->len - 1] == '=')
		buf_cut(b, b->len - 1);
}

static void sign(struct buf *b, EVP_PKEY *key)
{
	unsigned char sig[1024], raw[64];
	const unsigned char *at = sig;
	size_t len = sizeof sig;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	ECDSA_SIG *s;

	if (EVP_DigestSignInit(c, NULL, key == ed ? NULL : EVP_sha256(), NULL, key) != 1 ||
		EVP_DigestSign(c, sig, &len, (const unsigned char *)b->data, b->len) != 1)
		abort();
	EVP_MD_CTX_free(c);
	buf_addc(b, '.');
	if (key != ec) {
		put64(b, sig, len);
		return;
	}
	s = d2i_ECDSA_SIG(NULL, &at, (long)len);
	BN_bn2binpad(ECDSA_SIG_get0_r(s), raw, 32);
	BN_bn2binpad(ECDSA_SIG_get0_s(s), raw + 32, 32);
	ECDSA_SIG_free(s);
	put64(b, raw, sizeof raw);
}

static char *token(const char *head, const char *claims, EVP_PKEY *key)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	put64(&b, head, strlen(head));
	buf_addc(&b, '.');
	put64(&b, claims, strlen(claims));
	if (key)
		sign(&b, key);
	return buf_steal(&b);
}

static void add_key(const char *kid, const char *kty, const char *more, EVP_PKEY *key)
{
	json_t *o = json_pack("{s:s, s:s}", "kid", kid, "kty", kty);
	unsigned char bytes[600];
	size_t len = 0;
	struct buf b;

	buf_init(&b, 4096);
	if (strcmp(kty, "OKP") == 0) {
		len = sizeof bytes;
		EVP_PKEY_get_raw_public_key(key, bytes, &len);
		put64(&b, bytes, len);
		json_object_set_new(o, "x", json_string(buf_text(&b)));
	} else {
		const char *const *names = strcmp(kty, "RSA") == 0
			? (const char *const[]){ OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E }
			: (const char *const[]){ OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y };
		const char *const *members = strcmp(kty, "RSA") == 0 ? (const char *const[]){ "n", "e" }
								     : (const char *const[]){ "x", "y" };

		for (int i = 0; i < 2; i++) {
			BIGNUM *n = NULL;

			if (!EVP_PKEY_get_bn_param(key, names[i], &n))
				abort();
			len = strcmp(kty, "EC") == 0 ? (size_t)BN_bn2binpad(n, bytes, 32) : (size_t)BN_bn2bin(n, bytes);
			BN_free(n);
			buf_clear(&b);
			put64(&b, bytes, len);
			json_object_set_new(o, members[i], json_string(buf_text(&b)));
		}
	}
	if (more)
		json_object_update_new(o, json_loads(more, 0, NULL));
	json_array_append_new(json_object_get(keys, "keys"), o);
	buf_release(&b);
}

/* ---- Checks ------------------------------------------------------------------------------- */

#define RS "{\"alg\":\"RS256\",\"kid\":\"r1\",\"typ\":\"JWT\"}"
#define WHO "\"iss\":\"" ISSUER "\",\"sub\":\"ann\""
#define TIMES "\"exp\":1800000300,\"iat\":1800000000"
#define GOOD "{" WHO ",\"aud\":\"nanopod\"," TIMES "}"

/* The reason, or "" for a token that counts. */
static const char *checked(const char *text, const struct jwt_expected *x)
{
	static struct fail why;
	json_t *claims = NULL;
	int rc;

	why = (struct fail){ 0 };
	rc = jwt_check(text, keys, x, &claims, &why);
	if (rc == 0 && strcmp(json_string_value(json_object_get(claims, "sub")), "ann") != 0)
		fail_set(&why, -1, "another subject");
	json_decref(claims);
	return why.text;
}

static void good(const char *head, const char *claims, EVP_PKEY *key, const char *what)
{
	char *text = token(head, claims, key);

	is_str(checked(text, &want), "", "%s", what);
	free(text);
}

static void bad(const char *head, const char *claims, EVP_PKEY *key, const char *why, const char *what)
{
	char *text = token(head, claims, key);
	const char *said = checked(text, &want);

	if (!ok(strstr(said, why) != NULL, "%s", what))
		diag("said: %s", said);
	free(text);
}

static void test_good(void)
{
	good(RS, GOOD, rsa, "RS256");
	good("{\"alg\":\"ES256\",\"kid\":\"e1\"}", GOOD, ec, "ES256");
	good("{\"alg\":\"EdDSA\",\"kid\":\"d1\"}", GOOD, ed, "EdDSA");
	good("{\"alg\":\"ES256\"}", GOOD, ec, "without the name of the key, where one alone may be meant");
	good(RS, "{" WHO ",\"aud\":[\"nanopod\"]," TIMES "}", rsa, "an audience as a list");
	good(RS, "{" WHO ",\"aud\":[\"x\",\"nanopod\"],\"azp\":\"nanopod\"," TIMES "}", rsa,
		"one of several, and authorized");
	good(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1799999941,\"iat\":1799999900}", rsa, "expired within the skew");
	good(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1800000300,\"iat\":1800000060,\"nbf\":1800000060}", rsa,
		"from a clock that is ahead");
	good(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1800000300.5,\"iat\":1800000000.5}", rsa,
		"fractions of seconds");
}

static void test_signature(void)
{
	bad(RS, GOOD, other, "signature is wrong", "another key's signature");
	bad("{\"alg\":\"none\"}", GOOD, NULL, "three parts", "alg none without a signature");
	bad("{\"alg\":\"none\",\"kid\":\"r1\"}", GOOD, rsa, "not signed with", "alg none with one");
	bad("{\"alg\":\"NONE\",\"kid\":\"r1\"}", GOOD, rsa, "not signed with", "alg NONE");
	bad("{\"alg\":\"RS512\",\"kid\":\"r1\"}", GOOD, rsa, "not signed with", "an alg that is not in the list");
	bad("{\"alg\":[\"RS256\"],\"kid\":\"r1\"}", GOOD, rsa, "not signed with", "a list of algs");
	bad("{\"kid\":\"r1\"}", GOOD, rsa, "not signed with", "no alg");
	bad("{\"alg\":\"ES256\",\"kid\":\"r1\"}", GOOD, ec, "none of the issuer's keys",
		"the name of a key of another type");
	bad("{\"alg\":\"EdDSA\",\"kid\":\"e1\"}", GOOD, ed, "none of the issuer's keys", "the same");
	bad("{\"alg\":\"RS256\",\"kid\":\"zz\"}", GOOD, rsa, "none of the issuer's keys", "an unknown key");
	bad("{\"alg\":\"RS256\"}", GOOD, rsa, "none of the issuer's keys", "no name, and several keys");
	bad("{\"alg\":\"RS256\",\"kid\":\"enc\"}", GOOD, rsa, "none of the issuer's keys",
		"a key that is not for signatures");
	bad("{\"alg\":\"RS256\",\"kid\":\"ps\"}", GOOD, rsa, "none of the issuer's keys", "a key for another alg");
	bad("{\"alg\":\"RS256\",\"kid\":\"ops\"}", GOOD, rsa, "none of the issuer's keys",
		"a key that may only encrypt");
	bad("{\"alg\":\"RS256\",\"kid\":\"weak\"}", GOOD, rsa, "signature is wrong", "a key that is too short");
	bad("{\"alg\":\"RS256\",\"kid\":7}", GOOD, rsa, "name of its key", "a number as the name");
	bad("{\"alg\":\"RS256\",\"kid\":\"r1\",\"crit\":[\"exp\"]}", GOOD, rsa, "extension", "an extension");
	bad("{\"alg\":\"RS256\",\"kid\":\"r1\",\"typ\":\"at+jwt\"}", GOOD, rsa, "another type", "an access token");
	bad("{\"alg\":\"RS256\",\"kid\":\"r1\",\"alg\":\"none\"}", GOOD, rsa, "no JSON object", "an alg said twice");
	bad("[\"RS256\"]", GOOD, rsa, "no JSON object", "a head that is a list");
}

/* Signed with the public key as if it were a secret, which whoever has it can do. */
static void test_hmac(void)
{
	char *text = token("{\"alg\":\"HS256\",\"kid\":\"r1\"}", GOOD, NULL);
	unsigned char sum[32], *der = NULL;
	int len = i2d_PUBKEY(rsa, &der);
	unsigned n = sizeof sum;
	struct buf b;

	HMAC(EVP_sha256(), der, len, (unsigned char *)text, strlen(text), sum, &n);
	buf_init(&b, 1 << 16);
	buf_addf(&b, "%s.", text);
	put64(&b, sum, n);
	ok(strstr(checked(buf_text(&b), &want), "not signed with"), "HS256 with the public key");
	buf_release(&b);
	OPENSSL_free(der);
	free(text);
}

static void test_claims(void)
{
	struct jwt_expected x = want;
	char *text;

	bad(RS, "{\"iss\":\"" ISSUER "/\",\"sub\":\"ann\",\"aud\":\"nanopod\"," TIMES "}", rsa, "another issuer",
		"an issuer with a slash more");
	bad(RS, "{\"sub\":\"ann\",\"aud\":\"nanopod\"," TIMES "}", rsa, "another issuer", "none");
	bad(RS, "{" WHO ",\"aud\":\"other\"," TIMES "}", rsa, "another audience", "another audience");
	bad(RS, "{" WHO ",\"aud\":[]," TIMES "}", rsa, "another audience", "an empty list");
	bad(RS, "{" WHO "," TIMES "}", rsa, "another audience", "no audience");
	bad(RS, "{" WHO ",\"aud\":[\"nanopod\",7]," TIMES "}", rsa, "audience is no text", "a number among them");
	bad(RS, "{" WHO ",\"aud\":[\"nanopod\",\"x\"]," TIMES "}", rsa, "another party",
		"several, and nobody is authorized");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"azp\":\"other\"," TIMES "}", rsa, "another party",
		"another is authorized");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"azp\":null," TIMES "}", rsa, "another party", "null is");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1799999940,\"iat\":1799999900}", rsa, "has expired", "expired");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"iat\":1800000000}", rsa, "when it counts", "without an end");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":\"1800000300\",\"iat\":1800000000}", rsa, "when it counts",
		"an end in words");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1e400,\"iat\":1800000000}", rsa, "no JSON object",
		"an end past all numbers");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":9223372036854775807,\"iat\":1800000000}", rsa, "when it counts",
		"an end past all time");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":-1,\"iat\":1800000000}", rsa, "when it counts",
		"before all time");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1800000300,\"iat\":1800000061}", rsa, "from the future",
		"from the future");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"nbf\":1800000061," TIMES "}", rsa, "from the future", "not yet");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"nbf\":true," TIMES "}", rsa, "when it counts", "a flag as a time");
	bad(RS, "{" WHO ",\"aud\":\"nanopod\",\"exp\":1800000300,\"iat\":1799999339}", rsa, "earlier sign-in",
		"an old one");
	bad(RS, "{\"iss\":\"" ISSUER "\",\"aud\":\"nanopod\"," TIMES "}", rsa, "its subject", "nobody");
	bad(RS, "{\"iss\":\"" ISSUER "\",\"sub\":\"a b\",\"aud\":\"nanopod\"," TIMES "}", rsa, "a blank",
		"a blank in the subject");
	bad(RS, "{\"iss\":\"" ISSUER "\",\"sub\":\"a\\u0000b\",\"aud\":\"nanopod\"," TIMES "}", rsa, "no JSON object",
		"a NUL");
	bad(RS, "{\"sub\":\"eve\"," WHO ",\"aud\":\"nanopod\"," TIMES "}", rsa, "no JSON object",
		"a subject said twice");
	bad(RS, "{" WHO "} {}", rsa, "no JSON object", "more behind it");
	text = token(RS, "{" WHO ",\"aud\":\"nanopod\",\"nonce\":\"n1\"," TIMES "}", rsa);
	x.nonce = "n1";
	is_str(checked(text, &x), "", "the nonce of this sign-in");
	x.nonce = "n2";
	ok(strstr(checked(text, &x), "another sign-in"), "that of another");
	free(text);
	text = token(RS, GOOD, rsa);
	ok(strstr(checked(text, &x), "another sign-in"), "none where one is expected");
	free(text);
}

static void test_form(void)
{
	char *text = token(RS, GOOD, rsa), *deep, *huge;
	size_t len = strlen(text);
	unsigned refused = 0, changed = 0;
	struct buf b;

	for (size_t n = 0; n < len; n++) {
		char was = text[n];

		text[n] = '\0';
		refused += *checked(text, &want) != '\0';
		text[n] = was == 'A' ? 'B' : 'A';
		changed += *checked(text, &want) != '\0';
		text[n] = was;
	}
	is_int(refused, len, "cut off anywhere");
	is_int(changed, len, "any character another one");
	buf_init(&b, 1 << 20);
	buf_addf(&b, "%s=", text);
	ok(*checked(buf_text(&b), &want), "with padding");
	buf_clear(&b);
	buf_addf(&b, "%s.", text);
	ok(*checked(buf_text(&b), &want), "four parts");
	buf_clear(&b);
	buf_addf(&b, " %s", text);
	ok(*checked(buf_text(&b), &want), "a blank before it");
	buf_clear(&b);
	for (int i = 0; i < 5000; i++)
		buf_addc(&b, '[');
	deep = token(RS, buf_text(&b), rsa);
	ok(*checked(deep, &want), "nested without an end");
	buf_clear(&b);
	buf_addf(&b, "{" WHO ",\"aud\":\"nanopod\"," TIMES ",\"x\":\"%*s\"}", JWT_BYTES, "");
	huge = token(RS, buf_text(&b), rsa);
	ok(strstr(checked(huge, &want), "too long"), "a huge one");
	buf_release(&b);
	free(deep);
	free(huge);
	free(text);
}

/* Two texts for the same bytes would be two tokens for one. */
static void test_base64url(void)
{
	static const struct {
		const char *text;
		bool right;
	} rows[] = { { "", true }, { "QQ", true }, { "QUI", true }, { "QUJD", true }, { "-_-_", true }, { "QR", false },
		{ "QUJ", false }, { "Q", false }, { "QQ==", false }, { "Q+Q", false }, { "Q/Q", false },
		{ "QU\nI", false } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t len = 0;
		unsigned char *bytes = jwk_base64url(rows[i].text, strlen(rows[i].text), &len);

		ok((bytes != NULL) == rows[i].right, "'%zu' is %s", i, rows[i].right ? "taken" : "refused");
		free(bytes);
	}
}

int main(void)
{
	EVP_PKEY *weak = EVP_RSA_gen(1024);

	plan_none;
	rsa = EVP_RSA_gen(2048);
	other = EVP_RSA_gen(2048);
	ec = EVP_EC_gen("P-256");
	ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	keys = json_pack("{s:[]}", "keys");
	add_key("r1", "RSA", "{\"use\":\"sig\",\"alg\":\"RS256\"}", rsa);
	add_key("r2", "RSA", NULL, other);
	add_key("enc", "RSA", "{\"use\":\"enc\"}", rsa);
	add_key("ps", "RSA", "{\"alg\":\"PS256\"}", rsa);
	add_key("ops", "RSA", "{\"key_ops\":[\"encrypt\"]}", rsa);
	add_key("weak", "RSA", NULL, weak);
	add_key("e1", "EC", "{\"crv\":\"P-256\"}", ec);
	add_key("d1", "OKP", "{\"crv\":\"Ed25519\"}", ed);
	test_good();
	test_signature();
	test_hmac();
	test_claims();
	test_form();
	test_base64url();
	json_decref(keys);
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(other);
	EVP_PKEY_free(weak);
	EVP_PKEY_free(ec);
	EVP_PKEY_free(ed);
	return done();
}
