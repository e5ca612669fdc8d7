/* SPDX-License-Identifier: Apache-2.0 */
/* One thing wrong with an event that was right: each reason to refuse must be met. See stream.h. */
#include "stream.h"

static const char name_long[] = "................................................................"
				"................................................................"
				"................................................................"
				"................................................................";

static void wrong_order(struct stream *s, struct event *ev)
{
	const struct rhost *h = stream_pick(s, &s->r->hosts);
	const struct rpool *p = stream_pick(s, &s->r->pools);

	switch (rng_below(&s->rng, 22)) {
	case 0: ev->u.order.nodes = 0; break;
	case 1: ev->u.order.nodes = NODES_MAX + 1; break;
	case 2: ev->u.order.price = -1; break;
	case 3: ev->u.order.price = 1000000000001; break;
	case 4: ev->u.order.max_total = -1; break;
	case 5: ev->u.order.flags |= 16; break;
	case 6: ev->u.order.end = ev->u.order.start; break;
	case 7: ev->u.order.end = MINUTE_MAX + 1; break;
	case 8: ev->u.order.flags |= ORDER_EXTEND; break;
	case 9: ev->u.order.flags |= ORDER_INTERRUPTIBLE; break;
	case 10: ev->u.order.max_total = 1; break;
	case 11: ev->u.order.host = h ? h->id : 1; break;
	case 12: ev->u.order.host = s->r->next_id; ev->u.order.nodes = 1; break;
	case 13: ev->u.order.start = s->r->minute - 2; break;
	case 14: ev->u.order.start = s->r->minute - 1; ev->u.order.end = s->r->minute + 1; break;
	case 15: ev->u.order.price = 1000000000000; ev->u.order.end = MINUTE_MAX; break;
	case 16: ev->u.order.sku = s->r->next_id; break;
	case 17: ev->u.order.pool = p ? p->id : 0; break;
	case 18: ev->u.order.pool = p ? p->id : 0; ev->account = p ? p->account : 0; break;
	case 19: ev->u.order.side = 2; break;
	case 20: ev->u.order.nodes = NODES_MAX; break;
	default: ev->u.order.procurement = 1 + (uint64_t)rng_below(&s->rng, (int64_t)s->r->next_id); break;
	}
}

static int32_t wrong_number(struct stream *s)
{
	static const int32_t bad[] = { -2, -1, 4, 1441, 10001, 129601, INT32_MAX, INT32_MIN };

	return bad[rng_below(&s->rng, sizeof bad / sizeof bad[0])];
}

static bool wrong_people(struct stream *s, struct event *ev)
{
	int32_t x = wrong_number(s);

	switch (ev->kind) {
	case EVENT_TICK:
		ev->u.tick.minute = rng_percent(&s->rng, 20) ? MINUTE_MAX : s->r->minute - rng_below(&s->rng, 2);
		break;
	case EVENT_POLICY:
		switch (rng_below(&s->rng, 5)) {
		case 0: ev->u.policy.fee_bps = x; break;
		case 1: ev->u.policy.release_bps = x; break;
		case 2: ev->u.policy.settle_minutes = 0; break;
		case 3: ev->u.policy.settle_minutes = 525601; break;
		default: ev->u.policy.notice_minutes = x; break;
		}
		break;
	case EVENT_ACCOUNT:
		if (rng_percent(&s->rng, 50))
			ev->u.account.floor = rng_percent(&s->rng, 50) ? 1 : INT64_MIN;
		else
			ev->u.account.beneficiary = s->r->next_id;
		break;
	case EVENT_ACCOUNT_STATE:
		if (rng_percent(&s->rng, 40))
			ev->u.account_state.state = x;
		else
			ev->u.account_state.floor = rng_percent(&s->rng, 50) ? 1 : INT64_MIN;
		break;
	case EVENT_CREDIT: {
		static const int64_t sums[] = { 0, INT64_MIN, -4000000000000, INT64_MAX, 4000000000000000001 };

		ev->u.credit.micros = sums[rng_below(&s->rng, sizeof sums / sizeof sums[0])];
		break;
	}
	case EVENT_TOKEN:
		switch (rng_below(&s->rng, 4)) {
		case 0: ev->u.token.scopes = 0; break;
		case 1: ev->u.token.scopes = SCOPE_AGENT; break;
		case 2: ev->u.token.expires = ev->at; break;
		default: ev->u.token.hash[0] = 0; ev->u.token.hash[1] = 0; break; /* that of the first */
		}
		break;
	default: return false;
	}
	return true;
}

