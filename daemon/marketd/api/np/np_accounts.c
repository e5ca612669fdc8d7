/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator manages: accounts, their money, and the types of nodes. */
#include "marketd/api/np/movements.h"
#include "marketd/api/np/np.h"

#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/judge.h"
#include "marketd/api/promise.h"
#include "marketd/api/render.h"

const struct account *np_find_account(const struct engine *e, const char *text)
{
	const struct account *a = NULL;
	uint64_t id;

	if (ident_parse(IDENT_ACCOUNT, text, &id))
		a = engine_account(e, id);
	return a ? a : engine_account_named(e, text);
}

static json_t *account_json(const struct api *api, const struct account *a)
{
	const struct engine *e = market_engine(api->market);

	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:I, s:o, s:o}", "object", "account", "id",
		render_id(IDENT_ACCOUNT, a->id), "name", render_text(a->name), "state", np_account_state(a),
		"beneficiary", render_id(IDENT_ACCOUNT, a->beneficiary), "created_at", (json_int_t)a->created_at,
		"balances", np_balance(e, a), "debt", np_debt(api, a));
}

/* The account of the path; NULL: refused. */
static const struct account *account_of(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = np_find_account(market_engine(api->market), q->parts[0]);

	if (!a)
		api_refuse(q, r, REASON_NOT_FOUND, "account", "no account '%s'", q->parts[0]);
	return a;
}

static bool np_accounts_read_floor(const struct request *q, struct reply *r, int64_t *floor)
{
	const char *text = body_text(q->body, "floor_dollars");

	if (text && (money_parse_wire(text, true, floor) != 0 || *floor > 0)) {
		api_refuse(q, r, REASON_INVALID, "floor_dollars",
			"'floor_dollars' is how far below zero the balance may go, such as \"-100.00\"; it is not "
			"above "
			"zero");
		return false;
	}
	return true;
}

static int post_account(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *beneficiary = body_text(q->body, "beneficiary");
	struct event ev = { .kind = EVENT_ACCOUNT, .name = body_text(q->body, "name") };
	const struct effects *did;
	struct fail why = { 0 };
	int rc;

	if (!np_accounts_read_floor(q, r, &ev.u.account.floor))
		return r->status;
	if (beneficiary) {
		const struct account *b = np_find_account(e, beneficiary);

		if (!b)
			return api_refuse(q, r, REASON_NOT_FOUND, "beneficiary", "no account '%s'", beneficiary);
		ev.u.account.beneficiary = b->id;
	}
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN ? "name" : NULL, &why);
	return api_json(q, r, 201, account_json(api, engine_account(e, effects_made(did))));
}

static int list_accounts(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	int64_t limit, n = 0;
	const struct account *a;
	uint64_t last = 0;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (after && !ident_parse(IDENT_ACCOUNT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of an account");
	data = json_array();
	for (a = engine_account_after(e, last); a && n < limit; a = engine_account_after(e, a->id), n++) {
		json_array_append_new(data, account_json(api, a));
		last = a->id;
	}
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_ACCOUNT, last) : NULL, a != NULL));
}

static int get_account(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = account_of(api, q, r);

	return a ? api_json(q, r, 200, account_json(api, a)) : r->status;
}

