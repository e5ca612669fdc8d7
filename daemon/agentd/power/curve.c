/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/curve.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "agentd/os/statefile.h"
#include "base/buf.h"

static const int64_t curve_speed_most = (int64_t)1 << 50;

static bool curve_read_point(const json_t *j, struct curve *c)
{
	int64_t watts = statefile_int(j, "watts", -1), speed = statefile_int(j, "speed", -1);

	if (watts < 1 || watts > POWER_MOST / 1000 || speed < 1 || speed > curve_speed_most ||
		c->count == CURVE_POINTS || (c->count && c->points[c->count - 1].limit >= watts * 1000))
		return false;
	c->points[c->count++] = (struct curve_point){ watts * 1000, speed };
	return true;
}

static bool curve_read(const json_t *j, struct curve *c)
{
	const json_t *points = json_object_get(j, "points"), *point;
	size_t i;

	*c = (struct curve){ .measured_at = statefile_int(j, "measured_at", -1) };
	statefile_text(j, "address", c->address, sizeof c->address);
	statefile_text(j, "name", c->name, sizeof c->name);
	if (!*c->address || c->measured_at < 0 || !json_is_array(points))
		return false;
	json_array_foreach(points, i, point) if (!curve_read_point(point, c)) return false;
	return c->count > 0;
}

int curve_parse(const char *text, size_t len, struct curves *out, struct fail *f)
{
	json_t *j = len > CURVE_FILE_MAX ? NULL : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *list = json_object_get(j, "gpus");
	size_t count = json_array_size(list);
	bool good = json_is_array(list) && count <= CURVE_GPUS;

	out->count = 0;
	for (size_t i = 0; good && i < count; i++)
		good = curve_read(json_array_get(list, i), &out->list[out->count++]);
	json_decref(j);
	if (!good)
		out->count = 0;
	return good ? 0 : fail_set(f, -EINVAL, "it is no list of measured GPUs");
}

void curve_load(const char *data, struct curves *out)
{
	char path[STATEFILE_PATH];
	struct buf text;

	out->count = 0;
	buf_init(&text, CURVE_FILE_MAX);
	if (statefile_path(path, data, "power-sweep.json", NULL) == 0 && buf_read_file(&text, path) == 0)
		curve_parse(buf_text(&text), text.len, out, NULL);
	buf_release(&text);
}

int curve_save(const char *data, const struct curves *c, struct fail *f)
{
	json_t *list = json_array();
	char path[STATEFILE_PATH];

	for (size_t i = 0; i < c->count; i++) {
		const struct curve *one = &c->list[i];
		json_t *points = json_array();

		for (size_t k = 0; k < one->count; k++)
			json_array_append_new(points,
				json_pack("{s:I, s:I}", "watts", (json_int_t)(one->points[k].limit / 1000), "speed",
					(json_int_t)one->points[k].speed));
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:I, s:o}", "address", one->address, "name", one->name, "measured_at",
				(json_int_t)one->measured_at, "points", points));
	}
	if (statefile_path(path, data, "power-sweep.json", NULL)) {
		json_decref(list);
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", data);
	}
	return statefile_json(path, json_pack("{s:o}", "gpus", list), f);
}

void curve_put(struct curves *c, const struct curve *one)
{
	size_t i = 0;

	while (i < c->count && strcmp(c->list[i].address, one->address) != 0)
		i++;
	if (i == CURVE_GPUS)
		return;
	c->list[i] = *one;
	c->count += i == c->count;
}

/* On the line between two points. Below the first one nothing was measured; above the last one nothing is gained. */
static int64_t curve_at(const struct curve *c, int64_t limit)
{
	const struct curve_point *p = c->points;

	if (limit < p[0].limit)
		return -1;
	for (size_t i = 1; i < c->count; i++)
		if (limit <= p[i].limit)
			return p[i - 1].speed +
				(int64_t)((double)(p[i].speed - p[i - 1].speed) * (double)(limit - p[i - 1].limit) /
					(double)(p[i].limit - p[i - 1].limit));
	return p[c->count - 1].speed;
}

int curve_speed(const struct curves *c, const struct power_device *d, int64_t limit, int64_t *measured_at)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct curve *one = &c->list[i];
		int64_t best = 0, at = curve_at(one, limit);

		if (strcmp(one->address, d->address) != 0 || strcmp(one->name, d->name) != 0 || at < 0)
			continue;
		for (size_t k = 0; k < one->count; k++)
			best = one->points[k].speed > best ? one->points[k].speed : best;
		*measured_at = one->measured_at;
		return (int)((double)at * 1000 / (double)best);
	}
	return -1;
}
