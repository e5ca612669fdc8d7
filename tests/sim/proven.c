/* SPDX-License-Identifier: Apache-2.0 */
#include "proven.h"

#include <stdlib.h>
#include <string.h>

/* What was last said of a host. */
struct said {
	uint64_t host;
	bool good;   /* it was shown to be what its buyers were sold */
	bool enough; /* and is what its type asks for now */
	int64_t until;
};

/* Time that somebody bought and wanted proof for. */
struct stay {
	uint64_t lease, order, host, pool, buyer, sell_order;
	int64_t came; /* start, or that of the stay before, where somebody goes on */
	int64_t start, end, was_end, price;
	int64_t lived, shown; /* minutes that have passed; those with a proof that was good in one of them until then */
	int64_t paid;         /* that left the buyer for others */
	bool seen;            /* there was such a proof since they came */
	bool sold_on;         /* somebody else has it now */
	bool over;
	bool plain; /* nobody wanted proof for it */
};

struct wish {
	uint64_t order;
	bool any; /* the buyer takes hosts without proof */
};

struct proven {
	int64_t minute;
	uint64_t asking[16]; /* types that are sold with proof */
	size_t askings;
	struct said *said;
	size_t saids;
	struct stay *stays;
	size_t stay_count, stay_cap;
	struct wish *wishes;
	size_t wish_count, wish_cap;
	long paid, free_of_charge;
};

struct proven *proven_new(void)
{
	struct proven *p = calloc(1, sizeof *p);

	if (!p)
		abort();
	return p;
}

void proven_free(struct proven *p)
{
	if (!p)
		return;
	free(p->said);
	free(p->stays);
	free(p->wishes);
	free(p);
}

long proven_paid(const struct proven *p)
{
	return p->paid;
}

long proven_free_of_charge(const struct proven *p)
{
	return p->free_of_charge;
}

static void *proven_more(void *old, size_t count, size_t *cap, size_t size)
{
	if (count == *cap) {
		*cap = *cap ? 2 * *cap : 16;
		old = reallocarray(old, *cap, size);
		if (!old)
			abort();
	}
	return old;
}

static const struct said *proven_said(const struct proven *p, uint64_t host)
{
	static const struct said nothing;

	for (size_t i = 0; i < p->saids; i++)
		if (p->said[i].host == host)
			return &p->said[i];
	return &nothing;
}

static struct stay *proven_stay(const struct proven *p, uint64_t lease)
{
	for (size_t i = 0; i < p->stay_count; i++)
		if (p->stays[i].lease == lease)
			return &p->stays[i];
	return NULL;
}

static bool proven_any(const struct proven *p, uint64_t order)
{
	for (size_t i = p->wish_count; i-- > 0;)
		if (p->wishes[i].order == order)
			return p->wishes[i].any;
	return false;
}

static bool proven_asks(const struct proven *p, uint64_t sku)
{
	for (size_t i = 0; i < p->askings; i++)
		if (p->asking[i] == sku)
			return true;
	return false;
}

/* ---- What happened ---------------------------------------------------------------------- */

static void proven_type(struct proven *p, uint64_t sku, bool asks)
{
	size_t i = 0;

	while (i < p->askings && p->asking[i] != sku)
		i++;
	if (!asks && i < p->askings)
		p->asking[i] = p->asking[--p->askings];
	else if (asks && i == p->askings && i < sizeof p->asking / sizeof *p->asking)
		p->asking[p->askings++] = sku;
}

static void proven_word(struct proven *p, const struct event *ev)
{
	size_t i = 0;

	while (i < p->saids && p->said[i].host != ev->subject)
		i++;
	if (i == p->saids) {
		p->said = reallocarray(p->said, ++p->saids, sizeof *p->said);
		if (!p->said)
			abort();
	}
	p->said[i] = (struct said){ ev->subject, ev->u.host_verified.result != PROOF_FAILED,
		ev->u.host_verified.result == PROOF_PASSED, ev->u.host_verified.until };
}

static void proven_wish(struct proven *p, const struct order *o)
{
	if (o->side != SIDE_BUY)
		return;
	p->wishes = proven_more(p->wishes, p->wish_count, &p->wish_cap, sizeof *p->wishes);
	p->wishes[p->wish_count++] = (struct wish){ o->id, o->flags & ORDER_UNVERIFIED };
}

/*
 * It goes on from: of what was bought now, the time before in that pool; else that of which it is a later part: of
 * several the last, since an order can buy again what came back to its seller, or from another seller what it sold.
 */
static const struct stay *proven_before(const struct proven *p, const struct lease *l, bool is_new)
{
	const struct stay *last = NULL;

	for (size_t i = 0; i < p->stay_count; i++) {
		const struct stay *s = &p->stays[i];

		if (s->host != l->host || s->pool != l->pool || (is_new && s->plain))
			continue;
		if (is_new ? !s->over && !s->sold_on && s->end == l->start
			   : s->order == l->order && s->sell_order == l->sell_order && s->price == l->price &&
					s->start < l->start && l->start < s->was_end)
			last = last && (is_new || s->start < last->start) ? last : s;
	}
	return last;
}

