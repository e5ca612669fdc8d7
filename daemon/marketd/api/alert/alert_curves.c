/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/alert/alert_curves.h"

#include <math.h>
#include <stdlib.h>

#include "market/reason.h"

enum {
	FINE_STEPS = 90,           /* a quarter of an hour */
	COARSE_STEPS = 14,         /* an hour and the steps at both ends */
	FINE_GAP = 60 / RING_STEP, /* steps that may lack a value */
	COARSE_GAP = 0,
	DAY_STEPS = 86400 / RING_COARSE_STEP,
	WEEK_STEPS = 7 * DAY_STEPS,
	GROWN_SECONDS = 3600,
};

void alert_curves_release(struct alert_curves *c)
{
	free(c->keys);
	free(c->fine.mean);
	free(c->fine.largest);
	free(c->coarse.mean);
	free(c->coarse.largest);
}

/* ---- Reading ---------------------------------------------------------------------------- */

static bool alert_curves_wants(const uint32_t *metrics, uint32_t number)
{
	while (*metrics && *metrics != number)
		metrics++;
	return *metrics != 0;
}

/* The last `count` steps; the last one has the present. */
static int alert_band_read(const struct alert_curves *c, struct alert_band *b, int64_t step, size_t count,
	struct fail *why)
{
	size_t numbers = c->count * count;
	int rc;

	b->span = (struct ring_span){ .from = (c->now / step - (int64_t)count + 1) * step,
		.step = step,
		.count = count };
	if (b->span.from < 0)
		return fail_set(why, REASON_UNAVAILABLE, "the market's clock is before 1970");
	b->mean = calloc(numbers, sizeof *b->mean);
	b->largest = calloc(numbers, sizeof *b->largest);
	if (!b->mean || !b->largest)
		return fail_set(why, REASON_UNAVAILABLE, "the market is out of memory");
	rc = series_read(c->series, c->agent, c->keys, c->count, &b->span, b->mean, b->largest, why);
	for (size_t k = 0; k < c->count && !rc; k++)
		for (size_t i = 0; i < count && b->span.from + (int64_t)i * step < c->since; i++)
			b->mean[k * count + i] = b->largest[k * count + i] = NAN;
	return rc;
}

int alert_curves_read(struct alert_curves *c, struct series *series, uint64_t agent, uint64_t host,
	const uint32_t *metrics, int64_t since, int64_t now, struct fail *why)
{
	size_t kept = 0;
	int rc;

	*c = (struct alert_curves){ .series = series, .agent = agent, .since = since, .now = now };
	rc = series_keys(series, agent, &c->keys, &c->count, why);
	for (size_t i = 0; i < c->count && !rc; i++)
		if (alert_curves_wants(metrics, c->keys[i].metric) && c->keys[i].id == host)
			c->keys[kept++] = c->keys[i];
	c->count = rc ? 0 : kept;
	if (rc || !c->count)
		return rc;
	rc = alert_band_read(c, &c->fine, RING_STEP, FINE_STEPS, why);
	return rc ? rc : alert_band_read(c, &c->coarse, RING_COARSE_STEP, COARSE_STEPS, why);
}

/* ---- Values ------------------------------------------------------------------------------ */

size_t alert_curves_find(const struct alert_curves *c, uint32_t metric, size_t from)
{
	while (from < c->count && c->keys[from].metric != metric)
		from++;
	return from;
}

bool alert_curves_known(const struct alert_curves *c, uint32_t metric)
{
	size_t steps = c->fine.span.count, from = steps > FINE_GAP ? steps - FINE_GAP - 1 : 0;

	for (size_t k = 0; k < c->count; k++)
		for (size_t i = from; i < steps && (!metric || c->keys[k].metric == metric); i++)
			if (!isnan(c->fine.mean[k * steps + i]))
				return true;
	return false;
}

