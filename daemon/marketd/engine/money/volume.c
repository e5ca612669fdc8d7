/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/volume.h"

#include <stdlib.h>

#include "market/reason.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/money/income.h"

enum { VOLUME_HOUR = 60 };
#define VOLUME_PRICE_MAX INT64_C(1000000000000)

int64_t volume_hour(int32_t gib, int64_t price)
{
	return (sure_mul(gib, price) + MONTH_HOURS - 1) / MONTH_HOURS;
}

int64_t volume_let(const struct live_agent *a)
{
	const struct live_volume *v;
	int64_t sum = 0;

	for (size_t at = 0; (v = rank_next(&a->volumes, &at));)
		sum += v->pub.gib;
	return sum;
}

/* Since edition 5 a host counts until it ends: who comes after that cannot use what is there. */
bool volume_machine_up(const struct engine *e, const struct live_agent *a)
{
	const struct live_host *h;

	for (size_t at = 0; (h = rank_next(&a->hosts, &at));)
		if (!h->pub.down && (e->rules < 5 || h->pub.end > e->minute))
			return true;
	return false;
}

/* ---- News -------------------------------------------------------------------------------- */

/* Tells its account; and its agent has something else to do. */
static void volume_tell(struct engine *e, struct live_volume *v, enum volume_news news, int64_t minute)
{
	v->agent->version = e->count + 1;
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_VOLUME,
			.account = v->pub.account,
			.subject = v->pub.id,
			.other = v->pub.agent,
			.minute = minute,
			.code = (int32_t)news });
}

static void volume_schedule(struct engine *e, struct live_volume *v)
{
	if (v->pub.state == VOLUME_DELETING)
		due_drop(&e->volumes_due, &v->due);
	else
		due_set(&e->volumes_due, &v->due, v->pub.id,
			v->pub.state == VOLUME_PAID ? v->pub.paid_until : e->minute + 1);
}

/* ---- Money ------------------------------------------------------------------------------- */

static void volume_pay(struct engine *e, struct live_volume *v, int64_t cost)
{
	struct live_account *buyer = world_account(e, v->pub.account);
	struct live_account *owner = world_account(e, v->agent->pub.account);
	int64_t fee = ledger_fee(cost, e->policy.fee_bps);

	ledger_move(e, v->pub.id,
		(struct entry[]){
			{ .book = BOOK_AVAILABLE, .account = buyer, .amount = -cost },
			{ .book = BOOK_FEES, .amount = fee },
			{ .book = BOOK_AVAILABLE, .account = owner, .amount = cost - fee },
		},
		3);
	if (buyer->pub.beneficiary != owner->pub.beneficiary) /* what one pays to oneself is no income */
		income_earn(e, owner, cost - fee);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_VOLUME_PAID,
			.account = v->pub.account,
			.subject = v->pub.id,
			.other = v->pub.agent,
			.amount = cost,
			.minute = v->pub.paid_until });
}

static int volume_funds(const struct engine *e, uint64_t account, int64_t cost, struct fail *why)
{
	const struct account *a = &world_account(e, account)->pub;

	if (cost <= ledger_spendable(a))
		return 0;
	return fail_set(why, REASON_FUNDS, "account '%s' does not have enough money for an hour of the volume",
		a->name);
}

/* ---- Events ------------------------------------------------------------------------------ */

static int volume_agent(const struct engine *e, uint64_t id, struct live_agent **out, struct fail *why)
{
	struct live_agent *a = world_agent(e, id);

	if (!a || a->pub.retired)
		return fail_set(why, REASON_NOT_FOUND, "no such agent");
	*out = a;
	return 0;
}

