/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod buy` is about to do, and how it says so before it does it. */
#ifndef CLI_TRADE_BUYING_H
#define CLI_TRADE_BUYING_H

#include "cli/trade/market_link.h"
#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/wish.h"

struct buying {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct wish wish;
	struct skus skus;
	const struct sku *sku;
	struct quote quote;
	struct purchase purchase;
	struct reservation into;    /* id NULL: none */
	struct buf match, command, hint;
	char *userdata;
	size_t keys;
	bool ours, explain;
	int64_t available;          /* before it; MODEL_NONE: not told */
	int64_t price;              /* of the quote that was shown */
	char name[256];
};

const char *buying_type(const struct buying *b);
struct model_order_new buying_order(const struct buying *b);

/* The worst that it can cost: what rests in the book is held at the limit. 0, or -ERANGE. */
int buying_worst(const struct buying *b, int64_t *worst);

/* Against --max-total and spend-max. 0, or an exit status and it was said why. */
int buying_check_money(struct buying *b);

void buying_show(struct buying *b);
void buying_show_resumed(struct buying *b); /* of what an earlier command began: what is known without asking */

#endif
