/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an account with a plan, and its seller, are promised, and nothing of how it is kept: nobody pays more in a
 * month than the dearest plan that they chose, as it was then, nor below their floor, nor for one that the market
 * was down; what a month includes pays in
 * that month alone, for no more than the plan says, and nothing for who lapsed; and what a node costs is what its
 * buyer and the plan paid; and the fee of the next month that is shown is the one that is taken. From events, effects
 * and what is shown.
 */
#ifndef TESTS_SIM_TARIFFS_H
#define TESTS_SIM_TARIFFS_H

#include "marketd/engine/effect.h"
#include "marketd/engine/engine.h"
#include "marketd/engine/event.h"

struct tariffs {
	struct tariff_row {
		/* of a plan; sponsor: its seller, of its months, too: */
		int64_t fee, included, rates;
		uint64_t sponsor;
		/* of an account: */
		bool has;
		int64_t floor, month, paid, dearest;
		int64_t agreed; /* the fee of the plan that it chose last, as it was then */
		int64_t shown;  /* before a month begins: its fee; what is already known to end the plan */
		int32_t ends;
		bool waits, full; /* full: its month includes no more than it may */
		/* of a month that was paid, a grant: */
		uint64_t account;
		int64_t of, most, net; /* which month; what it pays at most; what it paid */
		/* of a lease: */
		uint64_t grant, seller;
	} * by_id;
	size_t count;
	int64_t minute, at;
	bool turns;              /* a month begins in the tick that comes */
	long paid, lapsed, used; /* months; nodes that a plan paid for */
	long shown;              /* fees that were shown before they were taken */
};

/* An event that comes: what the market shows before it. */
void tariffs_shown(struct tariffs *t, const struct engine *e, const struct event *ev);

/* An event that was done. NULL, or what is wrong. */
const char *tariffs_look(struct tariffs *t, const struct event *ev, const struct effects *did);
void tariffs_release(struct tariffs *t);

#endif
