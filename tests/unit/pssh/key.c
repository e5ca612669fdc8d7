/* SPDX-License-Identifier: Apache-2.0 */
/* Keys made by the real ssh-keygen, and files that are not keys. */
#include "pssh/keys/key.h"

#include <libssh2.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "base/buf.h"
#include "pssh/keys/bcrypt.h"
#include "pssh/pssh.h"
#include "pssh/keys/sshwire.h"

static const char data[] = "what is to be signed";

static void test_bcrypt(void)
{
	static const uint8_t want[32] = {
		0x5b, 0xbf, 0x0c, 0xc2, 0x93, 0x58, 0x7f, 0x1c, 0x36, 0x35, 0x55, 0x5c, 0x27, 0x79, 0x65, 0x98,
		0xd4, 0x7e, 0x57, 0x90, 0x71, 0xbf, 0x42, 0x7e, 0x9d, 0x8f, 0xbe, 0x84, 0x2a, 0xba, 0x34, 0xd9,
	};
	uint8_t got[32];

	is_int(bcrypt_pbkdf("password", 8, (const uint8_t *)"salt", 4, 4, NULL, got, sizeof got), 0,
		"bcrypt_pbkdf works");
	ok(memcmp(got, want, sizeof got) == 0, "and gives what OpenBSD's gives");
	is_int(bcrypt_pbkdf("password", 8, (const uint8_t *)"salt", 4, 0, NULL, got, sizeof got), PSSH_EINVAL,
		"no rounds, no key");
	is_int(bcrypt_pbkdf("", 0, (const uint8_t *)"salt", 4, 4, NULL, got, sizeof got), PSSH_EINVAL,
		"no passphrase, no key");
}

/* ---- Signatures, checked by OpenSSL against what ssh-keygen says the public key is ----- */

static EVP_PKEY *public_key(const char *path, const uint8_t *blob, size_t len)
{
	char pem[4096], pub[64];
	EVP_PKEY *pkey;
	BIO *bio;

	if (len == 51)
		return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, blob + 19, 32);
	snprintf(pub, sizeof pub, "%.50s.pub", path);
	if (tool_output(pem, "ssh-keygen", "-e", "-m", "PKCS8", "-f", pub) != 0)
		return NULL;
	bio = BIO_new_mem_buf(pem, -1);
	pkey = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
	BIO_free(bio);
	return pkey;
}

/* The two numbers back into DER. */
static uint8_t *to_der(const uint8_t *sig, size_t len, size_t *out_len)
{
	ECDSA_SIG *pair = ECDSA_SIG_new();
	uint8_t *der = NULL;
	size_t r_len, s_len;
	struct sshwire w;
	const uint8_t *r, *s;
	int n;

	sshwire_init(&w, sig, len);
	r = sshwire_string(&w, &r_len);
	s = sshwire_string(&w, &s_len);
	if (w.bad || w.left || !ECDSA_SIG_set0(pair, BN_bin2bn(r, (int)r_len, NULL), BN_bin2bn(s, (int)s_len, NULL)))
		return NULL;
	n = i2d_ECDSA_SIG(pair, &der);
	ECDSA_SIG_free(pair);
	*out_len = n > 0 ? (size_t)n : 0;
	return der;
}

static bool verifies(EVP_PKEY *pkey, const char *algorithm, const uint8_t *sig, size_t len)
{
	const EVP_MD *md = strstr(algorithm, "25519") ? NULL : strstr(algorithm, "256") ? EVP_sha256() :
		strstr(algorithm, "384") ? EVP_sha384() : strcmp(algorithm, "ssh-rsa") == 0 ? EVP_sha1() : EVP_sha512();
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t *der = NULL;
	bool good;

	if (strncmp(algorithm, "ecdsa", 5) == 0)
		sig = der = to_der(sig, len, &len);
	good = sig && EVP_DigestVerifyInit(ctx, NULL, md, NULL, pkey) == 1 &&
		EVP_DigestVerify(ctx, sig, len, (const uint8_t *)data, strlen(data)) == 1;
	EVP_MD_CTX_free(ctx);
	OPENSSL_free(der);
	return good;
}

static void test_signature(const struct key *k, const char *path, const char *algorithm)
{
	size_t len, blob_len;
	const uint8_t *blob = key_blob(k, &blob_len);
	EVP_PKEY *pkey = public_key(path, blob, blob_len);
	uint8_t *sig = NULL;
	struct fail f = { 0 };

	is_int(key_sign(k, algorithm, data, strlen(data), &sig, &len, &f), 0, "'%s' signs by %s %s", path, algorithm,
		f.text);
	ok(sig && pkey && verifies(pkey, algorithm, sig, len), "and OpenSSL says that it is right");
	EVP_PKEY_free(pkey);
	free(sig);
}

