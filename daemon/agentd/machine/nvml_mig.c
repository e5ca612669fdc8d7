/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/nvml_mig.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/machine/gpuchild.h"
#include "agentd/machine/sysfs.h"
#include "base/str.h"
#include "market/share.h"

#define LIBRARY "libnvidia-ml.so.1"

enum { LOOK_MS = 10000, ACT_MS = 60000 };

/* What the library returns, and how it counts. */
enum {
	NVML_BAD = 2,
	NVML_UNSUPPORTED = 3,
	NVML_FORBIDDEN = 4,
	NVML_MISSING = 6,
	NVML_RESET = 16,
	NVML_BUSY = 19,
	NVML_FULL = 23,
	GPU_KINDS = 32,
	PART_KINDS = 16,
	ENGINE_SHARED = 0
};

/* Types as the library lays them out; the tail of mig_place differs by version. */
struct mig_place {
	char legacy[16];
	unsigned domain, bus, device, ids, subsystem;
	char rest[64];
};
struct mig_size {
	unsigned long long total, free, used;
};
struct mig_kind {
	unsigned id, peers, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
	unsigned long long memory;
};
struct mig_kind2 {
	unsigned version, id, peers, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
	unsigned long long memory;
	char name[96];
};
struct mig_part_kind {
	unsigned id, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
};
struct mig_about {
	void *device;
	unsigned id, profile, start, size;
};

struct mig_calls {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*at)(unsigned, void **);
	int (*by_address)(const char *, void **);
	int (*place)(void *, struct mig_place *);
	int (*size)(void *, struct mig_size *);
	int (*uuid)(void *, char *, unsigned);
	int (*mode)(void *, unsigned *, unsigned *);
	int (*set_mode)(void *, unsigned, int *);
	int (*kind)(void *, unsigned, struct mig_kind *);
	int (*kind2)(void *, unsigned, struct mig_kind2 *);
	int (*list)(void *, unsigned, void **, unsigned *);
	int (*about)(void *, struct mig_about *);
	int (*by_id)(void *, unsigned, void **);
	int (*make)(void *, unsigned, void **);
	int (*destroy)(void *);
	int (*part_kind)(void *, unsigned, unsigned, struct mig_part_kind *);
	int (*parts)(void *, unsigned, void **, unsigned *);
	int (*make_part)(void *, unsigned, void **);
	int (*destroy_part)(void *);
	int (*devices)(void *, unsigned *);
	int (*device_at)(void *, unsigned, void **);
	int (*instance_of)(void *, unsigned *);
	int (*part_of)(void *, unsigned *);
};

#define MIG_SYMBOL(member, name) \
	{ \
		offsetof(struct mig_calls, member), name \
	}
static const struct {
	size_t at;
	const char *name;
} mig_symbols[] = {
	MIG_SYMBOL(init, "nvmlInit_v2"),
	MIG_SYMBOL(count, "nvmlDeviceGetCount_v2"),
	MIG_SYMBOL(at, "nvmlDeviceGetHandleByIndex_v2"),
	MIG_SYMBOL(by_address, "nvmlDeviceGetHandleByPciBusId_v2"),
	MIG_SYMBOL(place, "nvmlDeviceGetPciInfo_v3"),
	MIG_SYMBOL(size, "nvmlDeviceGetMemoryInfo"),
	MIG_SYMBOL(uuid, "nvmlDeviceGetUUID"),
	MIG_SYMBOL(mode, "nvmlDeviceGetMigMode"),
	MIG_SYMBOL(set_mode, "nvmlDeviceSetMigMode"),
	MIG_SYMBOL(kind, "nvmlDeviceGetGpuInstanceProfileInfo"),
	MIG_SYMBOL(kind2, "nvmlDeviceGetGpuInstanceProfileInfoV"),
	MIG_SYMBOL(list, "nvmlDeviceGetGpuInstances"),
	MIG_SYMBOL(about, "nvmlGpuInstanceGetInfo"),
	MIG_SYMBOL(by_id, "nvmlDeviceGetGpuInstanceById"),
	MIG_SYMBOL(make, "nvmlDeviceCreateGpuInstance"),
	MIG_SYMBOL(destroy, "nvmlGpuInstanceDestroy"),
	MIG_SYMBOL(part_kind, "nvmlGpuInstanceGetComputeInstanceProfileInfo"),
	MIG_SYMBOL(parts, "nvmlGpuInstanceGetComputeInstances"),
	MIG_SYMBOL(make_part, "nvmlGpuInstanceCreateComputeInstance"),
	MIG_SYMBOL(destroy_part, "nvmlComputeInstanceDestroy"),
	MIG_SYMBOL(devices, "nvmlDeviceGetMaxMigDeviceCount"),
	MIG_SYMBOL(device_at, "nvmlDeviceGetMigDeviceHandleByIndex"),
	MIG_SYMBOL(instance_of, "nvmlDeviceGetGpuInstanceId"),
	MIG_SYMBOL(part_of, "nvmlDeviceGetComputeInstanceId"),
};