static void wrong_thing(struct stream *s, struct event *ev)
{
	int32_t x = wrong_number(s);

	switch (ev->kind) {
	case EVENT_SKU: ev->u.sku.gpus = x == 4 ? 1025 : x; break;
	case EVENT_HOST: {
		const struct rpool *p = stream_pool(s, POOL_MARKET);

		switch (rng_below(&s->rng, 6)) {
		case 0: ev->u.host.end = ev->u.host.start; break;
		case 1: ev->u.host.end = MINUTE_MAX + 1; break;
		case 2: ev->u.host.end = s->r->minute; ev->u.host.start = s->r->minute - 5; break;
		case 3: ev->u.host.sku = s->r->next_id; break;
		case 4:
			ev->u.host.pool = p ? p->id : 0;
			ev->account = p ? p->account : ev->account;
			break;
		default: ev->u.host.pool = 1 + (uint64_t)rng_below(&s->rng, (int64_t)s->r->next_id); break;
		}
		break;
	}
	case EVENT_POOL: ev->u.pool.kind = 2; break;
	case EVENT_ORDER: wrong_order(s, ev); break;
	case EVENT_RELEASE: {
		const struct rpool *p = stream_pool(s, POOL_ORIGINATING);

		switch (rng_below(&s->rng, 5)) {
		case 0: ev->u.release.nodes = -1; break;
		case 1: ev->u.release.nodes = NODES_MAX; break;
		case 2: ev->u.release.sku = s->r->next_id; break;
		case 3:
			ev->subject = p ? p->id : 0;
			ev->account = p ? p->account : ev->account;
			break;
		default: ev->u.release.from = MINUTE_MAX + 5; break;
		}
		break;
	}
	case EVENT_INSTANCE: ev->u.instance.priority = x; break;
	case EVENT_INSTANCE_CHANGE: ev->u.instance_change.priority = x; break;
	case EVENT_REPORT: ev->u.report.status = x; break;
	default: break;
	}
}

static void wrong_procurement(struct stream *s, struct event *ev)
{
	static const int64_t prices[] = { -2, 1000000000001 };
	int64_t x = prices[rng_below(&s->rng, 2)];
	bool change = ev->kind == EVENT_PROCUREMENT_CHANGE;

	switch (rng_below(&s->rng, 6)) {
	case 0:
		*(change ? &ev->u.procurement_change.window
			 : &ev->u.procurement.window) = rng_percent(&s->rng, 50) ? 0 : 129601;
		break;
	case 1:
		*(change ? &ev->u.procurement_change.target
			 : &ev->u.procurement.target) = rng_percent(&s->rng, 50) ? -2 : 1025;
		break;
	case 2: *(change ? &ev->u.procurement_change.min_sell : &ev->u.procurement.min_sell) = x; break;
	case 3: *(change ? &ev->u.procurement_change.max_buy : &ev->u.procurement.max_buy) = x; break;
	case 4: *(change ? &ev->u.procurement_change.sku : &ev->u.procurement.sku) = s->r->next_id; break;
	default:
		if (change)
			ev->u.procurement_change.enabled = 2;
		else
			ev->u.procurement.pool = 1 + (uint64_t)rng_below(&s->rng, (int64_t)s->r->next_id);
		break;
	}
}

void stream_spoil(struct stream *s, struct event *ev)
{
	switch (rng_below(&s->rng, 12)) {
	case 0:
		ev->account = (uint64_t)rng_below(&s->rng, (int64_t)s->r->next_id + 1);
		break;
	case 1:
		ev->subject = 1 + (uint64_t)rng_below(&s->rng, (int64_t)s->r->next_id + 1);
		break;
	case 2:
		ev->at = s->at - 1 - rng_below(&s->rng, 100);
		break;
	case 3: {
		static const char *const names[] = { "", name_long, NULL };

		if (ev->name)
			ev->name = names[rng_below(&s->rng, 3)];
		break;
	}
	case 4:
		if (rng_percent(&s->rng, 20))
			ev->kind = rng_percent(&s->rng, 50) ? EVENT_NONE : EVENT_KINDS;
		break;
	default:
		if (!s->plain &&
			(stream_agents_spoil(s, ev) || stream_proofs_spoil(s, ev) || stream_prices_spoil(s, ev) ||
				stream_grants_spoil(s, ev) || stream_people_spoil(s, ev) || stream_pays_spoil(s, ev) ||
				stream_caps_spoil(s, ev) || stream_volumes_spoil(s, ev) ||
				stream_tariffs_spoil(s, ev) || stream_payouts_spoil(s, ev) ||
				stream_dunning_spoil(s, ev)))
			break;
		if (ev->kind == EVENT_PROCUREMENT || ev->kind == EVENT_PROCUREMENT_CHANGE)
			wrong_procurement(s, ev);
		else if (!wrong_people(s, ev))
			wrong_thing(s, ev);
		break;
	}
}
