/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes: the checks and plans of a real order, thrown away afterwards. */
#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/rules/buy.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/rules/order.h"
#include "marketd/engine/rules/release.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/rules/live_order.h"

/* Quotes a buy without a pool as if its pool were empty. */
static void quote_init(const struct engine *e, struct live_order *t, const struct order *o)
{
	live_order_init(e, t, o);
	t->pool = world_pool(e, o->pool);
}

/* The most nodes that a plan takes in one minute. */
static int32_t most_nodes(const struct order *o, const struct plan *plan)
{
	int64_t at = o->start;
	int32_t least = o->nodes;

	for (size_t i = 0; i < plan->rest_count; i++) {
		if (plan->rest[i].start > at)
			return o->nodes;
		at = plan->rest[i].end;
		least = plan->rest[i].nodes < least ? plan->rest[i].nodes : least;
	}
	return at < o->end ? o->nodes : o->nodes - least;
}

static int quote_buy(const struct engine *e, const struct order *o, struct quote *out, struct fail *why)
{
	struct plan plan = { 0 };
	struct live_order t;
	int rc;

	quote_init(e, &t, o);
	rc = buy_plan(e, &t, &plan, why);
	if (plan.count)
		*out = (struct quote){ .cost = plan.cost,
			.granted = buy_granted(&t.pub, &plan),
			.price = plan.dearest,
			.nodes = most_nodes(o, &plan) };
	else if (rc == 0)
		rc = fail_set(why, buy_reason(&plan),
			plan.more ? "what is on sale costs more than the limit"
				  : "not enough is on sale for that window at any price");
	plan_release(&plan);
	return rc;
}

static int quote_sell(const struct engine *e, const struct order *o, struct quote *out, struct fail *why)
{
	struct sell_preview taken;
	struct pick hosts;
	struct live_order t;
	int rc;

	quote_init(e, &t, o);
	rc = sell_plan(e, &t, &hosts, why);
	if (rc)
		return rc;
	sell_preview_find(e, o, &hosts, &taken);
	pick_release(&hosts);
	if (!taken.minutes)
		return fail_set(why, REASON_NO_BUYER, "nobody asks for it at that price");
	*out = (struct quote){ .cost = taken.cost, .price = taken.lowest, .nodes = taken.nodes };
	return 0;
}

int engine_quote(const struct engine *e, const struct event *order, struct quote *out, struct fail *why)
{
	struct order o;
	int rc = order_check(e, order, true, &o, why);

	if (rc)
		return rc;
	return o.side == SIDE_BUY ? quote_buy(e, &o, out, why) : quote_sell(e, &o, out, why);
}

int engine_release_quote(const struct engine *e, const struct event *release, struct release_quote *out,
	struct fail *why)
{
	return release_quote(e, release, out, why);
}

int engine_price_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_order *o;

	return order_price_check(e, ev, &o, why);
}

int engine_floor_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_host *h;

	return floor_check(e, ev, &h, why);
}
