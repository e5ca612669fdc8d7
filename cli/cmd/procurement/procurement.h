/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod procurement: the market itself buys what keeps a reservation at a number of nodes, as long as that costs no
 * more than a limit. procurement.c has the table of verbs and those that change one, procurement_create.c makes one,
 * procurement_show.c shows them.
 */
#ifndef CLI_CMD_PROCUREMENT_PROCUREMENT_H
#define CLI_CMD_PROCUREMENT_PROCUREMENT_H

#include "cli/frame/rows.h"
#include "cli/trade/market_clock.h"
#include "cli/trade/reservation.h"
#include "cli/trade/sku_list.h"

/* One as the market tells it. */
struct procured {
	char id[64], name[256], pool[64], pool_name[256], sku[64], why[400];
	int64_t target;      /* nodes; -1: as many as it has */
	int64_t limit;       /* price per node-minute */
	int64_t window;      /* minutes that are bought ahead */
	bool enabled, whole; /* whole: it has its nodes over all of the window */
};

struct procuring_view {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct market_clock clock;
	struct skus skus;
	bool ours; /* a nanopod market */
};

extern const struct column procurement_columns[];

/* Signs in, and reads the clock and the types. Close it in any case. 0, or an exit status after saying why. */
int procuring_view_open(struct procuring_view *v, struct nanopod *np, const struct options *o, const char *cannot);
void procuring_view_close(struct procuring_view *v);

int procured_take(struct procured *p, struct doc *d, long at, struct fail *f);
/* By name or id. 0, 1 where there is none, or a negative code in m->fail. */
int procured_look(struct market_link *m, const char *name, struct procured *out);
/* 0, or an exit status after saying why. */
int procured_find(struct market_link *m, const char *name, struct procured *out);

/* "running", "pending" or "disabled" */
const char *procured_state(const struct procured *p);

/* One row, with what its orders cost so far. 0 or a negative code in m->fail. */
int procured_row(struct procuring_view *v, struct rows *r, const struct procured *p);
/* Alone, as the answer of a command. Returns status, or the exit status of a failure. */
int procured_print(struct procuring_view *v, const struct procured *p, int status);

/* Reads --horizon. 0, or an exit status after saying why. */
int procurement_read_window(struct nanopod *np, const struct options *o, int64_t *minutes);

int procurement_list(struct nanopod *np, const struct options *o, char **words);
int procurement_show(struct nanopod *np, const struct options *o, char **words);
int procurement_create(struct nanopod *np, const struct options *o, char **words);

#endif
