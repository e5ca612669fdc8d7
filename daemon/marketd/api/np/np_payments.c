/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Money that a payment service took for an account, and gave back: what its webhook says becomes an event, once for
 * ever, and what nobody can be found for waits for the operator.
 */
#include "marketd/api/np/np_schemas.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/auditlog.h"
#include "marketd/api/np/market_id.h"
#include "marketd/api/render.h"
#include "marketd/stripe/checkout.h"
#include "marketd/stripe/webhook.h"

/* ---- What waits for the operator --------------------------------------------------------- */

/*
 * What Stripe moved and no account can have, such as euros, is a payment with no money whose name says it:
 * "cs_1:4200eur". Stripe's own ids have no colon.
 */
const char *np_payment_uncounted(const struct payment *p)
{
	const char *at = strchr(p->reference, ':');

	return at && at[1 + strspn(at + 1, "0123456789")] ? at + 1 : NULL;
}

bool np_payment_waits(const struct payment *p)
{
	bool dismissed = true;

	for (size_t i = 0; i < p->part_count; i++)
		dismissed &= p->parts[i].step == PAYMENT_MAX;
	return !p->account && !dismissed;
}

/* ---- What is told ------------------------------------------------------------------------ */

static json_t *payment_json(const struct engine *e, const struct payment *p)
{
	const struct account *a = engine_account(e, p->account);
	json_t *parts = json_array(), *o;
	int64_t sum = 0;

	for (size_t i = 0; i < p->part_count; i++) {
		json_t *part = json_pack("{s:o}", "reference", render_text(p->parts[i].reference));

		render_money(part, "amount", p->parts[i].micros);
		json_array_append_new(parts, part);
		sum += p->parts[i].micros;
	}
	o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:o}", "object", "payment", "id", render_id(IDENT_PAYMENT, p->id),
		"reference", render_text(p->reference), "account", a ? render_id(IDENT_ACCOUNT, a->id) : json_null(),
		"account_name", render_text(a ? a->name : NULL), "created_at", (json_int_t)p->created_at, "parts",
		parts);
	render_money(o, "amount", sum);
	return o;
}

static const struct payment *payment_of_part(const struct engine *e, uint64_t account, const char *reference)
{
	const struct payment *p = engine_payment_after(e, account, 0);

	for (; p; p = engine_payment_after(e, account, p->id))
		for (size_t i = 0; i < p->part_count; i++)
			if (strcmp(p->parts[i].reference, reference) == 0)
				return p;
	return NULL;
}

