/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's limits, by the driver's library: loaded at run time in a child with a deadline, since its calls hang on
 * dying GPUs. Limits are forgotten when the driver is unloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/power/device_part.h"

#define LIBRARY "libnvidia-ml.so.1"

enum { DEADLINE_MS = 10000, WINDOW_MS = 2000, NO_PERMISSION = 4 };

typedef void *handle;

struct nvml_power_calls {
	int (*init)(void);
	int (*find)(const char *, handle *);
	int (*power)(handle, unsigned *);
	int (*enforced)(handle, unsigned *);
	int (*usual)(handle, unsigned *);
	int (*constraints)(handle, unsigned *, unsigned *);
	int (*set)(handle, unsigned);
	int (*persist)(handle, int);
};

static const struct {
	size_t at;
	bool needed;
	const char *names[2];
} power_symbols[] = {
	{ offsetof(struct nvml_power_calls, init), true, { "nvmlInit_v2", "nvmlInit" } },
	{ offsetof(struct nvml_power_calls, find), true,
		{ "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId" } },
	{ offsetof(struct nvml_power_calls, power), false, { "nvmlDeviceGetPowerUsage" } },
	{ offsetof(struct nvml_power_calls, enforced), true, { "nvmlDeviceGetEnforcedPowerLimit" } },
	{ offsetof(struct nvml_power_calls, usual), false, { "nvmlDeviceGetPowerManagementDefaultLimit" } },
	{ offsetof(struct nvml_power_calls, constraints), true, { "nvmlDeviceGetPowerManagementLimitConstraints" } },
	{ offsetof(struct nvml_power_calls, set), true, { "nvmlDeviceSetPowerManagementLimit" } },
	{ offsetof(struct nvml_power_calls, persist), false, { "nvmlDeviceSetPersistenceMode" } },
};

/* What the child is asked, and what it answers: numbers in the order of the list. */
struct nvml_power_ask {
	const char *library;
	size_t count;
	char addresses[POWER_DEVICES][POWER_ADDRESS];
	unsigned set; /* milliwatts for the first of them; 0: only read */
};

struct nvml_power_told {
	int code; /* 0 or a negative errno */
	char why[160];
	struct {
		int rc; /* of the library, 0: good */
		unsigned least, most, usual, enforced, power;
		bool has_usual, has_power;
	} list[POWER_DEVICES];
};

/* ---- In the child ------------------------------------------------------------------------------ */

static int nvml_power_say(struct nvml_power_told *t, int code, const char *what, const char *why)
{
	t->code = code;
	snprintf(t->why, sizeof t->why, "%s%s%s", what, *why ? ": " : "", why);
	return code;
}

static int nvml_power_load(const char *library, struct nvml_power_calls *c, struct nvml_power_told *t)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const char *why = lib ? "" : dlerror();

	if (!lib)
		return nvml_power_say(t, -ENOENT, "cannot load it", why ? why : "");
	for (size_t i = 0; i < sizeof power_symbols / sizeof *power_symbols; i++) {
		void *found = NULL;

		for (size_t k = 0; !found && k < 2 && power_symbols[i].names[k]; k++)
			found = dlsym(lib, power_symbols[i].names[k]);
		if (!found && power_symbols[i].needed)
			return nvml_power_say(t, -ENOSYS, "it lacks", power_symbols[i].names[0]);
		memcpy((char *)c + power_symbols[i].at, &found, sizeof found);
	}
	return c->init() ? nvml_power_say(t, -EIO, "it does not start: is the driver loaded?", "") : 0;
}

static void nvml_power_one(const struct nvml_power_calls *c, const struct nvml_power_ask *a, size_t i,
	struct nvml_power_told *t)
{
	handle h = NULL;
	int rc = c->find(a->addresses[i], &h);

	/* Else the driver forgets the limit when nobody has the GPU open. Where it cannot, reading back shows that. */
	if (!rc && a->set && i == 0 && c->persist)
		c->persist(h, 1);
	if (!rc && a->set && i == 0)
		rc = c->set(h, a->set);
	rc = rc ? rc : c->constraints(h, &t->list[i].least, &t->list[i].most);
	t->list[i].rc = rc ? rc : c->enforced(h, &t->list[i].enforced);
	if (t->list[i].rc)
		return;
	t->list[i].has_usual = c->usual && c->usual(h, &t->list[i].usual) == 0;
	t->list[i].has_power = c->power && c->power(h, &t->list[i].power) == 0;
}

