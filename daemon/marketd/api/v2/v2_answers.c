/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of v2. Fields np_… are our additions. */
#include "marketd/api/v2/v2_schemas.h"

static const struct schema_field order[] = {
	FIELD_WORD("object", MUST, "order"),
	FIELD_REF("id", MUST, "OrderId"),
	FIELD_REF("capacity", MUST, "CapacitySummary"),
	FIELD_REF("pool", MUST, "PoolSummary"),
	FIELD_REF("side", MUST, "Side"),
	FIELD_FLAG("allow_standing", MUST),
	FIELD_FLAG("allow_partial", MAY),
	FIELD_REF("instance_sku", MUST, "InstanceSkuSummary"),
	FIELD_REF("allocation_schedule_delta", MUST, "Schedule"),
	FIELD_REF("filled_allocation_schedule_delta", MUST, "Schedule"),
	FIELD_REF("limit_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_REF("status", MUST, "OrderStatus"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_REF("created_by", OR_NULL, "v2.OrderPrincipal"),
	FIELD_REF("filled_at", OR_NULL, "UnixEpoch"),
	FIELD_REF("filled_average_price_dollars_per_node_hour", OR_NULL, "DollarsPerNodeHour"),
	FIELD_LIST("fills", MAY, "v2.OrderFill"),
	FIELD_REF("cancelled_at", OR_NULL, "UnixEpoch"),
	{ "np_reason", SCHEMA_STRING, MUST | OR_NULL, NULL, 0, 0,
		"why it was cancelled or did not fill; a code as in errors" },
	FIELD_REF("np_filled_total_dollars", MUST, "np.TotalDollars"),
	FIELD_REF("np_hold_dollars", MUST, "np.TotalDollars"),
	FIELD_FLAG("np_interruptible", MUST),
	FIELD_FLAG("np_unverified", MUST),
	FIELD_FLAG("np_granted", MUST),
	FIELD_REF("np_procurement", MUST | OR_NULL, "ProcurementId"),
	FIELDS_END,
};

static const struct schema_field quoted[] = {
	FIELD_WORD("type", MUST, "quoted"),
	FIELD_REF("post_order_body", MUST, "v2.CreateOrderRequest"),
	FIELD_REF("fee", MUST, "v2.OrderPreviewFee"),
	FIELD_LIST("notices", MAY, "v2.OrderPreviewNotice"),
	FIELD_REF("np_total_dollars", MUST, "np.TotalDollars"),
	{ "np_total_micros", SCHEMA_INTEGER, MUST, NULL, 0, 0, NULL },
	{ "np_reason", SCHEMA_STRING, MUST | OR_NULL, NULL, 0, 0, "insufficient_funds if only money is missing" },
	FIELDS_END,
};

static const struct schema_field unavailable[] = {
	FIELD_WORD("type", MUST, "unavailable"),
	FIELD_WORD("reason", MUST, "no_matching_instance_skus|no_availability"),
	FIELD_REF("fee", OR_NULL, "v2.OrderPreviewFee"),
	FIELD_LIST("notices", MAY, "v2.OrderPreviewNotice"),
	FIELD_TEXT("np_message", MUST | OR_NULL),
	FIELDS_END,
};

static const struct schema_field allocation_schedule[] = {
	FIELD_REF("total", MUST, "Schedule"),
	{ "by_instance_sku", SCHEMA_MAP, MUST, "Schedule", 0, 0, NULL },
	FIELDS_END,
};

/* The first fields of what an account owns. */
#define SCOPE(word, id) \
	FIELD_WORD("object", MUST, word), FIELD_REF("id", MUST, id), FIELD_TEXT("resource_path", MUST), \
		FIELD_REF("owner", MUST, "Name"), FIELD_REF("workspace", MUST, "Name"), \
		FIELD_REF("workspace_id", MUST, "WorkspaceId"), FIELD_REF("name", MUST, "Name")

static const struct schema_field pool[] = {
	SCOPE("pool", "PoolId"),
	FIELD_REF("kind", MUST, "v2.PoolKind"),
	FIELD_REF("allocation_schedule", MUST, "AllocationSchedule"),
	FIELD_LIST("procurements", MAY, "ProcurementSummary"),
	FIELD_LIST("deployments", MAY, "any"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELDS_END,
};

static const struct schema_field instance[] = {
	SCOPE("instance", "InstanceId"),
	FIELD_REF("status", MUST, "InstanceStatus"),
	FIELD_REF("instance_sku", MUST, "InstanceSkuSummary"),
	FIELD_REF("capacity", MUST, "CapacitySummary"),
	FIELD_REF("pool", MUST, "PoolSummary"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_REF("updated_at", MUST, "UnixEpoch"),
	FIELD_REF("image", MUST, "ImageSummary"),
	{ "managed_by", SCHEMA_ANY, OR_NULL, NULL, 0, 0, "always null: there are no deployments" },
	FIELD_FLAG("cloud_init_user_data_used", MUST),
	FIELD_TEXT("cloud_init_user_data", MAY),
	FIELD_FLAG("enable_public_ipv4", MAY),
	FIELD_TEXT("firewall", OR_NULL),
	FIELD_REF("tags", OR_NULL, "Tags"),
	FIELD_REF("expected_shutdown_at", OR_NULL, "UnixEpoch"),
	FIELD_REF("priority_level", OR_NULL, "InstancePriority"),
	{ "np_host", SCHEMA_STRING, MUST | OR_NULL, NULL, 0, 0, "its host, now or when it starts" },
	{ "np_ended_at", SCHEMA_REF, MUST | OR_NULL, "UnixEpoch", 0, 0, "when it ended or failed; null: it lives" },
	{ "np_detail", SCHEMA_STRING, MUST | OR_NULL, NULL, 0, 0, "its agent's last message, or why it ended" },
	FIELD_LIST("np_gpus", MUST, "np.NodeGpu"),
	FIELDS_END,
};

static const struct schema_field batch[] = {
	FIELD_WORD("object", MUST, "list"), FIELD_LIST("data", MUST, "InstanceResponse"), FIELDS_END,
};

static const struct schema_field log_chunk[] = {
	FIELD_REF("timestamp_realtime", MUST, "UnixEpoch"),
	FIELD_NUMBER("timestamp_monotonic_secs", MUST, 0, INT64_MAX),
	FIELD_NUMBER("timestamp_monotonic_nanos", MUST, 0, 999999999),
	FIELD_NUMBER("seqnum", MUST, 0, INT64_MAX),
	FIELD_TEXT("data", MUST),
	FIELD_NUMBER("np_at_micros", MUST, 0, INT64_MAX),
	FIELDS_END,
};

static const struct schema_field logs[] = {
	FIELD_WORD("object", MUST, "list"), FIELD_LIST("data", MUST, "InstanceLogChunk"), FIELDS_END,
};

static const struct schema_field ssh_key[] = {
	FIELD_TEXT("key_type", MUST), FIELD_TEXT("key", MUST), FIELDS_END,
};

static const struct schema_field ssh[] = {
	FIELD_TEXT("hostname", MUST),
	FIELD_NUMBER("port", MUST, 1, 65535),
	FIELD_LIST("host_keys", MUST, "InstanceSshHostKey"),
	FIELD_REF("last_successful_key_update_at", OR_NULL, "UnixEpoch"),
	FIELD_REF("last_attempted_key_update_at", OR_NULL, "UnixEpoch"),
	FIELDS_END,
};

static const struct schema_field procurement[] = {
	SCOPE("procurement", "ProcurementId"),
	FIELD_REF("target", MUST, "ProcurementTarget"),
	FIELD_REF("capacity", MUST, "CapacitySummary"),
	FIELD_REF("pool", MUST, "PoolSummary"),
	FIELD_REF("instance_sku", MUST, "InstanceSkuSummary"),
	FIELD_REF("min_sell_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_REF("max_buy_price_dollars_per_node_hour", MUST, "DollarsPerNodeHour"),
	FIELD_NUMBER("managed_window_minutes", MUST, 1, 129600),
	FIELD_FLAG("enabled", MUST),
	FIELD_REF("status", MUST, "ReconciliationStatus"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_REF("updated_at", MUST, "UnixEpoch"),
	{ "np_reason", SCHEMA_STRING, MUST | OR_NULL, NULL, 0, 0, "of its last try; a code as in errors" },
	FIELDS_END,
};

static const struct schema_field image[] = {
	SCOPE("image", "ImageId"),
	FIELD_FLAG("is_public", MUST),
	FIELD_WORD("upload_status", MUST, "started|uploading|completed|failed|revoked"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_TEXT("provider", OR_NULL),
	FIELD_TEXT("sha256", OR_NULL),
	FIELDS_END,
};

static const struct schema_field deleted_image[] = {
	FIELD_WORD("object", MUST, "image"), FIELD_FLAG("deleted", MUST), FIELD_REF("name", MUST, "Name"), FIELDS_END,
};

static const struct schema_field user[] = {
	FIELD_WORD("object", MUST, "user"), FIELD_TEXT("id", MUST), FIELD_TEXT("resource_path", MUST),
	FIELD_REF("created_at", MUST, "UnixEpoch"), FIELD_TEXT("email", OR_NULL), FIELD_TEXT("first_name", OR_NULL),
	FIELD_TEXT("last_name", OR_NULL), FIELDS_END,
};

static const struct schema_field me[] = {
	FIELD_WORD("object", MUST, "account"),
	FIELD_TEXT("account_id", MUST),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELD_WORD("entity_type", OR_NULL, "personal|business"),
	FIELD_REF("user", OR_NULL, "UserResponse"),
	{ "np_account", SCHEMA_STRING, MUST, "^acct_[0-9a-z]+$", 0, 64, "the account's id" },
	FIELDS_END,
};

static const struct schema_field workspace[] = {
	FIELD_WORD("object", MUST, "workspace"),
	FIELD_REF("id", MUST, "WorkspaceId"),
	FIELD_TEXT("resource_path", MUST),
	FIELD_REF("owner", MUST, "Name"),
	FIELD_REF("name", MUST, "Name"),
	FIELD_REF("created_at", MUST, "UnixEpoch"),
	FIELDS_END,
};

static const struct schema_field workspaces[] = {
	FIELD_WORD("object", MUST, "list"), FIELD_LIST("data", MUST, "WorkspaceResponse"), FIELD_FLAG("has_more", MUST),
	FIELDS_END,
};

static const struct schema_field flag[] = {
	FIELD_WORD("object", MUST, "feature_flag"), FIELD_TEXT("feature_flag", MUST), FIELD_TEXT("description", MUST),
	FIELD_FLAG("user_enroll", MUST), FIELD_FLAG("enrolled", MUST), FIELDS_END,
};

static const struct schema_field flags[] = {
	FIELD_WORD("object", MUST, "list"),
	FIELD_LIST("data", MUST, "UserFeatureFlag"),
	FIELD_FLAG("has_more", MUST),
	FIELDS_END,
};

static const struct schema_field feature_flag[] = { FIELD_FLAG("enabled", MUST), FIELDS_END };

static const struct schema_field enrollment[] = {
	FIELD_WORD("object", MUST, "feature_flag"),
	FIELD_TEXT("feature_flag", MUST),
	FIELD_FLAG("enrolled", MUST),
	FIELDS_END,
};

/* The book */
#define WINDOW \
	FIELD_REF("requirements", MUST, "Requirements"), FIELD_REF("start_at", MUST, "UnixEpoch"), \
	FIELD_REF("end_at", MUST, "UnixEpoch"), FIELD_REF("requested_at", MUST, "UnixEpoch")

static const struct schema_field depth[] = {
	WINDOW, FIELD_LIST("bids", MUST, "PriceLevel"), FIELD_LIST("asks", MUST, "PriceLevel"), FIELDS_END,
};

static const struct schema_field quote[] = {
	WINDOW, FIELD_REF("best_bid", OR_NULL, "PriceLevel"), FIELD_REF("best_ask", OR_NULL, "PriceLevel"), FIELDS_END,
};

static const struct schema_field fills[] = {
	FIELD_WORD("object", MUST, "list"), WINDOW, FIELD_REF("cursor", OR_NULL, "OrderbookFillsCursor"),
	FIELD_FLAG("has_more", MUST), FIELD_LIST("data", MUST, "OrderbookFill"), FIELDS_END,
};

static const struct schema_field windows[] = {
	FIELD_WORD("object", MUST, "list"), FIELD_REF("requirements", MUST, "Requirements"),
	FIELD_REF("range_start_at", MUST, "UnixEpoch"), FIELD_REF("range_end_at", MUST, "UnixEpoch"),
	FIELD_REF("cursor", OR_NULL, "OrderbookWindowsCursor"), FIELD_FLAG("has_more", MUST),
	FIELD_LIST("data", MUST, "OrderbookWindow"), FIELDS_END,
};

#define LIST_OF(name, cursor_schema, of) \
	static const struct schema_field name[] = { \
		FIELD_WORD("object", MUST, "list"), \
		FIELD_REF("cursor", OR_NULL, cursor_schema), \
		FIELD_FLAG("has_more", MUST), \
		FIELD_LIST("data", MUST, of), \
		FIELDS_END, \
	}

LIST_OF(orders_list, "OrdersCursor", "v2.OrderResponse");
LIST_OF(pools_list, "PoolsCursor", "PoolResponse");
LIST_OF(instances_list, "InstancesCursor", "InstanceResponse");
LIST_OF(skus_list, "InstanceSkusCursor", "InstanceSku");
LIST_OF(availability_list, "InstanceSkusCursor", "InstanceSkuAvailability");
LIST_OF(procurements_list, "ProcurementsCursor", "ProcurementResponse");
LIST_OF(images_list, "ImagesCursor", "ImageListEntry");
LIST_OF(users_list, "UsersCursor", "UserResponse");

static const struct schema_field catalog_list[] = {
	FIELD_WORD("object", MUST, "list"), FIELD_TEXT("cursor", OR_NULL), FIELD_FLAG("has_more", MUST),
	FIELD_LIST("data", MUST, "InstanceSkuPropertyDefinition"), FIELDS_END,
};

const struct schema schema_v2_answers[] = {
	SHAPE("v2.OrderResponse", order, NULL),
	SHAPE("v2.ListOrdersResponse", orders_list, NULL),
	SHAPE("v2.QuotedOrderPreview", quoted, "posting post_order_body unchanged fills at this price"),
	SHAPE("v2.UnavailableOrderPreview", unavailable, NULL),
	{ "v2.OrderPreviewResponse", SCHEMA_ONE_OF, "v2.QuotedOrderPreview|v2.UnavailableOrderPreview", 0, 0, NULL,
		NULL, NULL },
	SHAPE("AllocationSchedule", allocation_schedule, NULL),
	SHAPE("PoolResponse", pool, NULL),
	SHAPE("ListPoolsResponse", pools_list, NULL),
	SHAPE("InstanceResponse", instance, NULL),
	SHAPE("ListInstancesResponse", instances_list, NULL),
	SHAPE("BatchPatchInstancesResponse", batch, NULL),
	SHAPE("InstanceLogChunk", log_chunk, NULL),
	SHAPE("InstanceLogsResponse", logs, NULL),
	SHAPE("InstanceSshHostKey", ssh_key, NULL),
	SHAPE("InstanceSshInfo", ssh, NULL),
	SHAPE("ProcurementResponse", procurement, NULL),
	SHAPE("ListProcurementsResponse", procurements_list, NULL),
	SHAPE("ImageListEntry", image, NULL),
	SHAPE("ListImagesResponse", images_list, NULL),
	SHAPE("DeleteImageResponse", deleted_image, NULL),
	SHAPE("UserResponse", user, NULL),
	SHAPE("ListUsersResponse", users_list, NULL),
	SHAPE("MeResponse", me, NULL),
	SHAPE("WorkspaceResponse", workspace, NULL),
	SHAPE("ListWorkspacesResponse", workspaces, NULL),
	SHAPE("UserFeatureFlag", flag, NULL),
	SHAPE("ListUserFeatureFlagsResponse", flags, NULL),
	SHAPE("SetEnrollmentResponse", enrollment, NULL),
	SHAPE("v2.FeatureFlag", feature_flag, NULL),
	SHAPE("OrderbookDepthResponse", depth, NULL),
	SHAPE("OrderbookQuoteResponse", quote, NULL),
	SHAPE("ListOrderbookFillsResponse", fills, NULL),
	SHAPE("ListOrderbookWindowsResponse", windows, NULL),
	SHAPE("ListInstanceSkusResponse", skus_list, NULL),
	SHAPE("ListInstanceSkuAvailabilityResponse", availability_list, NULL),
	SHAPE("ListInstanceSkuPropertyCatalogResponse", catalog_list, NULL),
	{ 0 },
};
