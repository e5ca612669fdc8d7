/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUs of all vendors through OpenCL, each in a child of its own: one that hangs costs only its result. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/opencl_challenge.h"
#include "agentd/machine/verify/verify_part.h"
#include "market/challenge.h"

static const int64_t giga = 1000 * 1000 * 1000, beyond_any = 64000LL * 1000 * 1000 * 1000; /* bytes a second */

enum { MEGA = 1000 * 1000, GPUS_MOST = 16, LIST_MS = 20 * 1000, PROCESSOR_BYTES = 64 << 20 };

#define METHOD_MEMORY "fills 9/10 of it from the nonce, compares all on the device, 64 random places here"
#define METHOD_SUMS "64-bit multiplications from the nonce, 64 lanes compared here"
#define METHOD_LINK "64 MiB by the bus, compared here"

/* ---- In the child ---------------------------------------------------------------------------- */

/* What a child sends: found or not, and if not, why. */
struct opencl_told {
	int rc;
	size_t count;
	struct opencl_device devices[OPENCL_DEVICES];
	struct opencl_challenge got;
	struct fail why;
};

struct opencl_task {
	const struct verify_setup *setup;
	long index; /* of the device to challenge; -1: only list them */
	int64_t most;
	char test[32]; /* the seed is of this and the nonce */
};

static int verify_opencl_work(void *arg, int fd)
{
	const struct opencl_task *t = arg;
	struct opencl_told *told = calloc(1, sizeof *told);
	struct opencl *c = NULL;
	int rc;

	if (!told)
		return -1;
	told->rc = opencl_open(t->setup->opencl, &c, &told->why);
	if (!told->rc) {
		told->count = c->count;
		memcpy(told->devices, c->devices, sizeof told->devices);
	}
	if (!told->rc && t->index >= 0)
		told->rc = (size_t)t->index >= c->count
			? fail_set(&told->why, -EIO, "it is gone")
			: opencl_challenge_run(c, (size_t)t->index, challenge_seed(t->setup->nonce, t->test), t->most,
				  &told->got, &told->why);
	rc = gpuchild_write(fd, told, sizeof *told);
	opencl_close(c);
	free(told);
	return rc;
}

/* Asks a child; its failure, or that it gave none, is in *told. */
static void verify_opencl_ask(struct opencl_task *t, int64_t deadline_ms, struct opencl_told *told)
{
	struct buf answer;

	memset(told, 0, sizeof *told);
	buf_init(&answer, sizeof *told + 1);
	told->rc = gpuchild_run(verify_opencl_work, t, deadline_ms, &answer, &told->why);
	if (!told->rc && answer.len != sizeof *told)
		told->rc = fail_set(&told->why, -EIO, "its answer is invalid");
	if (!told->rc)
		memcpy(told, answer.data, sizeof *told);
	buf_release(&answer);
}

/* ---- Judging one device ------------------------------------------------------------------------ */

struct opencl_seat {
	const struct opencl_device *device;
	const struct gpu *gpu; /* of the inventory; NULL: unmatched, or a processor */
	char label[24];        /* "opencl 0" */
};

static struct claim *verify_opencl_result(struct claim *list, int *count, const struct opencl_seat *seat,
	const char *what, const char *method)
{
	struct claim *r;
	char name[64];

	snprintf(name, sizeof name, "%s %s", seat->label, what);
	r = verify_begin(list, count, name);
	snprintf(r->device, sizeof r->device, "%s", seat->device->address);
	snprintf(r->method, sizeof r->method, "%s", method);
	return r;
}

static const char *verify_opencl_where(const struct opencl_seat *seat)
{
	return seat->gpu                      ? seat->device->address
		: opencl_is_gpu(seat->device) ? "unmatched: it does not tell its PCI address"
					      : "a processor, so it counts as no GPU";
}

/* A model's memory has a known speed: far less is another card, more was not measured. */
static void verify_opencl_judge_speed(struct claim *r, const struct opencl_seat *seat, const struct speed *s)
{
	int64_t slowest = 0, fastest = beyond_any;
	bool known = seat->gpu && gpu_bandwidth(seat->gpu->market, &slowest, &fastest);

	if (s->value > fastest / 10 * 13)
		verify_fail(r, "reinstall the vendor's driver; this answer was not computed by the card",
			"%s: no %s is faster than %" PRId64 " GB/s", seat->device->name,
			known ? seat->gpu->market : "memory", fastest / giga);
	else if (s->value < slowest / 10 * 3)
		verify_fail(r, "nvidia-smi or rocm-smi: end what uses it, look at its clocks and heat",
			"%s: the memory of a %s does %" PRId64 " GB/s", seat->device->name, seat->gpu->market,
			slowest / giga);
}