static int nvml_power_work(void *arg, int fd)
{
	static struct nvml_power_told told; /* static, but only the child uses it */
	const struct nvml_power_ask *a = arg;
	struct nvml_power_calls c = { 0 };

	if (nvml_power_load(a->library, &c, &told) == 0)
		for (size_t i = 0; i < a->count; i++)
			nvml_power_one(&c, a, i, &told);
	return gpuchild_write(fd, &told, sizeof told);
}

/* ---- Here --------------------------------------------------------------------------------------- */

/* Asks the child. 0; else f says what the library said. */
static int nvml_power_ask(const char *root, struct nvml_power_ask *a, struct nvml_power_told *t, struct fail *f)
{
	char room[SYSFS_PATH];
	const char *own = sysfs_library(root, LIBRARY, room);
	struct buf told;
	int rc;

	a->library = own ? own : LIBRARY;
	if (!*a->library)
		return fail_set(f, -ENOENT, "NVIDIA's library is not there");
	buf_init(&told, sizeof *t + 1);
	rc = gpuchild_run(nvml_power_work, a, DEADLINE_MS, &told, f);
	if (!rc && told.len != sizeof *t)
		rc = fail_set(f, -EIO, "its answer is cut off");
	if (!rc) {
		memcpy(t, told.data, sizeof *t);
		t->why[sizeof t->why - 1] = '\0';
		rc = t->code ? fail_set(f, t->code, "%s", t->why) : 0;
	}
	buf_release(&told);
	return rc;
}

static int64_t nvml_power_number(bool told, unsigned milliwatts)
{
	return told && milliwatts <= POWER_MOST ? (int64_t)milliwatts : POWER_UNKNOWN;
}

static void nvml_power_take(struct power_device *d, const struct nvml_power_told *t, size_t i)
{
	char why[64];

	d->window_ms = WINDOW_MS;
	if (t->list[i].rc || t->list[i].least > t->list[i].most || t->list[i].most > POWER_MOST ||
		!t->list[i].enforced || t->list[i].enforced > POWER_MOST) {
		snprintf(why, sizeof why, "NVIDIA's library returned error %d", t->list[i].rc);
		device_lost(d, why);
		return;
	}
	d->least = t->list[i].least < POWER_GRAIN ? POWER_GRAIN : t->list[i].least;
	d->most = t->list[i].most;
	d->enforced = t->list[i].enforced;
	d->usual = nvml_power_number(t->list[i].has_usual, t->list[i].usual);
	d->draw = nvml_power_number(t->list[i].has_power, t->list[i].power);
}

static void nvml_power_read(const char *root, struct power_device *list, size_t count)
{
	struct nvml_power_ask a = { .count = 0 };
	static struct nvml_power_told told;
	struct power_device *asked[POWER_DEVICES];
	struct fail f = { 0 };
	int rc;

	for (size_t i = 0; i < count; i++)
		if (list[i].way == &power_nvml) {
			list[i].why[0] = '\0';
			memcpy(a.addresses[a.count], list[i].address, POWER_ADDRESS);
			asked[a.count++] = &list[i];
		}
	rc = a.count ? nvml_power_ask(root, &a, &told, &f) : 0;
	for (size_t i = 0; i < a.count; i++) {
		if (rc)
			device_lost(asked[i], f.text);
		else
			nvml_power_take(asked[i], &told, i);
	}
}

static int nvml_power_set(const char *root, const struct power_device *d, int64_t milliwatts, struct fail *f)
{
	struct nvml_power_ask a = { .count = 1, .set = (unsigned)milliwatts };
	static struct nvml_power_told told;
	int rc;

	if (milliwatts < POWER_GRAIN || milliwatts > POWER_MOST)
		return fail_set(f, -ERANGE, "a limit of %lld mW is never set", (long long)milliwatts);
	memcpy(a.addresses[0], d->address, POWER_ADDRESS);
	rc = nvml_power_ask(root, &a, &told, f);
	if (!rc && told.list[0].rc == NO_PERMISSION)
		return fail_set(f, -EPERM, "NVIDIA's driver allows that to root alone");
	return rc || !told.list[0].rc ? rc : fail_set(f, -EIO, "NVIDIA's library returned error %d", told.list[0].rc);
}

const struct power_way power_nvml = { "nvml", nvml_power_read, nvml_power_set };
