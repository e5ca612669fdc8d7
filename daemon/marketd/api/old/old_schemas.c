/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of /v1 and /v0, SF Compute's older generations. */
#include "marketd/api/np/np_schemas.h"

#define CENTS_MAX INT64_C(1000000000)
#define TOTAL_CENTS_MAX INT64_C(90000000000)

#define TEXT(name, flags) { name, SCHEMA_STRING, flags, NULL, 0, 0, NULL }
#define NUMBER(name, flags) { name, SCHEMA_INTEGER, flags, NULL, 0, 0, NULL }
#define FLAG(name, flags) { name, SCHEMA_BOOLEAN, flags, NULL, 0, 0, NULL }
#define MUST FIELD_REQUIRED
#define MAYBE (FIELD_REQUIRED | FIELD_NULL)

static const struct schema_field empty[] = { { 0 } };

/* ---- /v1 ----------------------------------------------------------------------------------------- */

static const struct schema_field create_nodes[] = {
	{ "desired_count", SCHEMA_INTEGER, MUST, NULL, 1, 256, "number of nodes, all or none" },
	{ "max_price_per_node_hour", SCHEMA_INTEGER, MUST, NULL, 1, CENTS_MAX, "cents" },
	{ "names", SCHEMA_ARRAY, FIELD_NULL, "string", 0, 256, NULL },
	{ "zone", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, "alias or id of a SKU" },
	{ "any_zone", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "node_type", SCHEMA_ENUM, FIELD_NULL, "autoreserved|reserved", 0, 0,
		"absent: reserved with an end, else autoreserved" },
	{ "start_at", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, SECONDS_MAX, "absent: now" },
	{ "end_at", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, SECONDS_MAX, "on a whole hour; a reserved node needs one" },
	{ "cloud_init_user_data", SCHEMA_STRING, FIELD_NULL, NULL, 0, 0, "base64 of up to 64 KiB" },
	{ "image_id", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, NULL },
	{ "forward_443", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "_preview_enable_infiniband", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field extend_node[] = {
	{ "duration_seconds", SCHEMA_INTEGER, MUST, NULL, 3600, INT64_C(94608000), "a multiple of 3600" },
	{ "max_price_per_node_hour", SCHEMA_INTEGER, MUST, NULL, 1, CENTS_MAX, "cents" },
	{ 0 },
};

static const struct schema_field redeploy_node[] = {
	{ "image_id", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, NULL },
	{ "cloud_init_user_data", SCHEMA_STRING, FIELD_NULL, NULL, 0, 0, "base64 of up to 64 KiB" },
	{ "override_empty", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0,
		"true: empties what is left out instead of keeping it" },
	{ 0 },
};

static const struct schema_field vm[] = {
	OBJECT_IS("vm"),
	TEXT("id", MUST),
	{ "status", SCHEMA_ENUM, MUST, "Pending|Running|Destroyed|NodeFailure", 0, 0, NULL },
	NUMBER("created_at", MUST),
	NUMBER("updated_at", MUST),
	NUMBER("start_at", MAYBE),
	NUMBER("end_at", MAYBE),
	TEXT("image_id", MUST),
	TEXT("zone", MUST),
	{ 0 },
};

static const struct schema_field vms[] = {
	OBJECT_IS("list"), { "data", SCHEMA_ARRAY, MUST, "v1.Vm", 0, 0, NULL }, { 0 },
};

static const struct schema_field node[] = {
	OBJECT_IS("node"),
	TEXT("id", MUST),
	TEXT("name", MUST),
	TEXT("zone", MAYBE),
	TEXT("gpu_type", MUST),
	TEXT("owner", MUST),
	{ "status", SCHEMA_ENUM, MUST, "pending|awaitingcapacity|running|released|terminated|failed", 0, 0, NULL },
	NUMBER("created_at", MUST),
	NUMBER("updated_at", MUST),
	NUMBER("start_at", MAYBE),
	NUMBER("end_at", MAYBE),
	NUMBER("deleted_at", MAYBE),
	TEXT("procurement_id", MAYBE),
	NUMBER("max_price_per_node_hour", MAYBE),
	{ "node_type", SCHEMA_ENUM, MUST, "autoreserved|reserved", 0, 0, NULL },
	{ "vms", SCHEMA_REF, MUST, "v1.Vms", 0, 0, NULL },
	{ "current_vm", SCHEMA_REF, MAYBE, "v1.Vm", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field node_list[] = {
	OBJECT_IS("list"), { "data", SCHEMA_ARRAY, MUST, "v1.Node", 0, 0, NULL }, { 0 },
};

static const struct schema_field balances[] = {
	OBJECT_IS("balances"), NUMBER("available_balance_cents", MUST), NUMBER("current_balance_cents", MUST),
	NUMBER("current_overage_cents", MUST), NUMBER("overage_limit_cents", MUST), NUMBER("updated_at", MUST), { 0 },
};

static const struct schema_field account[] = { OBJECT_IS("account"), TEXT("id", MUST), TEXT("name", 0), { 0 } };

static const struct schema_field image[] = {
	OBJECT_IS("image"),
	TEXT("image_id", MUST),
	TEXT("name", MUST),
	TEXT("upload_status", MUST),
	NUMBER("created_at", MUST),
	TEXT("sha256_hash", MAYBE),
	{ 0 },
};

static const struct schema_field image_download[] = {
	OBJECT_IS("image"),
	TEXT("image_id", MUST),
	TEXT("name", MUST),
	TEXT("download_url", MAYBE),
	TEXT("expires_at", MAYBE),
	NUMBER("object_size", MAYBE),
	TEXT("sha256_hash", MAYBE),
	{ 0 },
};

#define LIST_MORE(name, item) \
	static const struct schema_field name[] = { \
		OBJECT_IS("list"), FLAG("has_more", 0), { "data", SCHEMA_ARRAY, MUST, item, 0, 0, NULL }, { 0 } \
	}

LIST_MORE(image_list, "v1.Image");
LIST_MORE(order_list, "v0.Order");
LIST_MORE(contract_list, "v0.Contract");
LIST_MORE(zone_list, "v0.Zone");
LIST_MORE(procurement_list, "v0.Procurement");
LIST_MORE(token_list, "v0.Token");
LIST_MORE(vm_list, "v0.Vm");

/* ---- /v0: orders ------------------------------------------------------------------------------------ */

static const struct schema_field order_flags[] = {
	FLAG("ioc", FIELD_NULL),
	FLAG("post_only", FIELD_NULL),
	FLAG("market", FIELD_NULL),
	FLAG("prorate", FIELD_NULL),
	{ 0 },
};

static const struct schema_field create_order[] = {
	{ "side", SCHEMA_ENUM, MUST, "buy|sell", 0, 0, NULL },
	{ "instance_type", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, "a SKU's alias, or an accelerator" },
	{ "quantity", SCHEMA_INTEGER, MUST, NULL, 1, NODES_MAX, "nodes" },
	{ "start_at", SCHEMA_STRING, MUST, NULL, 1, 64, "NOW or ISO 8601" },
	{ "end_at", SCHEMA_STRING, MUST, NULL, 1, 64, "ISO 8601" },
	{ "price", SCHEMA_INTEGER, MUST, NULL, 0, TOTAL_CENTS_MAX, "total in cents" },
	{ "flags", SCHEMA_REF, FIELD_NULL, "v0.OrderFlags", 0, 0, NULL },
	{ "colocate_with", SCHEMA_ARRAY, FIELD_NULL, "string", 0, 16, NULL },
	{ "cluster", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, "a SKU's alias" },
	{ "contract_id", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, "the contract to sell from" },
	{ "reprice", SCHEMA_MAP, FIELD_NULL, "any", 0, 16, NULL },
	{ 0 },
};

static const struct schema_field new_order[] = {
	OBJECT_IS("order"), { "status", SCHEMA_ENUM, MUST, "pending|filled|cancelled", 0, 0, NULL }, TEXT("id", MUST),
	TEXT("idempotency_key", 0), { 0 },
};

static const struct schema_field order[] = {
	OBJECT_IS("order"), TEXT("id", MUST), { "side", SCHEMA_ENUM, MUST, "buy|sell", 0, 0, NULL },
	{ "status", SCHEMA_ENUM, MUST, "open|filled|cancelled|rejected", 0, 0, NULL }, TEXT("instance_type", MUST),
	NUMBER("quantity", MUST), TEXT("start_at", MUST), TEXT("end_at", MUST), NUMBER("price", MUST),
	{ "flags", SCHEMA_REF, MUST, "v0.OrderFlags", 0, 0, NULL }, FLAG("executed", MUST), TEXT("executed_at", 0),
	NUMBER("execution_price", 0), FLAG("cancelled", MUST), TEXT("cancelled_at", 0), FLAG("rejected", MUST),
	TEXT("rejected_reason", 0), TEXT("created_at", MUST), TEXT("cluster", 0), NUMBER("duration", MUST), { 0 },
};

static const struct schema_field pending[] = { OBJECT_IS("pending"), { 0 } };

static const struct schema_field quote[] = {
	NUMBER("price", MUST),
	NUMBER("quantity", MUST),
	TEXT("start_at", MUST),
	TEXT("end_at", MUST),
	TEXT("instance_type", MUST),
	TEXT("zone", MUST),
	{ 0 },
};

static const struct schema_field quote_answer[] = {
	OBJECT_IS("quote"),
	{ "side", SCHEMA_ENUM, MUST, "buy|sell", 0, 0, NULL },
	{ "quote", SCHEMA_REF, MAYBE, "v0.Quote", 0, 0, NULL },
	{ "no_quote_reason", SCHEMA_ENUM, 0,
		"no_matching_clusters|no_availability|bid_price_too_low|ask_price_too_high", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field shape[] = {
	{ "intervals", SCHEMA_ARRAY, MUST, "string", 0, 0, NULL },
	{ "quantities", SCHEMA_ARRAY, MUST, "integer", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field contract[] = {
	OBJECT_IS("contract"),
	{ "status", SCHEMA_ENUM, MUST, "active", 0, 0, NULL },
	TEXT("id", MUST),
	TEXT("created_at", MUST),
	TEXT("instance_type", MUST),
	{ "shape", SCHEMA_REF, MUST, "v0.Shape", 0, 0, NULL },
	{ "colocate_with", SCHEMA_ARRAY, MUST, "string", 0, 0, NULL },
	TEXT("cluster_id", MUST),
	TEXT("zone", MUST),
	{ "state", SCHEMA_ENUM, MUST, "Upcoming|Active|Expired", 0, 0, NULL },
	FLAG("is_node", MUST),
	{ 0 },
};

/* ---- /v0: the rest ------------------------------------------------------------------------------------ */

static const struct schema_field capacity[] = {
	NUMBER("start_timestamp", MUST), NUMBER("end_timestamp", MUST), NUMBER("quantity", MUST), { 0 },
};

static const struct schema_field zone[] = {
	OBJECT_IS("zone"),
	TEXT("name", MUST),
	TEXT("display_name", MUST),
	{ "available_capacity", SCHEMA_ARRAY, MUST, "v0.Capacity", 0, 0, NULL },
	{ "region", SCHEMA_ENUM, MUST, "NorthAmerica|AsiaPacific|EuropeMiddleEastAfrica", 0, 0, NULL },
	TEXT("hardware_type", MUST),
	{ "interconnect_type", SCHEMA_ENUM, MUST, "Infiniband|None", 0, 0, NULL },
	{ "delivery_type", SCHEMA_ENUM, MUST, "VM", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field strategy[] = {
	{ "type", SCHEMA_ENUM, MUST, "anywhere|colocate|colocate-pinned|pinned", 0, 0, NULL },
	{ "cluster_name", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, NULL },
	{ 0 },
};

static const struct schema_field create_procurement[] = {
	{ "instance_type", SCHEMA_STRING, FIELD_NULL, NULL, 1, 255, NULL },
	{ "desired_quantity", SCHEMA_INTEGER, MUST, NULL, 0, NODES_MAX, "nodes" },
	{ "buy_limit_price_per_gpu_hour", SCHEMA_INTEGER, MUST, NULL, 0, CENTS_MAX / 1000, "cents" },
	{ "sell_limit_price_per_gpu_hour", SCHEMA_INTEGER, MUST, NULL, 0, CENTS_MAX / 1000, "cents" },
	{ "horizon", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, 129600, "minutes" },
	{ "status", SCHEMA_ENUM, FIELD_NULL, "active|disabled", 0, 0, NULL },
	{ "colocation_strategy", SCHEMA_REF, FIELD_NULL, "v0.ColocationStrategy", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field patch_procurement[] = {
	{ "desired_quantity", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, NODES_MAX, NULL },
	{ "buy_limit_price_per_gpu_hour", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, CENTS_MAX / 1000, NULL },
	{ "sell_limit_price_per_gpu_hour", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, CENTS_MAX / 1000, NULL },
	{ "horizon", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, 129600, NULL },
	{ "status", SCHEMA_ENUM, FIELD_NULL, "active|disabled", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field procurement[] = {
	OBJECT_IS("procurement"),
	TEXT("id", MUST),
	TEXT("instance_type", MUST),
	NUMBER("desired_quantity", MUST),
	NUMBER("buy_limit_price_per_gpu_hour", MUST),
	NUMBER("sell_limit_price_per_gpu_hour", MUST),
	NUMBER("horizon", MUST),
	{ "status", SCHEMA_ENUM, MUST, "active|disabled", 0, 0, NULL },
	{ "colocation_strategy", SCHEMA_REF, MUST, "v0.ColocationStrategy", 0, 0, NULL },
	{ "last_message", SCHEMA_ENUM, MUST, "insufficient_balance|running", 0, 0, NULL },
	TEXT("created_at", MUST),
	TEXT("updated_at", MUST),
	{ 0 },
};

static const struct schema_field vm_row[] = {
	TEXT("id", MUST), TEXT("cluster_id", MUST), TEXT("current_status", MUST), TEXT("last_updated_at", MUST), { 0 },
};

static const struct schema_field host_key[] = { TEXT("key_type", MUST), TEXT("base64_encoded_key", MUST), { 0 } };

static const struct schema_field ssh[] = {
	TEXT("ssh_hostname", MUST),
	NUMBER("ssh_port", MUST),
	{ "ssh_host_keys", SCHEMA_ARRAY, MUST, "v0.HostKey", 0, 0, NULL },
	TEXT("last_successful_key_update", MUST),
	TEXT("last_attempted_key_update", MUST),
	{ 0 },
};

static const struct schema_field node_key[] = { TEXT("key_type", MUST), TEXT("key", MUST), { 0 } };
static const struct schema_field node_ssh[] = {
	TEXT("hostname", MUST),
	NUMBER("port", MUST),
	{ "host_keys", SCHEMA_ARRAY, MUST, "v2.NodeKey", 0, 0, NULL },
	NUMBER("last_successful_key_update", MUST),
	NUMBER("last_attempted_key_update", MUST),
	{ 0 },
};

static const struct schema_field logs[] = { { "data", SCHEMA_ARRAY, MUST, "any", 0, 0, NULL }, { 0 } };

static const struct schema_field replace_request[] = { { "vm_id", SCHEMA_STRING, MUST, NULL, 1, 255, NULL }, { 0 } };
static const struct schema_field replaced[] = { TEXT("replaced", MUST), TEXT("replaced_by", MUST), { 0 } };

static const struct schema_field script_request[] = {
	{ "script", SCHEMA_REF, MUST, "v0.UserData", 0, 0, NULL }, { 0 },
};
static const struct schema_field script[] = { TEXT("script", MUST), { 0 } };

static const struct schema_field me[] = { OBJECT_IS("account"), TEXT("id", MUST), { 0 } };
static const struct schema_field amount[] = { NUMBER("amount", MUST), TEXT("currency", MUST), { 0 } };
static const struct schema_field balance[] = {
	OBJECT_IS("balance"), { "available", SCHEMA_REF, MUST, "v0.Amount", 0, 0, NULL },
	{ "reserved", SCHEMA_REF, MUST, "v0.Amount", 0, 0, NULL }, { 0 },
};
static const struct schema_field pong[] = { TEXT("message", MUST), { 0 } };

static const struct schema_field create_token[] = {
	{ "expires_in_seconds", SCHEMA_INTEGER, MUST, NULL, 1, LIFE_MAX, NULL },
	{ "origin_client", SCHEMA_STRING, FIELD_NULL, NULL, 0, 64, NULL },
	{ "name", SCHEMA_STRING, FIELD_NULL, NULL, 0, 100, NULL },
	{ "description", SCHEMA_STRING, FIELD_NULL, NULL, 0, 1000, NULL },
	{ 0 },
};

static const struct schema_field token[] = {
	OBJECT_IS("token"), TEXT("id", MUST), TEXT("name", MAYBE), TEXT("description", MAYBE), FLAG("is_sandbox", MUST),
	TEXT("last_active_at", MAYBE), TEXT("expires_at", MAYBE), TEXT("created_at", MUST), TEXT("origin_client", MUST),
	FLAG("is_system", MUST), { 0 },
};
static const struct schema_field new_token[] = { TEXT("token", MUST), { 0 } };

const struct schema schema_old[] = {
	OBJECT("v1.Empty", empty),
	OBJECT("v1.CreateNodesRequest", create_nodes),
	OBJECT("v1.ExtendNodeRequest", extend_node),
	OBJECT("v1.RedeployNodeRequest", redeploy_node),
	OBJECT("v1.Vm", vm),
	OBJECT("v1.Vms", vms),
	OBJECT("v1.Node", node),
	OBJECT("v1.NodeList", node_list),
	OBJECT("v1.Balances", balances),
	OBJECT("v1.Account", account),
	OBJECT("v1.Image", image),
	OBJECT("v1.ImageList", image_list),
	OBJECT("v1.ImageDownload", image_download),
	OBJECT("v0.OrderFlags", order_flags),
	OBJECT("v0.CreateOrderRequest", create_order),
	OBJECT("v0.NewOrder", new_order),
	OBJECT("v0.Order", order),
	OBJECT("v0.OrderList", order_list),
	OBJECT("v0.Pending", pending),
	OBJECT("v0.Quote", quote),
	OBJECT("v0.QuoteAnswer", quote_answer),
	OBJECT("v0.Shape", shape),
	OBJECT("v0.Contract", contract),
	OBJECT("v0.ContractList", contract_list),
	OBJECT("v0.Capacity", capacity),
	OBJECT("v0.Zone", zone),
	OBJECT("v0.ZoneList", zone_list),
	OBJECT("v0.ColocationStrategy", strategy),
	OBJECT("v0.CreateProcurementRequest", create_procurement),
	OBJECT("v0.PatchProcurementRequest", patch_procurement),
	OBJECT("v0.Procurement", procurement),
	OBJECT("v0.ProcurementList", procurement_list),
	OBJECT("v0.Vm", vm_row),
	OBJECT("v0.VmList", vm_list),
	OBJECT("v0.HostKey", host_key),
	OBJECT("v0.Ssh", ssh),
	OBJECT("v2.NodeKey", node_key),
	OBJECT("v2.NodeSsh", node_ssh),
	OBJECT("v0.Logs", logs),
	OBJECT("v0.ReplaceRequest", replace_request),
	OBJECT("v0.Replaced", replaced),
	{ "v0.Byte", SCHEMA_INTEGER, NULL, 1, 255, NULL, NULL, NULL },
	{ "v0.Bytes", SCHEMA_ARRAY, "v0.Byte", 0, 60 * 1024, NULL, NULL, NULL },
	{ "v0.Text", SCHEMA_STRING, NULL, 0, 60 * 1024, NULL, NULL, NULL },
	{ "v0.UserData", SCHEMA_ONE_OF, "v0.Text|v0.Bytes", 0, 0, NULL, NULL, "text, or its bytes as numbers" },
	OBJECT("v0.ScriptRequest", script_request),
	OBJECT("v0.Script", script),
	OBJECT("v0.Me", me),
	OBJECT("v0.Amount", amount),
	OBJECT("v0.Balance", balance),
	OBJECT("v0.Pong", pong),
	OBJECT("v0.CreateTokenRequest", create_token),
	OBJECT("v0.Token", token),
	{ "v0.NewToken", SCHEMA_OBJECT, NULL, 0, 0, "v0.Token", new_token, NULL },
	OBJECT("v0.TokenList", token_list),
	{ 0 },
};
