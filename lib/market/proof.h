/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a statement against itself: computes each posting's link of the hash chain again from its text,
 * and each balance from the one before, as the market does when it writes (daemon/marketd/store/chain.h
 * has the text that is hashed). A match by chance is not possible.
 */
#ifndef MARKET_PROOF_H
#define MARKET_PROOF_H

#include "base/fail.h"
#include "base/table.h"
#include "market/model.h"

struct proof {
	uint8_t chain[MODEL_CHAIN]; /* after the last posting; zeros before the first */
	uint64_t count;             /* postings that matched */
	uint64_t seq, n;            /* of the last one */
	struct table balances;      /* "owner book asset" -> int64_t * */
};

void proof_init(struct proof *p);
void proof_release(struct proof *p);

/* 0, or -EBADMSG with a sentence that names the row and what is wrong with it; -ENOMEM. */
int proof_add(struct proof *p, const struct model_posting *row, struct fail *f);

/* "seq-n chain-in-hex": what is kept to prove later that nothing before it was changed. */
enum { PROOF_TEXT = 128 };
const char *proof_head(const struct proof *p, char room[PROOF_TEXT]);
/* 0, or -EINVAL where it is none. */
int proof_parse_head(const char *text, uint64_t *seq, uint64_t *n, uint8_t chain[MODEL_CHAIN]);

#endif