static int patch_account(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = account_of(api, q, r);
	const char *state = body_text(q->body, "state");
	struct event ev = { .kind = EVENT_ACCOUNT_STATE, .text = body_text(q->body, "reason") };
	struct fail why = { 0 };
	int rc;

	if (!a)
		return r->status;
	ev.account = ev.subject = a->id;
	ev.u.account_state.state = ACCOUNT_AS_IT_IS;
	ev.u.account_state.floor = a->floor;
	if (state)
		ev.u.account_state.state = strcmp(state, "suspended") == 0 ? ACCOUNT_SUSPENDED : ACCOUNT_OPEN;
	if (!np_accounts_read_floor(q, r, &ev.u.account_state.floor))
		return r->status;
	rc = api_apply(api, q, &ev, NULL, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : get_account(api, q, r);
}

enum { PAID_POSTINGS = 1000, PAID_PAGES = 100 };

static void paid_add(int64_t *sum, int64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = INT64_MAX;
}

/*
 * What the pool's account has paid for its time for good, and what of that was refunded already. 0, or a reason:
 * REASON_LIMIT where its ledger is too long to be added up in one request.
 *
 * What is in escrow does not count: it is not paid yet. It is settled within the policy's settle_minutes, or comes back
 * by itself, where the host was down or time is released; counted here it could come back twice.
 */
static int paid_for(struct api *api, const struct pool *pool, int64_t *paid, int64_t *refunded, struct fail *f)
{
	struct movement_page p = { .account = pool->account,
		.from = pool->created_at,
		.to = INT64_MAX,
		.limit = PAID_POSTINGS,
		.more = true };
	int64_t in = 0, back = 0;
	int rc = 0;

	for (int i = 0; !rc && p.more; i++) {
		if (i == PAID_PAGES)
			rc = fail_set(f, REASON_LIMIT,
				"the account's ledger since then is too long to be added up here; 'nanopod admin "
				"credit' "
				"gives money without that");
		rc = rc ? rc : movements_read(api, &p, f);
		for (size_t k = 0; !rc && k < p.count; k++) {
			const struct movement *m = &p.list[k];

			if (m->pool == pool->id && (m->kind == MOVEMENT_USAGE || m->kind == MOVEMENT_FORFEIT))
				paid_add(&in, m->gross);
			else if (m->kind == MOVEMENT_CREDIT && movement_refunds(api, m->seq) == pool->id)
				paid_add(&back, m->gross);
		}
		movement_page_release(&p);
	}
	if (rc)
		return rc;
	*paid = in;
	*refunded = back;
	return 0;
}

/* Nobody gets back more for a reservation than was paid for it. 0 or a reason. */
static int refund_check(struct api *api, const struct pool *p, int64_t micros, struct fail *why)
{
	char want[MONEY_TEXT], in[MONEY_TEXT], back[MONEY_TEXT];
	int64_t paid, refunded;
	int rc = paid_for(api, p, &paid, &refunded, why);

	if (rc || micros <= paid - refunded)
		return rc;
	return fail_set(why, REASON_LIMIT,
		"%s is more than was paid for '%.255s': %s so far, of which %s is refunded already; what is in escrow "
		"is not "
		"paid yet",
		money_text(micros, want), p->name, money_text(paid, in), money_text(refunded, back));
}

static int post_credit(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a = account_of(api, q, r);
	const char *of = body_text(q->body, "reservation");
	struct event ev = { .kind = EVENT_CREDIT, .text = body_text(q->body, "reason") };
	const struct pool *p = a && of ? find_pool(e, a->id, of) : NULL;
	struct fail why = { 0 };
	char id[IDENT_TEXT];
	json_t *o;
	int rc;

	if (!a)
		return r->status;
	ev.account = ev.subject = a->id;
	if (of && !p)
		return api_refuse(q, r, REASON_NOT_FOUND, "reservation", "account '%.255s' has no reservation '%.255s'",
			a->name, of);
	if (p) /* a name changes, this does not */
		ev.name = ident_text(IDENT_POOL, p->id, id);
	if (money_parse_wire(body_text(q->body, "amount_dollars"), true, &ev.u.credit.micros) != 0)
		return api_refuse(q, r, REASON_INVALID, "amount_dollars",
			"'amount_dollars' is a decimal with up to six places, such as \"100.00\"; \"-100.00\" takes it "
			"back");
	if (p && (ev.u.credit.micros < 0 || !ev.text))
		return api_refuse(q, r, REASON_INVALID, ev.text ? "amount_dollars" : "reason", "%s",
			ev.text ? "a refund is above zero" : "a refund needs a reason; the account sees it");
	rc = p ? refund_check(api, p, ev.u.credit.micros, &why) : 0;
	rc = rc ? rc : api_apply(api, q, &ev, NULL, &why);
	if (rc)
		return api_failed(q, r, rc, "amount_dollars", &why);
	o = json_pack("{s:s, s:o, s:o}", "object", "credit", "account", render_id(IDENT_ACCOUNT, a->id),
		"balance", np_balance(e, engine_account(e, ev.account)));
	render_money(o, "amount", ev.u.credit.micros);
	return api_json(q, r, 201, o);
}

static int post_account_token(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a = account_of(api, q, r);

	return a ? np_make_token(api, q, r, a->id) : r->status;
}

/* ---- SKUs ------------------------------------------------------------------------------------ */

/* What no single value shows: a promise about GPUs needs GPUs, one about cores needs cores. false: refused. */
static bool np_accounts_requires(const struct request *q, struct reply *r, int32_t gpus, const json_t *properties)
{
	const json_t *more = json_object_get(properties, "requires");
	struct promise p = promise_read(gpus, properties);

	if (gpus == 0 && (json_object_get(more, "gpu_vendor") || json_object_get(more, "gpu_memory")))
		api_refuse(q, r, REASON_INVALID, "properties.requires", "a type without GPUs promises nothing of GPUs");
	else if (gpus != 1 && json_object_get(more, "share"))
		api_refuse(q, r, REASON_INVALID, "properties.requires.share",
			"'share' is a part of one GPU: make the type with 1 GPU");
	else if (*p.gpu_slice && *p.gpu_vendor && strcmp(p.gpu_vendor, "nvidia") != 0)
		api_refuse(q, r, REASON_INVALID, "properties.requires.share",
			"only NVIDIA's GPUs have slices: drop 'gpu_vendor', or make it nvidia");
	else if (!p.vcpus && json_object_get(more, "overcommit"))
		api_refuse(q, r, REASON_INVALID, "properties.requires.overcommit",
			"'overcommit' is how many vCPUs share a core: give 'num_vcpus', too");
	else if (judge_wrong(properties))
		api_refuse(q, r, REASON_INVALID, "properties.requires", "%s", judge_wrong(properties));
	else
		return true;
	return false;
}

/* Members that are null were not given. */
static void np_accounts_strip(json_t *object)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, key, value)
	{
		if (json_is_null(value))
			json_object_del(object, key);
	}
}

