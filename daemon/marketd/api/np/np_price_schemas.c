/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of prices that change. */
#include "marketd/api/np/np_schemas.h"

#define PRICE_TEXT "^[0-9]+[.][0-9]+$"
static const struct schema_field price_request[] = {
	{ "hosts", SCHEMA_ARRAY, FIELD_NULL, "string", 1, 1000, "ids or names; else instance_sku" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES,
		"id or alias: all hosts of it that are on sale" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, NULL },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field floor_request[] = {
	{ "hosts", SCHEMA_ARRAY, FIELD_NULL, "string", 1, 1000, "ids or names; else instance_sku" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "id or alias: all hosts of it" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, "0.000000: no floor" },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field host_floors[] = {
	OBJECT_IS("list"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Host", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field repriced[] = {
	{ "order", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "keeps its id, its window and what it sold" },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Named", 0, 0, NULL },
	{ "was_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 0, 0, "the price before" },
	{ "changed", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "false: it had that price already" },
	{ 0 },
};

static const struct schema_field repricing[] = {
	OBJECT_IS("repricing"),
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "nothing was changed, but all was checked" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Repriced", 0, 0, NULL },
	{ 0 },
};

const struct schema schema_np_price[] = {
	OBJECT("np.PriceRequest", price_request),
	OBJECT("np.FloorRequest", floor_request),
	OBJECT("np.HostFloors", host_floors),
	OBJECT("np.Repriced", repriced),
	OBJECT("np.Repricing", repricing),
	{ 0 },
};