/* The child's answer. */
struct mig_told {
	int code; /* 0 or a negative errno */
	char why[200];
	unsigned made;
	struct mig_gpus found; /* of an order: the first */
};

/* ---- In the child ------------------------------------------------------------------------- */

static int mig_say(struct mig_told *t, int code, const char *what, const char *why)
{
	t->code = code;
	snprintf(t->why, sizeof t->why, "%s%s%s", what, *why ? ": " : "", why);
	return code;
}

/* What the library returned, in words; 0 is 0. */
static int mig_said(struct mig_told *t, int said, const char *what)
{
	static const struct {
		int said, code;
		const char *why;
	} words[] = {
		{ NVML_UNSUPPORTED, -ENOTSUP, "this GPU cannot" },
		{ NVML_FORBIDDEN, -EPERM, "only root may" },
		{ NVML_RESET, -EIO, "it needs a reset of the GPU, or a restart of this machine" },
		{ NVML_BUSY, -EBUSY, "a process uses it" },
		{ NVML_FULL, -ENOSPC, "the GPU has no room for it" },
	};
	char number[32];

	if (!said)
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].said == said)
			return mig_say(t, words[i].code, what, words[i].why);
	snprintf(number, sizeof number, "error %d", said);
	return mig_say(t, -EIO, what, number);
}

static int mig_load(const char *library, struct mig_calls *c, struct mig_told *t)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const char *why = lib ? "" : dlerror();

	if (!lib)
		return mig_say(t, -ENOENT, "cannot load it", why ? why : "");
	for (size_t i = 0; i < sizeof mig_symbols / sizeof *mig_symbols; i++) {
		void *found = dlsym(lib, mig_symbols[i].name);

		if (!found)
			return mig_say(t, -ENOTSUP, "it lacks", mig_symbols[i].name);
		memcpy((char *)c + mig_symbols[i].at, &found, sizeof found);
	}
	return c->init() ? mig_say(t, -EIO, "it does not start: is the driver loaded?", "") : 0;
}

/*
 * The name that NVIDIA gives a profile, for a library that tells names only while the GPU is cut: slices of its
 * processors, and its memory in whole eighths of the GPU's, which is rounded up to GiB.
 */
static void mig_name(unsigned kind, const struct mig_kind *k, int64_t total, char room[MIG_PROFILE])
{
	static const struct {
		unsigned kind;
		const char *attribute;
	} special[] = { { 7, "+me" }, { 8, "+me" }, { 10, "+gfx" }, { 11, "+gfx" }, { 12, "+gfx" }, { 13, "-me" },
		{ 14, "-me" }, { 15, "+me.all" }, { 16, "+me.all" }, { 17, "+gfx" } };
	int64_t gib = (total + (1 << 30) - 1) >> 30, mib = total >> 20;
	int64_t eighths = mib > 0 ? (8 * (int64_t)(k->memory & 0xffffffff) + mib - 1) / mib : 0;
	int64_t name = (eighths * gib + 4) / 8;
	const char *attribute = "";

	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		attribute = special[i].kind == kind ? special[i].attribute : attribute;
	snprintf(room, MIG_PROFILE, "%ug.%dgb%.8s", k->slices % 1000, name < 10000 ? (int)name : 0, attribute);
}

/* "MIG 1g.10gb" or "1g.10gb", by version of the library. */
static bool mig_take_name(const char *name, char room[MIG_PROFILE])
{
	name += str_starts(name, "MIG ") ? 4 : 0;
	if (!share_is_profile(name))
		return false;
	snprintf(room, MIG_PROFILE, "%s", name);
	return true;
}

