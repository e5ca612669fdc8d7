/* SPDX-License-Identifier: Apache-2.0 */
/* What every market answers about itself: health, metrics, its API document. */
#ifndef MARKETD_API_BUILTIN_H
#define MARKETD_API_BUILTIN_H

#include "marketd/api/api.h"
#include "marketd/api/schema.h"

extern const struct route builtin_routes[];
extern const struct schema schema_builtin[];

#endif
