/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/algorithm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { LIST_MAX = 16384 };

void algorithms_release(struct algorithms *a)
{
	for (int i = 0; i < PSSH_ALGS; i++) {
		free(a->supported[i]);
		a->supported[i] = NULL;
	}
}

static const int methods[PSSH_ALGS][2] = {
	[PSSH_ALG_KEX] = { LIBSSH2_METHOD_KEX, -1 },
	[PSSH_ALG_HOSTKEY] = { LIBSSH2_METHOD_HOSTKEY, -1 },
	[PSSH_ALG_CIPHER] = { LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC },
	[PSSH_ALG_MAC] = { LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC },
};

static int algorithm_ask(struct algorithms *a, LIBSSH2_SESSION *session, enum pssh_algorithm kind)
{
	const char **names = NULL;
	int n = libssh2_session_supported_algs(session, methods[kind][0], &names), rc = 0;
	struct buf b;

	buf_init(&b, LIST_MAX);
	for (int i = 0; i < n && !rc; i++)
		rc = buf_addf(&b, "%s,", names[i]);
	if (n > 0)
		libssh2_free(session, (void *)names);
	a->supported[kind] = rc || n <= 0 ? NULL : buf_steal(&b);
	buf_release(&b);
	return a->supported[kind] ? 0 : PSSH_ENOMEM;
}

static bool algorithm_has(const char *list, const char *name, size_t len)
{
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && memcmp(list, name, len) == 0)
			return true;
	return false;
}

/* Appends those of `list` that this libssh2 has. */
static int algorithm_filter(struct algorithms *a, LIBSSH2_SESSION *session, enum pssh_algorithm kind, const char *list,
	struct buf *out)
{
	int rc = a->supported[kind] ? 0 : algorithm_ask(a, session, kind);

	for (; *list && !rc; list += strcspn(list, ","), list += *list == ',') {
		size_t len = strcspn(list, ",");

		if (algorithm_has(a->supported[kind], list, len) &&
			buf_addf(out, "%s%.*s", out->len ? "," : "", (int)len, list) != 0)
			rc = PSSH_ENOMEM;
	}
	return rc;
}

int algorithms_prefer(struct algorithms *a, LIBSSH2_SESSION *session, enum pssh_algorithm kind, const char *list)
{
	struct buf b;
	int rc;

	buf_init(&b, LIST_MAX);
	rc = algorithm_filter(a, session, kind, list, &b);
	if (!rc && !b.len)
		rc = PSSH_EALGORITHM;
	for (int i = 0; i < 2 && !rc && methods[kind][i] >= 0; i++)
		if (libssh2_session_method_pref(session, methods[kind][i], b.data) != 0)
			rc = PSSH_EALGORITHM;
	buf_release(&b);
	return rc;
}

/* ---- Nothing in common ---- */

static const struct {
	const char *name, *keyword; /* for a person; in ssh_config */
} kinds[PSSH_ALGS] = {
	[PSSH_ALG_KEX] = { "key exchange", "KexAlgorithms" },
	[PSSH_ALG_HOSTKEY] = { "host key algorithm", "HostKeyAlgorithms" },
	[PSSH_ALG_CIPHER] = { "cipher", "Ciphers" },
	[PSSH_ALG_MAC] = { "MAC", "MACs" },
};

/* What newer versions of libssh2 have. */
static const struct {
	const char *pattern, *version;
	int number;
} newer[] = {
	{ "rsa-sha2-256", "1.11", 0x010b00 },
	{ "rsa-sha2-512", "1.11", 0x010b00 },
	{ "aes*-gcm@openssh.com", "1.11", 0x010b00 },
	{ "hmac-sha2-*-etm@openssh.com", "1.11", 0x010b00 },
	{ "chacha20-poly1305@openssh.com", "1.11.1", 0x010b01 },
};

/* The next name of a list, without those that only announce a feature. False at the end. */
static bool algorithm_next(const char **list, char name[128])
{
	while (**list) {
		size_t len = strcspn(*list, ",");

		snprintf(name, 128, "%.*s", (int)len, *list);
		*list += len + ((*list)[len] == ',');
		if (*name && strncmp(name, "ext-info-", 9) != 0 && strncmp(name, "kex-strict-", 11) != 0)
			return true;
	}
	return false;
}

/* The one that both sides use: the first of ours that is theirs too. */
static bool algorithm_agree(const char *ours, const char *theirs, char name[128])
{
	while (algorithm_next(&ours, name))
		if (algorithm_has(theirs, name, strlen(name)))
			return true;
	return false;
}

