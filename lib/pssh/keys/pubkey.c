/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libssh2 before 1.11 takes the signature's algorithm from the first words of the key blob. So it
 * would sign with SHA-1 for an RSA key, and cannot use certificates of Ed25519 and RSA keys:
 * upgrade_rsa and cert_usable deal with that.
 */
#include "pssh/keys/pubkey.h"

#include <errno.h>
#include <libssh2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pssh/pssh_types.h"
#include "pssh/keys/sshwire.h"

enum { SSH2_NAMES_ALGORITHMS = 0x010b00, BLOB_MAX = 16384 };

static bool ssh2_names_algorithms(void)
{
	return libssh2_version(SSH2_NAMES_ALGORITHMS) != NULL;
}

/* OpenSSH's server accepts a key of type "rsa-sha2-512" as the RSA key that it is. */
static int upgrade_rsa(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len)
{
	static const char name[] = "rsa-sha2-512";
	struct buf b;
	struct sshwire w;
	size_t n;
	int rc;

	sshwire_init(&w, blob, len);
	sshwire_string(&w, &n);
	buf_init(&b, len + sizeof name);
	rc = sshwire_add_text(&b, name);
	if (!rc)
		rc = buf_add(&b, w.at, w.left);
	*out_len = b.len;
	*out = rc ? NULL : (uint8_t *)buf_steal(&b);
	buf_release(&b);
	return *out ? 0 : PSSH_ENOMEM;
}

bool pubkey_is_cert(const char *type)
{
	size_t n = strlen(type), suffix = strlen(PUBKEY_CERT_SUFFIX);

	return n > suffix && strcmp(type + n - suffix, PUBKEY_CERT_SUFFIX) == 0;
}

/* Older versions cut the suffix off the algorithm of ECDSA certificates only. */
static bool cert_usable(const char *type)
{
	return strncmp(type, "ecdsa-", 6) == 0 || (ssh2_names_algorithms() &&
		(strncmp(type, "ssh-ed25519-", 12) == 0 || strncmp(type, "ssh-rsa-", 8) == 0));
}

static int refuse_cert(struct fail *f, const char *type)
{
	return fail_set(f, PSSH_EUNSUPPORTED, "libssh2 %s cannot use a certificate of type '%s': "
		"1.11 or later can, and ecdsa ones work", libssh2_version(0), type);
}

static bool plain_type(const char *type)
{
	return strcmp(type, "ssh-ed25519") == 0 || strcmp(type, "ssh-rsa") == 0 ||
		strncmp(type, "ecdsa-sha2-nistp", 16) == 0;
}

int pubkey_for_auth(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len, struct fail *f)
{
	char type[WIRE_TYPE_MAX];
	uint8_t *copy = NULL;
	size_t n = len;

	if (!sshwire_blob_type(blob, len, type, sizeof type))
		return fail_set(f, PSSH_ESYNTAX, "that is not a public key");
	if (pubkey_is_cert(type) && !cert_usable(type))
		return refuse_cert(f, type);
	if (!pubkey_is_cert(type) && !plain_type(type))
		return fail_set(f, PSSH_EUNSUPPORTED, "keys of type '%s' are not supported", type);
	if (strcmp(type, "ssh-rsa") == 0 && !ssh2_names_algorithms()) {
		if (upgrade_rsa(blob, len, &copy, &n) != 0)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
	} else {
		copy = malloc(len);
		if (!copy)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		memcpy(copy, blob, len);
	}
	*out = copy;
	*out_len = n;
	return 0;
}

/* After its type and a nonce, a certificate repeats the key. */
static bool cert_is_of(const uint8_t *cert, size_t cert_len, const uint8_t *blob, size_t blob_len, struct sshwire *rest)
{
	struct sshwire key;
	size_t n;

	sshwire_init(rest, cert, cert_len);
	sshwire_string(rest, &n);
	sshwire_string(rest, &n);
	sshwire_init(&key, blob, blob_len);
	sshwire_string(&key, &n);
	if (rest->bad || key.bad || rest->left < key.left || memcmp(rest->at, key.at, key.left) != 0)
		return false;
	sshwire_bytes(rest, key.left);
	return true;
}

