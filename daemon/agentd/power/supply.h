/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power supply: how many watts at the wall become how many behind it. Efficiency is a table of points by load;
 * between them the draw at the wall is a straight line, and it never falls where the load rises.
 */
#ifndef AGENTD_POWER_SUPPLY_H
#define AGENTD_POWER_SUPPLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { SUPPLY_POINTS = 12, SUPPLY_TEXT = 160 };

#define SUPPLY_CLASSES "white, bronze, silver, gold, platinum, titanium"
#define SUPPLY_TOO_MUCH INT64_MAX

struct supply {
	char text[SUPPLY_TEXT]; /* as it was given */
	int64_t rated;          /* milliwatts behind it; 0: unknown, then its worst efficiency counts */
	struct supply_point {
		int load, efficiency;
	} points[SUPPLY_POINTS]; /* percent of rated; percent */
	size_t count;
};

/*
 * An 80 PLUS class or points, and the rating if it is known: "gold", "gold:1600W", "20=87,50=90,100=87:1600W".
 * 0, or -EINVAL with f set and *out untouched.
 */
int supply_parse(const char *text, struct supply *out, struct fail *f);

/* Milliwatts at the wall for so many behind it; SUPPLY_TOO_MUCH above its rating. */
int64_t supply_wall(const struct supply *s, int64_t behind);

/* The most behind it that take no more than this at the wall. */
int64_t supply_behind(const struct supply *s, int64_t wall);

/* "1440", "1440W" or "1.4kW" in milliwatts, from 1 W to 1 MW. 0 or -EINVAL. */
int supply_watts(const char *text, int64_t *milliwatts);

#endif
