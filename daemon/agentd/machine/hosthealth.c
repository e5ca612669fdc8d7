/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/hosthealth.h"

#include <stddef.h>

bool host_holds_gpu(const char *host, const char *gpu)
{
	(void)host;
	(void)gpu;
	return true;
}

enum health host_health(const struct health_report *r, const char *host, const struct health_finding **worst)
{
	*worst = NULL;
	for (size_t i = 0; i < r->count; i++) {
		const struct health_finding *f = &r->list[i];

		if ((!*worst || f->health > (*worst)->health) && (!*f->gpu || host_holds_gpu(host, f->gpu)))
			*worst = f;
	}
	return *worst ? (*worst)->health : HEALTH_OK;
}