static int list_payments(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	const struct payment *p;
	uint64_t last = 0;
	bool unclaimed;
	int64_t limit;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit) ||
		!api_query_bool(q, r, "unclaimed", false, &unclaimed))
		return r->status;
	if (after && !ident_parse(IDENT_PAYMENT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a payment");
	data = json_array();
	for (p = engine_payment_after(e, q->account, last); p && limit;
		p = engine_payment_after(e, q->account, p->id)) {
		if (unclaimed && !np_payment_waits(p))
			continue;
		json_array_append_new(data, payment_json(e, p));
		last = p->id;
		limit--;
	}
	return api_json(q, r, 200,
		render_list(data, json_array_size(data) ? render_id(IDENT_PAYMENT, last) : NULL, p != NULL));
}

/* A checkout that was paid is a part of a payment. */
static int get_topup(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct payment *p;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	p = payment_of_part(e, account, q->parts[0]);
	if (!p)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no top-up '%.255s' is paid", q->parts[0]);
	return api_json(q, r, 200,
		json_pack("{s:s, s:s, s:s, s:o}", "object", "topup_state", "id", q->parts[0], "state", "paid",
			"payment", payment_json(e, p)));
}

/* ---- What the webhook says --------------------------------------------------------------- */

/* Nobody can be asked again for what Stripe took, so no quota stops it. */
static int payment_apply(struct api *api, const struct request *q, struct event *ev, struct fail *why)
{
	const struct effects *did;
	int rc;

	ev->token = q->token;
	rc = market_apply(api->market, ev, &did, why);
	if (rc == 0)
		auditlog_note(api, q, ev, effects_made(did));
	return rc;
}

/* The engine takes so many parts of one payment; what more there is goes on as payments NAME:2, NAME:3 … */
enum { PAYMENT_GOES_ON = 1000, PAYMENT_NAME = NAME_BYTES + 16 };

static const char *payment_name(const char *first, int n, char room[PAYMENT_NAME])
{
	snprintf(room, PAYMENT_NAME, n > 1 ? "%.255s:%d" : "%.255s", first, n);
	return room;
}

static int payment_count(struct api *api, const struct request *q, struct event *ev, const char *first,
	struct fail *why)
{
	char name[PAYMENT_NAME];
	int rc = REASON_LIMIT;

	for (int n = 1; rc == REASON_LIMIT && n < PAYMENT_GOES_ON; n++) {
		ev->name = payment_name(first, n, name);
		rc = payment_apply(api, q, ev, why);
	}
	ev->name = NULL;
	return rc;
}

/* What more there is of a payment and is nobody's becomes the account's. */
static int payment_claim_all(struct api *api, const struct request *q, uint64_t account, const char *first,
	struct fail *why)
{
	const struct payment *p;
	char name[PAYMENT_NAME];
	int rc = 0;

	for (int n = 1; !rc && (p = engine_payment_known(market_engine(api->market), payment_name(first, n, name)));
		n++) {
		struct event ev = { .kind = EVENT_PAYMENT, .account = account, .name = name };

		rc = p->account ? 0 : payment_apply(api, q, &ev, why);
	}
	return rc;
}

/*
 * Stripe tells every endpoint of its account everything. What bears no metadata is ours where we know the payment; a
 * payment that is not known yet may come later, so what went back of it waits.
 */
static bool payment_ours(const struct engine *e, const struct webhook_news *n)
{
	char market[MARKET_TEXT];

	if (n->market)
		return strcmp(n->market, market_id(e, market)) == 0;
	return n->bare || (n->payment && engine_payment_known(e, n->payment));
}

/*
 * A payment stays the account's that it was first, whatever the event says. An account that somebody wrote at Stripe
 * may not exist: then the operator has to look.
 */
static uint64_t payment_account(const struct engine *e, const struct webhook_news *n)
{
	const struct payment *p = engine_payment_known(e, n->payment);
	const struct account *a;
	uint64_t id;

	if (p && p->account)
		return p->account;
	if (!n->account || !ident_parse(IDENT_ACCOUNT, n->account, &id))
		return 0;
	a = engine_account(e, id);
	return a ? a->id : 0;
}

/* What is refused but moved money is kept where the operator sees it, so that Stripe need not tell it again. */
static bool payment_keep(struct api *api, const struct request *q, const struct webhook_news *n)
{
	struct event ev = { .kind = EVENT_PAYMENT };
	char name[PAYMENT_NAME + 32], currency[4];
	struct fail why = { 0 };
	int rc;

	if (!n->payment || !n->part)
		return false;
	snprintf(currency, sizeof currency, "%s", n->currency ? n->currency : "");
	if (strlen(currency) != 3 || strspn(currency, "abcdefghijklmnopqrstuvwxyz") != 3)
		snprintf(currency, sizeof currency, "xxx");
	snprintf(name, sizeof name, "%.200s:%" PRId64 "%s", n->part, n->cents, currency);
	ev.name = ev.text = name;
	ev.u.payment.step = 1;
	rc = payment_apply(api, q, &ev, &why);
	return rc == 0 || rc == REASON_NAME_TAKEN;
}

static int payment_refuse(struct api *api, const struct request *q, struct reply *r, const char *id, const char *why)
{
	log_at(api->log, LOG_WARN, "audit: event %.100s of Stripe is not counted: %s", id ? id : "?", why);
	return api_refuse(q, r, REASON_INVALID, NULL, "%s", why);
}

static int payment_uncounted(struct api *api, const struct request *q, struct reply *r, const struct webhook_news *n,
	const char *why)
{
	int status = payment_refuse(api, q, r, n->id, why);

	return payment_keep(api, q, n) ? api_nothing(r) : status;
}

/* Twice the same news is an answer like the first: Stripe repeats what got none. */
static int payment_take(struct api *api, const struct request *q, struct reply *r, const json_t *event)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_PAYMENT };
	struct webhook_news n = { 0 };
	struct fail why = { 0 };
	int rc = webhook_read(event, &n, &why);

	if (rc > 0)
		return api_nothing(r);
	if ((n.payment || n.market) && !payment_ours(e, &n)) {
		log_at(api->log, LOG_INFO, "event %.100s of Stripe is not of this market, so it does not count", n.id);
		return api_nothing(r);
	}
	if (n.payment && !stripe_in_mode(api->stripe, n.live))
		return payment_refuse(api, q, r, n.id,
			n.live ? "it is of Stripe's live mode, and the key in --stripe-key-file of its test mode"
			       : "it is of Stripe's test mode, and the key in --stripe-key-file of its live mode");
	if (rc < 0)
		return payment_uncounted(api, q, r, &n, why.text);
	ev.account = payment_account(e, &n);
	ev.text = n.part;
	ev.u.payment.step = n.step;
	ev.u.payment.micros = n.micros;
	rc = payment_count(api, q, &ev, n.payment, &why);
	if ((rc == 0 || rc == REASON_NAME_TAKEN) && ev.account)
		rc = payment_claim_all(api, q, ev.account, n.payment, &why);
	if (rc == 0 || rc == REASON_NAME_TAKEN)
		return api_nothing(r);
	return rc == REASON_UNAVAILABLE ? api_failed(q, r, rc, NULL, &why) : payment_uncounted(api, q, r, &n, why.text);
}

