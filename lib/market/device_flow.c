/* SPDX-License-Identifier: Apache-2.0 */
#include "market/device_flow.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/str.h"
#include "market/client.h"
#include "market/wire.h"

#define DEVICE_GRANT "urn:ietf:params:oauth:grant-type:device_code"

enum {
	INTERVAL = 5, /* seconds, where the issuer names none, and what "slow_down" adds */
	INTERVAL_MOST = 60,
	LIFE = 600, /* seconds, where the issuer does not say how long its code lasts */
	LIFE_MOST = 3600,
	ANSWER_MS = 15000,
	VERIFIER_BYTES = 32,
	VERIFIER = 44,
};

struct device {
	struct device_setup set;
	struct doc *page, *code, *token; /* what the issuer answered */
	struct device_code shown;
	char verifier[VERIFIER], challenge[VERIFIER];
	int64_t interval;
};

/* ---- Asking the issuer ------------------------------------------------------------------- */

static bool device_local(const char *url)
{
	return str_starts(url, "http://127.0.0.1:") || str_starts(url, "http://localhost:") ||
		str_starts(url, "http://[::1]:");
}

static bool device_safe(const struct device *d, const char *url)
{
	return url && (str_starts(url, "https://") || (device_local(url) && device_local(d->set.issuer)));
}

/* What a person reads: no control characters of somebody else's. */
static bool device_plain(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return text != NULL;
}

/* Sends a form, or nothing; *out is the answer's JSON whatever its status, which comes back. */
static int device_ask(struct device *d, const char *url, const char *form, struct doc **out, struct fail *f)
{
	const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	struct client_setup setup = { .ca = d->set.ca, .stop_fd = d->set.stop_fd, .whole_ms = ANSWER_MS };
	struct client_call call = { .method = form ? "POST" : "GET",
		.path = path ? path : "/",
		.body = form,
		.type = "application/x-www-form-urlencoded",
		.once = form != NULL };
	char *origin = strndup(url, path ? (size_t)(path - url) : strlen(url));
	struct client *c = NULL;
	struct client_answer a;
	int rc;

	client_answer_init(&a);
	setup.url = origin;
	rc = origin ? client_new(&setup, &c, f) : fail_set(f, -ENOMEM, "out of memory");
	rc = rc ? rc : client_send(c, &call, &a, f);
	if (a.status >= 300 && a.status < 400) {
		rc = fail_set(f, CLIENT_BAD_ANSWER, "'%.200s' redirects; the issuer is not set up as it says", url);
	} else if (a.status >= 500) {
		rc = fail_set(f, CLIENT_UNREACHABLE, "'%.200s' answered with status %d; try again later", url,
			a.status);
	} else if (a.status) {
		rc = doc_parse(buf_text(&a.body), a.body.len, out, NULL) == 0
			? a.status
			: fail_set(f, CLIENT_BAD_ANSWER, "'%.200s' answered with what is not JSON (status %d)", url,
				  a.status);
	}
	client_answer_release(&a);
	client_free(c);
	free(origin);
	return rc;
}

static int device_discover(struct device *d, struct fail *f)
{
	size_t len = strlen(d->set.issuer);
	const char *is;
	char *url;
	int rc;

	if (!len || !device_safe(d, d->set.issuer))
		return fail_set(f, CLIENT_BAD_SETUP,
			"the market names '%.200s' as its issuer, which is no https:// URL", d->set.issuer);
	if (asprintf(&url, "%.*s/.well-known/openid-configuration", (int)(len - (d->set.issuer[len - 1] == '/')),
		    d->set.issuer) < 0)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = device_ask(d, url, NULL, &d->page, f);
	free(url);
	if (rc < 0)
		return rc;
	is = doc_text(d->page, "issuer");
	if (rc != 200 || !is || strcmp(is, d->set.issuer) != 0)
		return fail_set(f, CLIENT_BAD_ANSWER, "'%.200s' does not say of itself that it is that issuer",
			d->set.issuer);
	if (!device_safe(d, doc_text(d->page, "device_authorization_endpoint")) ||
		!device_safe(d, doc_text(d->page, "token_endpoint")))
		return fail_set(f, CLIENT_BAD_ANSWER,
			"the issuer '%.200s' has no sign-in for terminals; sign in on the market's page, or use a "
			"token",
			d->set.issuer);
	return 0;
}

/* ---- The code ---------------------------------------------------------------------------- */

static bool device_base64url(const unsigned char bytes[VERIFIER_BYTES], char room[VERIFIER])
{
	unsigned char text[VERIFIER + 1];

	if (EVP_EncodeBlock(text, bytes, VERIFIER_BYTES) != VERIFIER)
		return false;
	for (int i = 0; i < VERIFIER - 1; i++)
		room[i] = (char)(text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i]);
	room[VERIFIER - 1] = '\0'; /* instead of the padding */
	return true;
}

static bool device_prove(struct device *d)
{
	unsigned char bytes[VERIFIER_BYTES];

	return getrandom(bytes, sizeof bytes, 0) == sizeof bytes && device_base64url(bytes, d->verifier) &&
		EVP_Digest(d->verifier, VERIFIER - 1, bytes, NULL, EVP_sha256(), NULL) == 1 &&
		device_base64url(bytes, d->challenge);
}

