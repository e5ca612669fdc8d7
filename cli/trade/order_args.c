/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/order_args.h"

#include <string.h>

#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "market/money.h"

enum { WAIT_MS = 5 * 60 * 1000, ANY_GPUS = 8 };

static const char *text_if(const struct options *o, const char *name)
{
	return option_given(o, name) ? option_text(o, name) : NULL;
}

int order_args_window(struct nanopod *np, const struct options *o, int64_t now, struct order_args *w)
{
	struct window_words words = { text_if(o, "start"), text_if(o, "end"), text_if(o, "duration"),
		text_if(o, "round") };
	const char *field = NULL;
	struct fail f = { 0 };

	if (window_parse(&words, now, &w->window, &field, &f))
		return print_fail_field(np, STATUS_USAGE, field, NULL, "%s", f.text);
	return 0;
}

/* Only the type tells the unit; here it just has to be a price. */
static int check_price(struct nanopod *np, const struct options *o, unsigned flags, bool per_node)
{
	struct fail f = { 0 };
	int64_t price;

	if (!option_given(o, "price") && flags & ORDER_ARGS_NEEDS_PRICE)
		return print_fail_field(np, STATUS_USAGE, "--price", "'nanopod price' shows what it costs now",
			"--price is required, e.g. -p 2.10 (dollars per GPU-hour; per node-hour for nodes without "
			"GPUs)");
	if (option_given(o, "price") && price_parse(option_text(o, "price"), per_node ? 0 : ANY_GPUS, &price, &f))
		return print_fail_field(np, STATUS_USAGE, "--price", NULL, "cannot use '--price': %s", f.text);
	return 0;
}

static int read_total(struct nanopod *np, const struct options *o, struct order_args *w)
{
	struct fail f = { 0 };
	int64_t cap = 0;
	int rc;

	if (option_given(o, "max-total")) {
		if (money_parse(option_text(o, "max-total"), &w->max_total, &f))
			return print_fail_field(np, STATUS_USAGE, "--max-total", NULL, "cannot use '--max-total': %s",
				f.text);
		if (w->max_total == 0)
			return print_fail_field(np, STATUS_USAGE, "--max-total", NULL,
				"cannot use '--max-total': it must be more than 0");
		w->max_where = "--max-total";
	}
	rc = market_spend_max(np, &cap);
	if (!rc && cap > 0 && (!w->max_total || cap < w->max_total)) {
		w->max_total = cap;
		w->max_where = "spend-max";
	}
	return rc;
}

int order_args_check_wait(struct nanopod *np, const struct options *o)
{
	struct fail f = { 0 };
	int64_t ms;

	if (option_given(o, "wait") && option_given(o, "no-wait"))
		return print_fail_field(np, STATUS_USAGE, "--wait", NULL,
			"cannot use '--wait' and '--no-wait' together");
	if (option_given(o, "wait") && *option_text(o, "wait") && value_duration(option_text(o, "wait"), &ms, &f))
		return print_fail_field(np, STATUS_USAGE, "--wait", NULL, "cannot use '--wait': %s", f.text);
	return 0;
}

int order_args_read(struct nanopod *np, const struct options *o, unsigned flags, struct order_args *w)
{
	int rc = 0;

	*w = (struct order_args){ .nodes = flags & ORDER_ARGS_NODES ? option_int(o, "nodes") : 0 };
	if (flags & ORDER_ARGS_PRICE) {
		w->per_node = option_text(o, "per") && strcmp(option_text(o, "per"), "node") == 0;
		rc = check_price(np, o, flags, w->per_node);
	}
	if (!rc && flags & ORDER_ARGS_WINDOW)
		rc = order_args_window(np, o, 0, w);
	if (!rc && flags & ORDER_ARGS_SPENDS)
		rc = read_total(np, o, w);
	return rc;
}

unsigned order_args_gpus(const struct order_args *w, const struct sku *sku)
{
	return w->per_node ? 0 : sku->gpus;
}

int order_args_price(struct nanopod *np, const struct options *o, const struct sku *sku, struct order_args *w)
{
	struct fail f = { 0 };

	if (!option_given(o, "price"))
		return 0;
	if (!sku->gpus && !sku->bare && !w->per_node)
		return print_fail_field(np, STATUS_USAGE, "--price", "give a price per node-hour with '--per node'",
			"cannot use '--price' per GPU: the market does not say how many GPUs '%s' has",
			sku->alias ? sku->alias : sku->id);
	if (price_parse(option_text(o, "price"), order_args_gpus(w, sku), &w->limit, &f))
		return print_fail_field(np, STATUS_USAGE, "--price", NULL, "cannot use '--price': %s", f.text);
	return 0;
}

int64_t order_args_wait(const struct options *o, int64_t otherwise)
{
	int64_t ms = WAIT_MS;

	if (option_given(o, "no-wait"))
		return 0;
	if (!option_given(o, "wait"))
		return otherwise;
	if (*option_text(o, "wait"))
		value_duration(option_text(o, "wait"), &ms, NULL);
	return ms;
}
