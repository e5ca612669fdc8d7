/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/oidc/codes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/client.h"

enum {
	CODES_MAX = 24, /* under way at once: a part of all errands, so that a policy server is still heard */
	CODES_OF_ADDRESS = 4,
	CODES_REQUEST = 32,
	REDEEM_MS = 3500,
	RENEW_MS = 30000, /* nobody waits, and a refresh token that is replaced by one that is not heard is lost */
	REDEEM_KEPT_MS = 2 * ISSUER_WAIT_MS, /* its request is gone */
	REDEEM_BYTES = 128 * 1024,
	CODES_FORM = 16 * 1024,
};

struct code {
	char request[CODES_REQUEST]; /* "": free */
	uint64_t address;
	struct errand *errand;
	struct code_renewed got;
	int64_t until;
};

struct codes {
	struct issuer *issuer;
	struct outward *outward;
	struct code list[CODES_MAX];
};

int codes_new(struct codes **out, struct issuer *i, struct outward *o)
{
	struct codes *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->issuer = i;
	c->outward = o;
	*out = c;
	return 0;
}

static void codes_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void codes_renewed_release(struct code_renewed *r)
{
	codes_wipe(r->id_token);
	codes_wipe(r->refresh);
	*r = (struct code_renewed){ 0 };
}

static void codes_clear(struct code *x)
{
	errand_free(x->errand);
	codes_renewed_release(&x->got);
	*x = (struct code){ 0 };
}

void codes_free(struct codes *c)
{
	if (!c)
		return;
	for (int i = 0; i < CODES_MAX; i++)
		codes_clear(&c->list[i]);
	free(c);
}

static struct code *codes_find(struct codes *c, const char *request)
{
	for (int i = 0; i < CODES_MAX; i++)
		if (strcmp(c->list[i].request, request) == 0)
			return &c->list[i];
	return NULL;
}

void codes_forget(struct codes *c, const char *request)
{
	struct code *x = codes_find(c, request);

	if (x)
		codes_clear(x);
}

/* ---- The page ---------------------------------------------------------------------------- */

static int codes_put(struct buf *b, const char *name, const char *value)
{
	return buf_addf(b, "%s=", name) || client_quote(b, value) ? -ENOMEM : 0;
}

int codes_page(const struct codes *c, const struct code_asked *a, struct buf *url, struct fail *why)
{
	const char *page = issuer_endpoint(c->issuer, "authorization_endpoint");
	int rc = 0;

	if (!page)
		return fail_set(why, -ENOTSUP, "the issuer names no page where people sign in");
	rc |= buf_addf(url, "%s%cresponse_type=code&code_challenge_method=S256&", page, strchr(page, '?') ? '&' : '?');
	rc |= codes_put(url, "client_id", issuer_page_client(c->issuer));
	rc |= codes_put(url, "&redirect_uri", a->redirect) | codes_put(url, "&scope", a->scope);
	rc |= codes_put(url, "&state", a->state) | codes_put(url, "&nonce", a->nonce);
	rc |= codes_put(url, "&code_challenge", a->challenge);
	return rc ? fail_set(why, -ENOMEM, "out of memory") : 0;
}

/* ---- Redeeming --------------------------------------------------------------------------- */

/* Whether the client proves itself in a header, which is the default of OpenID Connect, or in the form. */
static bool codes_in_header(const struct codes *c)
{
	const json_t *ways = issuer_says(c->issuer, "token_endpoint_auth_methods_supported"), *way;
	bool form = false;
	size_t i;

	json_array_foreach(ways, i, way)
	{
		if (json_is_string(way) && strcmp(json_string_value(way), "client_secret_basic") == 0)
			return true;
		form = form || (json_is_string(way) && strcmp(json_string_value(way), "client_secret_post") == 0);
	}
	return !form;
}

