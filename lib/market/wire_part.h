/* SPDX-License-Identifier: Apache-2.0 */
/* What wire*.c share: a table says which member of an object goes where in a struct, and as what. */
#ifndef MARKET_WIRE_PART_H
#define MARKET_WIRE_PART_H

#include <stddef.h>

#include "market/wire.h"

struct json_t;

enum wire_kind {
	WIRE_TEXT,     /* const char * */
	WIRE_INT,      /* int64_t; also as a text of digits */
	WIRE_UINT,     /* uint64_t; also as a text of digits */
	WIRE_BOOL,     /* bool */
	WIRE_MONEY,    /* int64_t, from "12.500000" */
	WIRE_PRICE,    /* int64_t, from dollars per node-hour */
	WIRE_REF,      /* struct model_ref, from {id, name or alias}; a text is its id */
	WIRE_SCHEDULE, /* struct model_schedule */
	WIRE_WORTH_TEXT,
	WIRE_WORTH_INT, /* {value, display_value} of a SKU's property, or the value alone */
	WIRE_REAL,      /* double; NAN for what cannot have been measured */
	WIRE_CURVE,     /* struct model_curve; null in it is NAN */
	WIRE_CURVES,    /* const struct model_curve *, and a size_t behind it */
	WIRE_TEXTS,     /* const char *const *, and a size_t behind it */
};

/* A missing or null member leaves the struct as it was, unless it is needed. */
struct wire_field {
	const char *name;
	enum wire_kind kind;
	bool needed;
	size_t at;
};

/* The member `at` of the list, or the document; NULL with a sentence: it is not an object. what: "an order". */
struct json_t *wire_object(struct doc *d, long at, const char *what, struct fail *f);
/* Reads the fields of an object into `out`. 0, or -EPROTO with a sentence that names the field. */
int wire_fields(struct doc *d, struct json_t *o, const struct wire_field *fields, const char *what, void *out,
	struct fail *f);
/* Both at once. The callers read into a copy, so that a failure leaves what their caller has. */
int wire_read(struct doc *d, long at, const char *what, const struct wire_field *fields, void *out, struct fail *f);

/* A member that is an object, or NULL; an array's length (0: no array) and its members. */
struct json_t *wire_member(struct json_t *o, const char *name);
size_t wire_length(struct json_t *o, const char *name);
struct json_t *wire_item(struct json_t *o, const char *name, size_t i); /* NULL: not an object */

/* The list `name` of GPUs; none where it is missing. */
int wire_gpus(struct doc *d, struct json_t *o, const char *name, const struct model_gpu **out, size_t *count,
	struct fail *f);

/* Zeroed memory that goes with the document; NULL: out of memory. */
void *wire_room(struct doc *d, size_t count, size_t size);

size_t wire_names(struct json_t *o, const char **names); /* an object's keys, as they came; how many */
/* A member as people read it: a text as it is, texts with commas, else JSON; "": none. NULL: out of memory. */
const char *wire_shown(struct doc *d, struct json_t *o, const char *name);
bool wire_has(struct json_t *o, const char *name);
bool wire_says(struct json_t *o, const char *name, const char *text);

int wire_bad(struct fail *f, const char *what, const char *name, const char *why);

/* ---- For tables ------------------------------------------------------------------------- */

#define NEEDED true
#define MAY false
#define FIELD(type, name, kind, needed, member) { name, WIRE_##kind, needed, offsetof(struct type, member) }

/* wire_people.c: a person that is a member of something; o NULL: there is none. */
int wire_person_in(struct doc *d, struct json_t *o, struct model_person *out, struct fail *f);

#endif
