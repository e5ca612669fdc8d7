/* SPDX-License-Identifier: Apache-2.0 */
/* Prints this machine's power: as JSON, and as text for its owner. */
#ifndef AGENTD_POWER_POWER_SHOW_H
#define AGENTD_POWER_POWER_SHOW_H

#include <stdio.h>

#include "agentd/power/curve.h"
#include "agentd/power/hold.h"

/* What there is to say of it. */
struct power_view {
	const struct hold *h;
	bool set;                    /* h->e is what the owner set, or is about to */
	const char *wrong;           /* why the limits do not hold; NULL: they do, or nothing is set */
	const struct curves *curves; /* NULL: nothing was measured */
	int64_t price;               /* millionths of a dollar per kWh; 0: unknown */
};

/* 0, or 1 where out took not all. */
int power_show(const struct power_view *v, bool json, FILE *out);

/* What would be done, in its order, and what it costs. */
int power_show_plan(const struct power_view *v, bool json, FILE *out);

#endif
