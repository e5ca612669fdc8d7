/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/who/personhood.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "market/ident.h"
#include "market/when.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/nonces.h"
#include "marketd/api/np/market_id.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"
#include "marketd/passport/passport.h"

/* Human Passport takes 125 requests in 15 minutes: 25 at once, and one each 9 s. */
enum {
	ASKS_MOST = 25,
	ASK_MS = 9000,
	JITTER = 7200,
	RETRY = 60,
	RETRY_MOST = 3600,
	FRESH_MOST = 7000, /* addresses of which each is asked for at 3/4 of a day less the jitter, one each 9 s */
	AGAIN = 600, /* seconds until a new proof of an account asks again: else one account could take all requests */
};

struct personhood_given {
	uint64_t account, person;
	struct siwe text;
};

struct personhood_due {
	uint64_t account;
	int64_t due;   /* Unix seconds; who waits longest is first */
	int64_t asked; /* the last time; 0: not since the market started */
	bool proven;   /* and no answer came yet */
	int tries;     /* that failed since its last score */
	char why[PERSONHOOD_WHY];
};

struct personhood {
	struct nonces *nonces; /* makes them */
	struct personhood_given *given;
	size_t given_count, given_cap;
	struct personhood_due *list;
	size_t count, cap;
	bool scanned;    /* the list has all accounts with an address */
	int64_t soonest; /* nothing in the list is due before */
	uint64_t asking; /* about the address of this account; 0: nothing is under way */
	char address[64];
	int asks; /* that may be sent now */
	int64_t asks_ms, rest_ms;
};

static struct personhood *personhood_own(struct api *api)
{
	if (!api->personhood && (api->personhood = calloc(1, sizeof *api->personhood))) {
		api->personhood->asks = ASKS_MOST;
		api->personhood->asks_ms = api->now_ms;
	}
	return api->personhood;
}

void np_personhood_close(struct api *api)
{
	if (!api->personhood)
		return;
	nonces_free(api->personhood->nonces);
	free(api->personhood->given);
	free(api->personhood->list);
	free(api->personhood);
	api->personhood = NULL;
}

/* ---- Texts that wait for a signature ----------------------------------------------------- */

static void personhood_drop_old(struct personhood *p, int64_t now)
{
	for (size_t i = p->given_count; i-- > 0;)
		if (p->given[i].text.expires <= now)
			p->given[i] = p->given[--p->given_count];
}

void personhood_used(struct api *api, uint64_t account)
{
	struct personhood *p = api->personhood;

	for (size_t i = p ? p->given_count : 0; i-- > 0;)
		if (p->given[i].account == account)
			p->given[i] = p->given[--p->given_count];
}

static struct personhood_given *personhood_room(struct api *api, uint64_t account)
{
	struct personhood *p = personhood_own(api);
	struct personhood_given *more;

	if (!p)
		return NULL;
	personhood_drop_old(p, market_now(api->market));
	personhood_used(api, account);
	if (p->given_count == p->given_cap) {
		more = reallocarray(p->given, p->given_cap ? 2 * p->given_cap : 16, sizeof *more);
		if (!more)
			return NULL;
		p->given = more;
		p->given_cap = p->given_cap ? 2 * p->given_cap : 16;
	}
	return &p->given[p->given_count];
}

int personhood_text(struct api *api, const struct request *q, uint64_t account, const char *address, struct siwe *out)
{
	struct personhood_given *room = personhood_room(api, account);
	const char *url = api->public_url, *host = strstr(url, "://");
	char id[IDENT_TEXT], market[MARKET_TEXT];
	int rc;

	if (!room)
		return -ENOMEM;
	*room = (struct personhood_given){ .account = account, .person = q->person };
	rc = nonces_give(&api->personhood->nonces, account, 0, market_now(api->market), room->text.nonce);
	if (rc)
		return rc;
	host = host ? host + 3 : url;
	snprintf(room->text.domain, sizeof room->text.domain, "%.*s", (int)strcspn(host, "/"), host);
	snprintf(room->text.address, sizeof room->text.address, "%s", address);
	snprintf(room->text.statement, sizeof room->text.statement,
		"This address is of account %s of the market %s, and of no other. Signing costs nothing.",
		ident_text(IDENT_ACCOUNT, account, id), market_id(market_engine(api->market), market));
	snprintf(room->text.uri, sizeof room->text.uri, "%s", url);
	room->text.chain = 1;
	room->text.issued = market_now(api->market);
	room->text.expires = room->text.issued + PERSONHOOD_TEXT_LIFE;
	api->personhood->given_count++;
	*out = room->text;
	return 0;
}

const struct siwe *personhood_given(struct api *api, uint64_t account, uint64_t person, const char *nonce)
{
	struct personhood *p = api->personhood;

	if (!p)
		return NULL;
	personhood_drop_old(p, market_now(api->market));
	for (size_t i = 0; i < p->given_count; i++)
		if (p->given[i].account == account && p->given[i].person == person &&
			strcmp(p->given[i].text.nonce, nonce) == 0)
			return &p->given[i].text;
	return NULL;
}

/* ---- Whose ------------------------------------------------------------------------------- */

