/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/api/idempotency.h"

int path_split(const char *path, struct path_shape *out)
{
	memset(out, 0, sizeof *out);
	while (*path == '/') {
		size_t len = strcspn(++path, "/");
		bool part = len > 2 && *path == '{' && path[len - 1] == '}';

		if (out->count == SEGMENTS_MAX)
			return -E2BIG;
		out->segments[out->count].text = path;
		out->segments[out->count].len = len;
		out->segments[out->count].part = part;
		out->count++;
		out->parts += part;
		path += len;
	}
	return *path ? -E2BIG : 0;
}

static bool routes_fits(const struct path_shape *row, const struct path_shape *asked)
{
	if (row->count != asked->count)
		return false;
	for (int i = 0; i < row->count; i++) {
		if (row->segments[i].part) {
			if (asked->segments[i].len == 0)
				return false;
		} else if (row->segments[i].len != asked->segments[i].len ||
			memcmp(row->segments[i].text, asked->segments[i].text, row->segments[i].len) != 0) {
			return false;
		}
	}
	return true;
}

/* Of two routes that fit, prefer the one with fewer {parts}: "/v2/x/availability" before "/v2/x/{id}". */
const struct route *routes_find(const struct routes *rs, const struct path_shape *asked, enum method method, int *allow,
	const struct path_shape **shape)
{
	const struct route_row *best = NULL;
	int least = SEGMENTS_MAX + 1;

	*allow = 0;
	for (size_t i = 0; i < rs->count; i++) {
		const struct route_row *row = &rs->rows[i];

		if (row->shape.parts > least || !routes_fits(&row->shape, asked))
			continue;
		if (row->shape.parts < least) {
			least = row->shape.parts;
			*allow = 0;
			best = NULL;
		}
		*allow |= (int)row->route->method;
		if (row->route->method == method)
			best = row;
	}
	if (!best)
		return NULL;
	*shape = &best->shape;
	return best->route;
}

static int known_schemas(const struct routes *rs, const struct route *r, struct fail *f)
{
	if (r->body && !schemas_find(rs->schemas, r->body))
		return fail_set(f, -EINVAL, "'%s' takes the unknown schema '%s'", r->path, r->body);
	if (r->answer && !schemas_find(rs->schemas, r->answer))
		return fail_set(f, -EINVAL, "'%s' answers with the unknown schema '%s'", r->path, r->answer);
	return 0;
}

static int routes_add(struct routes *rs, const struct route *r, struct fail *f)
{
	struct route_row *row = &rs->rows[rs->count];

	if (path_split(r->path, &row->shape) != 0 || row->shape.parts > PATH_PARTS)
		return fail_set(f, -EINVAL, "'%s' is not a path", r->path);
	for (size_t i = 0; i < rs->count; i++)
		if (rs->rows[i].route->method == r->method && strcmp(rs->rows[i].route->path, r->path) == 0)
			return fail_set(f, -EINVAL, "the route '%s' exists twice", r->path);
	row->route = r;
	rs->count++;
	return known_schemas(rs, r, f);
}

int routes_new(struct routes **out, struct fail *f)
{
	struct routes *rs = calloc(1, sizeof *rs);
	size_t count = 0;
	int rc;

	if (!rs)
		return fail_set(f, -ENOMEM, "out of memory");
	table_init(&rs->pending);
	for (size_t t = 0; api_tables[t]; t++)
		for (const struct route *r = api_tables[t]; r->path; r++)
			count++;
	rs->rows = calloc(count + 1, sizeof *rs->rows);
	rs->empty = json_object();
	rc = rs->rows && rs->empty ? schemas_new(schema_tables, &rs->schemas, f)
				   : fail_set(f, -ENOMEM, "out of memory");
	for (size_t t = 0; rc == 0 && api_tables[t]; t++)
		for (const struct route *r = api_tables[t]; rc == 0 && r->path; r++)
			rc = routes_add(rs, r, f);
	if (rc != 0) {
		routes_free(rs);
		return rc;
	}
	*out = rs;
	return 0;
}

void routes_free(struct routes *rs)
{
	if (!rs)
		return;
	idempotency_forget(rs);
	table_release(&rs->pending);
	schemas_free(rs->schemas);
	json_decref(rs->empty);
	free(rs->openapi);
	free(rs->rows);
	free(rs);
}
