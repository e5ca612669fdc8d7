/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payouts that the market sends by itself, by Stripe Connect. What is asked for is found in the engine, also after a
 * restart. Before each try Stripe is asked whether it has the transfer, and the try bears the payout's own key: so one
 * payout is sent once, wherever this market or the line ended in between.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/auditlog.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/market_id.h"
#include "marketd/api/np/np.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/stripe/stripe_connect.h"
#include "marketd/stripe/webhook.h"

enum {
	SENDS_AT_ONCE = 4,
	SENDS_GROW = 256,
	SENDS_HELD_MOST = 1 << 20,
	SEND_RETRY_MS = 1000,
	SEND_HELD_MS = 5000,
	SEND_RETRY_MOST_MS = 3600000,
	SEND_DOUBLINGS = 12,
	SEND_CENT = 10000
};

/* One payout on its way. */
struct sending {
	uint64_t payout;
	struct errand *errand; /* NULL: it waits */
	bool looks;            /* the errand asks whether it was sent */
	bool begun;            /* Stripe was asked to send it, so it may be known there later */
	int tries;
	int64_t due_ms;
	char market[MARKET_TEXT], id[IDENT_TEXT], to[CONNECT_ID]; /* of the errand */
	struct connect_transfer call;
};

struct sendings {
	struct sending *list[SENDS_AT_ONCE * 256];
	size_t count;
	int running;
	uint64_t *held; /* in order: their accounts owe or are suspended, and Stripe has no transfer of them */
	size_t held_count;
	int64_t held_ms; /* when they are looked at again */
	uint64_t seen;   /* the last payout that was looked at */
};

/* ---- Which ones -------------------------------------------------------------------------- */

/* The account's own at Stripe. "": none. */
static const char *sending_to(const struct api *api, uint64_t account, char room[CONNECT_ID])
{
	const struct account *a = engine_account(market_engine(api->market), account);
	json_t *facts = a && a->facts ? decide_facts(a, market_now(api->market)) : NULL;
	const char *text = json_string_value(json_object_get(facts, NP_STRIPE_ACCOUNT));

	snprintf(room, CONNECT_ID, "%s", text && strlen(text) < CONNECT_ID ? text : "");
	json_decref(facts);
	return room;
}

const char *np_payout_waits(const struct engine *e, const struct payout *p)
{
	const struct account *a = engine_account(e, p->account);

	if (p->state != PAYOUT_ASKED)
		return NULL;
	return a->state == ACCOUNT_SUSPENDED ? "the account is suspended"
		: account_owed(a)            ? "the account owes money"
					     : NULL;
}

bool np_could_send(const struct api *api, const struct payout *p)
{
	char room[CONNECT_ID];

	return p->state == PAYOUT_ASKED && p->micros % SEND_CENT == 0 && *sending_to(api, p->account, room);
}

bool np_sends(const struct api *api, const struct payout *p)
{
	return api->sends_payouts && np_could_send(api, p);
}

static bool sendings_full(const struct sendings *t)
{
	return t->count == sizeof t->list / sizeof *t->list;
}

static void sending_add(const struct api *api, struct sendings *t, uint64_t payout)
{
	struct sending *x;

	for (size_t i = 0; i < t->count; i++)
		if (t->list[i]->payout == payout)
			return;
	x = calloc(1, sizeof *x);
	if (!x)
		return;
	x->payout = payout;
	x->due_ms = api->now_ms;
	t->list[t->count++] = x;
}

/* Where it is among the held ones, or would be. */
static size_t held_at(const struct sendings *t, uint64_t payout)
{
	size_t low = 0, high = t->held_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->held[mid] < payout)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool held_has(const struct sendings *t, uint64_t payout)
{
	size_t i = held_at(t, payout);

	return i < t->held_count && t->held[i] == payout;
}

/* false: there is no room. */
static bool held_add(struct sendings *t, uint64_t payout)
{
	size_t i = held_at(t, payout);

	if (t->held_count == SENDS_HELD_MOST)
		return false;
	if (t->held_count % SENDS_GROW == 0) {
		uint64_t *more = reallocarray(t->held, t->held_count + SENDS_GROW, sizeof *more);

		if (!more)
			return false;
		t->held = more;
	}
	memmove(t->held + i + 1, t->held + i, (t->held_count++ - i) * sizeof *t->held);
	t->held[i] = payout;
	return true;
}

