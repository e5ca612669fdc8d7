/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/spark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/wrap.h"

static const char *spark_cell(double value, double most)
{
	static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587",
		"\u2588" };
	static const char *const plain[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	enum { LEVELS = sizeof plain / sizeof *plain };
	double level = value / most * LEVELS;

	if (isnan(value))
		return " ";
	level = level > 0 ? level : 0; /* also where most is 0 */
	return (wrap_utf8() ? blocks : plain)[level < LEVELS ? (size_t)level : LEVELS - 1];
}

static double spark_mean(const double *values, size_t count)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		sum += isnan(values[i]) ? 0 : values[i];
		known += !isnan(values[i]);
	}
	return known ? sum / (double)known : NAN;
}

const char *spark_text(const double *values, size_t count, double most, size_t cells, char room[SPARK_TEXT])
{
	size_t len = 0;

	cells = cells < SPARK_CELLS ? cells : SPARK_CELLS;
	*room = '\0';
	for (size_t i = 0; i < cells; i++) {
		size_t from = i * count / cells, to = (i + 1) * count / cells;
		double value = count >= cells ? spark_mean(values + from, to - from)
			: i + count >= cells  ? values[i + count - cells]
					      : NAN;

		len += (size_t)snprintf(room + len, SPARK_TEXT - len, "%s", spark_cell(value, most));
	}
	return room;
}