/* "the issuer refused: …", in its own words where they can be shown. */
static int device_refused(const struct doc *answer, struct fail *f)
{
	const char *text = doc_text(answer, "error_description");

	text = device_plain(text) ? text : doc_text(answer, "error");
	return fail_set(f, REASON_FORBIDDEN, "the issuer refused the sign-in: %.200s",
		device_plain(text) ? text : "it does not say why");
}

static int64_t device_number(const struct doc *answer, const char *name, int64_t fallback, int64_t most)
{
	int64_t n;

	return !doc_number(answer, name, &n) || n < 1 ? fallback : n < most ? n : most;
}

static int device_ask_code(struct device *d, struct fail *f)
{
	const char *whole;
	struct buf form;
	int rc = 0;

	buf_init(&form, 16384);
	rc |= buf_adds(&form, "client_id=") | client_quote(&form, d->set.client);
	rc |= buf_adds(&form, "&scope=") | client_quote(&form, d->set.scope);
	rc |= buf_addf(&form, "&code_challenge=%s&code_challenge_method=S256", d->challenge);
	rc = rc ? fail_set(f, -ENOMEM, "out of memory")
		: device_ask(d, doc_text(d->page, "device_authorization_endpoint"), buf_text(&form), &d->code, f);
	buf_release(&form);
	if (rc < 0)
		return rc;
	if (rc != 200)
		return device_refused(d->code, f);
	whole = doc_text(d->code, "verification_uri_complete");
	d->shown = (struct device_code){ .code = doc_text(d->code, "user_code"),
		.page = doc_text(d->code, "verification_uri"),
		.whole = device_plain(whole) ? whole : NULL,
		.seconds = device_number(d->code, "expires_in", LIFE, LIFE_MOST) };
	d->interval = device_number(d->code, "interval", INTERVAL, INTERVAL_MOST);
	if (!device_plain(d->shown.code) || !device_plain(d->shown.page) || !doc_text(d->code, "device_code"))
		return fail_set(f, CLIENT_BAD_ANSWER, "the issuer '%.200s' gave no code", d->set.issuer);
	return 0;
}

int device_begin(const struct device_setup *set, struct device **out, struct fail *f)
{
	struct device *d = calloc(1, sizeof *d);
	int rc;

	if (!d)
		return fail_set(f, -ENOMEM, "out of memory");
	d->set = *set;
	rc = device_prove(d) ? 0 : fail_set(f, CLIENT_NO_HTTP, "the kernel gave no random bytes");
	rc = rc ? rc : device_discover(d, f);
	rc = rc ? rc : device_ask_code(d, f);
	if (rc)
		device_free(d);
	else
		*out = d;
	return rc;
}

void device_free(struct device *d)
{
	if (!d)
		return;
	doc_free(d->page);
	doc_free(d->code);
	doc_free(d->token);
	explicit_bzero(d->verifier, sizeof d->verifier);
	free(d);
}

const struct device_code *device_code(const struct device *d)
{
	return &d->shown;
}

/* ---- Waiting ----------------------------------------------------------------------------- */

static int device_form(const struct device *d, struct buf *form)
{
	int rc = 0;

	rc |= buf_adds(form, "grant_type=") | client_quote(form, DEVICE_GRANT);
	rc |= buf_adds(form, "&device_code=") | client_quote(form, doc_text(d->code, "device_code"));
	rc |= buf_adds(form, "&client_id=") | client_quote(form, d->set.client);
	rc |= buf_addf(form, "&code_verifier=%s", d->verifier);
	return rc;
}

int device_poll(struct device *d, const char **id_token, int64_t *wait_ms, struct fail *f)
{
	const char *error;
	struct buf form;
	int rc;

	buf_init(&form, 16384);
	doc_free(d->token);
	d->token = NULL;
	rc = device_form(d, &form) ? fail_set(f, -ENOMEM, "out of memory")
				   : device_ask(d, doc_text(d->page, "token_endpoint"), buf_text(&form), &d->token, f);
	buf_release(&form);
	*wait_ms = 1000 * d->interval;
	if (rc == CLIENT_UNREACHABLE || rc == CLIENT_LOST)
		return -EAGAIN; /* it may come back before the code is over */
	if (rc < 0)
		return rc;
	*id_token = doc_text(d->token, "id_token");
	if (rc == 200)
		return *id_token ? 0 : fail_set(f, CLIENT_BAD_ANSWER, "the issuer does not say who signed in");
	error = doc_text(d->token, "error");
	if (error && strcmp(error, "slow_down") == 0)
		d->interval = d->interval + INTERVAL < INTERVAL_MOST ? d->interval + INTERVAL : INTERVAL_MOST;
	else if (error && strcmp(error, "expired_token") == 0)
		return fail_set(f, REASON_FORBIDDEN, "the code is over; run 'nanopod login' again");
	else if (!error || strcmp(error, "authorization_pending") != 0)
		return device_refused(d->token, f);
	*wait_ms = 1000 * d->interval;
	return -EAGAIN;
}
