/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/gpu_challenge.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/challenge_check.h"
#include "agentd/os/vendor_calls.h"
#include "base/clock.h"
#include "market/challenge.h"

#define LIBRARY "libcuda.so.1"

enum { THREADS = 256, BLOCKS = CHALLENGE_LANES / THREADS, ROUNDS = CHALLENGE_ROUNDS_MOST };

static const size_t lanes_bytes = CHALLENGE_LANES * 8ULL;

typedef unsigned long long device_pointer;

/* Every function begins alike: i is this thread's number, d the number of threads. */
#define HEAD(name, parameters) \
	".visible .entry " name "(" parameters ")\n{\n" \
	".reg .pred %q;\n.reg .u32 %a, %b, %c;\n.reg .u64 %p, %n, %s, %i, %d, %v, %t, %k, %e;\n" \
	"mov.u32 %a, %ctaid.x;\nmov.u32 %b, %ntid.x;\nmov.u32 %c, %tid.x;\n" \
	"mul.wide.u32 %i, %a, %b;\ncvt.u64.u32 %t, %c;\nadd.u64 %i, %i, %t;\n" \
	"mov.u32 %a, %nctaid.x;\nmul.wide.u32 %d, %a, %b;\n" \
	"ld.param.u64 %p, [x0];\nld.param.u64 %n, [x1];\nld.param.u64 %s, [x2];\ncvta.to.global.u64 %p, %p;\n"
#define THREE ".param .u64 x0, .param .u64 x1, .param .u64 x2"
#define FOUR THREE ", .param .u64 x3"

static const char program[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
	/* fill(p, n, seed): p[i] = (i ^ seed) * SPREAD */
	HEAD("fill", THREE) "mov.u64 %k, 0x9e3779b97f4a7c15;\n"
			    "L: setp.ge.u64 %q, %i, %n;\n@%q bra E;\n"
			    "xor.b64 %v, %i, %s;\nmul.lo.u64 %v, %v, %k;\nshl.b64 %t, %i, 3;\nadd.u64 %t, %p, "
			    "%t;\nst.global.u64 [%t], %v;\n"
			    "add.u64 %i, %i, %d;\nbra L;\nE: ret;\n}\n"
	/* look(p, n, seed, wrong): counts the words that do not hold what fill() wrote */
	HEAD("look", FOUR) "ld.param.u64 %e, [x3];\ncvta.to.global.u64 %e, %e;\nmov.u64 %k, 0x9e3779b97f4a7c15;\n"
			   "L: setp.ge.u64 %q, %i, %n;\n@%q bra E;\n"
			   "xor.b64 %v, %i, %s;\nmul.lo.u64 %v, %v, %k;\nshl.b64 %t, %i, 3;\nadd.u64 %t, %p, "
			   "%t;\nld.global.u64 %t, [%t];\n"
			   "setp.eq.u64 %q, %t, %v;\n@%q bra N;\nmov.u64 %t, 1;\natom.global.add.u64 %v, [%e], %t;\n"
			   "N: add.u64 %i, %i, %d;\nbra L;\nE: ret;\n}\n"
	/* sums(p, n, seed): p[i] = seed + i, then n rounds of (p[i] ^ p[i] >> 29) * multiplier + increment */
	HEAD("sums", THREE) "mov.u64 %k, 6364136223846793005;\nmov.u64 %e, 1442695040888963407;\nadd.u64 %v, %s, %i;\n"
			    "L: setp.eq.u64 %q, %n, 0;\n@%q bra E;\nshr.u64 %t, %v, 29;\nxor.b64 %v, %v, %t;\n"
			    "mul.lo.u64 %v, %v, %k;\nadd.u64 %v, %v, %e;\nsub.u64 %n, %n, 1;\nbra L;\n"
			    "E: shl.b64 %t, %i, 3;\nadd.u64 %t, %p, %t;\nst.global.u64 [%t], %v;\nret;\n}\n";

struct cuda {
	void *library;
	int (*init)(unsigned);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*name)(char *, int, int);
	int (*address)(char *, int, int);
	int (*total)(size_t *, int);
	int (*retain)(void **, int);
	int (*release)(int);
	int (*current)(void *);
	int (*room)(size_t *, size_t *);
	int (*alloc)(device_pointer *, size_t);
	int (*free)(device_pointer);
	int (*fetch)(void *, device_pointer, size_t);
	int (*send)(device_pointer, const void *, size_t);
	int (*set)(device_pointer, unsigned char, size_t);
	int (*load)(void **, const void *);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		void **);
	int (*wait)(void);
};

