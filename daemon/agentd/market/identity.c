/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/identity.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base64.h"
#include "agentd/os/statefile.h"
#include "base/secret.h"
#include "base/str.h"
#include "market/claims.h"
#include "market/client.h"

enum { KEY_MAX = 4096, PUBLIC_BYTES = 32, SIGNATURE_BYTES = 64 };

void identity_release(struct identity *i)
{
	EVP_PKEY_free(i->key);
	i->key = NULL;
}

/* ---- The key ------------------------------------------------------------------------------ */

static int identity_read_key(const char *path, EVP_PKEY **out, struct fail *f)
{
	struct buf text;
	int rc = secret_read(&text, path, KEY_MAX, f);
	BIO *from = rc ? NULL : BIO_new_mem_buf(buf_text(&text), (int)text.len);

	*out = from ? PEM_read_bio_PrivateKey(from, NULL, NULL, NULL) : NULL;
	BIO_free(from);
	secret_wipe(&text);
	if (rc)
		return rc;
	if (*out && EVP_PKEY_is_a(*out, "ED25519"))
		return 0;
	EVP_PKEY_free(*out);
	*out = NULL;
	return fail_set(f, -EINVAL, "'%s' holds no Ed25519 key", path);
}

static int identity_write_key(const char *path, EVP_PKEY *key, struct fail *f)
{
	BIO *to = BIO_new(BIO_s_secmem());
	char *text = NULL;
	long len = 0;
	int rc;

	if (to && PEM_write_bio_PrivateKey(to, key, NULL, NULL, 0, NULL, NULL) == 1)
		len = BIO_get_mem_data(to, &text);
	rc = len > 0 ? statefile_bytes(path, text, (size_t)len, 0600, f)
		     : fail_set(f, -EIO, "cannot encode the new key");
	BIO_free(to);
	return rc;
}

int identity_make_key(const char *data, struct identity *i, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, data, "key", NULL);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	rc = identity_read_key(path, &i->key, f);
	if (rc != -ENOENT)
		return rc;
	i->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	if (!i->key)
		return fail_set(f, -EIO, "OpenSSL cannot make an Ed25519 key");
	return identity_write_key(path, i->key, f);
}

int identity_public(const struct identity *i, struct buf *out, struct fail *f)
{
	unsigned char bytes[PUBLIC_BYTES];
	size_t len = sizeof bytes;

	if (EVP_PKEY_get_raw_public_key(i->key, bytes, &len) != 1 || buf_add_base64(out, bytes, len) != 0)
		return fail_set(f, -EIO, "cannot read the public key");
	return 0;
}

int identity_sign(const struct identity *i, const char *text, size_t len, struct buf *out, struct fail *f)
{
	unsigned char bytes[SIGNATURE_BYTES];
	size_t size = sizeof bytes;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, i->key) == 1 &&
		EVP_DigestSign(ctx, bytes, &size, (const unsigned char *)text, len) == 1 &&
		buf_add_base64(out, bytes, size) == 0;

	EVP_MD_CTX_free(ctx);
	return good ? 0 : fail_set(f, -EIO, "OpenSSL cannot sign");
}

/* ---- The machine -------------------------------------------------------------------------- */

static void identity_hash_hex(const char *salt, const char *text, char room[IDENTITY_MACHINE])
{
	unsigned char sum[SHA256_DIGEST_LENGTH];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	memset(sum, 0, sizeof sum);
	if (ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 && EVP_DigestUpdate(ctx, salt, strlen(salt)) == 1 &&
		EVP_DigestUpdate(ctx, text, strlen(text)) == 1)
		EVP_DigestFinal_ex(ctx, sum, NULL);
	EVP_MD_CTX_free(ctx);
	for (size_t n = 0; n < sizeof sum; n++)
		snprintf(room + 2 * n, 3, "%02x", sum[n]);
}

static int identity_own_machine_id(const char *data, struct buf *out, struct fail *f)
{
	unsigned char bytes[16];
	char path[STATEFILE_PATH];

	if (statefile_path(path, data, "machine-id", NULL) != 0)
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", data);
	if (buf_read_file(out, path) == 0 && out->len)
		return 0;
	if (RAND_bytes(bytes, sizeof bytes) != 1)
		return fail_set(f, -EIO, "no random bytes");
	for (size_t n = 0; n < sizeof bytes; n++)
		buf_addf(out, "%02x", bytes[n]);
	buf_addc(out, '\n');
	return statefile_bytes(path, buf_text(out), out->len, 0600, f);
}

