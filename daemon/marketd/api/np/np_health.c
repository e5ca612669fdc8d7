/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent's status says of each of its hosts, for the market's watch. */
#include "market/ident.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"
#include "marketd/store/watch.h"

static const json_t *health_of(const json_t *given, uint64_t host)
{
	const json_t *one;
	uint64_t id;
	size_t n;

	json_array_foreach(given, n, one)
		if (ident_parse(IDENT_HOST, body_text(one, "host"), &id) && id == host)
			return one;
	return NULL;
}

/* An agent that does not speak of hosts means all of them. A host that it does not name is not spoken of. */
void np_take_health(struct api *api, const struct request *q, const struct agent *a)
{
	const struct engine *e = market_engine(api->market);
	const json_t *given = json_object_get(q->body, "hosts");
	bool each = json_is_array(given);

	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		const json_t *one = each ? health_of(given, h->id) : q->body;

		if (one)
			watch_told_host(api->watch, e, h->id, health_read(body_text(one, "health")),
				body_text(one, each ? "reason" : "message"), market_now(api->market));
	}
}
