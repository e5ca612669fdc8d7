/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of agents, their requests and answers, and of a buyer's nodes. */
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/promise.h"

#define COUNT_OF(name, flags) { name, SCHEMA_INTEGER, flags, NULL, 0, INT64_C(1) << 52, NULL }
#define SAID(name, flags) { name, SCHEMA_STRING, flags, NULL, 0, 0, NULL }
#define BASE64 "^[A-Za-z0-9+/]*=*$"
#define LINE "^[^\t\r\n]+$"

/* ---- Agents ---------------------------------------------------------------------------------- */

static const struct schema_field join[] = {
	{ "name", SCHEMA_REF, FIELD_REQUIRED, "np.ShortName", 0, 0, NULL },
	{ "public_key", SCHEMA_STRING, FIELD_REQUIRED, BASE64, 44, 44, "Ed25519: 32 bytes in base64" },
	{ "machine", SCHEMA_STRING, FIELD_REQUIRED, LINE, 1, 255, "identifies this machine" },
	{ "inventory", SCHEMA_REF, FIELD_NULL, "np.Inventory", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field resources_gpu[] = {
	SAID("vendor", 0),
	SAID("model", 0),
	COUNT_OF("count", FIELD_REQUIRED),
	COUNT_OF("memory_bytes", 0),
	{ "share", SCHEMA_STRING, 0, SHARES, 3, SHARE_TEXT,
		"a part of the GPU, or a slice; memory_bytes is that of the whole" },
	{ 0 },
};

static const struct schema_field resources[] = {
	COUNT_OF("vcpus", 0),
	{ "overcommit", SCHEMA_INTEGER, 0, NULL, 1, 16, "how many vCPUs share a core" },
	COUNT_OF("memory_bytes", 0),
	COUNT_OF("disk_bytes", 0),
	COUNT_OF("shared_bytes", 0),
	COUNT_OF("inodes", 0),
	COUNT_OF("network_mbps", 0),
	{ "gpu", SCHEMA_REF, 0, "np.ResourcesGpu", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field sizes[] = {
	COUNT_OF("vcpus", FIELD_REQUIRED),
	COUNT_OF("memory_bytes", FIELD_REQUIRED),
	COUNT_OF("disk_bytes", FIELD_REQUIRED),
	COUNT_OF("gpus", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field room[] = {
	{ "has", SCHEMA_REF, FIELD_REQUIRED, "np.Sizes", 0, 0, "for nodes, as the agent reports it" },
	{ "promised", SCHEMA_REF, FIELD_REQUIRED, "np.Sizes", 0, 0, "by the types of its hosts" },
	{ "left", SCHEMA_REF, FIELD_REQUIRED, "np.Sizes", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field agent_host[] = {
	ID_OF("host"),
	SAID("name", FIELD_REQUIRED),
	SAID("type", FIELD_REQUIRED),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "up|down|retired", 0, 0, NULL },
	{ "resources", SCHEMA_REF, 0, "np.Resources", 0, 0, "what its type promises of a node" },
	{ "fits", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0,
		"whether the machine holds it beside the others; if not for ten minutes, the market withdraws its "
		"offers; null: unchecked, as the agent does not report its capacity" },
	{ "verification", SCHEMA_REF, 0, "np.WorkVerification", 0, 0,
		"in work, where its type asks for proof: what the market has" },
	{ 0 },
};

static const struct schema_field agent_status[] = {
	SAID("message", FIELD_REQUIRED | FIELD_NULL),
	SAID("driver", FIELD_REQUIRED | FIELD_NULL),
	COUNT_OF("nodes", FIELD_REQUIRED),
	COUNT_OF("unknown", FIELD_REQUIRED),
	COUNT_OF("oldest_unknown_seconds", FIELD_REQUIRED),
	COUNT_OF("rss_bytes", FIELD_REQUIRED | FIELD_NULL),
	TIME("told_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field agent[] = {
	OBJECT_IS("agent"),
	ID_OF("agt"),
	SAID("name", FIELD_REQUIRED),
	SAID("account", FIELD_REQUIRED),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "joined|up|silent|left", 0, 0, NULL },
	{ "hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.AgentHost", 0, 0, NULL },
	SAID("machine", FIELD_REQUIRED | FIELD_NULL),
	SAID("public_key", FIELD_REQUIRED),
	TIME("created_at", FIELD_REQUIRED),
	TIME("last_seen_at", FIELD_REQUIRED | FIELD_NULL),
	{ "generation", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, INT64_MAX, "of its session" },
	{ "inventory", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Inventory", 0, 0, "null in lists" },
	{ "health", SCHEMA_ENUM, FIELD_REQUIRED | FIELD_NULL, "ok|degraded|draining|unhealthy", 0, 0,
		"as the agent reports it" },
	{ "status", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.AgentStatus", 0, 0, NULL },
	{ "room", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Room", 0, 0,
		"what of the machine is promised; null where it does not report its capacity, and in lists" },
	{ 0 },
};

static const struct schema_field agent_list[] = {
	OBJECT_IS("list"), SAID("cursor", FIELD_REQUIRED | FIELD_NULL),
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Agent", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field session_request[] = {
	{ "generation", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, INT64_MAX, "higher than in all earlier sessions" },
	TIME("at", FIELD_REQUIRED),
	{ "machine", SCHEMA_STRING, FIELD_REQUIRED, LINE, 1, 255, NULL },
	{ "signature", SCHEMA_STRING, FIELD_REQUIRED, BASE64, 88, 88,
		"Ed25519 of 'nanopod-agent-session', id, generation, at and machine, each with a newline; base64" },
	{ 0 },
};

static const struct schema_field session[] = {
	OBJECT_IS("session"),
	{ "token", SCHEMA_STRING, FIELD_REQUIRED, "^nps_[A-Za-z0-9_-]+$", 0, 128, NULL },
	{ "generation", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, INT64_MAX, NULL }, TIME("now", FIELD_REQUIRED),
	COUNT_OF("poll_seconds", FIELD_REQUIRED),
	{ 0 },
};

/* ---- Work ------------------------------------------------------------------------------------ */

static const struct schema_field work_agent[] = { ID_OF("agt"), SAID("name", FIELD_REQUIRED), { 0 } };

static const struct schema_field work_node[] = {
	ID_OF("inst"),
	SAID("name", FIELD_REQUIRED),
	SAID("host", FIELD_REQUIRED),
	SAID("type", FIELD_REQUIRED),
	SAID("image", FIELD_REQUIRED | FIELD_NULL),
	{ "tenant", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "the account that owns the node" },
	SAID("pool", FIELD_REQUIRED),
	{ "network", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0,
		"nodes of one tenant and network reach each other: the pool, or the first one of a request that made "
		"several" },
	{ "user_data", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "base64" },
	{ "status", SCHEMA_ENUM, FIELD_REQUIRED, "awaiting_allocation|running", 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	{ "resources", SCHEMA_REF, 0, "np.Resources", 0, 0, "what the node gets; absent: its share of the machine" },
	{ 0 },
};

static const struct schema_field work[] = {
	OBJECT_IS("work"),
	SAID("version", FIELD_REQUIRED),
	TIME("now", FIELD_REQUIRED),
	{ "test_clock", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "agent", SCHEMA_REF, FIELD_REQUIRED, "np.WorkAgent", 0, 0, NULL },
	{ "tls_keys", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0,
		"sha256//…: the keys that the market shows, now and next; an agent that pins one pins these from now "
		"on" },
	{ "hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.AgentHost", 0, 0, NULL },
	{ "nodes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.WorkNode", 0, 0,
		"all nodes that the agent keeps; it removes any other" },
	{ "volumes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.WorkVolume", 0, 0,
		"all volumes on its machine; it keeps any other, and deletes those whose state says so" },
	{ 0 },
};

static const struct schema_field work_volume[] = {
	ID_OF("vol"),
	SAID("name", FIELD_REQUIRED),
	SAID("tenant", FIELD_REQUIRED),
	COUNT_OF("bytes", FIELD_REQUIRED),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "mounted|kept|deleted", 0, 0,
		"mounted: nodes of the tenant that start from now on see it" },
	{ 0 },
};

static const struct schema_field host_key[] = {
	{ "type", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, NULL },
	{ "key_type", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, "the same under another name" },
	{ "key", SCHEMA_STRING, FIELD_REQUIRED, "^[A-Za-z0-9+/=]+$", 1, 4096, "base64" },
	{ 0 },
};

static const struct schema_field node_gpu[] = {
	{ "model", SCHEMA_STRING, FIELD_REQUIRED, "^[A-Za-z0-9._:+-]+$", 1, 63, "as types name it" },
	{ "count", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, 1024, NULL },
	COUNT_OF("memory_bytes", 0),
	{ "share", SCHEMA_STRING, 0, SHARES, 3, SHARE_TEXT,
		"a part of a GPU, or a slice, of which memory_bytes is what the node may hold" },
	{ 0 },
};

static const struct schema_field report[] = {
	{ "status", SCHEMA_ENUM, FIELD_REQUIRED, "running|failed", 0, 0, NULL },
	{ "message", SCHEMA_STRING, FIELD_NULL, NULL, 0, 1024, NULL },
	{ "detail", SCHEMA_STRING, FIELD_NULL, NULL, 0, 1024, "the same under another name" },
	{ "hostname", SCHEMA_STRING, FIELD_NULL, "^[A-Za-z0-9.:_-]+$", 1, 255, "where SSH is" },
	{ "port", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, 65535, NULL },
	{ "user", SCHEMA_STRING, FIELD_NULL, "^[a-z_][a-z0-9_.-]*$", 1, 32, "who signs in" },
	{ "driver", SCHEMA_STRING, FIELD_NULL, "^[a-z0-9_-]+$", 1, 31, NULL },
	{ "host_keys", SCHEMA_ARRAY, FIELD_NULL, "np.HostKey", 0, 8, NULL },
	{ "gpus", SCHEMA_ARRAY, FIELD_NULL, "np.NodeGpu", 0, 16, "the GPUs that the node opens, by kind" },
	{ "fault", SCHEMA_ENUM, FIELD_NULL, "host|node", 0, 0,
		"whose fault the failure is; after 'node' the host stays up" },
	{ 0 },
};

static const struct schema_field console_line[] = {
	{ "at", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, INT64_MAX, "microseconds since the epoch" },
	{ "data", SCHEMA_STRING, FIELD_REQUIRED, BASE64, 0, 0, "base64" },
	{ 0 },
};

static const struct schema_field console[] = {
	{ "first", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, INT64_MAX, "number of the first line; lines count from 1" },
	{ "lines", SCHEMA_ARRAY, FIELD_REQUIRED, "np.ConsoleLine", 0, 1000, "up to 256 KiB" },
	{ 0 },
};

static const struct schema_field console_answer[] = {
	{ "next", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, INT64_MAX, "number of the next line to send" },
	{ 0 },
};

static const struct schema_field speed_request[] = {
	{ "data", SCHEMA_STRING, FIELD_REQUIRED, "^[A-Za-z0-9_-]*$", 0, 1000000, "dropped" },
	{ 0 },
};

static const struct schema_field speed[] = {
	OBJECT_IS("speed"),
	{ "bytes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 1000000, "of data, there or here" },
	{ "data", SCHEMA_STRING, 0, NULL, 0, 1000000, "chance; absent after a POST" },
	{ 0 },
};

static const struct schema_field status_host[] = {
	SAID("host", FIELD_REQUIRED),
	{ "health", SCHEMA_ENUM, FIELD_REQUIRED, "ok|degraded|draining|unhealthy", 0, 0, NULL },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 0, 255, "why; buyers of an unhealthy host see it" },
	{ 0 },
};

static const struct schema_field status_request[] = {
	{ "health", SCHEMA_ENUM, FIELD_REQUIRED, "ok|degraded|draining|unhealthy", 0, 0, NULL },
	{ "message", SCHEMA_STRING, FIELD_NULL, NULL, 0, 255, NULL },
	{ "driver", SCHEMA_STRING, FIELD_NULL, "^[a-z0-9_-]+$", 1, 31, NULL },
	COUNT_OF("nodes", FIELD_REQUIRED),
	COUNT_OF("unknown", FIELD_REQUIRED),
	COUNT_OF("oldest_unknown_seconds", FIELD_REQUIRED),
	COUNT_OF("rss_bytes", FIELD_NULL),
	{ "hosts", SCHEMA_ARRAY, FIELD_NULL, "np.AgentStatusHost", 0, 1024,
		"each host's health; absent: all are as the machine is" },
	{ 0 },
};

static const struct schema_field agent_host_request[] = {
	{ "name", SCHEMA_REF, FIELD_REQUIRED, "np.Name", 0, 0, NULL },
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "id or alias" },
	{ 0 },
};

/* ---- Nodes ----------------------------------------------------------------------------------- */

static const struct schema_field node_key[] = { SAID("type", FIELD_REQUIRED), SAID("key", FIELD_REQUIRED), { 0 } };

static const struct schema_field node_ssh[] = {
	SAID("hostname", FIELD_REQUIRED), COUNT_OF("port", FIELD_REQUIRED), SAID("user", FIELD_REQUIRED),
	{ "host_keys", SCHEMA_ARRAY, FIELD_REQUIRED, "np.NodeKey", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field node[] = {
	OBJECT_IS("node"),
	ID_OF("inst"),
	SAID("name", FIELD_REQUIRED),
	{ "status", SCHEMA_ENUM, FIELD_REQUIRED, "awaiting_allocation|running|terminated|failed", 0, 0, NULL },
	SAID("status_message", FIELD_REQUIRED | FIELD_NULL),
	{ "host_down", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0,
		"its host is silent or broken; the buyer gets the minutes until it is back refunded" },
	{ "ends_early", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "its host goes out of service at end_at" },
	{ "reservation", SCHEMA_REF, FIELD_REQUIRED, "np.Named", 0, 0, NULL },
	SAID("type", FIELD_REQUIRED),
	SAID("zone", FIELD_REQUIRED | FIELD_NULL),
	{ "start_at", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"when the time begins that it waits for; null: it has a host, or no time is bought for it" },
	{ "price_dollars_per_node_hour", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Dollars", 0, 0,
		"of the lease that it runs under now" },
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	TIME("created_at", FIELD_REQUIRED),
	TIME("updated_at", FIELD_REQUIRED),
	TIME("ended_at", FIELD_REQUIRED | FIELD_NULL),
	{ "gpus", SCHEMA_ARRAY, FIELD_REQUIRED, "np.NodeGpu", 0, 0, "what its host gave it, once it runs" },
	{ "ssh", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.NodeSsh", 0, 0, NULL },
	{ "verification", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Verification", 0, 0,
		"what was measured of its host" },
	{ 0 },
};

static const struct schema_field node_list[] = {
	OBJECT_IS("list"), SAID("cursor", FIELD_REQUIRED | FIELD_NULL),
	{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Node", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field user_data[] = {
	{ "user_data", SCHEMA_STRING, FIELD_REQUIRED, BASE64, 0, 0, "base64; \"\": none" }, { 0 },
};

const struct schema schema_np_agent[] = {
	{ "np.Inventory", SCHEMA_MAP, "any", 0, 256, NULL, NULL,
		"the machine's hardware, as its agent found it; 'capacity' is what it has for nodes" },
	OBJECT("np.JoinRequest", join),
	OBJECT("np.ResourcesGpu", resources_gpu),
	OBJECT("np.Resources", resources),
	OBJECT("np.Sizes", sizes),
	OBJECT("np.Room", room),
	OBJECT("np.AgentHost", agent_host),
	OBJECT("np.AgentStatus", agent_status),
	OBJECT("np.Agent", agent),
	OBJECT("np.AgentList", agent_list),
	OBJECT("np.SessionRequest", session_request),
	OBJECT("np.Session", session),
	OBJECT("np.WorkAgent", work_agent),
	OBJECT("np.WorkNode", work_node),
	OBJECT("np.Work", work),
	OBJECT("np.WorkVolume", work_volume),
	OBJECT("np.HostKey", host_key),
	OBJECT("np.NodeGpu", node_gpu),
	OBJECT("np.ReportRequest", report),
	OBJECT("np.ConsoleLine", console_line),
	OBJECT("np.ConsoleRequest", console),
	OBJECT("np.Console", console_answer),
	OBJECT("np.AgentStatusHost", status_host),
	OBJECT("np.AgentStatusRequest", status_request),
	OBJECT("np.AgentHostRequest", agent_host_request),
	OBJECT("np.SpeedRequest", speed_request),
	OBJECT("np.Speed", speed),
	OBJECT("np.NodeKey", node_key),
	OBJECT("np.NodeSsh", node_ssh),
	OBJECT("np.Node", node),
	OBJECT("np.NodeList", node_list),
	OBJECT("np.UserDataRequest", user_data),
	{ 0 },
};
