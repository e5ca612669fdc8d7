/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/stripe/checkout.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret.h"
#include "base/str.h"
#include "marketd/outward/outward.h"
#include "marketd/stripe/stripe_own.h"
#include "marketd/stripe/webhook.h"

#define CHECKOUT_PATH "/v1/checkout/sessions"
#define CHECKOUT_VERSION "2024-11-20.acacia" /* of Stripe's API, the first that knows adaptive_pricing */

enum { CHECKOUT_SLOTS = 16, CHECKOUT_ACCOUNT_SLOTS = 4, SECRET_FILE_MAX = 4096, CHECKOUT_ANSWER_MAX = 256 * 1024 };

struct checkout_slot {
	char key[STRIPE_KEY + 1], account[CHECKOUT_ACCOUNT];
	struct errand *errand; /* NULL: the slot is free */
};

struct stripe {
	const struct stripe_settings *set;
	struct outward *outward;
	const struct log *log;
	struct buf key_text, secret_text;
	const char *key; /* NULL: none */
	const char *secrets[WEBHOOK_SECRETS];
	size_t secret_count;
	struct checkout_slot slots[CHECKOUT_SLOTS];
};

/* ---- Settings --------------------------------------------------------------------------- */

static bool stripe_local(const char *host)
{
	size_t len = strcspn(host, ":/");

	return (len == 9 && (str_starts(host, "127.0.0.1") || str_starts(host, "localhost")));
}

bool stripe_url_valid(const char *url)
{
	if (strpbrk(url, " ?#@\t\r\n") || strlen(url) > 200)
		return false;
	return (str_starts(url, "https://") && url[8]) || (str_starts(url, "http://") && stripe_local(url + 7));
}

/* A file of words, one a line: they go into a header, or sign something. The words are parts of the text. */
static int stripe_words(const char *path, struct buf *text, const char **words, size_t max, size_t *count,
	struct fail *f)
{
	size_t n = 0;
	int rc = secret_read(text, path, SECRET_FILE_MAX, f);

	if (rc)
		return rc;
	for (char *at = text->data; at && *at;) {
		size_t len = strcspn(at, "\r\n");
		bool more = at[len];

		at[len] = '\0';
		if (len && n == max)
			return fail_set(f, -EINVAL, "'%s' has more than %zu lines", path, max);
		for (size_t i = 0; i < len; i++)
			if (!isgraph((unsigned char)at[i]))
				return fail_set(f, -EINVAL, "'%s' has a line that is no key of Stripe's", path);
		if (len)
			words[n++] = at;
		at += len + more;
	}
	*count = n;
	return n ? 0 : fail_set(f, -EINVAL, "'%s' is empty", path);
}

static int stripe_read(const struct stripe_settings *set, struct stripe *into, struct fail *f)
{
	size_t one;
	int rc = 0;

	if (set->key_file)
		rc = stripe_words(set->key_file, &into->key_text, &into->key, 1, &one, f);
	if (!rc && set->secret_file)
		rc = stripe_words(set->secret_file, &into->secret_text, into->secrets, WEBHOOK_SECRETS,
			&into->secret_count, f);
	return rc;
}

int stripe_reload(struct stripe *s, struct fail *f)
{
	struct stripe fresh = { 0 };
	int rc = stripe_read(s->set, &fresh, f);

	if (rc) {
		secret_wipe(&fresh.key_text);
		secret_wipe(&fresh.secret_text);
		return rc;
	}
	secret_wipe(&s->key_text);
	secret_wipe(&s->secret_text);
	s->key_text = fresh.key_text;
	s->key = fresh.key;
	s->secret_text = fresh.secret_text;
	memcpy(s->secrets, fresh.secrets, sizeof s->secrets);
	s->secret_count = fresh.secret_count;
	return 0;
}

int stripe_new(struct stripe **out, const struct stripe_settings *set, struct outward *o, const struct log *log,
	struct fail *f)
{
	struct stripe *s = calloc(1, sizeof *s);
	int rc;

	if (!s)
		return fail_set(f, -ENOMEM, "out of memory");
	s->set = set;
	s->outward = o;
	s->log = log;
	rc = stripe_reload(s, f);
	if (rc)
		stripe_free(s);
	else
		*out = s;
	return rc;
}

void stripe_free(struct stripe *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CHECKOUT_SLOTS; i++)
		errand_free(s->slots[i].errand);
	secret_wipe(&s->key_text);
	secret_wipe(&s->secret_text);
	free(s);
}

