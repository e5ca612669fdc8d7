/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines that join an account and make the nodes of its hosts: joining, opening sessions, leaving, and
 * their owner's view.
 */
#include "marketd/api/np/np.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/render.h"
#include "marketd/api/tally.h"
#include "marketd/store/watch.h"

enum { KEY_BYTES = 32, SIGNATURE_BYTES = 64, CLOCK_SECONDS = 300, POLL_SECONDS = 25, SIGNED_MAX = 1024 };

/* ---- An agent as JSON -------------------------------------------------------------- */

/* What is wrong with the machine is more urgent than what became of its offers. */
static const char *status_message(const struct watched *w)
{
	if (w->status.message[0])
		return w->status.message;
	if (w->lacks_since)
		return "this machine holds less than its hosts on sale promise; if that lasts, the market withdraws "
		       "offers";
	if (w->withdrawn)
		return "the market withdrew offers that this machine no longer holds; 'nanopod host offer' sells again "
		       "what it holds";
	return NULL;
}

static json_t *status_json(const struct watched *w)
{
	const struct agent_status *s = w ? &w->status : NULL;

	if (!s || !s->health)
		return json_null();
	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:I}", "message", render_text(status_message(w)), "driver",
		render_text(s->driver[0] ? s->driver : NULL), "nodes", (json_int_t)s->nodes, "unknown",
		(json_int_t)s->unknown, "oldest_unknown_seconds", (json_int_t)s->oldest_unknown, "rss_bytes",
		s->rss < 0 ? json_null() : json_integer(s->rss), "told_at", (json_int_t)s->at);
}

/* whole: also whether the machine holds each of them, where it is `known` what it has. */
static json_t *np_agents_hosts_of(const struct engine *e, const struct agent *a, bool whole, bool known)
{
	json_t *list = json_array();
	uint64_t *misfits = NULL;
	size_t count = 0;

	if (whole)
		tally_misfits(e, a, &misfits, &count);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		json_t *o = np_host_brief(e, h);

		if (whole)
			json_object_set_new(o, "fits",
				known ? json_boolean(!tally_among(misfits, count, h->id)) : json_null());
		json_array_append_new(list, o);
	}
	free(misfits);
	return list;
}

static json_t *agent_json(const struct api *api, const struct agent *a, bool whole)
{
	const struct watched *w = watch_agent(api->watch, a->id);
	json_t *inventory = whole && a->inventory ? json_loads(a->inventory, 0, NULL) : NULL;
	json_t *room = whole ? tally_json(market_engine(api->market), a) : NULL;
	const char *health = w ? health_word(w->status.health) : NULL;

	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "object",
		"agent", "id", render_id(IDENT_AGENT, a->id), "name", render_text(a->name), "account",
		render_id(IDENT_ACCOUNT, a->account), "state", api_agent_state(api, a), "hosts",
		np_agents_hosts_of(market_engine(api->market), a, whole, json_is_object(room)), "machine",
		render_text(a->machine), "public_key", a->public_key, "created_at", (json_int_t)a->created_at,
		"last_seen_at", w && w->heard_at ? json_integer(w->heard_at) : json_null(), "generation",
		(json_int_t)a->generation, "inventory", inventory ? inventory : json_null(), "health",
		render_text(health), "status", status_json(w), "room", room ? room : json_null());
}

/* ---- Joining -------------------------------------------------------------------------------- */

static bool np_agents_key_of(const struct request *q, struct reply *r, uint8_t key[KEY_BYTES])
{
	const char *text = body_text(q->body, "public_key");

	if (base64_size(text) == KEY_BYTES && base64_read(text, key, KEY_BYTES) == 0)
		return true;
	api_refuse(q, r, REASON_INVALID, "public_key", "'public_key' is an Ed25519 public key: 32 bytes in base64");
	return false;
}

/* The answer to a join may have been lost: who has the used token and the key gets it again. */
static int join_again(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = engine_agent_keyed(market_engine(api->market), body_text(q->body, "public_key"));

	if (!a || a->account != q->joined)
		return api_refuse(q, r, REASON_UNAUTHENTICATED, NULL,
			"this join token was used or revoked; get a new one");
	return api_json(q, r, 200, agent_json(api, a, true));
}

