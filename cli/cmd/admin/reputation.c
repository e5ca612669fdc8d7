/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/admin/reputation.h"

#include <math.h>
#include <stdlib.h>

enum { DAY = 86400, DAY_MOST = 3, HALF_LIFE = 26, HALF_SCORE = 20, MONDAY = 3 /* 1 January 1970 was a Thursday */ };

static int reputation_in_order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t reputation_week(int64_t day)
{
	return (day + MONDAY) / 7;
}

static double reputation_week_worth(size_t commits, int64_t age)
{
	return sqrt((double)commits) * exp2(-(double)age / HALF_LIFE);
}

void reputation_of(int64_t *times, size_t count, int64_t now, struct reputation *out)
{
	int64_t this_week = reputation_week(now / DAY), week = -1, day = -1;
	size_t of_day = 0, of_week = 0;
	double sum = 0;

	*out = (struct reputation){ .seen = count };
	if (count)
		qsort(times, count, sizeof *times, reputation_in_order);
	for (size_t i = 0; i < count && times[i] <= now; i++) {
		int64_t that = times[i] / DAY;

		if (times[i] < 0)
			continue;
		if (reputation_week(that) != week) {
			sum += of_week ? reputation_week_worth(of_week, this_week - week) : 0;
			week = reputation_week(that);
			of_week = 0;
			out->weeks++;
		}
		of_day = that == day ? of_day + 1 : 1;
		day = that;
		of_week += of_day <= DAY_MOST;
		out->counted += of_day <= DAY_MOST;
		out->last = times[i];
	}
	sum += of_week ? reputation_week_worth(of_week, this_week - week) : 0;
	out->hundredths = (int64_t)floor(10000 * sum / (sum + HALF_SCORE));
}
