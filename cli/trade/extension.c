/* SPDX-License-Identifier: Apache-2.0 */
/* The request of an extension: its quote, what is kept of it on disk, and sending it. */
#include <stdio.h>

#include "cli/trade/deal.h"

static void extension_path(const struct deal_order *e, char path[128])
{
	snprintf(path, 128, "/np/v1/pools/%.80s/extend", e->reservation.id);
}

static int extension_put(const struct deal_order *e, bool dry, int64_t price, int64_t max_total, struct buf *body)
{
	const struct window *w = &e->args.window;
	struct model_extend ask = { .sku = e->part->sku,
		.start = w->start != part_end(e->part) ? w->start : 0,
		.end = w->end,
		.price = price,
		.max_total = max_total,
		.dry_run = dry };

	return wire_put_extend(body, &ask);
}

int extension_ask_quote(struct deal *d, struct deal_order *e)
{
	bool priced = option_given(d->o, "price");
	int64_t any = quote_any_price(e->args.nodes, window_minutes(&e->args.window));
	struct model_order_new order = { .pool = e->reservation.id,
		.sku = e->part->sku,
		.nodes = e->args.nodes,
		.start = e->args.window.start,
		.end = e->args.window.end,
		.price = priced ? e->args.limit : any };
	char path[128];
	struct buf body;
	int rc;

	if (!d->ours) {
		rc = quote_ask(d->m, &order, e->sku, &e->quote);
	} else {
		buf_init(&body, DEAL_TEXT_MAX);
		if (extension_put(e, true, order.price, 0, &body))
			command_nomem();
		extension_path(e, path);
		rc = market_send(d->m, "POST", path, &body, NULL);
		buf_release(&body);
		rc = rc ? rc : quote_take(d->m, &e->quote);
	}
	if (!rc && e->quote.fills && !priced)
		e->args.limit = e->quote.price;
	return rc;
}

static void extension_write(struct deal *d, struct deal_order *e, int64_t left, struct buf *body)
{
	int64_t most = !option_given(d->o, "price") ? e->quote.cost : d->args.max_total ? e->quote.cost + left : 0;

	buf_init(body, DEAL_TEXT_MAX);
	if (extension_put(e, false, e->args.limit, most, body))
		command_nomem();
}

int extension_keep(struct deal *d, struct deal_order *e)
{
	struct buf body;
	int rc;

	if (!d->ours)
		return 0;
	extension_write(d, e, 0, &body);
	rc = purchase_keep_body(&e->purchase, "order", &body);
	buf_release(&body);
	return rc;
}

int extension_post(struct deal *d, struct deal_order *e, int64_t left)
{
	struct purchase *p = &e->purchase;
	struct model_order_new order = { .sku = e->part->sku,
		.nodes = e->args.nodes,
		.start = e->args.window.start,
		.end = e->args.window.end,
		.price = e->args.limit };
	char path[128];
	struct buf body;
	int rc;

	if (purchase_kept(p, "order") || !d->ours)
		return purchase_order(p, &order);
	extension_write(d, e, left, &body);
	extension_path(e, path);
	rc = purchase_post(p, "order", path, &body);
	buf_release(&body);
	rc = rc ? rc : order_status_take(d->m, &p->order);
	return rc ? rc : purchase_keep(p, "order", p->order.id);
}
