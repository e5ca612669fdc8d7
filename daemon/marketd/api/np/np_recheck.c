/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market says of hosts by itself: their type asks for more than was measured of them, or they did not measure
 * themselves again where a lease began.
 */
#include "marketd/api/np/np.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/api/judge.h"
#include "marketd/api/nonces.h"
#include "marketd/api/may/quota.h"
#include "marketd/store/watch.h"

enum { LOST_MINUTES = 2 * RECHECK_MINUTES };

const char np_recheck_silent[] = "it did not measure itself again when a lease began";

/* By what was measured of it: is it as its type asks now? Nothing is said where nothing is new. */
static void np_recheck_host(struct api *api, const struct request *q, const struct host *h, const json_t *floors)
{
	char why[WHY_BYTES + 1] = "";
	bool outgrown = judge_short(floors, h->claims, why, sizeof why), was = h->proof == PROOF_OUTGROWN;
	struct event ev = { .kind = EVENT_HOST_VERIFIED,
		.account = h->account,
		.subject = h->id,
		.u.host_verified = { .result = outgrown ? PROOF_OUTGROWN : PROOF_PASSED,
			.until = h->proof_until,
			.why = outgrown ? why : NULL } };

	if (!outgrown && h->proof_until <= engine_minute(market_engine(api->market)))
		return; /* it has to be measured anew all the same */
	if (outgrown != was || (outgrown && (!h->proof_why || strcmp(why, h->proof_why) != 0)))
		api_apply(api, q, &ev, NULL, NULL);
}

void np_recheck_type(struct api *api, const struct request *q, const struct sku *s)
{
	const struct engine *e = market_engine(api->market);
	json_t *floors = judge_floors(s);

	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id))
		if (h->sku == s->id && !h->retired && (h->proof == PROOF_PASSED || h->proof == PROOF_OUTGROWN))
			np_recheck_host(api, q, h, floors);
	json_decref(floors);
}

/* ---- As a lease begins -------------------------------------------------------------------------- */

/* Nobody is blamed for nodes that wait for it, nor pays for the wait. */
static void np_recheck_hold(struct api *api, uint64_t agent)
{
	if (api->watch)
		watch_hold(api->watch, api->market, agent, np_recheck_open(api, agent), market_now(api->market), NULL);
}

void np_recheck_close(struct api *api, const struct host *h)
{
	nonces_checked(api->nonces, h->id);
	np_recheck_hold(api, h->agent);
}

/* It did not answer: nobody knows what its buyer has. What its account did does not save it. */
static void np_recheck_fail(struct api *api, const struct host *h, const struct recheck *late)
{
	char *claims = h->claims ? strdup(h->claims) : NULL; /* the event outlives what the host had */
	char before[WHY_BYTES + 1] = "";
	struct request own = api_own(api, h->account);
	struct event ev = { .kind = EVENT_HOST_VERIFIED,
		.account = h->account,
		.subject = h->id,
		.text = claims,
		.u.host_verified = { .result = PROOF_FAILED,
			.since = late->since,
			.why = *late->why ? late->why : np_recheck_silent } };

	if (!*late->why && h->proof == PROOF_FAILED && h->proof_why) { /* silence mends nothing */
		snprintf(before, sizeof before, "%s", h->proof_why);
		ev.u.host_verified.why = before;
	}
	quota_reduces(api->quotas);
	api_apply(api, &own, &ev, NULL, NULL);
	free(claims);
}

/* Minutes in which the market was away, or could keep nothing, are none in which a machine did not answer. */
static void np_recheck_overdue(struct api *api)
{
	struct recheck late;

	nonces_minute(api->nonces);
	while (nonces_overdue(api->nonces, &late)) {
		const struct host *h = engine_host(market_engine(api->market), late.host);

		if (h && !h->retired)
			np_recheck_fail(api, h, &late);
		if (h)
			np_recheck_close(api, h);
		else
			nonces_checked(api->nonces, late.host);
	}
}

/*
 * Can its agent know of a node on the machine, which it then does not measure? What came after that minute no agent has
 * heard of, and what waits on a host that is down may wait for ever.
 */
static bool np_recheck_empty(const struct engine *e, uint64_t agent, int64_t from)
{
	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id)) {
		const struct instance *i = engine_host_instance(e, h->id);

		if (i && (i->status == INSTANCE_RUNNING || (!h->down && i->placed_at < 60 * (from + 1))))
			return false;
	}
	return true;
}

/* A lease that began since then, of somebody who was not there before: by chance its host is looked at, if it can. */
static void np_recheck_draw(struct api *api, const struct host *h, const struct sku *s, int64_t from)
{
	const struct engine *e = market_engine(api->market);
	const struct lease *l = np_proof_lease(e, h);

	if (!l || l->start <= from || from == 0 || l->since < l->start || !np_recheck_empty(e, h->agent, from) ||
		(int)nonces_chance(100) >= judge_recheck(s))
		return;
	nonces_recheck(&api->nonces,
		&(struct recheck){ .host = h->id,
			.since = l->start,
			.asked = market_now(api->market),
			.left = RECHECK_MINUTES });
	np_recheck_hold(api, h->agent);
}

/* Began a lease on it that may have been drawn, so lately that a node which was kept back may still have to come? */
static bool np_recheck_lost(const struct engine *e, const struct host *h)
{
	const struct sku *s = engine_sku(e, h->sku);
	const struct lease *l = np_proof_lease(e, h);

	return !h->retired && !h->down && h->agent && s && s->proof && l && l->since >= l->start &&
		l->start > engine_minute(e) - LOST_MINUTES && judge_recheck(s) > 0;
}

void np_recheck_begin(struct api *api)
{
	const struct engine *e = market_engine(api->market);
	int64_t least = 60 * (engine_minute(e) - LOST_MINUTES);

	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id))
		if (np_recheck_lost(e, h))
			watch_hold(api->watch, api->market, h->agent, true, least, NULL);
}

/* What may have been open before the start is not any more. */
static void np_recheck_forget(struct api *api)
{
	const struct host *h;
	uint64_t id = 0;

	for (; (h = engine_host_after(market_engine(api->market), 0, id)); id = h->id)
		if (!h->retired && h->agent)
			np_recheck_hold(api, h->agent);
}

void np_recheck_look(struct api *api)
{
	const struct engine *e = market_engine(api->market);
	int64_t from = api->verified_minute;

	api->verified_minute = engine_minute(e);
	if (from == 0)
		np_recheck_forget(api);
	if (from == api->verified_minute)
		return;
	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id)) {
		const struct sku *s = engine_sku(e, h->sku);

		if (!h->retired && h->agent && s && s->proof)
			np_recheck_draw(api, h, s, from);
	}
}

bool np_recheck_open(const struct api *api, uint64_t agent)
{
	const struct engine *e = market_engine(api->market);

	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id))
		if (nonces_rechecked(api->nonces, h->id))
			return true;
	return false;
}

void np_recheck_minute(struct api *api)
{
	np_recheck_overdue(api);
	np_recheck_look(api);
}
