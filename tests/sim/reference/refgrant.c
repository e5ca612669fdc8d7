/* SPDX-License-Identifier: Apache-2.0 */
/* Grants and facts of the reference market, and how money comes back to two who paid. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

int ref_grant_of_order(const struct reference *r, const struct event *ev)
{
	const struct rgrant *g = ref_list_find(&r->grants, ev->u.order.grant);
	const struct raccount *payer;

	if (ev->u.order.grant == 0)
		return 0;
	if (!g || g->account != ev->account)
		return REASON_NOT_FOUND;
	payer = ref_list_find(&r->accounts, g->sponsor);
	if (g->plan && ((struct rtariff *)ref_list_find(&r->tariffs, g->plan))->sku != ev->u.order.sku &&
		((struct rtariff *)ref_list_find(&r->tariffs, g->plan))->sku != 0)
		return REASON_WRONG_STATE;
	return g->ended || r->minute >= g->until || payer->state == ACCOUNT_SUSPENDED ? REASON_WRONG_STATE : 0;
}

bool ref_grant_invalid(const struct reference *r, const struct event *ev)
{
	const struct rgrant *g = ref_list_find(&r->grants, ev->u.order.grant);
	int32_t part = ev->u.order.granted;

	if (ev->u.order.grant == 0)
		return part != 0;
	return part < (g->plan ? 0 : 1) || part > 1000000 || ev->u.order.side == SIDE_SELL ||
		(ev->u.order.flags & ORDER_STANDING);
}

/* The price of so many minutes leaves escrow; bps of each part come back to who paid it, the rest is *lost to them. */
void ref_back(struct reference *r, const struct rlease *l, int64_t minutes, int32_t bps, int64_t *lost)
{
	int64_t gave = l->given * minutes, paid = l->price * minutes - gave;
	int64_t gift = (int64_t)((wide)gave * bps / 10000), back = (int64_t)((wide)paid * bps / 10000);
	struct rgrant *g = ref_list_find(&r->grants, l->gift);

	ref_post(r, l->buyer, BOOK_ESCROW, 0, -paid);
	ref_post(r, l->buyer, BOOK_AVAILABLE, 0, back);
	ref_spend(r, l->token, l->month, -back);
	if (g) {
		ref_post(r, g->sponsor, BOOK_ESCROW, 0, -gave);
		ref_post(r, g->sponsor, BOOK_AVAILABLE, 0, gift);
		g->spent -= gift;
	}
	*lost = gave + paid - gift - back;
}

static int grant_new(struct reference *r, const struct event *ev)
{
	int64_t until = ev->u.grant.until ? ev->u.grant.until : MINUTE_MAX;
	struct rgrant *g;

	if (!ref_list_find(&r->accounts, ev->u.grant.sponsor))
		return REASON_NOT_FOUND;
	if (!ref_name_ok(ev->name) || ev->u.grant.sponsor == ev->account || ev->u.grant.max <= 0 ||
		until <= r->minute || until > MINUTE_MAX)
		return REASON_INVALID;
	for (size_t i = 0; i < r->grants.n; i++) {
		const struct rgrant *x = r->grants.at[i];

		if (x->account == ev->account && !x->ended && !x->plan && strcmp(x->name, ev->name) == 0)
			return REASON_NAME_TAKEN;
	}
	g = ref_more(NULL, 1, sizeof *g);
	*g = (struct rgrant){ .id = r->next_id++,
		.account = ev->account,
		.sponsor = ev->u.grant.sponsor,
		.name = ref_text(ev->name),
		.max = ev->u.grant.max,
		.until = until };
	ref_list_add(&r->grants, g);
	return 0;
}

static int grant_over(struct reference *r, const struct event *ev)
{
	struct rgrant *g = ref_list_find(&r->grants, ev->subject);

	if (!g || g->account != ev->account)
		return REASON_NOT_FOUND;
	if (g->ended || g->plan)
		return REASON_WRONG_STATE;
	g->ended = true;
	return 0;
}

static int grant_facts(struct raccount *a, const struct event *ev)
{
	if (ev->text && strlen(ev->text) > 4096)
		return REASON_INVALID;
	free(a->known);
	a->known = ev->text && *ev->text ? ref_text(ev->text) : NULL;
	return 0;
}

int ref_grant(struct reference *r, const struct event *ev)
{
	struct raccount *a = ref_list_find(&r->accounts, ev->account);

	if (!a)
		return REASON_NOT_FOUND;
	return ev->kind == EVENT_GRANT        ? grant_new(r, ev)
		: ev->kind == EVENT_GRANT_END ? grant_over(r, ev)
					      : grant_facts(a, ev);
}
