/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/promise.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------- */

static int64_t promise_number(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);

	return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value) : 0;
}

void promise_word(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text && text[n] && n + 1 < size; n++)
		out[n] = isalnum((unsigned char)text[n]) || strchr("._-", text[n]) ? text[n] : '?';
	out[n] = '\0';
}

/* "1/4", "mig:1g.10gb" */
static void promise_share(const json_t *more, struct promise *p)
{
	struct share s;

	if (!share_read(json_string_value(json_object_get(more, "share")), &s))
		return;
	p->gpu_parts = s.parts;
	memcpy(p->gpu_slice, s.slice, sizeof p->gpu_slice);
}

struct promise promise_read(int64_t gpus, const json_t *properties)
{
	const json_t *more = json_object_get(properties, "requires");
	struct promise p;

	memset(&p, 0, sizeof p); /* padding too: promise_same() compares bytes */
	p.vcpus = promise_number(properties, "num_vcpus");
	p.memory = promise_number(properties, "memory");
	p.disk = promise_number(properties, "local_storage");
	p.shared = promise_number(more, "shared_storage");
	p.inodes = promise_number(more, "inodes");
	p.network_mbps = promise_number(more, "network_mbps");
	p.overcommit = p.vcpus ? promise_number(more, "overcommit") : 0;
	if (p.vcpus && (p.overcommit < 1 || p.overcommit > OVERCOMMIT_MAX))
		p.overcommit = 1;
	if (gpus > 0) {
		p.gpus = gpus;
		p.gpu_memory = promise_number(more, "gpu_memory");
		if (gpus == 1)
			promise_share(more, &p);
		promise_word(p.gpu_vendor, sizeof p.gpu_vendor, json_string_value(json_object_get(more, "gpu_vendor")));
		promise_word(p.gpu_model, sizeof p.gpu_model,
			json_string_value(json_object_get(properties, "accelerator")));
	}
	return p;
}

struct promise promise_of(const struct sku *s)
{
	json_t *properties = s && s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	struct promise p = promise_read(s ? s->gpus : 0, properties);

	json_decref(properties);
	return p;
}

/* Neither is more than 2^52. */
int64_t promise_disk(const struct promise *p)
{
	return p->disk + p->shared;
}

bool promise_any(const struct promise *p)
{
	return p->gpus || p->vcpus || p->memory || p->disk || p->shared || p->inodes || p->network_mbps;
}

bool promise_same(const struct promise *a, const struct promise *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* ---- For people ---------------------------------------------------------------------------- */

const char *promise_bytes(int64_t bytes, char room[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	int64_t whole = bytes, tenth = 0;
	size_t u = 0;

	for (; whole >= 1024 && u + 1 < sizeof units / sizeof *units; u++) {
		tenth = whole % 1024 * 10 / 1024;
		whole /= 1024;
	}
	if (tenth)
		snprintf(room, 32, "%" PRId64 ".%" PRId64 " %s", whole, tenth, units[u]);
	else
		snprintf(room, 32, "%" PRId64 " %s", whole, units[u]);
	return room;
}

/* Appends ", TEXT", or TEXT to an empty text. */
static void promise_add(char room[PROMISE_TEXT], const char *text)
{
	size_t used = strlen(room);

	snprintf(room + used, PROMISE_TEXT - used, "%s%s", used ? ", " : "", text);
}

static void promise_add_gpus(const struct promise *p, char room[PROMISE_TEXT])
{
	char text[240], bytes[32], count[64];

	if (*p->gpu_slice)
		snprintf(count, sizeof count, "a slice " SHARE_MIG "%s of a", p->gpu_slice);
	else
		snprintf(count, sizeof count, "%s%" PRId64 "%s", p->gpu_parts ? "1/" : "",
			p->gpu_parts ? p->gpu_parts : p->gpus, p->gpu_parts ? " of a" : "");
	snprintf(text, sizeof text, "%s%s%s%s%s GPU%s%s%s", count, *p->gpu_vendor ? " " : "", p->gpu_vendor,
		*p->gpu_model ? " " : "", p->gpu_model, p->gpus == 1 ? "" : "s", p->gpu_memory ? " of " : "",
		p->gpu_memory ? promise_bytes(p->gpu_memory, bytes) : "");
	promise_add(room, text);
}

const char *promise_text(const struct promise *p, char room[PROMISE_TEXT])
{
	char text[64], bytes[32];

	room[0] = '\0';
	if (p->gpus)
		promise_add_gpus(p, room);
	if (p->vcpus && p->overcommit > 1)
		snprintf(text, sizeof text, "%" PRId64 " vCPU%s (%" PRId64 " share a core)", p->vcpus,
			p->vcpus == 1 ? "" : "s", p->overcommit);
	else
		snprintf(text, sizeof text, "%" PRId64 " vCPU%s", p->vcpus, p->vcpus == 1 ? "" : "s");
	if (p->vcpus)
		promise_add(room, text);
	snprintf(text, sizeof text, "%s memory", promise_bytes(p->memory, bytes));
	if (p->memory)
		promise_add(room, text);
	snprintf(text, sizeof text, "%s disk", promise_bytes(p->disk, bytes));
	if (p->disk)
		promise_add(room, text);
	snprintf(text, sizeof text, "%s shared by its reservation", promise_bytes(p->shared, bytes));
	if (p->shared)
		promise_add(room, text);
	snprintf(text, sizeof text, "%" PRId64 " inodes", p->inodes);
	if (p->inodes)
		promise_add(room, text);
	snprintf(text, sizeof text, "%" PRId64 " Mbit/s", p->network_mbps);
	if (p->network_mbps)
		promise_add(room, text);
	if (!room[0])
		promise_add(room, "nothing");
	return room;
}

/* ---- For agents and buyers ------------------------------------------------------------------- */

static void promise_put(json_t *o, const char *name, int64_t n)
{
	if (n)
		json_object_set_new(o, name, json_integer(n));
}

static json_t *promise_gpu(const struct promise *p)
{
	json_t *gpu = json_object();

	if (*p->gpu_vendor)
		json_object_set_new(gpu, "vendor", json_string(p->gpu_vendor));
	if (*p->gpu_model)
		json_object_set_new(gpu, "model", json_string(p->gpu_model));
	promise_put(gpu, "count", p->gpus);
	promise_put(gpu, "memory_bytes", p->gpu_memory);
	if (p->gpu_parts)
		json_object_set_new(gpu, "share", json_sprintf("1/%d", (int)p->gpu_parts));
	if (*p->gpu_slice)
		json_object_set_new(gpu, "share", json_sprintf(SHARE_MIG "%s", p->gpu_slice));
	return gpu;
}

json_t *promise_resources(const struct promise *p)
{
	json_t *o = promise_any(p) ? json_object() : NULL;

	if (!o)
		return NULL;
	promise_put(o, "vcpus", p->vcpus);
	promise_put(o, "overcommit", p->overcommit);
	promise_put(o, "memory_bytes", p->memory);
	promise_put(o, "disk_bytes", p->disk);
	promise_put(o, "shared_bytes", p->shared);
	promise_put(o, "inodes", p->inodes);
	promise_put(o, "network_mbps", p->network_mbps);
	if (p->gpus)
		json_object_set_new(o, "gpu", promise_gpu(p));
	return o;
}

json_t *promise_requires(const struct sku *s)
{
	json_t *properties = s->properties ? json_loads(s->properties, 0, NULL) : NULL;
	json_t *more = json_object_get(properties, "requires");

	more = json_is_object(more) && json_object_size(more) ? json_incref(more) : json_null();
	json_decref(properties);
	return more;
}