/* Refuses a certificate that a server would refuse anyway. rest: what follows the key. */
static int check_terms(struct sshwire *rest, const char *path, struct fail *f)
{
	uint64_t now = (uint64_t)time(NULL), from, until;
	size_t n;
	uint32_t kind;

	sshwire_u64(rest);
	kind = sshwire_u32(rest);
	sshwire_string(rest, &n);
	sshwire_string(rest, &n);
	from = sshwire_u64(rest);
	until = sshwire_u64(rest);
	if (rest->bad)
		return fail_set(f, PSSH_ESYNTAX, "the certificate '%s' is damaged", path);
	if (kind != 1)
		return fail_set(f, PSSH_EINVAL, "the certificate '%s' is not a user certificate", path);
	if (now < from || now >= until)
		return fail_set(f, PSSH_EINVAL, "the certificate '%s' %s", path,
			now < from ? "is not valid yet" : "has expired");
	return 0;
}

int pubkey_cert_check(const uint8_t *cert, size_t cert_len, const uint8_t *blob, size_t blob_len,
	const char *path, struct fail *f)
{
	char type[WIRE_TYPE_MAX] = "";
	struct sshwire rest;

	if (!sshwire_blob_type(cert, cert_len, type, sizeof type) || !pubkey_is_cert(type))
		return fail_set(f, PSSH_ESYNTAX, "the file '%s' holds no certificate", path);
	if (!cert_is_of(cert, cert_len, blob, blob_len, &rest))
		return fail_set(f, PSSH_EINVAL, "the certificate '%s' belongs to another key", path);
	if (!cert_usable(type))
		return refuse_cert(f, type);
	return check_terms(&rest, path, f);
}

/* ---- Files ----------------------------------------------------------------------------- */

static const char *skip_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static const char *skip_word(const char *p, const char *end)
{
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	return p;
}

static int pubkey_read_line(const char *p, const char *end, const char *name,
	uint8_t **blob, size_t *blob_len, char **comment, struct fail *f)
{
	const char *type_end = skip_word(p, end), *base = skip_blank(type_end, end), *base_end = skip_word(base, end);
	const char *rest = skip_blank(base_end, end);
	char type[WIRE_TYPE_MAX];
	uint8_t *data = NULL;
	char *words = NULL;
	size_t len = 0;

	if (base == base_end || sshwire_base64(base, (size_t)(base_end - base), &data, &len) != 0 || len > BLOB_MAX ||
	    !sshwire_blob_type(data, len, type, sizeof type) || strlen(type) != (size_t)(type_end - p) ||
	    memcmp(type, p, strlen(type)) != 0) {
		free(data);
		return fail_set(f, PSSH_ESYNTAX, "the file '%s' holds no key", name);
	}
	if (comment) {
		words = strndup(rest, (size_t)(end - rest));
		if (!words) {
			free(data);
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		}
		*comment = words;
	}
	*blob = data;
	*blob_len = len;
	return 0;
}

int pubkey_parse(const char *text, size_t len, const char *name,
	uint8_t **blob, size_t *blob_len, char **comment, struct fail *f)
{
	const char *p = text, *stop = text + len;

	while (p < stop) {
		const char *end = memchr(p, '\n', (size_t)(stop - p)), *next;

		end = end ? end : stop;
		next = end < stop ? end + 1 : stop;
		if (end > p && end[-1] == '\r')
			end--;
		p = skip_blank(p, end);
		if (p < end && *p != '#')
			return pubkey_read_line(p, end, name, blob, blob_len, comment, f);
		p = next;
	}
	return fail_set(f, PSSH_ESYNTAX, "the file '%s' holds no key", name);
}
