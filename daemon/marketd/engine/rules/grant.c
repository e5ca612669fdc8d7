/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/grant.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/money/ledger.h"

/* ---- Grants ----------------------------------------------------------------------------- */

void grant_add(struct engine *e, struct grant *g)
{
	world_add(e, GRANTS, g->id, g->account, g);
	if (g->ended) {
		world_account(e, g->account)->gone[GRANTS]++;
		return;
	}
	rank_add(&world_account(e, g->sponsor)->given, g->id, g);
	if (!g->plan)
		world_name(e, GRANTS, g->account, g->name, g);
}

static int grant_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t until = ev->u.grant.until;
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!world_account(e, ev->u.grant.sponsor))
		return fail_set(why, REASON_NOT_FOUND, "no such sponsor");
	rc = check_name(ev->name, true, why);
	if (rc)
		return rc;
	if (ev->u.grant.sponsor == ev->account)
		return fail_set(why, REASON_INVALID, "an account cannot sponsor itself");
	if (ev->u.grant.max < 1)
		return fail_set(why, REASON_INVALID, "a grant has a maximum above 0");
	if (until && (until <= e->minute || until > MINUTE_MAX))
		return fail_set(why, REASON_INVALID, "the grant would be over already");
	if (world_named(e, GRANTS, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "the account already has a grant '%s'", ev->name);
	return 0;
}

static void grant_tell(struct engine *e, const struct grant *g, enum notice_kind kind)
{
	emit_notice(e,
		&(struct notice){ .kind = kind,
			.account = g->account,
			.subject = g->id,
			.other = g->sponsor,
			.amount = kind == NOTICE_GRANTED ? g->max : g->spent,
			.minute = g->until == MINUTE_MAX ? 0 : g->until });
}

int grant_make(struct engine *e, const struct event *ev, struct fail *why)
{
	int rc = grant_check(e, ev, why);
	struct grant *g;

	if (rc)
		return rc;
	g = must_zalloc(sizeof *g);
	*g = (struct grant){ .id = world_id(e),
		.account = ev->account,
		.sponsor = ev->u.grant.sponsor,
		.name = must_copy(ev->name),
		.max = ev->u.grant.max,
		.until = ev->u.grant.until ? ev->u.grant.until : MINUTE_MAX,
		.created_at = ev->at };
	grant_add(e, g);
	emit_made(e, g->id);
	grant_tell(e, g, NOTICE_GRANTED);
	return 0;
}

/* It pays for nothing new; what it paid for goes on, and what comes back of that goes to its sponsor. */
int grant_end(struct engine *e, const struct event *ev, struct fail *why)
{
	struct grant *g = world_grant(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!g || g->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such grant");
	if (g->ended)
		return fail_set(why, REASON_WRONG_STATE, "grant '%s' has ended already", g->name);
	if (g->plan)
		return fail_set(why, REASON_WRONG_STATE, "that is a month of plan '%s'; cancel the plan instead",
			g->name);
	grant_over(e, g);
	world_unname(e, GRANTS, g->account, g->name);
	grant_tell(e, g, NOTICE_GRANT_ENDED);
	return 0;
}

void grant_over(struct engine *e, struct grant *g)
{
	g->ended = true;
	rank_remove(&world_account(e, g->sponsor)->given, g->id);
	world_account(e, g->account)->gone[GRANTS]++;
}

bool grant_fits(const struct engine *e, const struct lease *l)
{
	const struct grant *g = world_grant(e, l->grant);

	if (!l->grant)
		return l->granted == 0;
	return g && g->account == l->buyer && l->granted >= 0 && l->granted <= l->price && !l->sold_on;
}

struct live_account *grant_sponsor(const struct engine *e, uint64_t grant)
{
	const struct grant *g = world_grant(e, grant);

	return g ? world_account(e, g->sponsor) : NULL;
}

int64_t grant_price(const struct order *o, int64_t price)
{
	return o->grant ? sure_mul(price, o->granted) / PPM : 0;
}

int grant_check_named(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct grant *g = world_grant(e, ev->u.order.grant);

	if (!ev->u.order.grant)
		return 0;
	if (!g || g->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such grant");
	if (g->ended || g->until <= e->minute)
		return fail_set(why, REASON_WRONG_STATE, "grant '%s' has ended", g->name);
	if (world_account(e, g->sponsor)->pub.state == ACCOUNT_SUSPENDED)
		return fail_set(why, REASON_WRONG_STATE,
			g->plan ? "the seller of plan '%s' is suspended; '--grant none' buys without the plan"
				: "the sponsor of grant '%s' is suspended",
			g->name);
	if (g->plan && world_tariff(e, g->plan)->sku && world_tariff(e, g->plan)->sku != ev->u.order.sku)
		return fail_set(why, REASON_WRONG_STATE, "plan '%s' is for another type", g->name);
	return 0;
}

int grant_check_shape(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct grant *g = world_grant(e, ev->u.order.grant);
	int32_t part = ev->u.order.granted;

	if (part < 0 || part > PPM || (!part && g && !g->plan) || (part && !g))
		return fail_set(why, REASON_INVALID, "a grant pays 1 to %d millionths of a price", PPM);
	if (g && (ev->u.order.side != SIDE_BUY || (ev->u.order.flags & ORDER_STANDING)))
		return fail_set(why, REASON_INVALID, "a grant pays for buys that fill at once, not for standing ones");
	return 0;
}

int32_t grant_part(const struct engine *e, const struct order *o, int64_t cost)
{
	const struct grant *g = world_grant(e, o->grant);
	int64_t units, rates, left;

	if (!g || !g->plan)
		return o->granted;
	left = g->max - g->spent;
	units = g->units > g->spent ? g->units - g->spent : 0;
	units = units < cost ? units : cost;
	rates = (int64_t)((__int128)(cost - units) * o->granted / PPM);
	rates = rates < left - units ? rates : left - units;
	return cost ? (int32_t)((__int128)(units + rates) * PPM / cost) : 0;
}

int grant_check_funds(const struct engine *e, uint64_t grant, int64_t amount, struct fail *why)
{
	const struct grant *g = world_grant(e, grant);

	if (!amount)
		return 0;
	if (amount > g->max - g->spent)
		return fail_set(why, REASON_FUNDS, "grant '%s' does not have enough left to pay its part", g->name);
	if (amount > ledger_spendable(&world_account(e, g->sponsor)->pub))
		return fail_set(why, REASON_FUNDS,
			g->plan ? "plan '%s' cannot pay: its seller lacks the money for what it includes; tell the "
				  "market's operator, or buy without it: '--grant none'"
				: "the sponsor of grant '%s' does not have enough money for its part",
			g->name);
	return 0;
}

void grant_spend(struct engine *e, uint64_t grant, int64_t amount)
{
	struct grant *g = world_grant(e, grant);

	if (!amount)
		return;
	ensure(g && g->spent + amount >= 0 && g->spent + amount <= g->max, "a grant pays more than it has");
	g->spent += amount;
}

/* ---- Facts ------------------------------------------------------------------------------ */

int facts_set(struct engine *e, const struct event *ev, struct fail *why)
{
	int rc = check_account(e, ev, why);
	struct live_account *a;

	if (rc)
		return rc;
	if (ev->text && strlen(ev->text) > FACTS_BYTES)
		return fail_set(why, REASON_INVALID, "what is known of an account has at most %d bytes", FACTS_BYTES);
	a = world_account(e, ev->account);
	free(a->pub.facts);
	a->pub.facts = ev->text && *ev->text ? must_copy(ev->text) : NULL;
	return 0;
}
