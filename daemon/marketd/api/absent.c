/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SF Compute's API has and this market does not: each answers 501 and says what to use instead. Together with
 * the routes that are served these are all operations of public.list, which tests/daemon/operations.t compares.
 */
#include "market/reason.h"
#include "marketd/api/builtin.h"

int api_absent(struct api *api, const struct request *q, struct reply *r)
{
	(void)api;
	return api_refuse(q, r, REASON_NOT_IMPLEMENTED, NULL, "%s", r->route->summary);
}

/* Any account's token may be told. */
#define ANY (SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST)
#define ABSENT(method, path, instead) \
	{ \
		METHOD_##method, path, api_absent, ANY, 0, instead, NULL, NULL, "Error", 501 \
	}

#define DEPLOYMENTS "deployments are not part of this market; make instances in a pool with POST /v2/instances"
#define TEMPLATES "instance templates are not part of this market; give image and user data with each instance"
#define TRANSFERS "what is in one pool cannot be moved to another; buy into the right pool with POST /v2/orders"
#define IMAGES "images cannot be uploaded here; GET /v2/images lists the images"
#define WORKSPACES "an account has one workspace, 'default', which cannot be changed"
#define SCOPES "there are no roles and grants here: a token has scopes; POST /np/v1/tokens makes one"
#define AVAILABILITY "ask GET /v2/instance_skus/availability for what is on sale"
#define FIXED "feature flags and public images are fixed here"
#define SKUS "the operator keeps SKUs with /np/v1/skus, which 'nanopod admin sku' uses"
#define INVOICES "everything is paid ahead, so there are no invoices; GET /np/v1/ledger has each posting"
#define LEDGER "GET /np/v1/ledger has each posting of an account"
#define HISTORY "GET /np/v1/events has the events of an account"
#define ONE_BALANCE "an account has one balance for all generations of the API; there is nothing to move"
#define SELLERS "GET /np/v1/hosts has a seller's machines, GET /v2/orders its orders"
#define HEALTH "ask GET /healthz whether the market answers"
#define CLUSTERS "there are no Kubernetes clusters here; GET /v0/vms/instances lists the VMs of a contract"
#define INSTANCES "ask GET /v2/instance_skus/availability for SKUs, GET /v0/vms/instances for VMs"
#define PRICES "GET /v2/orderbook/depth has the prices of now"
#define INFERENCE "this market sells machines, not inference"

