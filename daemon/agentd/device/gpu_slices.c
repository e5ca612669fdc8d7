/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_slices.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agentd/contract.h"
#include "agentd/device/gpu_book.h"
#include "agentd/machine/gpu.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { LEAVE_MS = 3000, LOOK_MS = 30000, PAUSE_MS = 100 };

/* ---- What a GPU can be cut into -------------------------------------------------------------- */

static json_t *slices_read(const char *data, const char *name, struct fail *f)
{
	char path[STATEFILE_PATH];
	json_t *j = NULL;
	int rc = statefile_path(path, data, name, NULL);

	rc = rc ? fail_set(f, rc, "the path of '%s' is too long", data) : statefile_load(path, &j, f);
	return rc == -ENOENT ? json_object() : j;
}

static int slices_write(const char *data, const char *name, json_t *j, struct fail *f)
{
	char path[STATEFILE_PATH];

	return statefile_path(path, data, name, NULL) == 0 ? statefile_json(path, json_incref(j), f)
							   : fail_set(f, -ENAMETOOLONG, "the path is too long");
}

json_t *gpu_slices_load(const char *data)
{
	json_t *j = slices_read(data, "slices.json", NULL);

	return j ? j : json_object();
}

int gpu_slices_keep(const char *data, const struct inventory *v, struct fail *f)
{
	json_t *before = gpu_slices_load(data), *now = json_deep_copy(before);
	int rc = 0;

	for (size_t i = 0; now && i < v->gpu_count; i++) {
		const struct gpu *g = &v->gpus[i];
		json_t *list;

		if (!g->slices_known)
			continue;
		list = json_object();
		for (size_t k = 0; k < g->slice_count; k++)
			json_object_set_new(list, g->slices[k].profile,
				json_pack("{s:I, s:I}", "count", (json_int_t)g->slices[k].count, "memory",
					(json_int_t)g->slices[k].memory));
		if (g->slice_count)
			json_object_set(now, g->pci.address, list);
		else
			json_object_del(now, g->pci.address);
		json_decref(list);
	}
	if (!now)
		rc = fail_set(f, -ENOMEM, "out of memory");
	else if (!json_equal(before, now))
		rc = slices_write(data, "slices.json", now, f);
	json_decref(before);
	json_decref(now);
	return rc;
}

unsigned gpu_slices_count(const json_t *known, const char *address, const char *profile, int64_t *memory)
{
	const json_t *one = json_object_get(json_object_get(known, address), profile);
	int64_t count = statefile_int(one, "count", 0);

	if (memory)
		*memory = statefile_int(one, "memory", 0);
	return count < 1 ? 0 : count > GPU_PARTS_MAX ? GPU_PARTS_MAX : (unsigned)count;
}

/* ---- Whose a slice is -------------------------------------------------------------------------- */

/* mig.json: {ADDRESS: {"before": 0, "nodes": {NODE: UUID}}}, for GPUs that are cut. */
struct slices {
	const char *data, *root, *address;
	int lock;
	json_t *all, *nodes; /* nodes: of this GPU; NULL: it is not cut */
	struct mig_gpu is;
};

static int slices_save(struct slices *s, struct fail *f)
{
	return slices_write(s->data, "mig.json", s->all, f);
}

static int slices_do(struct slices *s, enum mig_act act, const char *profile, unsigned *instance, struct fail *f)
{
	const struct mig_order o = { act, s->root, s->address, profile, *instance };
	struct fail why = { 0 };
	int rc = mig_do(&o, &s->is, instance, &why);

	return rc ? fail_set(f, rc, "the GPU at %s: %.200s", s->address, why.text) : 0;
}

/* The driver resets a GPU to switch its mode: in turn with who looks, and with time for programs that close it. */
static int slices_switch(struct slices *s, enum mig_act to, struct fail *f)
{
	int64_t until = clock_ms() + LEAVE_MS;

	for (; s->is.on != (to == MIG_ON); poll(NULL, 0, PAUSE_MS)) {
		int turn = gpu_book_turn(s->data, LOCK_EX, f), rc;
		unsigned none = 0;

		if (turn < 0)
			return turn;
		rc = slices_do(s, to, "", &none, f);
		close(turn);
		if (rc != -EBUSY || clock_ms() >= until)
			return rc;
	}
	return 0;
}

