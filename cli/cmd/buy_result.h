/* SPDX-License-Identifier: Apache-2.0 */
/* What a purchase came to, on standard output, and on standard error what to type next. */
#ifndef CLI_CMD_BUY_RESULT_H
#define CLI_CMD_BUY_RESULT_H

#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/frame/rows.h"
#include "cli/trade/sku_list.h"

extern const struct column buy_result_columns[];

/* gpus: of the unit of prices. Returns status, or what went wrong in printing. */
int buy_result_print(struct nanopod *np, const struct options *o, const struct purchase *p, const struct sku *sku,
	unsigned gpus, int status);

/* Until its nodes run, where they are about to. 0, or an exit status and it was said why. */
int buy_result_wait(struct purchase *p, int64_t wait_ms, int64_t now);

/* What would be bought; a dry run. */
int buy_result_print_quote(struct nanopod *np, const struct options *o, const struct quote *q, const struct sku *sku,
	unsigned gpus);

#endif
