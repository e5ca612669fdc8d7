/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/wanted_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/device/host_gpus.h"

void wanted_gpus_fix(const struct work *w, const struct driver_setup *s, const struct log *log,
	char lacks[static WANTED_GPUS_LACKS])
{
	struct host_want *hosts = calloc(w->host_count + 1, sizeof *hosts);
	struct fail f = { 0 };

	for (size_t i = 0; hosts && i < w->host_count; i++) {
		const struct contract *k = &w->hosts[i].contract;

		hosts[i] = (struct host_want){ .host = w->hosts[i].id,
			.vendor = k->gpu_vendor,
			.model = k->gpu_model,
			.count = k->gpus,
			.memory = k->gpu_memory,
			.parts = k->gpu_parts };
	}
	if (hosts && host_gpus_fix(s->data, s->sysfs_root, hosts, w->host_count, &f) != 0 &&
		strncmp(lacks, f.text, WANTED_GPUS_LACKS - 1) != 0)
		log_at(log, LOG_ERROR, "%s", f.text);
	snprintf(lacks, WANTED_GPUS_LACKS, "%.199s", f.text);
	free(hosts);
}