/* ---- Formats --------------------------------------------------------------------------- */

static bool same_blob(const struct key *k, const char *pub)
{
	uint8_t *blob = NULL;
	size_t len = 0, n;
	const uint8_t *mine = key_blob(k, &n);
	bool same = key_read_public(pub, &blob, &len, NULL, NULL) == 0 && mine && len == n &&
		memcmp(blob, mine, n) == 0;

	free(blob);
	return same;
}

static void test_open(const char *path, const char *type, const char *algorithm)
{
	char pub[64];
	struct key *k = NULL;
	struct fail f = { 0 };

	snprintf(pub, sizeof pub, "%.50s.pub", path);
	if (!is_int(key_load(path, &k, &f), 0, "'%s' is read %s", path, f.text))
		return;
	ok(!key_locked(k) && !key_public_only(k), "it is not locked");
	is_str(key_type(k), type, "its type");
	is_str(key_comment(k), "a comment", "its comment");
	ok(same_blob(k, pub), "its public part is that of '%s'", pub);
	test_signature(k, path, algorithm);
	key_free(k);
}

static void test_locked(const char *path, const char *type, const char *algorithm)
{
	struct key *k = NULL;
	struct fail f = { 0 };
	uint8_t *sig = NULL;
	size_t len;

	if (!is_int(key_load(path, &k, &f), 0, "'%s' is read %s", path, f.text))
		return;
	ok(key_locked(k), "it is locked");
	is_str(key_type(k), type, "its type is known all the same");
	is_int(key_sign(k, algorithm, data, strlen(data), &sig, &len, &f), PSSH_EPASSPHRASE, "it does not sign yet");
	is_int(key_unlock(k, "wrong", &f), PSSH_EPASSPHRASE, "a wrong passphrase is refused");
	has_str(f.text, path, "with a sentence that names the key");
	is_int(key_unlock(k, "", &f), PSSH_EPASSPHRASE, "an empty one too");
	ok(key_locked(k), "it is locked still");
	is_int(key_unlock(k, "pass word", &f), 0, "the right one is taken %s", f.text);
	ok(!key_locked(k), "it is open");
	is_str(key_comment(k), "a comment", "its comment");
	test_signature(k, path, algorithm);
	key_free(k);
}

static bool copy_key(const char *from, const char *to)
{
	char from_pub[64], to_pub[64];

	snprintf(from_pub, sizeof from_pub, "%.50s.pub", from);
	snprintf(to_pub, sizeof to_pub, "%.50s.pub", to);
	return tool_run("cp", "-p", from, to) == 0 && tool_run("cp", "-p", from_pub, to_pub) == 0;
}

static void test_type(const char *kind, const char *bits, const char *type, const char *algorithm)
{
	char path[32], other[48];

	snprintf(path, sizeof path, "%s%s", kind, bits);
	if (!ok(tool_run("ssh-keygen", "-q", "-t", kind, "-b", bits, "-N", "", "-C", "a comment", "-f", path) == 0,
	    "ssh-keygen makes a key of %s bits of type %s", bits, kind))
		return;
	test_open(path, type, algorithm);

	snprintf(other, sizeof other, "%s.enc", path);
	ok(copy_key(path, other) &&
			tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "pass word", "-a", "2", "-f", other) == 0,
		"the same, encrypted");
	test_locked(other, type, algorithm);

	/* For Ed25519, ssh-keygen always writes its own format. */
	for (const char *const *form = (const char *const[]){ "PEM", "PKCS8", NULL }; *form; form++) {
		snprintf(other, sizeof other, "%s.%s", path, *form);
		ok(copy_key(path, other) &&
				tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "", "-m", *form, "-f", other) == 0,
			"the same as %s", *form);
		test_open(other, type, algorithm);
		snprintf(other, sizeof other, "%s.%s.enc", path, *form);
		ok(copy_key(path, other) &&
				tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "pass word", "-a", "2", "-m", *form,
					"-f", other) == 0,
			"the same as %s, encrypted", *form);
		test_locked(other, type, algorithm);
	}
}

