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
	for (; *list; list += strcspn(list, ",") + 1)
		if (strcspn(list, ",") == len && memcmp(list, name, len) == 0)
			return true;
	return false;
}

int algorithms_prefer(struct algorithms *a, LIBSSH2_SESSION *session, enum pssh_algorithm kind, const char *list)
{
	struct buf b;
	int rc = a->supported[kind] ? 0 : algorithm_ask(a, session, kind);

	buf_init(&b, LIST_MAX);
	for (; *list && !rc; list += strcspn(list, ","), list += *list == ',') {
		size_t len = strcspn(list, ",");

		if (algorithm_has(a->supported[kind], list, len) &&
			buf_addf(&b, "%s%.*s", b.len ? "," : "", (int)len, list) != 0)
			rc = PSSH_ENOMEM;
	}
	if (!rc && !b.len)
		rc = PSSH_EALGORITHM;
	for (int i = 0; i < 2 && !rc && methods[kind][i] >= 0; i++)
		if (libssh2_session_method_pref(session, methods[kind][i], b.data) != 0)
			rc = PSSH_EALGORITHM;
	buf_release(&b);
	return rc;
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