/* reason: told to the seller; 0: none. */
static int np_agents_take_off(struct api *api, const struct request *q, uint64_t host, int reason, struct fail *why)
{
	struct event ev = { .kind = EVENT_CANCEL, .u.cancel.reason = reason };
	const struct engine *e = market_engine(api->market);
	const struct host *h;
	uint64_t order;
	int rc = 0;

	do {
		order = 0;
		h = engine_host(e, host);
		for (size_t i = 0; i < h->piece_count && !order; i++) /* time that is over keeps the order's id */
			if (h->pieces[i].pool == h->pool && h->pieces[i].end > engine_minute(e))
				order = h->pieces[i].order;
		ev.account = h->account;
		ev.subject = order;
		if (order)
			rc = api_apply(api, q, &ev, NULL, why);
	} while (order && !rc);
	return rc;
}

/* The offers of hosts that the machine no longer holds end, if that lasts; what is sold stays sold. */
static int np_agents_recheck(struct api *api, const struct request *q, uint64_t agent, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	enum watch_lack lack = LACKS_NOTHING;
	uint64_t *misfits;
	size_t count;
	int rc = tally_misfits(e, engine_agent(e, agent), &misfits, &count);

	if (rc)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	for (size_t i = 0; i < count && lack != LACKS_FOR_OFFERS; i++)
		lack = tally_offered(e, engine_host(e, misfits[i])) ? LACKS_FOR_OFFERS : LACKS_FOR_HOSTS;
	if (api->watch && !watch_lacks(api->watch, agent, lack, market_now(api->market)))
		count = 0;
	for (size_t i = 0; i < count && !rc; i++)
		rc = np_agents_take_off(api, q, misfits[i], REASON_NO_ROOM, why);
	free(misfits);
	return rc;
}

int np_take_inventory(struct api *api, const struct request *q, const struct agent *a, const json_t *given,
	struct fail *why)
{
	json_t *merged = tally_merge(a->inventory, given);
	char *text = merged ? json_dumps(merged, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	struct event ev = { .kind = EVENT_AGENT_INVENTORY, .account = a->account, .subject = a->id, .text = text };
	int rc = 0;

	json_decref(merged);
	if (!text)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	if (!a->inventory || strcmp(a->inventory, text) != 0)
		rc = api_apply(api, q, &ev, NULL, why);
	free(text);
	return rc ? rc : np_agents_recheck(api, q, a->id, why);
}

static int np_agents_join(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct event ev = { .kind = EVENT_AGENT,
		.name = body_text(q->body, "name"),
		.text = body_text(q->body, "public_key"),
		.u.agent.machine = body_text(q->body, "machine") };
	const json_t *inventory = json_object_get(q->body, "inventory");
	const struct effects *did;
	uint8_t key[KEY_BYTES];
	struct fail why = { 0 };
	const struct agent *a;
	int rc;

	if (!np_agents_key_of(q, r, key))
		return r->status;
	if (q->joined)
		return join_again(api, q, r);
	if (!api_whose(q, r, &ev.account))
		return r->status;
	rc = api_apply(api, q, &ev, &did, &why);
	if (rc)
		return api_failed(q, r, rc, rc == REASON_NAME_TAKEN && engine_agent_keyed(e, ev.text) ? "public_key" :
			rc == REASON_NAME_TAKEN ? "name" : NULL, &why);
	a = engine_agent(e, effects_made(did));
	if (api->watch)
		watch_heard(api->watch, a->id, api->now_ms, market_now(api->market));
	if (json_is_object(inventory))
		np_take_inventory(api, q, a, inventory, NULL); /* the agent sends it again soon */
	return api_json(q, r, 201, agent_json(api, a, true));
}

/* ---- Sessions ------------------------------------------------------------------------------- */

static bool is_signed(const struct agent *a, const char *machine, int64_t generation, int64_t at, const char *signature)
{
	uint8_t key[KEY_BYTES], bytes[SIGNATURE_BYTES];
	char room[IDENT_TEXT], text[SIGNED_MAX];
	int n = snprintf(text, sizeof text, "nanopod-agent-session\n%s\n%" PRId64 "\n%" PRId64 "\n%s\n",
		ident_text(IDENT_AGENT, a->id, room), generation, at, machine);
	EVP_PKEY *public = NULL;
	EVP_MD_CTX *md = NULL;
	bool good = false;

	if (n < 0 || (size_t)n >= sizeof text || base64_size(signature) != SIGNATURE_BYTES ||
	    base64_read(signature, bytes, sizeof bytes) != 0 || base64_read(a->public_key, key, sizeof key) != 0)
		return false;
	public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, sizeof key);
	md = EVP_MD_CTX_new();
	if (public && md && EVP_DigestVerifyInit(md, NULL, NULL, NULL, public) == 1)
		good = EVP_DigestVerify(md, bytes, sizeof bytes, (const unsigned char *)text, (size_t)n) == 1;
	EVP_MD_CTX_free(md);
	EVP_PKEY_free(public);
	return good;
}

