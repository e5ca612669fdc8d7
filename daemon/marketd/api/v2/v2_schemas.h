/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for the tables of v2's shapes: one field per line, as in SF Compute's own document. */
#ifndef MARKETD_API_V2_V2_SCHEMAS_H
#define MARKETD_API_V2_V2_SCHEMAS_H

#include "marketd/api/v2/v2.h"

#define MUST FIELD_REQUIRED
#define MAY 0
#define OR_NULL FIELD_NULL

#define FIELD_REF(name, flags, schema) { name, SCHEMA_REF, flags, schema, 0, 0, NULL }
#define FIELD_LIST(name, flags, schema) { name, SCHEMA_ARRAY, flags, schema, 0, 0, NULL }
#define FIELD_WORD(name, flags, words) { name, SCHEMA_ENUM, flags, words, 0, 0, NULL }
#define FIELD_TEXT(name, flags) { name, SCHEMA_STRING, flags, NULL, 0, 0, NULL }
#define FIELD_NUMBER(name, flags, min, max) { name, SCHEMA_INTEGER, flags, NULL, min, max, NULL }
#define FIELD_FLAG(name, flags) { name, SCHEMA_BOOLEAN, flags, NULL, 0, 0, NULL }
#define FIELDS_END { 0 }

#define ALIAS_TEXT(name, pattern, min, max) { name, SCHEMA_STRING, pattern, min, max, NULL, NULL, NULL }
#define ALIAS_WORD(name, words) { name, SCHEMA_ENUM, words, 0, 0, NULL, NULL, NULL }
#define ALIAS_LIST(name, schema, max) { name, SCHEMA_ARRAY, schema, 0, max, NULL, NULL, NULL }
#define SHAPE(name, fields, text) { name, SCHEMA_OBJECT, NULL, 0, 0, NULL, fields, text }
#define SHAPE_ON(name, base, fields, text) { name, SCHEMA_OBJECT, NULL, 0, 0, base, fields, text }

#endif