const struct route api_absent_routes[] = {
	ABSENT(POST, "/v2/deployments", DEPLOYMENTS),
	ABSENT(GET, "/v2/deployments", DEPLOYMENTS),
	ABSENT(GET, "/v2/deployments/{id}", DEPLOYMENTS),
	ABSENT(PATCH, "/v2/deployments/{id}", DEPLOYMENTS),
	ABSENT(DELETE, "/v2/deployments/{id}", DEPLOYMENTS),
	ABSENT(POST, "/v2/instance_templates", TEMPLATES),
	ABSENT(GET, "/v2/instance_templates", TEMPLATES),
	ABSENT(GET, "/v2/instance_templates/{id}", TEMPLATES),
	ABSENT(DELETE, "/v2/instance_templates/{id}", TEMPLATES),
	ABSENT(POST, "/v2/pool_transfers", TRANSFERS),
	ABSENT(GET, "/v2/pool_transfers", TRANSFERS),
	ABSENT(GET, "/v2/pool_transfers/{id}", TRANSFERS),
	ABSENT(POST, "/v2/capacity_transfers", TRANSFERS),
	ABSENT(GET, "/v2/capacity_transfers", TRANSFERS),
	ABSENT(GET, "/v2/capacity_transfers/{id}", TRANSFERS),
	ABSENT(POST, "/v2/images", IMAGES),
	ABSENT(GET, "/v2/images/{id}/download", IMAGES),
	ABSENT(POST, "/v1/vms/images/start_upload", IMAGES),
	ABSENT(POST, "/v1/vms/images/{id}/upload", IMAGES),
	ABSENT(PUT, "/v1/vms/images/{id}/complete_upload", IMAGES),
	ABSENT(POST, "/v2/workspaces", WORKSPACES),
	ABSENT(PATCH, "/v2/workspaces/{workspace}", WORKSPACES),
	ABSENT(DELETE, "/v2/workspaces/{workspace}", WORKSPACES),
	ABSENT(GET, "/v2/grants", SCOPES),
	ABSENT(POST, "/v2/grants", SCOPES),
	ABSENT(GET, "/v2/grants/{id}", SCOPES),
	ABSENT(DELETE, "/v2/grants/{id}", SCOPES),
	ABSENT(GET, "/v2/roles", SCOPES),
	ABSENT(POST, "/v2/roles", SCOPES),
	ABSENT(GET, "/v2/roles/{id}", SCOPES),
	ABSENT(PUT, "/v2/roles/{id}", SCOPES),
	ABSENT(DELETE, "/v2/roles/{id}", SCOPES),
	ABSENT(POST, "/v2/permissions/check", SCOPES),
	ABSENT(GET, "/v2/availability", AVAILABILITY),
	ABSENT(POST, "/v2/admin/feature_flags", FIXED),
	ABSENT(PUT, "/v2/admin/feature_flags", FIXED),
	ABSENT(DELETE, "/v2/admin/feature_flags", FIXED),
	ABSENT(POST, "/v2/admin/images/{id}/publish", FIXED),
	ABSENT(POST, "/v2/admin/images/{id}/set-default", FIXED),
	ABSENT(GET, "/v2/admin/instance_skus", SKUS),
	ABSENT(POST, "/v2/admin/instance_skus", SKUS),
	ABSENT(GET, "/v2/admin/instance_skus/{id}", SKUS),
	ABSENT(PUT, "/v2/admin/instance_skus/{id}", SKUS),
	ABSENT(PATCH, "/v2/admin/instance_skus/{id}", SKUS),
	ABSENT(DELETE, "/v2/admin/instance_skus/{id}", SKUS),
	ABSENT(GET, "/v2/admin/instance_sku_properties", SKUS),
	ABSENT(POST, "/v2/admin/instance_sku_properties", SKUS),
	ABSENT(GET, "/v2/admin/instance_sku_properties/{key}", SKUS),
	ABSENT(PATCH, "/v2/admin/instance_sku_properties/{key}", SKUS),
	ABSENT(GET, "/v2/admin/instance_sku_properties/{key}/values", SKUS),
	ABSENT(POST, "/v2/admin/instance_sku_properties/{key}/values", SKUS),
	ABSENT(GET, "/v2/admin/instance_sku_properties/{key}/values/{value}", SKUS),
	ABSENT(PATCH, "/v2/admin/instance_sku_properties/{key}/values/{value}", SKUS),
	ABSENT(POST, "/v2/admin/invoices/{account_id}/create", INVOICES),
	ABSENT(POST, "/v1/invoices/calculate_pricing", INVOICES),
	ABSENT(POST, "/v1/invoices/create_draft", INVOICES),
	ABSENT(POST, "/v1/invoices/finalize", INVOICES),
	ABSENT(GET, "/v1/transactions", LEDGER),
	ABSENT(GET, "/v0/transactions", LEDGER),
	ABSENT(GET, "/v0/refunds", LEDGER),
	ABSENT(GET, "/v1/credits", LEDGER),
	ABSENT(GET, "/v1/events", HISTORY),
	ABSENT(POST, "/v1/credits/migrate", ONE_BALANCE),
	ABSENT(GET, "/v1/provider/node_ids", SELLERS),
	ABSENT(GET, "/v1/provider/orders", SELLERS),
	ABSENT(GET, "/v1/_healthz", HEALTH),
	ABSENT(GET, "/v0/clusters", CLUSTERS),
	ABSENT(GET, "/v0/orders/{id}/clusters", CLUSTERS),
	ABSENT(GET, "/v0/credentials", CLUSTERS),
	ABSENT(POST, "/v0/credentials", CLUSTERS),
	ABSENT(DELETE, "/v0/credentials/{id}", CLUSTERS),
	ABSENT(GET, "/v0/instances", INSTANCES),
	ABSENT(GET, "/v0/instances/{id}", INSTANCES),
	ABSENT(GET, "/v0/prices", PRICES),
	ABSENT(GET, "/v1/inference/batches", INFERENCE),
	ABSENT(POST, "/v1/inference/batches", INFERENCE),
	ABSENT(GET, "/v1/inference/batches/{batch_id}", INFERENCE),
	ABSENT(POST, "/v1/inference/batches/{batch_id}", INFERENCE),
	ABSENT(POST, "/v1/inference/batches/{batch_id}/cancel", INFERENCE),
	ABSENT(GET, "/v1/inference/health", INFERENCE),
	ABSENT(GET, "/v1/inference/models", INFERENCE),
	ABSENT(GET, "/v1/inference/models/{model_id}/history", INFERENCE),
	{ 0 },
};
