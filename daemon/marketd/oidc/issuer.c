/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/oidc/issuer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret.h"
#include "base/str.h"
#include "marketd/oidc/jwt.h"

#define ISSUER_PAGE "/.well-known/openid-configuration"

enum {
	FETCH_MS = 3500, /* the page and the keys, both within ISSUER_WAIT_MS */
	AFTER_FAILURE_MS = 3000,
	UNKNOWN_KEY_MS = 60000, /* between two fetches for keys that are unknown */
	FRESH_MS = 3600000,     /* older keys count only where newer ones cannot be fetched */
	PAGE_MAX = 64 * 1024,
	KEYS_BYTES = 256 * 1024,
	SECRET_BYTES_MOST = 1024,
	SIGN_IN_AGE = 600, /* seconds: an older token is of an earlier sign-in */
};

struct issuer {
	const struct issuer_settings *set;
	struct outward *outward;
	char *secret;                             /* of the page; NULL: none */
	json_t *page, *keys;                      /* what it published; NULL: not known */
	json_t *coming;                           /* its page, while its keys are fetched */
	struct errand *errand;                    /* under way: for the page, or, with `coming`, for the keys */
	int64_t began_ms;                         /* `errand`, or the one for `coming` */
	int64_t failed_ms, fetched_ms, rolled_ms; /* clock_ms(); 0: never; fetched: when that began */
	struct fail why;                          /* of failed_ms */
};

/* ---- What it may be --------------------------------------------------------------------- */

static bool issuer_local(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_starts(host, names[i]) && strchr(":/", host[strlen(names[i])])) /* '\0' too */
			return true;
	return false;
}

bool issuer_url_valid(const char *url)
{
	if (strpbrk(url, " ?#\t\r\n") || strlen(url) > 120)
		return false;
	return (str_starts(url, "https://") && url[8]) || (str_starts(url, "http://") && issuer_local(url + 7));
}

/* No secret goes out in plain text because a page said so. */
static bool issuer_safe(const struct issuer *i, const char *url)
{
	return url && strlen(url) < 1000 &&
		(str_starts(url, "https://") ||
			(str_starts(url, "http://") && str_starts(i->set->url, "http://") && issuer_local(url + 7)));
}

static bool issuer_page_fits(const struct issuer *i, const json_t *page, struct fail *why)
{
	const char *is = json_string_value(json_object_get(page, "issuer"));

	if (!is || strcmp(is, i->set->url) != 0)
		return fail_set(why, -EPROTO,
			       "the issuer calls itself '%.120s', not '%s'; give --oidc-issuer its own name",
			       is ? is : "?", i->set->url),
		       false;
	if (!issuer_safe(i, json_string_value(json_object_get(page, "jwks_uri"))))
		return fail_set(why, -EPROTO, "the issuer '%s' names no safe place for its keys", i->set->url), false;
	return true;
}

/* ---- On disk ---------------------------------------------------------------------------- */

static void issuer_recall(struct issuer *i)
{
	json_t *kept = json_load_file(i->set->kept, JSON_REJECT_DUPLICATES, NULL);
	json_t *page = json_object_get(kept, "page"), *keys = json_object_get(kept, "keys");
	struct fail ignored;

	if (json_is_object(page) && json_is_object(keys) && issuer_page_fits(i, page, &ignored)) {
		i->page = json_incref(page);
		i->keys = json_incref(keys);
	}
	json_decref(kept);
}

/* A loss does no harm: it is fetched again. */
static void issuer_remember(const struct issuer *i)
{
	json_t *o = json_pack("{s:O, s:O}", "page", i->page, "keys", i->keys);
	char *beside;

	if (asprintf(&beside, "%s.new", i->set->kept) >= 0) {
		if (o && json_dump_file(o, beside, JSON_INDENT(1)) == 0)
			rename(beside, i->set->kept);
		free(beside);
	}
	json_decref(o);
}

/* ---- Fetching --------------------------------------------------------------------------- */

static int issuer_fetch(struct issuer *i, const char *url, size_t max)
{
	const char *headers[] = { "Accept: application/json", NULL };
	struct errand_call call = { .method = "GET",
		.url = url,
		.headers = headers,
		.ca = i->set->ca,
		.timeout_ms = FETCH_MS,
		.max = max,
		.repeatable = true };

	return errand_new(i->outward, &call, &i->errand, &i->why);
}

static int issuer_begin(struct issuer *i, int64_t now_ms)
{
	char *url;
	size_t len = strlen(i->set->url);
	int rc;

	if (i->errand)
		return 0;
	if (asprintf(&url, "%.*s" ISSUER_PAGE, (int)(len - (i->set->url[len - 1] == '/')), i->set->url) < 0)
		return -ENOMEM;
	i->began_ms = now_ms;
	rc = issuer_fetch(i, url, PAGE_MAX);
	if (rc)
		i->failed_ms = now_ms;
	free(url);
	return rc;
}

static void issuer_failed(struct issuer *i, int64_t now_ms)
{
	json_decref(i->coming);
	i->coming = NULL;
	i->failed_ms = now_ms;
}

