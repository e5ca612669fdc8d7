/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL's devices, of any vendor: the library is loaded at run time and never linked, its calls are declared here.
 * Call it in a child (gpuchild.h): it hangs where a device does.
 */
#ifndef AGENTD_MACHINE_OPENCL_H
#define AGENTD_MACHINE_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/machine/pci.h"
#include "base/fail.h"

enum { OPENCL_DEVICES = 32, OPENCL_NAME = 96 };

enum opencl_type { OPENCL_CPU = 2, OPENCL_GPU = 4, OPENCL_ACCELERATOR = 8 };

struct opencl_device {
	void *id;
	uint64_t type; /* bits of enum opencl_type */
	char name[OPENCL_NAME], driver[OPENCL_NAME];
	char address[PCI_ADDRESS];  /* "0000:19:00.0"; "": it does not say */
	uint64_t memory, alloc_max; /* bytes, as it claims */
};

/* The functions that we call; all return 0 or a negative error, or fill in *error. */
struct opencl {
	void *library;
	int32_t (*platforms)(uint32_t, void **, uint32_t *);
	int32_t (*devices_of)(void *, uint64_t, uint32_t, void **, uint32_t *);
	int32_t (*info)(void *, uint32_t, size_t, void *, size_t *);
	void *(*context)(const intptr_t *, uint32_t, void *const *,
		void (*)(const char *, const void *, size_t, void *), void *, int32_t *error);
	void *(*queue)(void *, void *, uint64_t, int32_t *error);
	void *(*program)(void *, uint32_t, const char **, const size_t *, int32_t *error);
	int32_t (*build)(void *, uint32_t, void *const *, const char *, void (*)(void *, void *), void *);
	void *(*kernel)(void *, const char *, int32_t *error);
	int32_t (*argument)(void *, uint32_t, size_t, const void *);
	void *(*buffer)(void *, uint64_t, size_t, void *, int32_t *error);
	int32_t (*release_buffer)(void *);
	int32_t (*launch)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
		void *const *, void **);
	int32_t (*fetch)(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *const *, void **);
	int32_t (*send)(void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *const *, void **);
	int32_t (*finish)(void *);
	size_t count;
	struct opencl_device devices[OPENCL_DEVICES];
};

/*
 * library: NULL is libOpenCL.so.1. Finds the devices of all platforms, GPUs first. 0, -ENOENT (no library, or one
 * without a device), -ENOSYS (it lacks a function), -EPROTO (what it says cannot be), -EIO.
 */
int opencl_open(const char *library, struct opencl **out, struct fail *f);
void opencl_close(struct opencl *c);

/* May it be sold as a GPU? A processor never is. */
bool opencl_is_gpu(const struct opencl_device *d);

#endif
