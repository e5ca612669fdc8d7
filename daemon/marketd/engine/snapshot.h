/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state as bytes. One function per kind of thing both writes and reads it, so the two cannot
 * differ. Indexes are left out: they follow from the data.
 */
#ifndef MARKETD_ENGINE_SNAPSHOT_H
#define MARKETD_ENGINE_SNAPSHOT_H

#include <errno.h>

#include "marketd/engine/live/world.h"

struct codec {
	struct buf *out;           /* writing; NULL: reading */
	const uint8_t *at, *end;
	int rc;                    /* of writing: -ENOMEM, -EFBIG; of reading: -EINVAL */
	int form; /* being read or written; an earlier form lacks what a later one added */
};

/*
 * "NPM" and the form: 1, 2 with agents, 3 with the rules' edition, 4 with draining hosts, 5 with proofs, 6 with when a
 * node ended, 7 with prices that changed, 8 with floors of hosts, 9 with
 * announcements, 10 with grants and facts, 11 with
 * people, 12 with payments, 13 with caps, 14 with volumes, 15 with plans, 16 with payouts. Reading takes every form.
 */
enum { SNAPSHOT_MAGIC = 0x4e504d30, SNAPSHOT_FORM = 17 };
enum { SNAPSHOT_SUM = 8 }; /* bytes of the checksum at the end */

void codec_num(struct codec *c, int64_t *value);
void codec_text(struct codec *c, char **text, size_t max); /* the caller owns what is read; NULL stays NULL */
void codec_count(struct codec *c, size_t *count, size_t least); /* of things of at least that many bytes */
uint64_t codec_sum(const void *bytes, size_t len);

/* A member of any integer type; what does not fit its type is refused. */
#define codec_field(c, member) do { \
	int64_t value_ = (int64_t)(member); \
	codec_num((c), &value_); \
	(member) = (__typeof__(member))value_; \
	if ((int64_t)(member) != value_) \
		(c)->rc = -EINVAL; \
} while (0)

struct heads { size_t count[KINDS]; };

void codec_engine(struct codec *c, struct engine *e, struct heads *h);
void codec_account(struct codec *c, struct account *a);
void codec_token(struct codec *c, struct token *t);
void codec_sku(struct codec *c, struct sku *s, int64_t *used);
void codec_pool(struct codec *c, struct pool *p);
void codec_stock(struct codec *c, struct stock *s);
void codec_host(struct codec *c, struct host *h);
void codec_piece(struct codec *c, struct piece *p);
void codec_order(struct codec *c, struct order *o);
void codec_span(struct codec *c, struct span *s);
void codec_lease(struct codec *c, struct lease *l);
void codec_instance(struct codec *c, struct instance *x);
void codec_procurement(struct codec *c, struct procurement *p);
void codec_announcement(struct codec *c, struct announcement *x);
void codec_grant(struct codec *c, struct grant *g);
void codec_person(struct codec *c, struct person *x);
void codec_invitation(struct codec *c, struct invitation *i);
void codec_payment(struct codec *c, struct payment *p);
void codec_volume(struct codec *c, struct volume *v);
void codec_payout(struct codec *c, struct payout *p);
void codec_agent(struct codec *c, struct agent *a);
void codec_tariff(struct codec *c, struct tariff *t);
void codec_subscription(struct codec *c, struct subscription *s);

#endif
