/* SPDX-License-Identifier: Apache-2.0 */
/* Says before the first extension by how much, when, at which price, and for how much in total. */
#include "cli/cmd/extend/extend_auto_plan.h"

#include <inttypes.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/frame/retype.h"
#include "cli/nodes/node.h"
#include "market/when.h"

enum { LEAD = 300 }; /* at most half of an extension */

static const int64_t latest = 253402300799; /* the year 9999 ends */

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

int extend_auto_taken_back(struct auto_extend *a, bool *yes)
{
	struct nodes *n = NULL;
	int rc = nodes_load(a->d->m, a->e.reservation.id, false, &n);

	for (size_t i = 0; !rc && i < n->count; i++)
		*yes |= n->list[i].ends_early;
	if (!rc)
		nodes_free(n);
	return rc;
}

int extend_auto_check_cap(struct auto_extend *a)
{
	char left[MONEY_TEXT], cap[MONEY_TEXT];

	if (!a->d->args.max_total || extend_auto_left(a) <= a->d->args.max_total)
		return 0;
	return print_fail_field(a->d->np, STATUS_FUNDS, a->d->args.max_where, NULL,
		"cannot extend '%.60s': it may cost %s, and '%s' is %s", a->e.reservation.name,
		money_text(extend_auto_left(a), left), a->d->args.max_where, money_text(a->d->args.max_total, cap));
}

const char *extend_auto_more(const struct auto_extend *a, struct buf *out)
{
	char budget[MONEY_TEXT];
	int64_t spent = extend_auto_spent(a), more;
	size_t n;

	if (money_add(a->budget, spent > a->budget ? spent : a->budget, &more))
		more = a->budget;
	money_wire(more, budget);
	for (n = strlen(budget); n && budget[n - 1] == '0'; n--)
		budget[n - 1] = '\0';
	if (n && budget[n - 1] == '.')
		budget[n - 1] = '\0';
	buf_adds(out, "'");
	retype(a->d->command, a->d->o, (struct retype_change[]){ { "auto-extend", budget }, { 0 } }, out);
	buf_adds(out, "' extends it further");
	return buf_text(out);
}

struct procuring {
	const struct deal_order *e;
	char name[64]; /* "": none */
};

static int auto_add_procurement(void *arg, struct doc *d, long at, struct fail *f)
{
	struct procuring *p = arg;
	struct model_procurement one;
	int rc = wire_procurement(d, at, &one, f);

	if (rc || !one.enabled || !one.sku.id || strcmp(one.sku.id, p->e->sku->id) != 0)
		return rc;
	snprintf(p->name, sizeof p->name, "%s", one.name ? one.name : one.id);
	return 1;
}

int extend_auto_check_procurements(struct auto_extend *a)
{
	struct procuring p = { .e = &a->e };
	char path[160], hint[120];

	snprintf(path, sizeof path, "/v2/procurements?limit=50&pool=%s", a->e.reservation.id);
	if (market_each(a->d->m, path, auto_add_procurement, &p))
		return market_fail(a->d->m, "cannot extend '%.60s'", a->e.reservation.name);
	if (!*p.name)
		return 0;
	snprintf(hint, sizeof hint, "'nanopod procurement disable %s' first", p.name);
	return print_fail(a->d->np, STATUS_CONFLICT, retype_plain(p.name) ? hint : "disable the procurement first",
		"cannot extend '%.60s' again and again: the procurement '%s' buys for it, which would not count",
		a->e.reservation.name, p.name);
}

/* A line for each end: which nodes, until when, and what they cost now. */
static void auto_plan_ends(struct auto_extend *a, struct plan *p, const char *type)
{
	char nodes[DEAL_NODES], end[WHEN_TEXT], relative[WHEN_TEXT], rate[PLAN_RATE], cost[MONEY_TEXT];
	unsigned gpus = order_args_gpus(&a->e.args, a->e.sku);
	int64_t now = extend_auto_now(a);

	for (size_t i = 0; i < a->end_count; i++) {
		const struct auto_end *e = &a->ends[i];

		plan_add(p, i ? "" : "nodes", "%s of %s, until %s (%s)", deal_nodes(e->nodes, nodes), type,
			when_local(e->at, now, end), when_relative(e->at, now, relative));
		if (a->end_count > 1 && e->cost >= 0)
			plan_add(p, "", "%s now, at %s%s", money_text(e->cost, cost), plan_rate(e->price, gpus, rate),
				e->spent ? ": more than is left" : "");
	}
}

