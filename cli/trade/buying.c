/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/buying.h"

#include <inttypes.h>

#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "market/money.h"

const char *buying_type(const struct buying *b)
{
	return b->sku->alias ? b->sku->alias : b->sku->id;
}

struct model_order_new buying_order(const struct buying *b)
{
	return (struct model_order_new){ .pool = b->into.id,
		.sku = b->sku->id,
		.standing = option_given(b->o, "standing"),
		.partial = option_given(b->o, "partial"),
		.interruptible = option_given(b->o, "interruptible"),
		.nodes = b->wish.nodes,
		.start = b->wish.window.start,
		.end = b->wish.window.end,
		.price = b->wish.limit,
		.max_total = b->ours ? b->wish.max_total : 0 };
}

int buying_worst(const struct buying *b, int64_t *worst)
{
	return money_cost(b->wish.limit, b->wish.nodes, window_minutes(&b->wish.window), worst);
}

int buying_check_money(struct buying *b)
{
	bool standing = option_given(b->o, "standing");
	char a[MONEY_TEXT], c[MONEY_TEXT];
	int64_t worst, cost;

	if (buying_worst(b, &worst))
		return print_fail_field(b->np, STATUS_USAGE, "--price", NULL,
			"cannot buy that: the sum is too large to be counted");
	cost = standing || !b->ours ? worst : b->quote.known ? b->quote.cost : worst;
	/* What another market charges is bounded by the limit alone. */
	if (b->wish.max_total && cost > b->wish.max_total)
		return print_fail_field(b->np, STATUS_FUNDS, b->wish.max_where,
			standing || !b->ours
				? "at the limit it may cost that much; a lower '-p' or a shorter '-d' would fit"
				: NULL,
			"cannot buy that: it %s %s, and '%s' is %s", standing || !b->ours ? "may cost" : "costs",
			money_text(cost, a), b->wish.max_where, money_text(b->wish.max_total, c));
	return 0;
}

/* ---- The plan --------------------------------------------------------------------------- */

enum { WORST_TEXT = MONEY_TEXT + 16 };

/* Said where it is another sum, and only there. */
static const char *or_worst(int64_t sum, int64_t worst, char room[WORST_TEXT])
{
	char text[MONEY_TEXT];

	snprintf(room, WORST_TEXT, ", %s at worst", money_text(worst, text));
	return sum == worst ? "" : room;
}

static void plan_money(struct buying *b, struct plan *p, int64_t worst)
{
	unsigned gpus = wish_gpus(&b->wish, b->sku);
	char rate[PLAN_RATE], limit[PLAN_RATE], a[MONEY_TEXT], c[WORST_TEXT];
	int64_t average;

	plan_rate(b->wish.limit, gpus, limit);
	if (b->quote.known) {
		average = quote_average(&b->quote);
		plan_add(p, "price", "%s now%s, limit %s", plan_rate(average, gpus, rate),
			b->quote.firm ? "" : " by its book", limit);
		plan_add(p, "total", "%s%s%s", money_text(b->quote.cost, a),
			worst == b->quote.cost ? ", and not more" : " now", or_worst(b->quote.cost, worst, c));
	} else {
		plan_add(p, "price", "limit %s; %s%s", limit,
			b->quote.fills ? "" : "nothing fills now: ", b->quote.message);
		plan_add(p, "total", "%s at worst%s", money_text(worst, a),
			b->quote.fills ? "" : ", held while it waits");
		average = b->wish.limit;
	}
	plan_add(p, "burn", "%s an hour while it runs",
		money_text(plan_burn(average, b->quote.known ? b->quote.nodes : b->wish.nodes), a));
	if (b->wish.max_total)
		plan_add(p, "cap", "%s by %s", money_text(b->wish.max_total, a), b->wish.max_where);
}

static void plan_after(struct buying *b, struct plan *p, int64_t worst)
{
	char a[MONEY_TEXT], c[MONEY_TEXT], other[WORST_TEXT];

	if (b->ours && b->m->about.policy.release_bps > 0)
		plan_add(p, "refund",
			"'nanopod release' gives back %d.%02d %% of what is paid for time that has not begun%s",
			(int)(b->m->about.policy.release_bps / 100), (int)(b->m->about.policy.release_bps % 100),
			option_given(b->o, "interruptible") ? "; what is interrupted comes back whole" : "");
	else
		plan_add(p, "refund", "none for time that is not used; it can be sold again: 'nanopod sell'");
	if (b->available != MODEL_NONE && b->quote.known)
		plan_add(p, "balance", "%s after it%s; %s now", money_text(b->available - b->quote.cost, a),
			or_worst(b->available - b->quote.cost, b->available - worst, other),
			money_text(b->available, c));
	else if (b->available != MODEL_NONE)
		plan_add(p, "balance", "%s after it at worst; %s now", money_text(b->available - worst, a),
			money_text(b->available, c));
}

void buying_show(struct buying *b)
{
	char window[WINDOW_TEXT];
	int64_t worst = 0;
	struct plan p;

	buying_worst(b, &worst);
	if (b->ours && b->wish.max_total && b->wish.max_total < worst)
		worst = b->wish.max_total; /* the market sees to that */
	plan_init(&p, "Buy %" PRId64 " node%s of %s%s%s%s", b->wish.nodes, b->wish.nodes == 1 ? "" : "s",
		buying_type(b), b->into.id ? " into " : "", b->into.id ? b->into.name : "",
		option_given(b->o, "interruptible") ? ", interruptible" : "");
	plan_add(&p, "window", "%s%s", window_show(&b->wish.window, window),
		b->wish.window.rounded ? " (rounded)" : "");
	if (b->sku->gpus)
		plan_add(&p, "size", "%" PRId64 " x %u GPUs%s", b->wish.nodes, b->sku->gpus,
			option_given(b->o, "partial") ? ", or fewer" : "");
	plan_money(b, &p, worst);
	plan_after(b, &p, worst);
	if (!option_given(b->o, "no-instances"))
		plan_add(&p, "sign-in",
			b->keys ? "with %zu SSH key%s of yours"
				: "with no key of yours: there is none in ~/.ssh; '--ssh-key' names one",
			b->keys, b->keys == 1 ? "" : "s");
	plan_show(b->np, &p);
	plan_release(&p);
}

void buying_show_resumed(struct buying *b)
{
	char window[WINDOW_TEXT], rate[PLAN_RATE], a[MONEY_TEXT];
	int64_t worst = 0;
	struct plan p;

	buying_worst(b, &worst);
	plan_init(&p, "Buy %" PRId64 " node%s of %s", b->wish.nodes, b->wish.nodes == 1 ? "" : "s", buying_type(b));
	plan_add(&p, "window", "%s", window_show(&b->wish.window, window));
	plan_add(&p, "price", "limit %s", plan_rate(b->wish.limit, wish_gpus(&b->wish, b->sku), rate));
	plan_add(&p, "total", "%s at worst", money_text(worst, a));
	plan_show(b->np, &p);
	plan_release(&p);
}
