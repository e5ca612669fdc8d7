/* SPDX-License-Identifier: Apache-2.0 */
/* What restore.c asks, and the things of a market that are money alone. */
#include "marketd/engine/restore.h"

#include <errno.h>
#include <stdlib.h>

#include "marketd/engine/money/payout.h"
#include "marketd/engine/money/tariff.h"
#include "marketd/engine/money/volume.h"

bool restore_id_fits(struct reader *r, uint64_t id)
{
	if (r->c.rc || id <= r->last || id >= r->e->next_id || idmap_get(&r->seen, id))
		return false;
	idmap_add(&r->seen, id, r);
	r->last = id;
	return true;
}

bool restore_bad(struct reader *r)
{
	r->c.rc = -EINVAL;
	return false;
}

bool restore_read_payment(struct reader *r)
{
	struct payment *p = must_zalloc(sizeof *p);
	bool fits;

	codec_payment(&r->c, p);
	fits = !r->c.rc && restore_id_fits(r, p->id) && p->reference && *p->reference &&
		(!p->account || world_account(r->e, p->account)) && !world_named(r->e, PAYMENTS, 0, p->reference);
	for (size_t i = 0; i < p->part_count; i++)
		fits = fits && p->parts[i].reference && *p->parts[i].reference && p->parts[i].step >= 1 &&
			p->parts[i].step <= PAYMENT_MAX && p->parts[i].micros >= -PAYMENT_MAX &&
			p->parts[i].micros <= PAYMENT_MAX;
	if (!fits) {
		payment_free(p);
		return restore_bad(r);
	}
	world_add(r->e, PAYMENTS, p->id, p->account, p);
	world_name(r->e, PAYMENTS, 0, p->reference, p);
	return true;
}

bool restore_read_volume(struct reader *r)
{
	struct volume v = { 0 };
	bool fits;

	codec_volume(&r->c, &v);
	fits = !r->c.rc && restore_id_fits(r, v.id) && volume_restore(r->e, &v);
	free(v.name);
	return fits || restore_bad(r);
}

bool restore_read_tariff(struct reader *r)
{
	struct tariff *t = must_zalloc(sizeof *t);

	codec_tariff(&r->c, t);
	if (!restore_id_fits(r, t->id) || !tariff_fits(r->e, t)) {
		free(t->name);
		free(t);
		return restore_bad(r);
	}
	tariff_add(r->e, t);
	return true;
}

bool restore_read_subscription(struct reader *r)
{
	struct subscription *s = must_zalloc(sizeof *s);

	codec_subscription(&r->c, s);
	if (!restore_id_fits(r, s->id) || !subscription_fits(r->e, s)) {
		free(s);
		return restore_bad(r);
	}
	world_add(r->e, SUBSCRIPTIONS, s->id, s->account, s);
	return true;
}

bool restore_read_payout(struct reader *r)
{
	struct payout *p = must_zalloc(sizeof *p);

	codec_payout(&r->c, p);
	if (r->c.rc || !restore_id_fits(r, p->id) || !world_account(r->e, p->account) || p->state > PAYOUT_CANCELLED ||
		p->micros < 1 || p->micros > MONEY_MAX - world_account(r->e, p->account)->pub.asked.micros ||
		p->back < 0 || p->back > p->micros || (p->state >= PAYOUT_FAILED) != (p->back == p->micros) ||
		(p->state == PAYOUT_ASKED && p->back)) {
		free(p->reference);
		free(p->why);
		free(p);
		return restore_bad(r);
	}
	payout_add(r->e, p);
	return true;
}