/* false: this GPU has none of this kind. *last: nor any later one. */
static bool mig_ask_profile(const struct mig_calls *c, void *d, unsigned kind, struct mig_profile *p, bool *last)
{
	struct mig_kind2 two = { .version = sizeof two | 2U << 24 };
	struct mig_kind one = { 0 };
	struct mig_size size = { 0 };
	int said = c->kind(d, kind, &one);

	*last = said == NVML_BAD;
	if (said || !one.count || one.count > MIG_INSTANCES || !one.slices || one.memory >> 32)
		return false;
	*p = (struct mig_profile){ .id = one.id,
		.count = one.count,
		.slices = one.slices,
		.memory = (int64_t)one.memory << 20 };
	if (!c->kind2(d, kind, &two) && memchr(two.name, '\0', sizeof two.name) && mig_take_name(two.name, p->name))
		return true;
	if (c->size(d, &size) || size.total >> 50)
		return false;
	mig_name(kind, &one, (int64_t)size.total, p->name);
	return share_is_profile(p->name);
}

/* Several kinds may have one name: the first is NVIDIA's own choice. */
static void mig_ask_profiles(const struct mig_calls *c, void *d, struct mig_gpu *g)
{
	bool last = false;

	for (unsigned kind = 0; kind < GPU_KINDS && !last && g->profile_count < MIG_PROFILES; kind++) {
		struct mig_profile p;

		if (mig_ask_profile(c, d, kind, &p, &last) && !mig_profile_named(g, p.name))
			g->profiles[g->profile_count++] = p;
	}
}

static struct mig_instance *mig_find(struct mig_gpu *g, unsigned id)
{
	for (size_t i = 0; i < g->instance_count; i++)
		if (g->instances[i].id == id)
			return &g->instances[i];
	return NULL;
}

static int mig_ask_instances(const struct mig_calls *c, void *d, struct mig_gpu *g, struct mig_told *t)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < g->profile_count; i++) {
		void *list[MIG_INSTANCES] = { NULL };
		unsigned count = 0;

		rc = mig_said(t, c->list(d, g->profiles[i].id, list, &count), "cannot list the GPU's slices");
		for (unsigned k = 0; !rc && k < count && k < MIG_INSTANCES; k++) {
			struct mig_about a = { .device = NULL };

			rc = mig_said(t, c->about(list[k], &a), "cannot look at a slice");
			if (!rc && g->instance_count < MIG_INSTANCES && !mig_find(g, a.id))
				g->instances[g->instance_count++] = (struct mig_instance){ .id = a.id,
					.profile = a.profile };
		}
	}
	return rc;
}

/* Of those that can be used. All or an error: a slice without a UUID is nobody's, and who comes next destroys it. */
static int mig_ask_uuids(const struct mig_calls *c, void *d, struct mig_gpu *g, struct mig_told *t)
{
	unsigned most = 0;
	int rc = mig_said(t, c->devices(d, &most), "cannot count the GPU's slices");

	for (unsigned i = 0; !rc && i < most && i < MIG_INSTANCES; i++) {
		struct mig_instance *at = NULL;
		unsigned id = 0, part = 0;
		void *m = NULL;
		int said = c->device_at(d, i, &m);

		if (said == NVML_MISSING)
			continue;
		said = said ? said : c->instance_of(m, &id);
		said = said ? said : c->part_of(m, &part);
		if (!said && (at = mig_find(g, id))) {
			at->part = part;
			said = c->uuid(m, at->uuid, sizeof at->uuid);
		}
		rc = mig_said(t, said, "cannot look at a slice");
	}
	return rc;
}

static int mig_ask(const struct mig_calls *c, void *d, struct mig_gpu *g, struct mig_told *t)
{
	unsigned now = 0, later = 0;
	int said = c->mode(d, &now, &later);

	g->profile_count = g->instance_count = 0;
	if (said == NVML_UNSUPPORTED)
		return mig_say(t, -ENOTSUP, "this GPU has no slices (MIG)", "");
	if (said)
		return mig_said(t, said, "it does not tell whether the GPU has slices");
	g->on = now == 1;
	mig_ask_profiles(c, d, g);
	if (!g->on)
		return 0;
	said = mig_ask_instances(c, d, g, t);
	return said ? said : mig_ask_uuids(c, d, g, t);
}

/* ---- Orders, in the child ------------------------------------------------------------------- */

/* The driver may have taken the GPU away from its handle. */
static int mig_switch(const struct mig_calls *c, void **d, const struct mig_order *o, struct mig_told *t)
{
	unsigned to = o->act == MIG_ON, now = !to, later = !to;
	const char *what = to ? "cannot switch MIG on" : "cannot switch MIG off";
	int done = 0, said = c->set_mode(*d, to, &done), ignored = 0, rc;

	rc = mig_said(t, said ? said : done, what);
	if (!said && done)
		c->set_mode(*d, !to, &ignored);
	if (rc)
		return rc;
	if (c->by_address(o->address, d) || c->mode(*d, &now, &later) || now != to)
		return mig_said(t, NVML_RESET, what);
	return 0;
}