static void verify_opencl_judge(const struct opencl_seat *seat, const struct opencl_challenge *got, struct claim *list,
	int *count)
{
	struct claim *r = verify_opencl_result(list, count, seat, "memory", METHOD_MEMORY);
	/* a partition has its part of the card's memory */
	bool whole = seat->gpu && seat->gpu->memory != GPU_UNKNOWN &&
		(!*seat->gpu->partition || strncmp(seat->gpu->partition, "SPX", 3) == 0);

	verify_put(r, &got->write, MEGA, "MB/s");
	verify_say(r, "%s (%s): filled %" PRId64 " of %" PRId64 " MiB and read them back", seat->device->name,
		verify_opencl_where(seat), got->tested >> 20, got->memory >> 20);
	if (whole && got->memory < seat->gpu->memory / 10 * 9)
		verify_fail(r, "have the card checked: it is not what its id says",
			"%s: it has %" PRId64 " MiB, the bus and its driver say %" PRId64, seat->device->name,
			got->memory >> 20, seat->gpu->memory >> 20);
	else if (opencl_is_gpu(seat->device) && got->tested < got->memory / 10 * 8)
		verify_fail(r, "end what uses the card", "only %" PRId64 " of its %" PRId64 " MiB are free",
			got->tested >> 20, got->memory >> 20);
	else
		verify_opencl_judge_speed(r, seat, &got->write);
	r = verify_opencl_result(list, count, seat, "read", METHOD_MEMORY);
	verify_put(r, &got->read, MEGA, "MB/s");
	verify_say(r, "of its own memory");
	verify_opencl_judge_speed(r, seat, &got->read);
	r = verify_opencl_result(list, count, seat, "sums", METHOD_SUMS);
	verify_put(r, &got->sums, MEGA, "M/s");
	verify_say(r, "64-bit multiplications, compared with this machine's own");
	snprintf(r->answer, sizeof r->answer, "%" PRId64 ":%016" PRIx64, got->rounds, got->answer);
	if (!opencl_is_gpu(seat->device))
		return;
	r = verify_opencl_result(list, count, seat, "upload", METHOD_LINK);
	verify_put(r, &got->upload, MEGA, "MB/s");
	verify_say(r, "from this machine's memory to the card's");
	r = verify_opencl_result(list, count, seat, "download", METHOD_LINK);
	verify_put(r, &got->download, MEGA, "MB/s");
	verify_say(r, "from the card's memory to this machine's");
}

static void verify_opencl_one(const struct verify_setup *s, long index, const struct opencl_seat *seat,
	struct claim *list, int *count)
{
	bool gpu = opencl_is_gpu(seat->device);
	struct opencl_task t = { s, index, gpu ? 0 : PROCESSOR_BYTES, "" };
	struct opencl_told *told = calloc(1, sizeof *told);
	struct claim *r;

	if (!told)
		return;
	snprintf(t.test, sizeof t.test, "%s", *seat->device->address ? seat->device->address : seat->label);
	verify_opencl_ask(&t, s->deadline_ms, told);
	if (!told->rc) {
		verify_opencl_judge(seat, &told->got, list, count);
	} else {
		r = verify_opencl_result(list, count, seat, "memory", METHOD_MEMORY);
		if (gpu || told->rc == -EBADMSG)
			verify_fail(r, "end what uses it, restart the machine; if it comes back, have the card checked",
				"%s (%s): %s", seat->device->name, verify_opencl_where(seat), told->why.text);
		else
			verify_skip(r, "%s (%s): %s", seat->device->name, verify_opencl_where(seat), told->why.text);
	}
	free(told);
}

/* ---- All devices ------------------------------------------------------------------------------- */

static const struct gpu *verify_opencl_match(const struct inventory *v, const struct opencl_device *d)
{
	for (size_t i = 0; *d->address && i < v->gpu_count; i++)
		if (strcmp(v->gpus[i].pci.address, d->address) == 0)
			return &v->gpus[i];
	return NULL;
}

/* Two vendors' libraries may both show one card, and a divided card shows several devices: the first one counts. */
static bool verify_opencl_seen(const struct opencl_told *told, size_t i)
{
	for (size_t k = 0; *told->devices[i].address && k < i; k++)
		if (strcmp(told->devices[k].address, told->devices[i].address) == 0)
			return true;
	return false;
}

static void verify_opencl_devices(const struct verify_setup *s, const struct inventory *v,
	const struct opencl_told *told, struct claim *list, int *count)
{
	int gpus = 0, n = 0;

	for (size_t i = 0; i < told->count; i++)
		gpus += opencl_is_gpu(&told->devices[i]);
	for (size_t i = 0; i < told->count && n < GPUS_MOST; i++) {
		const struct opencl_device *d = &told->devices[i];
		struct opencl_seat seat = { .device = d, .gpu = verify_opencl_match(v, d) };

		if ((gpus && !opencl_is_gpu(d)) || verify_opencl_seen(told, i) || (seat.gpu && seat.gpu->integrated))
			continue;
		snprintf(seat.label, sizeof seat.label, "opencl %d", n++);
		if (!opencl_is_gpu(d))
			seat.gpu = NULL;
		if (opencl_is_gpu(d) && *d->address && !seat.gpu)
			verify_fail(verify_opencl_result(list, count, &seat, "memory", ""),
				"lspci: if the card is there, verify again",
				"%s says that it is at %s, where the bus has no GPU", d->name, d->address);
		else
			verify_opencl_one(s, (long)i, &seat, list, count);
	}
}

/* GPUs that neither OpenCL nor CUDA can measure: the owner has to install something. */
static size_t verify_opencl_missing(const struct inventory *v, const struct opencl_told *told, const char **vendor)
{
	size_t missing = 0;

	for (size_t i = 0; i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];
		bool seen = g->integrated || g->asleep || !*g->pci.driver || strcmp(g->pci.driver, "nouveau") == 0 ||
			strcmp(g->pci.driver, "nvidia") == 0;

		for (size_t k = 0; !seen && k < told->count; k++)
			seen = opencl_is_gpu(&told->devices[k]) &&
				(!*told->devices[k].address || strcmp(told->devices[k].address, g->pci.address) == 0);
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
	struct opencl_told *told = calloc(1, sizeof *told);
	struct opencl_task t = { .setup = s, .index = -1 };
	struct inventory *v = NULL;
	const char *install = "";
	size_t missing;

	if (!told || (s->opencl && !*s->opencl) ||
		inventory_read(&(struct inventory_setup){ .root = s->root, .nvml = "" }, &v)) {
		free(told);
		return;
	}
	verify_opencl_ask(&t, s->deadline_ms < LIST_MS ? s->deadline_ms : LIST_MS, told);
	if (!told->rc)
		verify_opencl_devices(s, v, told, list, count);
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
