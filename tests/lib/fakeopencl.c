/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libOpenCL.so.1 in tests, with one device at 0000:03:00.0; its programs are done here by hand, so what is
 * tested is who calls them. FAKE_OPENCL says how: good, nv, amd (it tells its address by another extension), nameless
 * (by none), elsewhere, cpu, short (half of the memory is not there), guess (it stores nothing and says that all is
 * right), wrong (it cannot count), lazy (12 TiB that it computes when they are read), huge, many, full, hang, crash,
 * none.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 6 << 20, LANES = 1024 * 256, LINK = 64 << 20, KINDS = 5, INVALID = -30, NO_PLATFORM = -1001, FULL = -4 };

#define SPREAD 0x9e3779b97f4a7c15ULL

int32_t clGetPlatformIDs(uint32_t room, void **ids, uint32_t *n);
int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t room, void **ids, uint32_t *n);
int32_t clGetDeviceInfo(void *id, uint32_t what, size_t size, void *to, size_t *got);
void *clCreateContext(const intptr_t *p, uint32_t n, void *const *ids,
	void (*f)(const char *, const void *, size_t, void *), void *arg, int32_t *error);
void *clCreateCommandQueue(void *context, void *id, uint64_t flags, int32_t *error);
void *clCreateProgramWithSource(void *context, uint32_t n, const char **text, const size_t *sizes, int32_t *error);
int32_t clBuildProgram(void *program, uint32_t n, void *const *ids, const char *flags, void (*f)(void *, void *),
	void *arg);
void *clCreateKernel(void *program, const char *name, int32_t *error);
int32_t clSetKernelArg(void *kernel, uint32_t i, size_t size, const void *value);
void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int32_t *error);
int32_t clReleaseMemObject(void *memory);
int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *lanes, const size_t *local, uint32_t n, void *const *wait, void **event);
int32_t clEnqueueReadBuffer(void *queue, void *memory, uint32_t block, size_t at, size_t size, void *to, uint32_t n,
	void *const *wait, void **event);
int32_t clEnqueueWriteBuffer(void *queue, void *memory, uint32_t block, size_t at, size_t size, const void *from,
	uint32_t n, void *const *wait, void **event);
int32_t clFinish(void *queue);

struct memory {
	uint64_t size, seed, base, rounds;
	enum { NOTHING, FILLED, SUMMED, SENT } holds; /* what a lazy one would have to compute */
	char *bytes;                                  /* NULL: lazy */
};

struct kernel {
	char name[8];
	uint64_t args[KINDS];
};

static uint64_t taken;
static char link_bytes[LINK];

static bool is(const char *mode)
{
	const char *set = getenv("FAKE_OPENCL");

	return set && strcmp(set, mode) == 0;
}

static void *made(size_t size, int32_t *error)
{
	*error = 0;
	return calloc(1, size);
}

int32_t clGetPlatformIDs(uint32_t room, void **ids, uint32_t *n)
{
	*n = room ? 1 : 0;
	ids[0] = &taken;
	return is("none") ? NO_PLATFORM : 0;
}

int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t room, void **ids, uint32_t *n)
{
	bool mine = type & (is("cpu") ? 2 : 4);

	ids[0] = platform;
	*n = is("many") ? 4000000000U : room ? 1 : 0;
	return mine ? 0 : -1;
}

static int32_t tell(size_t size, void *to, size_t *got, const void *from, size_t n)
{
	if (size < n)
		return INVALID;
	memcpy(to, from, n);
	*got = n;
	return 0;
}

static int32_t tell_address(uint32_t what, size_t size, void *to, size_t *got)
{
	uint32_t khr[4] = { 0, is("elsewhere") ? 9 : 3, 0, 0 }, n = what == 0x4008 ? 3 : 0;
	uint8_t amd[24] = { 1 };

	amd[21] = 3;
	if (what == 0x410f)
		return tell(size, to, got, khr, sizeof khr);
	if (what == 0x4037)
		return tell(size, to, got, amd, sizeof amd);
	return tell(size, to, got, &n, sizeof n);
}

int32_t clGetDeviceInfo(void *id, uint32_t what, size_t size, void *to, size_t *got)
{
	uint64_t type = is("cpu") ? 2 : 4,
		 memory = is("huge") ? UINT64_MAX
		: is("lazy")         ? 12ULL << 40
				     : ROOM,
		 most = is("lazy") ? memory / 4 : 4 << 20;
	const char *extensions = is("nv") ? "cl_khr_fp64 cl_nv_device_attribute_query"
		: is("amd")               ? "cl_amd_device_attribute_query cl_khr_fp64"
		: is("nameless")          ? "cl_khr_fp64"
					  : "cl_khr_pci_bus_info";
	uint32_t yes = 1;

	(void)id;
	switch (what) {
	case 0x1000:
		return tell(size, to, got, &type, sizeof type);
	case 0x1010:
		return tell(size, to, got, &most, sizeof most);
	case 0x101f:
		return tell(size, to, got, &memory, sizeof memory);
	case 0x1026:
	case 0x1027:
		return tell(size, to, got, &yes, sizeof yes);
	case 0x102b:
		return tell(size, to, got, "Fake\033 GPU", 10);
	case 0x102d:
		return tell(size, to, got, "1.0", 4);
	case 0x1030:
		return tell(size, to, got, extensions, strlen(extensions) + 1);
	default:
		return tell_address(what, size, to, got);
	}
}

