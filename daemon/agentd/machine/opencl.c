/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/opencl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/os/vendor_calls.h"

#define LIBRARY "libOpenCL.so.1"

enum { PLATFORMS = 16, EXTENSIONS_MAX = 64 * 1024, NO_DEVICE = -1, NO_PLATFORM = -1001 };

/* What clGetDeviceInfo is asked for; the numbers are OpenCL's. */
enum {
	ASK_TYPE = 0x1000,
	ASK_ALLOC_MAX = 0x1010,
	ASK_MEMORY = 0x101f,
	ASK_LITTLE_ENDIAN = 0x1026,
	ASK_AVAILABLE = 0x1027,
	ASK_NAME = 0x102b,
	ASK_DRIVER = 0x102d,
	ASK_EXTENSIONS = 0x1030,
	ASK_PCI_KHR = 0x410f,
	ASK_BUS_NV = 0x4008,
	ASK_SLOT_NV = 0x4009,
	ASK_DOMAIN_NV = 0x400a,
	ASK_TOPOLOGY_AMD = 0x4037,
};

static const struct vendor_call symbols[] = {
	{ "clGetPlatformIDs", offsetof(struct opencl, platforms) },
	{ "clGetDeviceIDs", offsetof(struct opencl, devices_of) },
	{ "clGetDeviceInfo", offsetof(struct opencl, info) },
	{ "clCreateContext", offsetof(struct opencl, context) },
	{ "clCreateCommandQueue", offsetof(struct opencl, queue) },
	{ "clCreateProgramWithSource", offsetof(struct opencl, program) },
	{ "clBuildProgram", offsetof(struct opencl, build) },
	{ "clCreateKernel", offsetof(struct opencl, kernel) },
	{ "clSetKernelArg", offsetof(struct opencl, argument) },
	{ "clCreateBuffer", offsetof(struct opencl, buffer) },
	{ "clReleaseMemObject", offsetof(struct opencl, release_buffer) },
	{ "clEnqueueNDRangeKernel", offsetof(struct opencl, launch) },
	{ "clEnqueueReadBuffer", offsetof(struct opencl, fetch) },
	{ "clEnqueueWriteBuffer", offsetof(struct opencl, send) },
	{ "clFinish", offsetof(struct opencl, finish) },
};

bool opencl_is_gpu(const struct opencl_device *d)
{
	return !(d->type & OPENCL_CPU) && (d->type & (OPENCL_GPU | OPENCL_ACCELERATOR));
}

/* ---- One device ---------------------------------------------------------------------------- */

static bool opencl_ask(struct opencl *c, void *id, uint32_t what, void *to, size_t size)
{
	size_t got = 0;

	memset(to, 0, size);
	return c->info(id, what, size, to, &got) == 0 && got <= size;
}

