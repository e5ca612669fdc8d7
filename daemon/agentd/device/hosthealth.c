/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/hosthealth.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool hosthealth_same_card(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return strcspn(b, ".") == len && strncasecmp(a, b, len) == 0;
}

bool host_holds_gpu(const json_t *gpus, const char *host, const char *gpu)
{
	const json_t *one;
	size_t i;

	json_array_foreach(gpus, i, one)
	{
		const char *whose = json_string_value(json_object_get(one, "host"));
		const char *address = json_string_value(json_object_get(one, "address"));

		if (whose && address && strcmp(whose, host) == 0 && (!*gpu || hosthealth_same_card(address, gpu)))
			return true;
	}
	return false;
}

/* How bad a finding is for the host. */
static enum health hosthealth_of(const struct health_finding *f, const struct hosthealth_gpus *g, const char *host)
{
	bool about_gpus = *f->gpu || strcmp(f->check, "nvml") == 0;

	if (about_gpus && !g->all && g->list && !host_holds_gpu(g->list, host, f->gpu))
		return HEALTH_OK;
	return f->health > HEALTH_DRAINING && (!*f->gpu || (!g->all && !g->list)) ? HEALTH_DRAINING : f->health;
}

enum health host_health(const struct health_report *r, const struct hosthealth_gpus *g, const char *host,
	const struct health_finding **worst)
{
	enum health most = HEALTH_OK;

	*worst = NULL;
	for (size_t i = 0; i < r->count; i++) {
		enum health is = hosthealth_of(&r->list[i], g, host);

		if (is <= most)
			continue;
		most = is;
		*worst = &r->list[i];
	}
	return most;
}
