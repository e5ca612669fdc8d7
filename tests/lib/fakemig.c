/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of fakenvml.c that cuts GPUs into slices (MIG), by the library's published contract: a GPU has 7 slices of
 * processors and 8 of memory. All is kept in FAKE_NVML_STATE: `mig`: GPUs can be cut; `mig-N`: GPU N is switched on;
 * `gi-N-ID` and `ci-N-ID`: its GPU instances, as the number of a profile, and their compute instances.
 *
 * Faults, while the file is there: `mig-full` nothing is made; `mig-used` nothing is destroyed or switched, or not the
 * instance whose number it has; `mig-reset` the mode needs a reset; `mig-mute` names, `mig-deaf` profiles are told only
 * while the GPU is switched on. Once: `mig-kill` has a word of on off make fill drain destroy: whoever started this
 * library's process is killed after that step; `mig-blind` has a word of count device uuid: that question fails;
 * `mig-busy` has a word of on off drain: that step finds a user. `mig-turn` has the path of a lock: a switch while
 * nobody holds it makes `mig-unasked`.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct kind {
	unsigned id, peers, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
	unsigned long long memory;
};
struct kind2 {
	unsigned version, id, peers, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
	unsigned long long memory;
	char name[96];
};
struct part_kind {
	unsigned id, slices, count, multiprocessors, copy, decode, encode, jpeg, flow;
};
struct about {
	void *device;
	unsigned id, profile, start, size;
};

bool fakemig_on(int gpu);
int fakemig_uuid(void *d, char *room, unsigned size);
int nvmlDeviceSetMigMode(void *d, unsigned mode, int *done);
int nvmlDeviceGetGpuInstanceProfileInfo(void *d, unsigned kind, struct kind *out);
int nvmlDeviceGetGpuInstanceProfileInfoV(void *d, unsigned kind, struct kind2 *out);
int nvmlDeviceGetGpuInstances(void *d, unsigned id, void **list, unsigned *count);
int nvmlGpuInstanceGetInfo(void *gi, struct about *out);
int nvmlDeviceGetGpuInstanceById(void *d, unsigned id, void **out);
int nvmlDeviceCreateGpuInstance(void *d, unsigned id, void **out);
int nvmlGpuInstanceDestroy(void *gi);
int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *gi, unsigned kind, unsigned engine, struct part_kind *out);
int nvmlGpuInstanceGetComputeInstances(void *gi, unsigned id, void **list, unsigned *count);
int nvmlGpuInstanceCreateComputeInstance(void *gi, unsigned id, void **out);
int nvmlComputeInstanceDestroy(void *ci);
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *out);
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **out);
int nvmlDeviceGetGpuInstanceId(void *m, unsigned *out);
int nvmlDeviceGetComputeInstanceId(void *m, unsigned *out);

enum {
	BAD = 2,
	UNKNOWN = 999,
	UNSUPPORTED = 3,
	MISSING = 6,
	RESET = 16,
	USED = 19,
	FULL = 23,
	IDS = 16,
	ME_PART = 7,
	MIG_DEVICE = 0x40000,
	GPU_INSTANCE = 0x10000,
	COMPUTE_INSTANCE = 0x20000
};

static const struct {
	unsigned kind, id, slices, memory, count, mib;
	const char *name;
} profiles[] = {
	{ 0, 19, 1, 1, 7, 2900, "1g.3gb" },
	{ 1, 14, 2, 2, 3, 6000, "2g.6gb" },
	{ 2, 9, 3, 4, 2, 12000, "3g.12gb" },
	{ 3, 5, 4, 4, 1, 12000, "4g.12gb" },
	{ 4, 0, 7, 8, 1, 24000, "7g.24gb" },
	{ 7, 20, 1, 1, 1, 2900, "1g.3gb+me" },
};
enum { PROFILES = sizeof profiles / sizeof *profiles };

static char *state(const char *name, char room[1024])
{
	const char *folder = getenv("FAKE_NVML_STATE");

	snprintf(room, 1024, "%s/%s", folder ? folder : "/nonexistent", name);
	return room;
}

static bool has(const char *name)
{
	char path[1024];

	return access(state(name, path), F_OK) == 0;
}