static bool personhood_has(const json_t *facts, const char *address)
{
	const json_t *held = json_object_get(facts, PERSONHOOD_HELD), *one;
	const char *own = json_string_value(json_object_get(facts, PERSONHOOD_ADDRESS));
	size_t i;

	if (own && strcasecmp(own, address) == 0)
		return true;
	json_array_foreach(held, i, one) if (strcasecmp(json_string_value(one), address) == 0) return true;
	return false;
}

uint64_t personhood_whose(struct api *api, const char *address, uint64_t but)
{
	const struct engine *e = market_engine(api->market);
	uint64_t whose = 0;

	for (const struct account *a = engine_account_after(e, 0); a && !whose; a = engine_account_after(e, a->id)) {
		json_t *facts;

		if (a->id == but || !a->facts || !strcasestr(a->facts, address))
			continue;
		facts = decide_facts(a, market_now(api->market));
		if (!facts || personhood_has(facts, address))
			whose = a->id;
		json_decref(facts);
	}
	return whose;
}

/* ---- When scores are asked for ------------------------------------------------------------ */

static struct personhood_due *personhood_due(struct personhood *p, uint64_t account)
{
	for (size_t i = 0; p && i < p->count; i++)
		if (p->list[i].account == account)
			return &p->list[i];
	return NULL;
}

static struct personhood_due *personhood_add(struct api *api, struct personhood *p, uint64_t account)
{
	struct personhood_due *x = personhood_due(p, account), *more;

	if (!x && p->count == p->cap) {
		more = reallocarray(p->list, p->cap ? 2 * p->cap : 16, sizeof *more);
		if (!more)
			return NULL;
		p->list = more;
		p->cap = p->cap ? 2 * p->cap : 16;
	}
	if (!x) {
		x = &p->list[p->count++];
		*x = (struct personhood_due){ .account = account };
		if (p->count == FRESH_MOST + 1)
			log_at(api->log, LOG_WARN,
				"more than %d addresses are proven: Human Passport takes too few requests to keep all "
				"their scores fresh",
				FRESH_MOST);
	}
	return x;
}

/* While a quarter of its time is left, so that a service that fails for some hours changes nothing. */
static int64_t personhood_next(int64_t now, int64_t end)
{
	int64_t due = end - (end - now) / 4;

	return due < now + RETRY ? now + RETRY : due;
}

/* After a start, or where the store lost some: a score that is kept counts as long as it would have. */
static void personhood_scan(struct api *api, struct personhood *p)
{
	const struct engine *e = market_engine(api->market);
	int64_t now = market_now(api->market);

	for (const struct account *a = engine_account_after(e, 0); a; a = engine_account_after(e, a->id)) {
		struct personhood_due *x;
		json_t *kept;
		int64_t end;

		if (!a->facts || !strstr(a->facts, PERSONHOOD_ADDRESS))
			continue;
		kept = json_loads(a->facts, 0, NULL);
		end = json_integer_value(json_object_get(json_object_get(kept, PERSONHOOD_CHECKED), "end_at"));
		x = personhood_add(api, p, a->id);
		if (x && end > now)
			x->due = personhood_next(now, end);
		else if (x && !x->tries)
			x->due = x->asked && x->asked + RETRY > now ? x->asked + RETRY : now;
		json_decref(kept);
	}
	p->scanned = true;
	p->soonest = 0;
}

void personhood_proven(struct api *api, uint64_t account)
{
	struct personhood *p = api->passport ? personhood_own(api) : NULL;
	struct personhood_due *x = p ? personhood_add(api, p, account) : NULL;
	int64_t now = market_now(api->market);

	if (!x)
		return;
	x->due = x->asked && x->asked + AGAIN > now ? x->asked + AGAIN : now;
	x->proven = true;
	p->soonest = x->due < p->soonest ? x->due : p->soonest;
	x->tries = 0;
	x->why[0] = '\0';
}

void personhood_look(struct api *api, uint64_t account, struct personhood_state *out)
{
	const struct personhood *p = api->personhood;
	const struct personhood_due *x = personhood_due(api->personhood, account);

	*out = (struct personhood_state){ .asking = false };
	if (!api->passport || !x)
		return;
	out->soon = p->asking == account || (x->due <= market_now(api->market) && !x->tries);
	out->asking = out->soon || x->proven;
	snprintf(out->failed, sizeof out->failed, "%s", x->why);
}

/* The address that the account has now. "": none. */
static void personhood_address(const struct api *api, uint64_t account, char *room, size_t size)
{
	const struct account *a = engine_account(market_engine(api->market), account);
	json_t *facts = a ? decide_facts(a, market_now(api->market)) : NULL;
	const char *text = json_string_value(json_object_get(facts, PERSONHOOD_ADDRESS));

	snprintf(room, size, "%s", text ? text : "");
	json_decref(facts);
}

/* It has no address now. When it was asked for stays known as long as that matters. */
static void personhood_drop(struct personhood *p, struct personhood_due *x, int64_t now)
{
	if (x->asked && x->asked + AGAIN > now)
		x->due = x->asked + AGAIN;
	else
		*x = p->list[--p->count];
}