static const struct vendor_call symbols[] = {
	{ "cuInit", offsetof(struct cuda, init) },
	{ "cuDeviceGetCount", offsetof(struct cuda, count) },
	{ "cuDeviceGet", offsetof(struct cuda, get) },
	{ "cuDeviceGetName", offsetof(struct cuda, name) },
	{ "cuDeviceGetPCIBusId", offsetof(struct cuda, address) },
	{ "cuDeviceTotalMem_v2", offsetof(struct cuda, total) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct cuda, retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct cuda, release) },
	{ "cuCtxSetCurrent", offsetof(struct cuda, current) },
	{ "cuMemGetInfo_v2", offsetof(struct cuda, room) },
	{ "cuMemAlloc_v2", offsetof(struct cuda, alloc) },
	{ "cuMemFree_v2", offsetof(struct cuda, free) },
	{ "cuMemcpyDtoH_v2", offsetof(struct cuda, fetch) },
	{ "cuMemcpyHtoD_v2", offsetof(struct cuda, send) },
	{ "cuMemsetD8_v2", offsetof(struct cuda, set) },
	{ "cuModuleLoadData", offsetof(struct cuda, load) },
	{ "cuModuleUnload", offsetof(struct cuda, unload) },
	{ "cuModuleGetFunction", offsetof(struct cuda, function) },
	{ "cuLaunchKernel", offsetof(struct cuda, launch) },
	{ "cuCtxSynchronize", offsetof(struct cuda, wait) },
};

int gpu_challenge_open(const char *library, struct cuda **out, int *count, struct fail *f)
{
	const char *name = library ? library : LIBRARY;
	struct cuda *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = vendor_calls_load(name, symbols, sizeof symbols / sizeof *symbols, c, &c->library, f);
	if (!rc) {
		int said = c->init(0);

		said = said ? said : c->count(count);
		if (said)
			rc = fail_set(f, -EIO, "'%s' fails to initialise: error %d", name, said);
	}
	if (rc)
		gpu_challenge_close(c);
	else
		*out = c;
	return rc;
}

void gpu_challenge_close(struct cuda *c)
{
	if (c && c->library)
		dlclose(c->library);
	free(c);
}

