/* SPDX-License-Identifier: Apache-2.0 */
/* Which SKU an order of the older APIs is for: they name a kind of hardware, or any zone. */
#include "marketd/api/old/v1.h"

/* How good a SKU is for an order: the rank first, less is better, then the value. */
struct fit {
	int rank;
	int64_t value;
};

enum { FILLS_NOW, FILLS_FIRST_WAY, FILLS_OTHER_WAY, FILLS_NEVER };

/* What an order that waits hopes for: a later start for one that renews itself, else a lower price. */
static struct fit fit_later(const struct engine *e, const struct event *order, enum old_wait wait)
{
	struct event ask = *order;
	struct diagnosis w = { 0 };

	ask.u.order.max_total = 0; /* it is about other prices too */
	engine_diagnose(e, &ask, &w);
	if (w.has_start && (wait == WAIT_FOR_START || !w.has_price))
		return (struct fit){ wait == WAIT_FOR_START ? FILLS_FIRST_WAY : FILLS_OTHER_WAY, w.start };
	if (w.has_price)
		return (struct fit){ wait == WAIT_FOR_PRICE ? FILLS_FIRST_WAY : FILLS_OTHER_WAY, w.price };
	return (struct fit){ FILLS_NEVER, 0 };
}

uint64_t old_pick(const struct engine *e, const struct event *order, enum old_wait wait, old_fits fits, const void *arg)
{
	struct fit best = { FILLS_NEVER + 1, 0 };
	uint64_t sku = 0;

	for (const struct sku *s = engine_sku_after(e, 0); s; s = engine_sku_after(e, s->id)) {
		struct event ev = *order;
		struct quote quote;
		struct fit fit;

		if (!fits(s, arg))
			continue;
		ev.u.order.sku = s->id;
		if (engine_quote(e, &ev, &quote, NULL) == 0)
			fit = (struct fit){ FILLS_NOW, quote.cost };
		else if (wait == WAIT_NOT)
			continue;
		else
			fit = fit_later(e, &ev, wait);
		if (fit.rank < best.rank || (fit.rank == best.rank && fit.value < best.value)) {
			best = fit;
			sku = s->id;
		}
	}
	return sku;
}
