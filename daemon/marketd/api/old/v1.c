/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of /v1: balances in cents, images, the account. */
#include "marketd/api/old/v1.h"

#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"

/* The current balance is all that is not spent: available, held and paid ahead. */
static int get_balances(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	const struct account *a;
	int64_t current;
	uint64_t id;

	if (!api_whose(q, r, &id))
		return r->status;
	a = engine_account(e, id);
	if (money_add(a->available, a->held, &current) || money_add(current, a->escrow, &current))
		return api_refuse(q, r, REASON_OVERFLOW, NULL, "the balance is too large for an amount in cents");
	return api_json(q, r, 200,
		json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "object", "balances", "available_balance_cents",
			(json_int_t)cents_down(a->available), "current_balance_cents", (json_int_t)cents_down(current),
			"current_overage_cents", (json_int_t)cents_up(account_owed(a)), "overage_limit_cents",
			(json_int_t)cents_down(-a->floor), "updated_at", (json_int_t)market_now(api->market)));
}

static int v1_get_me(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	uint64_t id;

	if (!api_whose(q, r, &id))
		return r->status;
	return api_json(q, r, 200, json_pack("{s:s, s:o, s:o}", "object", "account", "id", render_id(IDENT_ACCOUNT, id),
		"name", render_text(engine_account(e, id)->name)));
}

static int list_images(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_json(q, r, 200,
		json_pack("{s:s, s:[{s:s, s:o, s:s, s:s, s:i, s:n}], s:b}", "object", "list", "data", "object", "image",
			"image_id", old_id(IDENT_IMAGE, "vmi", IMAGE_ID), "name", IMAGE_NAME, "upload_status",
			"completed", "created_at", 0, "sha256_hash", "has_more", 0));
}

/* The hosts already have it, so there is nothing to download. */
static int get_image(struct api *api, const struct request *q, struct reply *r)
{
	uint64_t image;

	(void)api;
	if (!find_image(q->parts[0], &image))
		return api_refuse(q, r, REASON_NOT_FOUND, "id", "no image '%s'", q->parts[0]);
	return api_json(q, r, 200,
		json_pack("{s:s, s:o, s:s, s:n, s:n, s:n, s:n}", "object", "image", "image_id",
			old_id(IDENT_IMAGE, "vmi", image), "name", IMAGE_NAME, "download_url", "expires_at",
			"object_size", "sha256_hash"));
}

const struct route api_v1_routes[] = {
	{ METHOD_GET, "/v1/balances", get_balances, SCOPE_READ, 0, "Balances in cents, rounded down", NULL, NULL,
		"v1.Balances", 200 },
	{ METHOD_GET, "/v1/account/me", v1_get_me, NP_ANY, 0, "Get the owner of the token", NULL, NULL, "v1.Account",
		200 },
	{ METHOD_GET, "/v1/vms/images", list_images, SCOPE_READ, 0, "List images", NULL, NULL, "v1.ImageList", 200 },
	{ METHOD_GET, "/v1/vms/images/{id}", get_image, SCOPE_READ, 0, "Get an image", NULL, NULL, "v1.ImageDownload",
		200 },
	{ 0 },
};
