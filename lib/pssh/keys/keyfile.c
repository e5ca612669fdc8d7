/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/keyfile.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/keys/bcrypt.h"
#include "pssh/pssh_types.h"
#include "pssh/keys/sshwire.h"

#define OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define OPENSSH_END "-----END OPENSSH PRIVATE KEY-----"

/* More rounds than this take minutes, and come from a broken file rather than from a person's choice. */
enum { ROUNDS_MAX = 20000, RSA_BITS_MAX = 16384, BLOB_MAX = 16384, KEY_IV_MAX = 64 };

static const struct curve {
	const char *type, *name, *group;
	size_t field;
} curves[] = {
	{ "ecdsa-sha2-nistp256", "nistp256", "prime256v1", 32 },
	{ "ecdsa-sha2-nistp384", "nistp384", "secp384r1", 48 },
	{ "ecdsa-sha2-nistp521", "nistp521", "secp521r1", 66 },
};

enum { CURVES = sizeof curves / sizeof *curves };

static const struct cipher {
	const char *name;
	const EVP_CIPHER *(*get)(void);
	size_t key, iv, tag, block;
} ciphers[] = {
	{ "aes256-ctr", EVP_aes_256_ctr, 32, 16, 0, 16 },
	{ "aes192-ctr", EVP_aes_192_ctr, 24, 16, 0, 16 },
	{ "aes128-ctr", EVP_aes_128_ctr, 16, 16, 0, 16 },
	{ "aes256-cbc", EVP_aes_256_cbc, 32, 16, 0, 16 },
	{ "aes192-cbc", EVP_aes_192_cbc, 24, 16, 0, 16 },
	{ "aes128-cbc", EVP_aes_128_cbc, 16, 16, 0, 16 },
	{ "3des-cbc", EVP_des_ede3_cbc, 24, 8, 0, 8 },
	{ "aes256-gcm@openssh.com", EVP_aes_256_gcm, 32, 12, 16, 16 },
	{ "aes128-gcm@openssh.com", EVP_aes_128_gcm, 16, 12, 16, 16 },
};

static int keyfile_no_memory(struct fail *f, const char *name)
{
	return fail_set(f, PSSH_ENOMEM, "cannot read the key '%s': out of memory", name);
}

static int keyfile_broken(struct fail *f, const char *name, const char *what)
{
	return fail_set(f, PSSH_ESYNTAX, "the key file '%s' is damaged: %s", name, what);
}

void keyfile_release(struct keyfile *kf)
{
	EVP_PKEY_free(kf->pkey);
	free(kf->blob);
	free(kf->comment);
	*kf = (struct keyfile){ 0 };
}

bool keyfile_is_private(const char *text, size_t len)
{
	return memmem(text, len, " PRIVATE KEY-----", 17) != NULL;
}

static bool keyfile_number(EVP_PKEY *pkey, const char *what, struct buf *b, size_t fixed)
{
	BIGNUM *bn = NULL;
	uint8_t room[RSA_BITS_MAX / 8];
	bool good = false;

	if (EVP_PKEY_get_bn_param(pkey, what, &bn) == 1 && BN_num_bytes(bn) <= (int)sizeof room) {
		int n = BN_bn2binpad(bn, room, fixed ? (int)fixed : BN_num_bytes(bn));

		good = n >= 0 && (fixed ? buf_add(b, room, (size_t)n) : sshwire_add_mpint(b, room, (size_t)n)) == 0;
	}
	BN_free(bn);
	return good;
}

static bool curve_blob(EVP_PKEY *pkey, struct buf *b)
{
	char group[64];

	if (EVP_PKEY_get_group_name(pkey, group, sizeof group, NULL) != 1)
		return false;
	for (size_t i = 0; i < CURVES; i++) {
		const struct curve *c = &curves[i];

		if (strcmp(group, c->group) == 0)
			return sshwire_add_text(b, c->type) == 0 && sshwire_add_text(b, c->name) == 0 &&
				sshwire_add_u32(b, (uint32_t)(1 + 2 * c->field)) == 0 && buf_addc(b, 4) == 0 &&
				keyfile_number(pkey, OSSL_PKEY_PARAM_EC_PUB_X, b, c->field) &&
				keyfile_number(pkey, OSSL_PKEY_PARAM_EC_PUB_Y, b, c->field);
	}
	return false;
}

