/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent's status says of each of its hosts, for the market's watch. */
#include "market/ident.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"

static void tell_health(struct api *api, enum health health, uint64_t host, const char *why)
{
	watch_told_host(api->watch, market_engine(api->market), host, health, why, market_now(api->market));
}

/*
 * An agent that does not speak of hosts means all of them, and cannot say which one a fault belongs to: none is
 * refunded for it. A host that an agent passes over is well.
 */
void np_take_health(struct api *api, const struct request *q, const struct agent *a)
{
	const struct engine *e = market_engine(api->market);
	const json_t *given = json_object_get(q->body, "hosts"), *one;
	enum health whole = health_read(body_text(q->body, "health"));
	const struct host *h;
	uint64_t id;
	size_t n;

	if (!json_is_array(given)) {
		whole = whole == HEALTH_UNHEALTHY ? HEALTH_DRAINING : whole;
		for (h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id))
			tell_health(api, whole, h->id, body_text(q->body, "message"));
		return;
	}
	json_array_foreach(given, n, one)
	{
		h = ident_parse(IDENT_HOST, body_text(one, "host"), &id) ? engine_host(e, id) : NULL;
		if (h && h->agent == a->id)
			tell_health(api, health_read(body_text(one, "health")), id, body_text(one, "reason"));
	}
	watch_passed_over(api->watch, e, a->id, market_now(api->market));
}
