/* SPDX-License-Identifier: Apache-2.0 */
/* Events and differences of texts, for a person who looks for the fault. See world.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { LINES_MOST = 3000 };

static void tell_order(const struct event *ev, struct buf *out)
{
	static const char *const flags[] = { "standing", "partial", "extend", "interruptible" };

	buf_addf(out, " %s pool %" PRIu64 " sku %" PRIu64 " nodes %d [%" PRId64 ", %" PRId64 ") price %" PRId64,
		ev->u.order.side == SIDE_BUY            ? "buy"
			: ev->u.order.side == SIDE_SELL ? "sell"
							: "?",
		ev->u.order.pool, ev->u.order.sku, ev->u.order.nodes, ev->u.order.start, ev->u.order.end,
		ev->u.order.price);
	for (int i = 0; i < 4; i++)
		if (ev->u.order.flags & (1 << i))
			buf_addf(out, " %s", flags[i]);
	if (ev->u.order.flags & ~15)
		buf_addf(out, " flags %d", ev->u.order.flags);
	if (ev->u.order.host)
		buf_addf(out, " host %" PRIu64, ev->u.order.host);
	if (ev->u.order.max_total)
		buf_addf(out, " max_total %" PRId64, ev->u.order.max_total);
	if (ev->u.order.grant)
		buf_addf(out, " grant %" PRIu64 " part %d", ev->u.order.grant, ev->u.order.granted);
	if (ev->u.order.procurement)
		buf_addf(out, " procurement %" PRIu64, ev->u.order.procurement);
}

static void tell_policy(const struct policy *p, struct buf *out)
{
	buf_addf(out, " fee %d release %d settle %d notice %d, of drains %d", p->fee_bps, p->release_bps,
		p->settle_minutes, p->notice_minutes, p->drain_notice_minutes);
}

static void tell_proof(const struct event *ev, struct buf *out)
{
	if (ev->kind == EVENT_SKU)
		buf_addf(out, " gpus %d%s", ev->u.sku.gpus, ev->u.sku.proof ? " asks" : "");
	else
		buf_addf(out, " result %d until %" PRId64 " since %" PRId64, ev->u.host_verified.result,
			ev->u.host_verified.until, ev->u.host_verified.since);
}

static void tell_rest(const struct event *ev, struct buf *out)
{
	switch (ev->kind) {
	case EVENT_TICK: buf_addf(out, " minute %" PRId64, ev->u.tick.minute); break;
	case EVENT_POLICY:
		tell_policy(&ev->u.policy, out);
		break;
	case EVENT_ACCOUNT:
		buf_addf(out, " beneficiary %" PRIu64 " floor %" PRId64, ev->u.account.beneficiary,
			ev->u.account.floor);
		break;
	case EVENT_ACCOUNT_STATE:
		buf_addf(out, " state %d floor %" PRId64, ev->u.account_state.state, ev->u.account_state.floor);
		break;
	case EVENT_CREDIT: buf_addf(out, " micros %" PRId64, ev->u.credit.micros); break;
	case EVENT_TOKEN:
		buf_addf(out, " scopes %d expires %" PRId64, ev->u.token.scopes, ev->u.token.expires);
		break;
	case EVENT_HOST:
		buf_addf(out, " sku %" PRIu64 " pool %" PRIu64 " [%" PRId64 ", %" PRId64 ") agent %" PRIu64,
			ev->u.host.sku, ev->u.host.pool, ev->u.host.start, ev->u.host.end, ev->u.host.agent);
		break;
	case EVENT_HOST_STATE:
		buf_addf(out, " down %d since %" PRId64 "%s", ev->u.host_state.down, ev->u.host_state.since,
			ev->u.host_state.watch ? " by the watch" : "");
		break;
	case EVENT_HOST_DRAIN:
		buf_addf(out, " from %" PRId64 " ends %d operator %d", ev->u.host_drain.from, ev->u.host_drain.ends,
			ev->u.host_drain.by_operator);
		break;
	case EVENT_AGENT: buf_addf(out, " token %" PRIu64 " key '%.44s'", ev->token, ev->text ? ev->text : ""); break;
	case EVENT_RULES: buf_addf(out, " edition %d", ev->u.rules.edition); break;
	case EVENT_AGENT_SESSION: buf_addf(out, " generation %" PRIu64, ev->u.agent_session.generation); break;
	case EVENT_POOL: buf_addf(out, " kind %d", ev->u.pool.kind); break;
	case EVENT_ORDER: tell_order(ev, out); break;
	case EVENT_RELEASE:
		buf_addf(out, " from %" PRId64 " nodes %d sku %" PRIu64, ev->u.release.from, ev->u.release.nodes,
			ev->u.release.sku);
		break;
	case EVENT_INSTANCE:
		buf_addf(out, " pool %" PRIu64 " sku %" PRIu64 " priority %d", ev->u.instance.pool, ev->u.instance.sku,
			ev->u.instance.priority);
		break;
	case EVENT_INSTANCE_CHANGE: buf_addf(out, " priority %d", ev->u.instance_change.priority); break;
	case EVENT_REPORT: buf_addf(out, " status %d", ev->u.report.status); break;
	case EVENT_PROCUREMENT:
		buf_addf(out,
			" pool %" PRIu64 " sku %" PRIu64 " target %d window %d min_sell %" PRId64 " max_buy %" PRId64
			" enabled %d",
			ev->u.procurement.pool, ev->u.procurement.sku, ev->u.procurement.target,
			ev->u.procurement.window, ev->u.procurement.min_sell, ev->u.procurement.max_buy,
			ev->u.procurement.enabled);
		break;
	case EVENT_PROCUREMENT_CHANGE:
		buf_addf(out,
			" sku %" PRIu64 " target %d window %d min_sell %" PRId64 " max_buy %" PRId64 " enabled %d",
			ev->u.procurement_change.sku, ev->u.procurement_change.target, ev->u.procurement_change.window,
			ev->u.procurement_change.min_sell, ev->u.procurement_change.max_buy,
			ev->u.procurement_change.enabled);
		break;
	default: break;
	}
}

static void tell_plan(const struct event *ev, struct buf *out)
{
	buf_addf(out, " sku %" PRIu64 " fee %" PRId64 " included %" PRId64 " rates %" PRId64 " state %d",
		ev->u.plan.sku, ev->u.plan.fee, ev->u.plan.included, ev->u.plan.rates, ev->u.plan.state);
}

void show_event(const struct event *ev, struct buf *out)
{
	const char *kind = ev->kind > EVENT_NONE && ev->kind < EVENT_KINDS ? event_name(ev->kind) : "?";

	buf_addf(out, "%s at %" PRId64 " account %" PRIu64 " subject %" PRIu64, kind, ev->at, ev->account, ev->subject);
	if (ev->name)
		buf_addf(out, " name '%.20s'", ev->name);
	if (ev->kind == EVENT_SKU || ev->kind == EVENT_HOST_VERIFIED)
		tell_proof(ev, out);
	else if (ev->kind == EVENT_ORDER_PRICE)
		buf_addf(out, " price %" PRId64, ev->u.order_price.price);
	else if (ev->kind == EVENT_VOLUME || ev->kind == EVENT_VOLUME_OFFER || ev->kind == EVENT_VOLUME_CHANGE)
		buf_addf(out, " gib %d price %" PRId64, ev->u.volume.gib, ev->u.volume.price);
	else if (ev->kind == EVENT_CAP)
		buf_addf(out, " micros %" PRId64, ev->u.cap.micros);
	else if (ev->kind == EVENT_PLAN)
		tell_plan(ev, out);
	else if (ev->kind == EVENT_GRANT)
		buf_addf(out, " sponsor %" PRIu64 " max %" PRId64 " until %" PRId64, ev->u.grant.sponsor,
			ev->u.grant.max, ev->u.grant.until);
	else if (ev->kind == EVENT_PAYMENT)
		buf_addf(out, " part '%.20s' step %" PRId64 " micros %" PRId64, ev->text ? ev->text : "",
			ev->u.payment.step, ev->u.payment.micros);
	else if (ev->kind == EVENT_PAYOUT)
		buf_addf(out, " state %d micros %" PRId64 " hold %d", ev->u.payout.state, ev->u.payout.micros,
			ev->u.payout.hold);
	else if (ev->kind == EVENT_DUNNING)
		buf_addf(out, " step %d minutes %" PRId64 " after %" PRId64, ev->u.dunning.step, ev->u.dunning.minutes,
			ev->u.dunning.after);
	else if (ev->kind == EVENT_HOST_FLOOR)
		buf_addf(out, " price %" PRId64, ev->u.host_floor.price);
	else
		tell_rest(ev, out);
}

/* ---- Difference ------------------------------------------------------------------------- */

