/* SPDX-License-Identifier: Apache-2.0 */
#include "market/claims.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII, PUBLIC_BYTES = 32, SIGNED_BYTES = 64, GROW = 32 };

static const char *const claim_words[] = { "ok", "failed", "skipped" };

void claims_release(struct claims *c)
{
	free(c->list);
	*c = (struct claims){ .count = 0 };
}

int claims_add(struct claims *c, const struct claim *one)
{
	if (c->count == CLAIMS_MOST)
		return -E2BIG;
	if (c->count % GROW == 0) {
		struct claim *more = realloc(c->list, (c->count + GROW) * sizeof *more);

		if (!more)
			return -ENOMEM;
		c->list = more;
	}
	c->list[c->count++] = *one;
	return 0;
}

size_t claims_number(const struct claims *c, enum claim_is is)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->list[i].is == is;
	return n;
}

int claims_nonce(const char *text, struct fail *f)
{
	size_t len = strlen(text);

	if (len < 16 || len > CLAIMS_NONCE - 1 || len % 2 || strspn(text, "0123456789abcdef") != len)
		return fail_set(f, -EINVAL,
			"'%.80s' is no nonce: use 16 to 64 hex digits (0-9a-f), e.g. what 'openssl rand -hex 16' "
			"prints",
			text);
	return 0;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void claims_put_text(json_t *o, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(o, key, json_string(text));
}

static json_t *claim_json(const struct claim *c)
{
	json_t *o = json_object();

	claims_put_text(o, "check", c->check);
	claims_put_text(o, "result", claim_words[c->is]);
	json_object_set_new(o, "at", json_integer(c->at));
	if (c->measured) {
		json_object_set_new(o, "median", json_integer(c->value));
		json_object_set_new(o, "least", json_integer(c->least));
		json_object_set_new(o, "most", json_integer(c->most));
		json_object_set_new(o, "runs", json_integer(c->runs));
		claims_put_text(o, "unit", c->unit);
	}
	claims_put_text(o, "device", c->device);
	claims_put_text(o, "method", c->method);
	claims_put_text(o, "answer", c->answer);
	claims_put_text(o, "text", c->text);
	claims_put_text(o, "mend", c->mend);
	return o;
}

static json_t *claims_json(const struct claims *c)
{
	json_t *o = json_object(), *list = json_array();

	claims_put_text(o, "object", "verification");
	json_object_set_new(o, "version", json_integer(1));
	claims_put_text(o, "agent", c->agent);
	claims_put_text(o, "key", c->key);
	claims_put_text(o, "nonce", c->nonce);
	json_object_set_new(o, "at", json_integer(c->at));
	json_object_set_new(o, "passed", json_boolean(claims_number(c, CLAIM_FAILED) == 0));
	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(list, claim_json(&c->list[i]));
	json_object_set_new(o, "checks", list);
	claims_put_text(o, "signature", c->signature);
	return o;
}

/* Takes the reference. */
static int claims_canonical(json_t *o, struct buf *out)
{
	char *text = o ? json_dumps(o, CANONICAL) : NULL;
	int rc = text ? buf_adds(out, text) : -ENOMEM;

	free(text);
	json_decref(o);
	return rc;
}

int claims_write(const struct claims *c, struct buf *out)
{
	return claims_canonical(claims_json(c), out);
}

int claims_to_sign(const struct claims *c, struct buf *out)
{
	json_t *o = claims_json(c);
	int rc = buf_adds(out, "nanopod-claims\n");

	json_object_del(o, "signature");
	return rc ? (json_decref(o), rc) : claims_canonical(o, out);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static json_t *claims_load(const char *text, size_t len, struct fail *f)
{
	json_error_t e;
	json_t *o = len <= CLAIMS_BYTES ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &e) : NULL;
	const char *object = json_string_value(json_object_get(o, "object"));

	if (object && strcmp(object, "verification") == 0 && json_integer_value(json_object_get(o, "version")) == 1)
		return o;
	json_decref(o);
	if (len > CLAIMS_BYTES)
		fail_set(f, -EPROTO, "it is too long for a verification");
	else if (!o)
		fail_set(f, -EPROTO, "line %d is no JSON: %s", e.line, e.text);
	else
		fail_set(f, -EPROTO, "it is no verification of version 1");
	return NULL;
}

/* A missing text is empty. */
static int claims_take(const json_t *o, const char *name, char *room, size_t size, struct fail *f)
{
	const json_t *v = json_object_get(o, name);
	const char *text = json_string_value(v);
	size_t len = json_string_length(v);

	if (!v) {
		*room = '\0';
		return 0;
	}
	if (!text || len >= size || strlen(text) != len)
		return fail_set(f, -EPROTO, "its '%s' is no text, or too long", name);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return fail_set(f, -EPROTO, "its '%s' holds control characters", name);
	memcpy(room, text, len + 1);
	return 0;
}

static int claims_take_int(const json_t *o, const char *name, int64_t *out, struct fail *f)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return fail_set(f, -EPROTO, "its '%s' is no number from 0", name);
	*out = json_integer_value(v);
	return 0;
}

static int claim_take_values(const json_t *o, struct claim *c, struct fail *f)
{
	int64_t runs = 0;
	int rc;

	if (!json_object_get(o, "median"))
		return 0;
	rc = claims_take_int(o, "median", &c->value, f);
	rc = rc ? rc : claims_take_int(o, "least", &c->least, f);
	rc = rc ? rc : claims_take_int(o, "most", &c->most, f);
	rc = rc ? rc : claims_take_int(o, "runs", &runs, f);
	rc = rc ? rc : claims_take(o, "unit", c->unit, sizeof c->unit, f);
	if (!rc && (c->least > c->value || c->value > c->most || runs < 1 || runs > 1000000))
		rc = fail_set(f, -EPROTO, "its median is not within its spread, or of no runs");
	c->runs = (int)runs;
	c->measured = !rc;
	return rc;
}