/* As many names as fit. */
static void algorithm_show(struct buf *out, const char *list, size_t most)
{
	size_t begin = out->len;
	char name[128];

	while (algorithm_next(&list, name)) {
		if (out->len > begin && out->len - begin + strlen(name) > most) {
			buf_adds(out, ",…");
			return;
		}
		buf_addf(out, "%s%s", out->len > begin ? "," : "", name);
	}
	if (out->len == begin)
		buf_adds(out, "nothing");
}

/* What the person can do, if anything but another program helps. */
static void algorithm_way_out(struct buf *out, enum pssh_algorithm kind, const char *supported, const char *theirs)
{
	char name[128];

	for (const char *at = theirs; algorithm_next(&at, name);)
		if (algorithm_has(supported, name, strlen(name))) {
			buf_addf(out, "; '%s +%s' in ssh_config permits that", kinds[kind].keyword, name);
			return;
		}
	for (const char *at = theirs; algorithm_next(&at, name);)
		for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
			if (str_glob(newer[i].pattern, name) && !libssh2_version(newer[i].number)) {
				buf_addf(out, "; libssh2 %s has %s", newer[i].version, name);
				return;
			}
}

int algorithms_missing(struct algorithms *a, LIBSSH2_SESSION *session, const char *const ours[PSSH_ALGS],
	const struct kexinit *theirs, const char *who, struct buf *out)
{
	const char *lists[PSSH_ALGS] = { NULL };
	char name[128] = "";
	struct buf own[PSSH_ALGS];
	size_t missing = 0;
	bool sealed = false; /* by a cipher that needs no MAC */
	int rc = 0;

	for (int i = 0; i < PSSH_ALGS; i++) {
		buf_init(&own[i], LIST_MAX);
		rc = rc ? rc : algorithm_filter(a, session, (enum pssh_algorithm)i, ours[i], &own[i]);
		for (int n = 0; n < 2 && !rc && !lists[i] && !(sealed && i == PSSH_ALG_MAC); n++)
			if (!algorithm_agree(buf_text(&own[i]), theirs->lists[i][n], name))
				lists[i] = theirs->lists[i][n];
		if (i == PSSH_ALG_CIPHER)
			sealed = !lists[i] && (strstr(name, "-gcm@") || strstr(name, "-poly1305@"));
		missing += lists[i] != NULL;
	}
	for (int i = 0; i < PSSH_ALGS && !rc; i++) {
		if (!lists[i])
			continue;
		buf_addf(out, out->len ? "; no %s either: it offers " : "no %s in common with %s: it offers ",
			kinds[i].name, who);
		algorithm_show(out, lists[i], missing > 1 ? 40 : 100);
		buf_addf(out, ", libssh2 %s here offers ", libssh2_version(0));
		algorithm_show(out, buf_text(&own[i]), missing > 1 ? 40 : 100);
		algorithm_way_out(out, (enum pssh_algorithm)i, a->supported[i], lists[i]);
	}
	for (int i = 0; i < PSSH_ALGS; i++)
		buf_release(&own[i]);
	return rc;
}

const char *algorithms_agreed(LIBSSH2_SESSION *session, enum pssh_algorithm kind)
{
	const char *name = libssh2_session_methods(session, methods[kind][0]);

	return name ? name : "";
}

bool algorithms_quantum_safe(const char *list, char name[128])
{
	static const char *const patterns[] = { "mlkem*", "sntrup*", "*kyber*" };

	while (algorithm_next(&list, name))
		for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
			if (str_glob(patterns[i], name))
				return true;
	return false;
}

char *algorithms_apply(const char *base, const char *raw)
{
	struct buf out;
	char *text;

	if (!raw || !strchr("+-^", *raw))
		return strdup(raw ? raw : base);
	buf_init(&out, LIST_MAX);
	if (*raw == '+')
		buf_addf(&out, "%s,%s", base, raw + 1);
	else if (*raw == '^')
		buf_addf(&out, "%s,%s", raw + 1, base);
	for (const char *at = base; *raw == '-' && *at; at += strcspn(at, ","), at += *at == ',') {
		char name[128];
		size_t len = strcspn(at, ",");
		bool out_of_it = false;

		snprintf(name, sizeof name, "%.*s", (int)len, at);
		for (const char *r = raw + 1; *r; r += strcspn(r, ","), r += *r == ',') {
			char pattern[128];

			snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(r, ","), r);
			out_of_it = out_of_it || str_glob(pattern, name);
		}
		if (!out_of_it)
			buf_addf(&out, "%s%s", out.len ? "," : "", name);
	}
	text = buf_steal(&out);
	buf_release(&out);
	return text;
}