int identity_find_machine(const char *data, char room[IDENTITY_MACHINE], struct fail *f)
{
	struct buf id;
	int rc = 0;

	buf_init(&id, 256);
	if (buf_read_file(&id, "/etc/machine-id") != 0 || id.len < 32) {
		buf_clear(&id);
		rc = identity_own_machine_id(data, &id, f);
	}
	while (id.len && (id.data[id.len - 1] == '\n' || id.data[id.len - 1] == ' '))
		buf_cut(&id, id.len - 1);
	if (!rc)
		identity_hash_hex("nanopod-agent-machine\n", buf_text(&id), room);
	buf_release(&id);
	return rc;
}

/* Not the agent's id: two markets may give the same one, and both may have an agent on this machine. */
static void identity_hash_key(const struct identity *i, const char *salt, char room[IDENTITY_MACHINE])
{
	struct buf key;

	buf_init(&key, 256);
	identity_public(i, &key, NULL);
	identity_hash_hex(salt, buf_text(&key), room);
	buf_release(&key);
}

void identity_join(const struct identity *i, char room[IDENTITY_MACHINE])
{
	identity_hash_key(i, "nanopod-agent-join\n", room);
}

void identity_prefix(const struct identity *i, char room[IDENTITY_PREFIX])
{
	char hex[IDENTITY_MACHINE];

	identity_hash_key(i, "nanopod-agent-prefix\n", hex);
	snprintf(room, IDENTITY_PREFIX, "np%.6s", hex);
}

/* ---- The file ----------------------------------------------------------------------------- */

int identity_load(const char *data, struct identity *out, struct fail *f)
{
	struct identity i = { 0 };
	char path[STATEFILE_PATH];
	json_t *j = NULL;
	int rc = statefile_path(path, data, "agent.json", NULL);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	rc = statefile_load(path, &j, f);
	if (rc == -ENOENT)
		return fail_set(f, rc,
			"this machine has not joined a market (no '%s'); join one with 'nanopod-agentd join URL'",
			path);
	if (rc)
		return rc;
	statefile_text(j, "url", i.url, sizeof i.url);
	statefile_text(j, "pin", i.pin, sizeof i.pin);
	statefile_text(j, "agent", i.agent, sizeof i.agent);
	statefile_text(j, "name", i.name, sizeof i.name);
	statefile_text(j, "account", i.account, sizeof i.account);
	statefile_text(j, "machine", i.machine, sizeof i.machine);
	i.plain = statefile_bool(j, "plain");
	i.fenced = statefile_bool(j, "fenced");
	i.generation = (uint64_t)statefile_int(j, "generation", 0);
	json_decref(j);
	if (!*i.url || !*i.agent)
		return fail_set(f, -EINVAL, "'%s' is damaged: it lacks the URL or the agent", path);
	rc = statefile_path(path, data, "key", NULL);
	rc = rc ? rc : identity_read_key(path, &i.key, f);
	if (!rc)
		*out = i;
	return rc;
}

int identity_save(const char *data, const struct identity *i, struct fail *f)
{
	char path[STATEFILE_PATH];
	int rc = statefile_path(path, data, "agent.json", NULL);

	if (rc)
		return fail_set(f, rc, "the path of '%s' is too long", data);
	return statefile_json(path,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:I}", "url", i->url, "pin", i->pin, "agent",
			i->agent, "name", i->name, "account", i->account, "machine", i->machine, "plain", i->plain,
			"fenced", i->fenced, "generation", (json_int_t)i->generation),
		f);
}

void identity_forget(const char *data)
{
	static const char *const names[] = { "agent.json", "key", "machine-id" };
	char path[STATEFILE_PATH];

	for (size_t n = 0; n < sizeof names / sizeof *names; n++)
		if (statefile_path(path, data, names[n], NULL) == 0)
			unlink(path);
}

/* ---- A session --------------------------------------------------------------------------- */

