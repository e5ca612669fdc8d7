/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod autoscale` has spent of its budget, and what a node costs now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/autoscale/autoscale.h"
#include "cli/frame/print.h"
#include "cli/trade/quote.h"
#include "cli/trade/window.h"
#include "market/money.h"

struct money_orders {
	int64_t sum;
	char last[sizeof((struct autoscale *)0)->last];
};

static int money_add_order(void *arg, struct doc *d, long at, struct fail *f)
{
	struct money_orders *l = arg;
	int64_t *sum = &l->sum;
	struct model_order o;
	int rc = wire_order(d, at, &o, f);

	if (rc || o.sell)
		return rc;
	if (!*l->last) /* the market lists the newest first */
		snprintf(l->last, sizeof l->last, "%s", o.id);
	if (o.filled_total == MODEL_NONE || money_add(*sum, o.filled_total, sum))
		return fail_set(f, -EPROTO, "an order does not say what it cost");
	return 0;
}

/* The budget begins with the first loop: what the reservation had cost before does not count. */
static int money_budget(struct autoscale *a, int64_t sum)
{
	struct fail f = { 0 };
	char *key;
	int rc;

	if (option_given(a->o, "dry-run") && !a->holds)
		return STATUS_OK;
	if (!a->holds) {
		rc = market_whoami(a->m);
		if (rc)
			return market_fail(a->m, "cannot begin");
		if (asprintf(&key, "autoscale %s %s %s %s", a->m->url, a->m->who.account_id ? a->m->who.account_id : "",
			    a->reservation.id, a->cluster) < 0)
			command_nomem();
		spending_init(&a->since);
		rc = spending_open(&a->since, key, true, &f);
		free(key);
		a->holds = !rc;
		rc = rc ? rc : spending_begin(&a->since, sum, &f);
		if (rc)
			return print_fail(a->np, STATUS_USAGE, NULL, "%s", f.text);
	}
	a->w.spent = sum - a->since.before;
	return STATUS_OK;
}

int autoscale_spent(struct autoscale *a)
{
	struct money_orders l = { .sum = 0 };
	char path[160];
	int rc;

	snprintf(path, sizeof path, "/v2/orders?limit=200&side=buy&pool=%s", a->reservation.id);
	rc = market_each(a->m, path, money_add_order, &l);
	if (rc) {
		autoscale_say(a, true, "the market cannot be asked: %.150s", a->m->fail.text);
		return client_status(rc);
	}
	memcpy(a->last, l.last, sizeof a->last);
	return money_budget(a, l.sum);
}

int autoscale_ask_price(struct autoscale *a)
{
	int64_t ahead = a->p.c->autoscale.ahead_ms / 1000, start = window_first(a->w.now);
	struct model_order_new order = { .sku = a->sku->id,
		.nodes = 1,
		.start = start,
		.end = start / WINDOW_STEP * WINDOW_STEP + ahead,
		.price = a->limit };
	struct quote q;
	int rc = quote_ask(a->m, &order, a->sku, &q);

	a->w.price = (struct scale_price){ .asked = !rc, .fills = !rc && q.fills, .cost = rc ? 0 : q.cost };
	a->best = rc ? 0 : q.price;
	snprintf(a->w.price.why, sizeof a->w.price.why, "%.199s", rc ? a->m->fail.text : q.message);
	if (rc)
		autoscale_say(a, true, "the market cannot be asked for a price: %s", a->m->fail.text);
	return rc ? client_status(rc) : STATUS_OK;
}

int autoscale_money(struct autoscale *a)
{
	bool needs = scale_wants(&a->w) > 0 || !a->holds;

	a->w.price = (struct scale_price){ .asked = false };
	for (size_t i = 0; i < a->w.count; i++)
		needs |= a->w.nodes[i].place != SCALE_OVER && a->w.nodes[i].end - a->w.now <= a->w.limits.lead;
	if (!needs)
		return STATUS_OK;
	return autoscale_spent(a) ? STATUS_FAILURE : autoscale_ask_price(a);
}
