/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for libnvidia-ml.so.1 in tests. FAKE_NVML says how: good lost absurd unset hang crash exit chatter. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct memory { unsigned long long total, free, used; };
struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char id[32]; };

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *room, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out);
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out);
int nvmlDeviceGetName(void *d, char *room, unsigned size);
int nvmlDeviceGetUUID(void *d, char *room, unsigned size);
int nvmlDeviceGetMemoryInfo(void *d, struct memory *out);
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out);
int nvmlDeviceGetPowerUsage(void *d, unsigned *out);
int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out);
int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *min, unsigned *max);
int nvmlDeviceGetEccMode(void *d, int *now, int *later);
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *out);
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *later);

enum { NOT_SUPPORTED = 3, NOT_LOADED = 9, LOST = 15 };

static bool is(const char *mode)
{
	const char *set = getenv("FAKE_NVML");

	return set && strcmp(set, mode) == 0;
}

static int number(void *d)
{
	return (int)(uintptr_t)d - 1;
}

int nvmlInit_v2(void)
{
	if (is("hang"))
		for (;;)
			pause();
	if (is("crash"))
		abort();
	if (is("exit"))
		exit(0);
	if (is("chatter"))
		printf("this must not be seen\n");
	return is("unset") ? NOT_LOADED : 0;
}

int nvmlSystemGetDriverVersion(char *room, unsigned size)
{
	snprintf(room, size, "550.127.05");
	return 0;
}

#ifndef FAKE_LACKS
int nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = is("absurd") ? UINT_MAX : 2;
	return 0;
}
#endif

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out)
{
	if (is("lost") && i == 0)
		return LOST;
	*out = (void *)(uintptr_t)(i + 1);
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out)
{
	memset(out, 0, sizeof *out);
	out->bus = 1 + (unsigned)number(d);
	return 0;
}

int nvmlDeviceGetName(void *d, char *room, unsigned size)
{
	(void)d;
	snprintf(room, size, "NVIDIA GeForce RTX 4090");
	return 0;
}

int nvmlDeviceGetUUID(void *d, char *room, unsigned size)
{
	snprintf(room, size, "GPU-fake-%d", number(d));
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *d, struct memory *out)
{
	(void)d;
	out->total = is("absurd") ? ULLONG_MAX : 24564ULL << 20;
	out->used = is("absurd") ? ULLONG_MAX : 1ULL << 30;
	out->free = out->total - out->used;
	return 0;
}

int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out)
{
	const char *hot = getenv("FAKE_NVML_HOT");

	(void)d;
	(void)sensor;
	*out = is("absurd") ? UINT_MAX : hot ? 97 : 35;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *out)
{
	(void)d;
	*out = is("absurd") ? UINT_MAX : 21000;
	return 0;
}

int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out)
{
	(void)d;
	*out = 450000;
	return 0;
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *min, unsigned *max)
{
	(void)d;
	*min = 10000;
	*max = 600000;
	return 0;
}

int nvmlDeviceGetEccMode(void *d, int *now, int *later)
{
	if (number(d) == 0)
		return NOT_SUPPORTED;
	*now = *later = 1;
	return 0;
}

int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *out)
{
	if (number(d) == 0 || type != 1 || counter != 0)
		return NOT_SUPPORTED;
	*out = 3;
	return 0;
}

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *later)
{
	if (number(d) == 0)
		return NOT_SUPPORTED;
	*now = *later = 0;
	return 0;
}
