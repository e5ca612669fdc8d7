/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one machine or node measured lately, for rules: the last quarter of an hour in steps of 10 s, the last hour and
 * a bit in steps of 5 min. Longer ago only where a rule asks since when.
 */
#ifndef MARKETD_API_NP_ALERT_CURVES_H
#define MARKETD_API_NP_ALERT_CURVES_H

#include <stdbool.h>

#include "marketd/api/api.h"
#include "marketd/series/series.h"

struct alert_band {
	struct ring_span span;
	double *mean, *largest; /* key by key; NAN: not known */
};

struct alert_curves {
	struct series *series;
	uint64_t agent;
	int64_t since, now; /* steps that began before `since` were another's */
	struct ring_key *keys;
	size_t count;
	struct alert_band fine, coarse;
};

/*
 * Of an agent's machine (host 0) or the node on its host: the metrics of the list, which ends with 0. 0, or -errno with
 * a sentence; release it in any case.
 */
int alert_curves_read(struct alert_curves *c, struct series *series, uint64_t agent, uint64_t host,
	const uint32_t *metrics, int64_t since, int64_t now, struct fail *why);
void alert_curves_release(struct alert_curves *c);

/* Is anything known of the last minute? metric 0: of any. */
bool alert_curves_known(const struct alert_curves *c, uint32_t metric);

/* What a rule asks of a value. */
struct alert_bound {
	uint32_t metric, whole; /* whole: the value is a part of that one; 0: it is not */
	double threshold;
	bool below;  /* below the threshold, else it or more */
	bool coarse; /* in means of 5 minutes */
};

/* The columns of a metric: the first at or after `from`; count: there is none. */
size_t alert_curves_find(const struct alert_curves *c, uint32_t metric, size_t from);

/*
 * Since when the column (SIZE_MAX: all columns of the metric at once) is out of bounds without a gap; *value is what it
 * has now, or of all the largest. 0: it is not, or nothing is known of now. It looks back seven days at most.
 */
int64_t alert_curves_since(struct alert_curves *c, const struct alert_bound *b, size_t column, double *value);

/* By how much a counter grew in the last hour, and since when; 0: it did not. A smaller number is a new beginning. */
double alert_curves_grown(const struct alert_curves *c, size_t column, int64_t *since);

#endif
