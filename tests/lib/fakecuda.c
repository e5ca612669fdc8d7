/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libcuda.so.1 in tests: its three programs are done here by hand, so what is tested is who calls them. What
 * they are is looked at as they are loaded: a few threads of each are run as they are written.
 * FAKE_CUDA says how: good; short (half of the memory is not there); guess (it stores nothing and says that all is
 * right); wrong (it cannot count); elsewhere (where the bus has no GPU); busy; hang (the first one); none; refuse.
 * FAKE_CUDA_GPUS: how many there are, at 0000:01:00.0 and the next buses; 2 where it is not set. FAKE_CUDA_KEPT: a
 * folder with a FIFO for each, nvidia0 and so on: it starts only when somebody else has all of them open.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakeptx.h"

#define SPREAD 0x9e3779b97f4a7c15ULL

enum { ROOM = 6 << 20, LANES = 1024 * 256, DONE_NOTHING = 100 };

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *d, int i);
int cuDeviceGetName(char *room, int size, int d);
int cuDeviceGetPCIBusId(char *room, int size, int d);
int cuDeviceTotalMem_v2(size_t *n, int d);
int cuDevicePrimaryCtxRetain(void **c, int d);
int cuDevicePrimaryCtxRelease_v2(int d);
int cuCtxSetCurrent(void *c);
int cuMemGetInfo_v2(size_t *room, size_t *total);
int cuMemAlloc_v2(uint64_t *p, size_t n);
int cuMemFree_v2(uint64_t p);
int cuMemcpyDtoH_v2(void *to, uint64_t p, size_t n);
int cuMemcpyHtoD_v2(uint64_t p, const void *from, size_t n);
int cuMemsetD8_v2(uint64_t p, unsigned char c, size_t n);
int cuModuleLoadData(void **m, const void *text);
int cuModuleUnload(void *m);
int cuModuleGetFunction(void **f, void *m, const char *name);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **args, void **extra);
int cuCtxSynchronize(void);

/* As the market has it: market/challenge.h. */
static uint64_t step(uint64_t v)
{
	return (v ^ v >> 29) * 6364136223846793005ULL + 1442695040888963407ULL;
}

static bool is(const char *mode)
{
	const char *set = getenv("FAKE_CUDA");

	return set && strcmp(set, mode) == 0;
}

