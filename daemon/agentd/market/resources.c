/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/resources.h"

#include <string.h>

#include "market/share.h"

enum { VCPUS_MAX = 65536, OVERCOMMIT_MAX = 16, GPUS_MAX = 1024, MBPS_MAX = 10 * 1000 * 1000 };

static const int64_t resources_bytes_max = (int64_t)1 << 60;
static const int64_t resources_inodes_max = UINT32_MAX; /* what ext4 can count */

static bool resources_missing(const json_t *v)
{
	return !v || json_is_null(v);
}

static bool resources_number(const json_t *j, const char *name, int64_t most, int64_t *out)
{
	const json_t *v = json_object_get(j, name);

	if (resources_missing(v))
		return true;
	if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > most)
		return false;
	*out = json_integer_value(v);
	return true;
}

/* A word of printable characters: others would read it as a name. */
static bool resources_word(const json_t *j, const char *name, char *room, size_t size)
{
	const json_t *v = json_object_get(j, name);
	const char *text = json_string_value(v);

	if (resources_missing(v))
		return true;
	if (!text || strlen(text) >= size || strlen(text) != json_string_length(v))
		return false;
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	memcpy(room, text, strlen(text) + 1);
	return true;
}

/* "1/4", "mig:1g.10gb"; of other kinds this agent knows nothing. */
static bool resources_share(const json_t *v, struct contract *c)
{
	const char *text = json_string_value(v);
	struct share s;

	if (resources_missing(v))
		return true;
	if (!share_read(text, &s) || strlen(text) != json_string_length(v) || s.parts > GPU_PARTS_MAX)
		return false;
	c->gpu_parts = s.parts;
	memcpy(c->gpu_slice, s.slice, sizeof c->gpu_slice);
	return true;
}

static bool resources_read_gpu(const json_t *j, struct contract *c)
{
	int64_t count = 0;

	if (resources_missing(j))
		return true;
	if (!json_is_object(j) || !resources_share(json_object_get(j, "share"), c) ||
		!resources_number(j, "count", GPUS_MAX, &count) ||
		!resources_number(j, "memory_bytes", resources_bytes_max, &c->gpu_memory) ||
		!resources_word(j, "vendor", c->gpu_vendor, sizeof c->gpu_vendor) ||
		!resources_word(j, "model", c->gpu_model, sizeof c->gpu_model))
		return false;
	c->gpus = (unsigned)count;
	return (!c->gpu_parts && !*c->gpu_slice) || count == 1;
}

bool resources_read(const json_t *j, struct contract *out)
{
	int64_t vcpus = 0, overcommit = 0;
	struct contract c = { 0 };

	*out = c;
	if (resources_missing(j))
		return true;
	if (!json_is_object(j) || !resources_number(j, "vcpus", VCPUS_MAX, &vcpus) ||
		!resources_number(j, "overcommit", OVERCOMMIT_MAX, &overcommit) ||
		!resources_number(j, "memory_bytes", resources_bytes_max, &c.memory) ||
		!resources_number(j, "disk_bytes", resources_bytes_max, &c.disk) ||
		!resources_number(j, "shared_bytes", resources_bytes_max, &c.shared) ||
		!resources_number(j, "inodes", resources_inodes_max, &c.inodes) ||
		!resources_number(j, "network_mbps", MBPS_MAX, &c.network_mbps) ||
		!resources_read_gpu(json_object_get(j, "gpu"), &c))
		return false;
	c.vcpus = (unsigned)vcpus;
	c.overcommit = (unsigned)overcommit;
	*out = c;
	return true;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static void resources_put(json_t *j, const char *name, int64_t n)
{
	if (n)
		json_object_set_new(j, name, json_integer(n));
}

json_t *resources_json(const struct contract *c)
{
	json_t *j = json_object(), *gpu = json_object();

	resources_put(j, "vcpus", c->vcpus);
	resources_put(j, "overcommit", c->overcommit);
	resources_put(j, "memory_bytes", c->memory);
	resources_put(j, "disk_bytes", c->disk);
	resources_put(j, "shared_bytes", c->shared);
	resources_put(j, "inodes", c->inodes);
	resources_put(j, "network_mbps", c->network_mbps);
	resources_put(gpu, "count", c->gpus);
	resources_put(gpu, "memory_bytes", c->gpu_memory);
	if (c->gpu_parts)
		json_object_set_new(gpu, "share", json_sprintf("1/%u", c->gpu_parts));
	if (*c->gpu_slice)
		json_object_set_new(gpu, "share", json_sprintf(SHARE_MIG "%s", c->gpu_slice));
	if (*c->gpu_vendor)
		json_object_set_new(gpu, "vendor", json_string(c->gpu_vendor));
	if (*c->gpu_model)
		json_object_set_new(gpu, "model", json_string(c->gpu_model));
	if (json_object_size(gpu))
		json_object_set(j, "gpu", gpu);
	json_decref(gpu);
	if (json_object_size(j))
		return j;
	json_decref(j);
	return NULL;
}
