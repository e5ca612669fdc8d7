/* SPDX-License-Identifier: Apache-2.0 */
/* What every market answers about itself: health, metrics, its API document, what it has not. */
#ifndef MARKETD_API_BUILTIN_H
#define MARKETD_API_BUILTIN_H

#include "marketd/api/api.h"
#include "marketd/api/schema.h"

extern const struct route builtin_routes[];
extern const struct schema schema_builtin[];

extern const struct route api_absent_routes[]; /* absent.c */

/* The handler of what is not served: 501, and the route's summary says what to use instead. */
int api_absent(struct api *api, const struct request *q, struct reply *r);

#endif
