/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agentd/machine/gpu.h"
#include "agentd/machine/gpuchild.h"

#define LIBRARY "libnvidia-ml.so.1"

/* Bits of why the clocks are lower than they could be. */
enum { SLOW_HARDWARE = 0x8, SLOW_HEAT = 0x20, SLOW_HARDWARE_HEAT = 0x40, SLOW_BRAKE = 0x80 };

enum { SM_CLOCK = 1, GPU_SENSOR = 0, UNCORRECTED = 1, SINCE_START = 0, DEADLINE = 10 * 1000 };

typedef void *device;

/* Types as the library lays them out. The tail of nvml_pci differs by version; ours is large enough for all. */
struct nvml_memory { unsigned long long total, free, used; };
struct nvml_memory2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct nvml_use {
	unsigned gpu, memory;
};
struct nvml_pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char rest[64]; };

struct calls {
	int (*init)(void);
	int (*driver)(char *, unsigned);
	int (*count)(unsigned *);
	int (*handle)(unsigned, device *);
	int (*pci)(device, struct nvml_pci *);
	int (*name)(device, char *, unsigned);
	int (*uuid)(device, char *, unsigned);
	int (*memory)(device, struct nvml_memory *);
	int (*memory2)(device, struct nvml_memory2 *);
	int (*temperature)(device, int, unsigned *);
	int (*power)(device, unsigned *);
	int (*limit)(device, unsigned *);
	int (*constraints)(device, unsigned *, unsigned *);
	int (*ecc)(device, int *, int *);
	int (*errors)(device, int, int, unsigned long long *);
	int (*mig)(device, unsigned *, unsigned *);
	int (*use)(device, struct nvml_use *);
	int (*clock)(device, int, unsigned *);
	int (*throttled)(device, unsigned long long *);
};