static void put(const char *name, const char *text)
{
	char path[1024];
	FILE *f = fopen(state(name, path), "we");

	if (!f)
		return;
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void drop(const char *name)
{
	char path[1024];

	unlink(state(name, path));
}

/* "gi-0-3" */
static const char *named(const char *what, int gpu, unsigned id, char room[64])
{
	snprintf(room, 64, "%s-%d-%u", what, gpu, id);
	return room;
}

/* The fault is for this step, and happens once. */
static bool is_fault(const char *fault, const char *step)
{
	char path[1024], word[32] = "";
	FILE *f = fopen(state(fault, path), "re");
	bool is = f && fscanf(f, "%31s", word) == 1 && strcmp(word, step) == 0;

	if (f)
		fclose(f);
	if (is)
		drop(fault);
	return is;
}

static bool is_used(unsigned id)
{
	char path[1024];
	unsigned only;
	FILE *f = fopen(state("mig-used", path), "re");
	bool is = f && (fscanf(f, "%u", &only) != 1 || only == id);

	if (f)
		fclose(f);
	return is;
}

static void killer(const char *step)
{
	if (!is_fault("mig-kill", step))
		return;
	kill(getppid(), SIGKILL);
	for (;;)
		pause();
}

static int gpu_of(void *handle)
{
	uintptr_t n = (uintptr_t)handle;

	return n >= GPU_INSTANCE ? (int)(n >> 8 & 0xff) : (int)n - 1;
}

static unsigned id_of(void *handle)
{
	return (unsigned)((uintptr_t)handle & 0xff);
}

static void *handle_of(unsigned base, int gpu, unsigned id)
{
	return (void *)(uintptr_t)(base + ((unsigned)gpu << 8) + id);
}

bool fakemig_on(int gpu)
{
	char name[32];

	snprintf(name, sizeof name, "mig-%d", gpu);
	return has(name);
}

/* The index of the instance's profile; -1: there is no such instance. */
static int instance_kind(int gpu, unsigned id)
{
	char path[1024], name[64];
	unsigned profile = 0;
	FILE *f = fopen(state(named("gi", gpu, id, name), path), "re");
	bool good = f && fscanf(f, "%u", &profile) == 1;

	if (f)
		fclose(f);
	for (int i = 0; good && i < PROFILES; i++)
		if (profiles[i].id == profile)
			return i;
	return -1;
}

/*
 * As the library returns; -1: this is no slice. The driver makes it of the GPU and the place in it: what is made anew
 * in the same place has the same one.
 */
int fakemig_uuid(void *d, char *room, unsigned size)
{
	if ((uintptr_t)d < MIG_DEVICE)
		return -1;
	if (instance_kind(gpu_of(d), id_of(d)) < 0)
		return MISSING;
	if (is_fault("mig-blind", "uuid"))
		return UNKNOWN;
	snprintf(room, size, "MIG-fake-%d-%u", gpu_of(d), id_of(d));
	return 0;
}

static bool any_instance(int gpu)
{
	for (unsigned id = 0; id < IDS; id++)
		if (instance_kind(gpu, id) >= 0)
			return true;
	return false;
}

/* A switch resets the GPU, so it has its turn among those who look. */
static void check_turn(void)
{
	char path[1024], lock[1024] = "";
	FILE *f = fopen(state("mig-turn", path), "re");
	int fd = -1;

	if (!f)
		return;
	if (fscanf(f, "%1023s", lock) == 1)
		fd = open(lock, O_RDWR | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		put("mig-unasked", "");
	if (fd >= 0)
		close(fd);
	fclose(f);
}

int nvmlDeviceSetMigMode(void *d, unsigned mode, int *done)
{
	bool used = has("mig-used") || is_fault("mig-busy", mode ? "on" : "off");
	char name[32];

	if (!has("mig"))
		return UNSUPPORTED;
	check_turn();
	*done = used || any_instance(gpu_of(d)) ? USED : 0;
	*done = has("mig-reset") ? RESET : *done;
	if (*done)
		return 0;
	snprintf(name, sizeof name, "mig-%d", gpu_of(d));
	if (mode)
		put(name, "on");
	else
		drop(name);
	killer(mode ? "on" : "off");
	return 0;
}

int nvmlDeviceGetGpuInstanceProfileInfo(void *d, unsigned kind, struct kind *out)
{
	if (has("mig-deaf") && !fakemig_on(gpu_of(d)))
		return UNSUPPORTED;
	for (int i = 0; has("mig") && i < PROFILES; i++)
		if (profiles[i].kind == kind) {
			*out = (struct kind){ .id = profiles[i].id,
				.slices = profiles[i].slices,
				.count = profiles[i].count,
				.memory = profiles[i].mib };
			return 0;
		}
	return kind < 18 ? UNSUPPORTED : BAD;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(void *d, unsigned kind, struct kind2 *out)
{
	if (out->version != (sizeof *out | 2U << 24))
		return 25;
	if (has("mig-mute") && !fakemig_on(gpu_of(d)))
		return UNSUPPORTED;
	for (int i = 0; has("mig") && i < PROFILES; i++)
		if (profiles[i].kind == kind) {
			out->id = profiles[i].id;
			out->slices = profiles[i].slices;
			out->count = profiles[i].count;
			out->memory = profiles[i].mib;
			snprintf(out->name, sizeof out->name, "MIG %s", profiles[i].name);
			return 0;
		}
	return kind < 18 ? UNSUPPORTED : BAD;
}

int nvmlDeviceGetGpuInstances(void *d, unsigned id, void **list, unsigned *count)
{
	*count = 0;
	if (!fakemig_on(gpu_of(d)))
		return UNSUPPORTED;
	for (unsigned i = 0; i < IDS; i++) {
		int kind = instance_kind(gpu_of(d), i);

		if (kind >= 0 && profiles[kind].id == id)
			list[(*count)++] = handle_of(GPU_INSTANCE, gpu_of(d), i);
	}
	return 0;
}

int nvmlGpuInstanceGetInfo(void *gi, struct about *out)
{
	int kind = instance_kind(gpu_of(gi), id_of(gi));

	if (kind < 0)
		return BAD;
	*out = (struct about){ .id = id_of(gi), .profile = profiles[kind].id };
	return 0;
}

int nvmlDeviceGetGpuInstanceById(void *d, unsigned id, void **out)
{
	if (instance_kind(gpu_of(d), id) < 0)
		return MISSING;
	*out = handle_of(GPU_INSTANCE, gpu_of(d), id);
	return 0;
}

static bool has_room(int gpu, int kind)
{
	unsigned slices = profiles[kind].slices, memory = profiles[kind].memory, same = 1;

	for (unsigned i = 0; i < IDS; i++) {
		int other = instance_kind(gpu, i);

		if (other < 0)
			continue;
		slices += profiles[other].slices;
		memory += profiles[other].memory;
		same += other == kind;
	}
	return slices <= 7 && memory <= 8 && same <= profiles[kind].count && !has("mig-full");
}

int nvmlDeviceCreateGpuInstance(void *d, unsigned id, void **out)
{
	char text[64], name[64];
	unsigned free_id = 1;
	int kind = 0;

	while (kind < PROFILES && profiles[kind].id != id)
		kind++;
	if (kind == PROFILES || !fakemig_on(gpu_of(d)))
		return kind == PROFILES ? BAD : UNSUPPORTED;
	if (!has_room(gpu_of(d), kind))
		return FULL;
	while (instance_kind(gpu_of(d), free_id) >= 0)
		free_id++;
	snprintf(text, sizeof text, "%u", id);
	put(named("gi", gpu_of(d), free_id, name), text);
	*out = handle_of(GPU_INSTANCE, gpu_of(d), free_id);
	killer("make");
	return 0;
}

int nvmlGpuInstanceDestroy(void *gi)
{
	char name[64];

	if (is_used(id_of(gi)) || has(named("ci", gpu_of(gi), id_of(gi), name)))
		return USED;
	drop(named("gi", gpu_of(gi), id_of(gi), name));
	killer("destroy");
	return 0;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *gi, unsigned kind, unsigned engine, struct part_kind *out)
{
	static const unsigned sizes[] = { 1, 2, 3, 4, 7 };
	int of = instance_kind(gpu_of(gi), id_of(gi));

	if (of < 0 || engine != 0)
		return BAD;
	if (kind == ME_PART && profiles[of].kind == ME_PART) { /* with the video engines of its instance */
		*out = (struct part_kind){ .id = kind, .slices = 1, .count = 1, .decode = 1, .jpeg = 1 };
		return 0;
	}
	if (kind >= sizeof sizes / sizeof *sizes || sizes[kind] > profiles[of].slices)
		return UNSUPPORTED;
	*out = (struct part_kind){ .id = kind, .slices = sizes[kind], .count = profiles[of].slices / sizes[kind] };
	return 0;
}

int nvmlGpuInstanceGetComputeInstances(void *gi, unsigned id, void **list, unsigned *count)
{
	char path[1024], name[64];
	unsigned kind = 0;
	FILE *f = fopen(state(named("ci", gpu_of(gi), id_of(gi), name), path), "re");

	*count = 0;
	if (f && fscanf(f, "%u", &kind) == 1 && kind == id)
		list[(*count)++] = handle_of(COMPUTE_INSTANCE, gpu_of(gi), id_of(gi));
	if (f)
		fclose(f);
	return 0;
}

int nvmlGpuInstanceCreateComputeInstance(void *gi, unsigned id, void **out)
{
	char name[64], text[16];

	if (has(named("ci", gpu_of(gi), id_of(gi), name)))
		return FULL;
	snprintf(text, sizeof text, "%u", id);
	put(name, text);
	*out = handle_of(COMPUTE_INSTANCE, gpu_of(gi), id_of(gi));
	killer("fill");
	return 0;
}

int nvmlComputeInstanceDestroy(void *ci)
{
	char name[64];

	if (is_used(id_of(ci)) || is_fault("mig-busy", "drain"))
		return USED;
	drop(named("ci", gpu_of(ci), id_of(ci), name));
	killer("drain");
	return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *out)
{
	*out = fakemig_on(gpu_of(d)) ? IDS : 0;
	return is_fault("mig-blind", "count") ? UNKNOWN : 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **out)
{
	char name[64];

	if (!has(named("ci", gpu_of(d), i, name)))
		return MISSING;
	if (is_fault("mig-blind", "device"))
		return UNKNOWN;
	*out = handle_of(MIG_DEVICE, gpu_of(d), i);
	return 0;
}

int nvmlDeviceGetGpuInstanceId(void *m, unsigned *out)
{
	*out = id_of(m);
	return 0;
}

int nvmlDeviceGetComputeInstanceId(void *m, unsigned *out)
{
	(void)m;
	*out = 0;
	return 0;
}
