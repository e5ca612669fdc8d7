/* SPDX-License-Identifier: Apache-2.0 */
/* The basic shapes of v2: ids, names, prices, schedules, summaries. */
#include "marketd/api/v2/v2_schemas.h"

#define ID(prefixes) "^(" prefixes ")_[0-9a-zA-Z_-]+$"
#define PATH_OR_ID "^[a-zA-Z0-9][a-zA-Z0-9._:-]*$"
#define PATH_MAX_BYTES 800

static const struct schema_field schedule_entry[] = {
	FIELD_REF("start_at", MUST, "UnixEpoch"),
	FIELD_REF("end_at", OR_NULL, "UnixEpoch"),
	FIELD_NUMBER("node_count", MUST, 0, INT32_MAX),
	FIELDS_END,
};

static const struct schema_field pool_summary[] = {
	FIELD_REF("id", MUST, "PoolId"), FIELD_REF("name", MUST, "Name"), FIELDS_END,
};

static const struct schema_field sku_summary[] = {
	FIELD_WORD("object", MUST, "instance_sku"),
	FIELD_REF("id", MUST, "InstanceSkuId"),
	FIELD_REF("alias", MUST, "Name"),
	FIELDS_END,
};

static const struct schema_field image_summary[] = {
	FIELD_REF("id", MUST, "ImageId"), FIELD_REF("name", MUST, "Name"), FIELDS_END,
};

static const struct schema_field procurement_summary[] = {
	FIELD_REF("id", MUST, "ProcurementId"), FIELD_REF("name", MUST, "Name"), FIELDS_END,
};

static const struct schema_field reconciliation[] = {
	FIELD_WORD("state", MUST, "info|warning|error"), FIELD_TEXT("message", MUST), FIELDS_END,
};

static const struct schema_field text_property[] = {
	FIELD_TEXT("value", MUST), FIELD_TEXT("display_value", MUST), FIELDS_END,
};

static const struct schema_field number_property[] = {
	FIELD_NUMBER("value", MUST, 0, INT64_MAX), FIELD_TEXT("display_value", MUST), FIELDS_END,
};

static const struct schema_field flag_property[] = {
	FIELD_FLAG("value", MUST), FIELD_TEXT("display_value", MUST), FIELDS_END,
};

static const struct schema_field instance_sku[] = {
	FIELD_WORD("object", MUST, "instance_sku"),
	FIELD_REF("id", MUST, "InstanceSkuId"),
	FIELD_REF("alias", MUST, "Name"),
	FIELD_REF("region", OR_NULL, "v2.TextProperty"),
	FIELD_REF("availability_zone", OR_NULL, "v2.TextProperty"),
	FIELD_REF("accelerator", OR_NULL, "v2.TextProperty"),
	FIELD_REF("form_factor", OR_NULL, "v2.TextProperty"),
	FIELD_REF("rdma_type", OR_NULL, "v2.TextProperty"),
	FIELD_REF("num_accelerators", OR_NULL, "v2.NumberProperty"),
	FIELD_REF("num_vcpus", OR_NULL, "v2.NumberProperty"),
	FIELD_REF("memory", OR_NULL, "v2.NumberProperty"),
	FIELD_REF("local_storage", OR_NULL, "v2.NumberProperty"),
	FIELD_REF("supports_public_ipv4", OR_NULL, "v2.FlagProperty"),
	FIELD_TEXT("audience_hint", OR_NULL),
	FIELD_REF("np_requires", OR_NULL, "np.Requires"),
	FIELDS_END,
};

static const struct schema_field sku_availability[] = {
	FIELD_WORD("object", MUST, "instance_sku_availability"),
	FIELD_REF("instance_sku", MUST, "InstanceSkuSummary"),
	FIELD_REF("schedule", MUST, "Schedule"),
	FIELDS_END,
};

/* A key of the catalog and a value of it have the same shape. */
static const struct schema_field catalog_entry[] = {
	FIELD_REF("name", MUST, "Name"),
	FIELD_TEXT("display_name", MUST),
	FIELD_TEXT("description", MUST),
	FIELD_TEXT("documentation_link", OR_NULL),
	FIELD_REF("stable_at", MUST, "UnixEpoch"),
	FIELD_REF("deprecated_at", OR_NULL, "UnixEpoch"),
	FIELD_TEXT("deprecation_info", OR_NULL),
	FIELDS_END,
};