/* RFC 6749, 2.3.1: both are quoted before they are put together. */
static int codes_put_header(struct buf *header, const char *client, const char *secret)
{
	struct buf both;
	int rc = 0;

	buf_init(&both, CODES_FORM);
	rc |= client_quote(&both, client) | buf_addc(&both, ':') | client_quote(&both, secret);
	rc |= buf_adds(header, "Authorization: Basic ");
	rc = rc ? rc : buf_add_base64(header, buf_text(&both), both.len);
	if (both.data)
		explicit_bzero(both.data, both.cap);
	buf_release(&both);
	return rc;
}

static int codes_put_form(const struct codes *c, const struct code_given *g, const char *refresh, struct buf *form,
	struct buf *header)
{
	const char *client = issuer_page_client(c->issuer), *secret = issuer_secret(c->issuer);
	int rc = 0;

	if (g) {
		rc |= codes_put(form, "grant_type", "authorization_code") | codes_put(form, "&code", g->code);
		rc |= codes_put(form, "&redirect_uri", g->redirect) | codes_put(form, "&code_verifier", g->verifier);
	} else {
		rc |= codes_put(form, "grant_type", "refresh_token") | codes_put(form, "&refresh_token", refresh);
	}
	if (secret && codes_in_header(c))
		return rc | codes_put_header(header, client, secret);
	rc |= codes_put(form, "&client_id", client);
	return secret ? rc | codes_put(form, "&client_secret", secret) : rc;
}

/* What a browser gave, or a refresh token. */
static int codes_send(struct codes *c, const struct code_given *g, const char *refresh, struct errand **out,
	struct fail *why)
{
	const char *url = issuer_endpoint(c->issuer, "token_endpoint");
	const char *headers[4] = { "Accept: application/json", "Content-Type: application/x-www-form-urlencoded" };
	struct buf form, header;
	struct errand_call call = { .method = "POST",
		.url = url,
		.headers = headers,
		.ca = issuer_settings(c->issuer)->ca,
		.timeout_ms = g ? REDEEM_MS : RENEW_MS,
		.max = REDEEM_BYTES };
	int rc;

	if (!url)
		return fail_set(why, -EPROTO, "the issuer names no safe place that takes codes");
	buf_init(&form, CODES_FORM);
	buf_init(&header, CODES_FORM);
	rc = codes_put_form(c, g, refresh, &form, &header) ? fail_set(why, -ENOMEM, "out of memory") : 0;
	call.body = buf_text(&form);
	call.body_len = form.len;
	headers[2] = header.len ? buf_text(&header) : NULL;
	rc = rc ? rc : errand_new(c->outward, &call, out, why);
	if (form.data)
		explicit_bzero(form.data, form.cap);
	if (header.data)
		explicit_bzero(header.data, header.cap);
	buf_release(&form);
	buf_release(&header);
	return rc;
}

/* Mix-up (RFC 9207): another issuer's code must not be shown to this one, nor one of nobody where it signs its own. */
static int codes_check_issuer(const struct codes *c, const struct code_given *g, struct fail *why)
{
	bool says = json_is_true(issuer_says(c->issuer, "authorization_response_iss_parameter_supported"));

	if (g->issuer ? strcmp(g->issuer, issuer_settings(c->issuer)->url) == 0 : !says)
		return 0;
	return fail_set(why, -EACCES, "this code comes from %s, not from the issuer of this market; sign in again",
		g->issuer ? "another issuer" : "nobody who says so");
}

static int codes_begin(struct codes *c, const struct code_given *g, int64_t now_ms, struct fail *why)
{
	int rc = codes_check_issuer(c, g, why);
	struct code *x = NULL;
	int same = 0;

	for (int i = 0; i < CODES_MAX; i++) {
		struct code *at = &c->list[i];

		if (at->request[0] && at->until <= now_ms)
			codes_clear(at);
		x = at->request[0] ? x : at;
		same += at->request[0] && at->address == g->address;
	}
	if (rc == 0 && same >= CODES_OF_ADDRESS)
		rc = fail_set(why, -EBUSY, "%d people at your address are signing in; try again in some seconds",
			CODES_OF_ADDRESS);
	if (rc == 0 && !x)
		rc = fail_set(why, -EBUSY, "%d people are signing in; try again in some seconds", CODES_MAX);
	rc = rc ? rc : codes_send(c, g, NULL, &x->errand, why);
	if (rc)
		return rc;
	snprintf(x->request, sizeof x->request, "%s", g->request);
	x->address = g->address;
	x->until = now_ms + REDEEM_KEPT_MS;
	return -EAGAIN;
}