bool stripe_sells(const struct stripe *s)
{
	return s && s->key;
}

bool stripe_in_mode(const struct stripe *s, bool live)
{
	const char *mode = s->key && s->key[0] ? s->key + 1 : ""; /* after 's', or 'r' of a restricted one */

	return live ? !str_starts(mode, "k_test_") : !str_starts(mode, "k_live_");
}

const char *const *stripe_secrets(const struct stripe *s, size_t *count)
{
	*count = s->secret_count;
	return s->secrets;
}

/* ---- Asking ----------------------------------------------------------------------------- */

static int stripe_escape(struct buf *b, const char *text)
{
	int rc = 0;

	for (const char *p = text; !rc && *p; p++)
		rc = isalnum((unsigned char)*p) || strchr("-._~", *p) ? buf_addc(b, *p)
								      : buf_addf(b, "%%%02X", (unsigned char)*p);
	return rc;
}

static int stripe_field(struct buf *b, const char *name, const char *value)
{
	int rc = b->len ? buf_addc(b, '&') : 0;

	rc = rc ? rc : stripe_escape(b, name);
	rc = rc ? rc : buf_addc(b, '=');
	return rc ? rc : stripe_escape(b, value);
}

int stripe_fields(struct buf *b, const char *const fields[][2], size_t count)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = stripe_field(b, fields[i][0], fields[i][1]);
	return rc;
}

static int checkout_form(struct buf *b, const struct checkout_wish *w)
{
	char cents[24];
	const char *const fields[][2] = {
		{ "mode", "payment" }, { "line_items[0][quantity]", "1" },
		{ "adaptive_pricing[enabled]", "false" }, /* else some pay in another currency */
		{ "line_items[0][price_data][currency]", "usd" }, { "line_items[0][price_data][unit_amount]", cents },
		{ "line_items[0][price_data][product_data][name]", w->what }, { "success_url", w->back },
		{ "cancel_url", w->back }, { "client_reference_id", w->account },
		{ "metadata[" WEBHOOK_MARKET "]", w->market }, { "metadata[" WEBHOOK_ACCOUNT "]", w->account },
		{ "payment_intent_data[metadata][" WEBHOOK_MARKET "]", w->market },
		{ "payment_intent_data[metadata][" WEBHOOK_ACCOUNT "]", w->account }, /* refunds have that one */
	};

	snprintf(cents, sizeof cents, "%lld", (long long)w->cents);
	return stripe_fields(b, fields, sizeof fields / sizeof *fields);
}

int stripe_send(struct stripe *s, const struct stripe_call *c, struct errand **out, struct fail *why)
{
	char bearer[SECRET_FILE_MAX + 32], once[STRIPE_KEY + 32], url[STRIPE_PATH + 256];
	const char *headers[] = { "Stripe-Version: " CHECKOUT_VERSION, bearer,
		c->form ? "Content-Type: application/x-www-form-urlencoded" : NULL, once, NULL };
	struct errand_call call = { .method = c->form ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.body = c->form ? buf_text(c->form) : NULL,
		.body_len = c->form ? c->form->len : 0,
		.ca = s->set->ca,
		.timeout_ms = CHECKOUT_WAIT_MS - 1000,
		.max = CHECKOUT_ANSWER_MAX,
		.repeatable = true };
	int rc;

	if (!s->key)
		return fail_set(why, -EIO, "the market has no key of Stripe's");
	snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", s->key);
	snprintf(once, sizeof once, "Idempotency-Key: %s", c->key ? c->key : "");
	snprintf(url, sizeof url, "%s%s", s->set->url, c->path);
	rc = errand_new(s->outward, &call, out, why);
	explicit_bzero(bearer, sizeof bearer);
	return rc;
}

/* Only what is fit for a terminal, and fits. */
const char *stripe_says(const json_t *answer, char room[STRIPE_SAYS])
{
	const char *said = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
	size_t n = 0;

	for (; said && *said && n < STRIPE_SAYS - 1; said++)
		room[n++] = (unsigned char)*said < ' ' || *said == 127 ? '?' : *said;
	room[n] = '\0';
	return room;
}

