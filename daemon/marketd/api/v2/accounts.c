/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of v2: me, workspaces, users, feature flags, the one image. */
#include "marketd/api/v2/v2.h"

#include <string.h>

#include "market/reason.h"
#include "marketd/api/render.h"

/* ---- Me ---------------------------------------------------------------------------------- */

static int accounts_me(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a;
	uint64_t id;

	if (!api_whose(q, r, &id))
		return r->status;
	a = engine_account(market_engine(api->market), id);
	return api_json(q, r, 200, json_pack("{s:s, s:o, s:I, s:n, s:n, s:o}", "object", "account", "account_id",
		render_text(a->name), "created_at", (json_int_t)a->created_at, "entity_type", "user",
		"np_account", render_id(IDENT_ACCOUNT, a->id)));
}

/* ---- Workspaces -------------------------------------------------------------------------- */

static json_t *render_workspace(const struct account *a)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:I}", "object", "workspace", "id",
		render_id(IDENT_WORKSPACE, a->id), "resource_path", json_sprintf("sfc:workspace:%s:default", a->name),
		"owner", render_text(a->name), "name", "default", "created_at", (json_int_t)a->created_at);
}

static int workspaces_list(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	json_t *data = json_array();
	bool wanted = !api_query(q, "id");
	uint64_t id;

	if (!api_whose(q, r, &id)) {
		json_decref(data);
		return r->status;
	}
	for (size_t i = 0; api_query_at(q, "id", i); i++)
		wanted = wanted || find_workspace(e, id, api_query_at(q, "id", i));
	if (wanted)
		json_array_append_new(data, render_workspace(engine_account(e, id)));
	return api_json(q, r, 200, json_pack("{s:s, s:o, s:b}", "object", "list", "data", data, "has_more", 0));
}

static int workspaces_get(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	uint64_t id;

	if (!api_whose(q, r, &id) || !workspace_check(api, q, r, q->parts[0], "workspace"))
		return r->status;
	return api_json(q, r, 200, render_workspace(engine_account(e, id)));
}

/* ---- Users and feature flags: none ------------------------------------------------------- */

static int users_list(struct api *api, const struct request *q, struct reply *r)
{
	struct paging g;
	struct page page;

	(void)api;
	if (!paging_read(q, r, CURSOR_USERS, LIMIT_MAX, &g))
		return r->status;
	page_init(&page, &g);
	return page_answer(q, r, &page);
}

static int users_get(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_refuse(q, r, REASON_NOT_FOUND, "id", "no user '%s': accounts have tokens here, not users",
		q->parts[0]);
}

static int flags_list(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_json(q, r, 200, json_pack("{s:s, s:[], s:b}", "object", "list", "data", "has_more", 0));
}

/* What old clients hide behind a flag, and this market always has. */
static int flags_get(struct api *api, const struct request *q, struct reply *r)
{
	static const char *const on[] = { "procurements", "zones", "infiniband-preview" };

	(void)api;
	for (size_t i = 0; i < sizeof on / sizeof *on; i++)
		if (strcmp(q->parts[0], on[i]) == 0)
			return api_json(q, r, 200, json_pack("{s:b}", "enabled", 1));
	return api_refuse(q, r, REASON_NOT_FOUND, "feature_flag", "no feature flag '%s'", q->parts[0]);
}

static int flags_set(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_refuse(q, r, REASON_NOT_FOUND, "feature_flag", "no feature flag '%s'", q->parts[0]);
}

/* ---- Images ------------------------------------------------------------------------------ */

static bool is_public(const char *workspace)
{
	uint64_t id;

	return strcmp(workspace, PUBLIC_WORKSPACE) == 0 ||
		(ident_parse(IDENT_WORKSPACE, workspace, &id) && id == PUBLIC_WORKSPACE_ID);
}

static bool image_wanted(const struct request *q)
{
	uint64_t image;

	for (size_t i = 0; api_query_at(q, "id", i); i++)
		if (find_image(api_query_at(q, "id", i), &image))
			return true;
	return !api_query(q, "id");
}

