/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that make a purchase: pool, order, nodes. Each is on disk with its idempotency key before it
 * leaves. The same calls resume a purchase that was cut off anywhere: answered steps are not sent again,
 * others are sent exactly as before, and the market repeats the answer that it gave.
 */
#ifndef CLI_TRADE_PURCHASE_H
#define CLI_TRADE_PURCHASE_H

#include "cli/trade/resume_file.h"
#include "cli/trade/order_status.h"
#include "cli/trade/reservation.h"

enum { PURCHASE_NODES = 1024 };

struct purchase {
	struct market_link *m;
	struct resume_file *file; /* NULL with --explain, which writes nothing down */
	bool resumed;            /* an earlier command began it */
	bool replayed;           /* the market repeated the answer of a step that it did before */
	bool sent;               /* a request of this run may have reached the market */
	char pool[64], name[256];
	bool own_pool;           /* made for this purchase */
	struct order_status order;
	char *nodes[PURCHASE_NODES];
	size_t node_count;
};

void purchase_init(struct purchase *p, struct market_link *m);
void purchase_release(struct purchase *p); /* leaves the file on disk unless purchase_end() was called */

/*
 * All that makes two commands the same: verb, market, account, profile, options; subject: which of several
 * orders of one command. 0 or a negative code in m->fail.
 */
int purchase_match(struct market_link *m, const struct options *o, const char *verb, const char *subject,
	struct buf *out);

/*
 * Looks for a purchase that the same command began and did not finish: resumed is true where there is one.
 * One that has not kept `begun` (NULL: any counts) sent nothing yet: it is forgotten. Negative code in m->fail.
 */
int purchase_find(struct purchase *p, const char *match, const char *begun);

/* Makes the file of a new one. command: what was typed, for people. Negative code in m->fail. */
int purchase_begin(struct purchase *p, const char *match, const char *command, int64_t now);

/* Keeps a value for the next steps; it is on disk when this returns. */
int purchase_keep(struct purchase *p, const char *name, const char *value);
const char *purchase_kept(const struct purchase *p, const char *name);

/* Keeps the body that purchase_post() will send in this step, unless one is kept. 0 or a negative code. */
int purchase_keep_body(struct purchase *p, const char *step, const struct buf *body);

/*
 * Sends a POST. The first body of a step is kept and sent again whenever the step is repeated. 0 or a
 * negative code; the answer is m->doc.
 */
int purchase_post(struct purchase *p, const char *step, const char *path, const struct buf *body);

/* Makes the pool, called as the kept "name". Sets pool. */
int purchase_pool(struct purchase *p);

/* Places the order, or looks at it where it was placed before: then *o does not count. Sets order. */
int purchase_order(struct purchase *p, struct model_order_new *o);

/*
 * Starts the nodes that filled and that the reservation lacks, from now on (the market's time). image: name or id;
 * NULL: the market's first.
 */
int purchase_nodes(struct purchase *p, const char *image, int64_t now);

/* Checks before anything is paid that the market has the image (NULL: any). 0 or a negative code in m->fail. */
int purchase_check_image(struct purchase *p, const char *image);

/*
 * After a step failed with this code: true where the market certainly did nothing, so there is nothing to
 * resume. Otherwise the same command has to run again to find out.
 */
bool purchase_nothing_done(const struct purchase *p, int code);

/* The exit status after a step failed with this code. */
enum status purchase_status(int code);

/* Deletes the empty pool that was made for it. True: it is gone, and no late order can reach it. */
bool purchase_undo_pool(struct purchase *p);

/*
 * True where its order was cancelled, or its time passed, before any of it filled: the purchase is over. Its file and
 * the empty pool that was made for it are gone then.
 */
bool purchase_was_cancelled(struct purchase *p);

/* The same for all purchases at this market that no living command carries on. */
void purchase_forget_cancelled(struct market_link *m);

/* Removes the file, as the answer is known. */
void purchase_end(struct purchase *p);

/*
 * After the answer was printed with this status. Removes the file, but not where the output could not be
 * written: then the same command prints the answer again and does nothing twice. Returns the exit status.
 */
int purchase_told(struct purchase *p, int status);

#endif
