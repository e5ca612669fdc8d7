/* SPDX-License-Identifier: Apache-2.0 */
/* The paths at which Open Policy Agent finds its service. */
#ifndef MARKETD_API_MAY_OPA_ROUTES_H
#define MARKETD_API_MAY_OPA_ROUTES_H

#include "marketd/api/api.h"
#include "marketd/api/schema.h"

extern const struct route api_opa_routes[];
extern const struct schema schema_opa[];

#endif
