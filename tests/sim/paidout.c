/* SPDX-License-Identifier: Apache-2.0 */
#include "paidout.h"

#include <stdlib.h>

static struct paidout_row *paidout_row(struct paidout *p, uint64_t id)
{
	if (id >= p->count) {
		size_t count = 2 * id + 64;

		p->by_id = reallocarray(p->by_id, count, sizeof *p->by_id);
		if (!p->by_id)
			abort();
		for (size_t i = p->count; i < count; i++)
			p->by_id[i] = (struct paidout_row){ 0 };
		p->count = count;
	}
	return &p->by_id[id];
}

/* Of a payout: each of its transfers moves what is held for it, or what left. */
static const char *paidout_posting(struct paidout *p, uint64_t payout, const struct posting *x, bool late)
{
	struct paidout_row *row = paidout_row(p, payout);

	if (x->asset || x->subject != payout)
		return "a payout moves something else";
	if (x->book == BOOK_HELD) {
		row->held += x->amount;
		paidout_row(p, x->account)->waits += x->amount > 0 ? 1 : -1;
		paidout_row(p, x->account)->held += x->amount;
	} else if (x->book == BOOK_PAID) {
		row->sent += x->amount;
		p->sent += x->amount;
		p->met += x->amount > 0;
		if (x->balance != p->sent)
			return "the market's book has not what was paid out";
	} else if (x->book == BOOK_AVAILABLE) {
		paidout_row(p, x->account)->out -= x->amount;
		paidout_row(p, payout)->gave -= x->amount;
		if (x->balance < 0 && x->amount < 0 && !late)
			return "a payout takes money that is not there";
	} else {
		return "a payout moves money of another kind";
	}
	row = paidout_row(p, payout);
	if (row->held < 0 || row->sent < 0)
		return "more of a payout left, or came back, than was asked for";
	return NULL;
}

/* What came of a payout, after its postings: all that left was taken from its account, and no more. */
static const char *paidout_step(struct paidout *p, const struct event *ev, uint64_t payout, bool late)
{
	struct paidout_row *row = paidout_row(p, payout);
	enum payout_state state = ev->u.payout.state;

	if (state == PAYOUT_ASKED)
		row->asked = ev->u.payout.micros;
	p->late += late;
	row->back = state == PAYOUT_CANCELLED;
	if (row->gave != row->held + row->sent)
		return "an account gave more or less for a payout than is held or left";
	if (state == PAYOUT_SENT && (row->sent != row->asked || row->held))
		return "what was sent was not taken from the account once";
	if (state == PAYOUT_CANCELLED && row->gave)
		return "a payout that was cancelled has money of its account";
	if (state == PAYOUT_ASKED && paidout_row(p, ev->account)->out > paidout_row(p, ev->account)->earned)
		return "an account asks for what it has not earned";
	return NULL;
}

/* What others paid for a volume, in the transfer before its notice: its owner earned what came in. */
static void paidout_volume(struct paidout *p, const struct effect *list, size_t at)
{
	const struct notice *n = &list[at].u.notice;

	while (at-- > 0 && list[at].kind == EFFECT_POSTING && list[at].u.posting.subject == n->subject) {
		const struct posting *x = &list[at].u.posting;

		if (x->book == BOOK_AVAILABLE && x->amount > 0 && x->account != n->account)
			paidout_row(p, x->account)->earned += x->amount;
	}
}

const char *paidout_look(struct paidout *p, const struct event *ev, const struct effects *did)
{
	uint64_t payout = ev->kind != EVENT_PAYOUT ? 0 : ev->subject ? ev->subject : effects_made(did);
	bool late = payout && ev->u.payout.state == PAYOUT_SENT && paidout_row(p, payout)->back;
	const char *wrong = NULL;

	for (size_t i = 0; i < did->count && !wrong; i++) {
		const struct effect *x = &did->list[i];

		if (x->kind == EFFECT_NOTICE && x->u.notice.kind == NOTICE_SETTLED)
			paidout_row(p, x->u.notice.account)->earned += x->u.notice.amount;
		if (x->kind == EFFECT_NOTICE && x->u.notice.kind == NOTICE_VOLUME_PAID)
			paidout_volume(p, did->list, i);
		if (x->kind != EFFECT_POSTING)
			continue;
		if (payout)
			wrong = paidout_posting(p, payout, &x->u.posting, late);
		else if (x->u.posting.book == BOOK_PAID)
			wrong = "money leaves without a payout";
	}
	return wrong || !payout ? wrong : paidout_step(p, ev, payout, late);
}

const char *paidout_said(struct paidout *p, const struct account *a)
{
	const struct paidout_row *row = paidout_row(p, a->id);

	return a->asked.micros == row->held && a->asked.count == row->waits
		? NULL
		: "an account is told of other payouts that wait than it asked for";
}

void paidout_release(struct paidout *p)
{
	free(p->by_id);
	*p = (struct paidout){ 0 };
}