/* The driver may be busy with another GPU: a look that fails is repeated. */
static int slices_look(struct slices *s, struct fail *f)
{
	int64_t until = clock_ms() + LOOK_MS;
	unsigned none = 0;
	int rc;

	while ((rc = slices_do(s, MIG_LOOK, "", &none, f)) == -EIO && clock_ms() < until)
		poll(NULL, 0, PAUSE_MS);
	return rc;
}

static int slices_open(struct slices *s, struct fail *f)
{
	int rc;

	s->lock = statefile_lock(s->data, "mig.lock", LOCK_EX, -1, f);
	rc = s->lock < 0 ? s->lock : 0;
	s->all = rc ? NULL : slices_read(s->data, "mig.json", f);
	if (!rc && !s->all)
		return -EINVAL;
	s->nodes = json_object_get(json_object_get(s->all, s->address), "nodes");
	return rc;
}

static void slices_close(struct slices *s)
{
	json_decref(s->all);
	if (s->lock >= 0)
		close(s->lock);
}

/* The node that has the slice and is not gone; "": nobody. */
static const char *slices_whose(const struct slices *s, const struct mig_instance *m)
{
	const struct gpu_book b = { .data = s->data, .lock = -1 };
	const char *node;
	json_t *uuid;

	json_object_foreach(s->nodes, node, uuid)
	{
		const char *text = json_string_value(uuid);

		if (*m->uuid && text && strcmp(text, m->uuid) == 0 && !gpu_book_is_dead(&b, node))
			return node;
	}
	return "";
}

static bool slices_fits(const struct slices *s, const struct mig_instance *m, const char *profile)
{
	const struct mig_profile *p = mig_profile_named(&s->is, profile);

	return p && p->id == m->profile;
}

/* Destroys those that nobody has. The first that stays is the failure, or, where `only` is its UUID, that one alone. */
static int slices_sweep(struct slices *s, const char *only, struct fail *f)
{
	const struct mig_gpu before = s->is;
	int first = 0;

	for (size_t i = 0; i < before.instance_count; i++) {
		const struct mig_instance *m = &before.instances[i];
		bool counts = !first && (!*only || strcmp(only, m->uuid) == 0);
		unsigned id = m->id;
		int rc = *slices_whose(s, m) ? 0 : slices_do(s, MIG_DESTROY, "", &id, counts ? f : NULL);

		first = counts ? rc : first;
	}
	return first;
}

/* ---- Made -------------------------------------------------------------------------------------- */

/* Notes the mode that the GPU has before it is changed, so that it can be put back by whoever comes next. */
static int slices_begin(struct slices *s, struct fail *f)
{
	if (s->nodes)
		return 0;
	json_object_set_new(s->all, s->address, json_pack("{s:i, s:{}}", "before", s->is.on ? 1 : 0, "nodes"));
	s->nodes = json_object_get(json_object_get(s->all, s->address), "nodes");
	return s->nodes ? slices_save(s, f) : fail_set(f, -ENOMEM, "out of memory");
}

/* 1: *out is the node's slice, which it had already. */
static int slices_has(const struct slices *s, const char *profile, const char *node, struct mig_instance *out)
{
	for (size_t i = 0; i < s->is.instance_count; i++)
		if (strcmp(slices_whose(s, &s->is.instances[i]), node) == 0 &&
			slices_fits(s, &s->is.instances[i], profile)) {
			*out = s->is.instances[i];
			return 1;
		}
	return 0;
}

/* The UUID of a slice tells its place: who had one there before has none now, as after a restart of the machine. */
static int slices_note(struct slices *s, const char *node, const char *uuid, struct fail *f)
{
	const char *other;
	json_t *had;
	void *next;

	json_object_foreach_safe(s->nodes, next, other, had)
	{
		const char *text = json_string_value(had);

		if (text && strcmp(text, uuid) == 0)
			json_object_del(s->nodes, other);
	}
	json_object_set_new(s->nodes, node, json_string(uuid));
	return slices_save(s, f);
}

static int slices_new(struct slices *s, const char *profile, const char *node, struct mig_instance *out, struct fail *f)
{
	unsigned id = 0, same;
	int rc = slices_do(s, MIG_MAKE, profile, &id, f);

	if (rc)
		return rc;
	same = id;
	rc = slices_do(s, MIG_FILL, profile, &same, f);
	for (size_t i = 0; !rc && i < s->is.instance_count; i++)
		if (s->is.instances[i].id == id)
			*out = s->is.instances[i];
	if (!rc && !*out->uuid)
		rc = fail_set(f, -EIO, "the GPU at %s: a new slice has no UUID", s->address);
	rc = rc ? rc : slices_note(s, node, out->uuid, f);
	same = id;
	if (rc)
		slices_do(s, MIG_DESTROY, "", &same, NULL);
	return rc;
}

