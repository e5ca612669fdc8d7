/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of request and answer bodies as tables: the files *_schemas.c fill them, schema.c checks
 * requests against them before a handler sees one, openapi.c prints them. So a handler gets bodies of
 * known shape, and the document cannot differ from the server.
 */
#ifndef MARKETD_API_SCHEMA_H
#define MARKETD_API_SCHEMA_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum schema_type {
	SCHEMA_END,       /* of a table of fields: the row after the last (all zero) */
	SCHEMA_STRING,    /* of: a pattern, or NULL; min, max: its length in bytes */
	SCHEMA_INTEGER,   /* min, max: its value */
	SCHEMA_NUMBER,    /* integer or real: only where SF Compute's API has it */
	SCHEMA_BOOLEAN,
	SCHEMA_ENUM,      /* of: "buy|sell"; one word alone is a constant */
	SCHEMA_OBJECT,    /* in struct schema only: base and fields; other names are refused */
	SCHEMA_MAP,       /* object with any names; of: what each value is; min, max: how many */
	SCHEMA_ARRAY,     /* of: what each member is; min, max: how many */
	SCHEMA_REF,       /* of: another schema's name */
	SCHEMA_ONE_OF,    /* of: "A|B": the first that fits; objects differ by their constants */
	SCHEMA_ANY,
};

enum schema_flags {
	FIELD_REQUIRED = 1, /* required; in answers: always present */
	FIELD_NULL =
		2, /* may be null; in requests null counts as absent, and the handler may see either */
	FIELD_HIDDEN = 4, /* accepted, but not in the document */
};

/*
 * min = max = 0: no bounds (a string without max still ends at SCHEMA_TEXT_MAX bytes). Of a min
 * of 1 and no max, write { .min = 1, .max = INT64_MAX }.
 * `of` in MAP, ARRAY and ONE_OF names a schema, or is one of "string", "integer", "number",
 * "boolean", "any". Patterns are POSIX extended and ECMA at once: ^…$ around them, no \d, no lookahead,
 * and bounds of length as max, not as {0,254}.
 */
struct schema_field {
	const char *name;
	enum schema_type type;
	int flags;
	const char *of;
	int64_t min, max;
	const char *text;     /* one line for the document; NULL */
};

/* A named schema: an OBJECT with fields, or any other type as an alias ("Name", "Schedule", "Side"). */
struct schema {
	const char *name;
	enum schema_type type;
	const char *of;
	int64_t min, max;
	const char *base;                   /* OBJECT: the fields of that one come first */
	const struct schema_field *fields;  /* OBJECT */
	const char *text;
};

/*
 * For example:
 *
 *	static const struct schema_field create_order[] = {
 *		{ "pool", SCHEMA_REF, FIELD_REQUIRED, "ResourcePathOrId_PoolId", 0, 0, "the pool to buy into" },
 *		{ "side", SCHEMA_ENUM, FIELD_REQUIRED, "buy|sell", 0, 0, NULL },
 *		{ "allow_standing", SCHEMA_BOOLEAN, 0, NULL, 0, 0, NULL },
 *		{ "allocation_schedule_delta", SCHEMA_REF, FIELD_REQUIRED, "Schedule", 0, 0, NULL },
 *		{ 0 },
 *	};
 *	const struct schema schema_v2[] = {
 *		{ "Name", SCHEMA_STRING, "^[a-zA-Z0-9][a-zA-Z0-9._-]*$", 1, 255, NULL, NULL, NULL },
 *		{ "Schedule", SCHEMA_ARRAY, "ScheduleEntry", 0, 1000, NULL, NULL, "node counts over time" },
 *		{ "v2.CreateOrderRequest", SCHEMA_OBJECT, NULL, 0, 0, NULL, create_order, NULL },
 *		{ 0 },
 *	};
 */

enum { SCHEMA_TEXT_MAX = 128 * 1024, SCHEMA_PATH_MAX = 256 };

/* What is wrong with a value, as api_refuse takes it: reason, path ("allocation_schedule_delta.0.end_at"), sentence. */
struct schema_fault {
	int reason;
	char field[SCHEMA_PATH_MAX];
	char text[256];
};

extern const struct schema *const schema_tables[];  /* each ends with { 0 }, the list with NULL (tables.c) */

struct schemas;       /* an index of the tables by name, with compiled patterns */

/* 0, -ENOMEM, or -EINVAL for a wrong table: a name twice, an unknown reference, a bad pattern. */
int schemas_new(const struct schema *const *tables, struct schemas **out, struct fail *f);
void schemas_free(struct schemas *s);
const struct schema *schemas_find(const struct schemas *s, const char *name);
const struct schema *const *schemas_tables(const struct schemas *s);  /* what it was made from, which must outlive it */

/* The i-th field, those of the base first; NULL at the end. */
const struct schema_field *schema_field_at(const struct schemas *s, const struct schema *of, size_t i);

/* 0, or the reason (negative), which is also in *why. Unknown fields of objects are refused. */
int schema_check(struct schemas *s, const char *name, const json_t *value, struct schema_fault *why);

#endif
