/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What accounts that owe are promised, and nothing of how it is kept: who never spent more than it had owes nothing,
 * whatever its orders hold, and who owes nothing is not suspended by the rule; who pays is open again at once; the
 * operator's word gives it its days anew; two reminders come first, in their time; suspended, an account buys nothing,
 * nothing that it has ends, and it makes nodes of it. The record says that it was opened, once. From notices and
 * postings alone.
 */
#ifndef TESTS_SIM_DUNNED_H
#define TESTS_SIM_DUNNED_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct dunned {
	struct dunned_row {
		int64_t available, has; /* has: what it has not spent */
		int64_t minute, anew;   /* minute: of its last step; anew: of the operator's last word */
		int32_t step;
		bool opened;    /* by the rule, which the record does not say yet */
		int64_t bought; /* of an order */
	} * by_id;
	size_t count;
	int64_t minute;
	long told;                    /* times that the record said so */
	long suspended, lifted, held; /* held: tries on accounts below zero for what their orders held alone */
};

/* One that was refused. NULL, or what is wrong. */
const char *dunned_refused(struct dunned *d, const struct event *ev, int rc);

/* An event that was done. NULL, or what is wrong. */
const char *dunned_look(struct dunned *d, const struct event *ev, const struct effects *did);
void dunned_release(struct dunned *d);

#endif
