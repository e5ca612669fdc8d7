/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store would know, kept from the effects of events alone: the ledger added up from its
 * postings, and the last row of each order and lease that is not over. It must be what the engine has.
 */
#ifndef TESTS_SIM_SHADOW_H
#define TESTS_SIM_SHADOW_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/engine/effect.h"
#include "marketd/engine/engine.h"

struct shadow_book {
	uint64_t owner, asset;
	enum book book;
	int64_t balance;
};

struct shadow {
	struct shadow_book *list;
	size_t count;
	uint64_t transfer;         /* the last one */
	struct order *orders;      /* with spans of their own */
	size_t order_count;
	struct lease *leases;
	size_t lease_count;
};

void shadow_release(struct shadow *s);

/* 0, or -EINVAL with a sentence. */
int shadow_take(struct shadow *s, const struct effects *did, struct fail *why);
int shadow_posting(struct shadow *s, const struct posting *p, struct fail *why); /* one, sums unseen */
int shadow_compare(const struct shadow *s, const struct engine *e, struct fail *why);

/* The orders that are closed in these effects, as reference_closed() tells them. */
void shadow_closed(const struct effects *did, struct buf *out);

#endif
