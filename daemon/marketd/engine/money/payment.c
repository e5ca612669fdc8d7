/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a payment service took for an account, and gave back. Its news come twice, late and in any order, so each says
 * how far a thing has come and what it is worth now, and the ledger gets the difference.
 */
#include <string.h>

#include "market/reason.h"
#include "marketd/engine/rules/account.h"
#include "marketd/engine/rules/emit.h"
#include "marketd/engine/money/ledger.h"
#include "marketd/engine/rules/resting.h"

/* What an event does to a payment. */
struct payment_news {
	struct payment *payment;      /* NULL: it is new */
	struct payment_part *part;    /* NULL: it is new, or the event tells none */
	struct live_account *account; /* whose it is from now on; NULL: nobody knows yet */
	bool later, claimed;          /* the part goes on; the account was not known before */
};

static bool payment_text(const char *s)
{
	return s && *s && strlen(s) <= NAME_BYTES;
}

static struct payment_part *payment_part(struct payment *p, const char *reference)
{
	for (size_t i = 0; p && reference && i < p->part_count; i++)
		if (strcmp(p->parts[i].reference, reference) == 0)
			return &p->parts[i];
	return NULL;
}

static int payment_read(const struct engine *e, const struct event *ev, struct payment_news *n, struct fail *why)
{
	struct payment *p = world_named(e, PAYMENTS, 0, ev->name);
	uint64_t account = p && p->account ? p->account : ev->account;
	int64_t step = ev->u.payment.step, micros = ev->u.payment.micros;

	if (ev->account && !world_account(e, ev->account))
		return fail_set(why, REASON_NOT_FOUND, "no such account");
	if (!p && !ev->text)
		return fail_set(why, REASON_NOT_FOUND, "no such payment");
	if (account != ev->account && ev->account)
		return fail_set(why, REASON_WRONG_STATE, "the payment is another account's");
	if (!payment_text(ev->name) || (ev->text && !payment_text(ev->text)))
		return fail_set(why, REASON_INVALID, "references of payments have 1 to %d bytes", NAME_BYTES);
	if (ev->text ? step < 1 || step > PAYMENT_MAX || micros < -PAYMENT_MAX || micros > PAYMENT_MAX : step || micros)
		return fail_set(why, REASON_INVALID, "a part of a payment has a step, and money that can be counted");
	n->payment = p;
	n->part = payment_part(p, ev->text);
	n->account = world_account(e, account);
	n->later = ev->text && (!n->part || n->part->step < step);
	n->claimed = n->account && !(p && p->account);
	if (!n->later && !n->claimed)
		return fail_set(why, REASON_NAME_TAKEN, "that is known of the payment already");
	if (n->later && !n->part && p && p->part_count == PAYMENT_PARTS)
		return fail_set(why, REASON_LIMIT, "a payment has up to %d parts", PAYMENT_PARTS);
	return 0;
}

/* What the ledger gets of one part. */
static int64_t payment_gets(const struct payment_news *n, const struct payment_part *part, int64_t micros)
{
	return n->account ? micros - (n->claimed || !part ? 0 : part->micros) : 0;
}

static int payment_counts(const struct engine *e, const struct event *ev, const struct payment_news *n,
	struct fail *why)
{
	int64_t gets = n->later ? payment_gets(n, n->part, ev->u.payment.micros) : 0;
	int64_t up = gets > 0 ? gets : 0, down = gets < 0 ? gets : 0;

	for (size_t i = 0; n->claimed && n->payment && i < n->payment->part_count; i++) {
		const struct payment_part *part = &n->payment->parts[i];

		if (part == n->part && n->later)
			continue;
		up += part->micros > 0 ? part->micros : 0;
		down += part->micros < 0 ? part->micros : 0;
	}
	if ((up && account_too_much(e, up)) ||
		(down && (-e->issued + down < -MONEY_MAX || n->account->pub.available + down < -MONEY_MAX)))
		return fail_set(why, REASON_OVERFLOW, "that is more money than can be counted");
	return 0;
}

static void payment_post(struct engine *e, struct live_account *a, int64_t micros)
{
	if (!micros)
		return;
	ledger_move(e, 0,
		(struct entry[]){
			{ .book = BOOK_ISSUED, .amount = -micros },
			{ .book = BOOK_AVAILABLE, .account = a, .amount = micros, .owed = true },
		},
		2);
	emit_notice(e,
		&(struct notice){ .kind = NOTICE_CREDITED,
			.account = a->pub.id,
			.subject = a->pub.id,
			.amount = micros });
}

static struct payment *payment_make(struct engine *e, const struct event *ev, uint64_t account)
{
	struct payment *p = must_zalloc(sizeof *p);

	p->id = world_id(e);
	p->account = account;
	p->reference = must_copy(ev->name);
	p->created_at = ev->at;
	world_add(e, PAYMENTS, p->id, account, p);
	world_name(e, PAYMENTS, 0, p->reference, p);
	emit_made(e, p->id);
	return p;
}

/* It is this account's: the ledger gets all that is known of it, but the part that goes on with this event. */
static void payment_claim(struct engine *e, struct payment *p, struct live_account *a, const struct payment_part *but)
{
	p->account = a->pub.id;
	rank_put(&a->own[PAYMENTS], p->id, p);
	for (size_t i = 0; i < p->part_count; i++)
		if (&p->parts[i] != but)
			payment_post(e, a, p->parts[i].micros);
}

static void payment_goes_on(struct engine *e, const struct event *ev, struct payment_news *n, int64_t gets)
{
	if (!n->part) {
		n->part = &n->payment->parts[n->payment->part_count++];
		n->part->reference = must_copy(ev->text);
	}
	n->part->step = ev->u.payment.step;
	n->part->micros = ev->u.payment.micros;
	payment_post(e, n->account, gets);
}

int payment_note(struct engine *e, const struct event *ev, struct fail *why)
{
	struct payment_news n = { 0 };
	int64_t gets;
	int rc = payment_read(e, ev, &n, why);

	rc = rc ? rc : payment_counts(e, ev, &n, why);
	if (rc)
		return rc;
	gets = n.later ? payment_gets(&n, n.part, ev->u.payment.micros) : 0;
	if (!n.payment)
		n.payment = payment_make(e, ev, n.account ? n.account->pub.id : 0);
	else if (n.claimed)
		payment_claim(e, n.payment, n.account, n.later ? n.part : NULL);
	if (n.later)
		payment_goes_on(e, ev, &n, gets);
	if (n.account && n.account->pub.available < n.account->pub.floor)
		resting_stop_buying(e, n.account);
	return 0;
}
