/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks: the market's answer to a token, kept for seconds. While the market is away, those that it let through go on
 * for a while, and nobody new comes in. Tokens are kept as hashes, and go to nobody but the market.
 */
#include <openssl/evp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "marketd/proxy/proxy_own.h"

enum {
	FRESH_MS = 5000,
	FRESH_REFUSED_MS = 1000,
	AWAY_MS = 300000, /* so long without the market */
	AUTHZ_TIMEOUT_MS = 3000,
	AUTHZ_BYTES = 64 << 10,
	AUTHZ_HEADER = 8192,
	AUTHZ_URL = 320,
};

/* Of token and path, as the policy may tell paths apart. false: they cannot be a token and a path. */
static bool caller_hash(const char *authorization, const char *path, char key[CALLER_KEY])
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	char text[AUTHZ_HEADER + AUTHZ_URL];
	int len = snprintf(text, sizeof text, "%s\n%s", path, authorization);
	bool fits = strlen(authorization) < AUTHZ_HEADER - sizeof "Authorization: " && strlen(path) < AUTHZ_URL / 2 &&
		EVP_Digest(text, (size_t)len, hash, NULL, EVP_sha256(), NULL) == 1;

	for (const char *c = authorization; *c; c++)
		fits = fits && (unsigned char)*c >= ' ' && *c != '\x7f';
	for (size_t i = 0; fits && i < CALLER_KEY / 2; i++)
		snprintf(key + 2 * i, 3, "%02x", hash[i]);
	explicit_bzero(text, sizeof text);
	return fits;
}

static void caller_free(struct caller *c)
{
	table_remove(&c->proxy->callers_by_key, c->key);
	list_remove(&c->link);
	errand_free(c->errand);
	c->proxy->caller_count--;
	free(c);
}

void caller_free_all(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->callers)
		caller_free(list_entry(at, struct caller, link));
}

/* Makes room by forgetting the one whose answer is oldest. */
static struct caller *caller_new(struct proxy *p, const char *key)
{
	struct list *at, *tmp;
	struct caller *c;

	if (p->caller_count >= CALLERS_MAX)
		list_each (at, tmp, &p->callers) {
			c = list_entry(at, struct caller, link);
			if (c->errand)
				continue;
			caller_free(c);
			break;
		}
	c = p->caller_count < CALLERS_MAX ? calloc(1, sizeof *c) : NULL;
	if (!c)
		return NULL;
	*c = (struct caller){ .kind = PROXY_CALLER, .proxy = p };
	snprintf(c->key, sizeof c->key, "%s", key);
	list_init(&c->waiting);
	list_append(&p->callers, &c->link);
	p->caller_count++;
	if (table_set(&p->callers_by_key, c->key, c) == 0)
		return c;
	caller_free(c);
	return NULL;
}

/* ---- The market's answer --------------------------------------------------------------------- */

static bool caller_text(const json_t *o, const char *name, char out[WHO_TEXT])
{
	const char *text = json_string_value(json_object_get(o, name));

	snprintf(out, WHO_TEXT, "%s", text ? text : "");
	return text && *text && strlen(text) < WHO_TEXT;
}

static struct gate_limits caller_limits(const json_t *o)
{
	return (struct gate_limits){ .requests_minute = json_integer_value(json_object_get(o, "requests_minute")),
		.requests_day = json_integer_value(json_object_get(o, "requests_day")),
		.tokens_minute = json_integer_value(json_object_get(o, "tokens_minute")),
		.tokens_day = json_integer_value(json_object_get(o, "tokens_day")) };
}

static bool caller_who(const struct errand_answer *a, struct who *w)
{
	json_t *o = json_loadb(buf_text(&a->body), a->body.len, JSON_REJECT_DUPLICATES, NULL);
	bool whole = caller_text(o, "account_id", w->account) && caller_text(o, "plan", w->plan) &&
		caller_text(o, "rate", w->rate);

	caller_text(o, "account_name", w->name);
	caller_text(o, "token_id", w->token);
	w->limits = caller_limits(json_object_get(o, "limits"));
	json_decref(o);
	return whole;
}

static void caller_refuse(struct caller *c, const struct errand_answer *a)
{
	json_t *o = json_loadb(buf_text(&a->body), a->body.len, 0, NULL);
	const char *text = json_string_value(json_object_get(json_object_get(o, "error"), "message"));

	refusal_set(&c->refusal, a->status,
		a->status == 401           ? "authentication_error"
			: a->status == 402 ? "insufficient_quota"
			: a->status == 429 ? "rate_limit_error"
					   : "permission_error",
		a->status == 401           ? "invalid_api_key"
			: a->status == 402 ? "insufficient_quota"
			: a->status == 429 ? "rate_limit_exceeded"
					   : "not_allowed",
		"%s", text ? text : "the market refuses this key");
	if (strlen(a->retry_after) < RETRY_TEXT)
		memcpy(c->refusal.retry, a->retry_after, strlen(a->retry_after) + 1);
	json_decref(o);
}

