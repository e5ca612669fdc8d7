/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine has, as its agent reports it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "marketd/api/tally.h"

/* Far more than any machine has; sums of what fits stay far below int64. */
static const int64_t VCPUS_MAX = INT64_C(1) << 20, BYTES_MAX = INT64_C(1) << 52, GPUS_MAX = 1024;
enum { MERGE_GPUS = 64 };

static int64_t capacity_number(const json_t *o, const char *name, int64_t max)
{
	const json_t *value = json_object_get(o, name);
	int64_t n = json_is_integer(value) ? json_integer_value(value) : 0;

	return n < 0 ? 0 : n > max ? max : n;
}

/* Profiles that the market cannot sell are left out. */
static void capacity_add_slices(struct capacity_gpu *g, const json_t *list)
{
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		const char *profile = json_string_value(json_object_get(o, "profile"));
		int64_t count = capacity_number(o, "count", SHARE_PARTS_MAX);

		if (g->slice_count == TALLY_SLICES || !count || !profile || !share_is_profile(profile))
			continue;
		snprintf(g->slices[g->slice_count].profile, SHARE_SLICE, "%s", profile);
		g->slices[g->slice_count++].count = count;
	}
}

static bool capacity_same_slices(const struct capacity_gpu *a, const struct capacity_gpu *b)
{
	bool same = a->slice_count == b->slice_count;

	for (size_t i = 0; same && i < a->slice_count; i++)
		same = a->slices[i].count == b->slices[i].count &&
			strcmp(a->slices[i].profile, b->slices[i].profile) == 0;
	return same;
}

/* Equal GPUs are one kind, in however many members they come. */
static void capacity_add_gpu(struct capacity *c, const json_t *o)
{
	struct capacity_gpu g = { .memory = capacity_number(o, "memory_bytes", BYTES_MAX),
		.count = capacity_number(o, "count", GPUS_MAX) };
	size_t i = 0;

	capacity_add_slices(&g, json_object_get(o, "slices"));
	promise_word(g.vendor, sizeof g.vendor, json_string_value(json_object_get(o, "vendor")));
	promise_word(g.model, sizeof g.model, json_string_value(json_object_get(o, "model")));
	while (i < c->kinds &&
		(strcasecmp(c->gpus[i].vendor, g.vendor) != 0 || strcasecmp(c->gpus[i].model, g.model) != 0 ||
			c->gpus[i].memory != g.memory || !capacity_same_slices(&c->gpus[i], &g)))
		i++;
	if (i < c->kinds)
		c->gpus[i].count = c->gpus[i].count + g.count < GPUS_MAX ? c->gpus[i].count + g.count : GPUS_MAX;
	else if (i < TALLY_KINDS && g.count)
		c->gpus[c->kinds++] = g;
}

/* A sentence of the agent, for its owner: printable ASCII. */
static void capacity_sentence(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text && text[n] && n + 1 < size; n++)
		out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
	out[n] = '\0';
}

bool tally_capacity(const json_t *inventory, struct capacity *out)
{
	const json_t *o = json_object_get(inventory, "capacity"), *gpu;
	size_t i;

	if (!json_is_object(o))
		return false;
	memset(out, 0, sizeof *out);
	out->vcpus = capacity_number(o, "vcpus", VCPUS_MAX);
	out->memory = capacity_number(o, "memory_bytes", BYTES_MAX);
	out->disk = capacity_number(o, "disk_bytes", BYTES_MAX);
	out->node_memory = capacity_number(o, "node_memory_bytes", BYTES_MAX);
	out->no_rate = json_is_false(json_object_get(o, "network"));
	out->shared = json_is_true(json_object_get(o, "shared_storage"));
	out->devices = json_is_true(json_object_get(o, "devices"));
	capacity_sentence(out->no_gpus, sizeof out->no_gpus, json_string_value(json_object_get(o, "no_gpus")));
	promise_word(out->shares, sizeof out->shares, json_string_value(json_object_get(o, "shares")));
	promise_word(out->driver, sizeof out->driver, json_string_value(json_object_get(o, "driver")));
	json_array_foreach(json_object_get(o, "gpus"), i, gpu) capacity_add_gpu(out, gpu);
	return true;
}

