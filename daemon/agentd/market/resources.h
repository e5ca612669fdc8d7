/* SPDX-License-Identifier: Apache-2.0 */
/* A contract as JSON: the member "resources" of the work document and "contract" of a node's journal. */
#ifndef AGENTD_MARKET_RESOURCES_H
#define AGENTD_MARKET_RESOURCES_H

#include <jansson.h>
#include <stdbool.h>

#include "agentd/contract.h"

/* j NULL or null: nothing is promised. False: a value is wrong, and out promises nothing. Ignores unknown members. */
bool resources_read(const json_t *j, struct contract *out);

/* NULL: nothing is promised, or no memory. */
json_t *resources_json(const struct contract *c);

#endif