static void opencl_ask_text(struct opencl *c, void *id, uint32_t what, char room[OPENCL_NAME])
{
	char text[4096];

	opencl_ask(c, id, what, text, sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	snprintf(room, OPENCL_NAME, "%.*s", OPENCL_NAME - 1, text);
}

static bool opencl_has(const char *extensions, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = extensions; (at = strstr(at, name)); at += len)
		if ((at == extensions || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

/* By whichever of the three extensions it has; none says more than where it is on the bus. */
static void opencl_find_address(struct opencl *c, struct opencl_device *d, const char *extensions)
{
	struct {
		uint32_t type;
		uint8_t unused[17], bus, device, function;
	} amd;
	uint32_t khr[4], bus, slot, domain;

	if (opencl_has(extensions, "cl_khr_pci_bus_info") && opencl_ask(c, d->id, ASK_PCI_KHR, khr, sizeof khr)) {
		domain = khr[0];
		bus = khr[1];
		slot = khr[2] << 3 | (khr[3] & 7);
	} else if (opencl_has(extensions, "cl_nv_device_attribute_query") &&
		opencl_ask(c, d->id, ASK_BUS_NV, &bus, sizeof bus) &&
		opencl_ask(c, d->id, ASK_SLOT_NV, &slot, sizeof slot)) {
		opencl_ask(c, d->id, ASK_DOMAIN_NV, &domain, sizeof domain);
	} else if (opencl_has(extensions, "cl_amd_device_attribute_query") &&
		opencl_ask(c, d->id, ASK_TOPOLOGY_AMD, &amd, sizeof amd) && amd.type == 1) {
		domain = 0;
		bus = amd.bus;
		slot = (uint32_t)amd.device << 3 | (amd.function & 7);
	} else {
		return;
	}
	if (domain <= 0xffff && bus <= 0xff && slot <= 0xff)
		snprintf(d->address, sizeof d->address, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
}

static void opencl_add(struct opencl *c, void *id)
{
	struct opencl_device *d = &c->devices[c->count];
	char *extensions = calloc(1, EXTENSIONS_MAX);
	uint32_t there = 0, little = 0;

	*d = (struct opencl_device){ .id = id };
	if (extensions && opencl_ask(c, id, ASK_TYPE, &d->type, sizeof d->type) &&
		opencl_ask(c, id, ASK_AVAILABLE, &there, sizeof there) && there &&
		opencl_ask(c, id, ASK_LITTLE_ENDIAN, &little, sizeof little) && little) {
		opencl_ask(c, id, ASK_MEMORY, &d->memory, sizeof d->memory);
		opencl_ask(c, id, ASK_ALLOC_MAX, &d->alloc_max, sizeof d->alloc_max);
		opencl_ask_text(c, id, ASK_NAME, d->name);
		opencl_ask_text(c, id, ASK_DRIVER, d->driver);
		opencl_ask(c, id, ASK_EXTENSIONS, extensions, EXTENSIONS_MAX - 1);
		opencl_find_address(c, d, extensions);
		c->count++;
	}
	free(extensions);
}

/* ---- All of them --------------------------------------------------------------------------- */

static int opencl_add_all(struct opencl *c, void *platform, bool gpus, struct fail *f)
{
	uint64_t types = gpus ? OPENCL_GPU | OPENCL_ACCELERATOR : OPENCL_CPU;
	void *ids[OPENCL_DEVICES] = { NULL };
	uint32_t count = 0;
	int32_t said = c->devices_of(platform, types, OPENCL_DEVICES, ids, &count);

	if (said == NO_DEVICE)
		return 0;
	if (said)
		return fail_set(f, -EIO, "OpenCL does not list its devices: error %d", said);
	if (count > OPENCL_DEVICES)
		return fail_set(f, -EPROTO, "OpenCL claims %u devices in one machine", count);
	for (uint32_t i = 0; i < count && c->count < OPENCL_DEVICES; i++)
		opencl_add(c, ids[i]);
	return 0;
}

static int opencl_find_all(struct opencl *c, const char *name, struct fail *f)
{
	void *platforms[PLATFORMS] = { NULL };
	uint32_t count = 0;
	int32_t said = c->platforms(PLATFORMS, platforms, &count);
	int rc = 0;

	if (said && said != NO_PLATFORM)
		return fail_set(f, -EIO, "'%s' fails to initialise: error %d", name, said);
	for (int gpus = 1; gpus >= 0; gpus--)
		for (uint32_t i = 0; !said && !rc && i < count && i < PLATFORMS; i++)
			rc = opencl_add_all(c, platforms[i], gpus, f);
	if (!rc && !c->count)
		rc = fail_set(f, -ENOENT, "'%s' finds no device: the vendor's OpenCL driver is not installed", name);
	return rc;
}

int opencl_open(const char *library, struct opencl **out, struct fail *f)
{
	const char *name = library ? library : LIBRARY;
	struct opencl *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = vendor_calls_load(name, symbols, sizeof symbols / sizeof *symbols, c, &c->library, f);
	rc = rc ? rc : opencl_find_all(c, name, f);
	if (rc)
		opencl_close(c);
	else
		*out = c;
	return rc;
}

/* Vendors' libraries leave threads behind, so unloading them may crash: the end of the child unloads them. */
void opencl_close(struct opencl *c)
{
	free(c);
}
