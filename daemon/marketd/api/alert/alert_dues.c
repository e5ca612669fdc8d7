/* SPDX-License-Identifier: Apache-2.0 */
/* What an account pays by itself as time goes on: its plan, each month, and its volumes, each hour. */
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/alert/alerts.h"
#include "marketd/api/np/movements.h"
#include "marketd/api/np/np.h"

enum { LAPSED_DAYS = 7, NOTICES_READ = 1000 };

/* What the account lacks to pay so much; 0 or less: nothing. */
static int64_t alert_lacks(const struct engine *e, uint64_t account, int64_t cost)
{
	const struct account *a = engine_account(e, account);

	return a ? cost - (a->available - a->floor) : 0;
}

/* ---- Debts --------------------------------------------------------------------------------- */

#define ALERT_SPARED \
	"the market suspends it once it sells no plans and pays for no others any more, the operator at any time"

/* Each holds until nothing is owed, so that none ends as the next one begins. */
static bool alert_dunned(const struct alert_subject *s, struct alert *out, enum dunning step)
{
	static const char *const spared[] = {
		[DUNNING_REMINDED] = "reminder: the account owes {money} since {since}; " ALERT_SPARED,
		[DUNNING_WARNED] = "last reminder: the account owes {money} since {since}; " ALERT_SPARED,
		[DUNNING_SUSPENDED] = NULL,
	};
	const struct account *a = engine_account(market_engine(s->api->market), s->account);

	if (!a || a->debt.step < step)
		return false;
	out->since = a->debt.since * 60;
	out->until = np_dunning_suspends(s->api, a);
	out->money = account_owed(a);
	out->text = out->until ? NULL : spared[step];
	return out->until || np_dunning_spares(s->api, a);
}

bool alert_debt_reminded(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_dunned(s, out, DUNNING_REMINDED);
}

bool alert_debt_warned(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_dunned(s, out, DUNNING_WARNED);
}

bool alert_debt_suspended(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	(void)r;
	return alert_dunned(s, out, DUNNING_SUSPENDED);
}

/* ---- Volumes ------------------------------------------------------------------------------ */

/* Where its machine is away, no money helps. */
bool alert_volume_unpaid(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct engine *e = market_engine(s->api->market);
	const struct volume *v = s->volume;
	int64_t hours = (engine_minute(e) - v->paid_until) / 60 + 1, cost;

	(void)r;
	if (v->state != VOLUME_UNPAID)
		return false;
	if (money_mul(engine_volume_hour(v->gib, v->price), hours, &cost))
		cost = INT64_MAX / 2;
	out->since = v->paid_until * 60;
	out->until = v->until * 60;
	out->value = (double)(out->until - market_now(s->api->market));
	out->money = alert_lacks(e, s->account, cost);
	return out->money > 0 && engine_agent_up(e, v->agent);
}

/* ---- Plans -------------------------------------------------------------------------------- */

bool alert_plan_lapses(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct engine *e = market_engine(s->api->market);
	const struct subscription *has = engine_subscription_of(e, s->account);
	int64_t left = engine_next_month(e) * 60 - market_now(s->api->market);
	int32_t lapses;
	int64_t fee = engine_plan_next_fee(e, s->account, &lapses);

	if (!lapses || left >= (int64_t)r->threshold)
		return false;
	out->plan = engine_tariff(e, has->next);
	out->value = (double)left;
	out->money = lapses == REASON_FUNDS ? alert_lacks(e, s->account, fee) : fee;
	if (lapses == REASON_PRICE_TOO_LOW) {
		out->text = "plan {plan} ends in {value}: its fee was raised to {money} after you chose it";
		out->next = "nanopod plan subscribe {plan}";
	} else if (lapses == REASON_SUSPENDED) {
		out->text = "plan {plan} ends in {value}: this account, or the plan's seller, is suspended";
		out->next = "nanopod plan";
	}
	return true;
}

/* Whether the account ever had a plan's month. */
static bool alert_had_plan(const struct engine *e, uint64_t account)
{
	const struct grant *g = NULL;

	while ((g = engine_grant_after(e, account, g ? g->id : 0)))
		if (g->plan)
			return true;
	return false;
}

/* Which plan lapsed in that minute, and why. */
struct alert_lapse {
	int64_t minute;
	uint64_t plan;
	int32_t why;
};

static int alert_lapse_see(void *arg, const struct notice_row *row)
{
	struct alert_lapse *l = arg;

	if (row->notice.kind != NOTICE_PLAN_LAPSED || row->notice.minute != l->minute)
		return 0;
	l->plan = row->notice.subject;
	l->why = row->notice.code;
	return 0;
}

/*
 * The engine forgets a plan that is over; whether its account wanted that, its events say. A plan ends as a month
 * begins, not always the one after its own: months in which the market was down are skipped.
 */
bool alert_plan_lapsed(const struct alert_rule *r, const struct alert_subject *s, struct alert *out)
{
	const struct engine *e = market_engine(s->api->market);
	struct store *store = market_store(s->api->market);
	struct alert_lapse lapse = { .minute = engine_this_month(e) };
	struct fail why = { 0 };
	uint64_t seq;

	(void)r;
	if (engine_minute(e) - lapse.minute > LAPSED_DAYS * 1440 || engine_subscription_of(e, s->account) ||
		!alert_had_plan(e, s->account))
		return false;
	if (movements_before(s->api, s->account, lapse.minute * 60, &seq, &why) ||
		store->calls->notices(store, s->account, seq, INT64_MAX, NOTICES_READ, alert_lapse_see, &lapse, &why))
		return false;
	out->plan = engine_tariff(e, lapse.plan);
	out->since = lapse.minute * 60;
	if (lapse.why == REASON_PRICE_TOO_LOW) {
		out->text = "plan {plan} ended with its month, as its fee was raised after you chose it";
	} else if (lapse.why == REASON_SUSPENDED) {
		out->text = "plan {plan} ended with its month, as this account, or the plan's seller, was suspended";
		out->next = "nanopod plan";
	}
	return out->plan != NULL;
}
