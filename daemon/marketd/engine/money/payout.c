/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sales and volumes earned, paid out: an account asks, its money is held from then on, and whoever sends it says
 * that it was sent or that it came back. Nothing is paid out that was not earned, and none of it twice: an account that
 * cancels one which was sent has been paid out more than it earned, until it earns that, or gives it back.
 */
#include "marketd/engine/money/payout.h"

#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/rules/check.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/rules/resting.h"
#include "marketd/engine/money/income.h"
#include "marketd/engine/money/ledger.h"

static void payout_move(struct engine *e, const struct payout *p, struct live_account *a, enum book from, enum book to,
	int64_t micros)
{
	ledger_move(e, p->id,
		(struct entry[]){
			{ .book = from,
				.account = from == BOOK_PAID ? NULL : a,
				.amount = -micros,
				.owed = from == BOOK_AVAILABLE },
			{ .book = to, .account = to == BOOK_PAID ? NULL : a, .amount = micros },
		},
		2);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_PAYOUT,
			.account = p->account,
			.subject = p->id,
			.amount = micros,
			.code = (int32_t)p->state });
}

/* Texts that a payout keeps; hold: hours, where it is asked for. */
static bool payout_texts(const struct event *ev)
{
	return (!ev->name || (*ev->name && strlen(ev->name) <= NAME_BYTES)) &&
		(!ev->text || strlen(ev->text) <= WHY_BYTES);
}

void payout_add(struct engine *e, struct payout *p)
{
	struct asked *of = &world_account(e, p->account)->pub.asked;

	world_add(e, PAYOUTS, p->id, p->account, p);
	of->count += p->state == PAYOUT_ASKED;
	of->micros += p->state == PAYOUT_ASKED ? p->micros : 0;
}

/* Before its state changes: it waits no more. */
static void payout_done(struct live_account *a, const struct payout *p)
{
	a->pub.asked.count -= p->state == PAYOUT_ASKED;
	a->pub.asked.micros -= p->state == PAYOUT_ASKED ? p->micros : 0;
}

static int payout_ask(struct engine *e, const struct event *ev, struct fail *why)
{
	int64_t micros = ev->u.payout.micros;
	int rc = check_open_account(e, ev, why);
	struct live_account *a = world_account(e, ev->account);
	struct payout *p;

	if (rc)
		return rc;
	if (ev->u.payout.state != PAYOUT_ASKED || micros < 1 || ev->u.payout.hold < 0 ||
		ev->u.payout.hold > PAYOUT_HOLD_MAX || !payout_texts(ev))
		return fail_set(why, REASON_INVALID, "a payout is of more than 0, held for 0 to %d hours",
			PAYOUT_HOLD_MAX);
	if (micros > income_room(e, &a->pub, ev->u.payout.hold))
		return fail_set(why, REASON_FUNDS, "account '%s' has not earned so much that can be paid out",
			a->pub.name);
	p = must_zalloc(sizeof *p);
	*p = (struct payout){ .id = world_id(e), .account = ev->account, .micros = micros, .created_at = ev->at };
	payout_add(e, p);
	emit_made(e, p->id);
	a->pub.income.paid += micros;
	payout_move(e, p, a, BOOK_AVAILABLE, BOOK_HELD, micros);
	return 0;
}

/* One that was cancelled was sent before: its account has that money a second time, and gives it, or owes it. */
static void payout_sent(struct engine *e, const struct event *ev, struct payout *p)
{
	struct live_account *a = world_account(e, p->account);
	enum book from = p->state == PAYOUT_CANCELLED ? BOOK_AVAILABLE : BOOK_HELD;

	payout_done(a, p);
	a->pub.income.paid += p->back;
	p->back = 0;
	p->state = PAYOUT_SENT;
	p->reference = must_copy(ev->name);
	p->updated_at = ev->at;
	payout_move(e, p, a, from, BOOK_PAID, p->micros);
	if (from == BOOK_AVAILABLE && a->pub.available < a->pub.floor)
		resting_stop_buying(e, a);
}

/* From where its money comes back: it comes back as a whole where it was not sent. */
static void payout_back(struct engine *e, const struct event *ev, struct payout *p)
{
	struct live_account *a = world_account(e, p->account);
	enum book from = p->state == PAYOUT_ASKED ? BOOK_HELD : BOOK_PAID;
	bool cancelled = ev->u.payout.state == PAYOUT_CANCELLED;
	int64_t more = (cancelled ? p->micros : ev->u.payout.micros) - p->back;

	payout_done(a, p);
	p->back += more;
	p->state = cancelled ? PAYOUT_CANCELLED : p->back == p->micros ? PAYOUT_FAILED : PAYOUT_SENT;
	free(p->why);
	p->why = must_copy(ev->text);
	p->updated_at = ev->at;
	a->pub.income.paid -= more;
	payout_move(e, p, a, from, BOOK_AVAILABLE, more);
}

/* What becomes of one: it is sent once, cancelled once before that, and no more of it comes back than was sent. */
static int payout_check(const struct engine *e, const struct event *ev, const struct payout *p, struct fail *why)
{
	bool once = ev->u.payout.state == PAYOUT_SENT || ev->u.payout.state == PAYOUT_CANCELLED,
	     back = ev->u.payout.state == PAYOUT_FAILED;
	int64_t micros = ev->u.payout.micros, least = p->state == PAYOUT_ASKED ? p->micros : 1;
	bool late = ev->u.payout.state == PAYOUT_SENT && p->state == PAYOUT_CANCELLED;

	if (once ? p->state != PAYOUT_ASKED && !late : p->state >= PAYOUT_FAILED || (p->back && micros <= p->back))
		return fail_set(why, REASON_WRONG_STATE,
			once ? "the payout was sent already, came back, or was cancelled"
			     : "that has come back already");
	if ((!once && !back) || ev->u.payout.hold || !payout_texts(ev) || (once && micros) ||
		(back && (micros < least || micros > p->micros)))
		return fail_set(why, REASON_INVALID,
			"a payout is sent as a whole, and comes back as that or as a part of what was sent");
	if (late &&
		(e->paid > MONEY_MAX - p->micros ||
			world_account(e, p->account)->pub.available < p->micros - MONEY_MAX))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	return 0;
}

int payout_note(struct engine *e, const struct event *ev, struct fail *why)
{
	struct payout *p = world_payout(e, ev->subject);
	int rc;

	if (!ev->subject)
		return payout_ask(e, ev, why);
	rc = check_account(e, ev, why);
	if (rc)
		return rc;
	if (!p || p->account != ev->account)
		return fail_set(why, REASON_NOT_FOUND, "no such payout");
	rc = payout_check(e, ev, p, why);
	if (!rc && ev->u.payout.state == PAYOUT_SENT)
		payout_sent(e, ev, p);
	else if (!rc)
		payout_back(e, ev, p);
	return rc;
}