static const struct schema_field property_definition[] = {
	FIELD_REF("key", MUST, "InstanceSkuPropertyKey"),
	FIELD_LIST("values", MUST, "InstanceSkuEnumerationValue"),
	FIELD_WORD("type", MUST, "enumeration"),
	FIELDS_END,
};

static const struct schema_field price_level[] = {
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	FIELD_REF("dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_REF("allocation_schedule_delta", MUST, "Schedule"),
	FIELDS_END,
};

static const struct schema_field orderbook_fill[] = {
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	FIELD_REF("dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_REF("allocation_schedule_delta", MUST, "Schedule"),
	FIELD_REF("filled_at", MUST, "UnixEpoch"),
	FIELDS_END,
};

static const struct schema_field orderbook_window[] = {
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	FIELD_REF("start_at", MUST, "UnixEpoch"),
	FIELD_REF("end_at", MUST, "UnixEpoch"),
	FIELD_NUMBER("duration_hours", MUST, 0, INT64_MAX),
	FIELD_NUMBER("total_bid_order_count", MUST, 0, INT64_MAX),
	FIELD_NUMBER("total_ask_order_count", MUST, 0, INT64_MAX),
	FIELD_REF("best_bid", OR_NULL, "PriceLevel"),
	FIELD_REF("best_ask", OR_NULL, "PriceLevel"),
	FIELDS_END,
};

static const struct schema_field order_principal[] = {
	FIELD_TEXT("id", MUST),
	FIELD_WORD("type", MUST, "user|token"),
	FIELD_TEXT("email", OR_NULL),
	FIELD_TEXT("name", OR_NULL),
	FIELDS_END,
};

static const struct schema_field order_fill[] = {
	FIELD_REF("contract", OR_NULL, "ContractId"),
	FIELD_REF("filled_at", MUST, "UnixEpoch"),
	FIELD_REF("allocation_schedule_delta", MUST, "Schedule"),
	FIELD_REF("price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	{ "np_given_up", SCHEMA_BOOLEAN, MUST, NULL, 0, 0,
		"its buyer released or sold this time, or its host took it back" },
	FIELDS_END,
};

static const struct schema_field preview_fee[] = {
	FIELD_REF("flat_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_NUMBER("percentage_bps", MUST, 0, 10000),
	FIELDS_END,
};

static const struct schema_field preview_notice[] = {
	FIELD_REF("start_at", MUST, "UnixEpoch"),
	FIELD_REF("end_at", MUST, "UnixEpoch"),
	FIELD_WORD("maintenance_type", MUST, "info|degraded_performance|marketplace_unavailable"),
	FIELD_TEXT("title", MUST),
	FIELD_TEXT("description", MUST),
	FIELD_TEXT("action_message", OR_NULL),
	FIELD_WORD("type", MUST, "maintenance_window"),
	FIELDS_END,
};

const struct schema schema_v2[] = {
	ALIAS_TEXT("Name", "^[a-zA-Z0-9][a-zA-Z0-9._-]*$", 1, NAME_BYTES),
	{ "UnixEpoch", SCHEMA_INTEGER, NULL, 0, 0, NULL, NULL, "Unix seconds" },
	{ "DollarsPerNodeHour", SCHEMA_STRING, "^[0-9]+[.][0-9]+$", 3, 32, NULL, NULL,
		"dollars per node-hour; rounded to the nearest multiple of $0.000060" },
	{ "np.TotalDollars", SCHEMA_STRING, "^[0-9]+[.][0-9]+$", 3, 32, NULL, NULL, "dollars" },
	ALIAS_TEXT("OrderId", ID("ordr"), 1, 64),
	ALIAS_TEXT("PoolId", ID("pool|cap"), 1, 64),
	ALIAS_TEXT("CapacityId", ID("cap|pool"), 1, 64),
	ALIAS_TEXT("InstanceSkuId", "^[a-zA-Z0-9][a-zA-Z0-9._-]*$", 1, NAME_BYTES),
	ALIAS_TEXT("InstanceId", ID("inst|vm"), 1, 64),
	ALIAS_TEXT("ImageId", ID("image|vmi"), 1, 64),
	ALIAS_TEXT("ProcurementId", ID("proc"), 1, 64),
	ALIAS_TEXT("ContractId", ID("cont"), 1, 64),
	ALIAS_TEXT("WorkspaceId", ID("wksp"), 1, 64),
	ALIAS_TEXT("ResourcePathOrId_PoolId", PATH_OR_ID, 1, PATH_MAX_BYTES),
	ALIAS_TEXT("ResourcePathOrId_ImageId", PATH_OR_ID, 1, PATH_MAX_BYTES),
	ALIAS_TEXT("ResourcePathOrId_InstanceId", PATH_OR_ID, 1, PATH_MAX_BYTES),
	ALIAS_TEXT("ResourcePathOrId_FirewallId", PATH_OR_ID, 1, PATH_MAX_BYTES),
	ALIAS_TEXT("ResourcePathOrId_WorkspaceId", PATH_OR_ID, 1, PATH_MAX_BYTES),
	ALIAS_TEXT("OrdersCursor", "^ordrc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("PoolsCursor", "^poolc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("InstancesCursor", "^nodec_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("InstanceSkusCursor", "^iskuc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("ProcurementsCursor", "^procc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("ImagesCursor", "^imagec_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("UsersCursor", "^usrc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("OrderbookWindowsCursor", "^mwin_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_TEXT("OrderbookFillsCursor", "^mfilc_[A-Za-z0-9_-]+$", 1, 64),
	ALIAS_WORD("Side", "sell|buy"),
	ALIAS_WORD("OrderStatus", "pending|filled|partially_filled|rejected|cancelled|standing"),
	ALIAS_WORD("InstanceStatus", "awaiting_allocation|running|terminated|failed"),
	ALIAS_WORD("InstancePriority", "yield|normal|preferred|critical"),
	ALIAS_WORD("v2.PoolKind", "market|originating|read_only"),
	ALIAS_WORD("NodeCountTag", "node_count"),
	{ "v2.ProcurementCount", SCHEMA_INTEGER, NULL, 0, INT64_MAX, NULL, NULL, NULL },
	{ "ProcurementTarget", SCHEMA_ONE_OF, "NodeCountTag|v2.ProcurementCount", 0, 0, NULL, NULL, NULL },
	ALIAS_TEXT("v2.TagValue", "^[^,=]*$", 0, 256),
	{ "Tags", SCHEMA_MAP, "v2.TagValue", 0, 256, NULL, NULL, NULL },
	ALIAS_LIST("v2.Names", "Name", 256),
	{ "Requirements", SCHEMA_MAP, "v2.Names", 0, 64, NULL, NULL,
		"any of a property's values, all of the properties" },
	SHAPE("ScheduleEntry", schedule_entry, "[start_at, end_at) with a fixed node_count; end_at null: open"),
	ALIAS_LIST("Schedule", "ScheduleEntry", 100000),
	SHAPE("PoolSummary", pool_summary, NULL),
	SHAPE("CapacitySummary", pool_summary, "deprecated: the pool"),
	SHAPE("InstanceSkuSummary", sku_summary, NULL),
	SHAPE("ImageSummary", image_summary, NULL),
	SHAPE("ProcurementSummary", procurement_summary, NULL),
	SHAPE("ReconciliationStatus", reconciliation, NULL),
	SHAPE("v2.TextProperty", text_property, NULL),
	SHAPE("v2.NumberProperty", number_property, NULL),
	SHAPE("v2.FlagProperty", flag_property, NULL),
	SHAPE("InstanceSku", instance_sku, NULL),
	SHAPE("InstanceSkuAvailability", sku_availability, "what is for sale, over time"),
	SHAPE("InstanceSkuPropertyKey", catalog_entry, NULL),
	SHAPE("InstanceSkuEnumerationValue", catalog_entry, NULL),
	SHAPE("InstanceSkuPropertyDefinition", property_definition, NULL),
	SHAPE("PriceLevel", price_level, NULL),
	SHAPE("OrderbookFill", orderbook_fill, NULL),
	SHAPE("OrderbookWindow", orderbook_window, NULL),
	SHAPE("v2.OrderPrincipal", order_principal, NULL),
	SHAPE("v2.OrderFill", order_fill, NULL),
	SHAPE("v2.OrderPreviewFee", preview_fee, NULL),
	SHAPE("v2.OrderPreviewNotice", preview_notice, NULL),
	{ 0 },
};