static int mig_make(const struct mig_calls *c, void *d, const struct mig_order *o, struct mig_told *t)
{
	struct mig_about a = { .device = NULL };
	const struct mig_profile *p;
	struct mig_gpu g = { .on = true };
	void *made = NULL;
	int rc;

	mig_ask_profiles(c, d, &g);
	p = mig_profile_named(&g, o->profile);
	if (!p)
		return mig_say(t, -ENOTSUP, "this GPU has no such slice", o->profile);
	rc = mig_said(t, c->make(d, p->id, &made), "cannot make a slice");
	rc = rc ? rc : mig_said(t, c->about(made, &a), "cannot look at a new slice");
	t->made = a.id;
	return rc;
}

/* The kind of part that is all of an instance: of several the one that reaches most of its video engines. */
static int mig_whole_part(const struct mig_calls *c, void *instance, unsigned slices, struct mig_told *t, unsigned *id)
{
	unsigned most = 0;

	for (unsigned kind = 0; kind < PART_KINDS; kind++) {
		struct mig_part_kind k = { 0 };
		unsigned engines;

		if (c->part_kind(instance, kind, ENGINE_SHARED, &k) || k.slices != slices)
			continue;
		engines = 1 + k.decode + k.encode + k.jpeg + k.flow;
		*id = engines > most ? k.id : *id;
		most = engines > most ? engines : most;
	}
	return most ? 0 : mig_say(t, -EIO, "cannot fill a slice", "it has no part of its own size");
}

static int mig_fill(const struct mig_calls *c, void *d, const struct mig_order *o, struct mig_told *t)
{
	struct mig_about a = { .device = NULL };
	struct mig_gpu g = { .on = true };
	void *instance = NULL, *part = NULL;
	unsigned slices = 0, id = 0;
	int rc = mig_said(t, c->by_id(d, o->instance, &instance), "cannot find a new slice");

	rc = rc ? rc : mig_said(t, c->about(instance, &a), "cannot look at a new slice");
	mig_ask_profiles(c, d, &g);
	for (size_t i = 0; i < g.profile_count; i++)
		slices = g.profiles[i].id == a.profile ? g.profiles[i].slices : slices;
	rc = rc ? rc : mig_whole_part(c, instance, slices, t, &id);
	return rc ? rc : mig_said(t, c->make_part(instance, id, &part), "cannot fill a slice");
}

static int mig_destroy(const struct mig_calls *c, void *d, const struct mig_order *o, struct mig_told *t)
{
	void *instance = NULL;
	int said = c->by_id(d, o->instance, &instance), rc;

	if (said == NVML_MISSING)
		return 0;
	rc = mig_said(t, said, "cannot find a slice");
	for (unsigned kind = 0; !rc && kind < PART_KINDS; kind++) {
		void *list[MIG_INSTANCES] = { NULL };
		struct mig_part_kind k = { 0 };
		unsigned count = 0;

		if (c->part_kind(instance, kind, ENGINE_SHARED, &k))
			continue;
		rc = mig_said(t, c->parts(instance, k.id, list, &count), "cannot list the parts of a slice");
		for (unsigned i = 0; !rc && i < count && i < MIG_INSTANCES; i++)
			rc = mig_said(t, c->destroy_part(list[i]), "cannot destroy a slice");
	}
	return rc ? rc : mig_said(t, c->destroy(instance), "cannot destroy a slice");
}

static int mig_act_on(const struct mig_calls *c, void **d, const struct mig_order *o, struct mig_told *t)
{
	switch (o->act) {
	case MIG_ON:
	case MIG_OFF:
		return mig_switch(c, d, o, t);
	case MIG_MAKE:
		return mig_make(c, *d, o, t);
	case MIG_FILL:
		return mig_fill(c, *d, o, t);
	case MIG_DESTROY:
		return mig_destroy(c, *d, o, t);
	default:
		return 0;
	}
}

static int mig_act(const struct mig_calls *c, const struct mig_order *o, struct mig_told *t)
{
	struct mig_gpu *g = &t->found.list[0];
	void *d = NULL;
	int rc = mig_said(t, c->by_address(o->address, &d), "it does not reach the GPU");

	snprintf(g->address, sizeof g->address, "%s", o->address);
	t->found.count = 1;
	rc = rc ? rc : mig_act_on(c, &d, o, t);
	return rc ? rc : mig_ask(c, d, g, t);
}

