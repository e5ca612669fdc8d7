/* SPDX-License-Identifier: Apache-2.0 */
/* What an account earned by selling, and what of that it is paid out: it asks, the operator says what became of it. */
#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"

enum { CENT_OF_MICROS = 10000, PAYOUT_LEAST = 1000000, PAYOUTS_ASKED_MOST = 10 };

static json_t *payout_json(const struct engine *e, const struct payout *p)
{
	static const char *const states[] = { "asked", "sent", "failed", "cancelled" };
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:o}", "object", "payout", "id",
		render_id(IDENT_PAYOUT, p->id), "account", render_id(IDENT_ACCOUNT, p->account), "account_name",
		render_text(engine_account(e, p->account)->name), "state", states[p->state], "reference",
		render_text(p->reference), "reason", render_text(p->why), "waits", render_text(np_payout_waits(e, p)),
		"created_at", (json_int_t)p->created_at, "updated_at",
		p->updated_at ? json_integer(p->updated_at) : json_null());

	render_money(o, "amount", p->micros);
	render_money(o, "back", p->back);
	render_money(o, "balance", engine_account(e, p->account)->available);
	return o;
}

static int list_payouts(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	const struct payout *p;
	uint64_t last = 0;
	bool open;
	int64_t limit;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit) || !api_query_bool(q, r, "asked", false, &open))
		return r->status;
	if (after && !ident_parse(IDENT_PAYOUT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of a payout");
	data = json_array();
	for (p = engine_payout_after(e, q->account, last); p && limit; p = engine_payout_after(e, q->account, p->id)) {
		if (open && p->state != PAYOUT_ASKED)
			continue;
		json_array_append_new(data, payout_json(e, p));
		last = p->id;
		limit--;
	}
	return api_json(q, r, 200,
		render_list(data, json_array_size(data) ? render_id(IDENT_PAYOUT, last) : NULL, p != NULL));
}

static int get_income(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a;
	uint64_t account;
	json_t *o;

	if (!api_whose(q, r, &account))
		return r->status;
	a = engine_account(e, account);
	o = json_pack("{s:s, s:o, s:i}", "object", "income", "account", render_id(IDENT_ACCOUNT, account), "hold_hours",
		(int)api->payout_hold);
	render_money(o, "earned", a->income.earned);
	render_money(o, "paid", a->income.paid);
	render_money(o, "payable", engine_payout_room(e, account, api->payout_hold));
	return api_json(q, r, 200, o);
}

/* Money leaves the market: that takes who may make tokens for the account, or does its bills, and no weaker token. */
static bool payout_may(const struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct person *x = engine_person(e, q->person);
	const struct token *t = engine_token(e, q->token), *spends = engine_token(e, api_spender(e, q));
	int32_t all = auth_role_scopes(ROLES_ALL); /* what a sign-in has; a token that somebody made may have less */
	bool bills = x && t && (x->roles & (ROLE_OWNER | ROLE_BILLING)) && (t->scopes & all) == all;

	if (!bills && !q->local && !(q->scopes & (SCOPE_TOKENS | SCOPE_ADMIN)))
		api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"payouts are for people with the role owner or billing, by their sign-in, and for tokens with "
			"the scope tokens");
	else if (spends && spends->spending.capped)
		api_refuse(q, r, REASON_FORBIDDEN, NULL,
			"a token with a cap asks for no payouts and cancels none: use a token that has none");
	else
		return true;
	return false;
}

static int payout_answer(struct api *api, const struct request *q, struct reply *r, struct event *ev, int status,
	const char *field)
{
	const struct engine *e = market_engine(api->market);
	const struct effects *did;
	struct fail why = { 0 };
	int rc = api_apply(api, q, ev, &did, &why);

	return rc ? api_failed(q, r, rc, field, &why)
		  : api_json(q, r, status,
			    payout_json(e, engine_payout(e, ev->subject ? ev->subject : effects_made(did))));
}

/* As many as somebody may wait for, and none that costs more to send than it brings. */
static int payout_small(struct api *api, const struct request *q, struct reply *r, uint64_t account, int64_t micros)
{
	size_t asked = engine_account(market_engine(api->market), account)->asked.count;
	char least[MONEY_TEXT];

	if (micros < PAYOUT_LEAST)
		return api_refuse(q, r, REASON_INVALID, "amount_dollars", "a payout is at least %s",
			money_text(PAYOUT_LEAST, least));
	return asked < PAYOUTS_ASKED_MOST
		? 0
		: api_refuse(q, r, REASON_LIMIT, NULL,
			  "%zu payouts are asked for and not sent yet; wait for one of them, or "
			  "take one back with 'nanopod payout cancel'",
			  asked);
}

