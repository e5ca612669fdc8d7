/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/stripe/stripe_connect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "marketd/outward/outward.h"
#include "marketd/stripe/stripe_own.h"
#include "marketd/stripe/webhook.h"

static int connect_ask(struct stripe *s, const char *path, const char *key, const char *account,
	const char *const fields[][2], size_t count, json_t **out, struct fail *why)
{
	struct buf form;
	int rc;

	buf_init(&form, STRIPE_FORM_MAX);
	rc = stripe_fields(&form, fields, count) ? fail_set(why, -ENOMEM, "out of memory") : 0;
	rc = rc ? rc
		: stripe_ask(s, &(struct stripe_call){ .path = path, .key = key, .form = &form }, account, out, why);
	buf_release(&form);
	return rc;
}

/* An id goes into forms and texts that people read. */
static bool connect_id(const json_t *o, char room[CONNECT_ID])
{
	const char *id = json_string_value(json_object_get(o, "id"));

	if (!id || !*id || strlen(id) >= CONNECT_ID ||
		id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return false;
	snprintf(room, CONNECT_ID, "%s", id);
	return true;
}

/* ---- The account ------------------------------------------------------------------------- */

int connect_account(struct stripe *s, const char *market, const char *account, char *id, struct fail *why)
{
	const char *const fields[][2] = {
		{ "type", "express" },
		{ "capabilities[transfers][requested]", "true" },
		{ "metadata[" WEBHOOK_MARKET "]", market },
		{ "metadata[" WEBHOOK_ACCOUNT "]", account },
	};
	char key[CONNECT_KEY];
	json_t *o = NULL;
	int rc;

	snprintf(key, sizeof key, "%.40s-%.40s", market, account);
	rc = connect_ask(s, "/v1/accounts", key, account, fields, sizeof fields / sizeof *fields, &o, why);
	if (!rc && !connect_id(o, id))
		rc = fail_set(why, -EIO, "its answer has no account");
	json_decref(o);
	return rc;
}

int connect_page(struct stripe *s, const char *key, const char *account, const char *id, const char *back,
	struct checkout_page *out, struct fail *why)
{
	const char *const fields[][2] = {
		{ "account", id },
		{ "refresh_url", back },
		{ "return_url", back },
		{ "type", "account_onboarding" },
	};
	const char *url;
	json_t *o = NULL;
	int rc = connect_ask(s, "/v1/account_links", key, account, fields, sizeof fields / sizeof *fields, &o, why);

	url = json_string_value(json_object_get(o, "url"));
	if (!rc && !stripe_page(s, url))
		rc = fail_set(why, -EIO, "its answer has no page");
	if (!rc) {
		snprintf(out->id, sizeof out->id, "%s", id);
		snprintf(out->url, sizeof out->url, "%s", url);
		out->expires = json_integer_value(json_object_get(o, "expires_at"));
	}
	json_decref(o);
	return rc;
}

/* ---- Transfers --------------------------------------------------------------------------- */

/* Markets may share an account of Stripe's, so their payouts are told apart. */
static const char *connect_group(const struct connect_transfer *t, char room[CONNECT_KEY])
{
	snprintf(room, CONNECT_KEY, "%.40s-%.40s", t->market, t->payout);
	return room;
}

int connect_look(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why)
{
	char path[STRIPE_PATH], group[CONNECT_KEY];

	snprintf(path, sizeof path, "/v1/transfers?limit=10&transfer_group=%s", connect_group(t, group));
	return stripe_send(s, &(struct stripe_call){ .path = path }, out, why);
}

int connect_send(struct stripe *s, const struct connect_transfer *t, struct errand **out, struct fail *why)
{
	char cents[24], group[CONNECT_KEY];
	const char *const fields[][2] = {
		{ "amount", cents },
		{ "currency", "usd" },
		{ "destination", t->to },
		{ "transfer_group", connect_group(t, group) },
		{ "metadata[" WEBHOOK_MARKET "]", t->market },
		{ "metadata[" CONNECT_PAYOUT "]", t->payout },
	};
	struct buf form;
	int rc;

	snprintf(cents, sizeof cents, "%lld", (long long)t->cents);
	buf_init(&form, STRIPE_FORM_MAX);
	rc = stripe_fields(&form, fields, sizeof fields / sizeof *fields);
	rc = rc ? fail_set(why, -ENOMEM, "out of memory")
		: stripe_send(s, &(struct stripe_call){ .path = "/v1/transfers", .key = group, .form = &form }, out,
			  why);
	buf_release(&form);
	return rc;
}

static bool connect_is(const json_t *o, const struct connect_transfer *t)
{
	const json_t *meta = json_object_get(o, "metadata");
	const char *payout = json_string_value(json_object_get(meta, CONNECT_PAYOUT)),
		   *market = json_string_value(json_object_get(meta, WEBHOOK_MARKET));

	return payout && market && strcmp(payout, t->payout) == 0 && strcmp(market, t->market) == 0;
}

static enum connect_word connect_found(const json_t *o, const struct connect_transfer *t, char room[CONNECT_ID])
{
	const json_t *list = json_object_get(o, "data"), *one;
	size_t i;

	if (!json_is_array(list))
		return CONNECT_UNKNOWN;
	json_array_foreach(list, i, one) if (connect_is(one, t)) return connect_id(one, room) ? CONNECT_SENT
											      : CONNECT_UNKNOWN;
	return CONNECT_NONE;
}

/*
 * Stripe refuses a transfer for good by 400, 402 or 404. A key that came with another request before is no refusal of
 * this one: that request may have sent the money. Nor is what it says of the market's key, or of too many requests.
 */
static enum connect_word connect_sent(int status, const json_t *o, const struct connect_transfer *t,
	char room[CONNECT_ID])
{
	const json_t *error = json_object_get(o, "error");
	const char *type = json_string_value(json_object_get(error, "type"));

	if (status == 200)
		return connect_is(o, t) && connect_id(o, room) ? CONNECT_SENT : CONNECT_UNKNOWN;
	if (status != 400 && status != 402 && status != 404)
		return CONNECT_UNKNOWN;
	return type && strcmp(type, "idempotency_error") != 0 && strcmp(type, "api_error") != 0 ? CONNECT_REFUSED
												: CONNECT_UNKNOWN;
}

bool connect_runs(const struct errand *e)
{
	return errand_look(e)->state == ERRAND_RUNNING;
}

void connect_end(struct errand *e)
{
	errand_free(e);
}

void connect_take(const struct errand *e, bool looked, const struct connect_transfer *t, struct connect_news *out)
{
	const struct errand_answer *a = errand_look(e);
	json_t *o = a->state == ERRAND_DONE ? json_loadb(buf_text(&a->body), a->body.len, 0, NULL) : NULL;
	char said[STRIPE_SAYS];

	*out = (struct connect_news){ .word = CONNECT_UNKNOWN };
	if (o && looked && a->status == 200)
		out->word = connect_found(o, t, out->id);
	else if (o && !looked)
		out->word = connect_sent(a->status, o, t, out->id);
	stripe_says(o, said);
	if (a->state != ERRAND_DONE)
		snprintf(out->says, sizeof out->says, "%s", a->why);
	else if (out->word == CONNECT_REFUSED && *said)
		snprintf(out->says, sizeof out->says, "Stripe refuses: %s", said);
	else
		snprintf(out->says, sizeof out->says, "status %d: %s", a->status, said);
	json_decref(o);
}