/* Newest name first; optional symbols may be missing. */
static const struct {
	size_t at;
	bool needed;
	const char *names[3];
} symbols[] = {
	{ offsetof(struct calls, init), true, { "nvmlInit_v2", "nvmlInit" } },
	{ offsetof(struct calls, count), true, { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" } },
	{ offsetof(struct calls, handle), true, { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" } },
	{ offsetof(struct calls, pci), true,
		{ "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo" } },
	{ offsetof(struct calls, driver), false, { "nvmlSystemGetDriverVersion" } },
	{ offsetof(struct calls, name), false, { "nvmlDeviceGetName" } },
	{ offsetof(struct calls, uuid), false, { "nvmlDeviceGetUUID" } },
	{ offsetof(struct calls, memory), false, { "nvmlDeviceGetMemoryInfo" } },
	{ offsetof(struct calls, memory2), false, { "nvmlDeviceGetMemoryInfo_v2" } },
	{ offsetof(struct calls, temperature), false, { "nvmlDeviceGetTemperature" } },
	{ offsetof(struct calls, power), false, { "nvmlDeviceGetPowerUsage" } },
	{ offsetof(struct calls, limit), false,
		{ "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit" } },
	{ offsetof(struct calls, constraints), false, { "nvmlDeviceGetPowerManagementLimitConstraints" } },
	{ offsetof(struct calls, ecc), false, { "nvmlDeviceGetEccMode" } },
	{ offsetof(struct calls, errors), false, { "nvmlDeviceGetTotalEccErrors" } },
	{ offsetof(struct calls, mig), false, { "nvmlDeviceGetMigMode" } },
	{ offsetof(struct calls, use), false, { "nvmlDeviceGetUtilizationRates" } },
	{ offsetof(struct calls, clock), false, { "nvmlDeviceGetClockInfo" } },
	{ offsetof(struct calls, throttled), false,
		{ "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" } },
};

/* The child's answer. */
struct told {
	int code;                    /* 0 or a negative errno */
	char why[200];
	struct nvml nvml;
};

/* ---- In the child ------------------------------------------------------------------------- */

static int nvml_say(struct told *t, int code, const char *what, const char *why)
{
	t->code = code;
	snprintf(t->why, sizeof t->why, "%s%s%s", what, *why ? ": " : "", why);
	return code;
}

static int nvml_load(const char *library, struct calls *c, struct told *t)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const char *why = lib ? "" : dlerror();

	if (!lib)
		return nvml_say(t, -ENOENT, "cannot load it", why ? why : "");
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *found = NULL;

		for (size_t k = 0; !found && k < 3 && symbols[i].names[k]; k++)
			found = dlsym(lib, symbols[i].names[k]);
		if (!found && symbols[i].needed)
			return nvml_say(t, -ENOSYS, "it lacks", symbols[i].names[0]);
		memcpy((char *)c + symbols[i].at, &found, sizeof found);
	}
	return 0;
}

static void nvml_take(int64_t *to, bool told, unsigned long long value, unsigned long long most)
{
	*to = told && value <= most ? (int64_t)value : GPU_UNKNOWN;
}

/* Reads one number by a call that may be missing. */
static void nvml_ask_number(int (*call)(device, unsigned *), device d, unsigned most, int64_t *to)
{
	unsigned n = 0;
	bool told = call && !call(d, &n);

	nvml_take(to, told, n, most);
}

static void nvml_ask_power(const struct calls *c, device d, struct nvml_gpu *g)
{
	static const unsigned most = 5000 * 1000;
	unsigned a = 0, b = 0;
	bool told = c->constraints && !c->constraints(d, &a, &b) && a <= b;

	nvml_ask_number(c->power, d, most, &g->power);
	nvml_ask_number(c->limit, d, most, &g->power_limit);
	nvml_take(&g->power_min, told, a, most);
	nvml_take(&g->power_max, told, b, most);
}

static void nvml_ask_errors(const struct calls *c, device d, struct nvml_gpu *g)
{
	unsigned a = 0, b = 0;
	unsigned long long n = 0;
	int on = 0, later = 0;
	bool told = c->ecc && !c->ecc(d, &on, &later);

	nvml_take(&g->ecc, told, on == 1, 1);
	told = c->errors && !c->errors(d, UNCORRECTED, SINCE_START, &n);
	nvml_take(&g->uncorrected, told, n, INT64_MAX);
	told = c->mig && !c->mig(d, &a, &b);
	nvml_take(&g->mig, told, a == 1, 1);
}

/* Not what was asked for: idle, clocks that were set, and the limit of power that was. */
static void nvml_ask_speed(const struct calls *c, device d, struct nvml_gpu *g)
{
	struct nvml_use u = { 0 };
	unsigned long long why = 0;
	unsigned mhz = 0;
	bool told = c->use && !c->use(d, &u);

	nvml_take(&g->use, told, u.gpu, 100);
	told = c->clock && !c->clock(d, SM_CLOCK, &mhz);
	nvml_take(&g->clock, told, mhz, 20000);
	told = c->throttled && !c->throttled(d, &why);
	nvml_take(&g->throttled, told, (why & (SLOW_HARDWARE | SLOW_HEAT | SLOW_HARDWARE_HEAT | SLOW_BRAKE)) != 0, 1);
}

/* The older call counts what the driver keeps for itself as used: 615 MiB of an idle H200. */
static void nvml_ask_memory(const struct calls *c, device d, struct nvml_gpu *g)
{
	static const unsigned long long most = 1ULL << 42;
	struct nvml_memory2 two = { .version = sizeof two | 2U << 24 };
	struct nvml_memory one = { 0 };
	bool told = c->memory && !c->memory(d, &one);

	nvml_take(&g->memory, told && one.total, one.total, most);
	if (told && c->memory2 && !c->memory2(d, &two) && two.used <= one.used)
		one.used = two.used;
	nvml_take(&g->memory_used, told && one.used <= one.total, one.used, most);
}

static void nvml_ask_one(const struct calls *c, device d, struct nvml_gpu *g)
{
	unsigned heat = 0;
	bool told;

	if (!c->name || c->name(d, g->name, sizeof g->name))
		g->name[0] = '\0';
	if (!c->uuid || c->uuid(d, g->uuid, sizeof g->uuid))
		g->uuid[0] = '\0';
	nvml_ask_memory(c, d, g);
	told = c->temperature && !c->temperature(d, GPU_SENSOR, &heat);
	nvml_take(&g->temperature, told && heat <= 250, heat * 1000ULL, 250 * 1000);
	nvml_ask_power(c, d, g);
	nvml_ask_errors(c, d, g);
	nvml_ask_speed(c, d, g);
}

static int nvml_ask_all(const char *library, struct told *t)
{
	struct calls c = { 0 };
	unsigned count = 0;
	int rc = nvml_load(library, &c, t);
	char number[32];

	if (rc)
		return rc;
	rc = c.init();
	if (!rc)
		rc = c.count(&count);
	if (rc) {
		snprintf(number, sizeof number, "error %d", rc);
		return nvml_say(t, -EIO, "it returned", number);
	}
	if (c.driver && c.driver(t->nvml.driver, sizeof t->nvml.driver))
		t->nvml.driver[0] = '\0';
	for (unsigned i = 0; i < count && i < NVML_GPUS; i++) {
		struct nvml_gpu *g = &t->nvml.gpus[t->nvml.count];
		struct nvml_pci p = { .domain = 0 };
		device d = NULL;

		if (c.handle(i, &d) || c.pci(d, &p)) {
			t->nvml.lost++;
			continue;
		}
		snprintf(g->address, sizeof g->address, "%04x:%02x:%02x.0", p.domain & 0xffffff, p.bus & 0xff,
			p.device & 0x1f);
		nvml_ask_one(&c, d, g);
		t->nvml.count++;
	}
	return 0;
}

static int nvml_work(void *arg, int fd)
{
	static struct told t; /* static, but only the child uses it */

	nvml_ask_all(arg, &t);
	return gpuchild_write(fd, &t, sizeof t);
}

/* ---- In the agent -------------------------------------------------------------------------- */

static void nvml_close_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static int nvml_copy(const struct buf *b, struct nvml *out, struct fail *f)
{
	struct told t;

	if (b->len != sizeof t)
		return fail_set(f, -EIO, "its answer is cut off");
	memcpy(&t, b->data, sizeof t);
	nvml_close_text(t.why, sizeof t.why);
	if (t.code)
		return fail_set(f, t.code, "%s", t.why);
	if (t.nvml.count > NVML_GPUS || t.nvml.lost > NVML_GPUS)
		return fail_set(f, -EIO, "its answer is invalid");
	nvml_close_text(t.nvml.driver, sizeof t.nvml.driver);
	for (size_t i = 0; i < t.nvml.count; i++) {
		struct nvml_gpu *g = &t.nvml.gpus[i];

		nvml_close_text(g->address, sizeof g->address);
		nvml_close_text(g->name, sizeof g->name);
		nvml_close_text(g->uuid, sizeof g->uuid);
	}
	*out = t.nvml;
	return 0;
}

int nvml_read(const char *library, int64_t deadline_ms, struct nvml *out, struct fail *f)
{
	const char *name = library ? library : LIBRARY;
	struct fail why = { 0 };
	struct buf told;
	int rc;

	buf_init(&told, sizeof(struct told) + 1);
	rc = gpuchild_run(nvml_work, (void *)(uintptr_t)name, deadline_ms > 0 ? deadline_ms : DEADLINE, &told, &why);
	if (!rc)
		rc = nvml_copy(&told, out, &why);
	buf_release(&told);
	return rc ? fail_set(f, rc, "'%s': %s", name, why.text) : 0;
}