/* The public part as SSH writes it; PSSH_EUNSUPPORTED for types that SSH or this library does not have. */
static int public_blob(EVP_PKEY *pkey, uint8_t **blob, size_t *len)
{
	struct buf b;
	bool good = false;

	buf_init(&b, BLOB_MAX);
	if (EVP_PKEY_is_a(pkey, "ED25519")) {
		uint8_t point[32];
		size_t n = sizeof point;

		good = EVP_PKEY_get_raw_public_key(pkey, point, &n) == 1 &&
			sshwire_add_text(&b, "ssh-ed25519") == 0 && sshwire_add_string(&b, point, n) == 0;
	} else if (EVP_PKEY_is_a(pkey, "EC")) {
		good = curve_blob(pkey, &b);
	} else if (EVP_PKEY_is_a(pkey, "RSA")) {
		good = sshwire_add_text(&b, "ssh-rsa") == 0 && keyfile_number(pkey, OSSL_PKEY_PARAM_RSA_E, &b, 0) &&
			keyfile_number(pkey, OSSL_PKEY_PARAM_RSA_N, &b, 0);
	}
	if (!good) {
		buf_release(&b);
		return PSSH_EUNSUPPORTED;
	}
	*len = b.len;
	*blob = (uint8_t *)buf_steal(&b);
	return *blob ? 0 : PSSH_ENOMEM;
}

/* ---- The private part of openssh-key-v1 ------------------------------------------------ */

static EVP_PKEY *keyfile_make(const char *kind, OSSL_PARAM_BLD *bld)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
	EVP_PKEY *pkey = NULL;

	if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_KEYPAIR, params) != 1)
		pkey = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return pkey;
}

static EVP_PKEY *read_ed25519(struct sshwire *w)
{
	size_t public_len, private_len;
	const uint8_t *point = sshwire_string(w, &public_len), *secret = sshwire_string(w, &private_len);

	if (w->bad || public_len != 32 || private_len != 64 || memcmp(secret + 32, point, 32) != 0)
		return NULL;
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, 32);
}

static EVP_PKEY *read_ecdsa(struct sshwire *w, const struct curve *c)
{
	bool named = sshwire_is(w, c->name);
	size_t point_len, secret_len;
	const uint8_t *point = sshwire_string(w, &point_len), *secret = sshwire_string(w, &secret_len);
	OSSL_PARAM_BLD *bld;
	BIGNUM *d;
	EVP_PKEY *pkey = NULL;

	if (!named || w->bad || point_len != 1 + 2 * c->field || point[0] != 4 || secret_len > c->field + 1)
		return NULL;
	bld = OSSL_PARAM_BLD_new();
	d = BN_secure_new();
	if (bld && d && BN_bin2bn(secret, (int)secret_len, d) && !BN_is_zero(d) &&
	    OSSL_PARAM_BLD_push_utf8_string(bld, OSSL_PKEY_PARAM_GROUP_NAME, c->group, 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY, point, point_len) == 1 &&
	    OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_PRIV_KEY, d) == 1)
		pkey = keyfile_make("EC", bld);
	BN_clear_free(d);
	OSSL_PARAM_BLD_free(bld);
	return pkey;
}

enum { RSA_N, RSA_E, RSA_D, RSA_IQMP, RSA_P, RSA_Q, RSA_DMP1, RSA_DMQ1, RSA_NUMBERS };

/* Reads n e d iqmp p q, in this order, and computes the two exponents that make RSA faster. */
static bool rsa_numbers(struct sshwire *w, BIGNUM *bn[RSA_NUMBERS])
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *less = BN_secure_new();
	bool good = ctx && less;

	for (int i = 0; i < RSA_NUMBERS; i++) {
		bn[i] = BN_secure_new();
		good = good && bn[i];
	}
	for (int i = RSA_N; good && i <= RSA_Q; i++) {
		size_t len;
		const uint8_t *p = sshwire_string(w, &len);

		good = !w->bad && len > 0 && len <= RSA_BITS_MAX / 8 + 1 && !(p[0] & 0x80) &&
			BN_bin2bn(p, (int)len, bn[i]);
	}
	good = good && BN_num_bits(bn[RSA_N]) >= 512 && BN_is_odd(bn[RSA_N]) && BN_cmp(bn[RSA_P], BN_value_one()) > 0 &&
		BN_cmp(bn[RSA_Q], BN_value_one()) > 0 && BN_mul(less, bn[RSA_P], bn[RSA_Q], ctx) &&
		BN_cmp(less, bn[RSA_N]) == 0 &&
		BN_sub(less, bn[RSA_P], BN_value_one()) && BN_mod(bn[RSA_DMP1], bn[RSA_D], less, ctx) &&
		BN_sub(less, bn[RSA_Q], BN_value_one()) && BN_mod(bn[RSA_DMQ1], bn[RSA_D], less, ctx);
	BN_clear_free(less);
	BN_CTX_free(ctx);
	return good;
}

