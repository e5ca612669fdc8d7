/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/stripe/webhook.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/* From this version of its API on, Stripe tells each refund by events of its own. */
#define WEBHOOK_EACH_REFUND "2024-10-28"

enum { REFERENCE_MAX = 255, CENT = 10000 /* micro-dollars */ };
#define CENTS_MAX INT64_C(10000000000)

static const char *webhook_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text && *text ? text : NULL;
}

/* An id, as such or as the thing itself, where the account of Stripe has that expanded. Ids have no blanks. */
static const char *webhook_id(const json_t *o, const char *name)
{
	const json_t *in = json_object_get(o, name);
	const char *id = json_is_object(in) ? webhook_text(in, "id") : webhook_text(o, name);

	if (!id || strlen(id) > REFERENCE_MAX)
		return NULL;
	for (const char *p = id; *p; p++)
		if (*p <= ' ' || *p > '~')
			return NULL;
	return id;
}

static int webhook_cents(const json_t *o, const char *name, struct webhook_news *n, struct fail *why)
{
	const json_t *x = json_object_get(o, name);

	n->currency = webhook_text(o, "currency");
	if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) > CENTS_MAX)
		return fail_set(why, -EINVAL, "it has no '%s' that can be counted", name);
	n->cents = json_integer_value(x);
	if (!n->currency || strcmp(n->currency, "usd") != 0)
		return fail_set(why, -EINVAL, "its currency is '%.20s', and this market counts US dollars",
			n->currency ? n->currency : "?");
	return 0;
}

/* What was paid: once, whichever of two events says so. */
static int webhook_paid(const json_t *o, struct webhook_news *n, struct fail *why)
{
	const char *mode = webhook_text(o, "mode"), *status = webhook_text(o, "payment_status");
	int rc;

	if ((mode && strcmp(mode, "payment") != 0) || !status || strcmp(status, "paid") != 0)
		return 1;
	rc = webhook_cents(o, "amount_total", n, why);
	n->part = webhook_id(o, "id");
	n->payment = webhook_id(o, "payment_intent");
	n->step = 1;
	n->micros = n->cents * CENT;
	return rc ? rc : n->cents ? 0 : 1;
}

/* What became of one refund: where the bank sends it back, Stripe has the money again. */
static int webhook_refund(const json_t *o, struct webhook_news *n, struct fail *why)
{
	const char *status = webhook_text(o, "status");
	bool back = status && (strcmp(status, "failed") == 0 || strcmp(status, "canceled") == 0);
	int rc = webhook_cents(o, "amount", n, why);

	n->part = webhook_id(o, "id");
	n->bare = true;
	n->step = back ? 2 : 1;
	n->micros = back ? 0 : -n->cents * CENT;
	return rc ? rc : n->cents ? 0 : 1;
}

/* All that was refunded of a charge so far; it does not say which of it failed. */
static int webhook_refunded(const json_t *o, struct webhook_news *n, struct fail *why)
{
	int rc = webhook_cents(o, "amount_refunded", n, why);

	n->part = webhook_id(o, "id");
	n->step = n->cents;
	n->micros = -n->cents * CENT;
	return rc ? rc : n->cents ? 0 : 1;
}

/* Stripe takes the money when a dispute opens, and gives it back where that is won; an inquiry takes none. */
static int webhook_disputed(const json_t *o, struct webhook_news *n, struct fail *why)
{
	const char *status = webhook_text(o, "status");
	bool won = status && strcmp(status, "won") == 0, lost = status && strcmp(status, "lost") == 0;
	int rc;

	if (!status || str_starts(status, "warning_") || strcmp(status, "prevented") == 0)
		return 1;
	rc = webhook_cents(o, "amount", n, why);
	n->part = webhook_id(o, "id");
	n->bare = true;
	n->step = won || lost ? 2 : 1;
	n->micros = won ? 0 : -n->cents * CENT;
	return rc;
}

static const struct webhook_kind {
	const char *type; /* one that ends with a point: all that begin with it */
	int (*read)(const json_t *object, struct webhook_news *n, struct fail *why);
	enum { REFUNDS_ANY, REFUNDS_EACH, REFUNDS_SUM } refunds; /* counted where Stripe tells them so */
} webhook_kinds[] = {
	{ "checkout.session.completed", webhook_paid, REFUNDS_ANY },
	{ "checkout.session.async_payment_succeeded", webhook_paid, REFUNDS_ANY },
	{ "refund.", webhook_refund, REFUNDS_EACH },
	{ "charge.refunded", webhook_refunded, REFUNDS_SUM },
	{ "charge.dispute.", webhook_disputed, REFUNDS_ANY },
};

static const struct webhook_kind *webhook_kind(const char *type)
{
	for (size_t i = 0; type && i < sizeof webhook_kinds / sizeof *webhook_kinds; i++) {
		const char *has = webhook_kinds[i].type;

		if (has[strlen(has) - 1] == '.' ? str_starts(type, has) : strcmp(type, has) == 0)
			return &webhook_kinds[i];
	}
	return NULL;
}

/* A refund that is told in both ways is counted once. 0, 1 or -EINVAL as webhook_read(). */
static int webhook_counts(const struct webhook_kind *kind, const json_t *event, struct fail *why)
{
	const char *version = webhook_text(event, "api_version");
	bool each = version && strcmp(version, WEBHOOK_EACH_REFUND) >= 0;

	if (kind->refunds == REFUNDS_SUM && each)
		return fail_set(why, -EINVAL,
			"with this version of Stripe's API the endpoint needs refund.created, refund.updated and "
			"refund.failed instead of charge.refunded");
	return kind->refunds == REFUNDS_EACH && !each;
}

int webhook_read(const json_t *event, struct webhook_news *out, struct fail *why)
{
	const json_t *o = json_object_get(json_object_get(event, "data"), "object");
	const char *word = webhook_text(event, "object");
	const struct webhook_kind *kind = webhook_kind(webhook_text(event, "type"));
	struct webhook_news n = { .id = webhook_id(event, "id") };
	int rc;

	*out = n;
	if (!n.id || !word || strcmp(word, "event") != 0 || !json_is_object(o))
		return fail_set(why, -EINVAL, "it is no event of Stripe's");
	if (!kind)
		return 1;
	rc = webhook_counts(kind, event, why);
	if (rc)
		return rc;
	n.payment = webhook_id(o, "payment_intent");
	if (!n.payment) /* older than those: the charge itself, or what it names */
		n.payment = webhook_id(o, "charge") ? webhook_id(o, "charge") : webhook_id(o, "id");
	n.live = json_is_true(json_object_get(event, "livemode"));
	n.market = webhook_text(json_object_get(o, "metadata"), WEBHOOK_MARKET);
	n.account = webhook_text(json_object_get(o, "metadata"), WEBHOOK_ACCOUNT);
	rc = kind->read(o, &n, why);
	*out = n;
	return rc == 0 && (!n.part || !n.payment) ? fail_set(why, -EINVAL, "it names no payment") : rc;
}
