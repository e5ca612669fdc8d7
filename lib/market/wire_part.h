/* SPDX-License-Identifier: Apache-2.0 */
/* What wire*.c share: a table says which member of an object goes where in a struct, and as what. */
#ifndef MARKET_WIRE_PART_H
#define MARKET_WIRE_PART_H

#include <stddef.h>

#include "market/wire.h"

struct json_t;

enum wire_kind {
	WIRE_TEXT,      /* const char * */
	WIRE_INT,       /* int64_t; also as a text of digits */
	WIRE_UINT,      /* uint64_t; also as a text of digits */
	WIRE_BOOL,      /* bool */
	WIRE_MONEY,     /* int64_t, from "12.500000" */
	WIRE_PRICE,     /* int64_t, from dollars per node-hour */
	WIRE_REF,       /* struct model_ref, from {id, name or alias}; a text is its id */
	WIRE_SCHEDULE,  /* struct model_schedule */
	WIRE_WORTH_TEXT, WIRE_WORTH_INT, /* {value, display_value} of a SKU's property, or the value alone */
	WIRE_TEXTS,     /* const char *const *, and a size_t behind it */
};

/* A member that is missing or null leaves the struct as it was, unless it is needed. */
struct wire_field {
	const char *name;
	enum wire_kind kind;
	bool needed;
	size_t at;
};

/* The member `at` of the list, or the document; NULL with a sentence where it is no object. what: "an order". */
struct json_t *wire_object(struct doc *d, long at, const char *what, struct fail *f);
int wire_fields(struct doc *d, struct json_t *o, const struct wire_field *fields, const char *what, void *out,
	struct fail *f);

/* A member that is an object or NULL; an array's length (0 where there is none) and its members. */
struct json_t *wire_member(struct json_t *o, const char *name);
size_t wire_length(struct json_t *o, const char *name);
struct json_t *wire_item(struct json_t *o, const char *name, size_t i); /* NULL where it is no object */

/* Memory that goes with the document, zeroed; NULL: there is none. */
void *wire_room(struct doc *d, size_t count, size_t size);

size_t wire_names(struct json_t *o, const char **names); /* an object's keys, as they came; how many */
bool wire_has(struct json_t *o, const char *name);
bool wire_says(struct json_t *o, const char *name, const char *text);

int wire_bad(struct fail *f, const char *what, const char *name, const char *why);

/* ---- For tables ------------------------------------------------------------------------- */

#define NEEDED true
#define MAY false
#define FIELD(type, name, kind, needed, member) { name, WIRE_##kind, needed, offsetof(struct type, member) }

/* Into a copy, so that a failure leaves what the caller has. */
#define READ(type, at, what, fields, ...) \
	struct type made = { __VA_ARGS__ }; \
	struct json_t *o = wire_object(d, at, what, f); \
	int rc = o ? wire_fields(d, o, fields, what, &made, f) : -EPROTO

#define DONE(out) \
	do { \
		if (!rc) \
			*(out) = made; \
		return rc; \
	} while (0)

#endif
