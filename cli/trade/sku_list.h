/* SPDX-License-Identifier: Apache-2.0 */
/* The types of node that the market knows, and which of them a person means. */
#ifndef CLI_TRADE_SKU_LIST_H
#define CLI_TRADE_SKU_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/trade/market_link.h"

struct sku {
	char *id, *alias, *accelerator, *form_factor, *region, *zone, *rdma;
	unsigned gpus; /* of a node; 0: none, or not told, and prices are per node */
	bool bare;     /* none, and that is told: nobody can mean another price */
};

struct skus {
	struct sku *list;
	size_t count;
};

/* All of them. 0, or an exit status and it was said why. */
int skus_load(struct market_link *m, struct skus *out);
void skus_release(struct skus *s);

/*
 * By id or alias, else by the beginning of an alias, an accelerator's name or its beginning, where only one
 * fits. 0, or an exit status and it was said which there are.
 */
int skus_find(struct nanopod *np, const struct skus *s, const char *typed, const struct sku **out);

/* Does this one fit what was typed? For those who take several. */
bool sku_fits(const struct sku *sku, const char *typed);

const struct sku *skus_by_id(const struct skus *s, const char *id); /* NULL */

#endif
