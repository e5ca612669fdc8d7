/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/procure/round.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/money/cap.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/rules/trade.h"

static int step_cmp(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void add_step(struct steps *s, struct step step)
{
	must_room(s->list, s->count, s->cap);
	s->list[s->count++] = step;
}

struct steps round_survey(const struct round *r)
{
	const struct live_pool *p = world_pool(r->e, r->p->pool);
	struct steps s = { 0 };
	size_t n = 0;

	add_step(&s, (struct step){ .at = r->start });
	for (size_t i = 0; i < p->holding_count; i++) {
		const struct live_host *h = p->holdings[i].live;

		if (h->pub.sku != r->p->sku)
			continue;
		for (size_t k = calendar_find(h, r->start); k < h->pub.piece_count && h->pub.pieces[k].start < r->end;
			k++) {
			const struct piece *x = &h->pub.pieces[k];
			const struct live_order *o = world_order(r->e, x->order);
			int32_t sale = o && o->pub.procurement == r->p->id;

			if (x->pool != p->pub.id)
				continue;
			add_step(&s,
				(struct step){ .at = x->start > r->start ? x->start : r->start,
					.own = 1,
					.sale = sale });
			add_step(&s,
				(struct step){ .at = x->end < r->end ? x->end : r->end,
					.own = -1,
					.sale = -sale,
					.ends = k + 1 == h->pub.piece_count || x[1].pool != p->pub.id });
		}
	}
	qsort(s.list, s.count, sizeof *s.list, step_cmp);
	for (size_t i = 1; i < s.count; i++) {
		struct step *last = &s.list[n], now = s.list[i];

		if (now.at == last->at) {
			last->own += now.own;
			last->sale += now.sale;
			last->ends = last->ends || now.ends;
			continue;
		}
		now.own += last->own;
		now.sale += last->sale;
		s.list[++n] = now;
	}
	s.count = n + 1;
	return s;
}

int64_t round_level_end(const struct round *r, const struct steps *s, size_t i)
{
	return i + 1 < s->count && s->list[i + 1].at < r->end ? s->list[i + 1].at : r->end;
}

void round_cancel_orders(struct engine *e, const struct procurement *p)
{
	struct live_pool *d = world_pool(e, p->pool);
	struct live_order *o;
	uint64_t at = 0;

	while ((o = rank_after(&d->orders, at))) {
		at = o->pub.id;
		if (o->pub.procurement == p->id)
			trade_close(e, o, ORDER_CANCELLED, 0);
	}
}

bool round_cancel_excess(struct round *r)
{
	struct steps s = round_survey(r);
	bool excess = false;

	for (size_t i = 0; i < s.count; i++) {
		int32_t spare = s.list[i].own > r->target ? s.list[i].own - r->target : 0;

		excess = excess || (s.list[i].at < r->end && s.list[i].sale > spare);
	}
	free(s.list);
	if (excess)
		round_cancel_orders(r->e, r->p);
	return excess;
}

int64_t round_funds(const struct round *r, int32_t *reason)
{
	int64_t funds = ledger_spendable(&world_account(r->e, r->p->account)->pub);
	int64_t left = cap_left(r->e, r->p->token, cap_counts(r->e, r->p->token));

	*reason = left < funds ? REASON_OVER_CAP : REASON_FUNDS;
	return left < funds ? left : funds;
}

void round_keep_reason(struct round *r, int32_t reason)
{
	if (!r->reason)
		r->reason = reason;
}

struct live_order round_order(const struct round *r, enum side side, int64_t start, int64_t end, int32_t nodes)
{
	struct live_order t;

	live_order_init(r->e, &t,
		&(struct order){ .account = r->p->account,
			.pool = r->p->pool,
			.sku = r->p->sku,
			.procurement = r->p->id,
			.token = r->p->token,
			.month = side == SIDE_BUY ? cap_counts(r->e, r->p->token) : 0,
			.side = side,
			.flags = side == SIDE_SELL ? ORDER_PARTIAL | ORDER_STANDING
				: r->e->rules > 1  ? 0
						   : ORDER_PARTIAL,
			.nodes = nodes,
			.start = start,
			.end = end,
			.price = side == SIDE_SELL ? r->p->min_sell : r->p->max_buy,
			.created_at = r->e->at });
	return t;
}

struct round round_of(struct engine *e, struct procurement *p)
{
	struct round r = { .e = e, .p = p, .start = e->minute + 1, .window_end = e->minute + 1 + p->window };

	r.target = p->target < 0 ? world_instances(world_pool(e, p->pool), p->sku) : p->target;
	r.window_end = r.window_end < MINUTE_MAX ? r.window_end : MINUTE_MAX;
	r.end = r.window_end;
	if (e->rules > 1)
		r.end = (r.end + HOUR - 1) / HOUR * HOUR;
	r.end = r.end < MINUTE_MAX ? r.end : MINUTE_MAX;
	return r;
}

void round_tell(struct round *r)
{
	if (r->reason != r->p->reason)
		emit_notice(r->e,
			&(struct notice){ .kind = NOTICE_PROCUREMENT_STATUS,
				.account = r->p->account,
				.subject = r->p->id,
				.other = r->p->pool,
				.minute = r->e->minute,
				.code = r->reason });
	r->p->reason = r->reason;
}
