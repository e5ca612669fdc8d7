/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/snapshot.h"

#include "base/hash.h"
#include "marketd/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers are written in groups of seven bits, the sign first, so that small ones are short. */
void codec_num(struct codec *c, int64_t *value)
{
	uint64_t u = ((uint64_t)*value << 1) ^ (*value < 0 ? UINT64_MAX : 0);
	char room[10];
	size_t n = 0;

	if (c->rc)
		return;
	if (c->out) {
		for (; u > 127; u >>= 7)
			room[n++] = (char)(u | 128);
		room[n++] = (char)u;
		c->rc = buf_add(c->out, room, n);
		return;
	}
	u = 0;
	for (int shift = 0;; shift += 7) {
		uint64_t byte = c->at < c->end ? *c->at++ : 255;

		if (shift > 63 || (shift == 63 && byte > 1)) {
			c->rc = -EINVAL;
			return;
		}
		u |= (byte & 127) << shift;
		if (byte < 128)
			break;
	}
	*value = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
}

void codec_text(struct codec *c, char **text, size_t max)
{
	int64_t size = c->out && *text ? (int64_t)strlen(*text) + 1 : 0;

	codec_num(c, &size);
	if (c->rc)
		return;
	if (c->out) {
		if (size)
			c->rc = buf_add(c->out, *text, (size_t)size - 1);
		return;
	}
	if (size < 0 || size - 1 > (int64_t)max || size - 1 > c->end - c->at ||
		(size && memchr(c->at, 0, (size_t)size - 1))) {
		c->rc = -EINVAL;
		return;
	}
	if (!size)
		return;
	*text = must_zalloc((size_t)size);
	memcpy(*text, c->at, (size_t)size - 1);
	c->at += size - 1;
}

void codec_count(struct codec *c, size_t *count, size_t least)
{
	int64_t n = (int64_t)*count;

	codec_num(c, &n);
	if (!c->out && (c->rc || n < 0 || n > (c->end - c->at) / (int64_t)least)) {
		c->rc = -EINVAL;
		n = 0;
	}
	*count = (size_t)n;
}

uint64_t codec_sum(const void *bytes, size_t len)
{
	return hash_more(HASH_BEGIN, bytes, len);
}