static int post_stripe(struct api *api, const struct request *q, struct reply *r)
{
	const char *const *secrets = NULL;
	struct fail why = { 0 };
	const char *type;
	size_t count = 0;
	json_t *event;
	int status;

	if (api->stripe)
		secrets = stripe_secrets(api->stripe, &count);
	if (!count)
		return api_refuse(q, r, REASON_NOT_IMPLEMENTED, NULL, "this market takes no payments");
	if (!q->raw || webhook_signed(q->signature, q->raw, q->raw_len, secrets, count, market_now(api->market), &why))
		return api_refuse(q, r, REASON_MALFORMED, NULL, "%s", q->raw ? why.text : "there is no body");
	event = json_loadb(q->raw, q->raw_len, 0, NULL);
	if (!event)
		return payment_refuse(api, q, r, NULL, "it is not JSON");
	type = json_string_value(json_object_get(event, "type"));
	status = type && strcmp(type, "transfer.reversed") == 0 ? np_transfer_told(api, q, r, event)
								: payment_take(api, q, r, event);
	json_decref(event);
	return status;
}

/* ---- Whose it is ------------------------------------------------------------------------- */

static const struct payment *payment_named(const struct engine *e, const struct request *q, struct reply *r)
{
	const struct payment *p = engine_payment_known(e, q->parts[0]);
	uint64_t id;

	if (!p && ident_parse(IDENT_PAYMENT, q->parts[0], &id))
		p = engine_payment(e, id);
	if (!p)
		api_refuse(q, r, REASON_NOT_FOUND, "payment", "no payment '%.255s'", q->parts[0]);
	return p;
}

/* Such as one of another market's: each of its parts comes to nothing, at a step that nothing goes beyond. */
static int post_dismiss(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct payment *p = payment_named(e, q, r);
	struct event ev = { .kind = EVENT_PAYMENT, .u.payment.step = PAYMENT_MAX };
	struct fail why = { 0 };
	int rc = 0;

	if (!p)
		return r->status;
	if (p->account)
		return api_refuse(q, r, REASON_WRONG_STATE, "payment", "the payment is an account's");
	ev.name = p->reference;
	for (size_t i = 0; i < p->part_count && !rc; i++) {
		ev.text = p->parts[i].reference;
		rc = p->parts[i].step == PAYMENT_MAX ? 0 : payment_apply(api, q, &ev, &why);
	}
	return rc ? api_failed(q, r, rc, "payment", &why) : api_json(q, r, 200, payment_json(e, p));
}

