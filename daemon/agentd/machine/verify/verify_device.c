/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/verify/verify_device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpuchild.h"
#include "base/clock.h"
#include "market/challenge.h"

static const int64_t giga = 1000 * 1000 * 1000, beyond_any = 64000LL * 1000 * 1000 * 1000; /* bytes a second */

enum { MEGA = 1000 * 1000, PROCESSOR_BYTES = 64 << 20 };

#define METHOD_MEMORY "9/10 filled from the nonce; all compared there, 64 random places here"
#define METHOD_SUMS "64-bit multiplications from the nonce; 64 lanes compared here"
#define METHOD_LINK "64 MiB by the bus, compared here"

/* ---- Children --------------------------------------------------------------------------------- */

struct device_job {
	const struct device_library *library;
	const struct device_task *task;
};

static int verify_device_work(void *arg, int fd)
{
	const struct device_job *j = arg;
	struct device_told *told = calloc(1, sizeof *told);
	int rc;

	if (!told)
		return -1;
	j->library->work(j->task, told);
	rc = gpuchild_write(fd, told, sizeof *told);
	free(told);
	return rc;
}

/* Asks a child; its failure, or that it gave none, is in *told. */
static void verify_device_ask(const struct device_library *l, const struct device_task *t, struct device_told *told)
{
	const struct verify_setup *s = t->setup;
	struct device_job j = { l, t };
	struct buf answer;

	memset(told, 0, sizeof *told);
	if (s->ends_ms && clock_ms() + s->deadline_ms > s->ends_ms) {
		told->rc = fail_set(&told->why, -ETIMEDOUT,
			"it was not asked: what was measured before it took the time of all");
		return;
	}
	buf_init(&answer, sizeof *told + 1);
	told->rc = gpuchild_run(verify_device_work, &j, s->deadline_ms, &answer, &told->why);
	if (!told->rc && answer.len == sizeof *told)
		memcpy(told, answer.data, sizeof *told);
	else if (!told->rc)
		told->rc = fail_set(&told->why, -EIO, "its answer is invalid");
	buf_release(&answer);
}

void verify_device_list(const struct device_library *l, const struct verify_setup *s, struct device_told *told)
{
	struct device_task t = { .setup = s, .index = -1 };

	verify_device_ask(l, &t, told);
}

/* ---- Judging one device ------------------------------------------------------------------------ */

struct device_seat {
	const struct device *device;
	const struct gpu *gpu; /* of the inventory; NULL: unmatched, or a processor */
	char label[24];        /* "opencl 0" */
	const struct device_library *library;
};

static struct claim *verify_device_result(struct claim *list, int *count, const struct device_seat *seat,
	const char *what, const char *method)
{
	struct claim *r;
	char name[64];

	snprintf(name, sizeof name, "%s %s", seat->label, what);
	r = verify_begin(list, count, name);
	snprintf(r->device, sizeof r->device, "%s", seat->device->address);
	snprintf(r->method, sizeof r->method, "%s: %s", seat->library->name, method);
	return r;
}

static const char *verify_device_where(const struct device_seat *seat)
{
	return seat->gpu               ? seat->device->address
		: seat->device->is_gpu ? "unmatched: it does not tell its PCI address"
				       : "a processor, so it counts as no GPU";
}

/* A model's memory has a known speed: far less is another card, more was not measured. */
static void verify_device_judge_speed(struct claim *r, const struct device_seat *seat, const struct speed *s)
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