static EVP_PKEY *read_rsa(struct sshwire *w)
{
	static const char *const names[RSA_NUMBERS] = {
		OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
		OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,
		OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
	};
	BIGNUM *bn[RSA_NUMBERS] = { NULL };
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY *pkey = NULL;
	bool good = bld && rsa_numbers(w, bn);

	for (int i = 0; good && i < RSA_NUMBERS; i++)
		good = OSSL_PARAM_BLD_push_BN(bld, names[i], bn[i]) == 1;
	if (good)
		pkey = keyfile_make("RSA", bld);
	for (int i = 0; i < RSA_NUMBERS; i++)
		BN_clear_free(bn[i]);
	OSSL_PARAM_BLD_free(bld);
	return pkey;
}

static const struct curve *curve_of(const char *type)
{
	for (size_t i = 0; i < CURVES; i++)
		if (strcmp(curves[i].type, type) == 0)
			return &curves[i];
	return NULL;
}

static int refuse_type(struct fail *f, const char *name, const char *type)
{
	if (strncmp(type, "sk-", 3) == 0)
		return fail_set(f, PSSH_EUNSUPPORTED,
			"the key '%s' lives on a hardware token ('%s'), which is not supported", name, type);
	return fail_set(f, PSSH_EUNSUPPORTED, "the key '%s' is of type '%.64s', which is not supported "
		"(ed25519, ecdsa and rsa are)", name, type);
}

static bool known_type(const char *type)
{
	return strcmp(type, "ssh-ed25519") == 0 || strcmp(type, "ssh-rsa") == 0 || curve_of(type);
}

/* Reads the decrypted part: two equal words, the key, its comment, and 1 2 3 … up to a whole block. */
static int read_private(const uint8_t *data, size_t len, const char *name, struct keyfile *out, struct fail *f)
{
	struct sshwire w;
	char type[WIRE_TYPE_MAX];
	const uint8_t *comment;
	size_t comment_len;

	sshwire_init(&w, data, len);
	if (sshwire_u32(&w) != sshwire_u32(&w) || w.bad)
		return fail_set(f, PSSH_EPASSPHRASE, "the passphrase for the key '%s' is not right", name);
	if (!sshwire_text(&w, type, sizeof type))
		return keyfile_broken(f, name, "its private part is cut short");
	out->pkey = strcmp(type, "ssh-ed25519") == 0 ? read_ed25519(&w) :
		strcmp(type, "ssh-rsa") == 0 ? read_rsa(&w) :
		curve_of(type) ? read_ecdsa(&w, curve_of(type)) : NULL;
	comment = sshwire_string(&w, &comment_len);
	if (!out->pkey || w.bad)
		return keyfile_broken(f, name, "its private part is damaged");
	for (uint8_t i = 1; w.left; i++)
		if (sshwire_u8(&w) != i)
			return keyfile_broken(f, name, "its private part is padded wrongly");
	out->comment = strndup((const char *)comment, comment_len);
	return out->comment ? 0 : keyfile_no_memory(f, name);
}

struct sealed {
	const struct cipher *cipher;  /* NULL: not encrypted */
	const uint8_t *salt, *data, *tag, *blob;
	size_t salt_len, len, blob_len;
	unsigned rounds;
};

static int keyfile_decrypt(const struct sealed *s, const char *passphrase, const atomic_bool *stop, uint8_t *plain)
{
	uint8_t secret[KEY_IV_MAX];
	EVP_CIPHER_CTX *ctx = NULL;
	int n = 0, rest = 0;
	int rc = bcrypt_pbkdf(passphrase, strlen(passphrase), s->salt, s->salt_len, s->rounds, stop, secret,
		s->cipher->key + s->cipher->iv);

	if (rc)
		return rc == PSSH_EINVAL ? PSSH_EPASSPHRASE : rc;
	ctx = EVP_CIPHER_CTX_new();
	rc = PSSH_ENOMEM;
	if (ctx && EVP_DecryptInit_ex(ctx, s->cipher->get(), NULL, secret, secret + s->cipher->key) == 1 &&
	    EVP_CIPHER_CTX_set_padding(ctx, 0) == 1 &&
	    (!s->tag || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)s->cipher->tag, (void *)s->tag) == 1) &&
	    EVP_DecryptUpdate(ctx, plain, &n, s->data, (int)s->len) == 1)
		rc = EVP_DecryptFinal_ex(ctx, plain + n, &rest) == 1 ? 0 : PSSH_EPASSPHRASE;
	EVP_CIPHER_CTX_free(ctx);
	OPENSSL_cleanse(secret, sizeof secret);
	return rc;
}