/* A number that the market may have seen is never used twice. */
int identity_session(const char *data, struct identity *i, int64_t now, json_t **out, struct fail *f)
{
	struct buf text, signature;
	json_t *j = NULL;
	int rc;

	buf_init(&text, 1024);
	buf_init(&signature, 256);
	i->generation++;
	rc = identity_save(data, i, f);
	if (!rc &&
		buf_addf(&text, "nanopod-agent-session\n%s\n%llu\n%lld\n%s\n", i->agent,
			(unsigned long long)i->generation, (long long)now, i->machine) != 0)
		rc = fail_set(f, -ENOMEM, "out of memory");
	rc = rc ? rc : identity_sign(i, buf_text(&text), text.len, &signature, f);
	if (!rc) {
		j = json_pack("{s:I, s:I, s:s, s:s}", "generation", (json_int_t)i->generation, "at", (json_int_t)now,
			"machine", i->machine, "signature", buf_text(&signature));
		rc = j ? 0 : fail_set(f, -ENOMEM, "out of memory");
	}
	buf_release(&signature);
	buf_release(&text);
	if (!rc)
		*out = j;
	return rc;
}

/* ---- The market's URL ---------------------------------------------------------------------- */

static bool identity_pin_is_good(const char *pin, size_t len)
{
	struct buf bytes;
	bool good;

	if (!str_starts(pin, "sha256//"))
		return false;
	buf_init(&bytes, 64);
	good = base64_take(pin + 8, len - 8, &bytes) == 0 && bytes.len == SHA256_DIGEST_LENGTH;
	buf_release(&bytes);
	return good;
}

static bool identity_has_pin(const char *pins, const char *pin, size_t len)
{
	for (const char *p = pins; *p; p += strcspn(p, ";"), p += *p == ';')
		if (strcspn(p, ";") == len && strncmp(p, pin, len) == 0)
			return true;
	return false;
}

bool identity_take_pins(struct identity *i, const char *pins)
{
	bool known = false;

	size_t all = strlen(pins);

	if (!*i->pin || !all || strcmp(i->pin, pins) == 0 || all >= sizeof i->pin || pins[all - 1] == ';')
		return false;
	for (const char *p = pins; *p; p += strcspn(p, ";"), p += *p == ';') {
		size_t len = strcspn(p, ";");

		if (!identity_pin_is_good(p, len))
			return false;
		known = known || identity_has_pin(i->pin, p, len);
	}
	if (known)
		snprintf(i->pin, sizeof i->pin, "%s", pins);
	return known;
}

int identity_take_url(struct identity *i, const char *given, struct fail *f)
{
	const char *hash = strchr(given, '#');
	size_t len = hash ? (size_t)(hash - given) : strlen(given);
	struct client *probe = NULL;
	int rc;

	if (len >= sizeof i->url)
		return fail_set(f, CLIENT_BAD_SETUP, "the URL is too long");
	memcpy(i->url, given, len);
	i->url[len] = '\0';
	i->pin[0] = '\0';
	if (hash && strncasecmp(i->url, "https://", 8) != 0)
		return fail_set(f, CLIENT_BAD_SETUP, "'%.200s' has a pin but is not https://", i->url);
	if (hash && (strlen(hash + 1) >= sizeof i->pin || !identity_pin_is_good(hash + 1, strlen(hash + 1))))
		return fail_set(f, CLIENT_BAD_SETUP,
			"not a pin after '#' in the URL: a pin looks like sha256//BASE64, as the market prints it");
	if (hash)
		snprintf(i->pin, sizeof i->pin, "%s", hash + 1);
	/* The client's own rules about URLs that may carry a token. */
	rc = client_new(&(struct client_setup){ .url = i->url, .token = "npk_x", .plain = i->plain }, &probe, f);
	client_free(probe);
	if (rc && strncasecmp(i->url, "http://", 7) == 0 && client_check_url(i->url, NULL) == 0)
		return fail_set(f, rc,
			"others could read the token on the way to '%.200s': use https:// or a tunnel, or --plain on a "
			"network that you trust",
			i->url);
	return rc;
}

int identity_sign_claims(const struct identity *i, struct claims *c, struct fail *f)
{
	struct buf key, text, signature;
	int rc;

	buf_init(&key, CLAIMS_KEY);
	buf_init(&text, 2 * CLAIMS_BYTES);
	buf_init(&signature, CLAIMS_SIGNATURE);
	snprintf(c->agent, sizeof c->agent, "%s", i->agent);
	rc = identity_public(i, &key, f);
	if (!rc)
		snprintf(c->key, sizeof c->key, "%s", buf_text(&key));
	rc = rc ? rc : claims_to_sign(c, &text);
	rc = rc ? rc : identity_sign(i, text.data, text.len, &signature, f);
	if (!rc)
		snprintf(c->signature, sizeof c->signature, "%s", buf_text(&signature));
	buf_release(&signature);
	buf_release(&text);
	buf_release(&key);
	return rc;
}
