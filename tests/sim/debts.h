/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator is promised, and nothing of how it is kept: no order of an account that is below its floor buys
 * anything. From events and effects alone.
 */
#ifndef TESTS_SIM_DEBTS_H
#define TESTS_SIM_DEBTS_H

#include "marketd/engine/effect.h"
#include "marketd/engine/event.h"

struct debts {
	struct debt_row {
		int64_t available, floor, held; /* of an account */
		int64_t bought;                 /* minutes, of an order */
	} * by_id;
	size_t count;
	long met; /* times that an account came below its floor while orders of it rested */
};

/* An event that was done. NULL, or what is wrong. */
const char *debts_look(struct debts *d, const struct event *ev, const struct effects *did);
void debts_release(struct debts *d);

#endif