/* How many kinds of things an earlier form knows. */
static int snapshot_kinds(int form)
{
	static const struct {
		int form, kinds; /* before that form */
	} rows[] = { { 2, AGENTS }, { 9, ANNOUNCEMENTS }, { 10, GRANTS }, { 11, PEOPLE }, { 12, PAYMENTS },
		{ 14, VOLUMES }, { 15, TARIFFS }, { 16, PAYOUTS } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (form < rows[i].form)
			return rows[i].kinds;
	return KINDS;
}

void codec_engine(struct codec *c, struct engine *e, struct heads *h)
{
	int64_t magic = SNAPSHOT_MAGIC + SNAPSHOT_FORM;
	int kinds;

	codec_num(c, &magic);
	if (magic <= SNAPSHOT_MAGIC || magic > SNAPSHOT_MAGIC + SNAPSHOT_FORM) {
		c->rc = -EINVAL;
		return;
	}
	c->form = (int)(magic - SNAPSHOT_MAGIC);
	kinds = snapshot_kinds(c->form);
	codec_field(c, e->minute);
	codec_field(c, e->at);
	codec_field(c, e->count);
	codec_field(c, e->next_id);
	codec_field(c, e->next_transfer);
	codec_field(c, e->policy.fee_bps);
	codec_field(c, e->policy.release_bps);
	codec_field(c, e->policy.settle_minutes);
	codec_field(c, e->policy.notice_minutes);
	codec_field(c, e->issued);
	codec_field(c, e->fees);
	if (c->form >= 3)
		codec_field(c, e->rules);
	if (c->form >= 4)
		codec_field(c, e->policy.drain_notice_minutes);
	if (c->form >= 14)
		codec_field(c, e->policy.volume_grace_minutes);
	if (c->form >= 16)
		codec_field(c, e->paid);
	for (int k = 0; k < kinds; k++)
		codec_count(c, &h->count[k], 1);
}

static void codec_income(struct codec *c, struct income *in)
{
	codec_field(c, in->earned);
	codec_field(c, in->paid);
	codec_count(c, &in->count, 2);
	if (!c->out && in->count) {
		in->cap = in->count;
		in->hours = must_zalloc(in->count * sizeof *in->hours);
	}
	for (size_t i = 0; i < in->count; i++) {
		codec_field(c, in->hours[i].hour);
		codec_field(c, in->hours[i].micros);
	}
}

static void codec_debt(struct codec *c, struct debt *d)
{
	codec_field(c, d->owes);
	codec_field(c, d->since);
	codec_field(c, d->stepped);
	codec_field(c, d->step);
	codec_field(c, d->reopened);
}

void codec_account(struct codec *c, struct account *a)
{
	codec_field(c, a->id);
	codec_field(c, a->beneficiary);
	codec_text(c, &a->name, NAME_BYTES);
	codec_field(c, a->state);
	codec_field(c, a->created_at);
	codec_field(c, a->floor);
	codec_field(c, a->available);
	codec_field(c, a->held);
	codec_field(c, a->escrow);
	if (c->form >= 10)
		codec_text(c, &a->facts, FACTS_BYTES);
	if (c->form >= 16)
		codec_income(c, &a->income);
	if (c->form >= 17)
		codec_debt(c, &a->debt);
}

static void codec_spending(struct codec *c, struct spending *s)
{
	if (c->form < 13)
		return;
	codec_field(c, s->capped);
	codec_field(c, s->cap);
	codec_field(c, s->month);
	codec_field(c, s->spent);
}

void codec_token(struct codec *c, struct token *t)
{
	codec_field(c, t->id);
	codec_field(c, t->account);
	codec_text(c, &t->name, NAME_BYTES);
	for (int i = 0; i < TOKEN_HASH; i++)
		codec_field(c, t->hash[i]);
	codec_field(c, t->scopes);
	codec_field(c, t->created_at);
	codec_field(c, t->expires);
	codec_field(c, t->revoked);
	if (c->form >= 11)
		codec_field(c, t->person);
	codec_spending(c, &t->spending);
}

void codec_sku(struct codec *c, struct sku *s, int64_t *used)
{
	codec_field(c, s->id);
	codec_text(c, &s->alias, NAME_BYTES);
	codec_text(c, &s->properties, TEXT_BYTES);
	codec_field(c, s->gpus);
	codec_field(c, s->created_at);
	codec_field(c, *used);
	if (c->form >= 5)
		codec_field(c, s->proof);
}

void codec_pool(struct codec *c, struct pool *p)
{
	codec_field(c, p->id);
	codec_field(c, p->account);
	codec_field(c, p->kind);
	codec_text(c, &p->name, NAME_BYTES);
	codec_text(c, &p->tags, TEXT_BYTES);
	codec_field(c, p->created_at);
	codec_field(c, p->deleted);
}

void codec_stock(struct codec *c, struct stock *s)
{
	codec_field(c, s->sku);
	codec_field(c, s->capacity);
	codec_field(c, s->issued);
}

void codec_host(struct codec *c, struct host *h)
{
	codec_field(c, h->id);
	codec_field(c, h->account);
	codec_field(c, h->sku);
	codec_field(c, h->pool);
	codec_text(c, &h->name, NAME_BYTES);
	codec_field(c, h->start);
	codec_field(c, h->end);
	codec_field(c, h->down);
	codec_field(c, h->retired);
	codec_field(c, h->created_at);
	if (c->form < 2)
		return;
	codec_field(c, h->agent);
	codec_field(c, h->watched);
	if (c->form < 4)
		return;
	codec_text(c, &h->why, WHY_BYTES);
	codec_field(c, h->down_at);
	codec_field(c, h->drain);
	codec_field(c, h->drain_ends);
	codec_text(c, &h->drain_why, WHY_BYTES);
	if (c->form < 5)
		return;
	codec_field(c, h->proof);
	codec_field(c, h->proof_until);
	codec_field(c, h->proof_at);
	codec_text(c, &h->proof_why, WHY_BYTES);
	codec_text(c, &h->claims, TEXT_BYTES);
	if (c->form < 8)
		return;
	codec_field(c, h->floor);
}

void codec_piece(struct codec *c, struct piece *p)
{
	codec_field(c, p->start);
	codec_field(c, p->end);
	codec_field(c, p->pool);
	codec_field(c, p->lease);
	codec_field(c, p->order);
	if (c->form >= 4)
		codec_field(c, p->taken);
}

void codec_order(struct codec *c, struct order *o)
{
	codec_field(c, o->id);
	codec_field(c, o->account);
	codec_field(c, o->token);
	codec_field(c, o->pool);
	codec_field(c, o->sku);
	codec_field(c, o->host);
	codec_field(c, o->procurement);
	codec_field(c, o->side);
	codec_field(c, o->flags);
	codec_field(c, o->nodes);
	codec_field(c, o->start);
	codec_field(c, o->end);
	codec_field(c, o->price);
	codec_field(c, o->max_total);
	codec_field(c, o->created_at);
	codec_field(c, o->status);
	codec_field(c, o->hold);
	codec_field(c, o->filled_minutes);
	codec_field(c, o->filled_cost);
	if (c->form >= 13)
		codec_field(c, o->month);
	if (o->side != SIDE_SELL)
		return;
	if (c->form < 7)
		o->place = o->id;
	else
		codec_field(c, o->place);
}

void codec_span(struct codec *c, struct span *s)
{
	codec_field(c, s->start);
	codec_field(c, s->end);
	codec_field(c, s->nodes);
}

void codec_lease(struct codec *c, struct lease *l)
{
	codec_field(c, l->id);
	codec_field(c, l->order);
	codec_field(c, l->sell_order);
	codec_field(c, l->host);
	codec_field(c, l->sku);
	codec_field(c, l->parent);
	codec_field(c, l->buyer);
	codec_field(c, l->seller);
	codec_field(c, l->pool);
	codec_field(c, l->start);
	codec_field(c, l->end);
	codec_field(c, l->price);
	codec_field(c, l->paid_end);
	codec_field(c, l->settled);
	codec_field(c, l->interruptible);
	codec_field(c, l->sold_on);
	codec_field(c, l->filled_at);
	if (c->form < 5)
		return;
	codec_field(c, l->proof);
	codec_field(c, l->since);
	if (c->form < 10)
		return;
	codec_field(c, l->grant);
	codec_field(c, l->granted);
	if (c->form < 13)
		return;
	codec_field(c, l->token);
	codec_field(c, l->month);
}

void codec_instance(struct codec *c, struct instance *x)
{
	codec_field(c, x->id);
	codec_field(c, x->account);
	codec_field(c, x->pool);
	codec_field(c, x->sku);
	codec_field(c, x->image);
	codec_field(c, x->host);
	codec_text(c, &x->name, NAME_BYTES);
	codec_text(c, &x->tags, TEXT_BYTES);
	codec_text(c, &x->user_data, TEXT_BYTES);
	codec_text(c, &x->detail, TEXT_BYTES);
	codec_field(c, x->priority);
	codec_field(c, x->status);
	codec_field(c, x->created_at);
	codec_field(c, x->updated_at);
	if (c->form < 2)
		return;
	codec_field(c, x->placed_at);
	codec_field(c, x->had);
	if (c->form < 6)
		return;
	codec_field(c, x->ended_at);
}

void codec_procurement(struct codec *c, struct procurement *p)
{
	codec_field(c, p->id);
	codec_field(c, p->account);
	codec_field(c, p->pool);
	codec_field(c, p->sku);
	codec_text(c, &p->name, NAME_BYTES);
	codec_field(c, p->target);
	codec_field(c, p->window);
	codec_field(c, p->min_sell);
	codec_field(c, p->max_buy);
	codec_field(c, p->enabled);
	codec_field(c, p->reason);
	codec_field(c, p->created_at);
	codec_field(c, p->updated_at);
	if (c->form >= 13)
		codec_field(c, p->token);
}

void codec_agent(struct codec *c, struct agent *a)
{
	codec_field(c, a->id);
	codec_field(c, a->account);
	codec_text(c, &a->name, NAME_BYTES);
	codec_text(c, &a->public_key, PUBLIC_KEY_TEXT);
	codec_text(c, &a->machine, NAME_BYTES);
	codec_text(c, &a->inventory, TEXT_BYTES);
	codec_field(c, a->generation);
	for (int i = 0; i < TOKEN_HASH; i++)
		codec_field(c, a->session[i]);
	codec_field(c, a->created_at);
	codec_field(c, a->retired);
	if (c->form < 14)
		return;
	codec_field(c, a->volume_gib);
	codec_field(c, a->volume_price);
}

void codec_announcement(struct codec *c, struct announcement *x)
{
	codec_field(c, x->id);
	codec_field(c, x->account);
	codec_field(c, x->severity);
	codec_field(c, x->from);
	codec_field(c, x->until);
	codec_text(c, &x->text, ANNOUNCEMENT_BYTES);
	codec_field(c, x->created_at);
}

void codec_grant(struct codec *c, struct grant *g)
{
	codec_field(c, g->id);
	codec_field(c, g->account);
	codec_field(c, g->sponsor);
	codec_text(c, &g->name, NAME_BYTES);
	codec_field(c, g->max);
	codec_field(c, g->spent);
	codec_field(c, g->until);
	codec_field(c, g->created_at);
	codec_field(c, g->ended);
	if (c->form < 15)
		return;
	codec_field(c, g->plan);
	codec_field(c, g->units);
}

void codec_person(struct codec *c, struct person *x)
{
	codec_field(c, x->id);
	codec_field(c, x->account);
	codec_text(c, &x->identity, NAME_BYTES);
	codec_text(c, &x->name, NAME_BYTES);
	codec_text(c, &x->email, NAME_BYTES);
	codec_field(c, x->roles);
	codec_field(c, x->created_at);
	codec_spending(c, &x->spending);
}

void codec_invitation(struct codec *c, struct invitation *i)
{
	codec_field(c, i->id);
	codec_field(c, i->account);
	codec_field(c, i->maker);
	codec_text(c, &i->name, NAME_BYTES);
	for (int k = 0; k < TOKEN_HASH; k++)
		codec_field(c, i->hash[k]);
	codec_field(c, i->roles);
	codec_field(c, i->created_at);
	codec_field(c, i->expires);
}

void codec_payment(struct codec *c, struct payment *p)
{
	codec_field(c, p->id);
	codec_field(c, p->account);
	codec_text(c, &p->reference, NAME_BYTES);
	codec_field(c, p->created_at);
	codec_count(c, &p->part_count, 3);
	if (p->part_count > PAYMENT_PARTS) {
		c->rc = -EINVAL;
		p->part_count = 0;
	}
	for (size_t i = 0; i < p->part_count; i++) {
		codec_text(c, &p->parts[i].reference, NAME_BYTES);
		codec_field(c, p->parts[i].step);
		codec_field(c, p->parts[i].micros);
	}
}

void codec_volume(struct codec *c, struct volume *v)
{
	codec_field(c, v->id);
	codec_field(c, v->account);
	codec_field(c, v->agent);
	codec_text(c, &v->name, NAME_BYTES);
	codec_field(c, v->gib);
	codec_field(c, v->price);
	codec_field(c, v->state);
	codec_field(c, v->paid_until);
	codec_field(c, v->until);
	codec_field(c, v->created_at);
}

void codec_payout(struct codec *c, struct payout *p)
{
	codec_field(c, p->id);
	codec_field(c, p->account);
	codec_field(c, p->state);
	codec_field(c, p->micros);
	codec_field(c, p->back);
	codec_text(c, &p->reference, NAME_BYTES);
	codec_text(c, &p->why, WHY_BYTES);
	codec_field(c, p->created_at);
	codec_field(c, p->updated_at);
}

void codec_tariff(struct codec *c, struct tariff *t)
{
	codec_field(c, t->id);
	codec_field(c, t->account);
	codec_text(c, &t->name, NAME_BYTES);
	codec_field(c, t->sku);
	codec_field(c, t->fee);
	codec_field(c, t->included);
	codec_field(c, t->rates);
	codec_field(c, t->state);
	codec_field(c, t->created_at);
}

void codec_subscription(struct codec *c, struct subscription *s)
{
	codec_field(c, s->id);
	codec_field(c, s->account);
	codec_field(c, s->plan);
	codec_field(c, s->next);
	codec_field(c, s->next_fee);
	codec_field(c, s->grant);
	codec_field(c, s->fee);
	codec_field(c, s->included);
	codec_field(c, s->rates);
	codec_field(c, s->created_at);
}