static void test_ciphers(void)
{
	static const char *const good[] = { "aes256-ctr", "aes192-ctr", "aes128-ctr", "aes256-cbc", "aes192-cbc",
		"aes128-cbc", "3des-cbc", "aes256-gcm@openssh.com", "aes128-gcm@openssh.com" };
	struct key *k = NULL;
	struct fail f = { 0 };

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ok(copy_key("ed25519256", "cipher") &&
				tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "pass word", "-a", "1", "-Z",
					good[i], "-f", "cipher") == 0,
			"a key encrypted by %s", good[i]);
		test_locked("cipher", "ssh-ed25519", "ssh-ed25519");
	}
	ok(copy_key("ed25519256", "cipher") &&
			tool_run("ssh-keygen", "-q", "-p", "-P", "", "-N", "pass word", "-a", "1", "-Z",
				"chacha20-poly1305@openssh.com", "-f", "cipher") == 0,
		"a key encrypted by a cipher that we have not");
	is_int(key_load("cipher", &k, &f), PSSH_EUNSUPPORTED, "is not supported");
	has_str(f.text, "ssh-keygen -p -Z aes256-ctr -f 'cipher'", "and what to do is said");
}

/* An encrypted PEM hides its public part. */
static void test_without_public(void)
{
	struct key *k = NULL;
	struct fail f = { 0 };
	size_t len;

	ok(tool_run("cp", "-p", "rsa2048.PEM.enc", "alone") == 0, "an encrypted PEM without .pub");
	is_int(key_load("alone", &k, &f), 0, "is read");
	ok(k && key_locked(k) && !key_blob(k, &len) && !key_auth_blob(k, &len), "its public part is not known");
	is_str(k ? key_type(k) : NULL, "", "nor its type");
	is_int(k ? key_unlock(k, "pass word", &f) : -1, 0, "it is unlocked");
	ok(k && same_blob(k, "rsa2048.pub"), "then it is known");
	key_free(k);

	k = NULL;
	ok(tool_run("cp", "ecdsa256.pub", "alone.pub") == 0, "with the .pub of another key");
	is_int(key_load("alone", &k, &f), 0, "it is read");
	is_int(k ? key_unlock(k, "pass word", &f) : 0, PSSH_EINVAL, "but not unlocked");
	has_str(f.text, "'alone.pub' is not the public part of 'alone'", "and why is said");
	key_free(k);
}

static void test_rsa(void)
{
	static const char *const algorithms[] = { "rsa-sha2-256", "rsa-sha2-512", "ssh-rsa" };
	struct key *k = NULL;
	struct fail f = { 0 };
	char type[64] = "";
	uint8_t *sig = NULL;
	const uint8_t *blob, *auth;
	size_t len, auth_len;

	if (!is_int(key_load("rsa2048", &k, &f), 0, "an RSA key"))
		return;
	for (int i = 0; i < 3; i++)
		test_signature(k, "rsa2048", algorithms[i]);
	is_int(key_sign(k, "ssh-ed25519", data, 4, &sig, &len, &f), PSSH_EALGORITHM,
		"it does not sign by another type");
	blob = key_blob(k, &len);
	auth = key_auth_blob(k, &auth_len);
	ok(sshwire_blob_type(auth, auth_len, type, sizeof type), "libssh2 is given a blob");
	if (libssh2_version(0x010b00)) {
		is_str(type, "ssh-rsa", "of its own type: libssh2 knows what to do");
	} else {
		is_str(type, "rsa-sha2-512", "of a type that makes it sign by SHA-2");
		ok(auth_len == len + 5 && memcmp(auth + 16, blob + 11, len - 11) == 0, "with the same numbers");
	}
	key_free(k);
}

/* ---- Certificates and public keys ------------------------------------------------------ */

static bool certify(const char *key, const char *what, const char *validity)
{
	char pub[64];

	snprintf(pub, sizeof pub, "%.50s.pub", key);
	if (*what)
		return tool_run("ssh-keygen", "-q", "-s", "ca", "-I", "me", what, "-n", "x", "-V", validity, pub) == 0;
	return tool_run("ssh-keygen", "-q", "-s", "ca", "-I", "me", "-n", "x", "-V", validity, pub) == 0;
}

static void is_note(const char *path, const char *what, const char *validity, const char *note)
{
	struct key *k = NULL;
	struct fail f = { 0 };
	size_t len;

	ok(certify(path, what, validity), "a certificate (%s %s) for '%s'", what, validity, path);
	is_int(key_load(path, &k, &f), 0, "the key is read %s", f.text);
	if (!k)
		return;
	if (*note) {
		ok(!key_cert_blob(k, &len), "its certificate is not used");
		has_str(key_cert_note(k), note, "and why is said");
	} else {
		char type[64] = "";
		const uint8_t *cert = key_cert_blob(k, &len);

		ok(cert && sshwire_blob_type(cert, len, type, sizeof type), "its certificate is found");
		has_str(type, "-cert-v01@openssh.com", "it is one");
		is_str(key_cert_note(k), "", "nothing is to be said");
	}
	key_free(k);
}

