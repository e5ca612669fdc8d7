/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that make a purchase (pool, order, nodes), each sent with a key that is on disk
 * before it leaves. A purchase that was cut off anywhere is gone on with by the same calls: steps
 * that were answered are not sent again, others are sent as they were, and the market gives the
 * answer that it gave before.
 */
#ifndef CLI_TRADE_PURCHASE_H
#define CLI_TRADE_PURCHASE_H

#include "cli/trade/resume_file.h"
#include "cli/trade/order_status.h"
#include "cli/trade/reservation.h"

enum { PURCHASE_NODES = 1024 };

struct purchase {
	struct market_link *m;
	struct resume_file *file; /* NULL with --explain: nothing is remembered */
	bool resumed;            /* an earlier command began it */
	bool replayed;           /* the market said that it had done a step before */
	bool sent;               /* a request of this run may have reached the market */
	char pool[64], name[256];
	bool own_pool;           /* made for this purchase */
	struct order_status order;
	char *nodes[PURCHASE_NODES];
	size_t node_count;
};

void purchase_init(struct purchase *p, struct market_link *m);
void purchase_release(struct purchase *p); /* the intent stays where purchase_end() was not called */

/*
 * All that makes two commands the same: what is done, where, by whom, and how; subject: to which of
 * several. 0 or a negative code in m->fail.
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

/* Remembered for the next steps; on disk when it returns. */
int purchase_keep(struct purchase *p, const char *name, const char *value);
const char *purchase_kept(const struct purchase *p, const char *name);

/*
 * A POST. The body is kept, and the same one is sent whenever the step is repeated. 0 or a
 * negative code; the answer is m->doc.
 */
int purchase_post(struct purchase *p, const char *step, const char *path, const struct buf *body);

/* "name" must be kept. Sets pool. */
int purchase_pool(struct purchase *p);

/* Sets order. The fields other than pool are looked at only where it was not sent before. */
int purchase_order(struct purchase *p, struct model_order_new *o);

/* Nodes for what filled, as many as the reservation has too few of. image: name or id, NULL: the market's first. */
int purchase_nodes(struct purchase *p, const char *image);

/* Before anything is paid: is there such an image (NULL: any)? 0 or a negative code in m->fail. */
int purchase_check_image(struct purchase *p, const char *image);

/*
 * After a step failed with this code: is it known that nothing was done, so that there is nothing to
 * resume? Else the same command must be repeated to find out.
 */
bool purchase_nothing_done(const struct purchase *p, int code);

/* The exit status after a step failed with this code. */
enum status purchase_status(int code);

/* An empty pool that was made for it goes. True: it is gone, and no late order can reach it. */
bool purchase_undo_pool(struct purchase *p);

/* The answer is known. */
void purchase_end(struct purchase *p);

/*
 * The answer is known and was printed with this status: what could not be written nobody knows, and the
 * same command must tell it again instead of doing it again. The status that remains.
 */
int purchase_told(struct purchase *p, int status);

#endif
