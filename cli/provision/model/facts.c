/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/facts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"

enum { KEY_BYTES = 100, HOST_BYTES = 253, LABEL_BYTES = 63, ADDRESS_BYTES = 64, NUMBER_DIGITS = 15 };

/* ---- One node -------------------------------------------------------------------------- */

static bool key_ok(const char *key, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((key[i] >= 'a' && key[i] <= 'z') || (key[i] >= '0' && key[i] <= '9') || key[i] == '_'))
			return false;
	return len > 0 && len <= KEY_BYTES;
}

static bool value_ok(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		/* Control characters above 127 are 0xc2 and 0x80 … 0x9f in UTF-8. */
		if (c < ' ' || c == 127 ||
			(c == 0xc2 && i + 1 < len && (unsigned char)value[i + 1] >= 0x80 &&
				(unsigned char)value[i + 1] < 0xa0))
			return false;
	}
	return true;
}

static bool digits_only(const char *value)
{
	size_t n = strspn(value, "0123456789");

	return n > 0 && n <= NUMBER_DIGITS && !value[n];
}

/* Scripts calculate with these facts and write them into files of other nodes. */
static int check_value(const char *key, const char *value, struct fail *f)
{
	static const char *const numbers[] = { "cpus", "sockets", "cores", "threads", "memory_mb", "swap_mb",
		"disk_free_mb", "mtu", "ssh_port", "gpu_count", "gpu_usable", "rdma_count", NULL };
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._+-:()[]/";

	for (const char *const *n = numbers; *n; n++)
		if (strcmp(key, *n) == 0 && !digits_only(value))
			return fail_set(f, -EPROTO, "the fact '%s' is not a number", key);
	if (strcmp(key, "cluster") == 0 && !stack_word(value))
		return fail_set(f, -EPROTO, "the fact 'cluster' is not the name of a cluster");
	if (strcmp(key, "hostkey") == 0 && !cluster_user_key(value))
		return fail_set(f, -EPROTO, "the fact 'hostkey' is no public key");
	if ((str_starts(key, "gpu_") && digits_only(key + 4)) || (str_starts(key, "rdma_") && digits_only(key + 5)))
		if (value[strspn(value, plain)])
			return fail_set(f, -EPROTO, "the fact '%s' is not the name of a device", key);
	return 0;
}

static int parse_line(const char *line, size_t len, size_t number, struct pairs *into, struct fail *f)
{
	const char *equals = memchr(line, '=', len);
	size_t key_len = equals ? (size_t)(equals - line) : 0;
	char key[KEY_BYTES + 1], value[FACTS_VALUE + 1];
	int rc;

	if (!equals || !key_ok(line, key_len))
		return fail_set(f, -EPROTO, "line %zu of its facts is not 'key=value'", number);
	memcpy(key, line, key_len);
	key[key_len] = '\0';
	len -= key_len + 1;
	if (len > FACTS_VALUE)
		return fail_set(f, -EPROTO, "the fact '%s' is longer than %d bytes", key, FACTS_VALUE);
	if (!value_ok(equals + 1, len))
		return fail_set(f, -EPROTO, "the fact '%s' has a control byte", key);
	memcpy(value, equals + 1, len);
	value[len] = '\0';
	rc = check_value(key, value, f);
	if (rc)
		return rc;
	if (into->count == FACTS_KEYS && !pairs_get(into, key))
		return fail_set(f, -EPROTO, "more than %d facts", FACTS_KEYS);
	pairs_set(into, key, value);
	return 0;
}

int facts_parse(const char *text, size_t len, struct facts *out, struct fail *f)
{
	struct pairs pairs = { 0 };
	const char *at = text, *end = text + len;
	size_t number = 0;
	int rc = 0;

	if (len > FACTS_BYTES)
		return fail_set(f, -EPROTO, "more than %d bytes of facts", FACTS_BYTES);
	while (at < end && !rc) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		number++;
		if (n)
			rc = parse_line(at, n, number, &pairs, f);
		at += n + 1;
	}
	if (rc) {
		pairs_release(&pairs);
		return rc;
	}
	pairs_release(&out->pairs);
	out->pairs = pairs;
	out->known = true;
	return 0;
}

void facts_release(struct facts *f)
{
	pairs_release(&f->pairs);
	free(f->why);
	*f = (struct facts){ 0 };
}

const char *facts_get(const struct facts *f, const char *key)
{
	return pairs_or(&f->pairs, key, "");
}

long facts_number(const struct facts *f, const char *key, long fallback)
{
	long n;

	return str_to_long(facts_get(f, key), LONG_MIN, LONG_MAX, &n) ? fallback : n;
}

/* ---- What is a name, and what an address ----------------------------------------------- */

bool facts_hostname(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

	if (!*text || strlen(text) > HOST_BYTES)
		return false;
	for (;;) {
		size_t len = strspn(text, letters);

		if (len == 0 || len > LABEL_BYTES || text[0] == '-' || text[len - 1] == '-' ||
			(text[len] && text[len] != '.'))
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

bool facts_address(const char *text)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF.:");

	return len > 1 && len <= ADDRESS_BYTES && !text[len];
}

/* ---- The table of all ------------------------------------------------------------------ */

static bool facts_wanted(const char *key, const char *const *keys)
{
	for (; keys && *keys; keys++)
		if (str_starts(key, *keys))
			return true;
	return false;
}

static int facts_add_roles(const struct cluster *c, size_t member, struct buf *out)
{
	size_t start = out->len;
	int rc = 0;

	for (size_t i = 0; i < c->use_count; i++) {
		const struct use *u = &c->uses[i];

		for (size_t k = 0; k < u->stack->role_count && !rc; k++)
			if (u->roles[member] >> k & 1)
				rc = buf_addf(out, "%s%s.%s", out->len > start ? "," : "", u->stack->name,
					u->stack->roles[k].name);
	}
	return rc || out->len > start ? rc : buf_addc(out, '-');
}

int facts_table(const struct cluster *c, const struct facts *all, const char *const *keys, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && !rc; i++) {
		const char *host, *address;

		if (!all[i].known)
			continue;
		host = facts_get(&all[i], "hostname");
		address = facts_get(&all[i], "address");
		rc = buf_addf(out, "%s\t%s\t%s\t", c->members[i], facts_hostname(host) ? host : "-",
			facts_address(address) ? address : "-");
		rc = rc ? rc : facts_add_roles(c, i, out);
		for (size_t k = 0; k < all[i].pairs.count && !rc; k++)
			if (facts_wanted(all[i].pairs.at[k].key, keys))
				rc = buf_addf(out, "\t%s=%s", all[i].pairs.at[k].key, all[i].pairs.at[k].value);
		rc = rc ? rc : buf_addc(out, '\n');
	}
	return rc;
}