/* The agent that signed the request; NULL: refused. */
static const struct agent *np_agents_signer(struct api *api, const struct request *q, struct reply *r)
{
	const char *machine = body_text(q->body, "machine");
	int64_t at = body_int(q->body, "at", 0), generation = body_int(q->body, "generation", 0),
		now = market_now(api->market);
	const struct agent *a = NULL;
	uint64_t id;

	if (ident_parse(IDENT_AGENT, q->parts[0], &id))
		a = engine_agent(market_engine(api->market), id);
	if (at < now - CLOCK_SECONDS || at > now + CLOCK_SECONDS)
		api_refuse(q, r, REASON_UNAUTHENTICATED, "at",
			"the market's clock is at %" PRId64 ", the agent's at %" PRId64
			"; set the agent's, they may differ by up to %d seconds",
			now, at, (int)CLOCK_SECONDS);
	else if (!a || a->retired || !is_signed(a, machine, generation, at, body_text(q->body, "signature")))
		api_refuse(q, r, REASON_UNAUTHENTICATED, NULL, "no agent of this market signed this");
	else if (a->machine && strcmp(a->machine, machine) != 0)
		api_refuse(q, r, REASON_FENCED, "machine",
			"this identity joined on another machine; join this machine again");
	else if (generation <= (int64_t)a->generation)
		api_refuse(q, r, REASON_FENCED, "generation", "a session of generation %" PRIu64 " already exists",
			a->generation);
	else
		return a;
	return NULL;
}

