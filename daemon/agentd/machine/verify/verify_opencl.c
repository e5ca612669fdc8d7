/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUs of all vendors through OpenCL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/opencl_challenge.h"
#include "agentd/machine/verify/verify_device.h"

_Static_assert((int)OPENCL_DEVICES <= (int)CHALLENGE_GPUS, "all that OpenCL shows are listed");

static void verify_opencl_work(const struct device_task *t, struct device_told *told)
{
	struct opencl *c = NULL;

	told->rc = opencl_open(t->setup->opencl, &c, &told->why);
	told->count = told->rc ? 0 : c->count;
	for (size_t i = 0; i < told->count; i++) {
		struct device *d = &told->list[i];

		snprintf(d->name, sizeof d->name, "%s", c->devices[i].name);
		snprintf(d->address, sizeof d->address, "%s", c->devices[i].address);
		d->is_gpu = opencl_is_gpu(&c->devices[i]);
	}
	if (!told->rc && t->index >= 0)
		told->rc = (size_t)t->index >= c->count
			? fail_set(&told->why, -EIO, "it is gone")
			: opencl_challenge_run(c, (size_t)t->index, t->seed, t->most, &told->got, &told->why);
	opencl_close(c);
}

static const struct device_library verify_library_opencl = { "OpenCL", "opencl", verify_opencl_work };

/* GPUs that neither OpenCL nor CUDA can measure: the owner has to install something. */
static size_t verify_opencl_missing(const struct inventory *v, const struct device_told *told, const char **vendor)
{
	size_t missing = 0;

	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];
		bool seen = g->integrated || !*g->pci.driver || strcmp(g->pci.driver, "nouveau") == 0 ||
			strcmp(g->pci.driver, "nvidia") == 0;

		for (size_t k = 0; !seen && k < told->count; k++)
			seen = told->list[k].is_gpu &&
				(!*told->list[k].address || strcmp(told->list[k].address, g->pci.address) == 0);
		if (seen)
			continue;
		missing++;
		*vendor = g->pci.vendor == GPU_AMD   ? "rocm-opencl-icd (AMD's) or mesa-opencl-icd"
			: g->pci.vendor == GPU_INTEL ? "intel-opencl-icd"
						     : "the vendor's OpenCL driver";
	}
	return missing;
}

void verify_opencl(const struct verify_setup *s, struct claim *list, int *count)
{
	struct device_told *told = calloc(1, sizeof *told);
	struct inventory *v = NULL;
	const char *install = "";
	size_t missing;

	if (!told || (s->opencl && !*s->opencl) ||
		inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = "" }, &v)) {
		free(told);
		return;
	}
	verify_device_list(&verify_library_opencl, s, told);
	if (!told->rc)
		verify_device_all(&verify_library_opencl, s, v, told, list, count);
	else if (told->rc != -ENOENT)
		verify_fail(verify_begin(list, count, "opencl"), "clinfo; reinstall the vendor's OpenCL driver", "%s",
			told->why.text);
	missing = verify_opencl_missing(v, told, &install);
	if (missing)
		verify_skip(verify_begin(list, count, "opencl"),
			"%zu GPUs were not measured: OpenCL does not show them; install ocl-icd-libopencl1 and %s",
			missing, install);
	free(v);
	free(told);
}
