/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine is sold as, and which of the market's kinds of node that is. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "agentd/machine/inventory.h"

int inventory_kind(const struct inventory *v, int64_t nodes, struct inventory_kind *out, struct fail *f)
{
	struct inventory_kind k = { .accelerator = "none" };
	const struct gpu *first = NULL;

	if (nodes < 1)
		return fail_set(f, -EINVAL, "a machine is at least one node");
	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];

		if (g->integrated)
			continue;
		if (!first) {
			first = g;
			snprintf(k.accelerator, sizeof k.accelerator, "%s", g->market);
			snprintf(k.form_factor, sizeof k.form_factor, "%s", g->form_factor);
		} else if (strcmp(first->market, g->market) != 0) {
			return fail_set(f, -EINVAL, "its GPUs differ: '%s' at %s and '%s' at %s", first->market,
				first->pci.address, g->market, g->pci.address);
		} else if (strcmp(first->form_factor, g->form_factor) != 0) {
			k.form_factor[0] = '\0';
		}
		k.gpus++;
	}
	if (k.gpus % nodes)
		return fail_set(f, -EINVAL, "%" PRId64 " GPUs do not divide into %" PRId64 " nodes", k.gpus, nodes);
	k.gpus /= nodes;
	*out = k;
	return 0;
}

void inventory_kind_text(const struct inventory_kind *k, char *room, size_t size)
{
	snprintf(room, size, "%" PRId64 "x %s%s%s", k->gpus, k->accelerator, *k->form_factor ? " " : "",
		k->form_factor);
}

static bool inventory_match_says(const char *text)
{
	return text && *text;
}

/* -1: something that it states is not true; else how much it states. */
static int inventory_match_fits(const struct inventory_kind *k, const struct inventory_sku *s)
{
	int n = 0;

	if (s->gpus != k->gpus)
		return -1;
	if (inventory_match_says(s->accelerator) ? strcasecmp(s->accelerator, k->accelerator) != 0 : k->gpus > 0)
		return -1;
	n += inventory_match_says(s->accelerator);
	if (inventory_match_says(s->form_factor)) {
		if (!k->gpus || (*k->form_factor && strcasecmp(s->form_factor, k->form_factor) != 0))
			return -1;
		n += *k->form_factor ? 1 : 0;
	}
	return n;
}

long inventory_match(const struct inventory_kind *k, const struct inventory_sku *skus, size_t count)
{
	long best = -1;
	int most = -1;

	for (size_t i = 0; i < count; i++) {
		int n = inventory_match_fits(k, &skus[i]);

		if (n > most) {
			most = n;
			best = (long)i;
		}
	}
	return best;
}