static int np_agents_open_session(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = np_agents_signer(api, q, r);
	struct event ev = { .kind = EVENT_AGENT_SESSION };
	char prefix[IDENT_TEXT + 8], id[IDENT_TEXT], secret[NP_SECRET];
	struct fail why = { 0 };
	json_t *o;
	int rc;

	if (!a)
		return r->status;
	snprintf(prefix, sizeof prefix, "nps_%s_", ident_text(IDENT_AGENT, a->id, id));
	if (np_secret(prefix, secret) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the kernel gave no random bytes");
	ev.account = a->account;
	ev.subject = a->id;
	ev.u.agent_session.generation = (uint64_t)body_int(q->body, "generation", 0);
	SHA256((const unsigned char *)secret, strlen(secret), ev.u.agent_session.hash);
	rc = api_apply(api, q, &ev, NULL, &why);
	if (rc == 0 && api->watch)
		watch_heard(api->watch, a->id, api->now_ms, market_now(api->market));
	o = rc ? NULL
	       : json_pack("{s:s, s:s, s:I, s:I, s:i}", "object", "session", "token", secret, "generation",
			 (json_int_t)ev.u.agent_session.generation, "now", (json_int_t)market_now(api->market),
			 "poll_seconds", (int)POLL_SECONDS);
	explicit_bzero(secret, sizeof secret);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_json(q, r, 201, o);
}

/* ---- Leaving -------------------------------------------------------------------------------- */

static int np_agents_withdraw(struct api *api, const struct request *q, const struct host *h, struct fail *why)
{
	const struct engine *e = market_engine(api->market);
	int rc = np_agents_take_off(api, q, h->id, 0, why);

	for (const struct order *o = engine_order_after(e, h->account, 0), *next; o && !rc; o = next) {
		uint64_t id = o->id;

		if (o->host == h->id)
			rc = api_apply_to(api, q, EVENT_CANCEL, h->account, id, why);
		next = engine_order_after(e, h->account, id);
	}
	return rc;
}

/* Time that its owner took back from a buyer lies ahead: nobody sells it, under another host's name neither. */
static bool np_agents_took_back(const struct engine *e, const struct host *h)
{
	for (size_t i = 0; i < h->piece_count; i++)
		if (h->pieces[i].taken && h->pieces[i].end > engine_minute(e))
			return true;
	return false;
}

int np_agent_leave(struct api *api, const struct request *q, struct reply *r, const struct agent *a)
{
	const struct engine *e = market_engine(api->market);
	struct fail why = { 0 };
	const struct host *h;
	int rc = 0;

	for (h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		if (tally_sold(e, h))
			return api_refuse_as(q, r, 409, REASON_HAS_DEPENDENTS, NULL,
				"host '%s' has sold time that is not over; "
				"withdraw its offer and wait, or take it down",
				h->name);
		if (np_agents_took_back(e, h))
			return api_refuse_as(q, r, 409, REASON_HAS_DEPENDENTS, NULL,
				"host '%s' took time back from buyers that is not over; wait until it is", h->name);
	}
	while (!rc && (h = engine_host_of_agent(e, a->id, 0))) {
		rc = np_agents_withdraw(api, q, h, &why);
		if (!rc)
			rc = api_apply_to(api, q, EVENT_HOST_RETIRE, h->account, h->id, &why);
	}
	if (!rc)
		rc = api_apply_to(api, q, EVENT_AGENT_RETIRE, a->account, a->id, &why);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* ---- The owner's view ----------------------------------------------------------------------- */

/* By id or name, of the account that asks (the operator without one: by id, anybody's). NULL: refused. */
static const struct agent *np_agents_agent_of(struct api *api, const struct request *q, struct reply *r, bool retired)
{
	const struct engine *e = market_engine(api->market);
	const struct agent *a = NULL;
	uint64_t id;

	if (ident_parse(IDENT_AGENT, q->parts[0], &id))
		a = engine_agent(e, id);
	else if (q->account)
		a = engine_agent_named(e, q->account, q->parts[0]);
	if (a && (!q->account || a->account == q->account) && (retired || !a->retired))
		return a;
	api_refuse(q, r, REASON_NOT_FOUND, "id", "no agent '%s'", q->parts[0]);
	return NULL;
}

static int list_agents(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const char *after = api_query(q, "starting_after");
	int64_t limit, n = 0;
	const struct agent *a;
	uint64_t last = 0;
	json_t *data;

	if (!api_query_int(q, r, "limit", 1, 1000, 1000, &limit))
		return r->status;
	if (after && !ident_parse(IDENT_AGENT, after, &last))
		return api_refuse(q, r, REASON_INVALID, "starting_after", "'starting_after' is the id of an agent");
	data = json_array();
	for (a = engine_agent_after(e, q->account, last); a && n < limit;
		a = engine_agent_after(e, q->account, a->id)) {
		if (a->retired)
			continue;
		json_array_append_new(data, agent_json(api, a, false));
		last = a->id;
		n++;
	}
	return api_json(q, r, 200, render_list(data, n ? render_id(IDENT_AGENT, last) : NULL, a != NULL));
}

static int get_agent(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = np_agents_agent_of(api, q, r, true);

	return a ? api_json(q, r, 200, agent_json(api, a, true)) : r->status;
}

static int delete_agent(struct api *api, const struct request *q, struct reply *r)
{
	const struct agent *a = np_agents_agent_of(api, q, r, false);

	return a ? np_agent_leave(api, q, r, a) : r->status;
}

const struct route api_np_agent_routes[] = {
	{ METHOD_POST, "/np/v1/agents/join", np_agents_join, SCOPE_JOIN, ROUTE_SECRET,
		"Join a machine to the account of its token, which this uses "
		"up; repeated with the same key, the same answer",
		NULL, "np.JoinRequest", "np.Agent", 201 },
	{ METHOD_POST, "/np/v1/agents/{id}/session", np_agents_open_session, 0, ROUTE_OPEN | ROUTE_SECRET,
		"Open an agent's session with its key; this ends earlier ones", NULL, "np.SessionRequest", "np.Session",
		201 },
	{ METHOD_GET, "/np/v1/agents", list_agents, SCOPE_HOST, 0,
		"List agents: machines that make nodes for this account", "limit:integer,starting_after:string", NULL,
		"np.AgentList", 200 },
	{ METHOD_GET, "/np/v1/agents/{id}", get_agent, SCOPE_HOST, 0, "Get an agent, by id or name", NULL, NULL,
		"np.Agent", 200 },
	{ METHOD_DELETE, "/np/v1/agents/{id}", delete_agent, SCOPE_HOST, 0,
		"Remove an agent: withdraw its offers, retire its hosts, refuse its sessions", NULL, NULL, NULL, 204 },
	{ 0 },
};