/* Reads everything that is not encrypted. */
static int read_sealed(struct sshwire *w, const char *name, struct sealed *s, struct fail *f)
{
	char cipher[64], kdf[32];
	struct sshwire options;
	size_t n;
	const uint8_t *p;

	*s = (struct sealed){ 0 };
	p = sshwire_bytes(w, sizeof "openssh-key-v1");
	if (!p || memcmp(p, "openssh-key-v1", sizeof "openssh-key-v1") != 0 ||
	    !sshwire_text(w, cipher, sizeof cipher) || !sshwire_text(w, kdf, sizeof kdf))
		return keyfile_broken(f, name, "it does not begin like an OpenSSH key");
	p = sshwire_string(w, &n);
	sshwire_init(&options, p, n);
	if (sshwire_u32(w) != 1)
		return keyfile_broken(f, name, "it does not hold exactly one key");
	s->blob = sshwire_string(w, &s->blob_len);
	s->data = sshwire_string(w, &s->len);
	if (w->bad || s->blob_len > BLOB_MAX)
		return keyfile_broken(f, name, "it is cut short");
	if (strcmp(cipher, "none") == 0 && strcmp(kdf, "none") == 0)
		return 0;
	for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers && !s->cipher; i++)
		if (strcmp(ciphers[i].name, cipher) == 0)
			s->cipher = &ciphers[i];
	if (!s->cipher || strcmp(kdf, "bcrypt") != 0)
		return fail_set(f, PSSH_EUNSUPPORTED, "the key '%s' is encrypted by '%s', which is not supported: "
			"ssh-keygen -p -Z aes256-ctr -f '%s'", name, cipher, name);
	s->salt = sshwire_string(&options, &s->salt_len);
	s->rounds = sshwire_u32(&options);
	s->tag = s->cipher->tag ? sshwire_bytes(w, s->cipher->tag) : NULL;
	if (w->bad || options.bad || !s->salt_len || !s->rounds || !s->len || s->len % s->cipher->block)
		return keyfile_broken(f, name, "its encryption parameters are damaged");
	if (s->rounds > ROUNDS_MAX)
		return fail_set(f, PSSH_EUNSUPPORTED, "the key '%s' asks for %u rounds of bcrypt, more than %d",
			name, s->rounds, ROUNDS_MAX);
	return 0;
}

static int copy_blob(const struct sealed *s, const char *name, struct keyfile *out, struct fail *f)
{
	char type[WIRE_TYPE_MAX];

	if (!sshwire_blob_type(s->blob, s->blob_len, type, sizeof type))
		return keyfile_broken(f, name, "its public part is damaged");
	if (!known_type(type))
		return refuse_type(f, name, type);
	out->blob = malloc(s->blob_len);
	if (!out->blob)
		return keyfile_no_memory(f, name);
	memcpy(out->blob, s->blob, s->blob_len);
	out->blob_len = s->blob_len;
	return 0;
}

static int check_blob(const struct sealed *s, const char *name, EVP_PKEY *pkey, struct fail *f)
{
	uint8_t *blob = NULL;
	size_t len = 0;
	bool same = public_blob(pkey, &blob, &len) == 0 && len == s->blob_len && memcmp(blob, s->blob, len) == 0;

	free(blob);
	return same ? 0 : keyfile_broken(f, name, "its public and private parts are of different keys");
}

static int open_sealed(const struct sealed *s, const char *name, const char *passphrase, const atomic_bool *stop,
	struct keyfile *out, struct fail *f)
{
	uint8_t *plain;
	int rc;

	if (!s->cipher) {
		rc = read_private(s->data, s->len, name, out, f);
		return rc == PSSH_EPASSPHRASE ? keyfile_broken(f, name, "its two check words differ") : rc;
	}
	if (!passphrase) {
		out->locked = true;
		return 0;
	}
	plain = malloc(s->len + EVP_MAX_BLOCK_LENGTH);
	if (!plain)
		return keyfile_no_memory(f, name);
	rc = keyfile_decrypt(s, passphrase, stop, plain);
	if (rc == PSSH_EPASSPHRASE)
		fail_set(f, rc, "the passphrase for the key '%s' is not right", name);
	else if (rc)
		keyfile_no_memory(f, name);
	else
		rc = read_private(plain, s->len, name, out, f);
	OPENSSL_cleanse(plain, s->len);
	free(plain);
	return rc;
}

