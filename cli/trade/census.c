/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/census.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/wire.h"

enum { NUMBER_MOST = 1000000 };

int census_count(void *arg, struct doc *d, long at, struct fail *f)
{
	struct census *c = arg;
	struct model_instance i;
	size_t len = strlen(c->name);
	long number;
	int rc = wire_instance(d, at, &i, f);

	if (rc || (i.status != MODEL_INSTANCE_AWAITING && i.status != MODEL_INSTANCE_RUNNING))
		return rc;
	if (i.name && strncmp(i.name, c->name, len) == 0 && i.name[len] == '-' &&
		str_to_long(i.name + len + 1, 0, NUMBER_MOST, &number) == 0 && number >= c->next)
		c->next = number + 1;
	if (!i.sku.id || strcmp(i.sku.id, c->sku) != 0)
		return 0;
	if (i.status == MODEL_INSTANCE_AWAITING && !i.shutdown_at) {
		c->waiting++;
		return 0;
	}
	c->ends = reallocarray(c->ends, c->running + 1, sizeof *c->ends);
	if (!c->ends)
		command_nomem();
	c->ends[c->running++] = i.shutdown_at;
	return 0;
}

void census_release(struct census *c)
{
	free(c->ends);
	c->ends = NULL;
	c->running = 0;
}

static int census_in_order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The moments from now on at which the number of hosts or nodes may change, in order. The caller frees them. */
static int64_t *census_moments(const struct census *c, const struct reservation_part *part, int64_t now, size_t *count)
{
	int64_t *list = calloc(1 + 2 * part->count + c->running, sizeof *list);
	size_t n = 0;

	if (!list)
		command_nomem();
	list[n++] = now;
	for (size_t i = 0; i < part->count; i++) {
		if (part->spans[i].start > now)
			list[n++] = part->spans[i].start;
		if (part->spans[i].end > now)
			list[n++] = part->spans[i].end;
	}
	for (size_t i = 0; i < c->running; i++)
		if (c->ends[i] > now)
			list[n++] = c->ends[i];
	qsort(list, n, sizeof *list, census_in_order);
	*count = n;
	return list;
}

/*
 * Goes through the time: where there are fewer nodes than hosts, those that wait come first, then new ones. Of nodes
 * whose end is not known, as many end as there are fewer hosts.
 */
int64_t census_missing(const struct census *c, const struct reservation_part *part, int64_t now)
{
	int64_t waiting = (int64_t)c->waiting, missing = 0, others = 0; /* others: nodes without a known end */
	size_t count;
	int64_t *moments = census_moments(c, part, now, &count);

	for (size_t i = 0; i < c->running; i++)
		others += !c->ends[i];
	for (size_t m = 0; m < count; m++) {
		int64_t hosts = part_nodes_at(part, moments[m]), known = 0, lack;

		for (size_t i = 0; i < c->running; i++)
			known += c->ends[i] > moments[m];
		if (others > hosts - known)
			others = hosts > known ? hosts - known : 0;
		lack = hosts - known - others;
		if (lack <= 0)
			continue;
		missing += lack > waiting ? lack - waiting : 0;
		waiting -= lack < waiting ? lack : waiting;
		others += lack;
	}
	free(moments);
	return missing;
}
