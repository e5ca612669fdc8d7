/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/nvml_processes.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/sysfs.h"

#define LIBRARY "libnvidia-ml.so.1"

enum { DEADLINE_MS = 10000, NOT_SUPPORTED = 3, KINDS = 3 };

/* Types as the library lays them out; the tail of nvml_place differs by version. */
struct nvml_use {
	unsigned pid;
	unsigned long long bytes;
	unsigned slice, part;
};
struct nvml_place {
	char legacy[16];
	unsigned domain, bus, device, ids, subsystem;
	char rest[64];
};
struct nvml_size {
	unsigned long long total, free, used;
};
struct nvml_size2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct processes_calls {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, void **);
	int (*place)(void *, struct nvml_place *);
	int (*size)(void *, struct nvml_size *);
	int (*size2)(void *, struct nvml_size2 *);
	int (*uses[KINDS])(void *, unsigned *, struct nvml_use *); /* that compute, that draw, clients of MPS */
};

static const struct {
	size_t at;
	bool needed;
	const char *names[2]; /* newest first */
} processes_symbols[] = {
	{ offsetof(struct processes_calls, init), true, { "nvmlInit_v2" } },
	{ offsetof(struct processes_calls, count), true, { "nvmlDeviceGetCount_v2" } },
	{ offsetof(struct processes_calls, handle), true, { "nvmlDeviceGetHandleByIndex_v2" } },
	{ offsetof(struct processes_calls, place), true, { "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2" } },
	{ offsetof(struct processes_calls, size), true, { "nvmlDeviceGetMemoryInfo" } },
	{ offsetof(struct processes_calls, size2), false, { "nvmlDeviceGetMemoryInfo_v2" } },
	{ offsetof(struct processes_calls, uses[0]), true,
		{ "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" } },
	{ offsetof(struct processes_calls, uses[1]), false,
		{ "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2" } },
	{ offsetof(struct processes_calls, uses[2]), false,
		{ "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2" } },
};

/* The child's answer. */
struct processes_told {
	int code; /* 0 or a negative errno */
	char why[200];
	struct nvml_processes found;
};

/* ---- In the child ------------------------------------------------------------------------- */

static int processes_say(struct processes_told *t, int code, const char *what, const char *why)
{
	t->code = code;
	snprintf(t->why, sizeof t->why, "%s%s%s", what, *why ? ": " : "", why);
	return code;
}

static int processes_load(const char *library, struct processes_calls *c, struct processes_told *t)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const char *why = lib ? "" : dlerror();

	if (!lib)
		return processes_say(t, -ENOENT, "cannot load it", why ? why : "");
	for (size_t i = 0; i < sizeof processes_symbols / sizeof *processes_symbols; i++) {
		void *found = NULL;

		for (size_t k = 0; !found && k < 2 && processes_symbols[i].names[k]; k++)
			found = dlsym(lib, processes_symbols[i].names[k]);
		if (!found && processes_symbols[i].needed)
			return processes_say(t, -ENOTSUP, "it lacks", processes_symbols[i].names[0]);
		memcpy((char *)c + processes_symbols[i].at, &found, sizeof found);
	}
	return 0;
}

/*
 * What it does not tell of one GPU: who holds memory of that one is not known at all. No process is named: the reason
 * is news for the owner, and one that changes with each look would be so each time.
 */
static int processes_blind(struct processes_told *t, int code, const char *what)
{
	struct nvml_processes *n = &t->found;
	size_t k = n->gpu_count;
	char address[sizeof n->gpus[k].address];

	memcpy(address, n->gpus[k].address, sizeof address);
	n->gpus[k].code = code;
	snprintf(n->gpus[k].why, sizeof n->gpus[k].why, "%s of the GPU at %s", what, address);
	while (n->count && strcmp(n->list[n->count - 1].address, address) == 0)
		n->count--;
	return code;
}

/* A process that computes and draws is in two lists, with all that it holds in each. */
static int processes_add(struct processes_told *t, const struct nvml_use *u)
{
	struct nvml_processes *n = &t->found;
	const char *address = n->gpus[n->gpu_count].address;
	size_t i = 0;

	if (u->bytes > INT64_MAX)
		return processes_blind(t, -ENOTSUP, "it does not tell how much memory a process holds");
	while (i < n->count && (n->list[i].pid != (pid_t)u->pid || strcmp(n->list[i].address, address) != 0))
		i++;
	if (i == NVML_PROCESSES)
		return processes_blind(t, -E2BIG, "it tells of too many processes");
	if (i == n->count) {
		n->list[n->count++] = (struct nvml_process){ .pid = (pid_t)u->pid };
		memcpy(n->list[i].address, address, sizeof n->list[i].address);
	}
	if ((int64_t)u->bytes > n->list[i].bytes)
		n->list[i].bytes = (int64_t)u->bytes;
	return 0;
}

