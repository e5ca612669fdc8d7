/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/wanted_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/device/host_gpus.h"

static struct host_want wanted_gpus_of(const struct work_host *h, const struct driver *d)
{
	const struct contract *k = &h->contract;

	return (struct host_want){ .host = h->id,
		.vendor = k->gpu_vendor,
		.model = k->gpu_model,
		.count = k->gpus,
		.memory = k->gpu_memory,
		.parts = k->gpu_parts,
		.slice = k->gpu_slice,
		.guests = d->devices == DEVICES_FUNCTIONS };
}

bool wanted_gpus_own(const struct driver *d)
{
	return d->devices == DEVICES_NODES || d->devices == DEVICES_FUNCTIONS;
}

bool wanted_gpus_fix(const struct work *w, const struct driver_setup *s, const struct driver *d, const struct log *log,
	char lacks[static WANTED_GPUS_LACKS])
{
	struct host_want *hosts = calloc(w->host_count + 1, sizeof *hosts);
	struct fail f = { 0 };
	bool news;

	for (size_t i = 0; hosts && i < w->host_count; i++)
		hosts[i] = wanted_gpus_of(&w->hosts[i], d);
	if (hosts)
		host_gpus_fix(s->data, s->sysfs_root, hosts, w->host_count, &f);
	free(hosts);
	news = strncmp(lacks, f.text, WANTED_GPUS_LACKS - 1) != 0;
	if (news && *f.text)
		log_at(log, LOG_ERROR, "%s", f.text);
	snprintf(lacks, WANTED_GPUS_LACKS, "%.399s", f.text);
	return news;
}

bool wanted_gpus_lack(const struct work_host *h, const struct driver_setup *s, const struct driver *d,
	const json_t *gpus, char *room, size_t size)
{
	const struct host_want w = wanted_gpus_of(h, d);

	return host_gpus_lack(gpus, s->sysfs_root, &w, room, size);
}