/* ---- What came of it ---------------------------------------------------------------------- */

/* shown: to the account, which need not know whom the market asks, and how. */
static void personhood_failed(struct api *api, uint64_t account, const char *why, const char *shown)
{
	struct personhood_due *x = personhood_due(api->personhood, account);
	char id[IDENT_TEXT];
	int64_t later;

	log_at(api->log, LOG_WARN, "Human Passport says no score for account %s: %s",
		ident_text(IDENT_ACCOUNT, account, id), why);
	if (!x)
		return;
	later = x->tries < 6 ? (int64_t)RETRY << x->tries : RETRY_MOST;
	x->tries++;
	x->proven = false;
	x->due = market_now(api->market) + later;
	snprintf(x->why, sizeof x->why, "%s", shown);
}

static json_t *personhood_fact(json_t *value, int64_t end)
{
	return json_pack("{s:o, s:I}", "value", value, "end_at", (json_int_t)end);
}

/* An address without a score has none, whatever it had: the date says that it was looked at. */
static void personhood_scored(struct api *api, uint64_t account, const struct score *s)
{
	const struct account *a = engine_account(market_engine(api->market), account);
	struct personhood_due *x = personhood_due(api->personhood, account);
	int64_t now = market_now(api->market), next = now + PERSONHOOD_LIFE - nonces_chance(JITTER);
	int64_t end = s->expires && s->expires < next ? s->expires : next;
	struct request own = api_own(api, account);
	bool none = !*s->text || end <= now;
	struct fail why = { 0 };
	char when[WHEN_TEXT];
	json_t *given;

	if (none)
		end = next;
	given = json_pack("{s:o, s:o, s:o}", PERSONHOOD_SCORE,
		none ? json_null() : personhood_fact(json_string(s->text), end), PERSONHOOD_PASSING,
		none ? json_null() : personhood_fact(json_boolean(s->passing), end), PERSONHOOD_CHECKED,
		personhood_fact(json_string(when_iso(now, when)), end));
	if (!given || np_facts_change(api, &own, a, given, &why) != 0) {
		personhood_failed(api, account, why.text, "the market cannot write its score down");
	} else if (x) {
		x->due = personhood_next(now, end);
		x->tries = 0;
		x->proven = false;
		x->why[0] = '\0';
	}
	json_decref(given);
}

static void personhood_take(struct api *api, struct personhood *p)
{
	char address[sizeof p->address];
	struct fail why = { 0 };
	struct score score;
	uint64_t account = p->asking;
	int rest_s = 0, rc = passport_take(api->passport, &score, &rest_s, &why);

	if (rc == -EAGAIN)
		return;
	p->asking = 0;
	if (rest_s)
		p->rest_ms = api->now_ms + 1000 * (int64_t)rest_s;
	personhood_address(api, account, address, sizeof address);
	if (strcmp(address, p->address) != 0) /* it was let go meanwhile; another one is asked for in its turn */
		return;
	if (rc)
		personhood_failed(api, account, why.text, rc == -ENODATA ? "it gave no answer" : why.text);
	else
		personhood_scored(api, account, &score);
}

/* ---- Each turn ---------------------------------------------------------------------------- */

static struct personhood_due *personhood_first(struct personhood *p, int64_t now)
{
	struct personhood_due *first = NULL;

	if (p->soonest > now)
		return NULL;
	for (size_t i = 0; i < p->count; i++)
		if (!first || p->list[i].due < first->due)
			first = &p->list[i];
	p->soonest = first ? first->due : INT64_MAX;
	return p->soonest <= now ? first : NULL;
}

static bool personhood_may_ask(struct personhood *p, int64_t now_ms)
{
	int64_t more = (now_ms - p->asks_ms) / ASK_MS;

	if (more > 0) {
		p->asks = p->asks + more > ASKS_MOST ? ASKS_MOST : p->asks + (int)more;
		p->asks_ms += more * ASK_MS;
	}
	return p->asks > 0 && now_ms >= p->rest_ms;
}

static void personhood_ask(struct api *api, struct personhood *p)
{
	int64_t now = market_now(api->market);
	struct personhood_due *x = personhood_may_ask(p, api->now_ms) ? personhood_first(p, now) : NULL;
	struct fail why = { 0 };
	uint64_t account;

	if (!x)
		return;
	account = x->account;
	personhood_address(api, account, p->address, sizeof p->address);
	if (!*p->address) {
		personhood_drop(p, x, now);
		return;
	}
	p->asks--;
	x->asked = now;
	if (passport_ask(api->passport, p->address, &why) == 0)
		p->asking = account;
	else
		personhood_failed(api, account, why.text, "it was not asked");
}

void np_personhood_turn(struct api *api)
{
	struct personhood *p = api->passport && market_ready(api->market) ? personhood_own(api) : NULL;

	if (!p)
		return;
	if (!p->scanned)
		personhood_scan(api, p);
	if (p->asking)
		personhood_take(api, p);
	if (!p->asking)
		personhood_ask(api, p);
}

void np_personhood_again(struct api *api)
{
	if (api->personhood)
		api->personhood->scanned = false;
}
