/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/passport/passport.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret.h"
#include "base/str.h"
#include "marketd/outward/outward.h"

enum { PASSPORT_KEY = 512, PASSPORT_ADDRESS = 64, PASSPORT_ANSWER = 512 * 1024, PASSPORT_REST = 900 };

struct passport {
	const struct passport_settings *set;
	struct outward *outward;
	char key[PASSPORT_KEY];
	char address[PASSPORT_ADDRESS];
	struct errand *errand; /* NULL: nothing is asked */
};

/* ---- Settings --------------------------------------------------------------------------- */

bool passport_scorer_valid(const char *text)
{
	return *text && strlen(text) <= 64 &&
		!text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")];
}

/* It goes into a header. */
static int passport_key(const char *path, char key[PASSPORT_KEY], struct fail *f)
{
	struct buf text;
	int rc = secret_read(&text, path, PASSPORT_KEY, f);
	size_t len = strcspn(buf_text(&text), "\r\n");

	for (size_t i = 0; !rc && i < len; i++)
		if (!isgraph((unsigned char)buf_text(&text)[i]))
			rc = fail_set(f, -EINVAL, "'%s' has no key of Human Passport's in its first line", path);
	if (!rc && (!len || len >= PASSPORT_KEY))
		rc = fail_set(f, -EINVAL, "'%s' has no key of Human Passport's in its first line", path);
	if (!rc) {
		memset(key, 0, PASSPORT_KEY);
		memcpy(key, buf_text(&text), len);
	}
	secret_wipe(&text);
	return rc;
}

int passport_reload(struct passport *p, struct fail *f)
{
	return passport_key(p->set->key_file, p->key, f);
}

int passport_new(struct passport **out, const struct passport_settings *set, struct outward *o, struct fail *f)
{
	struct passport *p = calloc(1, sizeof *p);
	int rc;

	if (!p)
		return fail_set(f, -ENOMEM, "out of memory");
	p->set = set;
	p->outward = o;
	rc = passport_reload(p, f);
	if (rc)
		passport_free(p);
	else
		*out = p;
	return rc;
}

void passport_free(struct passport *p)
{
	if (!p)
		return;
	errand_free(p->errand);
	explicit_bzero(p->key, sizeof p->key);
	free(p);
}

/* ---- Asking ----------------------------------------------------------------------------- */

int passport_ask(struct passport *p, const char *address, struct fail *why)
{
	char url[400], key[PASSPORT_KEY + 16];
	const char *headers[] = { key, "Accept: application/json", NULL };
	struct errand_call call = { .method = "GET",
		.url = url,
		.headers = headers,
		.timeout_ms = PASSPORT_WAIT_MS - 1000,
		.max = PASSPORT_ANSWER,
		.repeatable = true };
	int rc;

	errand_free(p->errand);
	p->errand = NULL;
	snprintf(p->address, sizeof p->address, "%s", address);
	snprintf(url, sizeof url, "%s/v2/stamps/%s/score/%s", p->set->url, p->set->scorer, address);
	snprintf(key, sizeof key, "X-API-KEY: %s", p->key);
	rc = errand_new(p->outward, &call, &p->errand, why);
	explicit_bzero(key, sizeof key);
	return rc;
}

/* Only so long as it says, and no longer than an hour. */
static int passport_rest(const struct errand_answer *a)
{
	long seconds;

	return str_to_long(a->retry_after, 1, 3600, &seconds) == 0 ? (int)seconds : PASSPORT_REST;
}

int passport_take(struct passport *p, struct score *out, int *rest_s, struct fail *why)
{
	const struct errand_answer *a = p->errand ? errand_look(p->errand) : NULL;
	int rc;

	*rest_s = 0;
	if (!a)
		return fail_set(why, -EINVAL, "nothing was asked");
	if (a->state == ERRAND_RUNNING)
		return -EAGAIN;
	if (a->state != ERRAND_DONE) {
		rc = fail_set(why, -ENODATA, "%s", a->why);
	} else if (a->status == 429) {
		*rest_s = passport_rest(a);
		rc = fail_set(why, -EBUSY, "it was asked too often (status 429)");
	} else if (a->status != 200) {
		rc = fail_set(why, -EIO, "it answers with status %d", a->status);
	} else {
		rc = score_read(buf_text(&a->body), a->body.len, p->address, out, why);
	}
	errand_free(p->errand);
	p->errand = NULL;
	return rc;
}
