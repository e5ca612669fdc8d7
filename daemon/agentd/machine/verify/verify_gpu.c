/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUs: that each has a driver, and that NVIDIA's have their memory and compute right. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/sysfs.h"
#include "agentd/machine/verify/verify_device.h"

enum { DEV_MOST = 65536 };

/* Its numbers are those of the bus, whatever the agent's environment says. */
static void verify_cuda_work(const struct device_task *t, struct device_told *told)
{
	struct cuda *c = NULL;
	int n = 0;

	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	told->rc = gpu_challenge_open(t->setup->cuda, &c, &n, &told->why);
	told->there = told->rc ? 0 : n;
	for (int i = 0; !told->rc && t->index < 0 && i < n && i < CHALLENGE_GPUS; i++) {
		struct device *d = &told->list[told->count++];

		d->is_gpu = true;
		told->rc = gpu_challenge_name(c, i, d->name, sizeof d->name, d->address, &told->why);
	}
	if (!told->rc && t->index >= 0)
		told->rc = t->index >= n ? fail_set(&told->why, -EIO, "it is gone")
					 : gpu_challenge_run(c, (int)t->index, t->seed, &told->got, &told->why);
	gpu_challenge_close(c);
}

/*
 * Without nvidia-persistenced the driver stops a GPU that nobody has open, and each child would start all of them anew:
 * seconds for each. An open can hang as all of the driver, so another child does it.
 */
static int verify_gpu_keep(void *arg, int fd)
{
	const struct verify_setup *s = arg;
	char path[SYSFS_PATH], (*names)[SYSFS_NAME];
	size_t n;

	(void)fd;
	if (sysfs_list(sysfs_path(path, s->root, "/dev"), DEV_MOST, &names, &n))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (strncmp(names[i], "nvidia", 6) == 0 && isdigit((unsigned char)names[i][6]))
			(void)!open(sysfs_path(path, s->root, "/dev/%s", names[i]), O_RDONLY | O_CLOEXEC);
	for (;;)
		pause();
}

static const struct device_library verify_library_cuda = { "CUDA", "gpu", verify_cuda_work };

static void verify_gpu_challenge(const struct verify_setup *s, const struct inventory *v, int nvidia,
	struct claim *list, int *count)
{
	struct device_told *told = calloc(1, sizeof *told);
	pid_t keeps;

	if (!told)
		return;
	keeps = gpuchild_begin(verify_gpu_keep, (void *)(uintptr_t)s);
	verify_device_list(&verify_library_cuda, s, told);
	if (told->rc) {
		verify_fail(verify_begin(list, count, "gpu"),
			told->rc == -ETIMEDOUT ? "nvidia-smi; if it hangs too, restart the machine"
					       : "apt-get install libcuda1 (the driver's version)",
			"%s", told->why.text);
		told->count = 0;
	} else if (told->there < nvidia) {
		verify_fail(verify_begin(list, count, "gpu"), "nvidia-smi; if it misses one too, restart the machine",
			"CUDA sees %d of %d GPUs", told->there, nvidia);
	}
	verify_device_all(&verify_library_cuda, s, v, told, list, count);
	gpuchild_end(keeps);
	free(told);
}

void verify_gpus(const struct verify_setup *s, struct claim *list, int *count)
{
	size_t nvidia = 0, others = 0, bare = 0;
	const char *without = "";
	struct inventory *v;

	if (inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = "" }, &v))
		return;
	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];

		if (g->integrated)
			continue;
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
	if (nvidia) /* those that sleep wake */
		verify_gpu_challenge(s, v, (int)nvidia, list, count);
	if ((int64_t)(nvidia + others + bare) < s->gpus)
		verify_fail(verify_begin(list, count, "gpu"), "nanopod-agentd gpus",
			"its hosts are sold with %" PRId64 " GPU%s, and this machine has %zu", s->gpus,
			s->gpus == 1 ? "" : "s", nvidia + others + bare);
	else if (!nvidia && !others && !bare)
		verify_skip(verify_begin(list, count, "gpu"), "no GPU: sold as a node without accelerator");
	free(v);
}
