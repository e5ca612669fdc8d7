/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of /v0: zones (SKUs, seen as places), me, balance, tokens. */
#include "marketd/api/old/v0.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"

enum { HORIZON_MINUTES = 366 * 24 * 60 };

/* ---- Zones --------------------------------------------------------------------------------------- */

static const char *region_of(const json_t *facts)
{
	static const struct { const char *start, *region;
	} rows[] = {
		{ "eu", "EuropeMiddleEastAfrica" },
		{ "me", "EuropeMiddleEastAfrica" },
		{ "af", "EuropeMiddleEastAfrica" },
		{ "uk", "EuropeMiddleEastAfrica" },
		{ "il", "EuropeMiddleEastAfrica" },
		{ "ap", "AsiaPacific" },
		{ "as", "AsiaPacific" },
		{ "au", "AsiaPacific" },
		{ "jp", "AsiaPacific" },
		{ "in", "AsiaPacific" },
		{ "sg", "AsiaPacific" },
	};
	const char *word = json_string_value(json_object_get(facts, "region"));

	for (size_t i = 0; word && i < sizeof rows / sizeof *rows; i++)
		if (strncasecmp(word, rows[i].start, strlen(rows[i].start)) == 0)
			return rows[i].region;
	return "NorthAmerica";
}

static json_t *zone_json(const struct engine *e, const struct sku *s)
{
	json_t *facts = s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	const char *rdma = json_string_value(json_object_get(facts, "rdma_type"));
	int64_t from = engine_minute(e) + 1; /* an order for now begins here; clients look for what began by now */
	json_t *capacity = json_array(), *made;
	struct spans spans = { 0 };
	char room[64];

	if (engine_availability(e, s->id, false, from, from + HORIZON_MINUTES, &spans) == 0)
		for (size_t i = 0; i < spans.count; i++)
			json_array_append_new(capacity,
				json_pack("{s:I, s:I, s:i}", "start_timestamp",
					(json_int_t)(spans.list[i].start == from ? from - 1 : spans.list[i].start) * 60,
					"end_timestamp", (json_int_t)spans.list[i].end * 60, "quantity",
					(int)spans.list[i].nodes));
	free(spans.list);
	made = json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s}", "object", "zone", "name", s->alias, "display_name",
		s->alias, "available_capacity", capacity, "region", region_of(facts), "hardware_type",
		old_gpu_type(s, room), "interconnect_type",
		rdma && strcmp(rdma, "infiniband") == 0 ? "Infiniband" : "None", "delivery_type", "VM");
	json_decref(facts);
	return made;
}

static int list_zones(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();

	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id))
		json_array_append_new(data, zone_json(e, s));
	return api_json(q, r, 200, json_pack("{s:s, s:o}", "object", "list", "data", data));
}

static int get_zone(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct sku *s = find_sku(e, q->parts[0]);

	if (!s)
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no zone '%s'", q->parts[0]);
	return api_json(q, r, 200, zone_json(e, s));
}

/* ---- Me ---------------------------------------------------------------------------------------- */

static int v0_get_me(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t account;

	(void)api;
	if (!api_whose(q, r, &account))
		return r->status;
	return api_json(q, r, 200,
		json_pack("{s:s, s:o}", "object", "account", "id", render_id(IDENT_ACCOUNT, account)));
}

static int v0_get_balance(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a;
	uint64_t account;
	int64_t reserved;

	if (!api_whose(q, r, &account))
		return r->status;
	a = engine_account(market_engine(api->market), account);
	if (money_add(a->held, a->escrow, &reserved))
		return api_refuse(q, r, REASON_OVERFLOW, NULL, "the balance is too large for an amount in cents");
	return api_json(q, r, 200,
		json_pack("{s:s, s:{s:I, s:s}, s:{s:I, s:s}}", "object", "balance", "available", "amount",
			(json_int_t)cents_down(a->available), "currency", "usd", "reserved", "amount",
			(json_int_t)cents_down(reserved), "currency", "usd"));
}

static int get_ping(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_json(q, r, 200, json_pack("{s:s}", "message", "pong"));
}

