/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libnvidia-ml.so.1 in tests. FAKE_NVML says how: good lost absurd unset hang crash exit chatter total
 * blind, sizeless (the second one does not tell its memory), and for limits norights ignores. FAKE_NVML_STATE is a
 * folder that keeps the limits that were set; a driver that is loaded again has forgotten them, so a test then removes
 * its files. Its file `processes` has lines "GPU PID MIB", of who holds memory; MIB -1: the library does not tell.
 * While its file `down` is there, the driver does not answer. Where FAKE_NVML_LOCK names a file that somebody has
 * locked while the library is asked, the folder gets a file `locked`.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct memory { unsigned long long total, free, used; };
struct memory2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct use {
	unsigned pid;
	unsigned long long bytes;
	unsigned slice, part;
};
struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char id[32]; };

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *room, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out);
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *out);
int nvmlDeviceGetName(void *d, char *room, unsigned size);
int nvmlDeviceGetUUID(void *d, char *room, unsigned size);
int nvmlDeviceGetMemoryInfo(void *d, struct memory *out);
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory2 *out);
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out);
int nvmlDeviceGetPowerUsage(void *d, unsigned *out);
int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out);
int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *min, unsigned *max);
int nvmlDeviceGetEccMode(void *d, int *now, int *later);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **out);
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *out);
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out);
int nvmlDeviceSetPowerManagementLimit(void *d, unsigned milliwatts);
int nvmlDeviceSetPersistenceMode(void *d, int mode);
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *out);
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *later);
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, struct use *out);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *count, struct use *out);

bool fakemig_on(int gpu);
int fakemig_uuid(void *d, char *room, unsigned size);

enum { INVALID = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, NOT_LOADED = 9, LOST = 15 };

static bool is(const char *mode)
{
	const char *set = getenv("FAKE_NVML");

	return set && strcmp(set, mode) == 0;
}

static int number(void *d)
{
	return (int)(uintptr_t)d - 1;
}

/* Is such a file in the folder? */
static bool state_has(const char *name)
{
	const char *folder = getenv("FAKE_NVML_STATE");
	char path[1024];

	snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
	return folder && access(path, F_OK) == 0;
}

static void note_lock(void)
{
	const char *lock = getenv("FAKE_NVML_LOCK"), *folder = getenv("FAKE_NVML_STATE");
	int fd = lock ? open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	char path[1024];

	if (fd < 0)
		return;
	snprintf(path, sizeof path, "%s/locked", folder ? folder : "");
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(fd);
}

int nvmlInit_v2(void)
{
	note_lock();
	if (is("hang"))
		for (;;)
			pause();
	if (is("crash"))
		abort();
	if (is("exit"))
		exit(0);
	if (is("chatter"))
		printf("this must not be seen\n");
	return is("unset") || state_has("down") ? NOT_LOADED : 0;
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
	int said = fakemig_uuid(d, room, size);

	if (said >= 0)
		return said;
	snprintf(room, size, "GPU-fake-%d", number(d));
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *d, struct memory *out)
{
	if (is("sizeless") && number(d) == 1)
		return NOT_SUPPORTED;
	out->total = is("absurd") ? ULLONG_MAX : 24564ULL << 20;
	out->used = is("absurd") ? ULLONG_MAX : 1ULL << 30;
	out->free = out->total - out->used;
	return 0;
}

/* The driver keeps 64 MiB; only the older call counts it as used. Mode "total": as an older library, without this. */
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory2 *out)
{
	struct memory m;

	if (is("total") || out->version != (sizeof *out | 2U << 24) || nvmlDeviceGetMemoryInfo(d, &m))
		return NOT_SUPPORTED;
	out->total = m.total;
	out->reserved = 64ULL << 20;
	out->used = m.used - out->reserved;
	out->free = m.free;
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

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **out)
{
	unsigned bus;

	if (sscanf(address, "0000:%x:00.0", &bus) != 1 || bus < 1 || bus > 2)
		return NOT_FOUND;
	return nvmlDeviceGetHandleByIndex_v2(bus - 1, out);
}

/* The file of a GPU's limit; false: nothing is kept. */
static bool kept(void *d, char *room, size_t size)
{
	const char *folder = getenv("FAKE_NVML_STATE");

	snprintf(room, size, "%s/limit-%d", folder ? folder : "", number(d));
	return folder != NULL;
}

int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out)
{
	char path[1024];
	FILE *f = kept(d, path, sizeof path) ? fopen(path, "re") : NULL;

	*out = 450000;
	if (f && fscanf(f, "%u", out) != 1)
		*out = 0;
	if (f)
		fclose(f);
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *out)
{
	return nvmlDeviceGetPowerManagementLimit(d, out);
}

int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out)
{
	(void)d;
	*out = 450000;
	return 0;
}

int nvmlDeviceSetPersistenceMode(void *d, int mode)
{
	const char *folder = getenv("FAKE_NVML_STATE");
	char path[1024];
	FILE *f;

	if (is("norights"))
		return NO_PERMISSION;
	snprintf(path, sizeof path, "%s/%d.persistent", folder ? folder : "", number(d));
	f = folder && mode == 1 ? fopen(path, "we") : NULL;
	if (!f)
		return INVALID;
	fclose(f);
	return 0;
}

int nvmlDeviceSetPowerManagementLimit(void *d, unsigned milliwatts)
{
	char path[1024];
	FILE *f;

	if (is("norights"))
		return NO_PERMISSION;
	if (milliwatts < 10000 || milliwatts > 600000 || !kept(d, path, sizeof path))
		return INVALID;
	if (is("ignores"))
		return 0;
	f = fopen(path, "we");
	if (!f)
		return INVALID;
	fprintf(f, "%u", milliwatts);
	return fclose(f) == 0 ? 0 : INVALID;
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
	if (number(d) == 0 && !state_has("mig"))
		return NOT_SUPPORTED;
	*now = *later = fakemig_on(number(d));
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, struct use *out)
{
	const char *folder = getenv("FAKE_NVML_STATE");
	unsigned room = *count, gpu, pid;
	char path[1024];
	long long mib;
	FILE *f;

	if (is("blind"))
		return NOT_SUPPORTED;
	*count = 0;
	snprintf(path, sizeof path, "%s/processes", folder ? folder : "");
	f = fopen(path, "re");
	while (f && fscanf(f, "%u %u %lld", &gpu, &pid, &mib) == 3)
		if (gpu == (unsigned)number(d) && *count < room)
			out[(*count)++] = (struct use){ .pid = pid,
				.bytes = mib < 0 ? ULLONG_MAX : (unsigned long long)mib << 20 };
	if (f)
		fclose(f);
	return 0;
}

/* Those that draw compute, too: each is in both lists. */
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *count, struct use *out)
{
	return nvmlDeviceGetComputeRunningProcesses_v3(d, count, out);
}
