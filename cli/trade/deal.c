/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/deal.h"

#include <inttypes.h>

#include "cli/frame/print.h"
#include "cli/frame/retype.h"

void deal_init(struct deal *d, struct nanopod *np, const struct options *o, const struct command *command)
{
	*d = (struct deal){ .np = np, .o = o, .command = command, .available = MODEL_NONE };
	buf_init(&d->line, DEAL_TEXT_MAX);
}

void deal_release(struct deal *d)
{
	skus_release(&d->skus);
	market_sign_out(d->m);
	buf_release(&d->line);
}

void deal_order_init(struct deal_order *e)
{
	*e = (struct deal_order){ .args.nodes = 0 };
	buf_init(&e->match, DEAL_TEXT_MAX);
}

void deal_order_release(struct deal_order *e)
{
	purchase_release(&e->purchase);
	reservation_release(&e->reservation);
	buf_release(&e->match);
}

int deal_open(struct deal *d, const char *cannot)
{
	int rc = market_sign_in(d->np, d->o, 0, &d->m);

	if (rc)
		return rc;
	d->explain = d->m->explain;
	d->m->explain = false;
	rc = market_clock_read(d->m, &d->args.clock);
	if (rc < 0)
		return market_fail(d->m, "%s", cannot);
	d->ours = rc == 1;
	retype(d->command, d->o, NULL, &d->line);
	return skus_load(d->m, &d->skus);
}

int deal_find_part(struct deal *d, struct deal_order *e, const char *cannot, const char *hint)
{
	const struct sku *wanted = NULL;
	int rc = option_given(d->o, "type") ? skus_find(d->np, &d->skus, option_text(d->o, "type"), &wanted) : 0;

	if (rc)
		return rc;
	e->part = reservation_part(&e->reservation, wanted ? wanted->id : NULL);
	if (!e->part && e->reservation.count > 1)
		return print_fail_field(d->np, STATUS_USAGE, "--type", "choose one with '--type'",
			"%s: it has nodes of %zu types", cannot, e->reservation.count);
	if (!e->part || part_end(e->part) <= market_clock_now(&d->args.clock))
		return print_fail(d->np, STATUS_CONFLICT, hint, "%s: it has ended and its nodes are gone", cannot);
	e->sku = skus_by_id(&d->skus, e->part->sku);
	if (!e->sku)
		return print_fail(d->np, STATUS_FAILURE, NULL, "%s: the market no longer lists its type '%s'", cannot,
			e->part->sku);
	return 0;
}

int deal_find_unfinished(struct deal *d, struct deal_order *e, const char *subject, const char *begun)
{
	purchase_init(&e->purchase, d->m);
	if (purchase_match(d->m, d->o, d->command->name, subject, &e->match))
		return market_fail(d->m, "cannot %s", d->command->name);
	if (option_given(d->o, "new") || option_given(d->o, "dry-run") || d->explain)
		return 0;
	if (purchase_find(&e->purchase, buf_text(&e->match), begun))
		return print_fail(d->np, STATUS_FAILURE, NULL, "%s", d->m->fail.text);
	return 0;
}

void deal_read_balance(struct deal *d)
{
	struct model_balance balance;

	d->available = MODEL_NONE;
	if (market_get(d->m, d->ours ? "/np/v1/balance" : "/v1/balances") == 0 &&
		wire_balance(d->m->doc, WIRE_WHOLE, &balance, &d->m->fail) == 0)
		d->available = balance.available;
}

/* ---- The plan -------------------------------------------------------------------------- */

const char *deal_about(int64_t micros, char room[MONEY_TEXT])
{
	enum { CENT = 10000, DIME = 10 * CENT };
	int64_t unit = micros < DIME ? CENT / 100 : CENT;

	return money_text(micros < 0 ? micros : (micros + unit / 2) / unit * unit, room);
}

void deal_plan_total(struct plan *p, int64_t cost, int64_t most)
{
	char a[MONEY_TEXT], c[MONEY_TEXT];

	if (most == cost)
		plan_add(p, "total", "%s, not more", money_text(cost, a));
	else
		plan_add(p, "total", "%s now, up to %s at your limit", money_text(cost, a), deal_about(most, c));
}

void deal_plan_burn(struct plan *p, int64_t burn)
{
	char a[MONEY_TEXT];

	plan_add(p, "burn", "%s an hour while it runs", deal_about(burn, a));
}

void deal_plan_refund(const struct deal *d, struct plan *p, bool interruptible, bool granted)
{
	unsigned bps = d->ours ? (unsigned)d->m->about.policy.release_bps : 0;

	if (d->ours && interruptible)
		plan_add(p, "refund", "'nanopod release' and an interruption refund all time that is not used");
	else if (bps > 0)
		plan_add(p, "refund", "'nanopod release' refunds %u.%02u %% of what you paid for time not yet begun",
			bps / 100, bps % 100);
	else
		plan_add(p, "refund", "No refund for unused time; %s",
			granted ? "what a grant paid for cannot be sold" : "resell it with 'nanopod sell'");
}

void deal_plan_balance(const struct deal *d, struct plan *p, int64_t cost, int64_t most)
{
	char a[MONEY_TEXT], c[MONEY_TEXT], e[MONEY_TEXT];

	if (d->available == MODEL_NONE)
		return;
	deal_about(d->available, c);
	deal_about(d->available - cost, a);
	if (most == cost)
		plan_add(p, "balance", "%s now, %s afterwards", c, a);
	else if (most > d->available && cost <= d->available) /* the market sells nothing that is not covered */
		plan_add(p, "balance", "%s now, %s afterwards; your limit may take all of it", c, a);
	else
		plan_add(p, "balance", "%s now, %s afterwards, at least %s at your limit", c, a,
			deal_about(d->available - most, e));
}

/* ---- Carrying it out ------------------------------------------------------------------- */

int deal_begin(struct deal *d, struct deal_order *e)
{
	struct purchase *p = &e->purchase;
	int rc;

	d->m->explain = d->explain;
	p->own_pool = !e->reservation.id;
	rc = purchase_begin(p, buf_text(&e->match), buf_text(&d->line), market_clock_now(&d->args.clock));
	if (rc || p->own_pool)
		return rc;
	rc = purchase_keep(p, "name", e->reservation.name);
	rc = rc ? rc : purchase_keep(p, "into", e->reservation.id);
	return rc ? rc : purchase_keep(p, "pool", e->reservation.id);
}

int deal_too_large(struct deal *d, const char *cannot)
{
	return print_fail_field(d->np, STATUS_USAGE, "--price", NULL, "%s: the sum is too large to compute", cannot);
}

const char *deal_nodes(int64_t nodes, char room[DEAL_NODES])
{
	snprintf(room, DEAL_NODES, "%" PRId64 " node%s", nodes, nodes == 1 ? "" : "s");
	return room;
}
