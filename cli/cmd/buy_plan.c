/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/buy_plan.h"

#include <inttypes.h>

#include "cli/frame/print.h"
#include "market/money.h"

const char *buy_type(const struct buy *b)
{
	return b->order.sku->alias ? b->order.sku->alias : b->order.sku->id;
}

struct model_order_new buy_order(const struct buy *b)
{
	const struct order_args *a = &b->order.args;

	return (struct model_order_new){ .pool = b->order.reservation.id,
		.sku = b->order.sku->id,
		.standing = option_given(b->d.o, "standing"),
		.partial = option_given(b->d.o, "partial"),
		.interruptible = option_given(b->d.o, "interruptible"),
		.unverified = option_given(b->d.o, "unverified"),
		.nodes = a->nodes,
		.start = a->window.start,
		.end = a->window.end,
		.price = a->limit,
		.max_total = b->d.ours ? a->max_total : 0 };
}

/* The most that the order can cost: the market holds money for its limit. 0, or -ERANGE. */
static int buy_most(const struct buy *b, int64_t *most)
{
	const struct order_args *a = &b->order.args;

	return money_cost(a->limit, a->nodes, window_minutes(&a->window), most);
}

int buy_check_money(struct buy *b)
{
	const struct order_args *a = &b->order.args;
	const struct quote *q = &b->order.quote;
	bool standing = option_given(b->d.o, "standing"), at_limit = standing || !b->d.ours;
	char cost_text[MONEY_TEXT], max_text[MONEY_TEXT];
	int64_t most, cost;

	if (buy_most(b, &most))
		return deal_too_large(&b->d, "cannot buy that");
	/* Only our market checks --max-total itself; for another's, what the limit allows must fit. */
	cost = !at_limit && q->known ? q->cost : most;
	if (a->max_total && cost > a->max_total)
		return print_fail_field(b->d.np, STATUS_FUNDS, a->max_where,
			at_limit ? "lower the limit with '-p' or the time with '-d'" : NULL,
			"cannot buy that: it %s %s, and '%s' is %s", at_limit ? "may cost up to" : "costs",
			money_text(cost, cost_text), a->max_where, money_text(a->max_total, max_text));
	return 0;
}

static void buy_plan_money(struct buy *b, struct plan *p, int64_t most)
{
	const struct order_args *a = &b->order.args;
	const struct quote *q = &b->order.quote;
	unsigned gpus = order_args_gpus(a, b->order.sku);
	char rate[PLAN_RATE], limit[PLAN_RATE], text[MONEY_TEXT];

	plan_rate(a->limit, gpus, limit);
	if (q->known) {
		plan_add(p, "price", "%s now%s, limit %s", plan_rate(quote_average(q), gpus, rate),
			q->firm ? "" : " by its order book", limit);
		deal_plan_total(p, q->cost, most);
		deal_plan_burn(p, plan_burn(quote_average(q), q->nodes));
	} else {
		plan_add(p, "price", "limit %s; %s%s", limit, q->fills ? "" : "nothing fills now: ", q->message);
		plan_add(p, "total", "up to %s at your limit%s", money_text(most, text),
			q->fills ? "" : "; the market holds it while the order waits");
		deal_plan_burn(p, plan_burn(a->limit, a->nodes));
	}
	if (a->max_total)
		plan_add(p, "cap", "%s by %s", money_text(a->max_total, text), a->max_where);
}

void buy_show_plan(struct buy *b)
{
	const struct order_args *a = &b->order.args;
	const struct quote *q = &b->order.quote;
	char window[WINDOW_TEXT], nodes[DEAL_NODES];
	int64_t most = 0;
	struct plan p;

	buy_most(b, &most);
	if (b->d.ours && a->max_total && a->max_total < most)
		most = a->max_total;
	plan_init(&p, "Buy %s of %s%s%s%s%s", deal_nodes(a->nodes, nodes), buy_type(b),
		b->order.reservation.id ? " into " : "", b->order.reservation.id ? b->order.reservation.name : "",
		option_given(b->d.o, "interruptible") ? ", interruptible" : "",
		option_given(b->d.o, "unverified") ? ", unverified hosts too" : "");
	plan_add(&p, "window", "%s%s", window_show(&a->window, window), a->window.rounded ? " (rounded)" : "");
	if (b->order.sku->share)
		plan_add(&p, "size", "%" PRId64 " x %s of a GPU%s; %s", a->nodes, b->order.sku->share,
			option_given(b->d.o, "partial") ? ", or fewer" : "", sku_share_text(b->order.sku->share));
	else if (b->order.sku->gpus)
		plan_add(&p, "size", "%" PRId64 " x %u GPUs%s", a->nodes, b->order.sku->gpus,
			option_given(b->d.o, "partial") ? ", or fewer" : "");
	buy_plan_money(b, &p, most);
	deal_plan_refund(&b->d, &p, option_given(b->d.o, "interruptible"));
	if (q->known)
		deal_plan_balance(&b->d, &p, q->cost, most);
	else
		deal_plan_balance(&b->d, &p, most, most);
	if (!option_given(b->d.o, "no-instances"))
		plan_add(&p, "SSH keys", "%s",
			b->keys ? buf_text(&b->key_files)
				: "none: there is none in ~/.ssh, so you cannot log in; '--ssh-key FILE' adds one");
	plan_show(b->d.np, &p);
	plan_release(&p);
}

void buy_show_resumed(struct buy *b)
{
	const struct order_args *a = &b->order.args;
	char window[WINDOW_TEXT], rate[PLAN_RATE], text[MONEY_TEXT], nodes[DEAL_NODES];
	int64_t most = 0;
	struct plan p;

	buy_most(b, &most);
	plan_init(&p, "Buy %s of %s", deal_nodes(a->nodes, nodes), buy_type(b));
	plan_add(&p, "window", "%s", window_show(&a->window, window));
	plan_add(&p, "price", "limit %s", plan_rate(a->limit, order_args_gpus(a, b->order.sku), rate));
	plan_add(&p, "total", "up to %s at your limit", money_text(most, text));
	plan_show(b->d.np, &p);
	plan_release(&p);
}
