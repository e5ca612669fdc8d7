/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of v2. Fields np_… are our additions. */
#include "marketd/api/v2/v2_schemas.h"

static const struct schema_field create_order[] = {
	FIELD_REF("pool", MUST, "ResourcePathOrId_PoolId"),
	FIELD_REF("side", MUST, "Side"),
	FIELD_FLAG("allow_standing", MAY),
	FIELD_FLAG("allow_partial", MAY),
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	{ "allocation_schedule_delta", SCHEMA_REF, MUST, "Schedule", 0, 0, "exactly one range, with both ends" },
	FIELD_REF("limit_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	{ "np_max_total_dollars", SCHEMA_REF, OR_NULL, "np.TotalDollars", 0, 0,
		"the market refuses a buy that would cost more" },
	{ "np_interruptible", SCHEMA_BOOLEAN, OR_NULL, NULL, 0, 0, "the market may take the nodes back with notice" },
	{ "np_unverified", SCHEMA_BOOLEAN, OR_NULL, NULL, 0, 0, "hosts without a valid proof do, too" },
	{ "np_grant", SCHEMA_STRING, OR_NULL, NULL, 1, NAME_BYTES,
		"id or name of the grant that pays a part, or 'none'; absent: the oldest that has money" },
	FIELDS_END,
};

static const struct schema_field buy_preview[] = {
	FIELD_WORD("side", MUST, "buy"),
	FIELD_REF("requirements", MUST, "Requirements"),
	FIELD_REF("start_at", MUST, "UnixEpoch"),
	FIELD_NUMBER("duration_seconds", MUST, 0, INT64_MAX),
	FIELD_NUMBER("node_count", MUST, INT32_MIN, INT32_MAX),
	FIELD_REF("pool", OR_NULL, "ResourcePathOrId_PoolId"),
	FIELDS_END,
};

static const struct schema_field sell_preview[] = {
	FIELD_WORD("side", MUST, "sell"),
	FIELD_REF("requirements", MUST, "Requirements"),
	FIELD_REF("start_at", MUST, "UnixEpoch"),
	FIELD_NUMBER("duration_seconds", MUST, 0, INT64_MAX),
	FIELD_NUMBER("node_count", MUST, INT32_MIN, INT32_MAX),
	FIELD_REF("pool", OR_NULL, "ResourcePathOrId_PoolId"),
	FIELDS_END,
};

static const struct schema_field create_pool[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("workspace", MUST, "ResourcePathOrId_WorkspaceId"),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELDS_END,
};

static const struct schema_field patch_pool[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELDS_END,
};

static const struct schema_field create_instance[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("pool", MUST, "ResourcePathOrId_PoolId"),
	FIELD_REF("image", MUST, "ResourcePathOrId_ImageId"),
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	{ "cloud_init_user_data", SCHEMA_STRING, MAY, NULL, 0, 0, "base64 of up to 64 KiB" },
	FIELD_FLAG("enable_public_ipv4", MAY),
	FIELD_REF("firewall", OR_NULL, "ResourcePathOrId_FirewallId"),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELD_REF("priority_level", OR_NULL, "InstancePriority"),
	FIELD_FLAG("_preview_enable_infiniband", MAY),
	FIELDS_END,
};

static const struct schema_field patch_instance[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELD_REF("priority_level", OR_NULL, "InstancePriority"),
	FIELDS_END,
};

static const struct schema_field batch_entry[] = {
	FIELD_REF("id", MUST, "InstanceId"),
	FIELD_REF("priority_level", MUST, "InstancePriority"),
	FIELDS_END,
};

static const struct schema_field batch[] = {
	FIELD_LIST("data", MUST, "BatchPatchInstanceEntry"),
	FIELDS_END,
};

static const struct schema_field replace_instance[] = {
	FIELD_REF("image", MUST, "ResourcePathOrId_ImageId"),
	{ "cloud_init_user_data", SCHEMA_STRING, MAY, NULL, 0, 0,
		"base64 of up to 64 KiB; none: the replacement has none" },
	FIELD_REF("name", OR_NULL, "Name"),
	FIELDS_END,
};

static const struct schema_field create_procurement[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("target", MUST, "ProcurementTarget"),
	FIELD_REF("pool", MUST, "ResourcePathOrId_PoolId"),
	FIELD_REF("instance_sku", MUST, "InstanceSkuId"),
	FIELD_REF("min_sell_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_REF("max_buy_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_NUMBER("managed_window_minutes", MUST, 1, 129600),
	FIELD_FLAG("enabled", MAY),
	FIELDS_END,
};

static const struct schema_field patch_procurement[] = {
	FIELD_REF("name", OR_NULL, "Name"),
	FIELD_REF("instance_sku", OR_NULL, "InstanceSkuId"),
	FIELD_REF("min_sell_price_dollars_per_node_hour", OR_NULL, "DollarsPerNodeHour"),
	FIELD_REF("max_buy_price_dollars_per_node_hour", OR_NULL, "DollarsPerNodeHour"),
	FIELD_NUMBER("managed_window_minutes", OR_NULL, 1, 129600),
	FIELD_FLAG("enabled", OR_NULL),
	FIELDS_END,
};

static const struct schema_field set_enrollment[] = {
	FIELD_FLAG("enrolled", MUST),
	FIELDS_END,
};

const struct schema schema_v2_requests[] = {
	SHAPE("v2.CreateOrderRequest", create_order, NULL),
	SHAPE("v2.BuyOrderPreviewRequest", buy_preview, NULL),
	SHAPE("v2.SellOrderPreviewRequest", sell_preview, NULL),
	{ "v2.OrderPreviewRequest", SCHEMA_ONE_OF, "v2.BuyOrderPreviewRequest|v2.SellOrderPreviewRequest", 0, 0, NULL,
		NULL, NULL },
	SHAPE("v2.CreatePoolRequest", create_pool, NULL),
	SHAPE("v2.PatchPoolRequest", patch_pool, NULL),
	SHAPE("CreateInstanceRequest", create_instance, NULL),
	SHAPE("PatchInstanceRequest", patch_instance, NULL),
	SHAPE("BatchPatchInstanceEntry", batch_entry, NULL),
	SHAPE("BatchPatchInstancesRequest", batch, NULL),
	SHAPE("ReplaceInstanceRequest", replace_instance, NULL),
	SHAPE("CreateProcurementRequest", create_procurement, NULL),
	SHAPE("PatchProcurementRequest", patch_procurement, NULL),
	SHAPE("SetEnrollmentRequest", set_enrollment, NULL),
	{ "v2.Anything", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, "anything: the answer is no" },
	{ 0 },
};
