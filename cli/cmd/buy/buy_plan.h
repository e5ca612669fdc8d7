/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod buy` will do, and the plan that shows it first. */
#ifndef CLI_CMD_BUY_BUY_PLAN_H
#define CLI_CMD_BUY_BUY_PLAN_H

#include "cli/provision/model/cluster.h"
#include "cli/trade/deal.h"

struct buy {
	struct deal d;
	struct deal_order order;
	struct buf hint;
	char *userdata; /* who may log in to the nodes, for cloud-init */
	size_t keys;
	struct buf key_files; /* "~/.ssh/id_ed25519.pub, work.pub" */
	struct cluster *cluster; /* of --stack; NULL */
	bool cluster_kept;       /* this machine keeps a file of it */
	bool installed;
};

enum { BUY_STOP = -1 }; /* the command has done what it was asked, with status 0 */

/* What was typed, without asking the market. 0, BUY_STOP, or an exit status after saying why. */
int buy_read_line(struct buy *b);
int buy_read_keys(struct buy *b); /* a part of it */

const char *buy_type(const struct buy *b);

/* The order as the market is sent it. */
struct model_order_new buy_order(const struct buy *b);

/* Against --max-total and spend-max. 0, or an exit status after saying why. */
int buy_check_money(struct buy *b);

void buy_show_plan(struct buy *b);

/* Takes the unfinished purchase of an earlier command, and shows what is known without asking the market. */
void buy_resume(struct buy *b);

/*
 * True where an unfinished purchase is over, and forgotten: its order was cancelled; or its window has begun and its
 * order cannot exist: none was sent, or its pool is gone and a late order cannot reach it.
 */
bool buy_is_stale(struct buy *b);

#endif
