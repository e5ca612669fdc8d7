/* SPDX-License-Identifier: Apache-2.0 */
#include "market/metric.h"

#include <stdio.h>
#include <string.h>

static const struct metric metrics[] = {
#define METRIC_ROW(number, of, name, unit, text) { number, METRIC_OF_##of, name, unit, text },
	METRICS(METRIC_ROW)
#undef METRIC_ROW
};

size_t metric_count(void)
{
	return sizeof metrics / sizeof *metrics;
}

const struct metric *metric_at(size_t i)
{
	return &metrics[i];
}

const struct metric *metric_numbered(uint32_t number)
{
	for (size_t i = 0; i < metric_count(); i++)
		if (metrics[i].number == number)
			return &metrics[i];
	return NULL;
}

const struct metric *metric_find(enum metric_of of, const char *name)
{
	for (size_t i = 0; i < metric_count(); i++)
		if (metrics[i].of == of && strcmp(metrics[i].name, name) == 0)
			return &metrics[i];
	return NULL;
}

const char *metric_full_name(const struct metric *m, char name[METRIC_NAME])
{
	static const char *const whose[] = { "machine", "gpu", "node", "node.gpu" };

	snprintf(name, METRIC_NAME, "%s.%s", whose[m->of], m->name);
	return name;
}

const struct metric *metric_named(const char *full_name)
{
	char name[METRIC_NAME];

	for (size_t i = 0; i < metric_count(); i++)
		if (strcmp(metric_full_name(&metrics[i], name), full_name) == 0)
			return &metrics[i];
	return NULL;
}