/* Where the market sends it itself: refused until it can. */
static int payout_early(struct api *api, const struct request *q, struct reply *r, uint64_t account, int64_t micros)
{
	const struct payout would = { .account = account, .micros = micros / CENT_OF_MICROS * CENT_OF_MICROS };

	if (!api->sends_payouts)
		return 0;
	if (would.micros != micros)
		return api_refuse(q, r, REASON_INVALID, "amount_dollars", "'amount_dollars' is whole cents");
	return np_sends(api, &would) ? 0
				     : api_refuse(q, r, REASON_WRONG_STATE, NULL,
					       "Stripe does not know yet whom it pays; type 'nanopod payout setup'");
}

/* One that the market sends: it alone knows what became of it. */
static int payout_away(struct api *api, const struct request *q, struct reply *r, const struct payout *p)
{
	return np_sends(api, p) ? api_refuse(q, r, REASON_WRONG_STATE, "payout",
					  "the market itself sends this payout by Stripe, and says what became of it")
				: 0;
}

static int post_setup(struct api *api, const struct request *q, struct reply *r)
{
	return payout_may(api, q, r) ? np_payout_setup(api, q, r) : r->status;
}

static int post_payout(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_PAYOUT, .u.payout.hold = api->payout_hold };
	char room[MONEY_TEXT];
	int64_t payable;

	if (!payout_may(api, q, r) || !api_whose(q, r, &ev.account) ||
		!body_money(q, r, q->body, "amount_dollars", &ev.u.payout.micros))
		return r->status;
	if (payout_small(api, q, r, ev.account, ev.u.payout.micros) ||
		payout_early(api, q, r, ev.account, ev.u.payout.micros))
		return r->status;
	payable = engine_payout_room(e, ev.account, api->payout_hold);
	if (engine_account(e, ev.account)->state == ACCOUNT_OPEN && ev.u.payout.micros > payable)
		return api_refuse(q, r, REASON_FUNDS, "amount_dollars",
			"%s can be paid out now: what was earned by selling more than %d hours ago, and is still there",
			money_text(payable, room), (int)api->payout_hold);
	return payout_answer(api, q, r, &ev, 201, "amount_dollars");
}

/* NULL: refused. */
static const struct payout *payout_named(const struct engine *e, const struct request *q, struct reply *r)
{
	const struct payout *p = NULL;
	uint64_t id;

	if (ident_parse(IDENT_PAYOUT, q->parts[0], &id))
		p = engine_payout(e, id);
	if (!p)
		api_refuse(q, r, REASON_NOT_FOUND, "payout", "no payout '%.255s'", q->parts[0]);
	return p;
}

static int post_paid(struct api *api, const struct request *q, struct reply *r)
{
	const struct payout *p = payout_named(market_engine(api->market), q, r);
	struct event ev = { .kind = EVENT_PAYOUT, .u.payout.state = PAYOUT_SENT };
	bool already = json_is_true(json_object_get(q->body, "already"));

	if (!p || payout_away(api, q, r, p))
		return r->status;
	if (p->state == PAYOUT_CANCELLED && !already)
		return api_refuse(q, r, REASON_WRONG_STATE, "payout",
			"the payout was cancelled; if you sent it before, type: nanopod admin payout paid %s "
			"--already-sent",
			q->parts[0]);
	if (np_payout_waits(market_engine(api->market), p) && !already)
		return api_refuse(q, r, REASON_WRONG_STATE, "payout",
			"%s, so this payout waits; 'nanopod admin payout cancel %s' gives the account its money, "
			"--already-sent says that it was sent before",
			np_payout_waits(market_engine(api->market), p), q->parts[0]);
	ev.account = p->account;
	ev.subject = p->id;
	ev.name = body_text(q->body, "reference");
	return payout_answer(api, q, r, &ev, 200, "payout");
}

static int post_failed(struct api *api, const struct request *q, struct reply *r)
{
	const struct payout *p = payout_named(market_engine(api->market), q, r);
	struct event ev = { .kind = EVENT_PAYOUT, .u.payout.state = PAYOUT_FAILED };

	if (!p || payout_away(api, q, r, p))
		return r->status;
	ev.account = p->account;
	ev.subject = p->id;
	ev.text = body_text(q->body, "reason");
	ev.u.payout.micros = p->micros;
	return payout_answer(api, q, r, &ev, 200, "payout");
}

/* By the account, or by the operator. */
static int post_cancel(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_PAYOUT, .u.payout.state = PAYOUT_CANCELLED };
	bool operates = np_allowed(q) & SCOPE_ADMIN;
	const struct payout *p;
	enum transfer word;

	if (!payout_may(api, q, r))
		return r->status;
	p = payout_named(e, q, r);
	if (!p)
		return r->status;
	if (!operates && p->account != q->account)
		return api_refuse(q, r, REASON_NOT_FOUND, "payout", "no payout '%.255s'", q->parts[0]);
	word = np_transfer(api, p);
	if (word == TRANSFER_BUSY)
		return api_refuse(q, r, REASON_WRONG_STATE, "payout",
			"the market is sending this payout by Stripe, so it cannot be cancelled");
	if (word == TRANSFER_DOUBTED && !operates)
		return api_refuse(q, r, REASON_WRONG_STATE, "payout",
			"Stripe may have sent this payout, so only the market's operator can cancel it");
	ev.account = p->account;
	ev.subject = p->id;
	return payout_answer(api, q, r, &ev, 200, "payout");
}