struct lines {
	const char *at[LINES_MOST];
	size_t len[LINES_MOST], n;
};

static void lines_cut(struct lines *l, const char *text)
{
	l->n = 0;
	while (*text && l->n < LINES_MOST) {
		size_t len = strcspn(text, "\n");

		l->at[l->n] = text;
		l->len[l->n++] = len;
		text += len + (text[len] == '\n');
	}
}

static bool lines_same(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	return a->len[i] == b->len[j] && memcmp(a->at[i], b->at[j], a->len[i]) == 0;
}

/* common[i][j]: how many lines the two have in common from i and j on. */
static void diff_print(const struct lines *a, const struct lines *b, const uint16_t *common, struct buf *out)
{
	size_t i = 0, j = 0, width = b->n + 1;

	while (i < a->n || j < b->n) {
		if (i < a->n && j < b->n && lines_same(a, i, b, j)) {
			i++;
			j++;
		} else if (j >= b->n || (i < a->n && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			buf_addf(out, "-%.*s\n", (int)a->len[i], a->at[i]);
			i++;
		} else {
			buf_addf(out, "+%.*s\n", (int)b->len[j], b->at[j]);
			j++;
		}
	}
}

void show_diff(const char *a, const char *b, struct buf *out)
{
	struct lines *l = malloc(2 * sizeof *l);
	uint16_t *common;
	size_t width;

	if (!l)
		abort();
	lines_cut(&l[0], a);
	lines_cut(&l[1], b);
	width = l[1].n + 1;
	common = calloc((l[0].n + 1) * width, sizeof *common);
	if (!common)
		abort();
	for (size_t i = l[0].n; i-- > 0; )
		for (size_t j = l[1].n; j-- > 0; ) {
			uint16_t down = common[(i + 1) * width + j], right = common[i * width + j + 1];

			if (lines_same(&l[0], i, &l[1], j))
				common[i * width + j] = (uint16_t)(common[(i + 1) * width + j + 1] + 1);
			else
				common[i * width + j] = down > right ? down : right;
		}
	buf_adds(out, "--- engine\n+++ reference\n");
	diff_print(&l[0], &l[1], common, out);
	free(common);
	free(l);
}