static double alert_column_value(const struct alert_curves *c, const struct alert_band *b, uint32_t whole,
	size_t column, size_t step)
{
	double value = b->mean[column * b->span.count + step], of;
	size_t k;

	if (!whole)
		return value;
	for (k = 0; k < c->count; k++)
		if (c->keys[k].metric == whole && c->keys[k].index == c->keys[column].index)
			break;
	of = k < c->count ? b->mean[k * b->span.count + step] : NAN;
	return of > 0 ? value / of : NAN;
}

/* A column that has had no value in all of the band is not there any more. */
static bool alert_column_lives(const struct alert_band *b, size_t column)
{
	for (size_t i = 0; i < b->span.count; i++)
		if (!isnan(b->mean[column * b->span.count + i]))
			return true;
	return false;
}

/* Of all columns of the metric the largest; NAN where one that there is has no value. */
static double alert_band_value(const struct alert_curves *c, const struct alert_band *b,
	const struct alert_bound *bound, size_t column, size_t step)
{
	double most = NAN;

	if (column != SIZE_MAX)
		return alert_column_value(c, b, bound->whole, column, step);
	for (size_t k = alert_curves_find(c, bound->metric, 0); k < c->count;
		k = alert_curves_find(c, bound->metric, k + 1)) {
		double value = alert_column_value(c, b, bound->whole, k, step);

		if (isnan(value) && alert_column_lives(b, k))
			return NAN;
		if (!isnan(value) && !(value <= most))
			most = value;
	}
	return most;
}

/* ---- Since when --------------------------------------------------------------------------- */

/*
 * Walks back from the newest step. Returns when the oldest step began that is out of bounds, with no other between; 0:
 * there is none. *all: nothing in the band ends it, so it may go on before.
 */
static int64_t alert_band_since(const struct alert_curves *c, const struct alert_band *b,
	const struct alert_bound *bound, size_t column, size_t gap, double *value, bool *all)
{
	size_t missing = 0;
	int64_t since = 0;

	/* The step of the present may have no value yet. */
	gap += b->span.step == RING_COARSE_STEP;
	*all = false;
	for (size_t i = b->span.count; i > 0 && missing <= gap; i--) {
		double v = alert_band_value(c, b, bound, column, i - 1);

		if (isnan(v)) {
			missing++;
			continue;
		}
		if (bound->below ? v >= bound->threshold : v < bound->threshold)
			return since;
		if (!since)
			*value = v;
		if (b->span.step == RING_COARSE_STEP)
			gap = COARSE_GAP;
		missing = 0;
		since = b->span.from + (int64_t)(i - 1) * b->span.step;
	}
	*all = since && missing <= gap;
	return since;
}

int64_t alert_curves_since(struct alert_curves *c, const struct alert_bound *b, size_t column, double *value)
{
	static const size_t widths[] = { DAY_STEPS, WEEK_STEPS };
	const struct alert_band *band = b->coarse ? &c->coarse : &c->fine;
	double ignored;
	bool all;
	int64_t since = alert_band_since(c, band, b, column, b->coarse ? COARSE_GAP : FINE_GAP, value, &all);

	for (size_t i = 0; i < sizeof widths / sizeof *widths && since && all; i++) {
		struct alert_band wide = { 0 };
		struct fail why;
		int64_t longer = 0;

		all = false;
		if (alert_band_read(c, &wide, RING_COARSE_STEP, widths[i], &why) == 0)
			longer = alert_band_since(c, &wide, b, column, COARSE_GAP, &ignored, &all);
		free(wide.mean);
		free(wide.largest);
		since = longer && longer < since ? longer : since;
	}
	return since;
}

double alert_curves_grown(const struct alert_curves *c, size_t column, int64_t *since)
{
	const struct alert_band *b = &c->coarse;
	const double *most = b->largest + column * b->span.count;
	double before = NAN, grown = 0;

	for (size_t i = 0; i < b->span.count; i++) {
		int64_t at = b->span.from + (int64_t)i * b->span.step;

		if (isnan(most[i]))
			continue;
		if (most[i] > before && at + b->span.step > c->now - GROWN_SECONDS) {
			*since = grown > 0 ? *since : at;
			grown += most[i] - before;
		}
		before = most[i];
	}
	return grown;
}
