/* SPDX-License-Identifier: Apache-2.0 */
/* All routes and all schemas of this market: it serves nothing else. */
#include "marketd/api/np/np.h"
#include "marketd/api/v2/v2.h"
#include "marketd/api/builtin.h"

const struct route *const api_tables[] = {
	builtin_routes,
	api_v2_skus,
	api_v2_orders,
	api_v2_preview,
	api_v2_book,
	api_v2_fills,
	api_v2_pools,
	api_v2_instances,
	api_v2_instance,
	api_v2_procurements,
	api_v2_images,
	api_v2_account,
	api_np_routes,
	api_np_token_routes,
	api_np_account_routes,
	api_np_host_routes,
	api_np_drain_routes,
	api_np_agent_routes,
	api_np_work_routes,
	api_np_speed_routes,
	api_np_series_routes,
	api_np_sample_routes,
	api_np_verify_routes,
	api_np_proof_routes,
	api_np_node_routes,
	api_np_trade_routes,
	api_np_list_routes,
	api_v1_node_routes,
	api_v1_routes,
	api_v0_order_routes,
	api_v0_contract_routes,
	api_v0_vm_routes,
	api_v0_procurement_routes,
	api_v0_routes,
	api_absent_routes,
	NULL,
};

const struct schema *const schema_tables[] = {
	schema_builtin,
	schema_v2,
	schema_v2_requests,
	schema_v2_answers,
	schema_np,
	schema_np_agent,
	schema_np_verify,
	schema_np_series,
	schema_np_samples,
	schema_old,
	NULL,
};
