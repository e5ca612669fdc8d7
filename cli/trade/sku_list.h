/* SPDX-License-Identifier: Apache-2.0 */
/* The types of node that the market lists, and which of them a person means. */
#ifndef CLI_TRADE_SKU_LIST_H
#define CLI_TRADE_SKU_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/trade/market_link.h"

struct sku {
	char *id, *alias, *accelerator, *form_factor, *region, *zone, *rdma;
	char *share;   /* "1/4", "mig:1g.10gb": of its one GPU; NULL: it has whole ones, or none */
	unsigned gpus; /* whole ones of a node; 0: none or not known, so prices are per node */
	bool bare;     /* it certainly has no whole GPU, so a price can only be per node */
	int64_t vcpus, memory, storage, gpu_memory, overcommit; /* of a node; -1: not promised */
};

enum { SKU_CONTRACT = 256 };

struct skus {
	struct sku *list;
	size_t count;
};

/* Loads all types. 0, or an exit status after saying why. */
int skus_load(struct market_link *m, struct skus *out);
void skus_release(struct skus *s);

/*
 * By id or alias, else by accelerator, else by the beginning of either, where one type alone fits. 0, or an
 * exit status after listing the types.
 */
int skus_find(struct nanopod *np, const struct skus *s, const char *typed, const struct sku **out);

/* For commands that take several types. */
bool sku_fits(const struct sku *sku, const char *typed);

/* What the type promises of a node: "8 h100 GPUs, 208 vCPUs, 2 TiB memory"; "" if the market does not say. */
const char *sku_contract(const struct sku *sku, char room[SKU_CONTRACT]);

/* What kind of wall such a share has. */
const char *sku_share_text(const char *share);

const struct sku *skus_by_id(const struct skus *s, const char *id); /* NULL */

#endif