/* The errand has ended: its answer is the page, or the keys. */
static void issuer_take(struct issuer *i, int64_t now_ms)
{
	const struct errand_answer *a = errand_look(i->errand);
	json_t *got = NULL;

	if (a->state == ERRAND_FAILED)
		fail_set(&i->why, -EIO, "the issuer does not answer: %s", a->why);
	else if (a->status != 200)
		fail_set(&i->why, -EIO, "the issuer '%s' answers with status %d", i->set->url, a->status);
	else if (!(got = json_loadb(buf_text(&a->body), a->body.len, JSON_REJECT_DUPLICATES, NULL)))
		fail_set(&i->why, -EPROTO, "the issuer '%s' answers with what is not JSON", i->set->url);
	errand_free(i->errand);
	i->errand = NULL;
	if (got && !i->coming && issuer_page_fits(i, got, &i->why)) {
		i->coming = got;
		if (issuer_fetch(i, json_string_value(json_object_get(got, "jwks_uri")), KEYS_BYTES) != 0)
			issuer_failed(i, now_ms);
		return;
	}
	if (!got || !i->coming || !json_is_array(json_object_get(got, "keys"))) {
		if (got && i->coming)
			fail_set(&i->why, -EPROTO, "the issuer '%s' publishes no keys", i->set->url);
		json_decref(got);
		issuer_failed(i, now_ms);
		return;
	}
	json_decref(i->page);
	json_decref(i->keys);
	i->page = i->coming;
	i->keys = got;
	i->coming = NULL;
	i->failed_ms = 0;
	i->fetched_ms = i->began_ms;
	issuer_remember(i);
}

void issuer_turn(struct issuer *i, int64_t now_ms)
{
	if (i->errand && errand_look(i->errand)->state != ERRAND_RUNNING)
		issuer_take(i, now_ms);
}

static bool issuer_may_try(const struct issuer *i, int64_t now_ms)
{
	return !i->failed_ms || now_ms - i->failed_ms >= AFTER_FAILURE_MS;
}

int issuer_ready(struct issuer *i, int64_t now_ms, struct fail *why)
{
	bool old;

	issuer_turn(i, now_ms);
	old = !i->fetched_ms || now_ms - i->fetched_ms >= FRESH_MS;
	if (old && !i->errand && issuer_may_try(i, now_ms))
		issuer_begin(i, now_ms);
	if (i->keys && !(old && i->errand))
		return 0;
	return i->errand ? -EAGAIN : fail_set(why, i->why.code ? i->why.code : -EIO, "%s", i->why.text);
}

static int issuer_check_for(struct issuer *i, const char *token, const char *client, const char *nonce, int64_t now,
	int64_t now_ms, json_t **claims, struct fail *why)
{
	struct jwt_expected x = { .issuer = i->set->url,
		.audience = client,
		.nonce = nonce,
		.now = now,
		.age = SIGN_IN_AGE };
	int rc = jwt_check(token, i->keys, &x, claims, why);

	if (rc != -ENOKEY)
		return rc;
	if (i->errand)
		return -EAGAIN;
	if ((i->rolled_ms && now_ms - i->rolled_ms < UNKNOWN_KEY_MS) || !issuer_may_try(i, now_ms))
		return rc;
	i->rolled_ms = now_ms;
	return issuer_begin(i, now_ms) == 0 ? -EAGAIN : rc;
}

int issuer_check(struct issuer *i, const char *token, const char *nonce, int64_t now, int64_t now_ms, json_t **claims,
	struct fail *why)
{
	return issuer_check_for(i, token, nonce ? issuer_page_client(i) : i->set->client, nonce, now, now_ms, claims,
		why);
}

int issuer_check_again(struct issuer *i, const char *token, int64_t now, int64_t now_ms, json_t **claims,
	struct fail *why)
{
	return issuer_check_for(i, token, issuer_page_client(i), NULL, now, now_ms, claims, why);
}

const json_t *issuer_says(const struct issuer *i, const char *name)
{
	return json_object_get(i->page, name);
}

const char *issuer_endpoint(const struct issuer *i, const char *name)
{
	const char *url = json_string_value(issuer_says(i, name));

	return issuer_safe(i, url) ? url : NULL;
}

/* ---- The whole -------------------------------------------------------------------------- */

/* One line. */
static int issuer_read_secret(struct issuer *i, struct fail *f)
{
	const char *file = i->set->secret;
	struct buf text;
	int rc = secret_read(&text, file, SECRET_BYTES_MOST, f);

	if (rc == 0 && strcspn(buf_text(&text), "\r\n") == 0)
		rc = fail_set(f, -EINVAL, "no secret in '%s'; its first line is the secret", file);
	else if (rc == 0 && !(i->secret = strndup(buf_text(&text), strcspn(buf_text(&text), "\r\n"))))
		rc = fail_set(f, -ENOMEM, "out of memory");
	secret_wipe(&text);
	return rc;
}

int issuer_new(struct issuer **out, const struct issuer_settings *set, struct outward *o, struct fail *f)
{
	struct issuer *i = calloc(1, sizeof *i);
	int rc;

	if (!i)
		return fail_set(f, -ENOMEM, "out of memory");
	i->set = set;
	i->outward = o;
	rc = set->secret ? issuer_read_secret(i, f) : 0;
	if (rc) {
		issuer_free(i);
		return rc;
	}
	issuer_recall(i);
	*out = i;
	return 0;
}

void issuer_free(struct issuer *i)
{
	if (!i)
		return;
	errand_free(i->errand);
	if (i->secret)
		explicit_bzero(i->secret, strlen(i->secret));
	free(i->secret);
	json_decref(i->page);
	json_decref(i->keys);
	json_decref(i->coming);
	free(i);
}

const struct issuer_settings *issuer_settings(const struct issuer *i)
{
	return i->set;
}

const char *issuer_page_client(const struct issuer *i)
{
	return i->set->page ? i->set->page : i->set->client;
}

const char *issuer_secret(const struct issuer *i)
{
	return i->secret;
}
