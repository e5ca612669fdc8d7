/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/keyline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base64.h"

/* The number of strings in the blob, including its own type. */
static const struct {
	const char *name;
	int strings;
} types[] = {
	{ "ssh-ed25519", 2 }, { "ssh-rsa", 3 },
	{ "ecdsa-sha2-nistp256", 3 }, { "ecdsa-sha2-nistp384", 3 }, { "ecdsa-sha2-nistp521", 3 },
	{ "sk-ssh-ed25519@openssh.com", 3 }, { "sk-ecdsa-sha2-nistp256@openssh.com", 4 },
};

struct word {
	const char *at;
	size_t len;
};

static bool keyline_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct word keyline_next_word(const char **at, const char *end)
{
	struct word w;

	while (*at < end && keyline_is_blank(**at))
		(*at)++;
	w.at = *at;
	while (*at < end && !keyline_is_blank(**at))
		(*at)++;
	w.len = (size_t)(*at - w.at);
	return w;
}

static int keyline_type_of(struct word w)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].name) == w.len && memcmp(types[i].name, w.at, w.len) == 0)
			return (int)i;
	return -1;
}

static bool keyline_has(const char *text, size_t len, const char *part)
{
	return memmem(text, len, part, strlen(part)) != NULL;
}

/* The first string must be the type, and the strings must end where the blob ends. */
static bool keyline_blob_is(const struct buf *blob, int type)
{
	size_t at = 0;

	for (int i = 0; i < types[type].strings; i++) {
		const unsigned char *p = (const unsigned char *)blob->data + at;
		size_t len;

		if (blob->len - at < 4)
			return false;
		len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		if (len > blob->len - at - 4 || !len)
			return false;
		if (i == 0 && (len != strlen(types[type].name) || memcmp(p + 4, types[type].name, len) != 0))
			return false;
		at += 4 + len;
	}
	return at == blob->len;
}

/* Explains why the line does not begin with a type. */
static int keyline_no_type(struct word first, const char *rest, const char *end, struct fail *f)
{
	while (rest < end)
		if (keyline_type_of(keyline_next_word(&rest, end)) >= 0)
			return fail_set(f, -EINVAL,
				"options before a key are not accepted: give only the key, as in its .pub file");
	if (first.len > 40 || !first.len)
		return fail_set(f, -EINVAL, "not a public key: one looks like 'ssh-ed25519 AAAA… name'");
	for (size_t i = 0; i < first.len; i++)
		if ((unsigned char)first.at[i] <= ' ' || (unsigned char)first.at[i] >= 0x7f)
			return fail_set(f, -EINVAL, "not a public key: one looks like 'ssh-ed25519 AAAA… name'");
	return fail_set(f, -EINVAL, "key type '%.*s' is not accepted: use ssh-ed25519", (int)first.len,
		first.at);
}

static int keyline_check_text(const char *text, size_t len, struct fail *f)
{
	if (len > KEYLINE_MAX)
		return fail_set(f, -EINVAL, "longer than %d characters", KEYLINE_MAX);
	if (keyline_has(text, len, "PRIVATE KEY"))
		return fail_set(f, -EINVAL,
			"this is a PRIVATE key: it must never leave your machine, and it just did: make a new one, "
			"and give the .pub file");
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return fail_set(f, -EINVAL,
				"it contains a newline or a control character: one key is one line");
	return 0;
}

int keyline_add(const char *text, size_t len, struct buf *out, struct fail *f)
{
	struct word kind, base64;
	const char *at = text, *end;
	struct buf blob;
	int type, rc;

	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || keyline_is_blank(text[len - 1])))
		len--;
	end = text + len;
	rc = keyline_check_text(text, len, f);
	if (rc)
		return rc;
	kind = keyline_next_word(&at, end);
	type = keyline_type_of(kind);
	if (type < 0)
		return keyline_no_type(kind, at, end, f);
	base64 = keyline_next_word(&at, end);
	buf_init(&blob, KEYLINE_MAX);
	if (base64_take(base64.at, base64.len, &blob) != 0 || !keyline_blob_is(&blob, type))
		rc = fail_set(f, -EINVAL, "the data after '%s' is not such a key", types[type].name);
	buf_release(&blob);
	if (rc)
		return rc;
	while (at < end && keyline_is_blank(*at))
		at++;
	rc = buf_reserve(out, kind.len + base64.len + (size_t)(end - at) + 4);
	rc = rc ? rc : buf_addf(out, "%s %.*s", types[type].name, (int)base64.len, base64.at);
	if (!rc && at < end)
		rc = buf_addf(out, " %.*s", (int)(end - at), at);
	rc = rc ? rc : buf_addc(out, '\n');
	return rc ? fail_set(f, rc, "there are too many keys") : 0;
}