/* Those whose account waits no longer are taken up again. */
static void held_turn(const struct api *api, struct sendings *t)
{
	const struct engine *e = market_engine(api->market);
	size_t kept = 0;

	if (api->now_ms < t->held_ms)
		return;
	t->held_ms = api->now_ms + SEND_HELD_MS;
	for (size_t i = 0; i < t->held_count; i++) {
		const struct payout *p = engine_payout(e, t->held[i]);

		if (!p || p->state != PAYOUT_ASKED)
			continue;
		if (np_payout_waits(e, p) || sendings_full(t))
			t->held[kept++] = p->id;
		else
			sending_add(api, t, p->id);
	}
	t->held_count = kept;
}

/* What more was asked for, as far as there is room: the rest is looked at once some are sent. */
static void sending_scan(const struct api *api, struct sendings *t)
{
	const struct payout *p = engine_payout_after(market_engine(api->market), 0, t->seen);

	for (; p && !sendings_full(t); p = engine_payout_after(market_engine(api->market), 0, p->id)) {
		t->seen = p->id;
		if (p->state == PAYOUT_ASKED && !held_has(t, p->id) && np_sends(api, p))
			sending_add(api, t, p->id);
	}
}

static void sending_drop(struct sendings *t, size_t i)
{
	struct sending *x = t->list[i];

	t->running -= x->errand != NULL;
	connect_end(x->errand);
	free(x);
	t->list[i] = t->list[--t->count];
}

/* ---- What came of it --------------------------------------------------------------------- */

/* Nobody can be asked again for what Stripe sent, so no quota stops it. */
static int sending_note(struct api *api, struct event *ev, struct fail *why)
{
	const struct request own = { .account = ev->account };
	const struct effects *did;
	int rc = market_apply(api->market, ev, &did, why);

	if (rc == 0)
		auditlog_note(api, &own, ev, effects_made(did));
	return rc;
}

static int sending_sent(struct api *api, const struct payout *p, const char *id, struct fail *why)
{
	struct event ev = { .kind = EVENT_PAYOUT,
		.account = p->account,
		.subject = p->id,
		.name = id,
		.u.payout.state = PAYOUT_SENT };

	return sending_note(api, &ev, why);
}

static int sending_back(struct api *api, const struct payout *p, int64_t micros, const char *text, struct fail *why)
{
	struct event ev = { .kind = EVENT_PAYOUT,
		.account = p->account,
		.subject = p->id,
		.text = text,
		.u.payout = { .state = PAYOUT_FAILED, .micros = micros } };

	return sending_note(api, &ev, why);
}

static void sending_later(struct api *api, struct sending *x, const char *why)
{
	int64_t ms = (int64_t)SEND_RETRY_MS << (x->tries < SEND_DOUBLINGS ? x->tries : SEND_DOUBLINGS);
	char id[IDENT_TEXT];

	ms = ms < SEND_RETRY_MOST_MS ? ms : SEND_RETRY_MOST_MS;
	x->tries++;
	x->due_ms = api->now_ms + ms;
	log_at(api->log, LOG_WARN, "payout %s is not known to be sent: %s; Stripe is asked again in %" PRId64 " s",
		ident_text(IDENT_PAYOUT, x->payout, id), why, ms / 1000);
}

static void sending_start(struct api *api, struct sendings *t, struct sending *x, bool looks)
{
	struct fail why = { 0 };
	int rc = looks ? connect_look(api->stripe, &x->call, &x->errand, &why)
		       : connect_send(api->stripe, &x->call, &x->errand, &why);

	x->looks = looks;
	if (rc)
		sending_later(api, x, why.text);
	else
		t->running++;
}