/* Nodes that end because their time was released, sold or taken back. */
static void auto_plan_given_up(const struct auto_extend *a, struct plan *p)
{
	char nodes[DEAL_NODES], end[WHEN_TEXT];

	for (size_t i = a->all_count; i-- > 0;) {
		int64_t left = a->all[i].nodes;

		for (size_t k = 0; k < a->end_count; k++)
			left -= a->ends[k].at == a->all[i].at ? a->ends[k].nodes : 0;
		if (left > 0)
			plan_add(p, "not these", "%s until %s: released, sold, or taken back", deal_nodes(left, nodes),
				when_local(a->all[i].at, extend_auto_now(a), end));
	}
}

static void auto_plan_price(struct auto_extend *a, struct plan *p, int64_t cost)
{
	unsigned gpus = order_args_gpus(&a->e.args, a->e.sku);
	char rate[PLAN_RATE], money[MONEY_TEXT], span[WINDOW_TEXT], lead[WINDOW_TEXT], end[WHEN_TEXT];
	int64_t times = cost > 0 ? extend_auto_left(a) / cost : 0, most = (latest - a->until) / a->step;

	times = times < most ? times : most;
	window_span(a->step, span);
	window_span(extend_auto_lead(a), lead);
	if (cost < 0)
		plan_add(p, "each time", "%s longer, %s before the end; now it cannot be bought: %s", span, lead,
			a->cannot);
	else if (a->end_count > 1)
		plan_add(p, "each time", "%s longer, %s before each end: %s now for all", span, lead,
			money_text(cost, money));
	else
		plan_add(p, "each time", "%s longer, %s before the end: %s now, at %s", span, lead,
			money_text(cost, money), plan_rate(a->ends[0].price, gpus, rate));
	plan_add(p, "limit", "%s%s", plan_rate(a->e.args.limit, gpus, rate),
		extend_auto_priced(a) ? "" : ", the price of now; '-p' sets another one");
	plan_add(p, "total", "up to %s; %s of it is spent already", money_text(a->budget, money),
		money_text(extend_auto_spent(a), rate));
	if (cost >= 0)
		plan_add(p, "reaches", "%s at the price of now, after %" PRId64 " extension%s%s",
			when_local(a->until + times * a->step, extend_auto_now(a), end), times, times == 1 ? "" : "s",
			a->end_count > 1 ? " of each" : "");
}

/* What one extension of each end costs now; -1: one of them cannot be bought now. */
static int64_t auto_plan_cost(const struct auto_extend *a)
{
	int64_t sum = 0;

	for (size_t i = 0; i < a->end_count; i++)
		if (a->ends[i].cost < 0 || money_add(sum, a->ends[i].cost, &sum))
			return -1;
	return sum;
}

void extend_auto_show(struct auto_extend *a)
{
	char now[MONEY_TEXT], least[MONEY_TEXT];
	const struct sku *sku = a->e.sku;
	int64_t cost = auto_plan_cost(a), burn = 0;
	struct plan p;

	for (size_t i = 0; i < a->end_count; i++)
		burn += plan_burn(a->ends[i].price, a->ends[i].nodes);
	plan_init(&p, "Extend '%s' again and again", a->e.reservation.name);
	auto_plan_ends(a, &p, sku->alias ? sku->alias : sku->id);
	auto_plan_given_up(a, &p);
	auto_plan_price(a, &p, cost);
	if (cost >= 0)
		deal_plan_burn(&p, burn);
	deal_plan_refund(a->d, &p, false, false);
	deal_read_balance(a->d);
	if (a->d->available != MODEL_NONE)
		plan_add(&p, "balance", "%s now, at least %s when the budget is used up",
			deal_about(a->d->available, now), deal_about(a->d->available - extend_auto_left(a), least));
	plan_add(&p, "stops", "when the budget is used up, '%s' has ended, or on Ctrl-C", a->e.reservation.name);
	plan_show(a->d->np, &p);
	plan_release(&p);
}
