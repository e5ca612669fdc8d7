/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema as far as the market's OpenAPI document uses it, read from the document alone: a
 * second opinion beside daemon/marketd/api/schema.c. A keyword that it does not know is a fault.
 */
#ifndef TESTS_JSONSCHEMA_H
#define TESTS_JSONSCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCHEMA_WHY = 400 };

/* doc: what "#/…" references point into. why: where and what does not fit. */
bool jsonschema_fits(const json_t *doc, const json_t *schema, const json_t *value, char why[SCHEMA_WHY]);

const json_t *jsonschema_resolve(const json_t *doc, const json_t *schema); /* follows $ref; NULL: it leads nowhere */

#endif
