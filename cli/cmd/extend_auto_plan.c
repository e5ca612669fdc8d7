/* SPDX-License-Identifier: Apache-2.0 */
/* Says before the first extension by how much, when, at which price, and for how much in total. */
#include "cli/cmd/extend_auto_plan.h"

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

int64_t extend_auto_behind(const struct auto_extend *a, const struct reservation_part *part, int64_t end)
{
	int64_t from = a->ends - WINDOW_STEP, start = part_start(part), had, keeps;

	if (start > from && start <= a->ends) /* a market may not show what has passed */
		from = start;
	had = part_nodes_at(part, a->ends - 1);
	had = had > a->e.args.nodes ? had : a->e.args.nodes;
	keeps = part_least(part, from, end);
	return keeps < had ? had - keeps : 0;
}

void extend_auto_warn_behind(const struct auto_extend *a, int64_t behind)
{
	const char *s = behind == 1 ? "" : "s", *ends = behind == 1 ? "s" : "", *it = behind == 1 ? "it" : "them";
	char when[WHEN_TEXT];

	print_warn(a->d->np, "%" PRId64 " node%s of '%s' now end%s before %s, and --auto-extend cannot reach %s",
		behind, s, a->e.reservation.name, ends, when_local(a->ends, extend_auto_now(a), when), it);
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

static void auto_plan_price(struct auto_extend *a, struct plan *p)
{
	const struct quote *q = &a->e.quote;
	unsigned gpus = order_args_gpus(&a->e.args, a->e.sku);
	char rate[PLAN_RATE], cost[MONEY_TEXT], span[WINDOW_TEXT], lead[WINDOW_TEXT], end[WHEN_TEXT];
	int64_t times = q->known && q->cost > 0 ? extend_auto_left(a) / q->cost : 0,
		most = (latest - a->ends) / a->step;

	times = times < most ? times : most;

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
			when_local(a->ends + times * a->step, extend_auto_now(a), end), times, times == 1 ? "" : "s");
}

void extend_auto_show(struct auto_extend *a)
{
	char nodes[DEAL_NODES], end[WHEN_TEXT], relative[WHEN_TEXT], now[MONEY_TEXT], least[MONEY_TEXT];
	const struct sku *sku = a->e.sku;
	struct plan p;

	plan_init(&p, "Extend '%s' again and again", a->e.reservation.name);
	plan_add(&p, "nodes", "%s of %s, until %s (%s)", deal_nodes(a->e.args.nodes, nodes),
		sku->alias ? sku->alias : sku->id, when_local(a->ends, extend_auto_now(a), end),
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
