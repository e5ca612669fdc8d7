/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keys/key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pssh/keys/keyfile.h"
#include "pssh/pssh_types.h"
#include "pssh/keys/pubkey.h"
#include "pssh/keys/sshwire.h"

enum { FILE_MAX = 1 << 20 };

struct text {
	char *data;
	size_t len;
	bool guarded;  /* only its owner can read it */
	mode_t mode;
};

struct key {
	char *path;
	char *text;            /* the file, while locked */
	size_t text_len;
	struct keyfile file;
	char type[WIRE_TYPE_MAX];
	uint8_t *auth, *cert;
	size_t auth_len, cert_len;
	char cert_note[256];
	bool public_only, signer;
};

static int key_no_memory(struct fail *f, const char *path)
{
	return fail_set(f, PSSH_ENOMEM, "cannot read the key '%s': out of memory", path);
}

static void text_release(struct text *t)
{
	if (t->data)
		OPENSSL_cleanse(t->data, t->len);
	free(t->data);
	*t = (struct text){ 0 };
}

static int key_read_all(int fd, size_t size, const char *path, struct text *out, struct fail *f)
{
	char *data = malloc(size + 1);
	size_t len = 0;

	if (!data)
		return key_no_memory(f, path);
	while (len < size) {
		ssize_t n = read(fd, data + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int why = errno;

			OPENSSL_cleanse(data, len);
			free(data);
			return fail_errno(f, PSSH_ELOCAL, why, "cannot read the key '%s'", path);
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	data[len] = '\0';
	out->data = data;
	out->len = len;
	return 0;
}

/* Reads into one piece of memory, so that no copy of a secret stays behind; never blocks on a pipe. */
static int key_read_file(const char *path, struct text *out, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct text t = { 0 };
	struct stat st;
	int rc;

	if (fd < 0)
		return fail_errno(f, errno == ENOENT || errno == ENOTDIR ? PSSH_ENOENT : PSSH_ELOCAL, errno,
			"cannot open the key '%s'", path);
	if (fstat(fd, &st) != 0)
		rc = fail_errno(f, PSSH_ELOCAL, errno, "cannot read the key '%s'", path);
	else if (!S_ISREG(st.st_mode))
		rc = fail_set(f, PSSH_ELOCAL, "the key '%s' is %s, not a file", path,
			S_ISDIR(st.st_mode) ? "a directory" : S_ISFIFO(st.st_mode) ? "a pipe" : "a device");
	else if (st.st_size > FILE_MAX)
		rc = fail_set(f, PSSH_ESYNTAX, "'%s' is too large to be a key", path);
	else
		rc = key_read_all(fd, (size_t)st.st_size, path, &t, f);
	close(fd);
	if (rc)
		return rc;
	t.mode = st.st_mode & 07777;
	t.guarded = st.st_uid != getuid() || !(st.st_mode & 077);
	*out = t;
	return 0;
}

/* ---- Public parts ---------------------------------------------------------------------- */

int key_blob_for_auth(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len, struct fail *f)
{
	return pubkey_for_auth(blob, len, out, out_len, f);
}

int key_read_public(const char *path, uint8_t **blob, size_t *len, char **comment, struct fail *f)
{
	struct text t = { 0 };
	int rc = key_read_file(path, &t, f);

	if (!rc)
		rc = pubkey_parse(t.data, t.len, path, blob, len, comment, f);
	text_release(&t);
	return rc;
}

int key_add_cert(struct key *k, const char *path, struct fail *f)
{
	uint8_t *cert = NULL;
	size_t len = 0;
	int rc;

	if (!k->file.blob)
		return fail_set(f, PSSH_EPASSPHRASE, "the key '%s' must be unlocked before it can have a certificate",
			k->path);
	rc = key_read_public(path, &cert, &len, NULL, f);
	if (rc)
		return rc;
	rc = pubkey_cert_check(cert, len, k->file.blob, k->file.blob_len, path, f);
	if (rc) {
		free(cert);
		return rc;
	}
	free(k->cert);
	k->cert = cert;
	k->cert_len = len;
	return 0;
}

/* ---- Loading --------------------------------------------------------------------------- */

static char *key_beside(const char *path, const char *suffix)
{
	char *out = NULL;

	return asprintf(&out, "%s%s", path, suffix) < 0 ? NULL : out;
}

/* Derives type and auth blob once the public part is known. */
static int key_settle(struct key *k, struct fail *f)
{
	if (!k->file.blob || k->auth)
		return 0;
	if (!sshwire_blob_type(k->file.blob, k->file.blob_len, k->type, sizeof k->type))
		return fail_set(f, PSSH_ESYNTAX, "the public part of the key '%s' is damaged", k->path);
	if (!k->public_only)
		return key_blob_for_auth(k->file.blob, k->file.blob_len, &k->auth, &k->auth_len, f);
	/* A key of an unsupported type may be named, but nobody offers it. */
	if (key_blob_for_auth(k->file.blob, k->file.blob_len, &k->auth, &k->auth_len, NULL) == PSSH_ENOMEM)
		return key_no_memory(f, k->path);
	return 0;
}

/* Reads path.pub for the comment and, with an encrypted PEM, for the public part. */
static int look_beside(struct key *k, struct fail *f)
{
	char *path = key_beside(k->path, ".pub"), *comment = NULL;
	uint8_t *blob = NULL;
	size_t len = 0;
	int rc = 0;

	if (!path)
		return key_no_memory(f, k->path);
	if (key_read_public(path, &blob, &len, &comment, NULL) == 0) {
		bool same = !k->file.blob || (k->file.blob_len == len && memcmp(k->file.blob, blob, len) == 0);

		if (!k->file.blob) {
			k->file.blob = blob;
			k->file.blob_len = len;
			blob = NULL;
			rc = key_settle(k, f);
		}
		if (same && !k->file.comment) {
			k->file.comment = comment;
			comment = NULL;
		}
	}
	free(blob);
	free(comment);
	free(path);
	return rc;
}

static void look_for_cert(struct key *k)
{
	struct fail why = { 0 };
	char *path = k->file.blob && !k->cert ? key_beside(k->path, "-cert.pub") : NULL;
	int rc = path ? key_add_cert(k, path, &why) : 0;

	k->cert_note[0] = '\0';
	if (rc && rc != PSSH_ENOENT)
		snprintf(k->cert_note, sizeof k->cert_note, "%.255s", why.text);
	free(path);
}

static int key_new(const char *path, struct key **out, struct fail *f)
{
	struct key *k = calloc(1, sizeof *k);

	if (k)
		k->path = strdup(path);
	if (!k || !k->path) {
		free(k);
		return key_no_memory(f, path);
	}
	*out = k;
	return 0;
}

void key_free(struct key *k)
{
	if (!k)
		return;
	keyfile_release(&k->file);
	if (k->text)
		OPENSSL_cleanse(k->text, k->text_len);
	free(k->text);
	free(k->auth);
	free(k->cert);
	free(k->path);
	free(k);
}

static int fill_public(struct key *k, const char *text, size_t len, struct fail *f)
{
	int rc = pubkey_parse(text, len, k->path, &k->file.blob, &k->file.blob_len, &k->file.comment, f);

	k->public_only = true;
	return rc ? fail_set(f, rc, "the file '%s' holds no key", k->path) : key_settle(k, f);
}

static int key_fill(struct key *k, const char *text, size_t len, struct fail *f)
{
	struct fail public = { 0 };
	int rc;

	if (len > FILE_MAX)
		return fail_set(f, PSSH_ESYNTAX, "'%s' is too large to be a key", k->path);
	rc = keyfile_read(text, len, k->path, NULL, NULL, &k->file, f);
	if (rc == PSSH_ESYNTAX && !keyfile_is_private(text, len))
		return fill_public(k, text, len, f ? f : &public);
	if (!rc && k->file.locked) {
		k->text = malloc(len + 1);
		if (!k->text)
			return key_no_memory(f, k->path);
		memcpy(k->text, text, len);
		k->text_len = len;
	}
	return rc ? rc : key_settle(k, f);
}

int key_parse(const char *text, size_t len, const char *name, struct key **out, struct fail *f)
{
	struct key *k;
	int rc = key_new(name, &k, f);

	if (rc)
		return rc;
	rc = key_fill(k, text, len, f);
	if (rc) {
		key_free(k);
		return rc;
	}
	*out = k;
	return 0;
}

/* path does not exist: path.pub may, with the private part in an agent or on a token. */
static int load_public(struct key *k, struct fail *f)
{
	char *path = key_beside(k->path, ".pub");
	struct text t = { 0 };
	int rc;

	if (!path)
		return key_no_memory(f, k->path);
	rc = key_read_file(path, &t, NULL);
	if (!rc)
		rc = fill_public(k, t.data, t.len, f);
	text_release(&t);
	free(path);
	return rc;
}

int key_load(const char *path, struct key **out, struct fail *f)
{
	struct text t = { 0 };
	struct key *k;
	int rc = key_new(path, &k, f);

	if (rc)
		return rc;
	rc = key_read_file(path, &t, f);
	if (rc == PSSH_ENOENT) {
		rc = load_public(k, NULL) == 0 ? 0 : PSSH_ENOENT;  /* keep f, which is about path itself */
	} else if (!rc && !t.guarded && keyfile_is_private(t.data, t.len)) {
		rc = fail_set(f, PSSH_ELOCAL, "the key '%s' can be read by others (mode %04o): chmod 600 '%s'",
			path, (unsigned)t.mode, path);
	} else if (!rc) {
		rc = key_fill(k, t.data, t.len, f);
		if (!rc && !k->public_only)
			rc = look_beside(k, f);
	}
	text_release(&t);
	if (rc) {
		key_free(k);
		return rc;
	}
	look_for_cert(k);
	*out = k;
	return 0;
}

int key_try(const struct key *k, const char *passphrase, const atomic_bool *stop, struct keyfile *out, struct fail *f)
{
	return keyfile_read(k->text, k->text_len, k->path, passphrase, stop, out, f);
}

int key_take(struct key *k, struct keyfile *opened, struct fail *f)
{
	struct keyfile kf = *opened;
	int rc;

	*opened = (struct keyfile){ 0 };
	if (k->file.blob && (kf.blob_len != k->file.blob_len || memcmp(kf.blob, k->file.blob, kf.blob_len) != 0)) {
		keyfile_release(&kf);
		return fail_set(f, PSSH_EINVAL, "'%s.pub' is not the public part of '%s': "
			"ssh-keygen -y -f '%s' shows the right one", k->path, k->path, k->path);
	}
	if (!kf.comment) {
		kf.comment = k->file.comment;
		k->file.comment = NULL;
	}
	keyfile_release(&k->file);
	k->file = kf;
	OPENSSL_cleanse(k->text, k->text_len);
	free(k->text);
	k->text = NULL;
	k->text_len = 0;
	rc = key_settle(k, f);
	if (!rc)
		look_for_cert(k);
	return rc;
}

int key_unlock(struct key *k, const char *passphrase, struct fail *f)
{
	struct keyfile kf = { 0 };
	int rc;

	if (!k->file.locked)
		return 0;
	rc = key_try(k, passphrase, NULL, &kf, f);
	return rc ? rc : key_take(k, &kf, f);
}

/* ---- Reading a key's parts ------------------------------------------------------------- */

bool key_locked(const struct key *k)
{
	return k->file.locked;
}

bool key_public_only(const struct key *k)
{
	return k->public_only;
}

const char *key_path(const struct key *k)
{
	return k->path;
}

const char *key_comment(const struct key *k)
{
	return k->file.comment ? k->file.comment : "";
}

const char *key_type(const struct key *k)
{
	return k->type;
}

const uint8_t *key_blob(const struct key *k, size_t *len)
{
	*len = k->file.blob_len;
	return k->file.blob;
}

const uint8_t *key_auth_blob(const struct key *k, size_t *len)
{
	*len = k->auth_len;
	return k->auth;
}

const uint8_t *key_cert_blob(const struct key *k, size_t *len)
{
	*len = k->cert_len;
	return k->cert;
}

const char *key_cert_note(const struct key *k)
{
	return k->cert_note;
}

/* ---- Signing --------------------------------------------------------------------------- */

int key_request_algorithm(const void *data, size_t len, char *out, size_t size)
{
	struct sshwire w;
	size_t n;

	sshwire_init(&w, data, len);
	sshwire_string(&w, &n);           /* the session */
	if (sshwire_u8(&w) != 50)         /* SSH_MSG_USERAUTH_REQUEST */
		return PSSH_EPROTO;
	sshwire_string(&w, &n);           /* the user */
	sshwire_string(&w, &n);           /* the service */
	if (!sshwire_is(&w, "publickey"))
		return PSSH_EPROTO;
	sshwire_u8(&w);
	return sshwire_text(&w, out, size) ? 0 : PSSH_EPROTO;
}

/* The hash that the algorithm needs; false if the algorithm does not fit this type of key. */
static bool pick_hash(const char *type, char *algorithm, const EVP_MD **md)
{
	if (pubkey_is_cert(algorithm))
		algorithm[strlen(algorithm) - strlen(PUBKEY_CERT_SUFFIX)] = '\0';
	*md = NULL;
	if (strcmp(type, "ssh-rsa") == 0) {
		*md = strcmp(algorithm, "rsa-sha2-512") == 0 ? EVP_sha512() :
			strcmp(algorithm, "rsa-sha2-256") == 0 ? EVP_sha256() :
			strcmp(algorithm, "ssh-rsa") == 0 ? EVP_sha1() : NULL;
		return *md != NULL;
	}
	if (strncmp(type, "ecdsa-", 6) == 0)
		*md = strstr(type, "256") ? EVP_sha256() : strstr(type, "384") ? EVP_sha384() : EVP_sha512();
	return strcmp(type, algorithm) == 0;
}

static int sign_raw(EVP_PKEY *pkey, const EVP_MD *md, const void *data, size_t len, uint8_t **sig, size_t *sig_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t *out = NULL;
	size_t n = 0;
	bool good = ctx && EVP_DigestSignInit(ctx, NULL, md, NULL, pkey) == 1 &&
		EVP_DigestSign(ctx, NULL, &n, data, len) == 1;

	if (good)
		out = malloc(n ? n : 1);
	good = good && out && EVP_DigestSign(ctx, out, &n, data, len) == 1;
	EVP_MD_CTX_free(ctx);
	if (!good) {
		free(out);
		ERR_clear_error();
		return PSSH_EINVAL;
	}
	*sig = out;
	*sig_len = n;
	return 0;
}

/* Turns OpenSSL's two numbers in DER into SSH's two numbers. */
static int repack_ecdsa(uint8_t **sig, size_t *sig_len)
{
	const unsigned char *p = *sig;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &p, (long)*sig_len);
	const BIGNUM *numbers[2];
	uint8_t room[80];
	struct buf b;
	int rc = pair ? 0 : PSSH_EINVAL;

	buf_init(&b, 256);
	if (pair)
		ECDSA_SIG_get0(pair, &numbers[0], &numbers[1]);
	for (int i = 0; !rc && i < 2; i++) {
		int n = BN_num_bytes(numbers[i]);

		if (n > (int)sizeof room || BN_bn2bin(numbers[i], room) != n ||
			sshwire_add_mpint(&b, room, (size_t)n) != 0)
			rc = PSSH_ENOMEM;
	}
	ECDSA_SIG_free(pair);
	if (!rc) {
		free(*sig);
		*sig_len = b.len;
		*sig = (uint8_t *)buf_steal(&b);
		rc = *sig ? 0 : PSSH_ENOMEM;
	}
	buf_release(&b);
	return rc;
}

int key_sign(const struct key *k, const char *algorithm, const void *data, size_t len,
	uint8_t **sig, size_t *sig_len, struct fail *f)
{
	char name[WIRE_TYPE_MAX];
	const EVP_MD *md;
	uint8_t *out = NULL;
	size_t n = 0;
	int rc;

	if (!k->file.pkey)
		return fail_set(f, PSSH_EPASSPHRASE, k->public_only ? "the private part of the key '%s' is missing" :
			"the key '%s' is locked", k->path);
	if (!algorithm && key_request_algorithm(data, len, name, sizeof name) != 0)
		return fail_set(f, PSSH_EPROTO, "the request to sign with the key '%s' is damaged", k->path);
	if (algorithm)
		snprintf(name, sizeof name, "%s", algorithm);
	if (!pick_hash(k->type, name, &md))
		return fail_set(f, PSSH_EALGORITHM, "the key '%s' of type '%s' cannot sign with '%s'", k->path, k->type,
			name);
	rc = sign_raw(k->file.pkey, md, data, len, &out, &n);
	if (!rc && strncmp(k->type, "ecdsa-", 6) == 0)
		rc = repack_ecdsa(&out, &n);
	if (rc) {
		free(out);
		return fail_set(f, rc, "the key '%s' cannot sign: OpenSSL refuses it", k->path);
	}
	*sig = out;
	*sig_len = n;
	return 0;
}

/* ---- Keys whose private part the program has ------------------------------------------- */

int key_set_signer(struct key *k, struct fail *f)
{
	if (!k->public_only)
		return fail_set(f, PSSH_EINVAL, "that is a private key: pssh_add_key() takes it");
	if (!k->auth)
		return fail_set(f, PSSH_EUNSUPPORTED, "a key of type '%s' is not supported", k->type);
	k->public_only = false;
	k->signer = true;
	return 0;
}

bool key_is_signer(const struct key *k)
{
	return k->signer;
}

int key_signature(const struct key *k, const void *raw, size_t len, uint8_t **sig, size_t *sig_len, struct fail *f)
{
	uint8_t *out = len && len <= FILE_MAX ? malloc(len) : NULL;
	int rc = out && (strcmp(k->type, "ssh-ed25519") != 0 || len == 64) ? 0 : PSSH_EINVAL;

	if (out)
		memcpy(out, raw, len);
	if (!rc && strncmp(k->type, "ecdsa-", 6) == 0)
		rc = repack_ecdsa(&out, &len);
	ERR_clear_error();
	if (rc) {
		free(out);
		return fail_set(f, rc, "that is no signature by a key of type '%s'", k->type);
	}
	*sig = out;
	*sig_len = len;
	return 0;
}

int key_request_hash(const struct key *k, const void *data, size_t len)
{
	char algorithm[WIRE_TYPE_MAX];
	const EVP_MD *md = NULL;

	if (key_request_algorithm(data, len, algorithm, sizeof algorithm) != 0 || !pick_hash(k->type, algorithm, &md) ||
		!md)
		return 0;
	return EVP_MD_get_size(md) == 20 ? 1 : EVP_MD_get_size(md) * 8;
}
