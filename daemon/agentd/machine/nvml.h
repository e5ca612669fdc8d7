/* SPDX-License-Identifier: Apache-2.0 */
/* What NVIDIA's library knows of its GPUs: asked in a child with a deadline; loaded at run time, never linked. */
#ifndef AGENTD_MACHINE_NVML_H
#define AGENTD_MACHINE_NVML_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { NVML_GPUS = 64, NVML_TEXT = 96 };

/* INT64_MIN (GPU_UNKNOWN) where the library gives no value. Units as in gpu.h. */
struct nvml_gpu {
	char address[20];            /* "0000:19:00.0" */
	char name[NVML_TEXT], uuid[NVML_TEXT];
	int64_t memory, memory_used, temperature, power, power_limit, power_min, power_max, ecc, uncorrected, mig;
	int64_t use, clock, throttled;
};

struct nvml {
	char driver[NVML_TEXT];
	size_t count;                /* GPUs that answered */
	size_t lost;                 /* GPUs whose handle gave an error: they fell off the bus */
	struct nvml_gpu gpus[NVML_GPUS];
};

/*
 * library: NULL is libnvidia-ml.so.1. 0; -ENOENT: it is not installed; -ENOSYS: it lacks a function; -ETIMEDOUT: no
 * answer; -EIO: it crashed, or returned an error.
 */
int nvml_read(const char *library, int64_t deadline_ms, struct nvml *out, struct fail *f);

#endif
