/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trade with the market, which `buy`, `extend` and `sell` make in the same stages; each stage is data:
 *
 *     order_args     what was typed
 *     quote          what the market would do
 *     plan           what is shown and agreed to (cli/frame/plan.h)
 *     purchase       what is sent, on disk (resume_file) before the first request leaves
 *     order_status   what became of the order: purchase.order
 *
 * Here is what the stages of all three have in common, in the order in which a command calls it. The loop
 * itself stays in each command: they ask, refuse and repeat at different points.
 */
#ifndef CLI_TRADE_DEAL_H
#define CLI_TRADE_DEAL_H

#include "cli/frame/plan.h"
#include "cli/trade/order_args.h"
#include "cli/trade/purchase.h"
#include "cli/trade/quote.h"
#include "cli/trade/reservation.h"
#include "cli/trade/sku_list.h"

enum { DEAL_DECIDE_MS = 60000, DEAL_TEXT_MAX = 65536 };

struct deal {
	struct nanopod *np;
	const struct options *o;
	const struct command *command;
	struct market_link *m;
	struct buf line; /* the command as it was typed, for people */
	struct order_args args;
	struct skus skus;
	bool ours;         /* a nanopod market, which has quotes, refunds and extensions */
	bool explain;      /* --explain; m->explain is false until deal_begin(): the stages before it ask */
	int64_t available; /* dollars of the account before the deal; MODEL_NONE: not known */
};

/* One order of a deal. */
struct deal_order {
	struct order_args args; /* of the deal, with this order's own window and limit */
	const struct sku *sku;
	struct reservation reservation; /* it adds to, extends or sells from; id NULL: it makes a new one */
	const struct reservation_part *part;
	struct quote quote;
	struct purchase purchase;
	struct buf match; /* all that makes two commands the same */
};

void deal_init(struct deal *d, struct nanopod *np, const struct options *o, const struct command *command);
void deal_release(struct deal *d);
void deal_order_init(struct deal_order *e);
void deal_order_release(struct deal_order *e);

/* Those below return 0, or an exit status after saying why, unless they say otherwise. */

/* Signs in, reads the market's clock and its types. cannot, as all below: "cannot extend 'train'". */
int deal_open(struct deal *d, const char *cannot);

/* Which nodes of its reservation the order is about; hint: what to type where the reservation has ended. */
int deal_find_part(struct deal *d, struct deal_order *e, const char *cannot, const char *hint);

/*
 * Looks for a purchase that the same command began and did not finish: e->purchase.resumed. One that has
 * not kept `begun` sent nothing yet and is forgotten. subject tells the orders of one command apart.
 */
int deal_find_unfinished(struct deal *d, struct deal_order *e, const char *subject, const char *begun);

/* Sets available. */
void deal_read_balance(struct deal *d);

/*
 * "$2.00" for $2.00004: the limit is a price per node-minute, which leaves odd fractions in sums. Small sums keep a
 * hundredth of a cent.
 */
const char *deal_about(int64_t micros, char room[MONEY_TEXT]);

/* The lines of a plan about money. most: what it may cost at the limit. */
void deal_plan_total(struct plan *p, int64_t cost, int64_t most);
void deal_plan_burn(struct plan *p, int64_t burn);
void deal_plan_refund(const struct deal *d, struct plan *p, bool interruptible, bool granted);
void deal_plan_balance(const struct deal *d, struct plan *p, int64_t cost, int64_t most);

/*
 * Makes the resume file. From here on --explain prints requests in place of sending them. 0, or a negative
 * code in m->fail, without printing.
 */
int deal_begin(struct deal *d, struct deal_order *e);

/*
 * The order that keeps nodes of a reservation, which end together, for longer. Asks what it costs; without -p the limit
 * becomes the price of the quote: nobody pays more than was shown. 0 or a negative code in m->fail.
 */
int extension_ask_quote(struct deal *d, struct deal_order *e);

/* Keeps its request on disk, for what was shown and no more. 0 or a negative code. */
int extension_keep(struct deal *d, struct deal_order *e);

/* Sends it, as it was kept. left: how much more than its quote it may cost by --max-total. 0 or a negative code. */
int extension_post(struct deal *d, struct deal_order *e, int64_t left);

/* "cannot buy it: the sum is too large" */
int deal_too_large(struct deal *d, const char *cannot);

/* "4 nodes", for plans and errors. */
enum { DEAL_NODES = 32 };
const char *deal_nodes(int64_t nodes, char room[DEAL_NODES]);

#endif