static int read_openssh(const char *text, size_t len, const char *name, const char *passphrase, const atomic_bool *stop,
	struct keyfile *out, struct fail *f)
{
	const char *begin = text + strlen(OPENSSH_BEGIN);
	const char *end = memmem(begin, len - strlen(OPENSSH_BEGIN), OPENSSH_END, strlen(OPENSSH_END));
	char *packed;
	uint8_t *raw = NULL;
	size_t n = 0, raw_len = 0;
	struct sealed s;
	struct sshwire w;
	int rc;

	if (!end)
		return keyfile_broken(f, name, "its last line is missing");
	packed = malloc((size_t)(end - begin) + 1);
	if (!packed)
		return keyfile_no_memory(f, name);
	for (const char *p = begin; p < end; p++)
		if (*p != '\n' && *p != '\r' && *p != ' ' && *p != '\t')
			packed[n++] = *p;
	if (sshwire_base64(packed, n, &raw, &raw_len) != 0) {
		rc = keyfile_broken(f, name, "its base64 is wrong");
		goto out;
	}
	sshwire_init(&w, raw, raw_len);
	rc = read_sealed(&w, name, &s, f);
	if (!rc)
		rc = copy_blob(&s, name, out, f);
	if (!rc)
		rc = open_sealed(&s, name, passphrase, stop, out, f);
	if (!rc && out->pkey)
		rc = check_blob(&s, name, out->pkey, f);
out:
	OPENSSL_cleanse(packed, n);
	free(packed);
	if (raw)
		OPENSSL_cleanse(raw, raw_len);
	free(raw);
	return rc;
}

/* ---- PEM ------------------------------------------------------------------------------- */

struct asked {
	const char *passphrase;
	bool asked;
};

static int give_passphrase(char *room, int size, int writing, void *arg)
{
	struct asked *a = arg;
	size_t n = a->passphrase ? strlen(a->passphrase) : 0;

	(void)writing;
	a->asked = true;
	if (!a->passphrase || n > (size_t)size)
		return -1;
	memcpy(room, a->passphrase, n);
	return (int)n;
}

static int keyfile_read_pem(const char *text, size_t len, const char *name, const char *passphrase,
	struct keyfile *out, struct fail *f)
{
	struct asked a = { .passphrase = passphrase };
	BIO *bio = BIO_new_mem_buf(text, (int)len);
	int rc;

	if (!bio)
		return keyfile_no_memory(f, name);
	out->pkey = PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &a);
	BIO_free(bio);
	if (!out->pkey && a.asked && !passphrase) {
		out->locked = true;
		return 0;
	}
	if (!out->pkey && a.asked)
		return fail_set(f, PSSH_EPASSPHRASE, "the passphrase for the key '%s' is not right", name);
	if (!out->pkey)
		return keyfile_broken(f, name, "OpenSSL cannot read it");
	if (EVP_PKEY_get_bits(out->pkey) > RSA_BITS_MAX)
		return fail_set(f, PSSH_EUNSUPPORTED, "the key '%s' has more than %d bits", name, RSA_BITS_MAX);
	rc = public_blob(out->pkey, &out->blob, &out->blob_len);
	if (rc == PSSH_EUNSUPPORTED)
		return refuse_type(f, name, EVP_PKEY_get0_type_name(out->pkey));
	return rc ? keyfile_no_memory(f, name) : 0;
}

int keyfile_read(const char *text, size_t len, const char *name, const char *passphrase, const atomic_bool *stop,
	struct keyfile *out, struct fail *f)
{
	struct keyfile kf = { 0 };
	const char *openssh = memmem(text, len, OPENSSH_BEGIN, strlen(OPENSSH_BEGIN));
	int rc;

	if (openssh)
		rc = read_openssh(openssh, len - (size_t)(openssh - text), name, passphrase, stop, &kf, f);
	else if (keyfile_is_private(text, len))
		rc = keyfile_read_pem(text, len, name, passphrase, &kf, f);
	else if (len > 20 && memcmp(text, "PuTTY-User-Key-File-", 20) == 0)
		rc = fail_set(f, PSSH_EUNSUPPORTED, "the key '%s' is in PuTTY's format: puttygen '%s' "
			"-O private-openssh -o NEW-FILE", name, name);
	else
		rc = fail_set(f, PSSH_ESYNTAX, "the file '%s' holds no private key", name);
	ERR_clear_error();  /* OpenSSL's error queue belongs to the thread, so leave no error of ours in it */
	if (rc) {
		keyfile_release(&kf);
		return rc;
	}
	*out = kf;
	return 0;
}