static int processes_list(const struct processes_calls *c, void *d, struct processes_told *t)
{
	static struct nvml_use uses[NVML_PROCESSES]; /* static, but only the child uses it */
	int rc = 0;

	for (int kind = 0; !rc && kind < KINDS; kind++) {
		unsigned count = NVML_PROCESSES;
		int said = c->uses[kind] ? c->uses[kind](d, &count, uses) : NOT_SUPPORTED;

		if (said == NOT_SUPPORTED && kind > 0)
			continue;
		if (said || count > NVML_PROCESSES) {
			char what[80];

			snprintf(what, sizeof what, "it does not tell (error %d) which processes hold memory", said);
			return processes_blind(t, said == NOT_SUPPORTED ? -ENOTSUP : -EIO, what);
		}
		for (unsigned i = 0; !rc && i < count; i++)
			rc = processes_add(t, &uses[i]);
	}
	return rc;
}

/* What processes can have of it; 0: it does not tell. Returns the library's error. */
static int processes_memory(const struct processes_calls *c, void *d, int64_t *memory)
{
	struct nvml_size2 two = { .version = sizeof two | 2U << 24 };
	struct nvml_size one = { 0 };
	int said = 0;

	if (c->size2 && !c->size2(d, &two) && two.reserved < two.total && two.total <= INT64_MAX) {
		*memory = (int64_t)(two.total - two.reserved);
	} else {
		said = c->size(d, &one);
		*memory = said || one.total > INT64_MAX ? 0 : (int64_t)one.total;
	}
	return said;
}

static int processes_ask(const char *library, struct processes_told *t)
{
	struct nvml_processes *n = &t->found;
	struct processes_calls c = { 0 };
	unsigned count = 0;
	int rc = processes_load(library, &c, t);

	if (rc)
		return rc;
	if (c.init() || c.count(&count))
		return processes_say(t, -EIO, "it does not start: is the driver loaded?", "");
	for (unsigned i = 0; i < count && i < NVML_GPUS; i++) {
		struct nvml_place p = { .domain = 0 };
		void *d = NULL;
		int said;

		/* One that fell off the bus says nothing. Health tells of it. */
		if (c.handle(i, &d) || c.place(d, &p))
			continue;
		snprintf(n->gpus[n->gpu_count].address, sizeof n->gpus[0].address, "%04x:%02x:%02x.0",
			p.domain & 0xffffff, p.bus & 0xff, p.device & 0x1f);
		said = processes_memory(&c, d, &n->gpus[n->gpu_count].memory);
		if (!n->gpus[n->gpu_count].memory)
			processes_blind(t, said && said != NOT_SUPPORTED ? -EIO : -ENOTSUP,
				"it does not tell the memory");
		else
			processes_list(&c, d, t);
		n->gpu_count++;
	}
	return 0;
}

static int processes_work(void *arg, int fd)
{
	static struct processes_told told; /* static, but only the child uses it */

	processes_ask(arg, &told);
	return gpuchild_write(fd, &told, sizeof told);
}

/* ---- In the agent -------------------------------------------------------------------------- */

static int processes_take(const struct buf *b, struct nvml_processes *out, struct fail *f)
{
	const struct processes_told *t = (const void *)b->data;
	bool good = b->len == sizeof *t;

	if (good && t->code)
		return fail_set(f, t->code, "%.*s", (int)sizeof t->why - 1, t->why);
	good = good && t->found.count <= NVML_PROCESSES && t->found.gpu_count <= NVML_GPUS;
	for (size_t i = 0; good && i < t->found.gpu_count; i++)
		good = memchr(t->found.gpus[i].address, '\0', sizeof t->found.gpus[i].address) &&
			memchr(t->found.gpus[i].why, '\0', sizeof t->found.gpus[i].why);
	for (size_t i = 0; good && i < t->found.count; i++)
		good = memchr(t->found.list[i].address, '\0', sizeof t->found.list[i].address) != NULL;
	if (!good)
		return fail_set(f, -EIO, "its answer is invalid");
	*out = t->found;
	return 0;
}

int nvml_processes_of(const struct nvml_processes *n, const char *address, int64_t *memory, struct fail *f)
{
	size_t i = 0;

	while (i < n->gpu_count && strcmp(n->gpus[i].address, address) != 0)
		i++;
	if (i == n->gpu_count)
		return fail_set(f, -ENODEV, "'%s' does not reach the GPU at %s", LIBRARY, address);
	if (n->gpus[i].code)
		return fail_set(f, n->gpus[i].code, "'%s': %s", LIBRARY, n->gpus[i].why);
	if (memory)
		*memory = n->gpus[i].memory;
	return 0;
}

int nvml_processes_read(const char *root, struct nvml_processes *out, struct fail *f)
{
	char room[SYSFS_PATH];
	const char *own = sysfs_library(root, LIBRARY, room), *name = own ? own : LIBRARY;
	struct fail why = { 0 };
	struct buf told;
	int rc = *name ? 0 : fail_set(&why, -ENOENT, "it is not installed");

	buf_init(&told, sizeof(struct processes_told) + 1);
	rc = rc ? rc : gpuchild_run(processes_work, (void *)(uintptr_t)name, DEADLINE_MS, &told, &why);
	rc = rc ? rc : processes_take(&told, out, &why);
	buf_release(&told);
	return rc ? fail_set(f, rc, "'%s': %s", LIBRARY, why.text) : 0;
}
