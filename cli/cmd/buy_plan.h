/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod buy` will do, and the plan that shows it first. */
#ifndef CLI_CMD_BUY_PLAN_H
#define CLI_CMD_BUY_PLAN_H

#include "cli/trade/deal.h"

struct buy {
	struct deal d;
	struct deal_order order;
	struct buf hint;
	char *userdata; /* who may log in to the nodes, for cloud-init */
	size_t keys;
	struct buf key_files; /* "~/.ssh/id_ed25519.pub, work.pub" */
};

const char *buy_type(const struct buy *b);

/* The order as the market is sent it. */
struct model_order_new buy_order(const struct buy *b);

/* Against --max-total and spend-max. 0, or an exit status after saying why. */
int buy_check_money(struct buy *b);

void buy_show_plan(struct buy *b);
void buy_show_resumed(struct buy *b); /* of what an earlier command began: what is known without asking the market */

#endif
