/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a purchase, on standard output, and on standard error what to type next. */
#ifndef CLI_CMD_BUY_BUY_RESULT_H
#define CLI_CMD_BUY_BUY_RESULT_H

#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/frame/rows.h"
#include "cli/trade/sku_list.h"

extern const struct column buy_result_columns[];

/* gpus: as order_args_gpus(). now: of the market. Returns status, or the exit status of a failure to print. */
int buy_result_print(struct nanopod *np, const struct options *o, const struct purchase *p, const struct sku *sku,
	unsigned gpus, int64_t now, int status);

/* Waits until its nodes run, unless they start later than that. 0, or an exit status after saying why. */
int buy_result_wait(struct purchase *p, int64_t wait_ms, int64_t now);

/* The same for a reservation that was there before. */
int buy_result_wait_have(struct market_link *m, const struct reservation *r, int64_t wait_ms, int64_t now);

/* Its row. */
int buy_result_print_have(struct nanopod *np, const struct options *o, const struct reservation *r,
	const struct sku *sku, int64_t now);

/* The row of a dry run; name: of its reservation, NULL: not known yet. Nothing where only names are printed. */
int buy_result_print_quote(struct nanopod *np, const struct options *o, const char *name, const struct quote *q,
	const struct sku *sku, unsigned gpus);

#endif