/* Whether the member of a report says anything. */
static bool merge_says(const json_t *value, char kind)
{
	switch (kind) {
	case 'i':
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case 'a':
		return json_is_array(value);
	case 's':
		return json_is_string(value);
	default:
		return json_is_boolean(value);
	}
}

/* The slices that GPUs of this model had; NULL where not all told the same: nobody knows which is which. */
static json_t *merge_slices(const json_t *before, const char *model)
{
	json_t *all = NULL;
	const json_t *old;
	size_t i;

	json_array_foreach(before, i, old)
	{
		const char *is = json_string_value(json_object_get(old, "model"));
		json_t *slices = json_object_get(old, "slices");

		if (!is || strcasecmp(is, model) != 0)
			continue;
		if (!merge_says(slices, 'a') || (all && !json_equal(all, slices)))
			return NULL;
		all = slices;
	}
	return all;
}

/* A GPU whose driver does not answer has what it had. No machine lists so many that this takes long. */
static void merge_gpus(json_t *now, const json_t *before)
{
	json_t *gpus = json_object_get(now, "gpus"), *gpu;
	const json_t *old;
	size_t i, k;

	if (json_array_size(gpus) > MERGE_GPUS || json_array_size(before) > MERGE_GPUS)
		return;
	json_array_foreach(gpus, i, gpu) json_array_foreach(before, k, old)
	{
		const char *a = json_string_value(json_object_get(gpu, "model"));
		const char *b = json_string_value(json_object_get(old, "model"));

		if (a && b && strcasecmp(a, b) == 0 && !merge_says(json_object_get(gpu, "memory_bytes"), 'i'))
			json_object_set(gpu, "memory_bytes", json_object_get(old, "memory_bytes"));
	}
	json_array_foreach(gpus, i, gpu)
	{
		const char *model = json_string_value(json_object_get(gpu, "model"));
		json_t *had = model ? merge_slices(before, model) : NULL;

		if (had && !merge_says(json_object_get(gpu, "slices"), 'a'))
			json_object_set(gpu, "slices", had);
	}
}

json_t *tally_merge(const char *known, const json_t *given)
{
	static const struct {
		const char *name;
		char kind;
	} members[] = { { "vcpus", 'i' }, { "memory_bytes", 'i' }, { "disk_bytes", 'i' }, { "gpus", 'a' },
		{ "driver", 's' }, { "devices", 'b' }, { "network", 'b' }, { "shares", 's' }, { "shared_storage", 'b' },
		{ "node_memory_bytes", 'i' } };
	json_t *before = known ? json_loads(known, 0, NULL) : NULL, *out = json_deep_copy(given);
	const json_t *old = json_object_get(before, "capacity");
	json_t *now = json_object_get(out, "capacity");

	if (json_is_object(old) && !json_is_object(now)) {
		json_object_set_new(out, "capacity", json_deep_copy(old));
	} else if (json_is_object(old)) {
		for (size_t i = 0; i < sizeof members / sizeof *members; i++)
			if (!merge_says(json_object_get(now, members[i].name), members[i].kind))
				json_object_set(now, members[i].name, json_object_get(old, members[i].name));
		merge_gpus(now, json_object_get(old, "gpus"));
	}
	json_decref(before);
	return out;
}

/* With a file system's tables, journal and spare blocks, as nodes' own disks have them. */
int64_t tally_volumes(int64_t gib)
{
	return gib * ((INT64_C(1) << 30) + (INT64_C(1) << 26)) + (gib ? INT64_C(1) << 30 : 0);
}

bool tally_capacity_of(const struct agent *a, struct capacity *out)
{
	json_t *inventory = a->inventory ? json_loads(a->inventory, 0, NULL) : NULL;
	bool known = tally_capacity(inventory, out);

	json_decref(inventory);
	if (known && out->disk > 0)
		out->disk = out->disk > tally_volumes(a->volume_gib) ? out->disk - tally_volumes(a->volume_gib) : 0;
	return known;
}