static bool caller_refused(int status)
{
	return status == 401 || status == 402 || status == 403 || status == 429;
}

static void caller_judge(struct caller *c, const struct errand_answer *a)
{
	int64_t now = c->proxy->now_ms;
	struct who who;

	c->fresh = now + FRESH_REFUSED_MS;
	if (a->state == ERRAND_DONE && a->status == 200 && caller_who(a, &who)) {
		c->who = who;
		c->state = CALLER_GOOD;
		c->fresh = now + FRESH_MS;
		c->good = now + AWAY_MS;
	} else if (a->state == ERRAND_DONE && caller_refused(a->status)) {
		c->state = CALLER_REFUSED;
		c->good = a->status == 429 ? c->good : 0; /* too many requests say nothing of who it is */
		caller_refuse(c, a);
	} else if (c->good > now) {
		c->state = CALLER_GOOD;
		c->fresh = now + FRESH_MS;
		log_at(c->proxy->log, LOG_WARN, "the market does not answer; '%s' goes on for %d s", c->who.account,
			(int)((c->good - now) / 1000));
	} else {
		c->state = CALLER_REFUSED;
		refusal_set(&c->refusal, 503, "server_error", "market_unavailable",
			"the market does not say who you are; try again");
	}
}

void caller_take(struct caller *c)
{
	const struct errand_answer *a = errand_look(c->errand);
	struct list *at, *tmp;

	if (a->state == ERRAND_RUNNING)
		return;
	caller_judge(c, a);
	errand_free(c->errand);
	c->errand = NULL;
	list_remove(&c->link);
	list_append(&c->proxy->callers, &c->link);
	list_each (at, tmp, &c->waiting) {
		struct relay *x = list_entry(at, struct relay, wait);

		list_remove(&x->wait);
		relay_wake(x);
	}
}

/* ---- Asking ------------------------------------------------------------------------------------ */

/* For x, whose address the market counts where it trusts this gateway. */
static int caller_ask(struct caller *c, const struct relay *x, const char *authorization, const char *path)
{
	char token[AUTHZ_HEADER], where[AUTHZ_URL], url[AUTHZ_URL], from[RELAY_FROM];
	const char *headers[] = { token, where, "X-Original-Method: POST", from, NULL };
	struct errand_call call = { .method = "GET",
		.url = url,
		.headers = headers,
		.ca = *c->proxy->served->file.market_ca ? c->proxy->served->file.market_ca : NULL,
		.timeout_ms = AUTHZ_TIMEOUT_MS,
		.max = AUTHZ_BYTES,
		.repeatable = true,
		.owner = c };
	struct fail f = { 0 };
	int rc;

	relay_from(x, from);
	snprintf(token, sizeof token, "Authorization: %s", authorization);
	snprintf(where, sizeof where, "X-Original-URI: %s", path);
	snprintf(url, sizeof url, "%s/np/v1/authz?count=false", c->proxy->served->file.market);
	rc = errand_new(c->proxy->outward, &call, &c->errand, &f);
	if (rc)
		c->errand = NULL;
	explicit_bzero(token, sizeof token);
	return rc;
}

enum caller_state caller_find(struct relay *x, const char *authorization, const char *path)
{
	struct proxy *p = x->proxy;
	char key[CALLER_KEY];
	struct caller *c;

	if (!caller_hash(authorization, path, key)) {
		refusal_set(&x->refusal, 401, "authentication_error", "invalid_api_key", "this is no key");
		return CALLER_REFUSED;
	}
	c = table_get(&p->callers_by_key, key);
	c = c ? c : caller_new(p, key);
	if (c && !c->errand && c->fresh <= p->now_ms && caller_ask(c, x, authorization, path) != 0 &&
		c->good <= p->now_ms)
		c = NULL;
	if (!c) {
		refusal_set(&x->refusal, 503, "server_error", "overloaded", "the gateway is overloaded; try again");
		return CALLER_REFUSED;
	}
	if (c->errand) {
		list_append(&c->waiting, &x->wait);
		return CALLER_ASKED;
	}
	if (c->state == CALLER_GOOD) {
		x->who = c->who;
		x->known = true;
	} else {
		x->refusal = c->refusal;
	}
	return c->state;
}
