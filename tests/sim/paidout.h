/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sellers and the operator are promised of payouts, and nothing of how it is kept: nobody is paid out more than
 * sales and volumes earned, whatever was put in, granted or bought, and each payout leaves once and comes back at most
 * once: what was sent was taken from its account once, whatever was cancelled before. From notices and postings alone.
 */
#ifndef TESTS_SIM_PAIDOUT_H
#define TESTS_SIM_PAIDOUT_H

#include <stdbool.h>

#include "marketd/engine/effect.h"
#include "marketd/engine/state.h"

struct paidout {
	struct paidout_row {
		int64_t earned, out; /* of an account: by sales and volumes; asked for, and not come back */
		int64_t held, sent;  /* of a payout: what is held for it, and what left; held: of an account, too */
		size_t waits;        /* of an account: payouts that are held */
		int64_t asked, gave; /* of it: the amount, and what its account has given for it */
		bool back;           /* it was cancelled */
	} * by_id;
	size_t count;
	int64_t sent; /* of all, as the market's book says */
	long met;     /* payouts that were sent */
	long late;    /* of them: that were cancelled before */
};

/* An event that was done. NULL, or what is wrong. */
const char *paidout_look(struct paidout *p, const struct event *ev, const struct effects *did);
/* After it: what the account is told of what it asked for. NULL, or what is wrong. */
const char *paidout_said(struct paidout *p, const struct account *a);
void paidout_release(struct paidout *p);

#endif