static void test_certificates(void)
{
	bool modern = libssh2_version(0x010b00) != NULL;
	struct key *k = NULL;
	struct fail f = { 0 };

	ok(tool_run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "ca") == 0, "an authority");
	is_note("ecdsa256", "", "-1d:+1d", "");
	is_note("ecdsa256.enc", "", "-1d:+1d", "");
	is_note("ecdsa256", "", "-2d:-1d", "has expired");
	is_note("ecdsa256", "", "+1d:+2d", "is not valid yet");
	is_note("ecdsa256", "-h", "-1d:+1d", "is not a user certificate");
	is_note("ed25519256", "", "-1d:+1d", modern ? "" : "cannot use a certificate of type 'ssh-ed25519-cert");
	is_note("rsa2048", "", "-1d:+1d", modern ? "" : "cannot use a certificate of type 'ssh-rsa-cert");
	ok(certify("ecdsa256", "", "-1d:+1d"), "a good one again");
	is_int(key_load("ecdsa384", &k, &f), 0, "another key");
	is_int(k ? key_add_cert(k, "ecdsa256-cert.pub", &f) : 0, PSSH_EINVAL, "does not take it");
	has_str(f.text, "belongs to another key", "and why is said");
	is_int(k ? key_add_cert(k, "ecdsa384.pub", &f) : 0, PSSH_ESYNTAX, "nor a public key");
	is_int(k ? key_add_cert(k, "nowhere", &f) : 0, PSSH_ENOENT, "nor nothing");
	key_free(k);
}

static void test_public_only(void)
{
	struct key *k = NULL;
	struct fail f = { 0 };
	uint8_t *sig = NULL;
	size_t len;

	ok(tool_run("cp", "ed25519256.pub", "only.pub") == 0 && chmod("only.pub", 0644) == 0, "a public key alone");
	is_int(key_load("only", &k, &f), 0, "is found by the name of the private one");
	ok(k && key_public_only(k) && !key_locked(k) && same_blob(k, "only.pub"), "for what it is");
	is_int(k ? key_sign(k, NULL, data, 4, &sig, &len, &f) : 0, PSSH_EPASSPHRASE, "it cannot sign");
	key_free(k);
	k = NULL;
	is_int(key_load("only.pub", &k, &f), 0, "and by its own name, though all can read it");
	is_str(k ? key_type(k) : NULL, "ssh-ed25519", "its type");
	is_str(k ? key_comment(k) : NULL, "a comment", "its comment");
	key_free(k);
}

/* ---- What is no key -------------------------------------------------------------------- */

static void refused(const char *path, int code, const char *words)
{
	struct key *k = NULL;
	struct fail f = { 0 };

	is_int(key_load(path, &k, &f), code, "'%s' is refused", path);
	has_str(f.text, words, "because it '%s'", words);
	ok(!k, "nothing is handed out");
	key_free(k);
}

