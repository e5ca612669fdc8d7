/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager that starts at once whatever fits leaves a job waiting beside a free node only for a reason that
 * nodes do not mend. Such a job is refused until it is gone, or nodes would be bought for it again and again.
 */
#include <string.h>

#include "cli/cmd/autoscale/autoscale.h"

enum { REFUSED_AFTER_MS = 30 * 1000 };

void autoscale_refused_add(struct autoscale *a, const char *id)
{
	if (a->refused_count < AUTOSCALE_REFUSED)
		snprintf(a->refused[a->refused_count++], SCALE_ID, "%s", id);
}

static bool refused_has(const struct autoscale *a, const char *id)
{
	for (size_t i = 0; i < a->refused_count; i++)
		if (strcmp(a->refused[i], id) == 0)
			return true;
	return false;
}

/* A bought node that could have taken any of them for a while; NULL: none. */
static const char *refused_beside(const struct autoscale *a)
{
	for (size_t i = 0; i < a->w.count; i++) {
		const struct scale_node *n = &a->w.nodes[i];

		if (n->place == SCALE_SERVES && !n->drained && !n->busy && n->quiet_ms >= REFUSED_AFTER_MS)
			return n->name;
	}
	return NULL;
}

/* What no longer waits may come again as something else. */
static void refused_keep(struct autoscale *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->refused_count; i++)
		for (size_t k = 0; k < a->job_count; k++)
			if (strcmp(a->refused[i], a->jobs[k].id) == 0) {
				memmove(a->refused[kept++], a->refused[i], SCALE_ID);
				break;
			}
	a->refused_count = kept;
}

void autoscale_refuse(struct autoscale *a)
{
	const char *beside = a->manager->at_once ? refused_beside(a) : NULL;
	size_t kept = 0;

	refused_keep(a);
	for (size_t i = 0; i < a->job_count; i++) {
		const struct scale_job *j = &a->jobs[i];
		bool again = refused_has(a, j->id);

		if (!again && beside && scale_fits_shape(j, &a->shape)) {
			autoscale_refused_add(a, j->id);
			again = refused_has(a, j->id);
		}
		if (again)
			autoscale_say(a, true, "no node is bought for %s %s: it waits, though a node was free for it",
				a->manager->work, j->id);
		else
			a->jobs[kept++] = *j;
	}
	a->job_count = kept;
}