static int apply_sku(struct api *api, const struct request *q, struct reply *r, struct event *ev, json_t *properties,
	int status)
{
	const struct engine *e = market_engine(api->market);
	const struct sku *s = engine_sku(e, ev->subject);
	const struct effects *did;
	struct fail why = { 0 };
	bool same;
	char *text;
	int rc;

	np_accounts_strip(json_object_get(properties, "requires"));
	if (!np_accounts_requires(q, r, ev->u.sku.gpus, properties))
		return r->status;
	text = json_dumps(properties, JSON_COMPACT | JSON_SORT_KEYS);
	ev->kind = EVENT_SKU;
	ev->u.sku.proof = judge_asks(properties);
	ev->text = text;
	same = s && s->properties && text && strcmp(s->properties, text) == 0;
	rc = api_apply(api, q, ev, &did, &why);
	free(text);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN ? "alias" : NULL, &why);
	s = engine_sku(e, ev->subject ? ev->subject : effects_made(did));
	if (!same)
		np_recheck_type(api, q, s);
	return api_json(q, r, status, render_sku(s));
}

static int post_sku(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .name = body_text(q->body, "alias"), .u.sku.gpus = (int32_t)body_int(q->body, "gpus", 0) };
	json_t *given = json_object_get(q->body, "properties"),
	       *own = json_is_object(given) ? json_deep_copy(given) : json_object();
	int status = apply_sku(api, q, r, &ev, own, 201);

	json_decref(own);
	return status;
}

/* A given property replaces the old one, null removes it, others stay. */
static int patch_sku(struct api *api, const struct request *q, struct reply *r)
{
	const struct sku *s = find_sku(market_engine(api->market), q->parts[0]);
	const json_t *given = json_object_get(q->body, "properties");
	struct event ev = { .name = body_text(q->body, "alias") };
	json_t *merged, *value;
	const char *key;
	int status;

	if (!s)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no instance SKU '%s'", q->parts[0]);
	ev.subject = s->id;
	ev.u.sku.gpus = s->gpus;
	merged = s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	if (!merged)
		merged = json_object();
	json_object_foreach((json_t *)(uintptr_t)given, key, value) {
		json_t *had = json_object_get(merged, key);

		if (json_is_null(value))
			json_object_del(merged, key);
		else if (json_is_object(value) && json_is_object(had)) /* `requires`: the same for its members */
			json_object_update(had, value);
		else
			json_object_set_new(merged, key, json_deep_copy(value));
	}
	status = apply_sku(api, q, r, &ev, merged, 200);
	json_decref(merged);
	return status;
}

const struct route api_np_account_routes[] = {
	{ METHOD_POST, "/np/v1/accounts", post_account, SCOPE_ADMIN, ROUTE_CREATES, "Make an account", NULL,
		"np.CreateAccountRequest", "np.Account", 201 },
	{ METHOD_GET, "/np/v1/accounts", list_accounts, SCOPE_ADMIN, 0, "List accounts",
		"limit:integer,starting_after:string", NULL, "np.AccountList", 200 },
	{ METHOD_GET, "/np/v1/accounts/{account}", get_account, SCOPE_ADMIN, 0, "Get an account, by id or name", NULL,
		NULL, "np.Account", 200 },
	{ METHOD_PATCH, "/np/v1/accounts/{account}", patch_account, SCOPE_ADMIN, 0,
		"Suspend an account, reopen it, set its floor", NULL, "np.PatchAccountRequest", "np.Account", 200 },
	{ METHOD_POST, "/np/v1/accounts/{account}/credits", post_credit, SCOPE_ADMIN, ROUTE_CREATES,
		"Put money in, or take it out", NULL, "np.CreateCreditRequest", "np.Credit", 201 },
	{ METHOD_POST, "/np/v1/accounts/{account}/tokens", post_account_token, SCOPE_ADMIN,
		ROUTE_CREATES | ROUTE_SECRET, "Make a token for an account; only this answer shows it", NULL,
		"np.CreateTokenRequest", "np.NewToken", 201 },
	{ METHOD_POST, "/np/v1/skus", post_sku, SCOPE_ADMIN, ROUTE_CREATES, "Make a type of node", NULL,
		"np.CreateSkuRequest", "InstanceSku", 201 },
	{ METHOD_PATCH, "/np/v1/skus/{id}", patch_sku, SCOPE_ADMIN, 0, "Change a SKU's alias or properties", NULL,
		"np.PatchSkuRequest", "InstanceSku", 200 },
	{ 0 },
};
