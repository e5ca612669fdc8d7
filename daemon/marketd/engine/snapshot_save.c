/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a state down, in the order in which restore.c reads it. */
#include "marketd/engine/engine.h"
#include "marketd/engine/live/calendar.h"
#include "marketd/engine/snapshot.h"

static void save_pools(struct codec *c, const struct engine *e)
{
	struct live_pool *p;

	for (size_t at = 0; (p = rank_next(&e->all[POOLS], &at));) {
		size_t count = 0;

		codec_pool(c, &p->pub);
		for (size_t i = 0; i < p->stock_count; i++)
			count += p->stocks[i].capacity || p->stocks[i].issued;
		codec_count(c, &count, 3);
		for (size_t i = 0; i < p->stock_count; i++)
			if (p->stocks[i].capacity || p->stocks[i].issued)
				codec_stock(c, &p->stocks[i]);
	}
}

static void save_orders(struct codec *c, const struct engine *e)
{
	struct live_order *o;

	for (size_t at = 0; (o = rank_next(&e->all[ORDERS], &at));) {
		codec_order(c, &o->pub);
		codec_count(c, &o->pub.rest_count, 3);
		for (size_t i = 0; i < o->pub.rest_count; i++)
			codec_span(c, &o->spans[i]);
		codec_count(c, &o->host_count, 1);
		for (size_t i = 0; i < o->host_count; i++)
			codec_field(c, o->hosts[i]);
	}
}

/* The past is left out, so that the bytes do not depend on when the engine forgot it. */
static void save_pieces(struct codec *c, const struct engine *e)
{
	struct live_host *h;

	for (size_t at = 0; (h = rank_next(&e->all[HOSTS], &at));) {
		size_t first = calendar_find(h, e->minute), count = h->pub.piece_count - first;

		codec_count(c, &count, 5);
		for (size_t i = first; i < h->pub.piece_count; i++) {
			struct piece p = h->pub.pieces[i];

			p.start = p.start > e->minute ? p.start : e->minute;
			codec_piece(c, &p);
		}
	}
}

int engine_save(const struct engine *e, struct buf *out)
{
	struct codec c = { .out = out };
	struct engine head = *e;
	struct heads h;
	size_t start = out->len, at;
	uint64_t sum;
	char bytes[SNAPSHOT_SUM];
	void *x;

	for (int k = 0; k < KINDS; k++)
		h.count[k] = rank_live(&e->all[k]);
	codec_engine(&c, &head, &h);
	for (at = 0; (x = rank_next(&e->all[ACCOUNTS], &at));)
		codec_account(&c, x);
	for (at = 0; (x = rank_next(&e->all[TOKENS], &at));)
		codec_token(&c, x);
	for (at = 0; (x = rank_next(&e->all[SKUS], &at));)
		codec_sku(&c, x, &((struct live_sku *)x)->used);
	save_pools(&c, e);
	for (at = 0; (x = rank_next(&e->all[AGENTS], &at));)
		codec_agent(&c, x);
	for (at = 0; (x = rank_next(&e->all[GRANTS], &at));)
		codec_grant(&c, x);
	for (at = 0; (x = rank_next(&e->all[HOSTS], &at));)
		codec_host(&c, x);
	for (at = 0; (x = rank_next(&e->all[LEASES], &at));)
		codec_lease(&c, x);
	save_orders(&c, e);
	save_pieces(&c, e);
	for (at = 0; (x = rank_next(&e->all[INSTANCES], &at));)
		codec_instance(&c, x);
	for (at = 0; (x = rank_next(&e->all[PROCUREMENTS], &at));)
		codec_procurement(&c, x);
	for (at = 0; (x = rank_next(&e->all[ANNOUNCEMENTS], &at));)
		codec_announcement(&c, x);
	for (at = 0; (x = rank_next(&e->all[PEOPLE], &at));)
		codec_person(&c, x);
	for (at = 0; (x = rank_next(&e->all[INVITATIONS], &at));)
		codec_invitation(&c, x);
	for (at = 0; (x = rank_next(&e->all[PAYMENTS], &at));)
		codec_payment(&c, x);
	for (at = 0; (x = rank_next(&e->all[VOLUMES], &at));)
		codec_volume(&c, x);
	for (at = 0; (x = rank_next(&e->all[TARIFFS], &at));)
		codec_tariff(&c, x);
	for (at = 0; (x = rank_next(&e->all[SUBSCRIPTIONS], &at));)
		codec_subscription(&c, x);
	for (at = 0; (x = rank_next(&e->all[PAYOUTS], &at));)
		codec_payout(&c, x);
	if (c.rc)
		return c.rc;
	sum = codec_sum(out->data + start, out->len - start);
	for (int i = 0; i < SNAPSHOT_SUM; i++)
		bytes[i] = (char)(sum >> 8 * i);
	return buf_add(out, bytes, sizeof bytes);
}
