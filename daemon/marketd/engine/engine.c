/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/engine.h"

#include "market/reason.h"
#include "marketd/engine/rules/buy.h"
#include "marketd/engine/money/dunning.h"
#include "marketd/engine/money/income.h"
#include "marketd/engine/money/payout.h"
#include "marketd/engine/rules/pool.h"
#include "marketd/engine/rules/agents.h"
#include "marketd/engine/rules/drain.h"
#include "marketd/engine/rules/order.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/grant.h"
#include "marketd/engine/procure/procure.h"
#include "marketd/engine/rules/release.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/rules/review.h"
#include "marketd/engine/rules/sell.h"
#include "marketd/engine/money/tariff.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/tick.h"
#include "marketd/engine/rules/live_order.h"
#include "marketd/engine/money/volume.h"

int engine_new(struct engine **out)
{
	*out = world_new();
	return 0;
}

void engine_free(struct engine *e)
{
	world_free(e);
}

static int apply_order(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_order t;
	struct order o;
	struct pick hosts;
	int rc = order_check(e, ev, false, &o, why);

	if (rc)
		return rc;
	live_order_init(e, &t, &o);
	rc = o.side == SIDE_BUY ? buy_plan(e, &t, &e->plan, why) : sell_plan(e, &t, &hosts, why);
	if (rc)
		return rc;
	emit_made(e, e->next_id);
	if (o.side == SIDE_BUY) {
		buy_do(e, &t, &e->plan);
		return 0;
	}
	sell_do(e, &t, &hosts);
	pick_release(&hosts);
	return 0;
}

static int engine_apply_kind(struct engine *e, const struct event *ev, struct fail *why)
{
	static int (*const table[EVENT_KINDS])(struct engine *, const struct event *, struct fail *) = {
		[EVENT_TICK] = tick_apply,
		[EVENT_POLICY] = policy_set,
		[EVENT_ACCOUNT] = account_make,
		[EVENT_ACCOUNT_STATE] = account_set_state,
		[EVENT_CREDIT] = account_credit,
		[EVENT_TOKEN] = token_make,
		[EVENT_TOKEN_REVOKE] = token_revoke,
		[EVENT_SKU] = sku_make,
		[EVENT_HOST] = host_register,
		[EVENT_HOST_STATE] = host_set_state,
		[EVENT_HOST_RETIRE] = host_retire,
		[EVENT_POOL] = pool_make,
		[EVENT_POOL_CHANGE] = pool_change,
		[EVENT_POOL_DELETE] = pool_delete,
		[EVENT_ORDER] = apply_order,
		[EVENT_CANCEL] = order_cancel,
		[EVENT_RELEASE] = release_apply,
		[EVENT_INSTANCE] = instance_make,
		[EVENT_INSTANCE_CHANGE] = instance_change,
		[EVENT_INSTANCE_STOP] = instance_stop,
		[EVENT_INSTANCE_DELETE] = instance_delete,
		[EVENT_REPORT] = instance_report,
		[EVENT_PROCUREMENT] = procure_make,
		[EVENT_PROCUREMENT_CHANGE] = procure_change,
		[EVENT_PROCUREMENT_DELETE] = procure_delete,
		[EVENT_AGENT] = agent_join,
		[EVENT_AGENT_SESSION] = agent_session,
		[EVENT_AGENT_INVENTORY] = agent_inventory,
		[EVENT_AGENT_RETIRE] = agent_retire,
		[EVENT_RULES] = rules_set,
		[EVENT_HOST_DRAIN] = host_drain,
		[EVENT_HOST_VERIFIED] = host_verified,
		[EVENT_ORDER_PRICE] = order_price,
		[EVENT_HOST_FLOOR] = host_floor,
		[EVENT_ANNOUNCE] = announce_make,
		[EVENT_ANNOUNCE_END] = announce_end,
		[EVENT_GRANT] = grant_make,
		[EVENT_GRANT_END] = grant_end,
		[EVENT_ACCOUNT_FACTS] = facts_set,
		[EVENT_PERSON] = person_make,
		[EVENT_PERSON_CHANGE] = person_change,
		[EVENT_PERSON_REMOVE] = person_remove,
		[EVENT_INVITATION] = invitation_make,
		[EVENT_INVITATION_END] = invitation_end,
		[EVENT_PAYMENT] = payment_note,
		[EVENT_CAP] = cap_set,
		[EVENT_VOLUME_OFFER] = volume_offer,
		[EVENT_VOLUME] = volume_make,
		[EVENT_VOLUME_CHANGE] = volume_change,
		[EVENT_VOLUME_GONE] = volume_gone,
		[EVENT_PLAN] = tariff_make,
		[EVENT_SUBSCRIPTION] = subscription_set,
		[EVENT_PAYOUT] = payout_note,
		[EVENT_DUNNING] = dunning_apply,
	};

	if ((unsigned)ev->kind >= EVENT_KINDS || !table[ev->kind])
		return fail_set(why, REASON_INVALID, "unknown event");
	return table[ev->kind](e, ev, why);
}

int engine_apply(struct engine *e, const struct event *ev, struct effects *out, struct fail *why)
{
	int64_t before = e->at;
	int rc;

	effects_clear(out);
	if (ev->at < e->at)
		return fail_set(why, REASON_INVALID, "an event must not be earlier than the one before");
	e->out = out;
	e->at = ev->at;
	e->round++;
	rc = engine_apply_kind(e, ev, why);
	if (rc == 0) {
		resting_try_marked(e);
		review_all(e, e->at);
		dunning_look(e);
		income_count_spent(e);
		emit_seal(out);
		e->count++;
	} else {
		e->at = before;
	}
	e->out = NULL;
	return rc;
}