static int post_claim(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *to = body_text(q->body, "account");
	const struct account *a = np_find_account(e, to);
	const struct payment *p = payment_named(e, q, r);
	struct event ev = { .kind = EVENT_PAYMENT };
	struct fail why = { 0 };
	int rc;

	if (!p)
		return r->status;
	if (!a)
		return api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%.255s'", to);
	ev.account = a->id;
	ev.name = p->reference;
	rc = p->account == a->id ? 0 : payment_apply(api, q, &ev, &why);
	rc = rc ? rc : payment_claim_all(api, q, a->id, p->reference, &why);
	return rc ? api_failed(q, r, rc, "account", &why) : api_json(q, r, 200, payment_json(e, p));
}

/* ---- Shapes ------------------------------------------------------------------------------ */

#define DOLLARS_MICROS(name) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, NULL }, \
	{ \
		name "_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL \
	}

static const struct schema_field topup_request[] = {
	{ "amount_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "whole cents" },
	{ "return_url", SCHEMA_STRING, FIELD_NULL, NULL, 8, 1000,
		"where the page leads back to; default: the market's own address" },
	{ 0 },
};

static const struct schema_field topup_fields[] = {
	OBJECT_IS("topup"),
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the checkout, as the payment service calls it" },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "open", 0, 0, NULL },
	{ "url", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the page where one pays" },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("expires_at", FIELD_REQUIRED | FIELD_NULL),
	DOLLARS_MICROS("amount"),
	{ 0 },
};

static const struct schema_field topup_state[] = {
	OBJECT_IS("topup_state"),
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "paid", 0, 0, NULL },
	{ "payment", SCHEMA_REF, FIELD_REQUIRED, "np.Payment", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field part_fields[] = {
	{ "reference", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "a checkout, a charge with its refunds, a dispute" },
	DOLLARS_MICROS("amount"),
	{ 0 },
};

static const struct schema_field payment_fields[] = {
	OBJECT_IS("payment"),
	ID_OF("pay"),
	{ "reference", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "as the payment service calls it" },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "null: nobody knows whose it is" },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	{ "parts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.PaymentPart", 0, 0, NULL },
	DOLLARS_MICROS("amount"),
	{ 0 },
};

static const struct schema_field claim_request[] = {
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "id or name: whose it is" },
	{ 0 },
};

static const struct schema_field payment_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Payment", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_payment[] = {
	OBJECT("np.TopupRequest", topup_request),
	OBJECT("np.Topup", topup_fields),
	OBJECT("np.TopupState", topup_state),
	OBJECT("np.PaymentPart", part_fields),
	OBJECT("np.Payment", payment_fields),
	OBJECT("np.ClaimRequest", claim_request),
	OBJECT("np.PaymentList", payment_list),
	{ 0 },
};

const struct route api_np_payment_routes[] = {
	{ METHOD_POST, "/np/v1/topups", np_topup, SCOPE_READ, ROUTE_CREATES,
		"Make a page where somebody pays for the account", NULL, "np.TopupRequest", "np.Topup", 201 },
	{ METHOD_GET, "/np/v1/topups/{id}", get_topup, SCOPE_READ, 0,
		"Get a top-up that was paid; 404: it is not paid yet", NULL, NULL, "np.TopupState", 200 },
	{ METHOD_POST, "/np/v1/stripe", post_stripe, 0, ROUTE_OPEN | ROUTE_RAW,
		"Take an event of Stripe's, by its signature", NULL, NULL, NULL, 204 },
	{ METHOD_GET, "/np/v1/payments", list_payments, SCOPE_READ, 0, "List payments",
		"unclaimed:boolean,limit:integer,starting_after:string", NULL, "np.PaymentList", 200 },
	{ METHOD_POST, "/np/v1/payments/{payment}/claim", post_claim, SCOPE_ADMIN, 0,
		"Say whose a payment is that nobody knew", NULL, "np.ClaimRequest", "np.Payment", 200 },
	{ METHOD_POST, "/np/v1/payments/{payment}/dismiss", post_dismiss, SCOPE_ADMIN, 0,
		"Say that a payment is of no account here", NULL, NULL, "np.Payment", 200 },
	{ 0 },
};
