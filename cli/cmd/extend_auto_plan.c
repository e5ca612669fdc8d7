/* SPDX-License-Identifier: Apache-2.0 */
/* Says before the first extension by how much, when, at which price, and for how much in total. */
#include "cli/cmd/extend_auto_plan.h"

#include <inttypes.h>

#include "market/when.h"

enum { LEAD = 300 }; /* at most half of an extension */

bool extend_auto_priced(const struct auto_extend *a)
{
	return option_given(a->d->o, "price");
}

int64_t extend_auto_spent(const struct auto_extend *a)
{
	return a->since.begun ? a->paid - a->since.before : 0;
}

int64_t extend_auto_left(const struct auto_extend *a)
{
	return a->budget - extend_auto_spent(a);
}

int64_t extend_auto_lead(const struct auto_extend *a)
{
	return a->step / 2 < LEAD ? a->step / 2 : LEAD;
}

int64_t extend_auto_now(const struct auto_extend *a)
{
	return market_clock_now(&a->d->args.clock);
}

static void auto_plan_price(struct auto_extend *a, struct plan *p)
{
	const struct quote *q = &a->e.quote;
	unsigned gpus = order_args_gpus(&a->e.args, a->e.sku);
	char rate[PLAN_RATE], cost[MONEY_TEXT], span[WINDOW_TEXT], lead[WINDOW_TEXT], end[WHEN_TEXT];
	int64_t times = q->known && q->cost > 0 ? extend_auto_left(a) / q->cost : 0;

	window_span(a->step, span);
	window_span(extend_auto_lead(a), lead);
	if (q->known)
		plan_add(p, "each time", "%s longer, %s before the end: %s now, at %s", span, lead,
			money_text(q->cost, cost), plan_rate(quote_average(q), gpus, rate));
	else
		plan_add(p, "each time", "%s longer, %s before the end; now it cannot be bought: %s", span, lead,
			q->message);
	plan_add(p, "limit", "%s%s", plan_rate(a->e.args.limit, gpus, rate),
		extend_auto_priced(a) ? "" : ", the price of now; '-p' sets another one");
	plan_add(p, "total", "up to %s; %s of it is spent already", money_text(a->budget, cost),
		money_text(extend_auto_spent(a), rate));
	if (q->known)
		plan_add(p, "reaches", "%s at the price of now, after %" PRId64 " extension%s",
			when_local(a->ends + times * a->step, end), times, times == 1 ? "" : "s");
}

void extend_auto_show(struct auto_extend *a)
{
	char nodes[DEAL_NODES], end[WHEN_TEXT], relative[WHEN_TEXT], now[MONEY_TEXT], least[MONEY_TEXT];
	const struct sku *sku = a->e.sku;
	struct plan p;

	plan_init(&p, "Extend '%s' again and again", a->e.reservation.name);
	plan_add(&p, "nodes", "%s of %s, until %s (%s)", deal_nodes(a->e.args.nodes, nodes),
		sku->alias ? sku->alias : sku->id, when_local(a->ends, end),
		when_relative(a->ends, extend_auto_now(a), relative));
	auto_plan_price(a, &p);
	if (a->e.quote.known)
		deal_plan_burn(&p, plan_burn(quote_average(&a->e.quote), a->e.args.nodes));
	deal_plan_refund(a->d, &p, false);
	deal_read_balance(a->d);
	if (a->d->available != MODEL_NONE)
		plan_add(&p, "balance", "%s now, at least %s when the budget is used up",
			deal_about(a->d->available, now), deal_about(a->d->available - extend_auto_left(a), least));
	plan_add(&p, "stops", "when the budget is used up, '%s' has ended, or on Ctrl-C", a->e.reservation.name);
	plan_show(a->d->np, &p);
	plan_release(&p);
}
