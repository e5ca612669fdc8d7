/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a new reservation: one that commands cannot take for something else. */
#ifndef CLI_CMD_BUY_BUY_NAME_H
#define CLI_CMD_BUY_BUY_NAME_H

#include "cli/trade/market_link.h"
#include "cli/trade/purchase.h"

/* What its text tells. 0, or -EINVAL with a sentence. */
int buy_name_check(const char *name, struct fail *f);

/* 0, or an exit status after saying that a node of the account, pending or running, has the name. */
int buy_name_free(struct market_link *m, const char *name);

/* The name that was typed, or "r-" and six characters of the random id of the purchase. */
void buy_name_choose(const char *typed, const struct purchase *p, char *room, size_t size);

#endif