void *clCreateContext(const intptr_t *p, uint32_t n, void *const *ids,
	void (*f)(const char *, const void *, size_t, void *), void *arg, int32_t *error)
{
	if (is("hang"))
		for (;;)
			pause();
	if (is("crash"))
		raise(SIGSEGV);
	return p || n != 1 || !ids || f || arg ? NULL : made(1, error);
}

void *clCreateCommandQueue(void *context, void *id, uint64_t flags, int32_t *error)
{
	return !context || !id || flags ? NULL : made(1, error);
}

void *clCreateProgramWithSource(void *context, uint32_t n, const char **text, const size_t *sizes, int32_t *error)
{
	return !context || n != 1 || sizes || !strstr(*text, "void fill(") ? NULL : made(1, error);
}

int32_t clBuildProgram(void *program, uint32_t n, void *const *ids, const char *flags, void (*f)(void *, void *),
	void *arg)
{
	return !program || n != 1 || !ids || !flags || f || arg ? INVALID : 0;
}

void *clCreateKernel(void *program, const char *name, int32_t *error)
{
	struct kernel *k = made(sizeof *k, error);

	memcpy(k->name, name, 5);
	return program ? k : NULL;
}

int32_t clSetKernelArg(void *kernel, uint32_t i, size_t size, const void *value)
{
	struct kernel *k = kernel;

	if (i >= KINDS || size != 8)
		return INVALID;
	memcpy(&k->args[i], value, 8);
	return 0;
}

void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int32_t *error)
{
	struct memory *m;

	if (!context || flags != 1 || host || (is("full") && taken + size > ROOM / 2)) {
		*error = FULL;
		return NULL;
	}
	m = made(sizeof *m, error);
	m->size = size;
	m->bytes = size <= LINK ? calloc(1, size) : NULL;
	taken += size;
	return m;
}

int32_t clReleaseMemObject(void *memory)
{
	struct memory *m = memory;

	taken -= m->size;
	free(m->bytes);
	free(m);
	return 0;
}

static uint64_t sum(uint64_t seed, uint64_t lane, uint64_t rounds)
{
	uint64_t v = seed + lane;

	for (uint64_t i = 0; i < rounds; i++)
		v = (v ^ v >> 29) * 6364136223846793005ULL + 1442695040888963407ULL;
	return v + is("wrong");
}

/* Where a word lands: half of a short memory is the other half again. */
static uint64_t place(uint64_t i, uint64_t n)
{
	uint64_t room = is("short") ? (n + 1) / 2 : n;

	return i < room ? i : i - room;
}

static void do_all(const struct kernel *k, struct memory *m, uint64_t n, uint64_t seed, uint64_t base)
{
	uint64_t *p = (uint64_t *)(void *)m->bytes;
	uint32_t *wrong = strcmp(k->name, "look") == 0 ? (void *)((struct memory *)(uintptr_t)k->args[4])->bytes : NULL;

	for (uint64_t i = 0; i < n && !is("guess"); i++) {
		uint64_t v = ((base + i) ^ seed) * SPREAD;

		if (wrong)
			wrong[i % LANES] += p[place(i, n)] != v;
		else
			p[place(i, n)] = v;
	}
}

int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *lanes, const size_t *local, uint32_t n, void *const *wait, void **event)
{
	const struct kernel *k = kernel;
	struct memory *m = (struct memory *)(uintptr_t)k->args[0];

	if (!queue || dimensions != 1 || offset || *lanes != LANES || local || n || wait || event)
		return INVALID;
	if (strcmp(k->name, "sums") == 0) {
		m->holds = SUMMED;
		m->rounds = k->args[1];
		m->seed = k->args[2];
	} else if (m->bytes) {
		m->holds = NOTHING;
		do_all(k, m, k->args[1], k->args[2], k->args[3]);
	} else {
		m->holds = FILLED;
		m->seed = k->args[2];
		m->base = k->args[3];
	}
	return 0;
}

int32_t clEnqueueReadBuffer(void *queue, void *memory, uint32_t block, size_t at, size_t size, void *to, uint32_t n,
	void *const *wait, void **event)
{
	struct memory *m = memory;
	uint64_t v;

	if (!queue || !block || n || wait || event || at + size > m->size)
		return INVALID;
	if (m->holds == SENT || (m->holds == NOTHING && m->bytes)) {
		memcpy(to, (m->holds == SENT ? link_bytes : m->bytes) + at, size);
		return 0;
	}
	v = m->holds == SUMMED ? sum(m->seed, at / 8, m->rounds) : ((m->base + at / 8) ^ m->seed) * SPREAD;
	memcpy(to, &v, size < 8 ? size : 8);
	return 0;
}

int32_t clEnqueueWriteBuffer(void *queue, void *memory, uint32_t block, size_t at, size_t size, const void *from,
	uint32_t n, void *const *wait, void **event)
{
	struct memory *m = memory;

	if (!queue || !block || n || wait || event || at + size > m->size || at + size > LINK)
		return INVALID;
	m->holds = m->bytes ? NOTHING : SENT;
	memcpy((m->bytes ? m->bytes : link_bytes) + at, from, size);
	return 0;
}

int32_t clFinish(void *queue)
{
	return queue ? 0 : INVALID;
}