/* As sysfs writes it: CUDA has capital letters, and may have more zeros. */
static void gpu_challenge_address(const char *said, char address[PCI_ADDRESS])
{
	unsigned domain = 0, bus = 0, device = 0, function = 0;
	int used = 0;

	*address = '\0';
	if (sscanf(said, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) == 4 && !said[used] &&
		domain <= 0xfffff && device <= 0x1f && function <= 7)
		snprintf(address, PCI_ADDRESS, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

int gpu_challenge_name(struct cuda *c, int index, char *name, size_t size, char address[PCI_ADDRESS], struct fail *f)
{
	char said[64] = "";
	int device;

	if (c->get(&device, index) || c->name(name, (int)size, device))
		return fail_set(f, -EIO, "it does not report its name");
	name[size - 1] = '\0';
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	if (c->address(said, sizeof said, device))
		*said = '\0';
	said[sizeof said - 1] = '\0';
	gpu_challenge_address(said, address);
	return 0;
}

/* ---- One GPU ----------------------------------------------------------------------------------- */

struct run {
	struct cuda *c;
	void *module;
	device_pointer memory, wrong;
	uint64_t words, seed;
	char *host; /* for what goes up and down */
	struct fail *f;
};

/* Microseconds, or -EIO. */
static int64_t gpu_challenge_launch(struct run *r, const char *name, device_pointer p, uint64_t n, device_pointer extra)
{
	void *args[] = { &p, &n, &r->seed, &extra, NULL }, *function = NULL;
	int64_t began = clock_us();
	int said = r->c->function(&function, r->module, name);

	said = said ? said : r->c->launch(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL);
	said = said ? said : r->c->wait();
	if (said)
		return fail_set(r->f, -EIO, "error %d for '%s'", said, name);
	return clock_us() - began;
}

static int gpu_challenge_fetch(void *run, uint64_t at, void *to, size_t size)
{
	struct run *r = run;

	return r->c->fetch(to, r->memory + at, size) ? fail_set(r->f, -EIO, "its memory cannot be read") : 0;
}

static int gpu_challenge_send(void *run, const void *from, size_t size)
{
	struct run *r = run;

	return r->c->send(r->memory, from, size) ? fail_set(r->f, -EIO, "it does not take data") : 0;
}

static struct challenge_device gpu_challenge_device(struct run *r)
{
	return (struct challenge_device){ .send = gpu_challenge_send,
		.fetch = gpu_challenge_fetch,
		.run = r,
		.words = r->words,
		.first = r->words,
		.host = r->host,
		.f = r->f };
}

static int challenge_fill_and_look(struct run *r, struct gpu_challenge *out)
{
	const struct challenge_device d = gpu_challenge_device(r);
	int64_t write[SPEED_RUNS], read[SPEED_RUNS], us;
	uint64_t wrong = 1;
	int rc;

	for (int i = 0; i < SPEED_RUNS; i++, r->seed = challenge_next(r->seed)) {
		if ((us = gpu_challenge_launch(r, "fill", r->memory, r->words, 0)) < 0)
			return (int)us;
		write[i] = challenge_per_second(r->words * 8, us);
		if (r->c->set(r->wrong, 0, sizeof wrong))
			return fail_set(r->f, -EIO, "it cannot write its memory");
		if ((us = gpu_challenge_launch(r, "look", r->memory, r->words, r->wrong)) < 0)
			return (int)us;
		read[i] = challenge_per_second(r->words * 8, us);
		if (r->c->fetch(&wrong, r->wrong, sizeof wrong))
			return fail_set(r->f, -EIO, "its memory cannot be read");
		rc = challenge_wrong_words(&d, wrong);
		rc = rc ? rc : challenge_look_by_chance(&d, r->seed);
		if (rc)
			return rc;
	}
	speed_of(write, &out->write);
	speed_of(read, &out->read);
	return 0;
}

static int gpu_challenge_sums(struct run *r, uint64_t seed, struct gpu_challenge *out)
{
	const struct challenge_device d = gpu_challenge_device(r);
	int64_t runs[SPEED_RUNS], us;
	int rc;

	r->seed = seed;
	for (int i = 0; i < SPEED_RUNS; i++, r->seed = challenge_next(r->seed)) {
		if ((us = gpu_challenge_launch(r, "sums", r->memory, ROUNDS, 0)) < 0)
			return (int)us;
		runs[i] = challenge_per_second((uint64_t)CHALLENGE_LANES * ROUNDS, us);
		rc = challenge_compare_sums(&d, r->seed, ROUNDS);
		if (rc)
			return rc;
	}
	speed_of(runs, &out->sums);
	out->rounds = ROUNDS;
	out->answer = challenge_answer(seed, ROUNDS);
	return 0;
}

/* Allocates as much of the free memory as it gets, trying nine tenths first. */
static int challenge_take_memory(struct run *r, struct gpu_challenge *out)
{
	size_t room = 0, total = 0, bytes;

	if (r->c->room(&room, &total))
		return fail_set(r->f, -EIO, "it does not report its free memory");
	for (bytes = room / 10 * 9 / 8 * 8; bytes >= lanes_bytes; bytes = bytes / 16 * 15 / 8 * 8)
		if (r->c->alloc(&r->memory, bytes) == 0) {
			r->words = bytes / 8;
			out->tested = (int64_t)bytes;
			return r->c->alloc(&r->wrong, 8) ? fail_set(r->f, -EIO, "it allocates no memory") : 0;
		}
	return fail_set(r->f, -EIO, "it allocates no memory, though %zu MiB are free", room >> 20);
}

static int challenge_in_context(struct run *r, struct gpu_challenge *out)
{
	const uint64_t seed = r->seed;
	struct challenge_device d;
	int said = r->c->load(&r->module, program), rc;

	if (said)
		return fail_set(r->f, -EIO, "it does not load the program (error %d)", said);
	rc = challenge_take_memory(r, out);
	rc = rc ? rc : challenge_fill_and_look(r, out);
	rc = rc ? rc : gpu_challenge_sums(r, seed, out);
	d = gpu_challenge_device(r);
	rc = rc ? rc : challenge_link(&d, &out->upload, &out->download);
	if (r->wrong)
		r->c->free(r->wrong);
	if (r->memory)
		r->c->free(r->memory);
	r->c->unload(r->module);
	return rc;
}

int gpu_challenge_run(struct cuda *c, int index, uint64_t seed, struct gpu_challenge *out, struct fail *f)
{
	struct run r = { .c = c, .seed = seed, .host = malloc(CHALLENGE_LINK_BYTES), .f = f };
	struct gpu_challenge made = { .memory = 0 };
	void *context = NULL;
	size_t total = 0;
	int device, rc = 0;

	if (!r.host)
		return fail_set(f, -ENOMEM, "out of memory");
	if (c->get(&device, index) || c->total(&total, device))
		rc = fail_set(f, -EIO, "it does not report its memory");
	else if (c->retain(&context, device))
		rc = fail_set(f, -EIO, "it cannot be used: another process may have exclusive use");
	made.memory = total <= INT64_MAX ? (int64_t)total : 0;
	if (!rc) {
		rc = c->current(context) ? fail_set(f, -EIO, "it cannot be used") : challenge_in_context(&r, &made);
		c->current(NULL);
		c->release(device);
	}
	free(r.host);
	if (!rc)
		*out = made;
	return rc;
}
