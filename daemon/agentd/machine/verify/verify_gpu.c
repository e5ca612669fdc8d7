/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUs: that each has a driver, and that NVIDIA's have their memory and compute right. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpu_challenge.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/verify/verify_part.h"
#include "market/challenge.h"

enum { GPUS_MOST = 8, MEGA = 1000 * 1000, GIGA = 1000 * MEGA };

static void verify_gpu_judge(const struct verify_setup *s, struct cuda *c, int i, struct claim *list, int *count)
{
	struct gpu_challenge got;
	struct fail why = { 0 };
	struct claim *r;
	char name[32];

	snprintf(name, sizeof name, "gpu %d memory", i);
	r = verify_begin(list, count, name);
	if (gpu_challenge_run(c, i, challenge_seed(s->nonce, name), &got, &why)) {
		verify_fail(r,
			"nvidia-smi; end what uses it, restart the machine; if it comes back, have the card checked",
			"%s", why.text);
		return;
	}
	verify_put(r, &got.write, MEGA, "MB/s");
	snprintf(r->method, sizeof r->method, "CUDA: fills 9/10 of it from the nonce, compares all on the device");
	if (got.tested < got.memory / 10 * 8)
		verify_fail(r, "nvidia-smi; end what uses it", "only %" PRId64 " of its %" PRId64 " MiB are free",
			got.tested >> 20, got.memory >> 20);
	else
		verify_say(r, "%s: filled %" PRId64 " of %" PRId64 " MiB and read them back", got.name,
			got.tested >> 20, got.memory >> 20);
	snprintf(name, sizeof name, "gpu %d sums", i);
	r = verify_begin(list, count, name);
	verify_put(r, &got.sums, MEGA, "M/s");
	snprintf(r->method, sizeof r->method, "CUDA: 64-bit multiplications from the nonce, 64 lanes compared here");
	verify_say(r, "64-bit multiplications, compared with this machine's own");
}

static void verify_gpu_challenge(const struct verify_setup *s, size_t there, struct claim *list, int *count)
{
	struct fail why = { 0 };
	struct cuda *c;
	int n = 0;

	if (gpu_challenge_open(s->cuda, &c, &n, &why)) {
		verify_fail(verify_begin(list, count, "gpu"), "apt-get install libcuda1 (the driver's version)", "%s",
			why.text);
		return;
	}
	if ((size_t)n < there)
		verify_fail(verify_begin(list, count, "gpu"), "nvidia-smi; if it misses one too, restart the machine",
			"CUDA sees %d of %zu GPUs", n, there);
	for (int i = 0; i < n && i < GPUS_MOST; i++)
		verify_gpu_judge(s, c, i, list, count);
	gpu_challenge_close(c);
}

void verify_gpus(const struct verify_setup *s, struct claim *list, int *count)
{
	size_t nvidia = 0, others = 0, asleep = 0, bare = 0;
	const char *without = "";
	struct inventory *v;

	if (inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = "" }, &v))
		return;
	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];

		if (g->integrated)
			continue;
		asleep += g->asleep;
		if (!*g->pci.driver || strcmp(g->pci.driver, "nouveau") == 0) {
			bare++;
			without = g->pci.address;
		} else if (strcmp(g->pci.driver, "nvidia") == 0) {
			nvidia++;
		} else {
			others++;
		}
	}
	if (bare)
		verify_fail(verify_begin(list, count, "gpu driver"),
			"install its driver: 'apt-get install nvidia-driver' for NVIDIA's",
			"%zu GPUs have no driver for computing ('%s')", bare, without);
	if (asleep)
		verify_skip(verify_begin(list, count, "gpu"),
			"%zu of them are asleep: wake them with 'nvidia-smi', then verify again", asleep);
	else if (nvidia)
		verify_gpu_challenge(s, nvidia, list, count);
	if ((int64_t)(nvidia + others + bare) < s->gpus)
		verify_fail(verify_begin(list, count, "gpu"), "nanopod-agentd gpus",
			"its hosts are sold with %" PRId64 " GPU%s, and this machine has %zu", s->gpus,
			s->gpus == 1 ? "" : "s", nvidia + others + bare);
	else if (!nvidia && !others && !bare)
		verify_skip(verify_begin(list, count, "gpu"), "no GPU: sold as a node without accelerator");
	free(v);
}
