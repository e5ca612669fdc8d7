/* SPDX-License-Identifier: Apache-2.0 */
/* Payments of the reference market: each is posted anew, by what it was worth before. See reference.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

static const int64_t most = 500000000000000000, all = 4000000000000000000;

static struct rpayment *known(const struct reference *r, const char *reference)
{
	for (size_t i = 0; reference && i < r->payments.n; i++)
		if (strcmp(((struct rpayment *)r->payments.at[i])->name, reference) == 0)
			return r->payments.at[i];
	return NULL;
}

static struct rpart *part_of(struct rpayment *p, const char *reference)
{
	for (size_t i = 0; p && reference && i < p->n; i++)
		if (strcmp(p->part[i].name, reference) == 0)
			return &p->part[i];
	return NULL;
}

static int wrong_payment(const struct reference *r, const struct event *ev, struct rpayment *p)
{
	int64_t step = ev->u.payment.step, money = ev->u.payment.micros;
	const struct rpart *part = part_of(p, ev->text);
	bool owned = p && p->account;

	if (ev->account && !ref_list_find(&r->accounts, ev->account))
		return REASON_NOT_FOUND;
	if (!ev->text && !p)
		return REASON_NOT_FOUND;
	if (owned && ev->account && ev->account != p->account)
		return REASON_WRONG_STATE;
	if (!ref_name_ok(ev->name) || (ev->text && !ref_name_ok(ev->text)))
		return REASON_INVALID;
	if (!ev->text && (step || money))
		return REASON_INVALID;
	if (ev->text && (step < 1 || step > most || money > most || money < -most))
		return REASON_INVALID;
	if ((!ev->text || (part && part->step >= step)) && (owned || !ev->account))
		return REASON_NAME_TAKEN;
	if (ev->text && !part && p && p->n == 8)
		return REASON_LIMIT;
	return 0;
}

/* Posts what `now` changes for the account; with it only counts. */
static void move(struct reference *r, uint64_t account, int64_t money, wide *in, wide *out)
{
	if (in) {
		*in += money > 0 ? money : 0;
		*out += money < 0 ? money : 0;
		return;
	}
	ref_post(r, account, BOOK_AVAILABLE, 0, money);
	ref_post(r, 0, BOOK_ISSUED, 0, -money);
	ref_transfer_done(r);
}

static void move_all(struct reference *r, const struct event *ev, struct rpayment *p, wide *in, wide *out)
{
	uint64_t account = p && p->account ? p->account : ev->account;
	const struct rpart *part = part_of(p, ev->text);
	bool goes_on = ev->text && (!part || part->step < ev->u.payment.step);

	if (!account)
		return;
	for (size_t i = 0; p && !p->account && i < p->n; i++)
		if (!goes_on || &p->part[i] != part)
			move(r, account, p->part[i].money, in, out);
	if (goes_on)
		move(r, account, ev->u.payment.micros - (part && p->account ? part->money : 0), in, out);
}

void ref_buys_no_more(struct reference *r, uint64_t account)
{
	for (size_t i = 0; i < r->orders.n;) {
		struct rorder *o = r->orders.at[i];

		if (o->account == account && o->side == SIDE_BUY)
			ref_order_close(r, o, ORDER_CANCELLED, REASON_FUNDS);
		else
			i++;
	}
}

void ref_stop_buying(struct reference *r, uint64_t account)
{
	const struct raccount *a = ref_list_find(&r->accounts, account);

	if (a && ref_available(r, account) < a->floor)
		ref_buys_no_more(r, account);
}

int ref_payment(struct reference *r, const struct event *ev)
{
	struct rpayment *p = known(r, ev->name);
	uint64_t account = p && p->account ? p->account : ev->account;
	struct rpart *part = part_of(p, ev->text);
	wide in = 0, out = 0;
	int rc = wrong_payment(r, ev, p);

	if (rc)
		return rc;
	move_all(r, ev, p, &in, &out);
	if (in && ref_too_much(r, NULL, in))
		return REASON_OVERFLOW;
	if (out && (ref_available(r, account) + out < -all || out - ref_book_balance(r, 0, BOOK_ISSUED, 0) < -all))
		return REASON_OVERFLOW;
	move_all(r, ev, p, NULL, NULL);
	ref_stop_buying(r, account);
	if (!p) {
		p = ref_more(NULL, 1, sizeof *p);
		*p = (struct rpayment){ .id = r->next_id++, .name = ref_text(ev->name) };
		ref_list_add(&r->payments, p);
	}
	p->account = account;
	if (!ev->text || (part && part->step >= ev->u.payment.step))
		return 0;
	if (!part) {
		part = &p->part[p->n++];
		part->name = ref_text(ev->text);
	}
	part->step = ev->u.payment.step;
	part->money = ev->u.payment.micros;
	return 0;
}

int ref_credit(struct reference *r, const struct raccount *a, const struct event *ev)
{
	int64_t micros = ev->u.credit.micros;

	if (micros == 0)
		return REASON_INVALID;
	if (micros < 0 && (wide)ref_available(r, a->id) + micros < a->floor)
		return REASON_FUNDS;
	if (ref_too_much(r, NULL, micros))
		return REASON_OVERFLOW;
	ref_post(r, a->id, BOOK_AVAILABLE, 0, micros);
	ref_post(r, 0, BOOK_ISSUED, 0, -micros);
	ref_transfer_done(r);
	return 0;
}

void ref_payments_dump(const struct reference *r, struct buf *out)
{
	for (size_t i = 0; i < r->payments.n; i++) {
		const struct rpayment *p = r->payments.at[i];

		buf_addf(out, "payment %" PRIu64 " %" PRIu64 " %s\n", p->id, p->account, p->name);
		for (size_t k = 0; k < p->n; k++)
			buf_addf(out, "part %" PRIu64 " %" PRId64 " %" PRId64 " %s\n", p->id, p->part[k].step,
				p->part[k].money, p->part[k].name);
	}
}

void ref_payments_free(struct reference *r)
{
	for (size_t i = 0; i < r->payments.n; i++) {
		struct rpayment *p = r->payments.at[i];

		for (size_t k = 0; k < p->n; k++)
			free(p->part[k].name);
		free(p->name);
	}
}