static int stripe_take(const struct stripe *s, const struct errand_answer *a, json_t **out, struct fail *why)
{
	json_t *o = a->state == ERRAND_DONE ? json_loadb(buf_text(&a->body), a->body.len, 0, NULL) : NULL;
	char said[STRIPE_SAYS];
	int rc = 0;

	if (a->state != ERRAND_DONE)
		rc = fail_set(why, -EIO, "%s", a->why);
	else if (a->status == 400 || a->status == 402)
		rc = fail_set(why, -EINVAL, "Stripe refuses: %s", stripe_says(o, said));
	else if (a->status != 200 || !o)
		rc = fail_set(why, -EIO, "status %d: %s", a->status, stripe_says(o, said));
	if (!rc) {
		*out = o;
		return 0;
	}
	log_at(s->log, LOG_WARN, "Stripe did not do what the market asks for: %s", why->text);
	json_decref(o);
	return rc;
}

bool stripe_page(const struct stripe *s, const char *url)
{
	return url && strlen(url) <= CHECKOUT_URL &&
		(str_starts(url, "https://") || str_starts(s->set->url, "http://")) &&
		!url[strcspn(url, " \"'<>\\\r\n\t\033")];
}

static int checkout_take(const struct stripe *s, const json_t *o, struct checkout_page *out, struct fail *why)
{
	const char *id = json_string_value(json_object_get(o, "id")),
		   *url = json_string_value(json_object_get(o, "url"));

	if (!id || !*id || strlen(id) > CHECKOUT_ID || !stripe_page(s, url)) {
		log_at(s->log, LOG_WARN, "Stripe made no page to pay");
		return fail_set(why, -EIO, "its answer has no page to pay");
	}
	snprintf(out->id, sizeof out->id, "%s", id);
	snprintf(out->url, sizeof out->url, "%s", url);
	out->expires = json_integer_value(json_object_get(o, "expires_at"));
	return 0;
}

/* The slot of this key, else one that is free or whose answer nobody came for. -EBUSY: too many are under way. */
static int checkout_slot(struct stripe *s, const char *key, const char *account, struct checkout_slot **out,
	struct fail *why)
{
	struct checkout_slot *room = NULL;
	int of_account = 0;

	for (struct checkout_slot *x = s->slots; x < s->slots + CHECKOUT_SLOTS; x++) {
		bool runs = x->errand && errand_look(x->errand)->state == ERRAND_RUNNING;

		if (x->errand && strcmp(x->key, key) == 0) {
			*out = x;
			return 0;
		}
		of_account += runs && strcmp(x->account, account) == 0;
		if (!room && !runs)
			room = x;
	}
	if (of_account == CHECKOUT_ACCOUNT_SLOTS)
		return fail_set(why, -EBUSY,
			"the market asks Stripe for %d pages for this account already; try again in %d seconds",
			of_account, CHECKOUT_WAIT_MS / 1000);
	if (!room)
		return fail_set(why, -EBUSY, "the market asks Stripe for %d pages already; try again in %d seconds",
			CHECKOUT_SLOTS, CHECKOUT_WAIT_MS / 1000);
	errand_free(room->errand);
	room->errand = NULL;
	*out = room;
	return 0;
}

int stripe_ask(struct stripe *s, const struct stripe_call *c, const char *account, json_t **out, struct fail *why)
{
	struct checkout_slot *slot = NULL;
	int rc = checkout_slot(s, c->key, account, &slot, why);

	if (rc)
		return rc;
	if (!slot->errand) {
		rc = stripe_send(s, c, &slot->errand, why);
		if (rc)
			return rc;
		snprintf(slot->key, sizeof slot->key, "%s", c->key);
		snprintf(slot->account, sizeof slot->account, "%s", account);
	}
	if (errand_look(slot->errand)->state == ERRAND_RUNNING)
		return -EAGAIN;
	rc = stripe_take(s, errand_look(slot->errand), out, why);
	errand_free(slot->errand);
	slot->errand = NULL;
	return rc;
}

int stripe_checkout(struct stripe *s, const struct checkout_wish *w, struct checkout_page *out, struct fail *why)
{
	struct buf form;
	json_t *o = NULL;
	int rc;

	buf_init(&form, STRIPE_FORM_MAX);
	rc = checkout_form(&form, w) ? fail_set(why, -ENOMEM, "out of memory") : 0;
	rc = rc ? rc
		: stripe_ask(s, &(struct stripe_call){ .path = CHECKOUT_PATH, .key = w->key, .form = &form },
			  w->account, &o, why);
	rc = rc ? rc : checkout_take(s, o, out, why);
	json_decref(o);
	buf_release(&form);
	return rc;
}