/* Whether it is over. */
static bool sending_took(struct api *api, struct sendings *t, struct sending *x, const struct payout *p)
{
	struct connect_news n;
	struct fail why = { 0 };
	int rc;

	connect_take(x->errand, x->looks, &x->call, &n);
	connect_end(x->errand);
	x->errand = NULL;
	t->running--;
	if (n.word == CONNECT_NONE && np_payout_waits(market_engine(api->market), p)) {
		x->due_ms = api->now_ms + SEND_HELD_MS;
		return !x->begun && held_add(t, p->id); /* a call that was not answered may still arrive */
	}
	if (n.word == CONNECT_NONE) {
		x->begun = true;
		sending_start(api, t, x, false);
		return false;
	}
	if (n.word == CONNECT_UNKNOWN) {
		sending_later(api, x, n.says);
		return false;
	}
	rc = n.word == CONNECT_SENT ? sending_sent(api, p, n.id, &why) : sending_back(api, p, p->micros, n.says, &why);
	if (rc)
		sending_later(api, x, why.text);
	return rc == 0;
}

static void sending_begin(struct api *api, struct sendings *t, struct sending *x, const struct payout *p)
{
	x->call = (struct connect_transfer){ .market = market_id(market_engine(api->market), x->market),
		.payout = ident_text(IDENT_PAYOUT, p->id, x->id),
		.to = sending_to(api, p->account, x->to),
		.cents = p->micros / SEND_CENT };
	sending_start(api, t, x, true);
}

enum transfer np_transfer(const struct api *api, const struct payout *p)
{
	const struct sendings *t = api->sendings;

	for (size_t i = 0; t && i < t->count; i++)
		if (t->list[i]->payout == p->id)
			return TRANSFER_BUSY;
	if (t && held_has(t, p->id))
		return TRANSFER_HELD;
	return np_sends(api, p) ? TRANSFER_BUSY : np_could_send(api, p) ? TRANSFER_DOUBTED : TRANSFER_NONE;
}

/* Only what is on disk is sent: else a market that fell would not know of it. */
void np_transfers_turn(struct api *api)
{
	struct sendings *t = api->sendings;

	if (!api->sends_payouts || !market_ready(api->market) || market_dirty(api->market))
		return;
	if (!t)
		t = api->sendings = calloc(1, sizeof *t);
	if (!t)
		return;
	if (api->payees_changed)
		t->seen = 0;
	api->payees_changed = false;
	held_turn(api, t);
	sending_scan(api, t);
	for (size_t i = t->count; i-- > 0;) {
		struct sending *x = t->list[i];
		const struct payout *p;

		if (x->errand ? connect_runs(x->errand) : x->due_ms > api->now_ms || t->running >= SENDS_AT_ONCE)
			continue;
		p = engine_payout(market_engine(api->market), x->payout);
		if (!p || (x->errand ? sending_took(api, t, x, p) : !np_sends(api, p)))
			sending_drop(t, i);
		else if (!x->errand && x->due_ms <= api->now_ms)
			sending_begin(api, t, x, p);
	}
}

int np_transfers_timeout(const struct api *api)
{
	const struct sendings *t = api->sendings;
	int64_t ms = -1;

	if (!api->sends_payouts || !market_ready(api->market))
		return -1;
	if (!t || api->payees_changed ||
		(!sendings_full(t) && engine_payout_after(market_engine(api->market), 0, t->seen)))
		return 0;
	if (t->held_count)
		ms = t->held_ms > api->now_ms ? t->held_ms - api->now_ms : 0;
	for (size_t i = 0; t->running < SENDS_AT_ONCE && i < t->count; i++) {
		int64_t left = t->list[i]->due_ms - api->now_ms;

		if (!t->list[i]->errand && (ms < 0 || left < ms))
			ms = left > 0 ? left : 0;
	}
	return (int)ms;
}

void np_transfers_close(struct api *api)
{
	while (api->sendings && api->sendings->count)
		sending_drop(api->sendings, 0);
	if (api->sendings)
		free(api->sendings->held);
	free(api->sendings);
	api->sendings = NULL;
}

/* ---- What came back ---------------------------------------------------------------------- */

/*
 * 0, also where it is known; or a reason. All that came back of it so far is told each time, so any order does. What
 * came back was sent, also where the market does not know that yet, or the operator cancelled it in doubt.
 */