static void sk_key(struct buf *b)
{
	struct buf raw, blob;

	buf_init(&raw, 4096);
	buf_init(&blob, 4096);
	buf_add(&raw, "openssh-key-v1", 15);
	sshwire_add_text(&raw, "none");
	sshwire_add_text(&raw, "none");
	sshwire_add_text(&raw, "");
	sshwire_add_u32(&raw, 1);
	sshwire_add_text(&blob, "sk-ssh-ed25519@openssh.com");
	sshwire_add_string(&blob, "12345678901234567890123456789012", 32);
	sshwire_add_text(&blob, "ssh:");
	sshwire_add_string(&raw, blob.data, blob.len);
	sshwire_add_text(&raw, "secret");
	buf_adds(b, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
	buf_add_base64(b, raw.data, raw.len);
	buf_adds(b, "\n-----END OPENSSH PRIVATE KEY-----\n");
	buf_release(&raw);
	buf_release(&blob);
}

static void test_refused(void)
{
	static char big[(1 << 20) + 1];
	struct buf sk;

	ok(tool_run("cp", "-p", "ed25519256", "open") == 0 && chmod("open", 0640) == 0, "a key that others can read");
	refused("open", PSSH_ELOCAL, "chmod 600 'open'");
	refused("nowhere", PSSH_ENOENT, "'nowhere'");
	refused(".", PSSH_ELOCAL, "is a directory");
	ok(mkfifo("pipe", 0600) == 0, "a pipe");
	refused("pipe", PSSH_ELOCAL, "is a pipe");
	refused("/dev/zero", PSSH_ELOCAL, "is a device");
	memset(big, 'x', sizeof big);
	tool_write("big", big, sizeof big, 0600);
	refused("big", PSSH_ESYNTAX, "too large");
	tool_write("empty", "", 0, 0600);
	refused("empty", PSSH_ESYNTAX, "'empty' holds no key");
	tool_write("words", "just some\nwords\n", 16, 0600);
	refused("words", PSSH_ESYNTAX, "'words' holds no key");
	tool_write("putty", "PuTTY-User-Key-File-3: ssh-ed25519\n", 35, 0600);
	refused("putty", PSSH_EUNSUPPORTED, "puttygen");
	tool_write("pem", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", 68, 0600);
	refused("pem", PSSH_ESYNTAX, "OpenSSL cannot read it");
	buf_init(&sk, 4096);
	sk_key(&sk);
	tool_write("sk", sk.data, sk.len, 0600);
	refused("sk", PSSH_EUNSUPPORTED, "hardware token");
	buf_release(&sk);
	if (tool_run("openssl", "genpkey", "-algorithm", "X25519", "-out", "x25519") == 0 && chmod("x25519", 0600) == 0)
		refused("x25519", PSSH_EUNSUPPORTED, "of type 'X25519'");
	else
		skip("the command 'openssl' is not there to make a key that is not one for SSH");
}

/* Each byte wrong once, and each length: always an answer, and never another key. */
static void test_damaged(const char *path)
{
	struct buf b;
	struct key *k = NULL, *whole = NULL;
	size_t wrong = 0, len, n;
	const uint8_t *blob, *mine;

	buf_init(&b, 1 << 20);
	ok(buf_read_file(&b, path) == 0 && key_parse(b.data, b.len, path, &whole, NULL) == 0, "'%s' is whole", path);
	mine = whole ? key_blob(whole, &n) : NULL;
	for (size_t i = 0; mine && i < b.len; i++) {
		char was = b.data[i];

		b.data[i] = was == 'A' ? 'B' : 'A';
		if (key_parse(b.data, b.len, path, &k, NULL) == 0) {
			blob = key_blob(k, &len);
			wrong += !key_locked(k) && (!blob || len != n || memcmp(blob, mine, n) != 0);
			key_free(k);
		}
		b.data[i] = was;
		if (key_parse(b.data, i, path, &k, NULL) == 0) {
			wrong += i + 1 < b.len;
			key_free(k);
		}
	}
	is_int(wrong, 0, "no damage makes another key of it");
	key_free(whole);
	buf_release(&b);
}

static void test_request(void)
{
	struct buf b;
	char name[64] = "";

	buf_init(&b, 4096);
	sshwire_add_text(&b, "session");
	buf_addc(&b, 50);
	sshwire_add_text(&b, "user");
	sshwire_add_text(&b, "ssh-connection");
	sshwire_add_text(&b, "publickey");
	buf_addc(&b, 1);
	sshwire_add_text(&b, "rsa-sha2-256");
	is_int(key_request_algorithm(b.data, b.len, name, sizeof name), 0, "a request to sign is understood");
	is_str(name, "rsa-sha2-256", "and names its algorithm");
	is_int(key_request_algorithm(b.data, b.len - 1, name, sizeof name), PSSH_EPROTO, "not where it is cut short");
	is_int(key_request_algorithm(b.data, b.len, name, 5), PSSH_EPROTO, "nor where there is no room");
	buf_release(&b);
}

int main(void)
{
	plan_none;
	if (!tool_begin() || tool_run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "probe") != 0)
		skip_all("ssh-keygen does not work here");
	test_bcrypt();
	test_request();
	test_type("ed25519", "256", "ssh-ed25519", "ssh-ed25519");
	test_type("ecdsa", "256", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256");
	test_type("ecdsa", "384", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384");
	test_type("ecdsa", "521", "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521");
	test_type("rsa", "2048", "ssh-rsa", "rsa-sha2-512");
	test_ciphers();
	test_without_public();
	test_rsa();
	test_certificates();
	test_public_only();
	test_refused();
	test_damaged("ed25519256");
	test_damaged("ecdsa384");
	test_damaged("ed25519256.enc");
	tool_end();
	return done();
}
