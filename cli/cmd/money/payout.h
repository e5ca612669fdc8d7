/* SPDX-License-Identifier: Apache-2.0 */
/* Payouts as rows, for the account and for the operator. */
#ifndef CLI_CMD_MONEY_PAYOUT_H
#define CLI_CMD_MONEY_PAYOUT_H

#include "cli/trade/rows_list.h"

extern const struct column payout_columns[];
extern const struct column payout_columns_admin[]; /* the same, with whose they are */

/* What becomes of a payout. */
struct payout_word {
	const char *verb;        /* the last part of its path */
	const char *name, *text; /* what goes along; text NULL: nothing */
	bool already;            /* it was sent before */
};
int payout_say(struct market_link *m, const struct options *o, const struct column *columns, const char *id,
	const struct payout_word *w);
int payout_row(void *arg, struct doc *d, long at, struct fail *f);

#endif