/* ---- Tokens ------------------------------------------------------------------------------------------- */

static json_t *v0_token_json(const struct token *t)
{
	return json_pack("{s:s, s:o, s:o, s:n, s:b, s:n, s:o, s:o, s:s, s:b}", "object", "token", "id",
		render_id(IDENT_TOKEN, t->id), "name", render_text(t->name), "description", "is_sandbox", 0,
		"last_active_at", "expires_at", t->expires ? v0_iso(t->expires) : json_null(), "created_at",
		v0_iso(t->created_at), "origin_client", "cli", "is_system", 0);
}

static int v0_list_tokens(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	uint64_t account;
	json_t *data;

	if (!api_whose(q, r, &account))
		return r->status;
	data = json_array();
	for (const struct token *t = engine_token_after(e, account, 0); t; t = engine_token_after(e, account, t->id))
		if (!t->revoked)
			json_array_append_new(data, v0_token_json(t));
	return api_json(q, r, 200, json_pack("{s:s, s:o, s:b}", "object", "list", "data", data, "has_more", 0));
}

/* /v0 has no scopes: the new token gets those of the old one, but never admin. */
static int v0_post_token(struct api *api, const struct request *q, struct reply *r)
{
	struct event ev = { .name = body_text(q->body, "name") };
	json_t *made, *o;
	uint64_t account;

	if (!api_whose(q, r, &account))
		return r->status;
	ev.u.token.scopes = np_allowed(q) & ~SCOPE_ADMIN;
	ev.u.token.expires = market_now(api->market) + body_int(q->body, "expires_in_seconds", 0);
	made = np_token_make(api, q, r, account, &ev);
	if (!made)
		return r->status;
	o = json_pack("{s:s, s:O, s:O, s:O, s:o, s:b, s:n, s:o, s:o, s:s, s:b}", "object", "token", "id",
		json_object_get(made, "id"), "token", json_object_get(made, "token"), "name",
		json_object_get(made, "name"), "description", render_text(body_text(q->body, "description")),
		"is_sandbox", 0, "last_active_at", "expires_at", v0_iso(ev.u.token.expires), "created_at",
		v0_iso(market_now(api->market)), "origin_client", "cli", "is_system", 0);
	json_decref(made);
	return api_json(q, r, 201, o);
}

/* ---- As time goes on -------------------------------------------------------------------------------- */

int old_minute(struct api *api, struct fail *f)
{
	v0_nodes_minute(api, f);
	v1_zone_minute(api, f);
	return f->code;
}

const struct route api_v0_routes[] = {
	{ METHOD_GET, "/v0/zones", list_zones, SCOPE_READ, 0, "List zones: SKUs, and what is on sale of them", NULL,
		NULL, "v0.ZoneList", 200 },
	{ METHOD_GET, "/v0/zones/{id}", get_zone, SCOPE_READ, 0, "Get a zone", NULL, NULL, "v0.Zone", 200 },
	{ METHOD_GET, "/v0/me", v0_get_me, NP_ANY, 0, "Get the owner of the token", NULL, NULL, "v0.Me", 200 },
	{ METHOD_GET, "/v0/balance", v0_get_balance, SCOPE_READ, 0, "Balance in cents, rounded down", NULL, NULL,
		"v0.Balance", 200 },
	{ METHOD_GET, "/v0/ping", get_ping, 0, ROUTE_OPEN, "Check that the market answers", NULL, NULL, "v0.Pong",
		200 },
	{ METHOD_GET, "/v0/tokens", v0_list_tokens, SCOPE_TOKENS, 0, "List tokens that are not revoked", NULL, NULL,
		"v0.TokenList", 200 },
	{ METHOD_POST, "/v0/tokens", v0_post_token, SCOPE_TOKENS, ROUTE_CREATES | ROUTE_SECRET,
		"Make a token; only this answer shows it", NULL, "v0.CreateTokenRequest", "v0.NewToken", 201 },
	{ METHOD_DELETE, "/v0/tokens/{id}", np_revoke_token, SCOPE_TOKENS, 0, "Revoke a token", NULL, "v1.Empty", NULL,
		204 },
	{ 0 },
};
