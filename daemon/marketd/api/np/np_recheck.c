/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market says of hosts by itself: their type asks for more than was measured of them, or they did not measure
 * themselves again where a lease began.
 */
#include "marketd/api/np/np.h"

#include <stdlib.h>
#include <string.h>

#include "marketd/api/judge.h"
#include "marketd/api/nonces.h"
#include "marketd/api/quota.h"
#include "marketd/store/watch.h"

int np_recheck_apply(struct api *api, const struct request *q, struct event *ev, struct fail *why)
{
	const struct host *h = engine_host(market_engine(api->market), ev->subject);
	int rc = api->watch && h ? watch_before_settling(api->watch, api->market, h, why) : 0;

	return rc ? rc : api_apply(api, q, ev, NULL, why);
}

/* Of measurements that it has. */
static void np_recheck_say(struct api *api, const struct host *h, struct event *ev)
{
	char *claims = h->claims ? strdup(h->claims) : NULL; /* the event outlives what the host had */
	struct request own = api_own(api, h->account);

	ev->kind = EVENT_HOST_VERIFIED;
	ev->account = h->account;
	ev->subject = h->id;
	ev->text = claims;
	quota_reduces(api->quotas); /* what its account did does not save it */
	np_recheck_apply(api, &own, ev, NULL);
	free(claims);
}

void np_recheck_type(struct api *api, const struct sku *s)
{
	const struct engine *e = market_engine(api->market);

	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id)) {
		struct event ev = { .u.host_verified = { .result = PROOF_PASSED, .until = h->proof_until } };
		char why[WHY_BYTES + 1] = "";

		if (h->sku != s->id || h->retired || (h->proof != PROOF_PASSED && h->proof != PROOF_OUTGROWN))
			continue;
		if (judge_short(s, h->claims, why, sizeof why)) {
			ev.u.host_verified.result = PROOF_OUTGROWN;
			ev.u.host_verified.why = why;
		} else if (h->proof_until <= engine_minute(e)) {
			continue; /* it has to be measured anew all the same */
		}
		if (ev.u.host_verified.result != (int32_t)h->proof)
			np_recheck_say(api, h, &ev);
	}
}

/* ---- In the first minutes of a lease ----------------------------------------------------------- */

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

/* It did not answer: nobody knows what its buyer has. */
static void np_recheck_overdue(struct api *api)
{
	struct recheck late;

	while (nonces_overdue(api->nonces, market_now(api->market), &late)) {
		const struct host *h = engine_host(market_engine(api->market), late.host);

		if (h && !h->retired)
			np_recheck_say(api, h,
				&(struct event){
					.u.host_verified = { .result = PROOF_FAILED,
						.since = late.since,
						.why = "it did not measure itself again when a lease began" } });
		if (h)
			np_recheck_close(api, h);
		else
			nonces_checked(api->nonces, late.host);
	}
}

/* Can its agent know of a node on the machine? What came after that minute no agent has heard of. */
static bool np_recheck_empty(const struct engine *e, uint64_t agent, int64_t from)
{
	for (const struct host *h = engine_host_of_agent(e, agent, 0); h; h = engine_host_of_agent(e, agent, h->id)) {
		const struct instance *i = engine_host_instance(e, h->id);

		if (i && (i->status == INSTANCE_RUNNING || i->placed_at < 60 * (from + 1)))
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
	nonces_recheck(&api->nonces, &(struct recheck){ h->id, l->start, market_now(api->market) + RECHECK_SECONDS });
	np_recheck_hold(api, h->agent);
}

void np_recheck_look(struct api *api)
{
	const struct engine *e = market_engine(api->market);
	int64_t from = api->verified_minute;

	api->verified_minute = engine_minute(e);
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