int gpu_slices_make(const char *data, const char *root, const char *address, const char *profile, const char *node,
	struct mig_instance *out, struct fail *f)
{
	struct slices s = { .data = data, .root = root, .address = address };
	int rc = slices_open(&s, f);

	*out = (struct mig_instance){ .uuid = "" };
	rc = rc ? rc : slices_look(&s, f);
	rc = rc ? rc : slices_begin(&s, f);
	rc = rc ? rc : slices_switch(&s, MIG_ON, f);
	if (!rc && !slices_has(&s, profile, node, out)) {
		json_object_del(s.nodes, node); /* what it had is gone, or of another size */
		slices_sweep(&s, "", NULL);     /* what stays takes room, as making the new one says */
		rc = slices_new(&s, profile, node, out, f);
	}
	slices_close(&s);
	return rc;
}

/* ---- Destroyed ---------------------------------------------------------------------------------- */

static int slices_put_back(struct slices *s, struct fail *f)
{
	bool was_on = statefile_int(json_object_get(s->all, s->address), "before", 0) == 1;
	int rc = slices_switch(s, was_on ? MIG_ON : MIG_OFF, f);

	if (rc)
		return rc;
	json_object_del(s->all, s->address);
	s->nodes = NULL;
	return slices_save(s, f);
}

static int slices_remove(struct slices *s, const char *node, struct fail *f)
{
	const char *uuid = json_string_value(json_object_get(s->nodes, node));
	int64_t until = clock_ms() + LEAVE_MS;
	int rc = slices_look(s, f), saved;
	char own[NVML_TEXT];

	if (rc)
		return rc;
	snprintf(own, sizeof own, "%s",
		uuid ? uuid : ""); /* where it had none, what a killed step left may be its own */
	json_object_del(s->nodes, node);
	while ((rc = slices_sweep(s, own, f)) == -EBUSY && clock_ms() < until)
		poll(NULL, 0, PAUSE_MS);
	saved = slices_save(s, rc ? NULL : f);
	rc = rc ? rc : saved;
	return rc || s->is.instance_count ? rc : slices_put_back(s, f);
}

int gpu_slices_undo(const char *data, const char *root, const char *address, const char *node, struct fail *f)
{
	struct slices s = { .data = data, .root = root, .address = address };
	int rc = slices_open(&s, f);

	if (!rc && s.nodes)
		rc = slices_remove(&s, node, f);
	slices_close(&s);
	return rc;
}

/* A damaged file may have had it. */
bool gpu_slices_any(const char *data, const char *address)
{
	json_t *all = slices_read(data, "mig.json", NULL);
	bool any = !all || json_object_get(all, address);

	json_decref(all);
	return any;
}

int gpu_slices_end(const char *data, const char *root, const char *address, struct fail *f)
{
	int rc = gpu_slices_any(data, address) ? gpu_slices_undo(data, root, address, "", f) : 0;

	if (!rc && gpu_slices_any(data, address))
		rc = fail_set(f, -EBUSY, "the GPU at %s is still cut into slices, which other nodes have", address);
	return rc;
}

/* A GPU that has no slices, or whose library nobody has, is whole. */
int gpu_slices_off(const char *data, const char *root, const char *address, struct fail *f)
{
	struct slices s = { .data = data, .root = root, .address = address };
	struct fail why = { 0 };
	struct pci p;
	int rc;

	if (pci_read(root, address, &p) != 0 || p.vendor != GPU_NVIDIA || strcmp(p.driver, "nvidia") != 0)
		return 0;
	rc = slices_open(&s, f);
	if (!rc && (rc = slices_look(&s, &why)) != 0)
		rc = rc == -ENOENT || rc == -ENOTSUP ? 0 : fail_set(f, rc, "%s", why.text);
	else if (!rc && s.is.instance_count)
		rc = fail_set(f, -EBUSY,
			"the GPU at %s is cut into slices, which its owner made: 'nvidia-smi mig -i %s -dci' and "
			"'nvidia-smi mig -i %s -dgi' destroy them",
			address, address, address);
	else if (!rc && s.is.on) {
		rc = slices_begin(&s, f);
		rc = rc ? rc : slices_switch(&s, MIG_OFF, f);
	}
	slices_close(&s);
	return rc;
}