/* The one image is everybody's: a client that lists those of its own workspace must get to know it too. */
static int images_list(struct api *api, const struct request *q, struct reply *r)
{
	const char *workspace = api_query(q, "workspace");
	struct paging g;
	struct page page;

	if (!paging_read(q, r, CURSOR_IMAGES, LIMIT_MAX, &g))
		return r->status;
	if (workspace && !is_public(workspace) && !workspace_check(api, q, r, workspace, "workspace"))
		return r->status;
	page_init(&page, &g);
	if (image_wanted(q) && (!g.started || (g.back ? g.from[0] > IMAGE_ID : g.from[0] < IMAGE_ID)))
		page_add(&page, IMAGE_ID, render_image());
	return page_answer(q, r, &page);
}

static int images_get(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t image;

	(void)api;
	if (!find_image(q->parts[0], &image))
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no image '%s'", q->parts[0]);
	return api_json(q, r, 200, render_image());
}

/* Anything that changes an image: they belong to everybody. */
static int images_fixed(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t image;

	(void)api;
	if (!find_image(q->parts[0], &image))
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no image '%s'", q->parts[0]);
	return api_refuse(q, r, REASON_FORBIDDEN, "id", "cannot change the public image '%s'", IMAGE_NAME);
}

#define PAGED "limit:integer,starting_after:string,ending_before:string"

/* Bodies are taken as they come: the answer is no. */
#define FIXED(method, path) \
	{ \
		method, path, images_fixed, SCOPE_NODES, 0, "the one image is everybody's; nobody changes it", NULL, \
			(method) == METHOD_DELETE ? NULL : "v2.Anything", "Error", 403 \
	}

const struct route api_v2_images[] = {
	{ METHOD_GET, "/v2/images", images_list, SCOPE_READ, 0, "List images", "workspace:string,id:array," PAGED, NULL,
		"ListImagesResponse", 200 },
	{ METHOD_GET, "/v2/images/{id}", images_get, SCOPE_READ, 0, "Get image", NULL, NULL, "ImageListEntry", 200 },
	FIXED(METHOD_DELETE, "/v2/images/{id}"),
	FIXED(METHOD_POST, "/v2/images/{id}/complete"),
	FIXED(METHOD_POST, "/v2/images/{id}/parts"),
	FIXED(METHOD_POST, "/v2/images/{id}/revoke"),
	FIXED(METHOD_POST, "/v2/images/{id}/reinstate"),
	{ 0 },
};

const struct route api_v2_account[] = {
	{ METHOD_GET, "/v2/me", accounts_me, SCOPE_READ, 0, "Get the authenticated account", NULL, NULL, "MeResponse",
		200 },
	{ METHOD_GET, "/v2/workspaces", workspaces_list, SCOPE_READ, 0, "List workspaces", "id:array", NULL,
		"ListWorkspacesResponse", 200 },
	{ METHOD_GET, "/v2/workspaces/{workspace}", workspaces_get, SCOPE_READ, 0, "Get workspace", NULL, NULL,
		"WorkspaceResponse", 200 },
	{ METHOD_GET, "/v2/users", users_list, SCOPE_READ, 0, "List users", "id:array,email:string," PAGED, NULL,
		"ListUsersResponse", 200 },
	{ METHOD_GET, "/v2/users/{id}", users_get, SCOPE_READ, 0, "accounts have tokens here, not users", NULL, NULL,
		"Error", 404 },
	{ METHOD_GET, "/v2/feature_flags", flags_list, SCOPE_READ, 0, "List feature flags", NULL, NULL,
		"ListUserFeatureFlagsResponse", 200 },
	{ METHOD_GET, "/v2/feature_flags/{feature_flag}", flags_get, SCOPE_READ, 0,
		"Get whether the market has what old clients show only with this flag", NULL, NULL, "v2.FeatureFlag",
		200 },
	{ METHOD_POST, "/v2/feature_flags/{feature_flag}", flags_set, SCOPE_READ, 0,
		"no feature flag can be joined or left: everybody has what there is", NULL, "SetEnrollmentRequest",
		"Error", 404 },
	{ 0 },
};