static void verify_device_judge(const struct device_seat *seat, const struct gpu_challenge *got, struct claim *list,
	int *count)
{
	struct claim *r = verify_device_result(list, count, seat, "memory", METHOD_MEMORY);
	/* a partition has its part of the card's memory */
	bool whole = seat->gpu && seat->gpu->memory != GPU_UNKNOWN &&
		(!*seat->gpu->partition || strncmp(seat->gpu->partition, "SPX", 3) == 0);

	verify_put(r, &got->write, MEGA, "MB/s");
	verify_say(r, "%s (%s): filled %" PRId64 " of %" PRId64 " MiB and read them back", seat->device->name,
		verify_device_where(seat), got->tested >> 20, got->memory >> 20);
	if (whole && got->memory < seat->gpu->memory / 10 * 9)
		verify_fail(r,
			"have the card checked: it is not what its id says; or, if MIG divides it, nvidia-smi -mig 0",
			"%s: it has %" PRId64 " MiB, the bus and its driver say %" PRId64, seat->device->name,
			got->memory >> 20, seat->gpu->memory >> 20);
	else if (seat->device->is_gpu && got->tested < got->memory / 10 * 8)
		verify_fail(r, "end what uses the card", "only %" PRId64 " of its %" PRId64 " MiB are free",
			got->tested >> 20, got->memory >> 20);
	else
		verify_device_judge_speed(r, seat, &got->write);
	r = verify_device_result(list, count, seat, "read", METHOD_MEMORY);
	verify_put(r, &got->read, MEGA, "MB/s");
	verify_say(r, "of its own memory");
	verify_device_judge_speed(r, seat, &got->read);
	r = verify_device_result(list, count, seat, "sums", METHOD_SUMS);
	verify_put(r, &got->sums, MEGA, "M/s");
	verify_say(r, "64-bit multiplications, compared with this machine's own");
	snprintf(r->answer, sizeof r->answer, "%" PRId64 ":%016" PRIx64, got->rounds, got->answer);
	if (!seat->device->is_gpu)
		return;
	r = verify_device_result(list, count, seat, "upload", METHOD_LINK);
	verify_put(r, &got->upload, MEGA, "MB/s");
	verify_say(r, "from this machine's memory to the card's");
	r = verify_device_result(list, count, seat, "download", METHOD_LINK);
	verify_put(r, &got->download, MEGA, "MB/s");
	verify_say(r, "from the card's memory to this machine's");
}

static void verify_device_one(const struct verify_setup *s, long index, const struct device_seat *seat,
	struct claim *list, int *count)
{
	bool gpu = seat->device->is_gpu;
	struct device_task t = { .setup = s, .index = index, .most = gpu ? 0 : PROCESSOR_BYTES };
	struct device_told *told = calloc(1, sizeof *told);
	struct claim *r;

	if (!told)
		return;
	t.seed = challenge_seed(s->nonce, *seat->device->address ? seat->device->address : seat->label);
	verify_device_ask(seat->library, &t, told);
	if (!told->rc) {
		verify_device_judge(seat, &told->got, list, count);
	} else {
		r = verify_device_result(list, count, seat, "memory", METHOD_MEMORY);
		if (gpu || told->rc == -EBADMSG)
			verify_fail(r,
				"nvidia-smi or rocm-smi: end what uses it, restart the machine; if it comes back, have "
				"the card checked",
				"%s (%s): %s", seat->device->name, verify_device_where(seat), told->why.text);
		else
			verify_skip(r, "%s (%s): %s", seat->device->name, verify_device_where(seat), told->why.text);
	}
	free(told);
}

/* ---- All devices ------------------------------------------------------------------------------- */

static const struct gpu *verify_device_match(const struct inventory *v, const struct device *d)
{
	for (size_t i = 0; *d->address && i < v->gpu_count; i++)
		if (strcmp(v->gpus[i].pci.address, d->address) == 0)
			return &v->gpus[i];
	return NULL;
}

/* Two vendors' libraries may both show one card, and a divided card shows several devices: the first one counts. */
static bool verify_device_seen(const struct device_told *told, size_t i)
{
	for (size_t k = 0; *told->list[i].address && k < i; k++)
		if (strcmp(told->list[k].address, told->list[i].address) == 0)
			return true;
	return false;
}

/* Did another library challenge it? */
static bool verify_device_done(const struct claims *before, const char *address)
{
	for (size_t i = 0; before && *address && i < before->count; i++) {
		const struct claim *c = &before->list[i];
		size_t len = strlen(c->check);

		if (strcmp(c->device, address) == 0 && len > 7 && strcmp(c->check + len - 7, " memory") == 0)
			return true;
	}
	return false;
}

void verify_device_all(const struct device_library *l, const struct verify_setup *s, const struct inventory *v,
	const struct device_told *told, struct claim *list, int *count)
{
	int gpus = 0, n = 0;

	for (size_t i = 0; i < told->count; i++)
		gpus += told->list[i].is_gpu;
	for (size_t i = 0; i < told->count; i++) {
		const struct device *d = &told->list[i];
		struct device_seat seat = { .device = d, .gpu = verify_device_match(v, d), .library = l };

		if ((gpus && !d->is_gpu) || verify_device_seen(told, i) || (seat.gpu && seat.gpu->integrated) ||
			verify_device_done(s->before, d->address))
			continue;
		snprintf(seat.label, sizeof seat.label, "%s %d", l->label, n++);
		if (!d->is_gpu)
			seat.gpu = NULL;
		if (d->is_gpu && *d->address && !seat.gpu)
			verify_fail(verify_device_result(list, count, &seat, "memory", "its PCI address"),
				"lspci: if the card is there, verify again",
				"%s says that it is at %s, where the bus has no GPU", d->name, d->address);
		else
			verify_device_one(s, (long)i, &seat, list, count);
	}
}
