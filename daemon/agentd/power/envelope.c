/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/envelope.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/statefile.h"
#include "base/buf.h"

enum { WALL_MOST_WATTS = 1000 * 1000 };

/* A number of watts in the file; false where it is not one, or not in [min, 1 MW]. */
static bool envelope_watts(const json_t *j, const char *name, int64_t min, int64_t *out)
{
	const json_t *v = json_object_get(j, name);
	int64_t n = json_is_integer(v) ? json_integer_value(v) : min ? -1 : 0;

	if ((v && !json_is_integer(v)) || n < min || n > WALL_MOST_WATTS)
		return false;
	*out = n * 1000;
	return true;
}

static bool envelope_gpu(const json_t *j, struct envelope *e)
{
	struct envelope_gpu g = { .cap = 0 };

	statefile_text(j, "address", g.address, sizeof g.address);
	if (!json_is_object(j) || !*g.address || strspn(g.address, "0123456789abcdef:.") != strlen(g.address) ||
		e->gpu_count == ENVELOPE_GPUS || !envelope_watts(j, "watts", 0, &g.cap))
		return false;
	e->gpus[e->gpu_count++] = g;
	return true;
}

static int envelope_read(const json_t *j, struct envelope *out, struct fail *f)
{
	const json_t *list = json_object_get(j, "gpus"), *gpu;
	struct envelope e = { .wall = 0 };
	char supply[SUPPLY_TEXT];
	struct fail why = { 0 };
	size_t i;

	statefile_text(j, "psu", supply, sizeof supply);
	if (!json_is_object(j) || !envelope_watts(j, "envelope_watts", 1, &e.wall) ||
		!envelope_watts(j, "reserve_watts", 0, &e.reserve) || !envelope_watts(j, "cpu_watts", 0, &e.cpu))
		return fail_set(f, -EINVAL, "it has no valid envelope_watts, reserve_watts and cpu_watts");
	if (supply_parse(supply, &e.supply, &why))
		return fail_set(f, -EINVAL, "%s", why.text);
	if (list && !json_is_array(list))
		return fail_set(f, -EINVAL, "its gpus are no list");
	json_array_foreach(list, i, gpu) if (!envelope_gpu(gpu, &e)) return fail_set(f, -EINVAL,
		"its GPU %zu is invalid", i);
	*out = e;
	return 0;
}

int envelope_parse(const char *text, size_t len, struct envelope *out, struct fail *f)
{
	json_t *j = len > ENVELOPE_FILE_MAX ? NULL : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	int rc = j ? envelope_read(j, out, f) : fail_set(f, -EINVAL, "it is no JSON");

	json_decref(j);
	return rc;
}

int envelope_load(const char *data, struct envelope *out, struct fail *f)
{
	char path[STATEFILE_PATH];
	struct fail why = { 0 };
	struct buf text;
	int rc = statefile_path(path, data, "power.json", NULL);

	buf_init(&text, ENVELOPE_FILE_MAX);
	rc = rc ? rc : buf_read_file(&text, path);
	if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else if ((rc = envelope_parse(buf_text(&text), text.len, out, &why)))
		fail_set(f, rc, "'%s' is damaged: %s; set it again with 'nanopod host power set --envelope WATTS'",
			path, why.text);
	buf_release(&text);
	return rc;
}

int envelope_save(const char *data, const struct envelope *e, struct fail *f)
{
	json_t *list = json_array(), *j;
	char path[STATEFILE_PATH];

	if (statefile_path(path, data, "power.json", NULL)) {
		json_decref(list);
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", data);
	}
	for (size_t i = 0; i < e->gpu_count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:I}", "address", e->gpus[i].address, "watts",
				(json_int_t)(e->gpus[i].cap / 1000)));
	j = json_pack("{s:I, s:s, s:I, s:I, s:o}", "envelope_watts", (json_int_t)(e->wall / 1000), "psu",
		e->supply.text, "reserve_watts", (json_int_t)(e->reserve / 1000), "cpu_watts",
		(json_int_t)(e->cpu / 1000), "gpus", list);
	return statefile_json(path, j, f);
}

bool envelope_there(const char *data)
{
	char path[STATEFILE_PATH];

	return statefile_path(path, data, "power.json", NULL) == 0 && access(path, F_OK) == 0;
}

int64_t envelope_cap(const struct envelope *e, const char *address)
{
	for (size_t i = 0; i < e->gpu_count; i++)
		if (strcmp(e->gpus[i].address, address) == 0)
			return e->gpus[i].cap;
	return 0;
}