static int reversal_take(struct api *api, const json_t *o, const struct payout *p, struct fail *why)
{
	int64_t micros = json_integer_value(json_object_get(o, "amount_reversed")) * SEND_CENT;
	const char *id = json_string_value(json_object_get(o, "id"));
	int rc;

	if (!id || micros < 1 || micros > p->micros)
		return fail_set(why, REASON_INVALID, "it says no part of what was sent");
	rc = p->state == PAYOUT_ASKED || p->state == PAYOUT_CANCELLED ? sending_sent(api, p, id, why) : 0;
	if (rc)
		return rc;
	if (!p->reference || strcmp(p->reference, id) != 0)
		return fail_set(why, REASON_INVALID, "the payout was not sent by this transfer");
	rc = p->state == PAYOUT_FAILED || micros <= p->back
		? 0
		: sending_back(api, p, micros, "Stripe reversed the transfer", why);
	return rc;
}

int np_transfer_told(struct api *api, const struct request *q, struct reply *r, const json_t *event)
{
	const json_t *o = json_object_get(json_object_get(event, "data"), "object"),
		     *meta = json_object_get(o, "metadata");
	const char *market = json_string_value(json_object_get(meta, WEBHOOK_MARKET)),
		   *payout = json_string_value(json_object_get(meta, CONNECT_PAYOUT));
	const struct engine *e = market_engine(api->market);
	const struct payout *p = NULL;
	struct fail why = { 0 };
	char own[MARKET_TEXT];
	uint64_t id;
	int rc;

	if (payout && ident_parse(IDENT_PAYOUT, payout, &id))
		p = engine_payout(e, id);
	if (!market || strcmp(market, market_id(e, own)) != 0 || !p)
		return api_nothing(r); /* another market's, or no payout at all */
	if (!stripe_in_mode(api->stripe, json_is_true(json_object_get(event, "livemode"))))
		return api_refuse(q, r, REASON_INVALID, NULL, "the market's key is of Stripe's other mode");
	rc = reversal_take(api, o, p, &why);
	if (!rc)
		return api_nothing(r);
	log_at(api->log, LOG_WARN, "audit: Stripe says that payout %s came back, which does not count: %s", payout,
		why.text);
	return rc == REASON_INVALID ? api_nothing(r) : api_failed(q, r, rc, NULL, &why);
}

/* ---- The account at Stripe --------------------------------------------------------------- */

/* Made once, and kept. As stripe_checkout(), or a reason. */
static int setup_account(struct api *api, const struct request *q, uint64_t account, char *to, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	char market[MARKET_TEXT], id[IDENT_TEXT];
	json_t *given;
	int rc;

	if (*sending_to(api, account, to))
		return 0;
	rc = connect_account(api->stripe, market_id(e, market), ident_text(IDENT_ACCOUNT, account, id), to, why);
	if (rc)
		return rc;
	given = json_pack("{s:{s:s}}", NP_STRIPE_ACCOUNT, "value", to);
	rc = given ? np_facts_change(api, q, engine_account(e, account), given, why) : -ENOMEM;
	json_decref(given);
	return rc;
}

int np_payout_setup(struct api *api, const struct request *q, struct reply *r)
{
	char to[CONNECT_ID], id[IDENT_TEXT], key[CHECKOUT_KEY + 1];
	struct checkout_page page;
	struct fail why = { 0 };
	const char *back;
	uint64_t account;
	int rc;

	if (!api_whose(q, r, &account) || !np_return_url(api, q, r, &back))
		return r->status;
	if (!api->sends_payouts)
		return api_refuse(q, r, REASON_NOT_IMPLEMENTED, NULL,
			"the operator of this market sends payouts by hand, so there is nothing to set up");
	snprintf(key, sizeof key, "page-%.50s", q->id);
	rc = setup_account(api, q, account, to, &why);
	rc = rc ? rc : connect_page(api->stripe, key, ident_text(IDENT_ACCOUNT, account, id), to, back, &page, &why);
	if (np_stripe_answered(q, r, rc, &why))
		return r->status;
	if (rc > 0)
		return api_failed(q, r, rc, NULL, &why);
	if (rc)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL,
			"Stripe does not answer, so there is no page yet; try again later");
	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:s, s:s, s:o}", "object", "payout_setup", "account",
			render_id(IDENT_ACCOUNT, account), "id", page.id, "url", page.url, "expires_at",
			page.expires ? json_integer(page.expires) : json_null()));
}