static void proven_lease(struct proven *p, const struct lease *l, bool is_new, bool over)
{
	struct stay *s = proven_stay(p, l->id);
	const struct stay *before = s || over ? NULL : proven_before(p, l, is_new);
	bool wanted = is_new ? proven_asks(p, l->sku) && !proven_any(p, l->order) : before && !before->plain;

	if (!s && !over && (is_new || before)) {
		struct stay made = { .lease = l->id,
			.order = l->order,
			.host = l->host,
			.pool = l->pool,
			.buyer = l->buyer,
			.sell_order = l->sell_order,
			.came = before ? before->came : l->start,
			.start = l->start,
			.was_end = l->end,
			.price = l->price,
			.plain = !wanted,
			.seen = before && before->seen };

		p->stays = proven_more(p->stays, p->stay_count, &p->stay_cap, sizeof *p->stays);
		s = &p->stays[p->stay_count++];
		*s = made;
	}
	if (!s)
		return;
	s->end = l->end;
	s->sold_on = l->sold_on;
	s->over = over;
}

/* Money of the buyer that goes to others for this lease. */
static void proven_money(struct proven *p, const struct posting *x)
{
	struct stay *s = x->asset == 0 ? proven_stay(p, x->subject) : NULL;

	if (s && x->owner == s->buyer && (x->book == BOOK_ESCROW || x->book == BOOK_AVAILABLE || x->book == BOOK_HELD))
		s->paid -= x->amount;
}

/* ---- What it was worth ------------------------------------------------------------------ */

static void proven_live(struct proven *p, struct stay *s, int64_t from, int64_t to)
{
	const struct said *h = proven_said(p, s->host);

	if (s->plain)
		return;
	from = from > s->came ? from : s->came;
	to = to < s->end ? to : s->end;
	for (int64_t m = from; m < to; m++) {
		s->seen = h->good && (s->seen || m < h->until);
		if (m < s->start)
			continue;
		s->lived++;
		s->shown += s->seen;
		p->free_of_charge += !s->seen;
		p->paid += s->seen;
	}
}

static const char *proven_judge(const struct proven *p, struct stay *s, bool given_back)
{
	const struct said *h = proven_said(p, s->host);

	if (s->plain || s->paid <= s->price * s->shown)
		return NULL;
	if (given_back && h->good && (s->seen || p->minute < h->until))
		return NULL; /* by the rule of giving back, of a host that was shown to be what it is */
	return "somebody pays for a minute of a host that nobody has shown to be what it is";
}

/* Money that was put by at the sale is no payment yet. */
static void proven_escrow(struct proven *p, const struct effects *did)
{
	for (size_t i = 0; i < did->count; i++)
		if (did->list[i].kind == EFFECT_LEASE)
			proven_lease(p, &did->list[i].u.lease.lease, did->list[i].u.lease.is_new,
				did->list[i].u.lease.over);
	for (size_t i = 0; i < did->count; i++)
		if (did->list[i].kind == EFFECT_POSTING)
			proven_money(p, &did->list[i].u.posting);
}

/* Had the pool the host in the minute before the lease? Where that is over, nobody remembers. */
static bool proven_stays(const struct engine *e, const struct lease *l)
{
	const struct host *h = engine_host(e, l->host);

	for (size_t i = 0; h && i < h->piece_count; i++)
		if (h->pieces[i].start < l->start && l->start <= h->pieces[i].end)
			return h->pieces[i].pool == l->pool;
	return true;
}

/* Sold just now to somebody who wants proof: there is one, or they stay where they are. */
static const char *proven_sold(const struct proven *p, const struct engine *e, const struct effects *did,
	int64_t before)
{
	for (size_t i = 0; i < did->count; i++) {
		const struct lease *l = &did->list[i].u.lease.lease;
		const struct stay *s = proven_stay(p, l->id);
		const struct said *h;

		if (did->list[i].kind != EFFECT_LEASE || !did->list[i].u.lease.is_new || !s || s->plain)
			continue;
		h = proven_said(p, l->host);
		if (h->enough && before < h->until)
			continue;
		if (h->host && !h->good)
			return "a host that failed is sold to somebody who wants proof";
		if (!proven_stays(e, l))
			return "a host that nobody has shown to be what it is is sold to somebody who wants proof";
	}
	return NULL;
}

const char *proven_look(struct proven *p, const struct engine *e, const struct event *ev, const struct effects *did)
{
	int64_t before = p->minute;
	const char *wrong = NULL;
	size_t left = 0;

	if (ev->kind == EVENT_SKU)
		proven_type(p, ev->subject ? ev->subject : effects_made(did), ev->u.sku.proof);
	for (size_t i = 0; i < did->count; i++)
		if (did->list[i].kind == EFFECT_ORDER)
			proven_wish(p, &did->list[i].u.order);
	p->minute = engine_minute(e);
	proven_escrow(p, did);
	for (size_t i = 0; i < p->stay_count; i++) {
		struct stay *s = &p->stays[i];

		proven_live(p, s, before, p->minute);
		wrong = wrong ? wrong : proven_judge(p, s, ev->kind == EVENT_RELEASE);
		if (!s->over)
			p->stays[left++] = *s;
	}
	p->stay_count = left;
	if (ev->kind == EVENT_HOST_VERIFIED) /* what was said before counts up to this minute */
		proven_word(p, ev);
	return wrong ? wrong : proven_sold(p, e, did, before);
}
