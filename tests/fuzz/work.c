/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a work document: it is refused, or all names in it fit files, hosts and drivers, or are called wrong. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/market/work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers that sums of thousands of them cannot overflow. */
static void look_at_contract(const struct contract *c)
{
	if (c->vcpus > 65536 || c->overcommit > 16 || c->gpus > 1024 || c->memory < 0 || c->memory >> 60 > 1 ||
		c->disk < 0 || c->disk >> 60 > 1 || c->shared < 0 || c->shared >> 60 > 1 || c->inodes < 0 ||
		c->inodes >> 32 || c->network_mbps < 0 || c->network_mbps > 10000000 || c->gpu_memory < 0 ||
		strlen(c->gpu_vendor) > 15 || strlen(c->gpu_model) > 63 || c->gpu_parts > 16 ||
		(c->gpu_parts && c->gpus != 1))
		abort();
}

static void look_at_time(int64_t at)
{
	if (at < 0 || at > INT64_C(1) << 40)
		abort();
}

static void look_at(const struct work_node *n)
{
	if (n->end_at != INT64_MAX)
		look_at_time(n->end_at);
	look_at_contract(&n->contract);
	if (!work_is_id(n->id, "inst_") || strchr(n->id, '/') || strchr(n->id, '.'))
		abort();
	if (!*n->name || strlen(n->name) > 63 || n->name[strspn(n->name, "abcdefghijklmnopqrstuvwxyz0123456789-")] ||
		*n->name == '-')
		abort();
	if (strchr(n->image, '/') || *n->image == '.')
		abort();
	if (!*n->wrong && (!work_is_id(n->host, "host_") || !work_is_id(n->tenant, "acct_")))
		abort();
	if (n->user_data && n->user_data[n->user_data_len])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fail f = { 0 };
	struct work *w = NULL;

	if (work_parse((const char *)data, size, &w, &f) != 0) {
		if (w || !*f.text)
			abort();
		return 0;
	}
	look_at_time(w->now);
	for (size_t i = 0; i < w->host_count; i++) {
		look_at_contract(&w->hosts[i].contract);
		look_at_time(w->hosts[i].verified_at);
		look_at_time(w->hosts[i].verified_until);
	}
	for (size_t i = 0; i < w->node_count; i++)
		look_at(&w->nodes[i]);
	work_free(w);
	return 0;
}