/* What it says instead of a token: the code is not good (invalid_grant), or the market's settings are not. */
static int codes_refused(const struct codes *c, const struct errand_answer *a, const json_t *said, struct fail *why)
{
	const char *error = json_string_value(json_object_get(said, "error"));

	if (a->status >= 500 || !error)
		return fail_set(why, -EIO, "the issuer '%s' answers with status %d", issuer_settings(c->issuer)->url,
			a->status);
	if (strcmp(error, "invalid_grant") == 0)
		return fail_set(why, -EACCES,
			"the issuer does not take this code: it was used, is over, or is of another browser; "
			"sign in again");
	for (const char *at = error; *at; at++)
		if (*at <= ' ' || *at > '~')
			error = "?";
	return fail_set(why, -EPROTO, "the issuer refuses this market: '%.60s'; tell the operator", error);
}

static int codes_take_refresh(const json_t *said, struct code_renewed *out, struct fail *why)
{
	const char *refresh = json_string_value(json_object_get(said, "refresh_token"));

	if (!refresh || !*refresh)
		return 0;
	out->refresh = strdup(refresh);
	out->refresh_life = json_integer_value(json_object_get(said, "refresh_expires_in"));
	return out->refresh ? 0 : fail_set(why, -ENOMEM, "out of memory");
}

static int codes_take(const struct codes *c, struct errand **e, struct code_renewed *out, struct fail *why)
{
	const struct errand_answer *a = errand_look(*e);
	const char *token;
	json_t *said;
	int rc = 0;

	if (a->state == ERRAND_FAILED) {
		rc = fail_set(why, -EIO, "the issuer does not answer: %s", a->why);
		goto out;
	}
	said = json_loadb(buf_text(&a->body), a->body.len, JSON_REJECT_DUPLICATES, NULL);
	token = json_string_value(json_object_get(said, "id_token"));
	if (a->status != 200)
		rc = codes_refused(c, a, said, why);
	else
		rc = codes_take_refresh(said, out, why);
	if (rc == 0 && !token)
		rc = fail_set(why, -EPROTO, "the issuer does not say who signed in; tell the operator");
	else if (rc == 0 && !(out->id_token = strdup(token)))
		rc = fail_set(why, -ENOMEM, "out of memory");
	json_decref(said);
out:
	errand_free(*e);
	*e = NULL;
	return rc;
}

int codes_redeem(struct codes *c, const struct code_given *g, int64_t now_ms, const char **id_token, struct fail *why)
{
	struct code *x = codes_find(c, g->request);
	int rc = 0;

	if (!x)
		return codes_begin(c, g, now_ms, why);
	if (x->errand && errand_look(x->errand)->state == ERRAND_RUNNING)
		return -EAGAIN;
	if (x->errand)
		rc = codes_take(c, &x->errand, &x->got, why);
	if (rc == 0)
		*id_token = x->got.id_token;
	return rc;
}

void codes_got(struct codes *c, const char *request, struct code_renewed *out)
{
	struct code *x = codes_find(c, request);

	if (!x)
		return;
	*out = x->got;
	x->got = (struct code_renewed){ 0 };
}

/* ---- Again --------------------------------------------------------------------------------- */

int codes_renew(struct codes *c, const char *refresh, struct errand **out, struct fail *why)
{
	return codes_send(c, NULL, refresh, out, why);
}

int codes_renewed(const struct codes *c, struct errand **e, struct code_renewed *out, struct fail *why)
{
	return errand_look(*e)->state == ERRAND_RUNNING ? -EAGAIN : codes_take(c, e, out, why);
}