/* Waits for who opens it to read. */
static bool is_kept(const char *folder, int i)
{
	char path[1024];
	int fd;

	snprintf(path, sizeof path, "%s/nvidia%d", folder, i);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int cuInit(unsigned flags)
{
	const char *kept = getenv("FAKE_CUDA_KEPT");
	int n;

	(void)flags;
	cuDeviceGetCount(&n);
	for (int i = 0; kept && i < n; i++)
		if (!is_kept(kept, i))
			return DONE_NOTHING;
	return is("none") ? DONE_NOTHING : 0;
}

int cuDeviceGetCount(int *n)
{
	const char *set = getenv("FAKE_CUDA_GPUS");

	*n = set ? atoi(set) : 2;
	return 0;
}

int cuDeviceGet(int *d, int i)
{
	*d = i;
	return 0;
}

int cuDeviceGetName(char *room, int size, int d)
{
	(void)d;
	snprintf(room, (size_t)size, "Fake\033 RTX");
	return 0;
}

int cuDeviceGetPCIBusId(char *room, int size, int d)
{
	snprintf(room, (size_t)size, "0000:%02X:00.0", is("elsewhere") ? 0xee - d : d + 1);
	return 0;
}

int cuDeviceTotalMem_v2(size_t *n, int d)
{
	(void)d;
	*n = ROOM;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **c, int d)
{
	static int context;

	if (is("hang") && d == 0)
		for (;;)
			pause();
	*c = &context;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int d)
{
	(void)d;
	return 0;
}

int cuCtxSetCurrent(void *c)
{
	(void)c;
	return 0;
}

int cuMemGetInfo_v2(size_t *room, size_t *total)
{
	*room = is("busy") ? ROOM / 2 : ROOM;
	*total = ROOM;
	return 0;
}

int cuMemAlloc_v2(uint64_t *p, size_t n)
{
	void *made = n > ROOM ? NULL : malloc(n);

	*p = (uint64_t)(uintptr_t)made;
	return made ? 0 : 2;
}

int cuMemFree_v2(uint64_t p)
{
	free((void *)(uintptr_t)p);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t p, size_t n)
{
	memcpy(to, (const void *)(uintptr_t)p, n);
	return 0;
}

int cuMemcpyHtoD_v2(uint64_t p, const void *from, size_t n)
{
	memcpy((void *)(uintptr_t)p, from, n);
	return 0;
}

int cuMemsetD8_v2(uint64_t p, unsigned char c, size_t n)
{
	memset((void *)(uintptr_t)p, c, n);
	return 0;
}

static bool sums_are_right(const char *text, uint64_t rounds)
{
	struct ptx_place at = { .block = 3, .blocks = LANES / 256, .thread = 5, .threads = 256 };
	uint64_t lane = 3 * 256 + 5, seed = 0xfedcba9876543210, v = seed + lane, got = 0;
	const uint64_t args[4] = { (uint64_t)(uintptr_t)&got - lane * 8, rounds, seed, 0 };

	for (uint64_t i = 0; i < rounds; i++)
		v = step(v);
	return fakeptx_run(text, "sums", args, at) && got == v;
}

/* Five words by two threads; then one of them is changed. */
static bool memory_is_right(const char *text)
{
	uint64_t words[6] = { 0 }, wrong = 0, seed = 0xfedcba9876543210;
	const uint64_t args[4] = { (uint64_t)(uintptr_t)words, 5, seed, (uint64_t)(uintptr_t)&wrong };
	struct ptx_place at = { .blocks = 1, .threads = 2 };
	bool right = true;

	for (at.thread = 0; at.thread < 2; at.thread++)
		right = fakeptx_run(text, "fill", args, at) && right;
	for (uint64_t i = 0; i < 6; i++)
		right = right && words[i] == (i < 5 ? (i ^ seed) * SPREAD : 0);
	for (at.thread = 0; at.thread < 2; at.thread++)
		right = fakeptx_run(text, "look", args, at) && right;
	right = right && wrong == 0;
	words[3]++;
	for (at.thread = 0; at.thread < 2; at.thread++)
		right = fakeptx_run(text, "look", args, at) && right;
	return right && wrong == 1;
}

int cuModuleLoadData(void **m, const void *text)
{
	*m = (void *)(uintptr_t)text;
	return is("refuse") || !sums_are_right(text, 0) || !sums_are_right(text, 7) || !memory_is_right(text) ? 218 : 0;
}

int cuModuleUnload(void *m)
{
	(void)m;
	return 0;
}

int cuModuleGetFunction(void **f, void *m, const char *name)
{
	char entry[64];

	snprintf(entry, sizeof entry, ".visible .entry %s(", name);
	*f = (void *)(uintptr_t)name;
	return strstr(m, entry) ? 0 : 500;
}

/* Where a word lands: half of a short memory is the other half again. */
static uint64_t place(uint64_t i, uint64_t room)
{
	return i < room ? i : i - room;
}

static void sums(uint64_t *p, uint64_t n, uint64_t seed)
{
	for (uint64_t k = 0; k < 64; k++) { /* only the lanes that are looked at */
		uint64_t lane = (seed + k * SPREAD) % LANES, v = seed + lane;

		for (uint64_t i = 0; i < n; i++)
			v = step(v);
		p[lane] = v + is("wrong");
	}
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **args, void **extra)
{
	uint64_t *p = (uint64_t *)(uintptr_t) * (uint64_t *)args[0], n = *(uint64_t *)args[1],
		 seed = *(uint64_t *)args[2], wrong = 0, room = is("short") ? (n + 1) / 2 : n;

	if (stream || extra || shared || gy != 1 || gz != 1 || by != 1 || bz != 1 || (uint64_t)gx * bx != LANES)
		return 1;
	if (strcmp(f, "fill") == 0 && !is("guess"))
		for (uint64_t i = 0; i < n; i++)
			p[place(i, room)] = (i ^ seed) * SPREAD;
	if (strcmp(f, "look") == 0 && !is("guess")) {
		for (uint64_t i = 0; i < n; i++)
			wrong += p[place(i, room)] != (i ^ seed) * SPREAD;
		*(uint64_t *)(uintptr_t)*(uint64_t *)args[3] += wrong;
	}
	if (strcmp(f, "sums") == 0)
		sums(p, n, seed);
	return 0;
}

int cuCtxSynchronize(void)
{
	return 0;
}
