/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/buy/buy_plan.h"

#include <inttypes.h>
#include <limits.h>

#include "base/str.h"
#include "cli/cmd/buy/buy_name.h"
#include "cli/cmd/buy/buy_result.h"
#include "cli/cmd/buy/buy_stack.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/trade/cloudinit.h"
#include "market/money.h"

/* ---- What was typed -------------------------------------------------------------------- */

static int buy_check_names(struct buy *b)
{
	const char *name = option_text(b->d.o, "name"), *into = option_text(b->d.o, "into");
	struct fail f = { 0 };

	if (option_given(b->d.o, "ensure") && !option_given(b->d.o, "name"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--ensure", NULL,
			"cannot use '--ensure' without '--name': the name tells whether you have it already");

	if (option_given(b->d.o, "name") && option_given(b->d.o, "into"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--name", NULL,
			"cannot use '--name' and '--into' together: '--into' adds nodes to a reservation that has a "
			"name");
	if ((name && buy_name_check(name, &f)) || (into && reservation_check_name(into, &f)))
		return print_fail_field(b->d.np, STATUS_USAGE, name ? "--name" : "--into", NULL, "cannot use '%s': %s",
			name ? "--name" : "--into", f.text);
	if (option_given(b->d.o, "node-name") && buy_name_check(option_text(b->d.o, "node-name"), &f))
		return print_fail_field(b->d.np, STATUS_USAGE, "--node-name", NULL, "cannot use '--node-name': %s",
			f.text);
	return 0;
}

int buy_read_keys(struct buy *b)
{
	const char *files[64];
	struct fail f = { 0 };
	size_t count = 0;

	if (option_given(b->d.o, "no-ssh-key") && option_given(b->d.o, "ssh-key"))
		return print_fail_field(b->d.np, STATUS_USAGE, "--no-ssh-key", NULL,
			"cannot use '--no-ssh-key' and '--ssh-key' together");
	if (option_given(b->d.o, "no-instances") || option_given(b->d.o, "no-ssh-key"))
		return 0;
	while (count < sizeof files / sizeof *files && option_at(b->d.o, "ssh-key", count)) {
		files[count] = option_at(b->d.o, "ssh-key", count);
		count++;
	}
	if (userdata_make(b->d.np->settings, files, count, &b->userdata, &b->keys, &b->key_files, &f))
		return print_fail_field(b->d.np, STATUS_USAGE, "--ssh-key", NULL, "%s", f.text);
	if (!b->keys)
		return print_fail_field(b->d.np, STATUS_USAGE, "--ssh-key",
			"'ssh-keygen -t ed25519' makes one; '--ssh-key FILE' names another; '--no-ssh-key' buys "
			"without one",
			"cannot buy nodes that you could not log in to: %s",
			count ? "those files have no SSH key" : "there is no SSH key in ~/.ssh");
	return 0;
}

int buy_read_line(struct buy *b)
{
	unsigned flags = ORDER_ARGS_WINDOW | ORDER_ARGS_PRICE | ORDER_ARGS_NEEDS_PRICE | ORDER_ARGS_SPENDS |
		ORDER_ARGS_NODES;
	int rc = order_args_read(b->d.np, b->d.o, flags, &b->d.args);

	if (!rc && !option_given(b->d.o, "type"))
		rc = print_fail_field(b->d.np, STATUS_USAGE, "--type", "'nanopod types' lists them",
			"--type is required, e.g. -t h100");
	rc = rc ? rc : order_args_check_wait(b->d.np, b->d.o);
	rc = rc ? rc : buy_check_names(b);
	if (!rc && !rows_check(b->d.np, b->d.o, buy_result_columns, &rc))
		return rc ? rc : BUY_STOP;
	rc = rc ? rc : plan_can_ask(b->d.np, b->d.o);
	rc = rc ? rc : buy_read_keys(b);
	return rc ? rc : buy_stack_read(b);
}

/* ---- The order and its plan --------------------------------------------------------------- */

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
		.grant = option_text(b->d.o, "grant"),
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
	const struct quote *q = &b->order.quote;
	int rc = money_cost(a->limit, a->nodes, window_minutes(&a->window), most);

	if (!rc && q->granted) /* the grant pays its part of a higher price, too */
		*most = *most / QUOTE_WHOLE * q->share +
			(*most % QUOTE_WHOLE * q->share + QUOTE_WHOLE - 1) / QUOTE_WHOLE;
	return rc;
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
	char rate[PLAN_RATE], limit[PLAN_RATE], text[MONEY_TEXT], policy[QUOTE_POLICY];

	plan_rate(a->limit, gpus, limit);
	if (q->known) {
		plan_add(p, "price", "%s now%s, limit %s", plan_rate(quote_average(q), gpus, rate),
			q->firm ? "" : " by its order book", limit);
		if (*quote_policy(q, option_given(b->d.o, "standing"), policy))
			plan_add(p, "policy", "%s", policy);
		deal_plan_total(p, q->cost, most);
		deal_plan_burn(p, plan_burn(quote_own(q), q->nodes));
	} else {
		plan_add(p, "price", "limit %s; %s%s", limit, q->fills ? "" : "nothing fills now: ", q->message);
		plan_add(p, "total", "up to %s at your limit%s", deal_about(most, text),
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
	plan_add(&p, "window", "%s%s", window_show(&a->window, market_clock_now(&a->clock), window),
		a->window.rounded ? " (rounded)" : "");
	if (b->order.sku->share)
		plan_add(&p, "size", "%" PRId64 " x %s of a GPU%s; %s", a->nodes, b->order.sku->share,
			option_given(b->d.o, "partial") ? ", or fewer" : "", sku_share_text(b->order.sku->share));
	else if (b->order.sku->gpus)
		plan_add(&p, "size", "%" PRId64 " x %u GPU%s%s", a->nodes, b->order.sku->gpus,
			b->order.sku->gpus == 1 ? "" : "s",
			option_given(b->d.o, "partial") ? ", or fewer" : "");
	buy_plan_money(b, &p, most);
	deal_plan_refund(&b->d, &p, option_given(b->d.o, "interruptible"), q->granted);
	if (q->known)
		deal_plan_balance(&b->d, &p, q->cost, most);
	else
		deal_plan_balance(&b->d, &p, most, most);
	if (!option_given(b->d.o, "no-instances"))
		plan_add(&p, "SSH keys", "%s",
			b->keys ? buf_text(&b->key_files) : "none, by '--no-ssh-key': nobody can log in");
	buy_stack_plan(b, &p);
	plan_show(b->d.np, &p);
	plan_release(&p);
}

static void buy_show_resumed(struct buy *b)
{
	const struct order_args *a = &b->order.args;
	char window[WINDOW_TEXT], rate[PLAN_RATE], text[MONEY_TEXT], nodes[DEAL_NODES];
	int64_t most = 0;
	struct plan p;

	buy_most(b, &most);
	plan_init(&p, "Buy %s of %s", deal_nodes(a->nodes, nodes), buy_type(b));
	plan_add(&p, "window", "%s", window_show(&a->window, market_clock_now(&a->clock), window));
	plan_add(&p, "price", "limit %s", plan_rate(a->limit, order_args_gpus(a, b->order.sku), rate));
	plan_add(&p, "total", "up to %s at your limit", deal_about(most, text));
	buy_stack_plan(b, &p);
	plan_show(b->d.np, &p);
	plan_release(&p);
}

static int64_t buy_kept_number(const struct purchase *p, const char *name)
{
	const char *text = purchase_kept(p, name);
	long n = 0;

	return text && str_to_long(text, 0, LONG_MAX, &n) == 0 ? n : 0;
}

/* The purchase keeps the window that was agreed to. */
void buy_resume(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct window *w = &b->order.args.window;
	char window[WINDOW_TEXT];

	w->start = buy_kept_number(p, "start");
	w->end = buy_kept_number(p, "end");
	w->now = false;
	print_note(b->d.np, "continues the unfinished purchase of this command: '%s', %s; '--new' starts another one",
		p->name, window_show(w, market_clock_now(&b->order.args.clock), window));
	buy_show_resumed(b);
}

bool buy_is_stale(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	struct window kept = { .start = buy_kept_number(p, "start"), .end = buy_kept_number(p, "end") };

	if (purchase_was_cancelled(p)) {
		print_note(b->d.np, "starts over: the order of the unfinished purchase '%s' was cancelled or ran out",
			p->name);
		purchase_release(p);
		return true;
	}
	if (buy_stack_has_ended(b)) {
		print_note(b->d.np, "starts over: '%s' has ended, and its cluster with it", p->name);
		purchase_end(p);
		purchase_release(p);
		return true;
	}
	if (purchase_kept(p, "order") || !window_past(&kept, market_clock_now(&b->order.args.clock)))
		return false;
	if (p->own_pool && !*p->pool && purchase_kept(p, "pool.body") && purchase_pool(p))
		return false;
	if (p->own_pool && *p->pool && !purchase_undo_pool(p))
		return false;
	if (!p->own_pool && purchase_kept(p, "order.body"))
		return false;
	print_note(b->d.np, "starts over: the window of the unfinished purchase '%s' has begun, and nothing was bought",
		p->name);
	purchase_end(p);
	purchase_release(p);
	return true;
}