static int mig_ask_all(const struct mig_calls *c, struct mig_told *t)
{
	unsigned count = 0;

	if (c->count(&count))
		return mig_say(t, -EIO, "it does not count its GPUs", "");
	for (unsigned i = 0; i < count && i < NVML_GPUS; i++) {
		struct mig_gpu *g = &t->found.list[t->found.count];
		struct mig_place p = { .domain = 0 };
		void *d = NULL;

		if (c->at(i, &d) || c->place(d, &p))
			continue;
		snprintf(g->address, sizeof g->address, "%04x:%02x:%02x.0", p.domain & 0xffffff, p.bus & 0xff,
			p.device & 0x1f);
		g->code = mig_ask(c, d, g, t);
		t->found.count++;
	}
	t->code = 0;
	return 0;
}

static const char *mig_library(const char *root, char room[SYSFS_PATH])
{
	const char *own = sysfs_library(root, LIBRARY, room);

	return own ? own : LIBRARY;
}

static int mig_work(void *arg, int fd)
{
	static struct mig_told told; /* static, but only the child uses it */
	const struct mig_order *o = arg;
	char room[SYSFS_PATH];
	struct mig_calls c = { NULL };
	int rc = mig_load(mig_library(o->root, room), &c, &told);

	if (!rc && o->address)
		mig_act(&c, o, &told);
	else if (!rc)
		mig_ask_all(&c, &told);
	return gpuchild_write(fd, &told, sizeof told);
}

/* ---- In the agent -------------------------------------------------------------------------- */

static bool mig_is_text(const char *text, size_t size)
{
	if (!memchr(text, '\0', size))
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || strchr("\"\\'`$", *text))
			return false;
	return true;
}

static bool mig_is_good(const struct mig_gpu *g)
{
	bool good = mig_is_text(g->address, sizeof g->address) && g->profile_count <= MIG_PROFILES &&
		g->instance_count <= MIG_INSTANCES;

	for (size_t i = 0; good && i < g->profile_count; i++)
		good = mig_is_text(g->profiles[i].name, MIG_PROFILE) && share_is_profile(g->profiles[i].name);
	for (size_t i = 0; good && i < g->instance_count; i++)
		good = mig_is_text(g->instances[i].uuid, sizeof g->instances[i].uuid);
	return good;
}

static int mig_run(const struct mig_order *o, struct mig_told **out, struct fail *f)
{
	char room[SYSFS_PATH];
	struct mig_told *t = malloc(sizeof *t);
	struct fail why = { 0 };
	struct buf told;
	int rc = t ? 0 : fail_set(&why, -ENOMEM, "out of memory");

	if (!rc && !*mig_library(o->root, room))
		rc = fail_set(&why, -ENOENT, "it is not installed");
	buf_init(&told, sizeof *t + 1);
	rc = rc ? rc : gpuchild_run(mig_work, (void *)(uintptr_t)o, o->act == MIG_LOOK ? LOOK_MS : ACT_MS, &told, &why);
	if (!rc && told.len != sizeof *t)
		rc = fail_set(&why, -EIO, "its answer is cut off");
	if (!rc) {
		memcpy(t, told.data, sizeof *t);
		t->why[sizeof t->why - 1] = '\0';
		rc = t->code ? fail_set(&why, t->code, "%s", t->why) : 0;
	}
	if (!rc && t->found.count > NVML_GPUS)
		rc = fail_set(&why, -EIO, "its answer is invalid");
	for (size_t i = 0; !rc && i < t->found.count; i++)
		if (!mig_is_good(&t->found.list[i]))
			rc = fail_set(&why, -EIO, "its answer is invalid");
	buf_release(&told);
	if (rc) {
		free(t);
		return fail_set(f, rc, "'%s': %s", LIBRARY, why.text);
	}
	*out = t;
	return 0;
}

int mig_read(const char *root, struct mig_gpus *out, struct fail *f)
{
	const struct mig_order look = { .act = MIG_LOOK, .root = root };
	struct mig_told *t;
	int rc = mig_run(&look, &t, f);

	if (rc)
		return rc;
	*out = t->found;
	free(t);
	return 0;
}

int mig_do(const struct mig_order *o, struct mig_gpu *out, unsigned *made, struct fail *f)
{
	struct mig_told *t;
	int rc = mig_run(o, &t, f);

	if (rc)
		return rc;
	*out = t->found.list[0];
	*made = t->made;
	free(t);
	return 0;
}

const struct mig_profile *mig_profile_named(const struct mig_gpu *g, const char *name)
{
	for (size_t i = 0; i < g->profile_count; i++)
		if (strcmp(g->profiles[i].name, name) == 0)
			return &g->profiles[i];
	return NULL;
}
