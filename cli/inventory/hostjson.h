/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that other programs list as JSON: `kubectl get nodes -o json` and `terraform show -json`. */
#ifndef CLI_INVENTORY_HOSTJSON_H
#define CLI_INVENTORY_HOSTJSON_H

#include <stdbool.h>

#include "cli/inventory/hostbook.h"

bool hostjson_is(const char *text);
int hostjson_read(struct hostbook *b, const char *text, struct fail *f);

#endif