int volume_offer(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a = NULL;
	int rc = check_account(e, ev, why);

	rc = rc ? rc : volume_agent(e, ev->subject, &a, why);
	if (rc)
		return rc;
	if (a->pub.account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such agent");
	if (ev->u.volume.gib < 0 || ev->u.volume.gib > VOLUME_GIB_MAX || ev->u.volume.price < 0 ||
		ev->u.volume.price > VOLUME_PRICE_MAX)
		return fail_set(why, REASON_INVALID, "a machine lets 0 to %d GiB for volumes", VOLUME_GIB_MAX);
	if (ev->u.volume.gib < volume_let(a))
		return fail_set(why, REASON_HAS_DEPENDENTS, "agent '%s' keeps volumes of %lld GiB", a->pub.name,
			(long long)volume_let(a));
	a->pub.volume_gib = ev->u.volume.gib;
	a->pub.volume_price = ev->u.volume.price;
	a->version = e->count + 1;
	return 0;
}

static int volume_check_shape(const struct event *ev, int32_t least, struct fail *why)
{
	if (ev->u.volume.gib < least || ev->u.volume.gib > VOLUME_GIB_MAX)
		return fail_set(why, REASON_INVALID, "the volume can have %d to %d GiB", least, VOLUME_GIB_MAX);
	if (ev->u.volume.price < 0 || ev->u.volume.price > VOLUME_PRICE_MAX)
		return fail_set(why, REASON_INVALID, "a price is 0 to $1,000,000 per GiB and month");
	return 0;
}

/* Whether the machine has so much more, for that price. */
static int volume_check_room(const struct engine *e, const struct live_agent *a, const struct event *ev, int32_t more,
	struct fail *why)
{
	if (a->pub.volume_price > ev->u.volume.price)
		return fail_set(why, REASON_PRICE_TOO_LOW, "agent '%s' wants more for it now", a->pub.name);
	if (!volume_machine_up(e, a))
		return fail_set(why, REASON_NO_CAPACITY, "agent '%s' is away", a->pub.name);
	if (more > a->pub.volume_gib - volume_let(a))
		return fail_set(why, REASON_NO_CAPACITY, "agent '%s' has %lld GiB left for volumes", a->pub.name,
			(long long)(a->pub.volume_gib - volume_let(a)));
	return 0;
}

static int volume_check_new(const struct engine *e, const struct event *ev, struct live_agent **out, struct fail *why)
{
	int rc = check_open_account(e, ev, why);

	rc = rc ? rc : volume_agent(e, ev->subject, out, why);
	rc = rc ? rc : check_name(ev->name, true, why);
	rc = rc ? rc : volume_check_shape(ev, 1, why);
	if (rc)
		return rc;
	if (world_named(e, VOLUMES, ev->account, ev->name))
		return fail_set(why, REASON_NAME_TAKEN, "the account already has a volume '%s'", ev->name);
	rc = volume_check_room(e, *out, ev, ev->u.volume.gib, why);
	return rc ? rc : volume_funds(e, ev->account, volume_hour(ev->u.volume.gib, (*out)->pub.volume_price), why);
}

static struct live_volume *volume_add(struct engine *e, const struct volume *of)
{
	struct live_volume *v = must_zalloc(sizeof *v);

	v->pub = *of;
	v->pub.name = must_copy(of->name);
	v->agent = world_agent(e, of->agent);
	world_add(e, VOLUMES, of->id, of->account, v);
	rank_add(&v->agent->volumes, of->id, v);
	if (of->state != VOLUME_DELETING)
		world_name(e, VOLUMES, of->account, v->pub.name, v);
	volume_schedule(e, v);
	return v;
}

int volume_make(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a;
	struct live_volume *v;
	int rc = volume_check_new(e, ev, &a, why);

	if (rc)
		return rc;
	v = volume_add(e,
		&(struct volume){ .id = world_id(e),
			.account = ev->account,
			.agent = a->pub.id,
			.name = (char *)ev->name,
			.gib = ev->u.volume.gib,
			.price = a->pub.volume_price,
			.paid_until = e->minute + VOLUME_HOUR,
			.created_at = ev->at });
	emit_made(e, v->pub.id);
	volume_tell(e, v, VOLUME_MADE, v->pub.paid_until);
	volume_pay(e, v, volume_hour(v->pub.gib, v->pub.price));
	return 0;
}

/* What a larger one costs more for the hour that is paid. */
static int64_t volume_more(const struct live_volume *v, const struct event *ev)
{
	int64_t more = volume_hour(ev->u.volume.gib, v->agent->pub.volume_price) -
		volume_hour(v->pub.gib, v->pub.price);

	return more > 0 ? more : 0;
}

static int volume_check_change(const struct engine *e, const struct event *ev, struct live_volume **out,
	struct fail *why)
{
	struct live_volume *v = world_volume(e, ev->subject);
	int rc = ev->u.volume.gib ? check_open_account(e, ev, why) : check_account(e, ev, why);

	if (rc)
		return rc;
	if (!v || v->pub.account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such volume");
	if (v->pub.state == VOLUME_DELETING)
		return fail_set(why, REASON_WRONG_STATE, "volume '%s' is being deleted", v->pub.name);
	*out = v;
	if (!ev->u.volume.gib)
		return 0;
	if (v->pub.state == VOLUME_UNPAID)
		return fail_set(why, REASON_WRONG_STATE, "volume '%s' is not paid", v->pub.name);
	rc = volume_check_shape(ev, v->pub.gib + 1, why);
	rc = rc ? rc : volume_check_room(e, v->agent, ev, ev->u.volume.gib - v->pub.gib, why);
	return rc ? rc : volume_funds(e, ev->account, volume_more(v, ev), why);
}

int volume_check(const struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_agent *a;
	struct live_volume *v;

	return ev->kind == EVENT_VOLUME ? volume_check_new(e, ev, &a, why) : volume_check_change(e, ev, &v, why);
}

/* Hours that have begun and are not paid. */
static int64_t volume_hours_due(const struct engine *e, const struct live_volume *v)
{
	return (e->minute - v->pub.paid_until) / VOLUME_HOUR + 1;
}

/* What an unpaid one owes at its end is paid as far as there is money, in whole hours. */
static void volume_pay_rest(struct engine *e, struct live_volume *v)
{
	int64_t hours = volume_hours_due(e, v), hour = volume_hour(v->pub.gib, v->pub.price),
		has = ledger_spendable(&world_account(e, v->pub.account)->pub);

	if (!hour || has < hour)
		return;
	if (hours > has / hour)
		hours = has / hour;
	v->pub.paid_until += hours * VOLUME_HOUR;
	volume_pay(e, v, hours * hour);
}

/* Its name is free, and its room not before its agent has deleted it. */
static void volume_end(struct engine *e, struct live_volume *v)
{
	if (e->rules >= 5 && v->pub.state == VOLUME_UNPAID)
		volume_pay_rest(e, v);
	world_unname(e, VOLUMES, v->pub.account, v->pub.name);
	v->pub.state = VOLUME_DELETING;
	v->pub.until = 0;
	volume_schedule(e, v);
	volume_tell(e, v, VOLUME_ENDS, e->minute);
}

int volume_change(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_volume *v;
	int rc = volume_check_change(e, ev, &v, why);
	int64_t more;

	if (rc)
		return rc;
	if (!ev->u.volume.gib) {
		volume_end(e, v);
		return 0;
	}
	more = volume_more(v, ev);
	v->pub.gib = ev->u.volume.gib;
	v->pub.price = v->agent->pub.volume_price;
	volume_tell(e, v, VOLUME_GREW, v->pub.paid_until);
	if (more)
		volume_pay(e, v, more);
	return 0;
}

static void volume_forget(struct engine *e, struct live_volume *v, enum volume_news news)
{
	volume_tell(e, v, news, e->minute);
	if (v->pub.state != VOLUME_DELETING)
		world_unname(e, VOLUMES, v->pub.account, v->pub.name);
	due_drop(&e->volumes_due, &v->due);
	rank_remove(&v->agent->volumes, v->pub.id);
	world_forget(e, VOLUMES, v->pub.id, v->pub.account, v);
}

int volume_gone(struct engine *e, const struct event *ev, struct fail *why)
{
	struct live_volume *v = world_volume(e, ev->subject);
	int rc = check_account(e, ev, why);

	if (rc)
		return rc;
	if (!v || v->agent->pub.account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such volume");
	if (v->pub.state != VOLUME_DELETING)
		return fail_set(why, REASON_WRONG_STATE, "nobody asked for volume '%s' to be deleted", v->pub.name);
	volume_forget(e, v, VOLUME_ENDED);
	return 0;
}

void volume_lose_all(struct engine *e, struct live_agent *a)
{
	struct live_volume *v;

	while ((v = rank_after(&a->volumes, 0)))
		volume_forget(e, v, v->pub.state == VOLUME_DELETING ? VOLUME_ENDED : VOLUME_LOST);
	a->pub.volume_gib = 0;
	a->pub.volume_price = 0;
}

/* ---- Time -------------------------------------------------------------------------------- */

/*
 * An hour costs nothing while its machine is away; what an unpaid one owes stays as it is then, and since edition 5 so
 * does how long it is kept: nobody can pay for it.
 */
static void volume_is_due(struct engine *e, struct live_volume *v)
{
	int64_t hours = volume_hours_due(e, v), cost, paid;
	bool owed = v->pub.state == VOLUME_UNPAID, up = volume_machine_up(e, v->agent);

	if (owed && e->rules < 5 && e->minute >= v->pub.until) {
		volume_end(e, v);
		return;
	}
	if (owed && !up) {
		v->pub.paid_until++;
		v->pub.until += e->rules >= 5;
		return;
	}
	/* More than anybody has is no more than anybody has. */
	paid = v->pub.paid_until + hours * VOLUME_HOUR;
	if (__builtin_mul_overflow(up ? volume_hour(v->pub.gib, v->pub.price) : 0, hours, &cost))
		cost = INT64_MAX;
	if (cost <= ledger_spendable(&world_account(e, v->pub.account)->pub) || !cost) {
		v->pub.paid_until = paid;
		v->pub.state = VOLUME_PAID;
		v->pub.until = 0;
		if (owed)
			volume_tell(e, v, VOLUME_BACK, paid);
		if (cost)
			volume_pay(e, v, cost);
	} else if (!owed) {
		v->pub.state = VOLUME_UNPAID;
		v->pub.until = e->minute +
			(e->policy.volume_grace_minutes ? e->policy.volume_grace_minutes : VOLUME_GRACE);
		volume_tell(e, v, VOLUME_OWES, v->pub.until);
	} else if (e->minute >= v->pub.until) {
		volume_end(e, v);
	}
}

void volume_pass_minute(struct engine *e)
{
	struct due *d;

	while ((d = due_first(&e->volumes_due)) && d->minute <= e->minute) {
		struct live_volume *v = list_entry(d, struct live_volume, due);

		volume_is_due(e, v);
		volume_schedule(e, v);
	}
}

bool volume_restore(struct engine *e, const struct volume *v)
{
	const struct live_agent *a = world_agent(e, v->agent);

	if (!v->name || !*v->name || !world_account(e, v->account) || !a || a->pub.retired || v->gib < 1 ||
		v->gib > VOLUME_GIB_MAX || v->price < 0 || v->price > VOLUME_PRICE_MAX || v->state > VOLUME_DELETING ||
		v->paid_until < 0 || v->paid_until > 2 * (int64_t)MINUTE_MAX || v->until < 0 ||
		v->until > 2 * (int64_t)MINUTE_MAX)
		return false;
	if (v->state == VOLUME_PAID ? v->paid_until <= e->minute : v->state == VOLUME_UNPAID && v->until <= e->minute)
		return false;
	if (v->state != VOLUME_DELETING && world_named(e, VOLUMES, v->account, v->name))
		return false;
	volume_add(e, v);
	return true;
}