/* ---- Shapes ------------------------------------------------------------------------------ */

#define PAYOUT_MONEY(name) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, NULL }, \
	{ \
		name "_micros", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL \
	}

static const struct schema_field payout_request[] = {
	{ "amount_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "up to what is payable" },
	{ 0 },
};

static const struct schema_field paid_request[] = {
	{ "reference", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "as the bank calls it" },
	{ "already", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0,
		"it was sent before the account owed, was suspended or cancelled it" },
	{ 0 },
};

static const struct schema_field payout_failed_request[] = {
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, WHY_BYTES, "why; the account sees it" },
	{ 0 },
};

static const struct schema_field payout_fields[] = {
	OBJECT_IS("payout"),
	ID_OF("po"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "asked|sent|failed|cancelled", 0, 0, NULL },
	{ "reference", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "as the bank calls it" },
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "why it came back" },
	{ "waits", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "why it is not sent for now" },
	TIME("created_at", FIELD_REQUIRED),
	TIME("updated_at", FIELD_REQUIRED | FIELD_NULL),
	PAYOUT_MONEY("amount"),
	PAYOUT_MONEY("back"),
	PAYOUT_MONEY("balance"),
	{ 0 },
};

static const struct schema_field income_fields[] = {
	OBJECT_IS("income"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "hold_hours", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "how long what was earned waits" },
	PAYOUT_MONEY("earned"),
	PAYOUT_MONEY("paid"),
	PAYOUT_MONEY("payable"),
	{ 0 },
};

static const struct schema_field payout_setup_request[] = {
	{ "return_url", SCHEMA_STRING, FIELD_NULL, NULL, 8, 1000,
		"where the page leads back to; default: the market's own address" },
	{ 0 },
};

static const struct schema_field payout_setup_fields[] = {
	OBJECT_IS("payout_setup"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the account's own at Stripe" },
	{ "url", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "of the page where its owner says who is paid, and where" },
	TIME("expires_at", FIELD_REQUIRED | FIELD_NULL),
	{ 0 },
};

static const struct schema_field payout_list[] = {
	OBJECT_IS("list"),
	{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Payout", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_payout[] = {
	OBJECT("np.PayoutRequest", payout_request),
	OBJECT("np.PayoutPaidRequest", paid_request),
	OBJECT("np.PayoutFailedRequest", payout_failed_request),
	OBJECT("np.Payout", payout_fields),
	OBJECT("np.PayoutSetupRequest", payout_setup_request),
	OBJECT("np.PayoutSetup", payout_setup_fields),
	OBJECT("np.PayoutList", payout_list),
	OBJECT("np.Income", income_fields),
	{ 0 },
};

const struct route api_np_payout_routes[] = {
	{ METHOD_GET, "/np/v1/income", get_income, SCOPE_READ, 0,
		"Get what the account earned by selling, and what of it can be paid out", NULL, NULL, "np.Income",
		200 },
	{ METHOD_GET, "/np/v1/payouts", list_payouts, SCOPE_READ, 0, "List payouts",
		"asked:boolean,limit:integer,starting_after:string", NULL, "np.PayoutList", 200 },
	{ METHOD_POST, "/np/v1/payouts", post_payout, SCOPE_READ, ROUTE_CREATES,
		"Ask to be paid out what was earned by selling", NULL, "np.PayoutRequest", "np.Payout", 201 },
	{ METHOD_POST, "/np/v1/payouts/setup", post_setup, SCOPE_READ, 0,
		"Get a page of Stripe's where the account says whom to pay", NULL, "np.PayoutSetupRequest",
		"np.PayoutSetup", 200 },
	{ METHOD_POST, "/np/v1/payouts/{payout}/cancel", post_cancel, SCOPE_READ, 0,
		"Take back a payout that was not sent: the account has its money again", NULL, NULL, "np.Payout", 200 },
	{ METHOD_POST, "/np/v1/payouts/{payout}/paid", post_paid, SCOPE_ADMIN, 0, "Say that a payout was sent", NULL,
		"np.PayoutPaidRequest", "np.Payout", 200 },
	{ METHOD_POST, "/np/v1/payouts/{payout}/failed", post_failed, SCOPE_ADMIN, 0,
		"Say that a payout was not sent, or came back: the account has its money again", NULL,
		"np.PayoutFailedRequest", "np.Payout", 200 },
	{ 0 },
};