static int claim_take(const json_t *o, struct claims *out, struct fail *f)
{
	struct claim c = { .at = 0 };
	char word[16];
	size_t is = 0;
	int rc = claims_take(o, "check", c.check, sizeof c.check, f);

	rc = rc ? rc : claims_take(o, "result", word, sizeof word, f);
	rc = rc ? rc : claims_take_int(o, "at", &c.at, f);
	rc = rc ? rc : claim_take_values(o, &c, f);
	rc = rc ? rc : claims_take(o, "device", c.device, sizeof c.device, f);
	rc = rc ? rc : claims_take(o, "method", c.method, sizeof c.method, f);
	rc = rc ? rc : claims_take(o, "answer", c.answer, sizeof c.answer, f);
	rc = rc ? rc : claims_take(o, "text", c.text, sizeof c.text, f);
	rc = rc ? rc : claims_take(o, "mend", c.mend, sizeof c.mend, f);
	if (rc)
		return rc;
	while (is < sizeof claim_words / sizeof *claim_words && strcmp(claim_words[is], word) != 0)
		is++;
	if (is == sizeof claim_words / sizeof *claim_words || !*c.check)
		return fail_set(f, -EPROTO, "a check has no name, or its result is none of ok, failed, skipped");
	c.is = (enum claim_is)is;
	rc = claims_add(out, &c);
	return rc ? fail_set(f, -EPROTO, "it has too many checks") : 0;
}

int claims_read(const char *text, size_t len, struct claims *out, struct fail *f)
{
	json_t *o = claims_load(text, len, f);
	const json_t *list = json_object_get(o, "checks");
	struct claims c = { .count = 0 };
	int rc = o ? 0 : -EPROTO;

	rc = rc ? rc : claims_take(o, "agent", c.agent, sizeof c.agent, f);
	rc = rc ? rc : claims_take(o, "key", c.key, sizeof c.key, f);
	rc = rc ? rc : claims_take(o, "nonce", c.nonce, sizeof c.nonce, f);
	rc = rc ? rc : claims_take(o, "signature", c.signature, sizeof c.signature, f);
	rc = rc ? rc : claims_take_int(o, "at", &c.at, f);
	if (!rc && !json_is_array(list))
		rc = fail_set(f, -EPROTO, "it has no list of checks");
	for (size_t i = 0; !rc && i < json_array_size(list); i++)
		rc = claim_take(json_array_get(list, i), &c, f);
	json_decref(o);
	if (rc)
		claims_release(&c);
	else
		*out = c;
	return rc;
}

/* ---- The signature -------------------------------------------------------------------------- */

static bool claims_signed_by(const char *key, const char *signature, const struct buf *text)
{
	uint8_t public[PUBLIC_BYTES], bytes[SIGNED_BYTES];
	EVP_PKEY *p = NULL;
	EVP_MD_CTX *md = NULL;
	bool good = false;

	if (base64_size(signature) != SIGNED_BYTES || base64_read(signature, bytes, sizeof bytes) ||
		base64_size(key) != PUBLIC_BYTES || base64_read(key, public, sizeof public))
		return false;
	p = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, sizeof public);
	md = EVP_MD_CTX_new();
	if (p && md && EVP_DigestVerifyInit(md, NULL, NULL, NULL, p) == 1)
		good = EVP_DigestVerify(md, bytes, sizeof bytes, (const uint8_t *)text->data, text->len) == 1;
	EVP_MD_CTX_free(md);
	EVP_PKEY_free(p);
	return good;
}

int claims_check(const char *text, size_t len, const char *key, const char *nonce, struct fail *f)
{
	struct claims c;
	struct buf was;
	json_t *o;
	int rc = claims_read(text, len, &c, f);

	if (rc)
		return rc;
	o = claims_load(text, len, f);
	json_object_del(o, "signature");
	buf_init(&was, 2 * CLAIMS_BYTES);
	rc = buf_adds(&was, "nanopod-claims\n");
	rc = rc ? (json_decref(o), rc) : claims_canonical(o, &was);
	if (rc)
		rc = fail_set(f, rc, "out of memory");
	else if (!*c.signature || !*c.key)
		rc = fail_set(f, -EBADMSG, "nobody signed it: the machine had not joined a market");
	else if (key && strcmp(key, c.key) != 0)
		rc = fail_set(f, -EBADMSG, "it names the key '%s', not '%.60s'", c.key, key);
	else if (!claims_signed_by(c.key, c.signature, &was))
		rc = fail_set(f, -EBADMSG, "the signature is not of this text: somebody changed it");
	else if (nonce && strcmp(nonce, c.nonce) != 0)
		rc = fail_set(f, -EBADMSG, "it answers the nonce '%s', not '%.70s'", c.nonce, nonce);
	buf_release(&was);
	claims_release(&c);
	return rc;
}

/* ---- For people ----------------------------------------------------------------------------- */

int claim_text(const struct claim *c, struct buf *out)
{
	static const char *const words[] = { "ok", "FAILED", "skipped" };
	int rc = buf_addf(out, "%-8s %-16s ", words[c->is], c->check);

	if (!rc && c->measured)
		rc = buf_addf(out, "%" PRId64 " %s (%" PRId64 " to %" PRId64 " in %d runs)%s", c->value, c->unit,
			c->least, c->most, c->runs, *c->text ? "; " : "");
	rc = rc ? rc : buf_addf(out, "%s\n", c->text);
	if (!rc && *c->mend)
		rc = buf_addf(out, "%-8s %-16s to fix it: %s\n", "", "", c->mend);
	return rc;
}
